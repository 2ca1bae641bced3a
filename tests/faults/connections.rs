//! Process IDs that come again.

use std::fs;
use std::path::Path;

use sno_tests::postgres::Client;
use sno_tests::{Server, skip_on_this_machine, wait_until};

use crate::{pick, tally, text};

/// Sessions one after the other whose processes all have the same ID, on a clock that stands still: if a generator were
/// its process's own, each of them would begin with the same ID.
#[test]
fn a_process_id_that_comes_again() {
    const DRAW: &str = "SELECT sno_new(1) FROM generate_series(1, 1000)";
    // Takes the number after which the next process is numbered; for superusers only.
    const LAST_PID: &str = "/proc/sys/kernel/ns_last_pid";

    let server = Server::builder().faketime(true).conf("sno.partition_prefix", "7").start();
    let mut ids = server.ids();
    let mut client = server.connect();
    let pid = |client: &mut Client| text(client, "SELECT pg_backend_pid()").parse::<u32>().unwrap();
    let first = pid(&mut client);
    if fs::write(LAST_PID, (first - 1).to_string()).is_err() {
        return skip_on_this_machine("/proc/sys/kernel/ns_last_pid can't be written");
    }
    ids.query(&mut client, DRAW).unwrap();
    server.hold_clock();
    for _ in 0..pick(5, 50) {
        ids.query(&mut client, DRAW).unwrap();
        drop(client);
        wait_until("the process ends", || !Path::new(&format!("/proc/{first}")).exists());
        // Other processes may start at any time, and take the number.
        client = (0..500)
            .find_map(|_| {
                fs::write(LAST_PID, (first - 1).to_string()).unwrap();
                let mut next = server.connect();
                (pid(&mut next) == first).then_some(next)
            })
            .expect("the same process ID");
        tally::fault("process IDs that came again");
    }
    ids.query(&mut client, DRAW).unwrap();
    assert!(ids.is_ascending());
    let partition = ids.iter().next().unwrap().partition();
    assert!(ids.iter().all(|id| id.partition() == partition), "one generator for one process ID");
    tally::prove(ids);
}
