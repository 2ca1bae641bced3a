//! Memory: what a backend holds after millions of calls is what it held before.

use sno_tests::{Server, Sql as _};

use crate::{pick, text};

/// Memory of a process that is its own, in kilobytes.
fn memory(pid: i32) -> i64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn millions_of_calls_leave_nothing_behind() {
    let server = Server::builder().conf("work_mem", "4MB").conf("jit", "off").start();
    server.run("CREATE TABLE items (id sno PRIMARY KEY); SELECT sno_create_feed('feed', 'items')");
    let calls = pick(200_000, 10_000_000);
    for (call, share) in [
        ("count(sno_new(1))", 1),
        ("count(sno_new(1, now()))", 1),
        ("count(sno_inspect(sno_new(1)))", 1),
        ("count(sno_new(1)::text::sno)", 1),
        ("count(sno_new(1)::bytea::sno::uuid::sno)", 1),
        ("count(sno_internal.sno_send(sno_new(1)))", 1),
        ("min(sno_new(1)), max(sno_new(1))", 1),
        ("count(sno_make(now(), 1, 2, 3) < sno_with_metabyte(sno_lower(now()), n % 256))", 1),
        (
            "count(hashtext(sno_new(1)::text)::bigint + sno_internal.sno_hash(sno_new(2))), sum(sno_internal.sno_hash_extended(sno_new(3), n) % 2)",
            1,
        ),
        ("count(sno_generator())", 10),
        ("count((SELECT count(*) FROM sno_generators() WHERE n > 0))", 200),
        ("count((SELECT count(*) FROM sno_peek_feed('feed', NULL::items, n)))", 20),
    ] {
        let mut client = server.connect();
        let pid: i32 = client.one("SELECT pg_backend_pid()");
        let query = |calls: usize| format!("SELECT {call} FROM generate_series(1, {calls}) n");
        // In pieces, since what generate_series stores is not what is looked for; and everything that a backend
        // takes once, it has taken with the first two.
        let piece = query(calls / share / 10);
        client.run(&piece);
        client.run(&piece);
        let before = memory(pid);
        for _ in 0..10 {
            client.run(&piece);
        }
        let more = memory(pid) - before;
        assert!(more < 1024, "{call}: {more} kB more after {} calls", calls / share);
    }
}

#[test]
fn millions_of_errors_leave_nothing_behind() {
    let server = Server::builder().start();
    let rounds = pick(5_000, 300_000);
    let mut client = server.connect();
    let pid: i32 = client.one("SELECT pg_backend_pid()");
    for call in [
        "sno_new(256)",
        "sno_new(1, 'infinity')",
        "'2222'::text::sno",
        "'222222222222222y'::text::sno",
        "'\\x00'::bytea::sno",
        "gen_random_uuid()::sno",
        "sno_make('1970-01-01', 0, 0, 0)",
        "sno_make(now(), 0, 65536, 0)",
    ] {
        let query = |rounds: usize| {
            format!(
                "DO $$ BEGIN FOR n IN 1..{rounds} LOOP
                     BEGIN PERFORM {call}; RAISE 'no error'; EXCEPTION WHEN data_exception THEN NULL; END;
                 END LOOP; END $$"
            )
        };
        client.run(&query(1000));
        let before = memory(pid);
        client.run(&query(rounds));
        let more = memory(pid) - before;
        assert!(more < 1024, "{call}: {more} kB more after {rounds} errors");
    }
    assert_eq!(text(&mut client, "SELECT sno_metabyte(sno_new(7))"), "7");
}
