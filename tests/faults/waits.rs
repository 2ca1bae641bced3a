//! Backends that wait: for the clock, for the next tick, for another that writes the marks. All of them show it,
//! use no CPU to speak of, and end at once when they are told to.

use std::collections::BTreeSet;
use std::fs::File;
use std::thread;
use std::time::{Duration, Instant};

use sno_tests::postgres::Client;
use sno_tests::{
    Ids, Server, Sql as _, assert_soon, in_parallel, major_version, processor_ticks, wait_until,
};

use crate::{end, error, tally, text, within_a_minute};

const WAITERS: usize = 12;

/// How much later than that of those that sleep the last of them has to end.
const PROMPT: Duration = Duration::from_millis(400);

/// Controls: a sleep, and one that is as short as a tick.
const SLEEP: &str = "SELECT pg_sleep(60)";
const NAPS: &str = "SELECT count(pg_sleep(0.004)) FROM generate_series(1, 10000)";

/// What `pg_stat_activity` calls a wait.
fn wait_event(client: &mut Client, name: &str) -> String {
    if major_version(client) >= 17 { name.into() } else { "Extension".into() }
}

/// Backends that wait in `query`, looked at and then ended in each of the ways there are. They use no more of a processor than backends
/// that sleep in `control`, and end as soon.
#[track_caller]
fn endure(server: &Server, query: &str, event: &str, control: &str) {
    let event = wait_event(&mut server.connect(), event);
    for (how, expected) in
        [("SELECT pg_cancel_backend(pid)", "57014"), ("SELECT pg_terminate_backend(pid)", "57P01")]
    {
        let [slept, waited] = [(control, "PgSleep"), (query, &event)]
            .map(|(query, event)| ended(server, query, event, how, expected));
        // A tick for each, of a hundred in a second.
        let (used, most) = (waited.used, 2 * slept.used + WAITERS as u64);
        assert!(
            used <= most,
            "{WAITERS} backends that wait for {event} used {used} % of a CPU, not {most} %"
        );
        assert_soon(waited.took, PROMPT + slept.took);
    }
    let took = within_a_minute(server, || {
        let mut client = server.connect_with("-c statement_timeout=300");
        let began = Instant::now();
        assert_eq!(error(&mut client, query).message(), "canceling statement due to statement timeout");
        began.elapsed()
    });
    assert!(took >= Duration::from_millis(300), "a timeout of 300 ms ended it after {took:?}");
    assert_soon(took, Duration::from_secs(5));
    tally::fault("statement timeouts of backends that wait");
}

/// What backends that wait have used in a second, in hundredths of a processor, and how soon the last of them ended when told to.
struct Ended {
    used: u64,
    took: Duration,
}

#[track_caller]
fn ended(server: &Server, query: &str, event: &str, how: &str, expected: &str) -> Ended {
    let waiting = format!(
        "SELECT coalesce(array_agg(pid), '{{}}') FROM pg_stat_activity WHERE wait_event = '{event}' AND query = '{}'",
        query.replace('\'', "''")
    );
    let (mut used, mut best) = (u64::MAX, Duration::MAX);
    // Machines are busy at times: the best of three is what the wait itself allows. Longer waits are made of steps of a second, so one
    // that does not notice the cancel takes half of that on average.
    for _ in 0..3 {
        let ended = within_a_minute(server, || {
            in_parallel(WAITERS + 1, |number| {
                if number < WAITERS {
                    wait_to_be_ended(server, query, expected);
                    return (Instant::now(), 0);
                }
                let mut client = server.connect();
                // Short waits are not seen all at once.
                let mut pids: BTreeSet<i32> = BTreeSet::new();
                wait_until(event, || {
                    pids.extend(client.one::<Vec<i32>>(&waiting));
                    pids.len() == WAITERS
                });
                let before = processor_ticks(pids.iter().copied());
                thread::sleep(Duration::from_secs(1));
                let used = processor_ticks(pids.iter().copied()) - before;
                let list = pids.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
                let now = Instant::now();
                client.run(&format!("{how} FROM unnest('{{{list}}}'::int[]) pid"));
                (now, used)
            })
        });
        let (told, ends) = ended.split_last().unwrap();
        for _ in ends {
            tally::fault("cancels and terminations of backends that wait");
        }
        used = used.min(told.1);
        best = best.min(ends.iter().map(|end| end.0).max().unwrap().saturating_duration_since(told.0));
        if best < PROMPT {
            break;
        }
    }
    Ended { used, took: best }
}

#[track_caller]
fn wait_to_be_ended(server: &Server, query: &str, expected: &str) {
    // It ends by itself if the one that is to end it fails.
    let mut client = server.connect_with("-c statement_timeout=60s");
    if expected == "57P01" {
        assert_eq!(end(&mut client, query), expected);
        return;
    }
    let error = error(&mut client, query);
    assert_eq!(error.code().code(), expected);
    assert_eq!(error.message(), "canceling statement due to user request");
}

/// A server whose clock went back twice, the second time by so many seconds.
fn twice_back(seconds: u32) -> (Server, Ids) {
    let server = Server::builder().faketime(true).conf("sno.partition_prefix", "3/16").start();
    let mut ids = server.ids();
    let draw = "SELECT sno_new(1) FROM generate_series(1, 1000)";
    for offset in [-100_000, 0, -1000, -1000 - i64::from(seconds)] {
        server.set_clock(&format!("{offset:+}"));
        tally::fault("clock steps");
        if offset >= -1000 || offset == -100_000 {
            ids.query(&mut server.connect(), draw).unwrap();
        }
    }
    (server, ids)
}

#[test]
fn the_clock_is_waited_for() {
    let (server, mut ids) = twice_back(900);
    // By default no longer than ten seconds: an error at once, and the view says why.
    let mut client = server.connect_with("-c statement_timeout=5s");
    let error = error(&mut client, "SELECT sno_new(1)");
    assert_eq!(error.code().code(), "55000");
    let detail = error.detail().unwrap();
    assert!(detail.contains(" s ahead of the clock; \"sno.max_clock_wait\" is 10.000 s."), "{detail}");
    let ahead: f64 = detail.split(", which is ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!((800.0..=900.0).contains(&ahead), "{detail}");
    let row = "SELECT (least(safe_time, last_time) > clock_timestamp() + '800 s' AND safe_time <= clock_timestamp() + '900 s'
                       AND drifts = 1)::text FROM sno_generators()";
    assert_eq!(text(&mut client, row), "true");
    endure(&server, "SET sno.max_clock_wait = '1 h'; SELECT sno_new(1)", "SnoClock", SLEEP);
    // A clock that is set right ends the wait, within the second.
    let began = in_parallel(2, |number| {
        if number == 0 {
            let mut client = server.connect_with("-c sno.max_clock_wait=1h -c statement_timeout=60s");
            let began = Instant::now();
            client.run("SELECT sno_new(1)");
            return began.elapsed();
        }
        thread::sleep(Duration::from_millis(500));
        server.set_clock("+0");
        tally::fault("clock steps");
        Duration::ZERO
    });
    assert_soon(began[0], Duration::from_secs(10));
    ids.query(&mut server.connect(), "SELECT sno_new(1) FROM generate_series(1, 1000)").unwrap();
    tally::prove(ids);
}

#[test]
fn a_wait_for_the_clock_ends_by_itself() {
    let (server, ids) = twice_back(3);
    let began = Instant::now();
    let drawn = in_parallel(8, |_| {
        let mut ids = server.ids();
        ids.query(&mut server.connect(), "SELECT sno_new(1) FROM generate_series(1, 1000)").unwrap();
        (ids, began.elapsed())
    });
    let mut all = ids;
    for (ids, took) in drawn {
        assert!(took > Duration::from_millis(2000), "{took:?}");
        assert_soon(took, Duration::from_secs(20));
        all.append(ids);
    }
    let waited: f64 = text(
        &mut server.connect(),
        "SELECT extract(epoch FROM waited) FROM sno_generators() WHERE partition = 3",
    )
    .parse()
    .unwrap();
    assert!(waited > 8.0 * 2.0, "{waited}");
    tally::prove(all);
}

#[test]
fn the_next_tick_is_waited_for() {
    let server =
        Server::builder().conf("sno.partition_prefix", "3/16").conf("sno.sequence_range", "0-3").start();
    // They wake up every four milliseconds.
    endure(&server, "SELECT count(sno_new(1)) FROM generate_series(1, 1000000)", "SnoTick", NAPS);
}

/// Another process that holds the lock of the marks and does nothing: as a writer whose disk has stopped.
#[test]
fn a_writer_of_the_marks_that_hangs_is_waited_for() {
    let server = Server::builder().conf("sno.partition_prefix", "3/16").start();
    let draw = "SELECT sno_new(1) FROM generate_series(1, 1000)";
    let mut ids = server.ids();
    ids.query(&mut server.connect(), draw).unwrap();
    let lock = File::open(server.marks()).unwrap();
    lock.lock().unwrap();
    tally::fault("writers of the marks that hang");
    // Past the mark nobody goes on.
    thread::sleep(Duration::from_millis(2100));
    endure(&server, "SELECT sno_new(1)", "SnoMarks", SLEEP);
    lock.unlock().unwrap();
    ids.query(&mut server.connect(), draw).unwrap();
    tally::prove(ids);
}
