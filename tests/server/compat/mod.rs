//! The ID schemes of `sno_compat` on real servers: never the same ID twice, settings that fail closed, and a table that
//! moves to `sno` while it is in use.

mod clocks;
mod migration;
mod settings;
mod uniqueness;

use std::{
    io::Read,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use sno_tests::{Builder, Server, Stop, in_parallel, postgres::Client};

/// A server with the extension, and with what Snowflake-SI can't do without.
fn builder() -> Builder {
    Server::builder()
        .conf("sno_compat.snowflake_si_base_clock", "2020-01-01T00:00:00Z")
        .conf("sno_compat.snowflake_si_machine", "12")
}

fn start(builder: Builder) -> Server {
    let server = builder.start();
    server.run("CREATE EXTENSION sno_compat");
    server
}

/// What makes an ID of each scheme, as numbers in which nothing is left to chance: of a uid60 all but its random
/// bits, of a gid the random bits, since there is nothing else.
const SCHEMES: [(&str, &str); 4] = [
    ("snowflake_si", "snowflake_si_new()"),
    ("uid60", "uid60_new()::bigint >> 9"),
    ("uniqueid", "('x' || uniqueid_new()::text)::bit(64)::bigint"),
    ("gid", "('x' || encode(substr(gid_tail(gid_new('log')), 2), 'hex'))::bit(64)::bigint"),
];

/// Those that keep a state, and a clock's resolution in which they count.
const STATEFUL: usize = 3;

/// Draws so many numbers on a connection; an error that comes late does not hide what was seen before it.
fn draw(client: &mut Client, expression: &str, count: usize) -> Result<Vec<i64>, sno_tests::postgres::Error> {
    let mut text = String::new();
    client
        .copy_out(&format!("COPY (SELECT {expression} FROM generate_series(1, {count})) TO STDOUT"))?
        .read_to_string(&mut text)
        .map_err(|error| {
            *error.into_inner().and_then(|inner| inner.downcast().ok()).expect("an error of the server's")
        })?;
    Ok(text.lines().map(|line| line.parse().expect("a number")).collect())
}

/// Draws on many connections at once; one collection for each.
fn draw_on(server: &Server, connections: usize, expression: &str, each: usize) -> Vec<Vec<i64>> {
    in_parallel(connections, |_| draw(&mut server.connect(), expression, each).expect(expression))
}

/// Draws of each scheme that keeps a state, on four connections and in small queries, for as long as `body` runs.
/// What `body` gets waits until each scheme has answered queries that came after that.
fn draw_while(server: &Server, body: impl FnOnce(&dyn Fn())) -> [Vec<i64>; STATEFUL] {
    const EACH: usize = 4;
    let done = AtomicBool::new(false);
    let answered: [AtomicUsize; STATEFUL] = Default::default();
    thread::scope(|scope| {
        let drawing: [_; STATEFUL] = std::array::from_fn(|scheme| {
            let (_, expression) = SCHEMES[scheme];
            let (done, answered) = (&done, &answered[scheme]);
            scope.spawn(move || {
                in_parallel(EACH, |_| {
                    let (mut client, mut ids) = (server.connect(), Vec::new());
                    while !done.load(Relaxed) {
                        ids.extend(draw(&mut client, expression, 60).expect(expression));
                        answered.fetch_add(1, Relaxed);
                    }
                    ids
                })
                .concat()
            })
        });
        let stop = Stop(&done);
        body(&|| {
            let began = Instant::now();
            // As many may have been under way.
            let under_way = answered.each_ref().map(|answered| answered.load(Relaxed) + EACH);
            for ((answered, under_way), (scheme, _)) in answered.iter().zip(under_way).zip(SCHEMES) {
                while answered.load(Relaxed) <= under_way {
                    assert!(began.elapsed() < Duration::from_secs(60), "no IDs of {scheme}");
                    thread::sleep(Duration::from_millis(2));
                }
            }
        });
        drop(stop);
        drawing.map(|thread| thread.join().unwrap())
    })
}

#[track_caller]
fn assert_distinct(what: &str, mut all: Vec<i64>, count: usize) {
    assert_eq!(all.len(), count, "{what}");
    all.sort_unstable();
    let repeated: Vec<_> = all.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
    assert!(
        repeated.is_empty(),
        "{what}: {} of {count} came twice: {:x?}",
        repeated.len(),
        &repeated[..10.min(repeated.len())]
    );
}

/// How often each value comes.
fn most(values: impl Iterator<Item = i64>) -> usize {
    let mut values: Vec<_> = values.collect();
    values.sort_unstable();
    values.chunk_by(|a, b| a == b).map(<[_]>::len).max().unwrap_or(0)
}
