//! The ID schemes of `sno_compat` on real servers: what depends on the scheme. Their generators, marks and settings are the code of
//! sno's, whose tests under load and over crashes count for them, too.

use std::thread;
use std::time::{Duration, Instant};

use sno_tests::postgres::Client;
use sno_tests::{Builder, Mode, Server, Sql as _, error, in_parallel, text};

/// A server with the extension, and with what Snowflake-SI can't do without.
fn builder() -> Builder {
    Server::builder()
        .compat()
        .conf("sno_compat.snowflake_si_base_clock", "2020-01-01T00:00:00Z")
        .conf("sno_compat.snowflake_si_machine", "12")
}

fn start(builder: Builder) -> Server {
    let server = builder.start();
    server.run("CREATE EXTENSION sno_compat");
    server
}

/// The schemes that keep a state, and their IDs as numbers in which nothing is left to chance.
const SCHEMES: [(&str, &str); 3] = [
    ("snowflake_si", "snowflake_si_new()"),
    ("uid60", "uid60_new()::bigint >> 9"),
    ("uniqueid", "('x' || uniqueid_new()::text)::bit(64)::bigint"),
];

fn draw(client: &mut Client, scheme: usize, count: usize) -> Vec<i64> {
    let query = format!("SELECT {} FROM generate_series(1, {count})", SCHEMES[scheme].1);
    client.query(&query, &[]).unwrap().iter().map(|row| row.get(0)).collect()
}

#[track_caller]
fn assert_distinct(mut all: Vec<i64>) {
    all.sort_unstable();
    let repeated: Vec<_> = all.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
    assert!(repeated.is_empty(), "{} of {} came twice: {repeated:x?}", repeated.len(), all.len());
}

/// How often the value that comes most comes.
fn most(values: impl Iterator<Item = i64>) -> usize {
    let mut values: Vec<_> = values.collect();
    values.sort_unstable();
    values.chunk_by(|a, b| a == b).map(<[_]>::len).max().unwrap_or(0)
}

#[test]
fn many_connections_at_once() {
    let server = start(builder().conf("sno_compat.uniqueid_cluster", "9"));
    let draw_on = |scheme: usize, each: usize| {
        let drawn = in_parallel(32, |_| draw(&mut server.connect(), scheme, each));
        assert_distinct(drawn.concat());
        drawn
    };
    let ascend = |drawn: &[Vec<i64>]| drawn.iter().all(|ids| ids.is_sorted_by(|a, b| a < b));

    let drawn = draw_on(0, 10_000);
    assert!(ascend(&drawn), "each connection's own ascend");
    let all = drawn.concat();
    assert!(all.iter().all(|id| (0..1 << 53).contains(id)), "more than 53 bits");
    assert!(all.iter().all(|id| id >> 8 & 31 == 12), "another machine");
    // A millisecond has 256, and under load they are all used.
    assert_eq!(most(all.iter().map(|id| id >> 13)), 256);
    let overflows = "SELECT (overflows > 0)::text FROM sno_compat_generators() WHERE scheme = 'snowflake_si' AND number = 12";
    assert_eq!(text(&mut server.connect(), overflows), "true");

    // A second has 1024 of each worker.
    let drawn = draw_on(1, 3000);
    assert!(ascend(&drawn), "each connection's own ascend");
    let workers: Vec<_> = drawn.iter().map(|ids| ids[0] >> 10 & 511).collect();
    assert_eq!(most(workers.iter().copied()), 1, "each connection has a worker of its own: {workers:?}");
    assert!(drawn.iter().zip(workers).all(|(ids, worker)| ids.iter().all(|id| id >> 10 & 511 == worker)));

    for (form, mode) in [("spread", 0), ("time_sequential", 0x1000)] {
        server.configure("sno_compat.uniqueid_form", form);
        server.reload();
        let drawn = draw_on(2, 5000);
        let all = drawn.concat();
        assert!(all.iter().all(|id| id & 0xfc0f == mode | 9), "other bits than the settings'");
        assert!(most(all.iter().map(|id| id & !0x3f_0000)) <= 64, "more than 64 a millisecond");
        assert!(form == "spread" || ascend(&drawn), "each connection's own ascend");
    }
}

/// There is one side, so what was is waited for, over restarts too; if that is further than the setting allows, it is an error.
#[test]
fn a_clock_that_goes_back_repeats_nothing() {
    // One generator each, so that every session goes on where the one before it stopped.
    let server = start(builder().faketime(true).conf("sno_compat.uid60_workers", "3-3"));
    let mut all: [Vec<i64>; 3] = Default::default();
    let mut draw_each = || {
        (0..3).for_each(|scheme| all[scheme].extend(draw(&mut server.connect(), scheme, 500)));
    };
    let set_clock = |stopped: Option<Mode>, offset: &str| {
        if let Some(mode) = stopped {
            server.stop(mode);
        }
        server.set_clock(offset);
        if stopped.is_some() {
            server.start();
        }
    };
    draw_each();
    let began = Instant::now();
    for (stopped, offset) in [(None, "-3"), (Some(Mode::Immediate), "+0"), (Some(Mode::Crash), "-2")] {
        set_clock(stopped, offset);
        draw_each();
    }
    assert!(began.elapsed() > Duration::from_millis(1500), "{:?}", began.elapsed());
    for stopped in [None, Some(Mode::Fast)] {
        set_clock(stopped, "-3600");
        let mut client = server.connect();
        for (scheme, expression) in SCHEMES {
            let error = error(&mut client, &format!("SELECT {expression}"));
            assert_eq!(error.code().code(), "55000", "{scheme}");
            assert_eq!(
                error.message(),
                "system clock went back further than \"sno_compat.max_clock_wait\" allows"
            );
            assert!(error.detail().unwrap().contains("\"sno_compat.max_clock_wait\" is 10.000 s."));
            assert!(error.hint().unwrap().contains("sno_compat_generators"));
        }
        client.run("SELECT gid_new('log')");
        let ahead = "SELECT count(*) FROM sno_compat_generators() WHERE safe_time > clock_timestamp()";
        assert!(client.one::<i64>(ahead) >= 3);
        set_clock(None, "+0");
        draw_each();
    }
    all.into_iter().for_each(assert_distinct);

    // Before 2018 and 2020; after 2054; after all of them.
    let all = SCHEMES.map(|(scheme, _)| scheme);
    for (offset, failing) in
        [("-300000000", &all[..2]), ("+1000000000", &all[..1]), ("+4200000000", &all[..])]
    {
        server.set_clock(offset);
        for scheme in failing {
            let error = error(&mut server.connect(), &format!("SELECT {scheme}_new()"));
            assert_eq!(error.code().code(), "55000", "{scheme} {offset}");
            let is_after = error.message().starts_with("system clock is after");
            assert!(is_after || offset.starts_with('-'), "{}", error.message());
        }
    }
}

#[test]
fn a_lease_of_a_worker_number_ends_after_an_hour() {
    let server = start(builder().faketime(true));
    let mut client = server.connect();
    let worker = |client: &mut Client| -> i32 { client.one("SELECT uid60_worker(uid60_new())") };
    let first = worker(&mut client);
    server.set_clock("+3500");
    assert_eq!(worker(&mut client), first);
    server.set_clock("+3700");
    assert_eq!(worker(&mut client), first + 1);
    assert_eq!(worker(&mut server.connect()), first + 2);
}

/// The scheme's name is in the message; its marks are of no use to a primary that has generated since.
#[test]
fn a_standby_does_not_generate_and_its_promotion_repeats_nothing() {
    let primary = start(builder().faketime(true).conf("sno_compat.uid60_workers", "3-3"));
    let standby = primary.standby();
    let mut client = primary.connect();
    let columns = SCHEMES.map(|(_, expression)| expression).join(", ");
    client.run(&format!("CREATE TABLE t AS SELECT {columns} FROM generate_series(1, 1000)"));
    primary.wait_replayed(&standby);
    primary.stop(Mode::Immediate);
    standby.configure("sno_compat.snowflake_si_base_clock", "2020-01-01T00:00:00Z");
    // The primary's ticks are still to come; the standby has no marks.
    for (is_promoted, code) in [(false, "25006"), (true, "55000")] {
        if is_promoted {
            standby.set_clock("-30");
            standby.promote();
        }
        for (scheme, _) in SCHEMES {
            let call = format!("SET sno_compat.max_clock_wait = 0; SELECT {scheme}_new()");
            let error = error(&mut standby.connect(), &call);
            assert_eq!(error.code().code(), code, "{scheme}");
            let message = format!("cannot execute {scheme}_new() during recovery");
            assert!(is_promoted || error.message() == message, "{}", error.message());
        }
    }
}

/// A default would be the same one on all servers. Nothing was taken for a scheme that can't generate, and the others can.
#[test]
fn no_number_and_no_base_clock_mean_no_id() {
    let server = start(Server::builder().compat());
    let refused = |scheme: &str, setting: &str| {
        let error = error(&mut server.connect(), &format!("SELECT {scheme}_new()"));
        let message = format!("invalid value for parameter \"sno_compat.{setting}\": \"\"");
        assert_eq!((error.code().code(), error.message()), ("22023", &*message));
    };
    refused("snowflake_si", "snowflake_si_base_clock");
    let rows = "SELECT count(*) FROM sno_compat_generators()";
    assert_eq!(server.connect().one::<i64>(rows), 0);
    server.run("SELECT uid60_new(), uniqueid_new(), gid_new('volume')");
    assert_eq!(server.connect().one::<i64>(rows), 2);
    for (scheme, exists) in [("snowflake_si", false), ("uid60", true), ("uniqueid", true)] {
        assert_eq!(server.data().join(format!("sno_compat.{scheme}.marks")).exists(), exists, "{scheme}");
    }
    server.configure("sno_compat.snowflake_si_base_clock", "2020-01-01T00:00:00Z");
    for (scheme, setting) in [
        ("snowflake_si", "snowflake_si_machine"),
        ("uid60", "uid60_workers"),
        ("uniqueid", "uniqueid_cluster"),
    ] {
        server.configure(&format!("sno_compat.{setting}"), "");
        server.reload();
        refused(scheme, setting);
    }
}

/// What is not given as an argument comes from the settings as they are at the call, in a prepared statement, too.
#[test]
fn snowflake_si_functions_go_by_the_settings() {
    let server = start(builder());
    let mut client = server.connect();
    let query = |base: &str, bits: &str, both: &str| {
        format!(
            "SELECT concat_ws(' ', snowflake_si_inspect(10113579063{both}), snowflake_si_time(10113579063{base}),
                 snowflake_si_machine(10113579063{bits}), snowflake_si_index(10113579063{bits}),
                 snowflake_si_lower('2024-01-01Z'{base}), snowflake_si_upper('2024-01-01Z'{base}),
                 snowflake_si_make('2024-01-01Z', 3, 4{both}), snowflake_si_to_sno(10113579063, 7{base}))"
        )
    };
    client.run(&format!("PREPARE by_settings AS {}", query("", "", "")));
    for (base, bits) in [("2020-01-01T00:00:00Z", 5), ("2021-02-03T04:05:06.789Z", 4)] {
        server.configure("sno_compat.snowflake_si_base_clock", base);
        server.configure("sno_compat.snowflake_si_machine", &format!("2/{bits}"));
        server.reload();
        let [base, bits] = [format!(", '{base}'"), format!(", {bits}")];
        let by_arguments = query(&base, &bits, &format!("{base}{bits}"));
        assert_eq!(text(&mut client, "EXECUTE by_settings"), text(&mut client, &by_arguments));
    }
}

#[test]
fn a_base_clock_that_is_moved_on_repeats_nothing() {
    let server = start(builder());
    let mut all = draw(&mut server.connect(), 0, 1000);
    let set = |base: &str| {
        server.configure("sno_compat.snowflake_si_base_clock", base);
        server.restart(Mode::Fast);
    };
    let clock = "\"sno_compat.snowflake_si_base_clock\" or the server's clock";
    // The same milliseconds since the base clock would come again in an hour, or never.
    for (base, hint) in [
        ("2020-01-01T01:00:00Z", format!("If {clock} is slow, set it forward. ")),
        ("2100-01-01T00:00:00Z", format!("Set {clock}.")),
    ] {
        set(base);
        let refused = error(&mut server.connect(), "SELECT snowflake_si_new()");
        assert_eq!(refused.code().code(), "55000");
        assert!(refused.hint().unwrap().starts_with(&hint), "{refused:?}");
    }
    set("2020-01-01T00:00:02Z");
    all.extend(draw(&mut server.connect(), 0, 1000));
    assert_distinct(all);
}

#[test]
fn settings_that_change_repeat_nothing() {
    let server = start(builder());
    let (mut early, mut all) = (server.connect(), <[Vec<i64>; 3]>::default());
    for (machine, form, bits, workers) in [
        ("1/5", "time_sequential", "8", "0-3"),
        ("0/4", "spread", "6", "0-7"),
        ("9/4", "time_sequential", "11", "200-200"),
        ("1/5", "spread", "7", "0-511"),
    ] {
        server.configure("sno_compat.snowflake_si_machine", machine);
        server.configure("sno_compat.uniqueid_form", form);
        server.configure("sno_compat.uniqueid_generator_bits", bits);
        server.configure("sno_compat.uid60_workers", workers);
        server.reload();
        early.run("SELECT 1");
        for client in [&mut early, &mut server.connect()] {
            let [si, uid60, uniqueid] = [0, 1, 2].map(|scheme| draw(client, scheme, 500));
            let (number, machine_bits) = machine.split_once('/').unwrap();
            let shift = 13 - machine_bits.parse::<i64>().unwrap();
            assert!(si.iter().all(|id| (id >> shift & (8191 >> shift)).to_string() == number), "{machine}");
            let (first, last) = workers.split_once('-').unwrap();
            let range = first.parse::<i64>().unwrap()..=last.parse().unwrap();
            assert!(uid60.iter().all(|id| range.contains(&(id >> 10 & 511))), "{workers}");
            let sequential = i64::from(form == "time_sequential");
            assert!(uniqueid.iter().all(|id| id >> 12 & 1 == sequential), "{form}");
            for (all, ids) in all.iter_mut().zip([si, uid60, uniqueid]) {
                all.extend(ids);
            }
        }
        thread::sleep(Duration::from_millis(10));
    }
    all.into_iter().for_each(assert_distinct);
}
