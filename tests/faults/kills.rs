//! `kill -9` for backends that generate, over and over; for the postmaster alone; for the one that writes the marks.

use std::time::{Duration, Instant};
use std::{fs, thread};

use sno_tests::{Ids, Mode, SIGKILL, SIGQUIT, Server};

use crate::{load, pick, tally};

#[test]
fn backends_are_killed_while_they_generate() {
    // With one generator for all, and with many.
    for (prefix, fsync) in [("3/16", false), ("3", true)] {
        let server = Server::builder().fsync(fsync).conf("sno.partition_prefix", prefix).start();
        let (ids, errors) = load::run(&server, 4, load::DRAW, "", |load| {
            for round in 0..pick(4, 40) {
                // Some go right after a start, when everybody resumes; some in the midst of it.
                load.wait([1, 20_000, 60_000][round % 3]);
                let before = server.recoveries();
                // Two at a time: the second may be on its way out already.
                let mut killed = 0;
                for connection in [round, round + 1] {
                    if load.kill(connection, SIGKILL) {
                        killed += 1;
                        tally::fault("kill -9 of a backend that generates");
                    }
                }
                if killed > 0 {
                    load::wait_recovery(&server, before);
                }
            }
            load.wait(20_000);
        });
        load::only(&errors, &load::DOWN);
        tally::prove(ids);
    }
}

/// The process that holds the lock of a server's marks file.
fn writer(server: &Server) -> Option<i32> {
    use std::os::unix::fs::MetadataExt as _;

    let inode = fs::metadata(server.data().join("sno.marks")).ok()?.ino().to_string();
    let locks = fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ours = words.get(1) == Some(&"FLOCK") && words.get(5)?.rsplit(':').next() == Some(&inode);
        if ours { words.get(4)?.parse().ok() } else { None }
    })
}

#[test]
fn the_writer_of_the_marks_is_killed() {
    let server = Server::builder().fsync(true).start();
    let mut caught = 0;
    let goal = pick(2, 15);
    let (ids, errors) = load::run(&server, 4, load::DRAW, "", |load| {
        let began = Instant::now();
        while caught < goal && began.elapsed() < Duration::from_secs(pick(20, 120)) {
            let before = server.recoveries();
            let Some(pid) = writer(&server).filter(|pid| *pid > 0) else { continue };
            // It may have let go of the lock by now; in most cases it is still waiting for the disk.
            if !load::kill(&server, pid, SIGKILL) {
                continue;
            }
            caught += 1;
            tally::fault("kill -9 of the writer of the marks");
            load::wait_recovery(&server, before);
            load.wait(1);
        }
        load.wait(20_000);
    });
    if caught == 0 {
        tally::note(
            "The writer of the marks was never caught in the act: /proc/locks did not show it.".into(),
        );
    }
    load::only(&errors, &load::DOWN);
    tally::prove(ids);
}

/// Backends go on with their queries when only the postmaster is killed, and no second server starts beside them.
#[test]
fn the_postmaster_alone_is_killed() {
    let server = Server::builder().conf("sno.partition_prefix", "3/16").start();
    let mut ids = Ids::new();
    for _ in 0..pick(1, 5) {
        let (drawn, errors) =
            load::run(&server, 4, "SELECT sno_new(1) FROM generate_series(1, 300000)", "", |load| {
                load.wait(1);
                server.kill_backend(server.postmaster_pid(), SIGKILL);
                tally::fault("kill -9 of the postmaster alone");
                // The rest follows, as the operating system's service manager would have it, in its own time.
                thread::sleep(Duration::from_millis(300));
                for connection in 0..4 {
                    load.kill(connection, SIGQUIT);
                }
                server.stop(Mode::Crash);
            });
        load::only(&errors, &load::DOWN);
        ids.append(drawn);
        server.start();
        ids.query(&mut server.connect(), load::DRAW).unwrap();
    }
    tally::prove(ids);
}
