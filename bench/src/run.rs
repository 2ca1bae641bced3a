//! One run: a server, a session, and contenders that take turns.

use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sno_tests::Server;
use sno_tests::postgres::Client;

use crate::machine::Machine;
use crate::report::{Report, Section, Series};
use crate::sections;
use crate::size::Size;

/// What the server is set to, and the results say. All of it holds for all contenders.
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

/// Which sections are run.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// These only, or all if there are none.
    pub only: Vec<String>,
    /// Where criterion left its samples of the crates; that section is left out without.
    pub criterion: Option<PathBuf>,
}

/// A server, a session of it, and the size of the run.
pub struct Bench {
    /// How much is measured.
    pub size: Size,
    /// Stops with the run.
    pub server: Server,
    /// The session that all contenders share.
    pub client: Client,
    selection: Selection,
    began: Instant,
}

/// Runs the sections one after the other. Also returns which of them failed, and why.
pub fn measure(size: Size, selection: Selection) -> Result<(Report, Vec<String>), Box<dyn Error>> {
    let known = || sections::ALL.iter().map(|(name, ..)| *name);
    if let Some(unknown) = selection.only.iter().find(|only| known().all(|name| name != *only)) {
        let known: Vec<&str> = known().collect();
        return Err(format!("there is no section {unknown}; there are {}", known.join(", ")).into());
    }
    let machine = Machine::here();
    let mut builder = Server::builder();
    for (name, value) in SETTINGS {
        builder = builder.conf(name, value);
    }
    // pgEdge's extension wants to know its node when it is loaded; others take no notice.
    let server = builder.conf("snowflake.node", "1").start();
    let client = server.connect();
    let mut bench = Bench { size: size.clone(), server, client, selection, began: Instant::now() };
    let asserts: String = bench.ask("SHOW debug_assertions");
    let (mut sections, mut failed) = (Vec::new(), Vec::new());
    for &(name, share, section) in sections::ALL {
        let wanted = if bench.selection.only.is_empty() {
            share > 0.0
        } else {
            bench.selection.only.iter().any(|only| only == name)
        };
        if wanted {
            bench.say(name);
            bench.size = size.clone();
            let budget = Budget { seconds: share * bench.size.seconds, began: Instant::now() };
            // What the other sections measured is not to be lost.
            let why = match catch_unwind(AssertUnwindSafe(|| section(&mut bench, budget))) {
                Ok(Ok(found)) => {
                    sections.extend(found);
                    None
                }
                Ok(Err(error)) => Some(error.to_string()),
                Err(_) => Some("see above".into()),
            };
            if let Some(why) = why {
                failed.push(format!("{name}: {why}"));
                bench.client = bench.server.connect();
                // Nor is what it has set to hold for them.
                bench.run("ALTER SYSTEM RESET ALL");
                bench.server.reload();
            }
        }
    }
    let mut settings: Vec<(String, String)> = Vec::new();
    for name in SETTINGS.map(|(name, _)| name).iter().chain(&["synchronous_commit", "full_page_writes"]) {
        settings.push(((*name).into(), bench.ask(&format!("SHOW {name}"))));
    }
    if asserts == "on" {
        settings.push(("debug_assertions".into(), "on: this server checks itself all the time".into()));
        bench.say("this server was built with assertions: its times are not those of a normal one");
    }
    let report = Report {
        size: bench.size.name.into(),
        machine,
        postgresql: bench.ask("SHOW server_version"),
        settings,
        seconds: bench.began.elapsed().as_secs(),
        sections,
    };
    Ok((report, failed))
}

/// What a section is: `None` if it has nothing to measure here.
pub(crate) type Run = fn(&mut Bench, Budget) -> Result<Option<Section>, Box<dyn Error>>;

/// The time that a section's rounds may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    seconds: f64,
    began: Instant,
}

impl Budget {
    /// A share of it, for one of several things that are measured one after the other.
    pub(crate) fn share(self, share: f64) -> Self {
        Self { seconds: self.seconds * share, began: Instant::now() }
    }
}

impl Bench {
    /// Where criterion left its samples.
    pub(crate) fn criterion(&self) -> Option<&PathBuf> {
        self.selection.criterion.as_ref()
    }

    /// Prints what goes on, with the time and how long the run has lasted.
    pub(crate) fn say(&self, what: &str) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let past = self.began.elapsed().as_secs();
        eprintln!(
            "{:02}:{:02}:{:02} UTC {:3}:{:02}  {what}",
            now / 3600 % 24,
            now / 60 % 60,
            now % 60,
            past / 60,
            past % 60
        );
    }

    /// Runs statements.
    #[track_caller]
    pub(crate) fn run(&mut self, sql: &str) {
        self.client.batch_execute(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    }

    /// Runs statements; the seconds they took, as the client sees it.
    #[track_caller]
    pub(crate) fn time(&mut self, sql: &str) -> f64 {
        let began = Instant::now();
        self.run(sql);
        began.elapsed().as_secs_f64()
    }

    /// The only value that a query returns, as text.
    #[track_caller]
    pub(crate) fn ask(&mut self, sql: &str) -> String {
        let messages = self.client.simple_query(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
        messages
            .iter()
            .find_map(|message| match message {
                sno_tests::postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
                _ => None,
            })
            .unwrap_or_else(|| panic!("{sql}: no answer"))
    }

    /// The only value that a query returns, as a number.
    #[track_caller]
    pub(crate) fn number(&mut self, sql: &str) -> f64 {
        let text = self.ask(sql);
        text.parse().unwrap_or_else(|_| panic!("{sql}: {text} is not a number"))
    }

    /// Lets all contenders take turns, one sample each round, until there are enough rounds or the time is up.
    /// Each round begins with another of them.
    pub(crate) fn rounds<T>(
        &mut self,
        what: &str,
        budget: Budget,
        contenders: &[T],
        mut sample: impl FnMut(&mut Self, &T) -> f64,
    ) -> Vec<Vec<f64>> {
        let (least, most) = self.size.rounds;
        let mut samples = vec![Vec::new(); contenders.len()];
        let mut longest = Duration::ZERO;
        for round in 0..most {
            let left = budget.seconds - budget.began.elapsed().as_secs_f64();
            // A machine that is too slow for the least number of rounds gets half as much time again.
            let grace = if round < least { budget.seconds / 2.0 } else { 0.0 };
            if round > 0 && left + grace < longest.as_secs_f64() {
                break;
            }
            let began = Instant::now();
            for turn in 0..contenders.len() {
                let place = (turn + round) % contenders.len();
                samples[place].push(sample(self, &contenders[place]));
            }
            longest = longest.max(began.elapsed());
            self.say(&format!("  {what}: round {}, {:.1} s", round + 1, began.elapsed().as_secs_f64()));
        }
        samples
    }
}

/// Names for rows of samples.
pub(crate) fn named<N: Into<String>>(
    names: impl IntoIterator<Item = N>,
    samples: Vec<Vec<f64>>,
) -> Vec<Series> {
    names.into_iter().zip(samples).map(|(name, samples)| Series::new(name, samples)).collect()
}
