//! Many connections at once: PIDs that fold onto shared generators, small pools.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{env, fs, thread};

use sno_tests::postgres::Client;
use sno_tests::{Ids, Server, in_parallel};

use crate::{load, pick, tally, text};

#[test]
fn three_hundred_connections_share_the_generators() {
    for (prefix, generators) in [("7", 255), ("7/12", 15), ("7/16", 1)] {
        let server =
            Server::builder().conf("max_connections", "400").conf("sno.partition_prefix", prefix).start();
        // Everyone is connected before anyone draws.
        let each = pick(4_000, 70_000);
        let clients: Vec<_> = (0..300).map(|_| std::sync::Mutex::new(server.connect())).collect();
        let all: Ids = in_parallel(300, |number| {
            let mut ids = server.ids();
            let query = format!("SELECT sno_new(1) FROM generate_series(1, {each})");
            ids.query(&mut clients[number].lock().unwrap(), &query).unwrap();
            assert!(ids.is_ascending());
            ids
        })
        .into_iter()
        .collect();
        assert_eq!(all.len(), 300 * each);
        let mut partitions: Vec<u16> = all.iter().map(|id| id.partition()).collect();
        partitions.sort_unstable();
        partitions.dedup();
        assert!(partitions.len() <= generators, "{prefix}: {} partitions", partitions.len());
        assert!(partitions.len() > generators / 2, "{prefix}: {} partitions", partitions.len());
        tally::fault("crowds of 300 connections on 255, 15 or 1 generators");
        tally::prove(all);
    }
}

/// Sessions one after the other whose processes all have the same ID, on a clock that stands still: if a generator were its
/// process's own, each of them would begin with the same ID.
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
        // A limit of the user, which must not go unnoticed where all tests count.
        assert!(env::var_os("CI").is_none(), "{LAST_PID} can't be written");
        tally::note(format!("No process ID could be made to come again: {LAST_PID} can't be written."));
        return;
    }
    ids.query(&mut client, DRAW).unwrap();
    server.hold_clock();
    for _ in 0..pick(5, 50) {
        ids.query(&mut client, DRAW).unwrap();
        drop(client);
        let began = Instant::now();
        while Path::new(&format!("/proc/{first}")).exists() {
            assert!(began.elapsed() < Duration::from_secs(20), "process {first} does not end");
            thread::sleep(Duration::from_millis(1));
        }
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

/// Millions of IDs as fast as four connections get them.
fn flood(server: &Server) {
    let query = "SELECT sno_new(1) FROM generate_series(1, 500000)";
    let (ids, errors) = load::run(server, 4, query, "", |load| {
        while load.drawn() < pick(2_000_000, 45_000_000) {
            load.wait(1);
        }
    });
    load::only(&errors, &[]);
    tally::prove(ids);
}

#[test]
fn a_flood_from_all_generators() {
    flood(&Server::builder().start());
}

#[test]
fn a_flood_from_one_generator() {
    flood(&Server::builder().conf("sno.partition_prefix", "9/16").start());
}

/// Small pools make callers wait for the next tick: correct, and no slower than the pool allows.
#[test]
fn small_pools_give_what_they_can() {
    for (range, size, connections) in [("0-3", 4, 1), ("0-3", 4, 8), ("500-563", 64, 1), ("500-563", 64, 24)]
    {
        let server =
            Server::builder().conf("sno.partition_prefix", "7/16").conf("sno.sequence_range", range).start();
        let seconds = pick(1.5, 5.0);
        let query = format!("SELECT sno_new(1) FROM generate_series(1, {})", size * 10);
        let mut best = (0.0, 0.0);
        let (ids, errors) = load::run(&server, connections, &query, "", |load| {
            for _ in 0..3 {
                let before = load.drawn();
                let (ticks, caught) = ticks_caught(Duration::from_secs_f64(seconds));
                let used = (load.drawn() - before) as f64 / f64::from(size);
                best = if used / caught > best.0 { (used / caught, used / ticks) } else { best };
                if best.0 >= 0.9 {
                    break;
                }
            }
        });
        load::only(&errors, &[]);
        assert!(ids.iter().all(|id| range_of(range).contains(&id.sequence())));
        tally::fault("crowds on pools of 4 and 64");
        tally::note(format!(
            "A pool of {size:2} with {connections:2} connections: {:.1} % of its {} IDs a second",
            best.1 * 100.0,
            250 * size
        ));
        tally::prove(ids);
        assert!(
            best.0 >= 0.5,
            "{range}, {connections} connections: {:.0} % of what the pool allows",
            best.0 * 100.0
        );
    }
}

fn range_of(text: &str) -> std::ops::RangeInclusive<u16> {
    let (lower, upper) = text.split_once('-').unwrap();
    lower.parse().unwrap()..=upper.parse().unwrap()
}

/// How many ticks pass in a while, and how many of them a thread sees that sleeps until each next one: on a
/// machine that has other things to do, not all.
fn ticks_caught(duration: Duration) -> (f64, f64) {
    let began = Instant::now();
    let mut caught = 0.0;
    while began.elapsed() < duration {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock that is set");
        thread::sleep(Duration::from_micros(4000 - now.as_micros() as u64 % 4000));
        caught += 1.0;
    }
    (began.elapsed().as_secs_f64() * 250.0, caught)
}
