//! A server that has not preloaded a library: it reads, stores and restores IDs, and makes none.

use std::path::Path;
use std::process::Command;

use sno_tests::postgres::Client;
use sno_tests::{Mode, Server, Sql as _, as_server, code, error, major_version, plan, program, text};

use crate::pg_upgrade::upgrade;

/// Everything that needs shared memory or a setting of the server's.
const GENERATORS: [&str; 13] = [
    "sno_new()",
    "sno_new(1)",
    "sno_new(1, now())",
    "sno_horizon()",
    "sno_generator()",
    "(SELECT count(*) FROM sno_generators())",
    "(SELECT count(*) FROM sno_horizon_holders())",
    "sno_create_feed('new', 'items')",
    "(SELECT count(*) FROM sno_peek_feed('kept', NULL::items))",
    "(SELECT count(*) FROM sno_feeds())",
    "sno_seek_feed('kept', after => '2222222222222222')",
    "(SELECT count(*) FROM made)",
    "(SELECT count(*) FROM give())",
];

/// The same of `sno_compat`.
const COMPAT_GENERATORS: [&str; 4] =
    ["snowflake_si_new()", "uid60_new()", "uniqueid_new()", "(SELECT count(*) FROM sno_compat_generators())"];

/// Everything else.
const PURE: [&str; 12] = [
    "sno_holds_horizon('9q7k4op826n2g222')",
    "'9q7k4op826n2g222'::text::sno::bytea::sno::uuid::sno::text",
    "(SELECT count(DISTINCT id) FROM items)",
    "(SELECT min(id) < max(id) FROM items)",
    "(SELECT id FROM items ORDER BY id DESC LIMIT 1)",
    "sno_with_metabyte(sno_make(now(), 1, 2, 3), 4)",
    "sno_inspect(sno_lower(now()))",
    "uuidv7_to_sno(sno_to_uuidv7(sno_upper(now())))",
    "sno_unmask(sno_mask('9q7k4op826n2g222', '\\x00112233445566778899aabbccddeeff'), '\\x00112233445566778899aabbccddeeff')",
    "snowflake_si_time(1, '2020-01-01Z'), snowflake_si_inspect(1, '2020-01-01Z', 5)",
    "uid60_time(1::bigint::uid60), gid_time(gid_new('log'))",
    "sno_maintain_partitions('log', '1 month', ahead => 2)",
];

/// Fails unless it is the error of what needs preloading of `sno`.
#[track_caller]
fn refuses(client: &mut Client, query: &str) {
    needs(client, query, "sno");
}

/// The same of another library.
#[track_caller]
fn needs(client: &mut Client, query: &str, library: &str) {
    let error = error(client, query);
    assert_eq!(error.code().code(), "55000", "{query}: {error}");
    let message = format!("{library} must be loaded via \"shared_preload_libraries\"");
    assert_eq!(error.message(), message, "{query}");
    let detail = format!(
        "A server that does not preload {library} can store, compare and convert IDs, but not generate any."
    );
    let hint = format!(
        "Add \"{library}\" to \"shared_preload_libraries\" in postgresql.conf, and restart the server."
    );
    assert_eq!((error.detail(), error.hint()), (Some(&*detail), Some(&*hint)), "{query}");
}

#[test]
fn without_it_ids_are_read_and_none_is_made() {
    // First preloaded, and without the line after a change of the configuration.
    let server = Server::builder().conf("sno.partition_prefix", "5").start();
    server.run(
        "CREATE EXTENSION sno_compat;
         CREATE VIEW made AS SELECT sno_new();
         CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(), n int);
         CREATE FUNCTION give() RETURNS SETOF sno LANGUAGE sql AS 'SELECT sno_new(1) FROM items';
         CREATE TABLE log (id sno PRIMARY KEY DEFAULT sno_new()) PARTITION BY RANGE (id);
         INSERT INTO items (n) SELECT generate_series(1, 1000);
         SELECT sno_create_feed('kept', 'items')",
    );
    server.configure("shared_preload_libraries", "");
    server.restart(Mode::Fast);
    let mut client = server.connect();
    // More than once: nothing may be remembered as being in order.
    for _ in 0..2 {
        for query in GENERATORS {
            refuses(&mut client, &format!("SELECT {query}"));
        }
        for query in COMPAT_GENERATORS {
            needs(&mut client, &format!("SELECT {query}"), "sno_compat");
        }
        refuses(&mut client, "INSERT INTO items DEFAULT VALUES");
        refuses(&mut client, "DO 'BEGIN PERFORM sno_new(1); END'");
    }
    // What a setting would say can be given.
    for (query, argument) in [
        ("snowflake_si_time(1)", "base_clock"),
        ("snowflake_si_lower(now())", "base_clock"),
        ("snowflake_si_machine(1)", "machine_bits"),
        ("snowflake_si_inspect(1, '2020-01-01Z')", "machine_bits"),
    ] {
        let error = error(&mut client, &format!("SELECT {query}"));
        assert_eq!(error.code().code(), "55000", "{query}: {error}");
        let detail = format!(
            "The default of the argument {argument} is a setting, which only a server that preloads sno_compat has."
        );
        assert_eq!(error.detail(), Some(&*detail), "{query}");
        let hint = error.hint().unwrap();
        assert!(
            hint.starts_with(&format!("Give the argument {argument}, or add \"sno_compat\"")),
            "{query}: {hint}"
        );
    }
    for query in PURE {
        client.run(&format!("SELECT {query}"));
    }
    assert_eq!(text(&mut client, "SELECT sno_holds_horizon('9q7k4op826n2g222')"), "f");
    let insert = "INSERT INTO items VALUES (sno_make(now(), 1, 2, 3), 0)";
    assert_eq!(code(&mut client, insert), "23514");
    client.run("SELECT sno_drop_feed('kept'); DROP TRIGGER sno_own_keys ON items");
    client.run(insert);
    // What psql shows of all of it.
    let described = server.psql("\\d items\n\\d+ made\n\\dv+ *\n\\df *\n\\dT+ *\n\\do *\n\\dx+ sno\n");
    assert!(described.status.success() && described.stderr.is_empty(), "{described:?}");
    // The same in each new session, and IDs again with the line.
    refuses(&mut server.connect(), "SELECT sno_new(1)");
    server.configure("shared_preload_libraries", "sno");
    server.restart(Mode::Fast);
    assert_eq!(text(&mut server.connect(), "SELECT sno_partition(sno_new(1)) >> 8"), "5");
}

/// Whoever has forgotten the line hears of it at once, also with psql, and the extension is created all the same.
#[test]
fn create_extension_says_which_line_is_missing() {
    let server = Server::builder().preload(false).extension(false).start();
    let told = |sql: &str| {
        let output = server.psql(sql);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let warning_of = |library: &str| {
        format!(
            "WARNING:  {library} is not loaded via \"shared_preload_libraries\"\n\
             DETAIL:  A server that does not preload {library} can store, compare and convert IDs, but not generate any.\n\
             HINT:  Add \"{library}\" to \"shared_preload_libraries\" in postgresql.conf, and restart the server.\n"
        )
    };
    let warning = warning_of("sno");
    assert_eq!(told("CREATE EXTENSION sno"), warning);
    // Before 17, a setting that does not exist cannot be written by ALTER SYSTEM.
    let mut client = server.connect();
    let alter = "ALTER SYSTEM SET sno.partition_prefix = '5'";
    if major_version(&mut client) < 17 {
        assert_eq!(code(&mut client, alter), "42704");
    } else {
        client.run(alter);
    }
    // Whatever is set in the file.
    server.configure("sno.partition_prefix", "5");
    server.restart(Mode::Fast);
    assert_eq!(told("DROP EXTENSION sno; SET client_min_messages = warning; CREATE EXTENSION sno"), warning);
    let both = told("DROP EXTENSION sno; CREATE EXTENSION sno_compat CASCADE");
    assert!(both.ends_with(&(warning + &warning_of("sno_compat"))), "{both}");
    for (libraries, warnings) in
        [("sno", [false, true]), ("sno_compat", [true, false]), ("sno, sno_compat", [false; 2])]
    {
        server.configure("shared_preload_libraries", libraries);
        server.restart(Mode::Fast);
        let again = "DROP EXTENSION sno_compat; DROP EXTENSION sno; CREATE EXTENSION sno; CREATE EXTENSION sno_compat";
        let warned = ["sno", "sno_compat"].into_iter().zip(warnings);
        let expected: String =
            warned.filter(|(_, warns)| *warns).map(|(library, _)| warning_of(library)).collect();
        assert_eq!(told(again), expected, "{libraries}");
    }
}

/// Each library has its own functions, settings and memory, and needs no other.
#[test]
fn each_library_is_preloaded_by_itself() {
    let server =
        Server::builder().compat().conf("sno_compat.snowflake_si_base_clock", "2020-01-01T00:00:00Z").start();
    server.run("CREATE EXTENSION sno_compat");
    // A name that begins with it is one of sno_compat's, in settings and in the names of memory.
    let owned = "SELECT string_agg(name, ', ' ORDER BY name) FROM (
                     SELECT name FROM pg_settings WHERE name ~ '^sno[_.]' AND context IN ('sighup', 'user')
                     UNION ALL SELECT name FROM pg_shmem_allocations WHERE name ~ '^sno') all_names";
    let compat = "sno_compat Snowflake-SI generator, sno_compat uid60 generators, sno_compat uniqueid generators, \
                  sno_compat.max_clock_wait, sno_compat.snowflake_si_base_clock, sno_compat.snowflake_si_machine, \
                  sno_compat.uid60_workers, sno_compat.uniqueid_cluster, sno_compat.uniqueid_form, \
                  sno_compat.uniqueid_generator_bits";
    let sno = "sno generators, sno.enable_time_conditions, sno.max_clock_wait, sno.partition_prefix, sno.sequence_range";
    let both = format!("{sno}, {compat}").replace("sno generators, sno.", "sno.");
    for (libraries, names) in [
        ("sno", sno.to_owned()),
        ("sno_compat", compat.to_owned()),
        ("sno_compat, sno", String::new()),
        ("sno, sno_compat", String::new()),
    ] {
        server.configure("shared_preload_libraries", libraries);
        server.restart(Mode::Fast);
        let mut client = server.connect();
        let found = text(&mut client, owned);
        if names.is_empty() {
            assert_eq!(found.split(", ").count(), both.split(", ").count() + 1, "{libraries}: {found}");
        } else {
            assert_eq!(found, names, "{libraries}");
        }
        // Horizons, of 24 kB, are kept for sno alone.
        let with_horizons =
            "SELECT count(*) FROM pg_shmem_allocations WHERE name ~ '^sno_compat' AND size > 20000";
        assert_eq!(text(&mut client, with_horizons), "0");
        let has = |library| libraries.split(", ").any(|preloaded| preloaded == library);
        for (query, library) in COMPAT_GENERATORS.map(|query| (query, "sno_compat")).into_iter().chain([
            ("sno_new(1)", "sno"),
            ("sno_generator()", "sno"),
            ("sno_horizon()", "sno"),
        ]) {
            let query = format!("SELECT {query}");
            if has(library) { client.run(&query) } else { needs(&mut client, &query, library) }
        }
        client.run("SELECT uid60_to_sno('AZI9gACAQD', 200) < '9q7k4op826n2g222'");
    }
    // The functions of each are in its own library alone.
    let exported = |library: &str| {
        let symbols = Command::new("nm").args(["-D", "--defined-only"]).arg(library).output().expect("nm");
        String::from_utf8(symbols.stdout).unwrap()
    };
    let folder = Command::new(program("pg_config")).arg("--pkglibdir").output().unwrap();
    let folder = String::from_utf8(folder.stdout).unwrap();
    let (sno, compat) = (
        exported(&format!("{}/sno.so", folder.trim())),
        exported(&format!("{}/sno_compat.so", folder.trim())),
    );
    for (symbol, in_sno) in [
        ("sno_new", true),
        ("sno_in", true),
        ("uid60_new", false),
        ("gid_in", false),
        ("uniqueid_form", false),
    ] {
        let ends = |symbols: &str| symbols.lines().any(|line| line.ends_with(&format!(" {symbol}")));
        assert_eq!((ends(&sno), ends(&compat)), (in_sno, !in_sno), "{symbol}");
    }
}

/// A backend that loads the library late gets no hook and no setting, so the order of all hooks is that of
/// `shared_preload_libraries`.
#[test]
fn conditions_on_sno_time_need_it_and_comparisons_with_a_time_do_not() {
    let server = Server::builder().preload(false).start();
    server.run(
        "CREATE TABLE items (id sno PRIMARY KEY);
         INSERT INTO items SELECT sno_make('2026-01-01Z'::timestamptz + n * interval '1 s', 0, 0, 0)
         FROM generate_series(1, 10000) n; ANALYZE items",
    );
    let mut client = server.connect();
    client.run("LOAD 'sno'");
    assert_eq!(code(&mut client, "SHOW sno.enable_time_conditions"), "42704");
    let by_time = "SELECT count(*) FROM items WHERE sno_time(id) < '2026-01-01 00:01Z'";
    let by_id = "SELECT count(*) FROM items WHERE id < '2026-01-01 00:01Z'::timestamptz";
    for (query, uses_index) in [(by_time, false), (by_id, true)] {
        assert_eq!(text(&mut client, query), "59");
        assert_eq!(plan(&mut client, "COSTS off", query).contains("Index Cond"), uses_index, "{query}");
    }
    server.configure("shared_preload_libraries", "sno");
    server.restart(Mode::Fast);
    let mut client = server.connect();
    assert!(plan(&mut client, "COSTS off", by_time).contains("Index Cond"));
}

#[test]
fn a_dump_goes_from_a_server_with_it_to_one_without_it() {
    let server = Server::builder().start();
    server.run(
        "CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(1), n int);
         INSERT INTO items (n) SELECT generate_series(1, 1000); SELECT sno_create_feed('kept', 'items')",
    );
    let dump = server.dump(&[]);
    let warehouse = Server::builder().preload(false).extension(false).start();
    let output = warehouse.psql(&dump);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stderr).matches("WARNING").count(), 1, "{output:?}");
    let rows = "SELECT count(*) || ' ' || max(id)::text FROM items";
    assert_eq!(text(&mut warehouse.connect(), rows), text(&mut server.connect(), rows));
    // And back.
    let content = |dump: String| {
        let lines =
            dump.lines().filter(|line| !line.starts_with("\\restrict") && !line.starts_with("\\unrestrict"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(content(warehouse.dump(&[])), content(dump));
}

/// To a server of the same version, with the line and without it. What a role has set is refused by a server that has
/// it: the page on upgrades says where to look before.
#[test]
fn an_upgrade_goes_to_a_server_with_it_and_to_one_without_it() {
    let bin = program("");
    for (line, leftover) in [("sno", false), ("", false), ("sno", true)] {
        let old = Server::builder().start();
        old.run("CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(1), n int)");
        old.run("INSERT INTO items (n) SELECT generate_series(1, 1000)");
        let rows = text(&mut old.connect(), "SELECT count(*) || max(id)::text FROM items");
        if leftover {
            old.configure("shared_preload_libraries", "");
            old.restart(Mode::Fast);
            old.run("CREATE ROLE bob; ALTER ROLE bob SET sno.partition_prefix = '7'");
        }
        old.stop(Mode::Fast);
        let new = Server::builder().extension(false).conf("shared_preload_libraries", line).start();
        new.stop(Mode::Fast);
        let upgraded = upgrade(&old, &bin, &new, &bin);
        if leftover {
            let errors = upgraded.unwrap_err();
            assert!(errors.contains("parameter \"sno.partition_prefix\" cannot be changed now"), "{errors}");
            continue;
        }
        upgraded.unwrap();
        new.start();
        let mut client = new.connect();
        assert_eq!(text(&mut client, "SELECT count(*) || max(id)::text FROM items"), rows);
        if line.is_empty() {
            refuses(&mut client, "SELECT sno_new(1)");
        } else {
            client.run("INSERT INTO items DEFAULT VALUES");
        }
    }
}

/// Each process that the server may have has a place of its own, background workers as well.
#[test]
fn shared_memory_has_a_place_for_each_process() {
    let [few, many] = ["8", "108"].map(|workers| {
        let server = Server::builder().conf("max_worker_processes", workers).start();
        server.connect().one::<i64>("SELECT size FROM pg_shmem_allocations WHERE name = 'sno generators'")
    });
    assert!(many >= few + 100 * 8, "{few} and {many} bytes");
}

/// A server in single-user mode, which repairs are made with, sets all of it up as well.
#[test]
fn single_user_mode_generates() {
    let server = Server::builder().conf("sno.partition_prefix", "5").start();
    let mut ids = server.ids();
    ids.query(&mut server.connect(), "SELECT sno_new(1)").unwrap();
    server.stop(Mode::Fast);
    let data = server.data().display();
    let script = format!(
        "echo 'SELECT sno_partition(sno_new(1)) >> 8 AS number, 1 FROM generate_series(1, 10)' |
         '{}' --single -D '{data}' postgres",
        program("postgres").display()
    );
    let output = as_server(Path::new("sh")).arg("-c").arg(script).output();
    let output = String::from_utf8(output.unwrap().stdout).unwrap();
    assert_eq!(output.matches("number = \"5\"").count(), 10, "{output}");
    server.start();
    ids.query(&mut server.connect(), "SELECT sno_new(1)").unwrap();
}
