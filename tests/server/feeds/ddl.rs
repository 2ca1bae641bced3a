//! Tables that come below one with a feed: keys that it would miss are refused there, too, and rows that it has passed are said.

use std::{thread, time::Duration};

use sno_tests::{Server, Sql as _, code, error, next_tick, text, wait_until};

use crate::changes::ddl::told;

/// What a feed has passed in a table that comes below its own is said, with the call that has it read.
#[test]
fn rows_that_a_feed_has_passed() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE ROLE alice LOGIN; GRANT CREATE ON SCHEMA public TO alice;
         CREATE TABLE log (id sno PRIMARY KEY DEFAULT sno_new(), n integer) PARTITION BY RANGE (id);
         CREATE TABLE rest PARTITION OF log DEFAULT; CREATE TABLE old (LIKE log); CREATE TABLE new (LIKE log); CREATE TABLE empty (LIKE log);
         INSERT INTO old VALUES (sno_make('2020-01-01Z', 1, 1, 1), 1), (sno_make('2020-01-02Z', 1, 1, 1), 2); INSERT INTO new VALUES ('x222222222222222', 3);
         SELECT sno_create_feed('log', 'log', margin => '0'), sno_create_feed('more', 'log', margin => '0'), sno_create_feed('unread', 'log');
         CREATE TABLE taken (n integer); INSERT INTO log (n) VALUES (0)",
    );
    let read = |client: &mut sno_tests::postgres::Client, feed: &str, source: &str| {
        next_tick();
        text(
            client,
            &format!(
                "WITH f AS MATERIALIZED (SELECT n FROM sno_feed('{feed}', NULL::{source})), i AS (INSERT INTO taken TABLE f)
                 SELECT coalesce(string_agg(n::text, ' '), '') FROM f"
            ),
        )
    };
    assert_eq!((read(&mut client, "log", "log"), read(&mut client, "more", "log")), ("0".into(), "0".into()));
    let attach =
        "ALTER TABLE log ATTACH PARTITION old FOR VALUES FROM (MINVALUE) TO (sno_lower('2021-01-01Z'))";
    let told_of = |table: &str, feeds: &[&str]| {
        let named: Vec<_> = feeds.iter().map(|feed| format!("\"{feed}\" of role \"postgres\"")).collect();
        let seeks: Vec<_> = feeds
            .iter()
            .map(|feed| {
                format!(
                    "SET ROLE postgres; SELECT public.sno_seek_feed('{feed}', since => '2020-01-01 00:00:00+00')"
                )
            })
            .collect();
        format!(
            "WARNING:  rows of \"public.{table}\" have keys that feeds have passed\nDETAIL:  They are not read by: {}.\n\
             HINT:  If they were not read elsewhere, go back to the first one, from which all rows come again: {}; RESET ROLE",
            named.join(", "),
            seeks.join("; ")
        )
    };
    client.run("CREATE SCHEMA app; ALTER TABLE old SET SCHEMA app");
    assert_eq!(
        told(&server, &format!("SET timezone = 'UTC'; SET search_path = app, public; {attach}"))
            .replace("app.old", "public.old"),
        told_of("old", &["log", "more"])
    );
    client.run("ALTER TABLE app.old SET SCHEMA public");
    // Two levels below.
    client.run(
        "CREATE TABLE mid PARTITION OF log FOR VALUES FROM (sno_lower('2022-01-01Z')) TO (sno_lower('2023-01-01Z')) PARTITION BY RANGE (id);
         CREATE TABLE deep (LIKE log); INSERT INTO deep VALUES (sno_make('2022-06-01Z', 1, 1, 1), 9)",
    );
    assert_eq!(
        told(&server, "SET timezone = 'UTC'; ALTER TABLE mid ATTACH PARTITION deep DEFAULT")
            .replace("2022-06-01", "2020-01-01"),
        told_of("deep", &["log", "more"])
    );
    client.run("ALTER TABLE log DETACH PARTITION mid; DROP TABLE mid; SELECT sno_seek_feed('log', since => '2020-01-01 00:00:00+00')");
    assert_eq!(read(&mut client, "log", "log"), "1 2 0");
    assert_eq!(read(&mut client, "more", "log"), "");
    // Nobody is told where no feed reads, whichever index there is.
    client.run(
        "CREATE TABLE guarded (n integer, id sno DEFAULT sno_new(), PRIMARY KEY (n, id)) PARTITION BY RANGE (n); SELECT sno_refuse_old_keys('guarded');
         CREATE TABLE of_guarded (LIKE guarded); INSERT INTO of_guarded VALUES (1, sno_new())",
    );
    for sql in [
        "ALTER TABLE guarded ATTACH PARTITION of_guarded DEFAULT",
        "ALTER TABLE log ATTACH PARTITION new FOR VALUES FROM ('w222222222222222') TO (MAXVALUE)",
        "ALTER TABLE log ATTACH PARTITION empty FOR VALUES FROM (sno_lower('2021-01-01Z')) TO (sno_lower('2022-01-01Z'))",
    ] {
        assert_eq!(told(&server, sql), "", "{sql}");
    }
    // Who detaches what a feed has not read, is told so.
    assert_eq!(
        told(&server, "ALTER TABLE log DETACH PARTITION old"),
        "WARNING:  rows of \"public.old\" were not read by all feeds\nDETAIL:  They are missed by: \"unread\" of role \"postgres\".\n\
         HINT:  Roll back, or attach it again until they have read these rows."
    );
    // A feed of its own has nothing to do with its parent's.
    client.run(
        "SELECT sno_create_feed('old', 'old', margin => '0'), sno_drop_feed('more'), sno_drop_feed('log')",
    );
    assert_eq!(read(&mut client, "old", "old"), "1 2");
    client.run("DROP TRIGGER sno_own_keys ON old; DROP TRIGGER sno_changed_keys ON old");
    assert_eq!(told(&server, attach), "");
    // With the rights of its owner; what the owner does not see, is said.
    client.run(
        "SELECT sno_drop_feed('old'); CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new()) PARTITION BY RANGE (id); CREATE TABLE now PARTITION OF events DEFAULT;
         SELECT sno_create_feed('events', 'events', margin => '0'); INSERT INTO events DEFAULT VALUES; SET ROLE alice; CREATE TABLE kept (id sno PRIMARY KEY); INSERT INTO kept VALUES (sno_make('2020-01-01Z', 1, 1, 1));
         RESET ROLE",
    );
    next_tick();
    client.run("CREATE TABLE done AS SELECT * FROM sno_feed('events', NULL::events)");
    let attach =
        "ALTER TABLE events ATTACH PARTITION kept FOR VALUES FROM (MINVALUE) TO (sno_lower('2021-01-01Z'))";
    assert_eq!(told(&server, &format!("SET timezone = 'UTC'; {attach}")), told_of("kept", &["events"]));
    client.run("ALTER TABLE events DETACH PARTITION kept; ALTER TABLE kept ENABLE ROW LEVEL SECURITY; ALTER TABLE kept FORCE ROW LEVEL SECURITY");
    assert_eq!(
        told(&server, attach),
        "WARNING:  rows of \"public.kept\" may have keys that feeds have passed\nDETAIL:  query would be affected by row-level security policy for table \"kept\"\n\
         HINT:  If so, call sno_seek_feed() with a time before them."
    );
}

/// Who detaches a partition that a feed has not read is told so, also if that locks out nobody.
#[test]
fn rows_that_a_feed_has_not_read() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE log (id sno DEFAULT sno_new(), n integer, PRIMARY KEY (id, n)) PARTITION BY LIST (n); CREATE TABLE one PARTITION OF log FOR VALUES IN (1);
         CREATE TABLE two PARTITION OF log FOR VALUES IN (2); SELECT sno_create_feed('feed', 'log', margin => '0'); INSERT INTO log (n) VALUES (1)",
    );
    next_tick();
    client.run(
        "CREATE TABLE taken AS SELECT * FROM sno_feed('feed', NULL::log); INSERT INTO log (n) VALUES (2)",
    );
    assert_eq!(told(&server, "ALTER TABLE log DETACH PARTITION one"), "");
    let detached = told(&server, "ALTER TABLE log DETACH PARTITION two CONCURRENTLY");
    assert!(
        detached.starts_with("WARNING:  rows of \"public.two\" were not read by all feeds"),
        "{detached}"
    );
    // Who owns a partition neither keeps it from being detached, nor says more than one line.
    client.run(
        "CREATE ROLE alice; ALTER TABLE log ATTACH PARTITION two FOR VALUES IN (2); CREATE FUNCTION trap() RETURNS integer IMMUTABLE RETURN 1;
         CREATE INDEX ON two (trap()); ALTER TABLE two OWNER TO alice",
    );
    for (owner, trap, detail) in [
        ("postgres", "BEGIN ASSERT false; END", "\"public.two\" has another owner than \"public.log\""),
        ("alice", "BEGIN RAISE 'no\nHINT:  Yes.'; END", "no"),
    ] {
        client.run(&format!(
            "ALTER TABLE log OWNER TO {owner}; CREATE OR REPLACE FUNCTION trap() RETURNS integer IMMUTABLE LANGUAGE plpgsql AS $${trap}$$"
        ));
        let expected = format!(
            "WARNING:  rows of \"public.two\" may not have been read by all feeds\nDETAIL:  {detail}\n\
             HINT:  If so, roll back, or attach it again until they have read these rows."
        );
        assert_eq!(told(&server, "BEGIN; ALTER TABLE log DETACH PARTITION two; ROLLBACK"), expected);
    }
    // Also where there are no triggers.
    client.run(
        "CREATE TABLE loose (id sno PRIMARY KEY DEFAULT sno_new()) PARTITION BY RANGE (id); CREATE TABLE loose_1 PARTITION OF loose DEFAULT;
         SELECT sno_create_feed('loose', 'loose', margin => '0', refuse_old_keys => false); INSERT INTO loose DEFAULT VALUES; CREATE TABLE of_loose (LIKE loose)",
    );
    let warned = |change: &str| told(&server, change).lines().next().unwrap_or_default().to_owned();
    let detach = "ALTER TABLE loose DETACH PARTITION loose_1";
    assert_eq!(warned(detach), "WARNING:  rows of \"public.loose_1\" were not read by all feeds");
    client.run("ALTER TABLE loose ATTACH PARTITION loose_1 DEFAULT");
    next_tick();
    client.run("INSERT INTO of_loose SELECT * FROM sno_feed('loose', NULL::loose)");
    assert_eq!(warned(detach), "");
    let attach = "ALTER TABLE loose ATTACH PARTITION loose_1 DEFAULT";
    assert_eq!(warned(attach), "WARNING:  rows of \"public.loose_1\" have keys that feeds have passed");
}

/// PostgreSQL drops a partition without a word, whoever has not read it. Who wants that, detaches it before.
#[test]
fn partitions_are_dropped_once_they_are_read() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE ROLE alice LOGIN; CREATE ROLE bob LOGIN; CREATE ROLE carol LOGIN; CREATE SCHEMA app AUTHORIZATION carol;
         GRANT ALL ON SCHEMA app TO alice; GRANT USAGE ON SCHEMA app TO bob; SET ROLE alice;
         CREATE TABLE app.log (n integer, id sno DEFAULT sno_new(), PRIMARY KEY (n, id)) PARTITION BY RANGE (n); CREATE INDEX ON app.log (id);
         CREATE TABLE app.one PARTITION OF app.log FOR VALUES FROM (1) TO (2);
         CREATE TABLE app.\"the two\" PARTITION OF app.log FOR VALUES FROM (2) TO (9) PARTITION BY LIST (n);
         CREATE TABLE app.deep PARTITION OF app.\"the two\" DEFAULT; CREATE TABLE app.empty PARTITION OF app.log DEFAULT;
         INSERT INTO app.log VALUES (1), (3); SELECT sno_create_feed('feed', 'app.log', margin => '0')",
    );
    let refused = |role: &str, drop: &str, message: &str, detail: &str| {
        let error = error(&mut server.connect_as(role), drop);
        let answer = (error.code().code(), error.message(), error.detail().unwrap_or_default());
        assert_eq!(answer, ("55000", message, detail), "{drop}");
        assert_eq!(error.hint(), Some("Wait until they are read, or detach the partition before."));
    };
    let not_read = |table: &str, drop: &str| {
        let message = format!("rows of \"{table}\" were not read by all feeds");
        refused("alice", drop, &message, "They are missed by: \"feed\" of role \"alice\".");
    };
    not_read("app.one", "DROP TABLE app.one");
    not_read("app.\"the two\"", "SET search_path = app, public; DROP TABLE empty, \"the two\" CASCADE");
    not_read("app.deep", "DO $$BEGIN EXECUTE 'DROP TABLE app.deep'; END$$");
    // The owner of the schema may drop the table, but not read it. Who may not drop it, is told nothing of feeds, and locks nothing.
    refused(
        "carol",
        "DROP TABLE app.one",
        "rows of \"app.one\" may not have been read by all feeds",
        "must be owner of table one",
    );
    let mut other = server.connect();
    other.run("BEGIN; SELECT FROM app.log");
    assert_eq!(code(&mut server.connect_as("bob"), "SET lock_timeout = '1 s'; DROP TABLE app.one"), "42501");
    other.run("ROLLBACK");
    assert_eq!(
        error(&mut server.connect_as("alice"), "DROP TABLE app.one_pkey").hint(),
        Some("Use DROP INDEX to remove an index.")
    );
    // A table goes with all that it has.
    client.run("DROP TABLE IF EXISTS app.none, app.empty; BEGIN; DROP TABLE app.log; ROLLBACK");
    // Once they are read, or detached.
    let read = "INSERT INTO app.taken SELECT * FROM sno_feed('feed', NULL::app.log)";
    client.run("ALTER TABLE app.log DETACH PARTITION app.\"the two\"; DROP TABLE app.\"the two\"; CREATE TABLE app.taken (LIKE app.log)");
    next_tick();
    client.run(read);
    client.run("INSERT INTO app.log VALUES (1)");
    not_read("app.one", "DROP TABLE app.one");
    next_tick();
    client.run(read);
    client.run("BEGIN; DROP TABLE app.one; ROLLBACK");
    // Rows that come while it waits for a lock, and rows that its own snapshot does not see.
    let mut dropping = server.connect_as("alice");
    let pid: i32 = dropping.one("SELECT pg_backend_pid()");
    client.run("BEGIN; INSERT INTO app.log VALUES (1)");
    let waits = format!("SELECT {pid} = ANY (SELECT pid FROM pg_locks WHERE NOT granted)");
    thread::scope(|scope| {
        let drop = scope.spawn(|| code(&mut dropping, "DROP TABLE app.one"));
        wait_until("a lock", || server.connect().one::<bool>(&waits));
        client.run("COMMIT");
        assert_eq!(drop.join().unwrap(), "55000");
    });
    // It waits for the DETACH that the HINT advises.
    client.run("CREATE TABLE app.apart PARTITION OF app.log FOR VALUES FROM (10) TO (11); INSERT INTO app.log VALUES (10)");
    client.run("ALTER TABLE app.apart OWNER TO alice; BEGIN; ALTER TABLE app.log DETACH PARTITION app.apart");
    thread::scope(|scope| {
        let drop = scope.spawn(|| dropping.batch_execute("DROP TABLE app.apart"));
        wait_until("a lock", || server.connect().one::<bool>(&waits));
        client.run("COMMIT");
        drop.join().unwrap().unwrap();
    });
    // PostgreSQL's own error comes first.
    assert_eq!(code(&mut server.connect_as("alice"), "BEGIN READ ONLY; DROP TABLE app.one"), "25006");
    next_tick();
    client.run(read);
    dropping.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM pg_class");
    client.run("INSERT INTO app.log VALUES (1)");
    assert_eq!(code(&mut dropping, "DROP TABLE app.one"), "55000");
    dropping.run("ROLLBACK");
    next_tick();
    client.run(read);
    dropping.run("DROP TABLE app.one");
    // Also without triggers that refuse old keys, and by another key than that of the table.
    client.run(
        "CREATE TABLE app.loose (id sno DEFAULT sno_new(), other sno NOT NULL DEFAULT sno_new(), PRIMARY KEY (id)) PARTITION BY RANGE (id);
         CREATE INDEX ON app.loose (other); CREATE TABLE app.loose_1 PARTITION OF app.loose DEFAULT; SELECT sno_drop_feed('feed');
         SELECT sno_create_feed('feed', 'app.loose', key => 'other', margin => '0', refuse_old_keys => false); INSERT INTO app.loose DEFAULT VALUES",
    );
    not_read("app.loose_1", "DROP TABLE app.loose_1");
    next_tick();
    client.run("CREATE TABLE app.stored (LIKE app.loose); INSERT INTO app.stored SELECT * FROM sno_feed('feed', NULL::app.loose)");
    dropping.run("DROP TABLE app.loose_1");
    let none = "CREATE TABLE t (n integer) PARTITION BY LIST (n); CREATE TABLE t1 PARTITION OF t DEFAULT; DROP TABLE t1";
    assert_eq!(told(&server, &format!("DROP TABLE app.log; {none}")), "");
    server.run("REVOKE USAGE ON SCHEMA sno_internal FROM PUBLIC");
    dropping.run(&format!("SET search_path = app; {none}"));
}

/// What others do to a partition counts until the DROP has locked it, with all that is below it.
#[test]
fn partitions_that_others_change_before_their_drop() {
    let server = Server::builder().start();
    let (mut client, mut dropping) = (server.connect(), server.connect());
    client.run(
        "CREATE TABLE log (id sno DEFAULT sno_new(), n integer, PRIMARY KEY (id, n)) PARTITION BY LIST (n); CREATE TABLE one (LIKE log INCLUDING ALL);
         CREATE TABLE two PARTITION OF log FOR VALUES IN (2) PARTITION BY LIST (n); CREATE TABLE deep PARTITION OF two DEFAULT;
         SELECT sno_create_feed('feed', 'log', margin => '0'); INSERT INTO one (n) VALUES (1)",
    );
    let pid: i32 = dropping.one("SELECT pg_backend_pid()");
    let waits = format!("SELECT {pid} = ANY (SELECT pid FROM pg_locks WHERE NOT granted)");
    // It knows the table as it was when the transaction began.
    for (change, expected) in [
        ("ALTER TABLE log ATTACH PARTITION one FOR VALUES IN (1)", "55000"),
        ("ALTER TABLE log DETACH PARTITION one", "00000"),
    ] {
        dropping.run("SELECT FROM one");
        dropping.run("BEGIN");
        client.run(change);
        let code = match dropping.batch_execute("DROP TABLE one") {
            Ok(()) => "00000".to_owned(),
            Err(error) => error.code().unwrap().code().to_owned(),
        };
        assert_eq!(code, expected, "{change}");
        dropping.run("ROLLBACK");
    }
    // Who has written the lowest partition before, locks none above it.
    client.run("INSERT INTO deep (n) VALUES (2)");
    next_tick();
    client.run("CREATE TABLE taken AS SELECT * FROM sno_feed('feed', NULL::log)");
    for change in ["INSERT INTO deep (n) VALUES (2)", "LOCK deep; INSERT INTO deep (n) VALUES (2)"] {
        client.run(&format!("BEGIN; {change}"));
        thread::scope(|scope| {
            let drop = scope.spawn(|| error(&mut dropping, "DROP TABLE two"));
            wait_until("a lock", || server.connect().one::<bool>(&waits));
            // For longer than the check itself waits for any lock.
            thread::sleep(Duration::from_millis(200));
            client.run("COMMIT");
            assert_eq!(drop.join().unwrap().message(), "rows of \"public.two\" were not read by all feeds");
        });
    }
}

/// Only who reads the rows of a partition keeps it, by the column that the feed reads by, and not from going with its table.
#[test]
fn partitions_that_no_feed_keeps() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE log (id sno DEFAULT sno_new(), n integer, other sno DEFAULT sno_new(), PRIMARY KEY (id, n)) PARTITION BY LIST (n);
         CREATE TABLE one PARTITION OF log FOR VALUES IN (1); CREATE TABLE two PARTITION OF log FOR VALUES IN (2) PARTITION BY LIST (n);
         CREATE TABLE deep PARTITION OF two DEFAULT; CREATE TABLE three PARTITION OF log FOR VALUES IN (3);
         SELECT sno_create_feed('log', 'log', margin => '0');
         SELECT sno_refuse_old_keys('log', 'other'); INSERT INTO log (n) VALUES (1), (2)",
    );
    next_tick();
    client.run(
        "CREATE TABLE taken AS SELECT * FROM sno_feed('log', NULL::log); INSERT INTO log (n) VALUES (2)",
    );
    assert_eq!(told(&server, "BEGIN; ALTER TABLE log DETACH PARTITION one; ROLLBACK"), "");
    assert_eq!(told(&server, "BEGIN; DROP TABLE one; ROLLBACK"), "");
    for table in ["two", "deep"] {
        let detail = error(&mut client, &format!("DROP TABLE {table}")).detail().unwrap().to_owned();
        assert_eq!(detail, "They are missed by: \"log\" of role \"postgres\".");
    }
    client.run("INSERT INTO log (n) VALUES (1)");
    for (tables, expected) in [("three, one", "55000"), ("deep, log", "55000"), ("one, three, log", "00000")]
    {
        let code = match client.batch_execute(&format!("DROP TABLE {tables} CASCADE")) {
            Ok(()) => "00000".to_owned(),
            Err(error) => error.code().unwrap().code().to_owned(),
        };
        assert_eq!(code, expected, "{tables}");
    }
}
