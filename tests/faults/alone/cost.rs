//! What the marks cost: the latency that single calls see, with a disk that has to be waited for.

use std::time::{Duration, Instant};

use sno_tests::{Server, in_parallel};

use crate::{pick, tally};

#[test]
fn the_latency_of_a_call_with_fsync() {
    let server = Server::builder().fsync(true).start();
    // What lies between two readings of the clock, with a call in between and without one.
    let query = |call: &str| {
        format!(
            "SELECT (extract(epoch FROM later - earlier) * 1e6)::integer
             FROM (SELECT clock_timestamp() AS earlier, {call} AS id, clock_timestamp() AS later
                   FROM generate_series(1, 20000) OFFSET 0) calls WHERE id IS NOT NULL"
        )
    };
    let [nothing, sno_new] = [("nothing", "1"), ("sno_new", "sno_new(1)")].map(|(name, call)| {
        let mut micros: Vec<i32> = in_parallel(2, |_| {
            let mut client = server.connect();
            let mut micros: Vec<i32> = Vec::new();
            let began = Instant::now();
            while began.elapsed() < Duration::from_secs(pick(2, 10)) {
                micros
                    .extend(client.query(&query(call), &[]).unwrap().iter().map(|row| row.get::<_, i32>(0)));
            }
            micros
        })
        .concat();
        micros.sort_unstable();
        let at = |share: f64| micros[((micros.len() - 1) as f64 * share) as usize];
        let over = micros.iter().filter(|&&micros| micros > 1000).count();
        tally::note(format!(
            "Latency of {name} in {} calls on 2 connections, fsync on, in microseconds: p50 {}, p99 {}, p99.99 {}, \
             max {}; {over} over a millisecond",
            micros.len(),
            at(0.5),
            at(0.99),
            at(0.9999),
            at(1.0)
        ));
        [at(0.5), at(0.99)]
    });
    // What holds on a busy machine, too: few calls meet a write, or have to wait for one.
    assert!(sno_new[0] <= nothing[0] + 5, "p50: {} µs, {} without", sno_new[0], nothing[0]);
    assert!(sno_new[1] < 1000, "p99: {} µs", sno_new[1]);
}
