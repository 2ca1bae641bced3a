//! Servers under load, in any order: their clock steps, their backends are killed, they stop in each of the ways that a server stops,
//! and start with another clock.

use sno_tests::{Mode, Random, Server};

use crate::{load, pick, tally};

#[test]
fn whatever_happens_to_a_server_under_load() {
    for prefix in ["3/16", "3"] {
        let server = Server::builder().faketime(true).conf("sno.partition_prefix", prefix).start();
        let mut random = Random::seeded();
        let (ids, errors) = load::run(&server, 4, load::DRAW, "", |load| {
            let mut kills = 0;
            let rounds = pick(12, 120);
            for round in 0..rounds {
                // Some faults come right after a start, when everybody resumes; some in the midst of it.
                load.wait([1, 20_000, 40_000][round % 3]);
                // Of a millisecond to two seconds, many of them before the last one is over.
                let most = [5, 50, 500, 2000][random.below(4)];
                let millis = random.below(2 * most + 1) as i64 - most as i64;
                let offset = format!("{:+.3}", millis as f64 / 1000.0);
                match round % 6 {
                    0 | 1 => {
                        server.set_clock(&offset);
                        tally::fault("clock steps");
                    }
                    2 => {
                        // Two at a time: the second may be on its way out already.
                        let killed = server.crash(2, load.pids(round));
                        kills += killed;
                        (0..killed).for_each(|_| tally::fault("kill -9 of a backend that generates"));
                    }
                    stop => {
                        server.stop([Mode::Fast, Mode::Immediate, Mode::Crash][stop - 3]);
                        // Else its clock stands still while it is down.
                        if random.below(2) == 0 {
                            server.set_clock(&offset);
                        }
                        server.start();
                        tally::fault("crashes and shutdowns of the whole server under load");
                    }
                }
            }
            server.set_clock("+0");
            load.wait(20_000);
            // Right after a start, not everybody is back.
            assert!(kills >= rounds / 12, "{kills} kills in {rounds} rounds");
        });
        load::only(&errors, &load::DOWN);
        tally::prove(ids);
    }
}
