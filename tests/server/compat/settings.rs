//! Settings fail closed, and whatever becomes of them repeats nothing.

use std::collections::BTreeSet;

use sno_tests::{Mode, Server, Sql as _, error, text};

use super::{SCHEMES, assert_distinct, builder, draw, draw_while, start};

/// A setting, a bad value of it, why it is bad, and a good one.
const BAD: [(&str, &str, &str, &str); 6] = [
    (
        "snowflake_si_base_clock",
        "1999-12-31T23:59:59Z",
        "A base clock is after 2003-03-18T07:20:19.224Z.",
        "2021-01-01T00:00:00Z",
    ),
    ("snowflake_si_machine", "32", "The number of a machine has to fit its bits.", "3/2"),
    ("uid60_workers", "0-512", "A worker is between 0 and 511.", "0-9"),
    ("uniqueid_cluster", "16", "A cluster is between 0 and 15.", "15"),
    ("uniqueid_form", "sorted", "A form is \"spread\" or \"time_sequential\".", "time_sequential"),
    ("uniqueid_generator_bits", "12", "A generator has 6 to 11 bits.", "11"),
];

#[test]
fn alter_system_refuses_bad_values() {
    let server = start(builder());
    let mut client = server.connect();
    for (name, value, detail, good) in BAD {
        let error = error(&mut client, &format!("ALTER SYSTEM SET sno_compat.{name} = '{value}'"));
        assert_eq!((error.code().code(), error.detail()), ("22023", Some(detail)));
        client.run(&format!("ALTER SYSTEM SET sno_compat.{name} = '{good}'"));
    }
}

#[test]
fn no_base_clock_means_no_id() {
    let server = start(Server::builder());
    let message = "invalid value for parameter \"sno_compat.snowflake_si_base_clock\": \"\"";
    let detail = "A site chooses its base clock before its first ID.";
    let error = error(&mut server.connect(), "SELECT snowflake_si_new()");
    assert_eq!((error.code().code(), error.message(), error.detail()), ("22023", message, Some(detail)));
    // Nothing was taken for a scheme that can't generate, and the others can.
    let rows = "SELECT count(*) FROM sno_compat_generators";
    assert_eq!(server.connect().one::<i64>(rows), 0);
    server.run("SELECT uid60_new(), uniqueid_new(), gid_new('volume')");
    assert_eq!(server.connect().one::<i64>(rows), 2);
    for (scheme, exists) in [("snowflake_si", false), ("uid60", true), ("uniqueid", true)] {
        assert_eq!(server.data().join(format!("sno_compat.{scheme}.marks")).exists(), exists, "{scheme}");
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
    let mut all = draw(&mut server.connect(), "snowflake_si_new()", 1000).unwrap();
    let set = |base: &str| {
        server.configure("sno_compat.snowflake_si_base_clock", base);
        server.restart(Mode::Fast);
    };
    let clock = "\"sno_compat.snowflake_si_base_clock\" or the server's clock";
    // The same milliseconds since the base clock would come again in an hour.
    set("2020-01-01T01:00:00Z");
    let refused = error(&mut server.connect(), "SELECT snowflake_si_new()");
    assert_eq!(refused.code().code(), "55000");
    assert!(refused.hint().unwrap().starts_with(&format!("Set {clock}, or wait. ")), "{refused}");
    set("2100-01-01T00:00:00Z");
    let refused = error(&mut server.connect(), "SELECT snowflake_si_new()");
    assert_eq!(refused.code().code(), "55000");
    assert_eq!(refused.hint(), Some(&*format!("Set {clock}.")));
    set("2020-01-01T00:00:05Z");
    all.extend(draw(&mut server.connect(), "snowflake_si_new()", 1000).unwrap());
    assert_distinct("snowflake_si", all, 2000);
}

#[test]
fn settings_that_change_under_load_repeat_nothing() {
    let server = start(builder());
    // In many queries, since a session looks at its settings between them.
    let drawn = draw_while(&server, |wait| {
        wait();
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
            wait();
        }
    });
    // Every change was met: the machine's upper four bits, the worker, the form.
    let seen = |scheme: usize, part: fn(&i64) -> i64| drawn[scheme].iter().map(part).collect::<BTreeSet<_>>();
    assert_eq!(seen(0, |id| id >> 9 & 15), BTreeSet::from([6, 0, 9]));
    assert!(seen(1, |id| id >> 10 & 511).contains(&200));
    assert_eq!(seen(2, |id| id >> 12 & 1), BTreeSet::from([0, 1]));
    for (ids, (scheme, _)) in drawn.into_iter().zip(SCHEMES) {
        let count = ids.len();
        assert_distinct(scheme, ids, count);
    }
}
