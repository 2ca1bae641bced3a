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
    // The shortest of some times, less that of a scan.
    let mut time = |expression: &str| -> Duration {
        let query = format!("SELECT count({expression}) FROM ids");
        let mut run = || {
            let began = Instant::now();
            client.batch_execute(&query).unwrap();
            began.elapsed()
        };
        (0..5).map(|_| run()).min().unwrap()
    };
    let scan = time("masked");
    let hash = time("md5(masked)").saturating_sub(scan);
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
        let ours = time(expression).saturating_sub(scan);
        println!("{name}: {:?} a call, md5: {:?}", ours / 200_000, hash / 200_000);
        // Once is what was measured; with numbers on the heap it would be ten times. The rest is for a busy machine.
        assert!(ours < hash * 4, "{name}: {ours:?}, md5 {hash:?}");
    }
}
