//! `kill -9` for the postmaster alone, and for the one that writes the marks. For backends that generate: `restarts.rs`.

use std::fs::{self, File};
use std::thread;
use std::time::{Duration, Instant};

use sno_tests::{SIGQUIT, Server, skip_on_this_machine};

use crate::{load, pick, tally};

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

/// The postmaster first, and the rest a moment later.
#[test]
fn the_postmaster_alone_is_killed() {
    let server = Server::builder().faketime(true).conf("sno.partition_prefix", "3/16").start();
    let mut ids = server.ids();
    for _ in 0..pick(1, 5) {
        let (drawn, errors) =
            load::run(&server, 4, "SELECT sno_new(1) FROM generate_series(1, 300000)", "", |load| {
                load.wait(1);
                server.kill_postmaster();
                tally::fault("kill -9 of the postmaster alone");
                // The rest follows, as the operating system's service manager would have it, in its own time.
                thread::sleep(Duration::from_millis(300));
                for pid in load.pids(0) {
                    server.kill_backend(pid, SIGQUIT);
                }
                server.kill_all();
            });
        load::only(&errors, &load::DOWN);
        ids.append(drawn);
        server.start();
        ids.query(&mut server.connect(), load::DRAW).unwrap();
    }
    tally::prove(ids);
}
