//! Settings fail closed: whatever a server can't honour stops `sno_new`, and never means another prefix.

use sno_tests::postgres::Client;
use sno_tests::{Mode, Server, Sql as _, error, major_version, plan, skip, text};

use super::USE_UP_SHARED_MEMORY;

pub(crate) const NOT_HONOURED: &str =
    "It belongs to the server, and was set for a session, a role or a database.";

#[track_caller]
fn assert_refused(client: &mut Client, message: &str, detail: &str) {
    let queries =
        ["SELECT sno_new(1)", "SELECT sno_new()", "SELECT sno_new(1, now())", "SELECT sno_generator()"];
    assert_each_refused(client, &queries, message, detail);
}

/// More than one query: nothing may be remembered as being in order.
#[track_caller]
pub(crate) fn assert_each_refused(client: &mut Client, queries: &[&str], message: &str, detail: &str) {
    for query in queries {
        let error = error(client, query);
        assert_eq!(error.code().code(), "22023", "{query}: {error}");
        assert_eq!(error.message(), message);
        assert_eq!(error.detail(), Some(detail));
        assert!(error.hint().is_some());
    }
}

fn partition(client: &mut Client) -> i32 {
    client.one("SELECT sno_partition(sno_new(1)) >> 8")
}

/// What [`partition`] is of a server that was given no prefix.
fn default_partition(server: &Server) -> i32 {
    i32::from(*server.auto_prefix().partitions().start() >> 8)
}

#[test]
fn a_bad_value_in_the_configuration_file() {
    for preload in [false, true] {
        let server = Server::builder().preload(preload).start();
        for (name, value, detail) in [
            ("sno.partition_prefix", "300", "A prefix of 8 bits is at most 255."),
            ("sno.partition_prefix", "1/20", "A prefix has 8 to 16 bits."),
            ("sno.sequence_range", "5-7", "A pool has at least 4 sequence numbers."),
        ] {
            server.configure(name, value);
            server.restart(Mode::Fast);
            let message = format!("invalid value for parameter \"{name}\": \"{value}\"");
            assert_refused(&mut server.connect(), &message, detail);
            server.configure(name, if name == "sno.sequence_range" { "0-65535" } else { "9" });
        }
        // What does not generate works all the same.
        assert!(server.psql("SELECT sno_time('9q7k4op826n2g222')").status.success());
        // Mended, without a restart.
        server.reload();
        assert_eq!(partition(&mut server.connect()), 9);
    }
}

#[test]
fn a_reload_with_a_bad_value_stops_sessions_that_were_fine() {
    for preload in [false, true] {
        let server = Server::builder().preload(preload).conf("sno.partition_prefix", "5").start();
        let mut client = server.connect();
        assert_eq!(partition(&mut client), 5);
        server.configure("sno.partition_prefix", "x");
        server.reload();
        client.run("SELECT 1");
        let message = "invalid value for parameter \"sno.partition_prefix\": \"x\"";
        let detail = "Expected a number, or a number and its bits, as in \"42/8\", or \"auto\".";
        assert_refused(&mut client, message, detail);
        assert_refused(&mut server.connect(), message, detail);
        server.configure("sno.partition_prefix", "6");
        server.reload();
        client.run("SELECT 1");
        assert_eq!(partition(&mut client), 6);
    }
}

#[test]
fn alter_system_takes_good_values_and_refuses_bad_ones() {
    for preload in [false, true] {
        let server = Server::builder().preload(preload).start();
        let mut client = server.connect();
        client.run("LOAD 'sno'");
        for (setting, detail) in [
            ("sno.partition_prefix = '256'", "A prefix of 8 bits is at most 255."),
            ("sno.sequence_range = '0-2'", "A pool has at least 4 sequence numbers."),
        ] {
            let error = error(&mut client, &format!("ALTER SYSTEM SET {setting}"));
            assert_eq!(error.code().code(), "22023");
            assert_eq!(error.detail(), Some(detail));
        }
        assert_eq!(partition(&mut client), default_partition(&server));
        client.run("ALTER SYSTEM SET sno.partition_prefix = '42'");
        server.reload();
        client.run("SELECT 1");
        assert_eq!(partition(&mut client), 42);
        server.restart(Mode::Fast);
        assert_eq!(partition(&mut server.connect()), 42);
    }
}

#[test]
fn a_session_can_not_choose_the_prefix() {
    let server = Server::builder().conf("sno.partition_prefix", "5").start();
    for command in [
        "CREATE ROLE alice LOGIN",
        "CREATE ROLE bob LOGIN",
        "CREATE DATABASE other",
        "ALTER ROLE bob SET sno.partition_prefix = '7'",
        "ALTER DATABASE other SET sno.sequence_range = '0-99'",
    ] {
        server.run(command);
    }
    server.connect_to("other").run("CREATE EXTENSION sno");
    let detail = NOT_HONOURED;
    let prefix = "parameter \"sno.partition_prefix\" could not be set to \"7\"";
    let range = "parameter \"sno.sequence_range\" could not be set to \"0-99\"";

    // PGOPTIONS, by an ordinary user and by a superuser.
    let mut alice = server.config();
    alice.user("alice").options("-c sno.partition_prefix=7");
    assert_refused(&mut alice.connect(sno_tests::postgres::NoTls).unwrap(), prefix, detail);
    assert_refused(&mut server.connect_with("-c sno.partition_prefix=7"), prefix, detail);
    assert_refused(&mut server.connect_with("-c sno.sequence_range=0-99"), range, detail);
    // The default is another server's number where this one has its own.
    for (name, value) in [("sno.partition_prefix", "auto"), ("sno.sequence_range", "0-65535")] {
        let message = format!("parameter \"{name}\" could not be set to \"{value}\"");
        assert_refused(&mut server.connect_with(&format!("-c {name}={value}")), &message, detail);
        let mut client = server.connect();
        client.run(&format!("SET {name} = '{value}'"));
        assert_refused(&mut client, &message, detail);
    }
    // For a role, for a database.
    assert_refused(&mut server.connect_as("bob"), prefix, detail);
    assert_refused(&mut server.connect_to("other"), range, detail);
    // By SET, before the library is there to object.
    let mut client = server.connect();
    client.run("SET sno.partition_prefix = 7");
    assert_refused(&mut client, prefix, detail);
    // No reload of the file covers it up. RESET takes it back.
    server.reload();
    client.run("SELECT 1");
    assert_refused(&mut client, prefix, detail);
    client.run("RESET sno.partition_prefix");
    assert_eq!(partition(&mut client), 5);
    // Now that all settings are defined, no other name may begin like theirs.
    assert_eq!(error(&mut client, "SET sno.typo = 7").code().code(), "42602");
    // The server's own value does no harm.
    let mut client = server.connect();
    client.run("SET sno.partition_prefix = 5");
    assert_eq!(partition(&mut client), 5);
    // What came with the connection stays with it.
    let mut client = server.connect_with("-c sno.partition_prefix=7");
    for command in ["RESET sno.partition_prefix", "RESET ALL", "DISCARD ALL"] {
        client.run(command);
        assert_refused(&mut client, prefix, detail);
    }

    // All others go on.
    assert_eq!(partition(&mut server.connect_as("alice")), 5);
}

/// What is taken back again, in one session: each of these leaves the server's own value in force.
const TAKEN_BACK: [&[&str]; 15] = [
    &["RESET sno.partition_prefix"],
    &["RESET ALL"],
    &["SET sno.partition_prefix TO DEFAULT"],
    &["SET sno.partition_prefix = '7'", "?", "RESET sno.partition_prefix"],
    &["SET sno.partition_prefix = '7'", "?", "SET sno.partition_prefix TO DEFAULT"],
    &["SET sno.partition_prefix = '7'", "?", "DISCARD ALL"],
    &["SET sno.partition_prefix = ''", "?", "RESET ALL"],
    &["SET sno.partition_prefix = '7'", "?", "BEGIN", "RESET sno.partition_prefix"],
    &["SET sno.partition_prefix = '7'", "?", "BEGIN", "SET LOCAL sno.partition_prefix TO DEFAULT"],
    &["BEGIN", "RESET ALL", "SET LOCAL sno.partition_prefix = '7'", "?", "COMMIT"],
    &["BEGIN", "SET LOCAL sno.partition_prefix = '7'", "?", "COMMIT"],
    &["BEGIN", "SET sno.partition_prefix = '7'", "?", "ROLLBACK"],
    &["BEGIN", "SAVEPOINT a", "SET sno.partition_prefix = '7'", "?", "ROLLBACK TO a", "COMMIT"],
    &["BEGIN", "SAVEPOINT a", "SET LOCAL sno.partition_prefix = '7'", "?", "RELEASE a", "COMMIT"],
    &["SELECT set_config('sno.partition_prefix', '7', true)"],
];

#[test]
fn what_a_session_takes_back_leaves_no_trace() {
    for own in [None, Some("5")] {
        let server = Server::builder();
        let server = own.into_iter().fold(server, |server, own| server.conf("sno.partition_prefix", own));
        let server = server.start();
        let own = own.map_or_else(|| default_partition(&server), |own| own.parse().unwrap());
        for commands in TAKEN_BACK {
            // The library is loaded when all is over, or in the middle.
            for middle in [false, true] {
                let mut client = server.connect();
                for command in commands {
                    match *command {
                        "?" if middle => {
                            let _ = client.batch_execute("SAVEPOINT load");
                            assert_eq!(error(&mut client, "SELECT sno_new()").code().code(), "22023");
                            let _ = client.batch_execute("ROLLBACK TO load");
                        }
                        "?" => (),
                        command => client.run(command),
                    }
                }
                assert_eq!(partition(&mut client), own, "{commands:?}");
            }
        }
    }
}

#[test]
fn what_is_taken_out_of_the_configuration_is_the_default_again() {
    for preload in [false, true] {
        let server = Server::builder().preload(preload).start();
        let mut admin = server.connect();
        admin.run("LOAD 'sno'");
        // One that has met the library before, and one that meets it at the end.
        let mut early = server.connect();
        assert_eq!(partition(&mut early), default_partition(&server));
        let mut late = server.connect();
        for round in 0..4 {
            if round % 2 == 0 {
                admin.run("ALTER SYSTEM SET sno.partition_prefix = '42'");
                admin.run("ALTER SYSTEM SET sno.sequence_range = '0-99'");
            } else {
                server.configure("sno.partition_prefix", "42");
                server.configure("sno.sequence_range", "0-99");
            }
            server.reload();
            late.run("SELECT 1");
            assert_eq!((partition(&mut early), partition(&mut server.connect())), (42, 42));
            if round % 2 == 0 {
                admin.run("ALTER SYSTEM RESET sno.partition_prefix");
                admin.run("ALTER SYSTEM RESET sno.sequence_range");
            } else {
                server.unconfigure("sno.partition_prefix");
                server.unconfigure("sno.sequence_range");
            }
            server.reload();
            let default = default_partition(&server);
            assert_eq!((partition(&mut early), partition(&mut server.connect())), (default, default));
        }
        assert_eq!(partition(&mut late), default_partition(&server));
    }
}

#[test]
fn a_function_can_not_choose_the_prefix() {
    let server = Server::builder().conf("sno.partition_prefix", "5").start();
    let function = "CREATE FUNCTION seventh() RETURNS sno LANGUAGE plpgsql SET sno.partition_prefix = '7'
                    AS 'BEGIN RETURN sno_new(); END'";
    server.run(function);
    // Once with a library that is loaded by the function, and then with one that is there already.
    let mut client = server.connect();
    for state in ["22023", "55P02"] {
        assert_eq!(error(&mut client, "SELECT seventh()").code().code(), state);
        assert_eq!(partition(&mut client), 5);
    }
}

#[test]
fn a_value_on_the_server_s_command_line_is_its_own() {
    for preload in [false, true] {
        let server = Server::builder().preload(preload).argument("-csno.partition_prefix=5").start();
        assert_eq!(partition(&mut server.connect()), 5);
    }
}

/// Another cluster has another prefix, unless chance has it.
#[test]
fn a_server_that_nobody_configured_takes_its_prefix_from_its_system_identifier() {
    let server = Server::builder().start();
    let mut client = server.connect();
    let prefix = server.auto_prefix();
    let shown = |server: &Server| {
        text(&mut server.connect(), "SELECT prefix || '/' || prefix_bits FROM sno_generator()")
    };
    assert_eq!(shown(&server), prefix.to_string());
    let inside = format!("SELECT sno_partition(sno_new(1)) >> 4 = {}", prefix.value());
    assert_eq!(text(&mut client, &inside), "t");
    assert_eq!(text(&mut client, "SHOW sno.partition_prefix"), "auto");
    server.configure("sno.partition_prefix", "5");
    server.reload();
    assert_eq!(shown(&server), "5/8");
    server.configure("sno.partition_prefix", "AUTO");
    server.reload();
    assert_eq!(shown(&server), prefix.to_string());
}

#[test]
fn names_of_settings_are_the_same_in_upper_case() {
    let server = Server::builder().start();
    server.configure("SNO.Partition_Prefix", "5");
    server.reload();
    assert_eq!(partition(&mut server.connect()), 5);
    // PostgreSQL keeps the name as it was written.
    let mut client = server.connect_with("-c SNO.PARTITION_PREFIX=auto");
    let message = "parameter \"sno.partition_prefix\" could not be set to \"auto\"";
    assert_refused(&mut client, message, NOT_HONOURED);
}

#[test]
fn anyone_sets_how_long_to_wait() {
    for preload in [false, true] {
        let server = Server::builder().preload(preload).start();
        server.run("CREATE ROLE alice LOGIN");
        let wait = |client: &mut Client| -> String {
            client.one("SELECT max_clock_wait::text FROM sno_generator()")
        };
        // Before the library is there, and after.
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
}

#[test]
fn a_preloaded_library_refuses_such_sessions_at_once() {
    let server = Server::builder().preload(true).conf("sno.partition_prefix", "5").start();
    let mut config = server.config();
    let error = config.options("-c sno.partition_prefix=7").connect(sno_tests::postgres::NoTls);
    let error = error.err().expect("no connection");
    assert_eq!(error.code().unwrap().code(), "55P02");
    let error = sno_tests::error(&mut server.connect(), "ALTER ROLE postgres SET sno.partition_prefix = '7'");
    assert_eq!(error.code().code(), "55P02");
    assert_eq!(partition(&mut server.connect()), 5);
}

#[test]
fn parallel_workers_refuse_with_their_leader() {
    let server = Server::builder().conf("sno.partition_prefix", "5").start();
    server.run("CREATE TABLE t AS SELECT generate_series(1, 100000) n; ANALYZE t");
    let parallel =
        "SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
                    SET parallel_leader_participation = off";
    let query = "SELECT count(*), count(DISTINCT sno_new(1)) FROM t WHERE sno_partition(sno_new(1)) >> 8 = 5";

    let mut client = server.connect();
    client.run(parallel);
    assert!(plan(&mut client, "COSTS off", query).contains("Workers Planned"));
    let row = client.query_one(query, &[]).unwrap();
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (100_000, 100_000));

    let mut client = server.connect_with("-c sno.partition_prefix=7");
    client.run(parallel);
    let error = error(&mut client, query);
    assert_eq!(error.code().code(), "22023", "{error}");
    assert_eq!(error.message(), "parameter \"sno.partition_prefix\" could not be set to \"7\"");
    // What has nothing to do with it goes on, in workers that have loaded the library, too.
    assert_eq!(client.one::<i64>("SELECT count(*) FROM t"), 100_000);

    // Of a leader that has not loaded the library itself.
    let query = "SELECT count(sno_new(1)) FROM t";
    for value in ["7", "auto"] {
        let mut client = server.connect();
        client.run(parallel);
        client.run(&format!("SET sno.partition_prefix = '{value}'"));
        assert_eq!(sno_tests::error(&mut client, query).code().code(), "22023");
        client.run("RESET sno.partition_prefix");
        client.run(query);
    }
}

#[test]
fn shared_memory_that_is_used_up_is_an_error_unless_some_was_reserved() {
    let builder = Server::builder()
        .conf("max_locks_per_transaction", "10")
        .conf("max_connections", "10")
        .conf("max_prepared_transactions", "2");
    let server = builder.clone().start();
    if major_version(&mut server.connect()) >= 17 {
        return skip("the generators live in dynamic shared memory, which grows, from PostgreSQL 17 on");
    }
    // Any role can do it.
    server.run("CREATE ROLE mallory LOGIN");
    server.restart(Mode::Fast);
    server.connect_as("mallory").run(USE_UP_SHARED_MEMORY);
    let mut client = server.connect();
    for _ in 0..2 {
        let error = error(&mut client, "SELECT sno_new(1)");
        assert_eq!(error.code().code(), "53200");
        assert_eq!(error.message(), "out of shared memory for the generators of sno");
        assert_eq!(error.hint(), Some("Add \"sno\" to \"shared_preload_libraries\" and restart the server."));
    }
    // The session is as it was: what it waits for can be cancelled.
    let sleep = "SET statement_timeout = '50ms'; SELECT pg_sleep(5)";
    assert_eq!(error(&mut client, sleep).code().code(), "57014");

    // Also in a session that has only loaded the library, where no error was raised. Its transactions can be prepared.
    let mut client = server.connect();
    client.run("BEGIN; SELECT '2222222222222222'::sno; PREPARE TRANSACTION 'x'");
    client.run("ROLLBACK PREPARED 'x'");
    assert_eq!(error(&mut client, sleep).code().code(), "57014");

    // The first session that uses the library takes the memory, even if it makes no ID.
    server.restart(Mode::Fast);
    server.run("SELECT '2222222222222222'::sno");
    server.connect_as("mallory").run(USE_UP_SHARED_MEMORY);
    server.run("SELECT sno_new(1)");

    let server = builder.preload(true).start();
    server.run(USE_UP_SHARED_MEMORY);
    server.run("SELECT sno_new(1)");
}

/// What is reserved is not taken from what others may use.
#[test]
fn preloading_leaves_the_spare_memory_to_others() {
    let [without, with] = [false, true].map(|preload| -> i64 {
        let server = Server::builder().extension(false).preload(preload).start();
        server.connect().one("SELECT size FROM pg_shmem_allocations WHERE name IS NULL")
    });
    // The whole is rounded up to pages of 8 kB.
    assert!((without - with).abs() <= 8192, "{without} bytes without, {with} with it");
}

#[test]
fn a_reload_counts_for_ids_of_given_times() {
    let server = Server::builder().conf("sno.partition_prefix", "5").start();
    let mut client = server.connect();
    let given = "SELECT sno_partition(sno_new(1, now())) >> 8";
    assert_eq!(client.one::<i32>(given), 5);
    for (value, expected) in [("6", Ok(6)), ("x", Err("22023"))] {
        server.configure("sno.partition_prefix", value);
        server.reload();
        client.run("SELECT 1");
        let result = client.query_one(given, &[]).map(|row| row.get::<_, i32>(0));
        let code = result.as_ref().map_err(|error| error.code().unwrap().code());
        assert_eq!(code.copied(), expected);
    }
}
