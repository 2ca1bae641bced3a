//! One run: a server, a session, and contenders that take turns in what the sections say.

use std::error::Error;
use std::fs;
use std::process::Command;
use std::time::Instant;

use sno_tests::postgres::types::{FromSql, Type};
use sno_tests::postgres::{self, Client, SimpleQueryMessage};
use sno_tests::{Server, program};

use crate::contenders::{Contender, FUNCTIONS};
use crate::figures::{Figure, Measure, Section};
use crate::results::{Run, Series};
use crate::sections::SECTIONS;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// How much is measured.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    /// The sections, or all.
    only: &'static [&'static str],
    /// How many rows a section has.
    rows: fn(&Section) -> usize,
    /// The least and the most rounds.
    rounds: (usize, usize),
    /// Seconds for the rounds of all sections; more if the least number of rounds needs it.
    seconds: f64,
    /// Seconds of a sample of pgbench's, or two transactions.
    sample: u32,
}

const FULL: Size = Size {
    only: &["sort", "insert", "disk", "hour", "copy", "clients"],
    rows: |section| section.rows,
    rounds: (5, 15),
    seconds: 800.0,
    sample: 3,
};
pub(crate) const SIZES: [(&str, Size); 4] = [
    ("full", FULL),
    ("calls", Size { only: &["generation", "feeds"], seconds: 600.0, ..FULL }),
    (
        "quick",
        Size { only: &[], rows: |section| section.rows / 10, rounds: (2, 7), seconds: 60.0, sample: 1 },
    ),
    (
        "smoke",
        Size { only: &[], rows: |section| section.rows / 1000, rounds: (1, 1), seconds: 0.0, sample: 0 },
    ),
];

/// What the server is set to, and the results say. It holds for all contenders.
const SETTINGS: [(&str, &str); 11] = [
    ("shared_buffers", "2GB"),
    ("work_mem", "1GB"),
    ("maintenance_work_mem", "1GB"),
    ("max_wal_size", "32GB"),
    ("checkpoint_timeout", "1h"),
    // Disks differ more than keys do: nothing waits for one here.
    ("fsync", "off"),
    ("autovacuum", "off"),
    ("jit", "off"),
    ("max_parallel_workers_per_gather", "0"),
    ("max_parallel_maintenance_workers", "0"),
    ("max_connections", "320"),
];

/// Runs the sections one after the other. Also returns which of them failed, and why.
pub(crate) fn measure(size: Size, only: &[&str]) -> Result<(Run, Vec<String>)> {
    let names: Vec<&str> = SECTIONS.iter().map(|section| section.name).collect();
    if let Some(unknown) = only.iter().find(|only| !names.contains(only)) {
        return Err(format!("there is no section {unknown}; there are {}", names.join(", ")).into());
    }
    let only = if only.is_empty() { size.only } else { only };
    let mut builder = Server::builder().conf("statement_timeout", "0");
    for (name, value) in SETTINGS {
        builder = builder.conf(name, value);
    }
    // A section's own schema.
    let server = builder.conf("search_path", "section, public").start();
    let mut session = Session { client: server.connect(), server, size, began: Instant::now() };
    session.client.batch_execute(FUNCTIONS)?;
    let mut run = Run::new(session.ask("SHOW server_version")?);
    let mut failed = Vec::new();
    let chosen = |section: &&Section| only.is_empty() || only.contains(&section.name);
    for section in SECTIONS.iter().filter(chosen) {
        session.say(section.name);
        // What the other sections measured is not to be lost.
        match session.section(section, (size.rows)(section).max(1)) {
            Ok(series) => run.series.extend(series),
            Err(error) => failed.push(format!("{}: {error}", section.name)),
        }
        session.client = session.server.connect();
        session.client.batch_execute("DROP SCHEMA IF EXISTS section CASCADE")?;
        session.client.batch_execute("ALTER SYSTEM RESET ALL")?;
        session.server.reload();
    }
    let others = ["synchronous_commit", "full_page_writes", "debug_assertions"];
    for name in SETTINGS.map(|(name, _)| name).iter().chain(&others) {
        run.settings.push(format!("{name} = {}", session.ask(&format!("SHOW {name}"))?));
    }
    run.seconds = session.began.elapsed().as_secs();
    Ok((run, failed))
}

/// A value of any type in binary format.
struct Raw(Vec<u8>);

impl FromSql<'_> for Raw {
    fn from_sql(_: &Type, raw: &[u8]) -> std::result::Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(raw.to_owned()))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

struct Session {
    /// The session that all contenders share.
    client: Client,
    /// Stops with the run.
    server: Server,
    size: Size,
    began: Instant,
}

impl Session {
    /// Prints what goes on, with the time since the run began.
    fn say(&self, what: &str) {
        let past = self.began.elapsed().as_secs();
        eprintln!("{:3}:{:02}  {what}", past / 60, past % 60);
    }

    /// The only value that a query returns.
    fn ask(&mut self, query: &str) -> Result<String> {
        let messages = self.client.simple_query(query).map_err(|error| format!("{query}: {error:?}"))?;
        let value = messages.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
        });
        Ok(value.ok_or_else(|| format!("{query}: no answer"))?.into())
    }

    fn section(&mut self, section: &Section, rows: usize) -> Result<Vec<Series>> {
        let words = vec![("rows", rows.to_string()), ("data", self.server.data().display().to_string())];
        let mut all = Contender { name: section.name.into(), words };
        self.client.batch_execute("CREATE SCHEMA section")?;
        all.run(&self.server, section.setup)?;
        all.ask(&mut self.client, section.words)?;
        let seconds = section.share * self.size.seconds / section.figures.len() as f64;
        let mut all_series = Vec::new();
        for figure in section.figures {
            let contenders = figure.contenders.on(&mut self.client, &all.words);
            for (samples, contender) in
                self.rounds(figure, &contenders, seconds)?.into_iter().zip(&contenders)
            {
                let names = [section.name, figure.title, &contender.name];
                all_series.push(Series::new(names, rows, figure.measure.unit(), samples));
            }
        }
        Ok(all_series)
    }

    /// Lets contenders take turns, one sample each round, until there are enough rounds or the time is up. Each round
    /// begins with another of them.
    fn rounds(&mut self, figure: &Figure, contenders: &[Contender], seconds: f64) -> Result<Vec<Vec<f64>>> {
        for contender in contenders {
            contender.run(&self.server, figure.setup)?;
        }
        let (least, most) = if figure.measure == Measure::BytesPerRow { (1, 1) } else { self.size.rounds };
        let mut samples = vec![Vec::new(); contenders.len()];
        let (began, mut longest) = (Instant::now(), 0.0_f64);
        for round in 0..most {
            let now = began.elapsed().as_secs_f64();
            if round >= least && now + longest > seconds {
                break;
            }
            for turn in 0..contenders.len() {
                let place = (turn + round) % contenders.len();
                let contender = &contenders[place];
                contender.run(&self.server, figure.around[0])?;
                samples[place].push(self.sample(figure, contender)?);
                contender.run(&self.server, figure.around[1])?;
            }
            longest = longest.max(began.elapsed().as_secs_f64() - now);
        }
        self.say(&format!("  {}: {} rounds", figure.title, samples[0].len()));
        Ok(samples)
    }

    fn sample(&mut self, figure: &Figure, contender: &Contender) -> Result<f64> {
        let of = contender.fill(figure.of);
        let rows: f64 = contender.fill("{rows}").parse()?;
        Ok(match figure.measure {
            Measure::Time => self.times(&of, 1)?[0],
            Measure::MeanTime(runs) => self.times(&of, runs)?[0],
            Measure::TimePerRow => {
                let times = self.times(&of, 1)?;
                (times[0] - times.get(1).unwrap_or(&0.0)) / rows
            }
            Measure::Planning => self.times(&format!("EXPLAIN {of}"), 1)?[0],
            Measure::BytesPerRow => self.ask(&of)?.parse::<f64>()? / rows,
            Measure::Rate(clients) => self.pgbench(clients, &of)?,
        })
    }

    /// The seconds of prepared statements, one in each line: the mean of so many executions.
    fn times(&mut self, statements: &str, runs: usize) -> Result<Vec<f64>> {
        let mut times = Vec::new();
        for statement in statements.lines().filter(|statement| !statement.trim().is_empty()) {
            let context = |error| format!("{statement}: {error:?}");
            let prepared = self.client.prepare(statement).map_err(context)?;
            let mut last = Raw(vec![0; 10]);
            let mut execute = || -> std::result::Result<(), postgres::Error> {
                if prepared.params().is_empty() {
                    self.client.query(&prepared, &[])?;
                } else if let Some(row) = self.client.query(&prepared, &[&last.0])?.last() {
                    last = row.get(0);
                }
                Ok(())
            };
            if runs > 1 {
                execute().map_err(context)?;
            }
            let began = Instant::now();
            for _ in 0..runs {
                execute().map_err(context)?;
            }
            times.push(began.elapsed().as_secs_f64() / runs as f64);
        }
        Ok(times)
    }

    /// How often in a second so many clients get through a script; each has a variable `begun` of its own that is 0.
    fn pgbench(&self, clients: u32, script: &str) -> Result<f64> {
        let file = self.server.data().join("script");
        fs::write(&file, script)?;
        let length = match self.size.sample {
            0 => "--transactions=2".to_owned(),
            seconds => format!("--time={seconds}"),
        };
        let output = Command::new(program("pgbench"))
            .args(["--no-vacuum", "--protocol=prepared", "--jobs=2", "--define=begun=0", &length, "--file"])
            .arg(&file)
            .arg(format!("--client={clients}"))
            .arg(self.server.connection_string())
            // One plan for each statement, as a driver has after its first few executions.
            .env("PGOPTIONS", "-c plan_cache_mode=force_generic_plan")
            .env("LC_ALL", "C")
            .output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        let rate = said.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
        let failure = || format!("pgbench: {said}{}", String::from_utf8_lossy(&output.stderr));
        Ok(rate.filter(|_| output.status.success()).ok_or_else(failure)?)
    }
}
