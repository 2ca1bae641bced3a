//! What planning costs when a query has thousands of conditions: no more than on a `timestamptz`.

use std::{
    fs,
    time::{Duration, Instant},
};

use sno_tests::{Server, Sql as _, assert_soon, code, postgres::Client};

fn tables() -> (Server, Client) {
    let server = Server::builder().start();
    let mut client = server.connect();
    client
        .batch_execute(
            "CREATE TABLE s (id sno PRIMARY KEY);
             CREATE TABLE t (id timestamptz PRIMARY KEY);
             INSERT INTO s SELECT sno_lower('2026-01-01Z'::timestamptz + n * interval '10 min') FROM generate_series(1, 20000) n;
             INSERT INTO t SELECT sno_time(id) FROM s;
             ANALYZE s, t;",
        )
        .unwrap();
    (server, client)
}

/// The hour of a number.
fn hour(number: usize) -> String {
    format!("'2026-01-01Z'::timestamptz + interval '{number} h'")
}

fn ranges(count: usize) -> String {
    let range = |n| format!("(id >= {} AND id < {})", hour(n), hour(n + 1));
    (0..count).map(range).collect::<Vec<_>>().join(" OR ")
}

fn betweens(count: usize) -> String {
    let range = |n| format!("id BETWEEN {} AND {}", hour(n), hour(n + 1));
    (0..count).map(range).collect::<Vec<_>>().join(" OR ")
}

fn bounds(count: usize, bound: impl Fn(usize) -> String) -> String {
    (0..count).map(bound).collect::<Vec<_>>().join(" AND ")
}

/// How long a process was on a processor: on a busy machine, a clock shows how long it waited for one, too.
fn on_processor(pid: i32) -> Duration {
    let text = fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

/// What the planning of a condition takes for each of some tables: the least of up to ten rounds, since what else runs
/// on the machine makes a planning dearer, but never cheaper. It ends when the times are as they should be.
fn planning_times<const N: usize>(
    client: &mut Client,
    tables: [&str; N],
    condition: &str,
    is_good: impl Fn(&[Duration; N]) -> bool,
) -> [Duration; N] {
    let pid = client.one::<i32>("SELECT pg_backend_pid()");
    let mut least = [Duration::MAX; N];
    for _ in 0..10 {
        for (table, least) in tables.iter().zip(&mut least) {
            let before = on_processor(pid);
            client.run(&format!("EXPLAIN SELECT FROM {table} WHERE {condition}"));
            *least = (on_processor(pid) - before).min(*least);
        }
        if is_good(&least) {
            break;
        }
    }
    least
}

#[test]
fn thousands_of_conditions_are_planned_as_fast_as_on_a_timestamptz() {
    let (_server, mut client) = tables();
    let ascending = |n| format!("id >= {}", hour(n));
    let descending = |n| format!("id >= {}", hour(9000 - n));
    let narrowing =
        |n| if n % 2 == 0 { format!("id >= {}", hour(n)) } else { format!("id < {}", hour(9000 - n)) };
    let clauses = |count, arms| {
        let clause = |n: usize| {
            let arm = |arm| format!("(id >= {} AND id < {})", hour(n * arms + arm), hour(n * arms + arm + 1));
            format!("({})", (0..arms).map(arm).collect::<Vec<_>>().join(" OR "))
        };
        (0..count).map(clause).collect::<Vec<_>>().join(" AND ")
    };
    let nested = |levels: usize| {
        let deepest = format!("id < {}", hour(levels));
        let around = |inner, n| format!("id < {} OR (id >= {} AND ({inner}))", hour(n), hour(n + 1));
        (0..levels).rev().fold(deepest, around)
    };
    for (name, condition) in [
        ("ranges", ranges(5000)),
        ("two lists of ranges", clauses(2, 2000)),
        ("ten lists of ranges", clauses(10, 500)),
        ("fifty lists of ranges", clauses(50, 50)),
        ("nested ranges", nested(400)),
        ("ranges with both ends", betweens(5000)),
        ("ascending bounds", bounds(2000, ascending)),
        ("descending bounds", bounds(2000, descending)),
        ("narrowing bounds", bounds(2000, narrowing)),
    ] {
        // A condition on an ID has one more call in it, which PostgreSQL compares with those of all others where it
        // looks for an index; a search of ours for each condition takes a hundred times as long.
        let is_good = |&[ours, theirs]: &[Duration; 2]| ours < theirs * 3;
        let [ours, theirs] = planning_times(&mut client, ["s", "t"], &condition, is_good);
        println!(
            "{name}: {ours:?}, timestamptz {theirs:?}, {:.2}",
            ours.as_secs_f64() / theirs.as_secs_f64()
        );
        assert!(is_good(&[ours, theirs]), "{name}: {ours:?}, timestamptz {theirs:?}");
    }
}

#[test]
fn planning_can_be_cancelled() {
    let (_server, mut client) = tables();
    let query = format!("EXPLAIN SELECT FROM s WHERE {}", ranges(30_000));
    // Long enough for the parser, which can't be cancelled either.
    client.batch_execute("SET statement_timeout = '100ms'").unwrap();
    let began = Instant::now();
    assert_eq!(code(&mut client, &query), "57014");
    assert_soon(began.elapsed(), Duration::from_secs(20));
}
