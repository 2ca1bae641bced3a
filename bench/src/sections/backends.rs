//! Many backends that generate at once, on generators of their own and on a single one.

use std::error::Error;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use sno_tests::in_parallel;

use crate::report::{Figure, Section, Unit};
use crate::run::{Bench, Budget, named};

/// IDs in one statement: few enough that the slowest of hundreds of backends ends in time.
const CHUNK: usize = 10_000;

/// What the backends do: its name, the prefix that gives them their generators, the call.
const TASKS: [(&str, &str, &str); 3] = [
    ("sno_new(1), 255 generators", "42/8", "sno_new(1)"),
    ("sno_new(1), one generator for all", "42/16", "sno_new(1)"),
    ("nothing", "42/8", "backends_nothing(1)"),
];

pub(crate) fn section(bench: &mut Bench, budget: Budget) -> Result<Option<Section>, Box<dyn Error>> {
    bench.run(
        "CREATE FUNCTION backends_nothing(integer) RETURNS integer
         LANGUAGE internal VOLATILE STRICT PARALLEL SAFE AS 'int4up'",
    );
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut figures = Vec::new();
    let mut remarks = Vec::new();
    let counts = bench.size.backends;
    for &backends in counts {
        let mut waits = [[0.0; 2]; TASKS.len()];
        let places: Vec<usize> = (0..TASKS.len()).collect();
        let share = budget.share(1.0 / counts.len() as f64);
        let samples = bench.rounds(&format!("backends: {backends}"), share, &places, |bench, &place| {
            let (_, prefix, call) = TASKS[place];
            bench.run(&format!("ALTER SYSTEM SET sno.partition_prefix = '{prefix}'"));
            bench.server.reload();
            let before = waited(bench);
            let rate = generate(bench, backends, call);
            for (total, (after, before)) in waits[place].iter_mut().zip(waited(bench).into_iter().zip(before))
            {
                *total += after - before;
            }
            rate
        });
        let rounds = samples[0].len() as f64;
        let series = named(TASKS.map(|(name, ..)| name), samples);
        let nothing = 1.0 / series[2].median;
        let series = series
            .into_iter()
            .zip(waits)
            .map(|(one, [overflows, seconds])| {
                let busy = backends.min(cores) as f64;
                let net = (1.0 / one.median - nothing) * busy * 1e9;
                if one.name == TASKS[2].0 {
                    return one;
                }
                one.note(format!(
                    "{} net, {:.0} overflows, {} waited",
                    Unit::Nanoseconds.show(net),
                    overflows / rounds,
                    Unit::Seconds.show(seconds / rounds)
                ))
            })
            .collect();
        let title = if backends == 1 { "One backend".into() } else { format!("{backends} backends") };
        figures.push(Figure::new(title, Unit::PerSecond, series));
    }
    bench.run("DROP FUNCTION backends_nothing");
    bench.run("ALTER SYSTEM RESET sno.partition_prefix");
    bench.server.reload();
    remarks.push(
        "One generator gives out 65,536 IDs in 4 ms, so 16.4 million a second is the most that all backends together \
         get from it, however many cores there are. A backend that finds none left sleeps until the next 4 ms."
            .into(),
    );
    Ok(Some(Section {
        name: "backends".into(),
        title: "Many backends at once".into(),
        method: format!(
            "Each backend runs `SELECT count(sno_new(1)) FROM generate_series(1, {CHUNK})` over and over for {} s, on \
             {cores} cores that all of them share with the client. With a prefix of 8 bits (`42/8`) the server has 255 \
             generators, with one of 16 bits (`42/16`) all backends share a single one. The last column is of one sample: what \
             an ID takes of a core, net of the query with a function that does nothing; how often a call found no number \
             left in its 4 ms; and how long all calls together waited for that.",
            bench.size.backend_seconds
        ),
        figures,
        remarks,
    }))
}

/// How many calls so many backends make in a second, all together.
fn generate(bench: &Bench, backends: usize, call: &str) -> f64 {
    let span = Duration::from_secs_f64(bench.size.backend_seconds);
    let query = format!("SELECT count({call}) FROM generate_series(1, {CHUNK})");
    let (server, begin) = (&bench.server, Barrier::new(backends));
    let runs = in_parallel(backends, |_| {
        let mut client = server.connect();
        client.batch_execute(&query).expect("IDs");
        begin.wait();
        let (began, mut chunks) = (Instant::now(), 0);
        while began.elapsed() < span {
            client.batch_execute(&query).expect("IDs");
            chunks += 1;
        }
        (began, Instant::now(), chunks)
    });
    let began = runs.iter().map(|run| run.0).min().expect("a backend");
    let ended = runs.iter().map(|run| run.1).max().expect("a backend");
    let chunks: usize = runs.iter().map(|run| run.2).sum();
    (chunks * CHUNK) as f64 / (ended - began).as_secs_f64()
}

/// How often backends have found a generator without a number to give, and for how many seconds they waited.
fn waited(bench: &mut Bench) -> [f64; 2] {
    ["sum(overflows)", "extract(epoch FROM sum(waited))"]
        .map(|sum| bench.number(&format!("SELECT coalesce({sum}, 0) FROM sno_generators")))
}
