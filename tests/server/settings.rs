//! Settings fail closed: what a server can't honour is an error, and never means another prefix.

use std::fs;

use sno_tests::postgres::Client;
use sno_tests::{Mode, Server, Sql as _, code, error, major_version, text, wait_until};

fn partition(client: &mut Client) -> i32 {
    client.one("SELECT sno_partition(sno_new(1)) >> 8")
}

/// What [`partition`] is of a server that was given no prefix.
fn default_partition(server: &Server) -> i32 {
    i32::from(*server.auto_prefix().partitions().start() >> 8)
}

/// At a start and at a reload: no ID with another server's prefix, also if a line is misspelt by a change and so counts
/// as removed. All else works.
#[test]
fn a_bad_value_or_an_unknown_name_stops_generation() {
    let server = Server::builder().compat().conf("sno.partition_prefix", "5").start();
    server.run("CREATE EXTENSION sno_compat");
    let queries =
        ["SELECT sno_new(1)", "SELECT sno_new(1, now())", "SELECT sno_horizon()", "SELECT sno_generator()"];
    for (name, value, state, queries) in [
        ("sno.partition_prefix", "300", "22023", &queries[..]),
        ("sno.partition_prefix", "", "22023", &queries),
        ("sno.partition_prefix", "citus8", "22023", &queries),
        ("sno.sequence_range", "5-7", "22023", &queries),
        ("sno.partition_prefx", "5", "42704", &queries),
        ("SNO.typo", "5", "42704", &queries),
        ("sno_compat.uid60_worker", "0-9", "42704", &["SELECT uid60_new()", "SELECT uniqueid_new()"]),
        ("sno_compat.uid60_workers", "0-512", "22023", &["SELECT uid60_new()"]),
    ] {
        // Sessions that have generated before, in both ways.
        let [mut early, mut given] = [(); 2].map(|()| server.connect());
        early.run("SELECT sno_new(), uid60_new(), uniqueid_new()");
        given.run("SELECT sno_new(1, now())");
        server.unconfigure("sno.partition_prefix");
        server.configure(name, value);
        if !name.starts_with("sno.partition") {
            server.configure("sno.partition_prefix", "5");
        }
        for restarted in [false, true] {
            if restarted {
                server.restart(Mode::Fast)
            } else {
                server.reload()
            }
            let mut new = server.connect();
            // More than once: nothing may be remembered as being in order.
            for query in queries.iter().chain(queries) {
                if !restarted {
                    early.run("SELECT 1");
                    assert_eq!(code(&mut early, query), state, "{name}, {query}");
                }
                let error = error(&mut new, query);
                assert_eq!(error.code().code(), state, "{name}, {query}: {error}");
                let (named, message) = (format!("parameter \"{name}\""), error.message());
                assert!(message.contains(&named) && error.hint().is_some(), "{message}");
            }
            if !restarted && name.starts_with("sno.") {
                given.run("SELECT 1");
                assert_eq!(code(&mut given, "SELECT sno_new(1, now())"), state, "{name}");
            }
            new.run("SELECT sno_time('9q7k4op826n2g222')");
        }
        server.unconfigure(name);
        server.configure("sno.partition_prefix", "5");
        server.reload();
        assert_eq!(partition(&mut server.connect()), 5);
    }
    // A bad range beside a good prefix, which must not count without it.
    let mut early = server.connect();
    early.run("SELECT sno_new()");
    server.configure("sno.partition_prefix", "6");
    server.configure("sno.sequence_range", "9-4");
    server.reload();
    for client in [&mut early, &mut server.connect()] {
        client.run("SELECT 1");
        assert_eq!(code(client, "SELECT sno_new(1)"), "22023");
    }
    server.unconfigure("sno.sequence_range");
    server.reload();
    early.run("SELECT 1");
    assert_eq!(partition(&mut early), 6);
    // This one's default harms nobody.
    server.configure("sno.max_clock_wait", "abc");
    server.restart(Mode::Fast);
    assert_eq!(text(&mut server.connect(), "SELECT max_clock_wait FROM sno_generator()"), "00:00:10");
    assert_eq!(partition(&mut server.connect()), 6);
    // Names of others, and ours in upper case.
    server.configure("snow.partition_prefix", "42");
    server.configure("SNO.Partition_Prefix", "9");
    server.reload();
    assert_eq!(partition(&mut server.connect()), 9);
}

/// One list is for all servers, and so for their copies: on another host, no ID is generated.
#[test]
fn a_list_has_a_number_for_each_host() {
    let server = Server::builder().compat().conf("sno.partition_prefix", "5").start();
    server.run("CREATE EXTENSION sno_compat");
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let host = host.trim();
    let value = |of_host: &str, of_others: &str| format!("other-1={of_others}, {host}={of_host}");
    server.configure("sno.partition_prefix", &value("7", "6"));
    server.configure("sno.sequence_range", &value("100-199", "0-99"));
    server.configure("sno_compat.snowflake_si_base_clock", "2020-01-01T00:00:00Z");
    server.configure("sno_compat.snowflake_si_machine", &value("3/4", "2/4"));
    server.configure("sno_compat.uid60_workers", &value("8-9", "0-7"));
    server.configure("sno_compat.uniqueid_cluster", &value("4", "3"));
    for restarted in [false, true] {
        if restarted {
            server.restart(Mode::Fast);
        } else {
            server.reload();
        }
        let mut client = server.connect();
        assert_eq!(partition(&mut client), 7);
        let shown = "SELECT (prefix, prefix_bits, prefix_auto, sequence_lower, sequence_upper)::text FROM sno_generator()";
        assert_eq!(text(&mut client, shown), "(7,8,f,100,199)");
        let others = "SELECT snowflake_si_machine(snowflake_si_new(), 4) || ' ' || uid60_worker(uid60_new()) / 8 || ' ' \
                      || uniqueid_cluster(uniqueid_new())";
        assert_eq!(text(&mut client, others), "3 1 4");
        // Where the runbook looks for a value that is refused, there is none.
        let refused =
            "SELECT coalesce(string_agg(name, ' '), 'none') FROM pg_file_settings WHERE error IS NOT NULL";
        assert_eq!(text(&mut client, refused), "none");
    }
    for (list, detail) in [
        ("other-1=6, other-2=7", format!("The list has no value for host \"{host}\".")),
        ("a=42, b=672/12", "Hosts \"a\" and \"b\" would generate the same IDs.".into()),
    ] {
        server.configure("sno.partition_prefix", list);
        server.reload();
        let error = error(&mut server.connect(), "SELECT sno_new(1)");
        assert_eq!((error.code().code(), error.detail()), ("22023", Some(&*detail)));
        let refused = "SELECT name FROM pg_file_settings WHERE error = 'setting could not be applied'";
        assert_eq!(text(&mut server.connect(), refused), "sno.partition_prefix");
    }
}

/// Not at its end, also if no value is another one.
#[test]
fn a_reload_counts_within_a_transaction() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run("BEGIN");
    assert_eq!(partition(&mut client), default_partition(&server));
    server.configure("sno.typo", "6");
    server.reload();
    client.run("SELECT 1");
    assert_eq!(code(&mut client, "SELECT sno_new(1)"), "42704");
    client.run("ROLLBACK");
    server.unconfigure("sno.typo");
    server.reload();
    client.run("BEGIN");
    assert_eq!(partition(&mut client), default_partition(&server));
    server.configure("sno.partition_prefix", "6");
    server.reload();
    client.run("SELECT 1");
    assert_eq!(partition(&mut client), 6);
}

/// Then two of them are at the same time.
#[test]
fn reloads_count_while_the_clock_stands_still() {
    let server = Server::builder().faketime(true).start();
    let [mut client, mut admin] = [(); 2].map(|()| server.connect());
    client.run("SELECT sno_new(1)");
    server.hold_clock();
    for prefix in ["6", "7", "8"] {
        server.configure("sno.partition_prefix", prefix);
        admin.run("SELECT pg_reload_conf()");
        wait_until("a reload", || text(&mut client, "SHOW sno.partition_prefix") == prefix);
        assert_eq!(partition(&mut client).to_string(), prefix);
    }
}

/// Such values may be left from before the library was preloaded.
#[test]
fn a_session_can_not_choose_the_prefix() {
    let server = Server::builder().preload(false).conf("sno.partition_prefix", "5").start();
    for command in [
        "CREATE ROLE bob LOGIN",
        "CREATE DATABASE other",
        "ALTER ROLE bob SET sno.partition_prefix = '7'",
        "ALTER DATABASE other SET sno.sequence_range = '0-99'",
    ] {
        server.run(command);
    }
    server.configure("shared_preload_libraries", "sno");
    server.restart(Mode::Fast);
    // A WARNING says so at each connection.
    assert_eq!(partition(&mut server.connect_as("bob")), 5);
    assert_eq!(text(&mut server.connect_to("other"), "SHOW sno.sequence_range"), "0-65535");
    assert!(server.log().contains("WARNING:  parameter \"sno.partition_prefix\" cannot be changed now"));
    for option in ["-c sno.partition_prefix=7", "-c sno.partition_prefix=5", "-c SNO.partition_prefix=auto"] {
        let error = server.config().options(option).connect(sno_tests::postgres::NoTls);
        assert_eq!(error.err().expect(option).code().unwrap().code(), "55P02");
    }
    let mut client = server.connect();
    for (command, state) in [
        ("SET sno.partition_prefix = '7'", "55P02"),
        ("SELECT set_config('sno.sequence_range', '0-99', true)", "55P02"),
        ("ALTER ROLE bob SET sno.partition_prefix = '7'", "55P02"),
        ("ALTER DATABASE other SET sno.partition_prefix = '7'", "55P02"),
        ("ALTER ROLE bob RESET sno.partition_prefix", "55P02"),
        (
            "CREATE FUNCTION f() RETURNS int LANGUAGE sql SET sno.partition_prefix = '7' AS 'SELECT 1'",
            "55P02",
        ),
    ] {
        assert_eq!(error(&mut client, command).code().code(), state, "{command}");
    }
    assert_eq!(partition(&mut client), 5);
    // A name that nobody knows may be meant for one of ours.
    let mut client = server.connect_with("-c sno.typo=7");
    assert_eq!(code(&mut client, "SELECT sno_new(1)"), "42704");
    server.run("ALTER ROLE bob SET sno.typo = '7'");
    assert_eq!(code(&mut server.connect_as("bob"), "SELECT sno_new(1)"), "42704");
    let mut client = server.connect();
    client.run("SET sno.typo = '7'");
    assert_eq!(code(&mut client, "SELECT sno_new(1)"), "42704");
    client.run("RESET sno.typo");
    assert_eq!(partition(&mut client), 5);
    // The way out of the runbook.
    client.run("ALTER ROLE bob RESET ALL; ALTER DATABASE other RESET ALL");
    assert!(client.one::<bool>("SELECT NOT EXISTS (SELECT FROM pg_db_role_setting)"));
}

/// It writes to the data directory, and so to copies: what is of one server alone it does not take.
#[test]
fn alter_system_takes_what_copies_may_have() {
    let server = Server::builder().compat().start();
    let mut client = server.connect();
    for (name, value) in [
        ("sno.partition_prefix", "42"),
        ("sno.partition_prefix", "auto"),
        ("sno.sequence_range", "0-99"),
        ("sno_compat.snowflake_si_machine", "1/5"),
        ("sno_compat.uid60_workers", "0-99"),
        ("sno_compat.uniqueid_cluster", "1"),
    ] {
        let error = error(&mut client, &format!("ALTER SYSTEM SET {name} = '{value}'"));
        assert_eq!(error.code().code(), "55P02", "{name}: {error}");
        assert_eq!(error.message(), "this parameter cannot be set by ALTER SYSTEM");
        assert!(error.detail().is_some() && error.hint().is_some());
        client.run(&format!("ALTER SYSTEM RESET {name}"));
    }
    for (name, value, detail) in [
        ("sno.partition_prefix", "256", "A prefix of 8 bits is at most 255."),
        ("sno.sequence_range", "0-2", "A pool has at least 4 sequence numbers."),
        (
            "sno_compat.snowflake_si_base_clock",
            "1999-12-31T23:59:59Z",
            "A base clock is after 2003-03-18T07:20:19.224Z.",
        ),
        ("sno_compat.snowflake_si_machine", "32", "The number of a machine has to fit its bits."),
        ("sno_compat.uid60_workers", "0-512", "A worker is between 0 and 511."),
        ("sno_compat.uniqueid_cluster", "16", "A cluster is between 0 and 15."),
        ("sno_compat.uniqueid_form", "sorted", "A form is \"spread\" or \"time_sequential\"."),
        ("sno_compat.uniqueid_generator_bits", "12", "A generator has 6 to 11 bits."),
    ] {
        let error = error(&mut client, &format!("ALTER SYSTEM SET {name} = '{value}'"));
        assert_eq!((error.code().code(), error.detail()), ("22023", Some(detail)));
    }
    client.run("ALTER SYSTEM SET sno_compat.uniqueid_form = 'spread'");
    client.run("ALTER SYSTEM RESET ALL");
    let number = partition(&mut client);
    assert_eq!(number, default_partition(&server));
    // Before 17, PostgreSQL refuses a name that nobody has defined. Later, it counts as one in the file does.
    let misspelt = "ALTER SYSTEM SET sno.partition_prefx = '42'";
    if major_version(&mut client) < 17 {
        assert_eq!(code(&mut client, misspelt), "42704");
    } else {
        client.run(misspelt);
        server.reload();
        assert_eq!(code(&mut client, "SELECT sno_new(1)"), "42704");
        client.run("ALTER SYSTEM RESET sno.partition_prefx");
        server.reload();
        client.run("SELECT 1");
    }
    assert_eq!(partition(&mut client), number);
    // Written by other means, it counts, and can be taken away.
    fs::write(server.data().join("postgresql.auto.conf"), "sno.partition_prefix = '42'\n").unwrap();
    server.restart(Mode::Fast);
    let mut client = server.connect();
    assert_eq!(partition(&mut client), 42);
    client.run("ALTER SYSTEM RESET sno.partition_prefix");
    server.reload();
    client.run("SELECT 1");
    assert_eq!(partition(&mut client), number);
}

#[test]
fn a_value_on_the_server_s_command_line_is_its_own() {
    let server = Server::builder().argument("-csno.partition_prefix=5").start();
    assert_eq!(partition(&mut server.connect()), 5);
}

#[test]
fn a_server_that_nobody_configured_draws_a_number_and_keeps_it() {
    let server = Server::builder().start();
    let shown = || {
        text(
            &mut server.connect(),
            "SELECT prefix || '/' || prefix_bits || ' ' || prefix_auto FROM sno_generator()",
        )
    };
    let drawn = shown();
    let prefix = server.auto_prefix();
    assert_eq!(drawn, format!("{prefix} true"));
    assert_eq!(prefix.bits(), 14);
    let mut client = server.connect();
    let inside = format!("SELECT sno_partition(sno_new(1)) >> 2 = {}", prefix.value());
    assert_eq!(text(&mut client, &inside), "t");
    assert_eq!(text(&mut client, "SHOW sno.partition_prefix"), "auto");
    server.configure("sno.partition_prefix", "5");
    server.reload();
    assert_eq!(shown(), "5/8 false");
    server.configure("sno.partition_prefix", "AUTO");
    server.reload();
    assert_eq!(shown(), drawn);
    for mode in [Mode::Fast, Mode::Immediate, Mode::Crash] {
        server.restart(mode);
        assert_eq!(shown(), drawn);
    }
    // Nothing before the first ID says it, but a file that is lost.
    server.stop(Mode::Fast);
    server.excuse_marks();
    fs::remove_file(server.marks()).unwrap();
    server.start();
    assert_eq!(shown(), format!("{} true", server.auto_prefix()));
}

#[test]
fn anyone_sets_how_long_to_wait() {
    let server = Server::builder().start();
    server.run("CREATE ROLE alice LOGIN");
    let wait =
        |client: &mut Client| -> String { client.one("SELECT max_clock_wait::text FROM sno_generator()") };
    let mut alice = server.connect_as("alice");
    alice.run("SET sno.max_clock_wait = '1s'");
    assert_eq!(wait(&mut alice), "00:00:01");
    alice.run("SET sno.max_clock_wait = '2s'; SELECT sno_new(1)");
    assert_eq!(wait(&mut alice), "00:00:02");
    alice.run("RESET sno.max_clock_wait");
    assert_eq!(wait(&mut alice), "00:00:10");
    let mut alice = server.connect_as("alice");
    alice.run("SELECT sno_new(1); SET sno.max_clock_wait = '1s'");
    assert_eq!(wait(&mut alice), "00:00:01");
    assert_eq!(error(&mut alice, "SET sno.max_clock_wait = -1").code().code(), "22023");
}

/// What is reserved is not taken from what others may use.
#[test]
fn preloading_leaves_the_spare_memory_to_others() {
    let [without, sno, both] = ["", "sno", "sno, sno_compat"].map(|libraries| -> i64 {
        let server = Server::builder().extension(false).conf("shared_preload_libraries", libraries).start();
        server.connect().one("SELECT size FROM pg_shmem_allocations WHERE name IS NULL")
    });
    // The whole is rounded up to pages of 8 kB.
    for with in [sno, both] {
        assert!((without - with).abs() <= 8192, "{without} bytes without, {with} with it");
    }
}
