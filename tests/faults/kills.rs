//! `kill -9` for backends that generate, over and over; for the postmaster alone; for the one that writes the marks.

use std::fs::{self, File};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sno_tests::{Server, Sql as _, in_parallel, skip_on_this_machine};

use crate::{load, pick, tally};

#[test]
fn backends_are_killed_while_they_generate() {
    // With one generator for all, and with many.
    for (prefix, fsync) in [("3/16", false), ("3", true)] {
        let server =
            Server::builder().faketime(true).fsync(fsync).conf("sno.partition_prefix", prefix).start();
        let rounds = pick(4, 40);
        let mut kills = 0;
        let (ids, errors) = load::run(&server, 4, load::DRAW, "", |load| {
            for round in 0..rounds {
                // Some go right after a start, when everybody resumes; some in the midst of it.
                load.wait([1, 20_000, 60_000][round % 3]);
                // Two at a time: the second may be on its way out already.
                let killed = server.crash(2, load.pids(round));
                for _ in 0..killed {
                    tally::fault("kill -9 of a backend that generates");
                }
                kills += killed;
            }
            load.wait(20_000);
        });
        // Right after a start, not everybody is back.
        assert!(kills >= rounds / 2, "{kills} kills in {rounds} rounds");
        load::only(&errors, &load::DOWN);
        tally::prove(ids);
    }
}

/// The process that holds the lock of a server's marks file.
fn writer(server: &Server) -> Option<i32> {
    use std::os::unix::fs::MetadataExt as _;

    let inode = fs::metadata(server.marks()).ok()?.ino().to_string();
    let locks = fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ours = words.get(1) == Some(&"FLOCK") && words.get(5)?.rsplit(':').next() == Some(&inode);
        if ours { words.get(4)?.parse().ok() } else { None }
    })
}

#[test]
fn the_writer_of_the_marks_is_killed() {
    let server = Server::builder().faketime(true).fsync(true).start();
    server.run("SELECT sno_new(1)");
    // Some containers and file systems hide who holds a lock, even from its holder.
    let lock = File::open(server.marks()).unwrap();
    lock.lock().unwrap();
    if writer(&server) != Some(std::process::id() as i32) {
        return skip_on_this_machine("/proc/locks does not show who holds a lock");
    }
    drop(lock);
    let mut caught = 0;
    let goal = pick(2, 15);
    let (ids, errors) = load::run(&server, 4, load::DRAW, "", |load| {
        let began = Instant::now();
        let patience = |caught| Duration::from_secs(if caught == 0 { 120 } else { pick(20, 120) });
        while caught < goal && began.elapsed() < patience(caught) {
            let Some(pid) = writer(&server).filter(|pid| *pid > 0) else { continue };
            // It may have let go of the lock by now; in most cases it is still waiting for the disk.
            if server.crash(1, [pid]) == 0 {
                continue;
            }
            caught += 1;
            tally::fault("kill -9 of the writer of the marks");
            load.wait(1);
        }
        load.wait(20_000);
    });
    assert!(caught > 0, "the writer of the marks was never caught in the act");
    load::only(&errors, &load::DOWN);
    tally::prove(ids);
}

/// Backends go on with their queries when only the postmaster is killed, and no second server starts beside them.
#[test]
fn backends_outlive_the_postmaster() {
    const EACH: usize = 1500;
    // So small a pool that a query takes seconds, however fast the machine is.
    let server =
        Server::builder().conf("sno.partition_prefix", "3/16").conf("sno.sequence_range", "0-3").start();
    let draw = format!("SELECT sno_new(1) FROM generate_series(1, {EACH})");
    let mut drawn = in_parallel(5, |number| {
        let mut ids = server.ids();
        let mut client = server.connect();
        if number < 4 {
            // The end of the query is the end of the session, and that may hide the last rows from the client.
            if let Err(error) = ids.query(&mut client, &draw) {
                assert!(error.code().is_none_or(|code| code.code() == "57P01"), "{error}");
            }
            return (ids, Duration::ZERO);
        }
        let query = format!(
            "SELECT coalesce(array_agg(pid), '{{}}') FROM pg_stat_activity
             WHERE state = 'active' AND query LIKE 'COPY ({draw})%'"
        );
        let (mut pids, began) = (Vec::<i32>::new(), Instant::now());
        while pids.len() < 4 {
            assert!(began.elapsed() < Duration::from_secs(20), "{} draw", pids.len());
            thread::sleep(Duration::from_millis(5));
            pids = client.one(&query);
        }
        server.kill_postmaster();
        let killed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        tally::fault("kill -9 of the postmaster alone");
        let error = server.try_start().unwrap_err();
        assert!(error.contains("pre-existing shared memory block"), "{error}");
        let left = server.processes();
        assert!(pids.iter().all(|pid| left.contains(pid)), "of {pids:?} there are {left:?}");
        (ids, killed)
    });
    let (mut all, killed) = drawn.pop().unwrap();
    for (ids, _) in drawn {
        let last = ids.iter().last().unwrap().tick().unix_micros();
        assert!(last > killed.as_micros() as i64, "{} IDs, all from before", ids.len());
        all.append(ids);
    }
    // Without a query they end by themselves.
    let began = Instant::now();
    while !server.processes().is_empty() {
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", server.processes());
        thread::sleep(Duration::from_millis(20));
    }
    server.start();
    all.query(&mut server.connect(), &draw).unwrap();
    tally::prove(all);
}
