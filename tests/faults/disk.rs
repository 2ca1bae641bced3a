//! The disk that the marks are on: when it is written and synced, what happens if that fails, and what is left when the
//! machine loses its power.

use std::time::{SystemTime, UNIX_EPOCH};

use sno_tests::sno_core::{Sno, Tick};
use sno_tests::{Mode, Server};

use crate::{code, error, tally};

const DRAW: &str = "SELECT sno_new(1) FROM generate_series(1, 1000)";

/// One generator, a clock that is moved, and a disk that loses what was not synced.
fn server() -> Server {
    Server::builder().disk(true).faketime(true).conf("sno.partition_prefix", "3/16").start()
}

/// On a clock that stands still, each call does to the disk, and returns, what it does in the simulator, whose test
/// `a_real_server_does_the_same` reads this schedule, too.
#[test]
fn the_simulator_does_the_same() {
    let schedule = include_str!("../../core/tests/sim/schedule.txt");
    let builder = Server::builder().disk(true).faketime(true).conf("sno.partition_prefix", "3/16");
    let mut server = builder.conf("sno.max_clock_wait", "0").start();
    // A tick begins with each second.
    let start = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64 * 1_000_000;
    let millis = |tick: Tick| (tick.unix_micros() - start) / 1000;
    let (mut now, mut text) = (start, String::new());
    for event in schedule.lines().filter(|line| !line.starts_with(' ')) {
        text += &format!("{event}\n");
        let query = match event {
            "ID" => "SELECT sno_new()::text",
            "horizon" => "SELECT sno_horizon('1 s')::text",
            _ => {
                match event {
                    "restart fast" => server.restart(Mode::Fast),
                    "restart immediate" => server.restart(Mode::Immediate),
                    "restart crash" => server.restart(Mode::Crash),
                    "promotion" => {
                        let standby = server.standby();
                        server.run("CREATE TABLE t ()");
                        server.wait_replayed(&standby);
                        server.stop(Mode::Fast);
                        standby.promote();
                        server = standby;
                    }
                    _ => now = start + 1000 * event.strip_prefix("clock ").unwrap().parse::<i64>().unwrap(),
                }
                server.stop_clock(now);
                continue;
            }
        };
        // A start of PostgreSQL syncs, too.
        let before = server.disk_calls().len();
        let result = match server.connect().query_one(query, &[]) {
            Ok(row) => {
                let id: Sno = row.get::<_, String>(0).parse().unwrap();
                format!("returns {} ms, side {}", millis(id.tick()), id.tick_tock() as u8)
            }
            Err(error) => {
                let detail = error.as_db_error().and_then(|error| error.detail()).unwrap();
                let (_, ahead) = detail.split_once("which is ").unwrap();
                format!("fails, {}", ahead.split_once(';').unwrap().0)
            }
        };
        let calls = server.disk_calls().split_off(before);
        calls.iter().chain([&result]).for_each(|line| text += &format!("    {line}\n"));
        let record = server.record();
        text += &format!("    record {}: {:?} ms\n", record.serial, record.limits.map(millis));
    }
    assert!(text == schedule, "{text}");
}

/// The first ID is handed out when its mark is on disk, and not before; nor is the next one beyond a mark.
#[test]
fn no_id_without_its_mark_on_disk() {
    for (fault, expected) in [
        ("pwrite64 5", ("58030", "could not write file \"sno.marks\": Input/output error (os error 5)")),
        (
            "pwrite64 28",
            ("53100", "could not write file \"sno.marks\": No space left on device (os error 28)"),
        ),
        ("pwrite64 122", ("53100", "could not write file \"sno.marks\": Disk quota exceeded (os error 122)")),
        ("flock 37", ("58030", "could not lock file \"sno.marks\": No locks available (os error 37)")),
        (
            "fsync 5\nfdatasync 5",
            ("58030", "could not write file \"sno.marks\": Input/output error (os error 5)"),
        ),
        (
            "fsync 28\nfdatasync 28",
            ("53100", "could not write file \"sno.marks\": No space left on device (os error 28)"),
        ),
    ] {
        let server = server();
        // A wait for a lock that cannot be had ends as well, as another error.
        let mut client = server.connect_with("-c statement_timeout=20s");
        let refused = |client: &mut _| {
            for _ in 0..2 {
                let error = error(client, "SELECT sno_new(1)");
                assert_eq!((error.code().code(), error.message()), expected);
            }
            tally::fault("writes and syncs of the marks that fail");
        };
        server.fail_disk(fault);
        refused(&mut client);
        server.fail_disk("");
        let mut ids = server.ids();
        ids.query(&mut client, DRAW).unwrap();
        server.fail_disk(fault);
        // Up to the mark, two seconds ahead, and not beyond.
        server.advance_clock(1.5);
        ids.query(&mut client, DRAW).unwrap();
        // Seen in the log before anyone feels it.
        assert!(server.log().contains(&format!("LOG:  {}", expected.1)), "{}", server.log());
        server.advance_clock(1.5);
        refused(&mut client);
        // The server has not gone down, and a crash of the machine finds the mark that was synced.
        assert_eq!(server.recoveries(), 0);
        server.restart(Mode::Crash);
        assert_eq!(code(&mut server.connect(), "SELECT sno_new(1)"), expected.0);
        server.fail_disk("");
        ids.query(&mut server.connect(), DRAW).unwrap();
        tally::prove(ids);
    }
}

/// A write that ends in its middle goes on where it ended.
#[test]
fn short_writes() {
    let server = server();
    server.fail_disk("pwrite64 short");
    let mut ids = server.ids();
    for _ in 0..3 {
        ids.query(&mut server.connect(), DRAW).unwrap();
        server.advance_clock(1.2);
    }
    tally::fault("writes of the marks in many parts");
    for part in ["pwrite64 2048 at 4096", "pwrite64 1024 at 6144", "pwrite64 1 at 8191"] {
        assert!(server.disk_calls().contains(&part.to_owned()), "{part}: {:?}", server.disk_calls());
    }
    server.restart(Mode::Crash);
    ids.query(&mut server.connect(), DRAW).unwrap();
    tally::prove(ids);
}
