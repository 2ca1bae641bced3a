//! Servers that stop and start under load, in each of the ways that a server stops.

use sno_tests::{Mode, Server};

use crate::{load, pick, tally};

#[test]
fn servers_stop_and_start_under_load() {
    for prefix in ["3/16", "3"] {
        let server = Server::builder().faketime(true).conf("sno.partition_prefix", prefix).start();
        let (ids, errors) = load::run(&server, 4, load::DRAW, "", |load| {
            for round in 0..pick(3, 18) {
                load.wait([40_000, 1][round % 2]);
                let (mode, kind) = [
                    (Mode::Fast, "fast shutdowns under load"),
                    (Mode::Immediate, "immediate shutdowns under load"),
                    (Mode::Crash, "crashes of the whole server under load"),
                ][round % 3];
                server.restart(mode);
                tally::fault(kind);
            }
            load.wait(20_000);
        });
        load::only(&errors, &load::DOWN);
        tally::prove(ids);
    }
}
