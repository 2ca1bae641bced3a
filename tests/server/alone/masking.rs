//! What a mask costs: about as much as `md5()`.

use std::time::{Duration, Instant};

use sno_tests::Server;

#[test]
fn a_mask_costs_what_a_hash_does() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client
        .batch_execute(
            "SET max_parallel_workers_per_gather = 0;
             CREATE TABLE ids AS SELECT id, sno_mask(id, decode(repeat('2b', 32), 'hex'), 'ids') AS masked
                 FROM (SELECT sno_make('2026-01-01Z', 1, n / 60000, n % 60000) AS id FROM generate_series(1, 200000) n) i;
             ANALYZE ids;",
        )
        .unwrap();
    // The shortest of some times, less that of a scan. On a busy machine it takes some attempts.
    let mut time = |expression: &str| -> Duration {
        let query = format!("SELECT count({expression}) FROM ids");
        let mut run = || {
            let began = Instant::now();
            client.batch_execute(&query).unwrap();
            began.elapsed()
        };
        (0..5).map(|_| run()).min().unwrap()
    };
    for (name, expression) in [
        (
            "mask",
            "sno_mask(id, decode('2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b', 'hex'), 'ids')",
        ),
        (
            "unmask",
            "sno_unmask(masked, decode('2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b', 'hex'), 'ids')",
        ),
    ] {
        let ratio = |time: &mut dyn FnMut(&str) -> Duration| {
            let scan = time("masked");
            let [ours, hash] = [expression, "md5(masked)"].map(|call| time(call).saturating_sub(scan));
            println!("{name}: {:?} a call, md5: {:?}", ours / 200_000, hash / 200_000);
            ours.as_secs_f64() / hash.as_secs_f64()
        };
        // Once is what was measured; with numbers on the heap it would be ten times.
        assert!((0..10).any(|_| ratio(&mut time) < 4.0), "{name}");
    }
}
