//! Many connections at once.

use sno_tests::{Sql as _, in_parallel};

use super::{SCHEMES, assert_distinct, builder, draw, draw_on, most, start};

const CONNECTIONS: usize = 32;
const EACH: usize = 20_000;

#[test]
fn snowflake_si() {
    let server = start(builder());
    let drawn = draw_on(&server, CONNECTIONS, "snowflake_si_new()", EACH);
    assert!(drawn.iter().all(|ids| ids.is_sorted_by(|a, b| a < b)), "each connection's own ascend");
    let all = drawn.concat();
    assert!(all.iter().all(|id| (0..1 << 53).contains(id)), "more than 53 bits");
    assert!(all.iter().all(|id| id >> 8 & 31 == 12), "another machine");
    assert_eq!(
        most(all.iter().map(|id| id >> 13)),
        256,
        "a millisecond has 256, and under load they are all used"
    );
    assert_distinct("snowflake_si", all, CONNECTIONS * EACH);
    let overflows: i64 = server
        .connect()
        .one("SELECT overflows FROM sno_compat_generators WHERE scheme = 'snowflake_si' AND number = 12");
    assert!(overflows > 0);
}

#[test]
fn uid60() {
    let server = start(builder());
    let mut two = [server.connect(), server.connect()];
    for client in &mut two {
        client.run("SELECT uid60_new()");
    }
    let generators = "SELECT count(DISTINCT generator) FROM sno_compat_generators WHERE scheme = 'uid60'";
    let count: i64 = server.connect().one(generators);
    assert_eq!(count, 2, "each worker number has a generator of its own");
    // 1024 a second and worker: this takes twenty seconds.
    let drawn = draw_on(&server, CONNECTIONS, "uid60_new()::bigint >> 9", EACH);
    assert!(drawn.iter().all(|ids| ids.is_sorted_by(|a, b| a < b)), "each connection's own ascend");
    let workers: Vec<_> = drawn.iter().map(|ids| ids[0] >> 10 & 511).collect();
    assert_eq!(
        most(workers.iter().copied()),
        1,
        "each connection has a worker number of its own: {workers:?}"
    );
    assert!(drawn.iter().zip(workers).all(|(ids, worker)| ids.iter().all(|id| id >> 10 & 511 == worker)));
    assert_distinct("uid60 without its random bits", drawn.concat(), CONNECTIONS * EACH);
}

#[test]
fn uniqueid_of_both_forms() {
    for (form, each) in [("spread", EACH), ("time_sequential", EACH)] {
        let server =
            start(builder().conf("sno_compat.uniqueid_form", form).conf("sno_compat.uniqueid_cluster", "9"));
        let expression = "('x' || uniqueid_new()::text)::bit(64)::bigint";
        let drawn = draw_on(&server, CONNECTIONS, expression, each);
        let all = drawn.concat();
        let mode = if form == "spread" { 0 } else { 0x1000 };
        assert!(all.iter().all(|id| id & 0xfc0f == mode | 9), "other bits than the settings'");
        assert!(most(all.iter().map(|id| id & !0x3f_0000)) <= 64, "more than 64 a millisecond");
        if form == "time_sequential" {
            assert!(drawn.iter().all(|ids| ids.is_sorted_by(|a, b| a < b)), "each connection's own ascend");
        }
        assert_distinct(form, all, CONNECTIONS * each);
    }
}

#[test]
fn gid() {
    let server = start(builder());
    let (_, expression) = SCHEMES[3];
    assert_distinct("gid", draw_on(&server, CONNECTIONS, expression, EACH).concat(), CONNECTIONS * EACH);
}

#[test]
fn backends_that_share_a_number() {
    // 70 PIDs fold onto 64 generators, and eight backends have one worker number between them.
    let server = start(builder().conf("sno_compat.uid60_workers", "7-7"));
    let numbers: Vec<i64> = in_parallel(70, |_| {
        let mut client = server.connect();
        draw(&mut client, SCHEMES[2].1, 1).unwrap();
        // All at once, so that no PID comes twice.
        std::thread::sleep(std::time::Duration::from_secs(2));
        draw(&mut client, SCHEMES[2].1, 2000).unwrap()
    })
    .concat();
    assert!(numbers.iter().map(|id| id >> 4 & 0xff).collect::<std::collections::HashSet<_>>().len() <= 64);
    assert_distinct("uniqueid", numbers, 70 * 2000);
    let all = draw_on(&server, 8, SCHEMES[1].1, 500).concat();
    assert!(all.iter().all(|id| id >> 10 & 511 == 7));
    assert_distinct("uid60", all, 8 * 500);
}

#[test]
fn backends_that_are_killed() {
    let server = start(builder());
    for (scheme, expression) in SCHEMES {
        let mut all = draw_on(&server, 8, expression, 500).concat();
        for _ in 0..2 {
            let mut victim = server.connect();
            let pid: i32 = victim.one("SELECT pg_backend_pid()");
            all.extend(draw(&mut victim, expression, 500).unwrap());
            let endless = format!("DO $$ BEGIN LOOP PERFORM {expression}; END LOOP; END $$");
            let killed = std::thread::scope(|scope| {
                let busy = scope.spawn(|| victim.batch_execute(&endless));
                std::thread::sleep(std::time::Duration::from_millis(300));
                server.crash_backend(pid);
                busy.join().unwrap()
            });
            assert!(killed.is_err(), "it was killed while it generated");
            all.extend(draw_on(&server, 8, expression, 500).concat());
        }
        let count = all.len();
        assert_eq!(count, 8 * 500 + 2 * (500 + 8 * 500));
        assert_distinct(scheme, all, count);
    }
}
