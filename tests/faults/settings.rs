//! Settings that change under load, good ones and bad ones.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use sno_tests::Server;

use crate::{load, pick, tally};

const DRAW: &str = "SELECT sno_new(1) FROM generate_series(1, 100)";

#[test]
fn prefixes_and_ranges_change_under_load() {
    // Not the default, which is what a bad prefix must never lead to.
    let server = Server::builder().conf("sno.partition_prefix", "7").start();
    let (ids, errors) = load::run(&server, 6, DRAW, "", |load| {
        for round in 0..pick(7, 42) {
            // All that are right lead to the same partitions, by different ways.
            let (prefix, range) = [
                ("7", "0-65535"),
                ("112/12", "0-99"),
                ("1792/16", "50-149"),
                ("7", "1000-1003"),
                ("nonsense", "0-65535"),
                ("7/9", "9-4"),
                ("14/9", "0-65535"),
            ][round % 7];
            server.configure("sno.partition_prefix", prefix);
            server.configure("sno.sequence_range", range);
            server.reload();
            tally::fault("settings changed under load");
            thread::sleep(Duration::from_millis(250));
        }
        server.configure("sno.partition_prefix", "7");
        server.configure("sno.sequence_range", "0-65535");
        server.reload();
        load.wait(2000);
    });
    load::only(&errors, &["22023"]);
    assert!(errors.contains_key("22023"), "{errors:?}");
    let prefixes: BTreeSet<u16> = ids.iter().map(|id| id.partition() >> 8).collect();
    assert_eq!(prefixes, BTreeSet::from([7]));
    tally::prove(ids);
}
