//! DDL of tables whose changes are tracked: what it does to rows is logged, or said at once, and it never fails for that.

use sno_tests::{Server, Sql as _, code, error, next_tick, text};

use super::{Copy, ITEMS, server};
use crate::meanwhile;

const PARTS: &str = "
    CREATE TABLE parts (id integer PRIMARY KEY, n integer) PARTITION BY RANGE (id);
    SELECT sno_track_changes('parts'); SELECT sno_create_feed('parts', 'parts_changes', margin => '0');
    CREATE TABLE copy_of_parts (LIKE parts)";

const COPY: Copy<'_> = Copy { feed: "parts", changes: "parts_changes", copy: "copy_of_parts", key: "id" };

/// What psql says of some SQL that has to succeed, beside its rows.
#[track_caller]
pub(crate) fn told(server: &Server, sql: &str) -> String {
    let output = server.psql(sql);
    assert!(output.status.success(), "{sql}: {output:?}");
    let told = String::from_utf8(output.stderr).unwrap();
    let lines =
        told.lines().filter(|line| ["WARNIN", "DETAIL", "HINT: "].iter().any(|of| line.starts_with(of)));
    lines.map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// Partitions that come and go without any function of the extension.
#[test]
fn partitions_of_other_tools() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(PARTS);
    let range = |n: i32| format!("FOR VALUES FROM ({n}0) TO ({}0)", n + 1);
    for (n, create) in [
        (1, format!("CREATE TABLE p1 PARTITION OF parts {}", range(1))),
        (2, format!("CREATE TABLE p2 (n integer, id integer NOT NULL); ALTER TABLE parts ATTACH PARTITION p2 {}", range(2))),
        // With rows from before the attachment.
        (3, format!("BEGIN; CREATE TABLE p3 (LIKE parts); INSERT INTO p3 VALUES (30, 1); ALTER TABLE parts ATTACH PARTITION p3 {}; COMMIT", range(3))),
        (4, format!("CREATE TABLE p4 (LIKE parts); ALTER TABLE parts ATTACH PARTITION p4 {}", range(4))),
        (5, format!("CREATE SCHEMA p5 CREATE TABLE p5 PARTITION OF public.parts {}; ALTER TABLE p5.p5 SET SCHEMA public", range(5))),
        (6, format!(
            "CREATE FUNCTION pg_temp.f() RETURNS void LANGUAGE plpgsql SET search_path = pg_temp, public AS $$ BEGIN CREATE TABLE public.p6 PARTITION OF parts {}; END $$;
             CREATE FUNCTION public.format(text, text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$; SELECT pg_temp.f()", range(6))),
        (7, format!("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM parts; CREATE TABLE p7 PARTITION OF parts {}; COMMIT", range(7))),
        (8, format!("SET session_replication_role = replica; CREATE TABLE p8 PARTITION OF parts {}", range(8))),
        (9, format!(
            "CREATE TABLE \"it's %s\" PARTITION OF parts {} PARTITION BY RANGE (id); BEGIN; CREATE TABLE p9 (id integer NOT NULL, n integer);
             INSERT INTO p9 VALUES (91, 1); ALTER TABLE \"it\'s %s\" ATTACH PARTITION p9 DEFAULT; COMMIT", range(9))),
    ] {
        assert_eq!(told(&server, &create), "", "{create}");
        client.run(&format!("INSERT INTO parts SELECT n, 1 FROM generate_series({n}2, {n}4) n"));
        COPY.check(&mut client, &create);
        client.run(&format!("TRUNCATE p{n}"));
        COPY.check(&mut client, &format!("TRUNCATE after {create}"));
        assert_eq!(code(&mut client, &format!("DROP TABLE p{n}")), "2BP01", "{create}");
        client.run(&format!("INSERT INTO parts SELECT n, 1 FROM generate_series({n}2, {n}4) n"));
    }
    COPY.check(&mut client, "rows of all partitions");
    // What reads report is left to sno_track_changes().
    client.run("CREATE TABLE p10 (LIKE parts); INSERT INTO p10 VALUES (100, 1)");
    for change in [
        "ALTER TABLE parts ATTACH PARTITION p10 FOR VALUES FROM (100) TO (110)",
        "ALTER TABLE parts DETACH PARTITION p1",
        "ALTER TABLE parts DETACH PARTITION p2 CONCURRENTLY",
        "ALTER TABLE parts DETACH PARTITION \"it's %s\"",
    ] {
        assert_eq!(told(&server, change), "", "{change}");
        assert_eq!(code(&mut client, "SELECT FROM parts_changes"), "55000", "{change}");
        client.run("SELECT sno_track_changes('parts')");
        COPY.check(&mut client, change);
    }
    client.run("DROP TABLE p1, p2, p9");
    COPY.check(&mut client, "DROP of what was detached");
}

/// A tracked table that is itself a partition of another one for a while, and an extension that is in no path.
#[test]
fn partitions_of_a_partition() {
    let server = Server::builder().extension(false).start();
    let mut client = server.connect();
    client.run("CREATE SCHEMA ext; CREATE EXTENSION sno SCHEMA ext; SET search_path = public, ext");
    client.run(PARTS);
    client.run(
        "CREATE TABLE above (id integer, n integer) PARTITION BY RANGE (id);
         ALTER TABLE above ATTACH PARTITION parts FOR VALUES FROM (0) TO (100)",
    );
    let come = "CREATE TABLE p1 PARTITION OF parts FOR VALUES FROM (10) TO (20) PARTITION BY LIST (id);
        CREATE TABLE p1a PARTITION OF p1 DEFAULT; BEGIN; CREATE TABLE p2 (LIKE parts); INSERT INTO p2 VALUES (20, 1);
        ALTER TABLE parts ATTACH PARTITION p2 FOR VALUES FROM (20) TO (30); COMMIT";
    assert_eq!(told(&server, come), "");
    let warned = told(&server, "ALTER TABLE above ADD m integer DEFAULT 1");
    assert!(warned.starts_with("WARNING:  rows of \"public.parts\" were changed"), "{warned}");
    client.run("ALTER TABLE above DROP m; ALTER TABLE above DETACH PARTITION parts; INSERT INTO parts VALUES (10, 1)");
    COPY.check(&mut client, "what came below a partition");
    for part in ["p1", "p2"] {
        client.run(&format!("TRUNCATE {part}"));
        COPY.check(&mut client, &format!("TRUNCATE {part}"));
        assert_eq!(code(&mut client, &format!("DROP TABLE {part}")), "2BP01", "{part}");
    }
    // What a HINT says is found without the path.
    client.run("ALTER TABLE parts DETACH PARTITION p2; RESET search_path");
    let error = error(&mut client, "SELECT FROM parts_changes");
    client.run(error.hint().unwrap().strip_suffix(" logs them.").unwrap());
    client.run("SELECT FROM parts_changes");
}

/// Tables that others have locked, and what was changed where nothing logs it.
#[test]
fn what_others_lock_and_what_was_detached() {
    let server = Server::builder().start();
    let (mut client, mut other) = (server.connect(), server.connect());
    client.run(PARTS);
    client.run(
        "CREATE TABLE p1 PARTITION OF parts FOR VALUES FROM (10) TO (20); INSERT INTO parts VALUES (10, 1); CREATE TABLE strange AS SELECT 1;
         CREATE TABLE events (id sno DEFAULT sno_new(), n integer, PRIMARY KEY (n, id)) PARTITION BY RANGE (n); SELECT sno_refuse_old_keys('events')",
    );
    client.run("SELECT sno_internal.sno_depend('parts', 'p1', false)");
    other.run("BEGIN; LOCK TABLE p1, strange");
    let statements =
        "CREATE TABLE p2 (LIKE parts); ALTER TABLE parts ATTACH PARTITION p2 FOR VALUES FROM (20) TO (30);
        CREATE TABLE e1 PARTITION OF events FOR VALUES FROM (10) TO (20)";
    assert_eq!(told(&server, &format!("SET statement_timeout = '5s'; {statements}")), "");
    // What a restore has not, is put in order by reads, which do not wait for others.
    client.run("SET statement_timeout = '5s'");
    client.run("SELECT sno_internal.keep_partitions('parts'); RESET statement_timeout");
    other.run("COMMIT");
    client.run("SELECT sno_internal.keep_partitions('parts')");
    for part in ["p1", "p2"] {
        assert_eq!(code(&mut client, &format!("DROP TABLE {part}")), "2BP01", "{part}");
    }
    let depends = "SELECT count(*) FROM pg_depend WHERE classid = 'pg_trigger'::regclass AND refobjid = 'p2'::regclass AND deptype = 'n'";
    assert_eq!(client.one::<i64>(depends), 1);
    COPY.check(&mut client, "beside a table that is locked");
    let again = "BEGIN; ALTER TABLE parts DETACH PARTITION p1; UPDATE p1 SET n = 7; ALTER TABLE parts ATTACH PARTITION p1 FOR VALUES FROM (10) TO (20); COMMIT";
    assert_eq!(
        told(&server, again),
        "WARNING:  log of the changes of \"public.parts\" does not know what was changed in \"public.p1\" while it was detached\n\
         HINT:  If anything was, build the copies again."
    );
    client.run("INSERT INTO parts_log (id) SELECT id FROM parts");
    // A DETACH that has not ended.
    other.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM parts");
    let mut detaches = server.connect_with("-c statement_timeout=300ms");
    assert_eq!(code(&mut detaches, "ALTER TABLE parts DETACH PARTITION p2 CONCURRENTLY"), "57014");
    assert_eq!(code(&mut client, "SELECT FROM parts_changes"), "55000");
    other.run("COMMIT");
    client.run("ALTER TABLE parts DETACH PARTITION p2 FINALIZE; SELECT sno_track_changes('parts')");
    COPY.check(&mut client, "a DETACH that has ended");
}

/// What changes rows, and nothing else, is said with the statement that helps.
#[test]
fn rows_that_ddl_changes() {
    let server = server();
    let mut client = server.connect();
    let of = |table: &str, log: &str, key: &str, rows: &str| {
        let (table, log) = (format!("public.{table}"), format!("public.{log}"));
        format!(
            "WARNING:  rows of \"{table}\" were changed, which its log does not know\nHINT:  When copies have such columns, log all rows: \
             INSERT INTO {log} ({key}) SELECT t.{key} FROM {rows}{table} t"
        )
    };
    let items = of("items", "items_log", "id", "ONLY ");
    client.run(
        "CREATE TABLE base (id integer); CREATE TABLE middle () INHERITS (base); CREATE TABLE kid (gone integer, PRIMARY KEY (id)) INHERITS (middle);
         SELECT sno_track_changes('kid'); INSERT INTO kid VALUES (1); CREATE TABLE other (id integer); INSERT INTO other VALUES (1); CREATE TABLE empty (id integer PRIMARY KEY); SELECT sno_track_changes('empty');
         CREATE TYPE pair AS (a integer, b integer);
         CREATE TABLE typed OF pair (PRIMARY KEY (a)); SELECT sno_track_changes('typed'); INSERT INTO typed VALUES (1, 1); CREATE DOMAIN one AS integer DEFAULT 1;
         CREATE TABLE \"It's\" (\"a b\" integer PRIMARY KEY, n integer) PARTITION BY RANGE (\"a b\");
         CREATE TABLE p1 PARTITION OF \"It's\" FOR VALUES FROM (0) TO (10); CREATE TABLE p2 PARTITION OF \"It's\" DEFAULT;
         INSERT INTO \"It's\" VALUES (1, 1), (11, 1); SELECT sno_track_changes('\"It''s\"')",
    );
    for (sql, expected) in [
        ("ALTER TABLE items ADD a integer", ""),
        ("ALTER TABLE items ADD b integer DEFAULT 1", &*items),
        ("ALTER TABLE items ADD IF NOT EXISTS b integer DEFAULT 1", ""),
        ("ALTER TABLE items ADD b2 integer, ADD b3 one, ADD b4 integer", &*items),
        ("ALTER TABLE items ADD c integer", ""),
        ("ALTER TABLE items ALTER c SET DEFAULT 1", ""),
        ("ALTER TABLE items ADD d float DEFAULT random()", &*items),
        ("ALTER TABLE items ADD e integer GENERATED ALWAYS AS (n + 1) STORED", &*items),
        (
            "ALTER TABLE items ADD f varchar(5) DEFAULT 'x', ADD g integer GENERATED ALWAYS AS IDENTITY",
            &*items,
        ),
        ("ALTER TABLE items ALTER f TYPE varchar(9); ALTER TABLE items ALTER f TYPE text", ""),
        ("ALTER TABLE items ALTER c TYPE bigint USING c + 1", &*items),
        (
            "DO 'BEGIN ALTER TABLE items ALTER c TYPE integer; ALTER TABLE items ADD h integer DEFAULT 1; END'",
            &*items,
        ),
        ("ALTER TABLE items DROP b; ALTER TABLE items RENAME c TO b; ALTER TABLE items SET UNLOGGED", ""),
        (
            "ALTER TABLE items SET LOGGED",
            "WARNING:  a crash may have emptied \"public.items\", which the log of its changes does not know\n\
             HINT:  If the server has crashed while it was unlogged, build the copies again.",
        ),
        ("ALTER TYPE pair ALTER ATTRIBUTE b TYPE bigint CASCADE", &*of("typed", "typed_log", "a", "ONLY ")),
        ("ALTER TABLE base ADD c integer DEFAULT 5", &*of("kid", "kid_log", "id", "ONLY ")),
        ("ALTER TABLE other ADD n integer DEFAULT 1, ALTER id TYPE bigint", ""),
        ("ALTER TABLE empty ADD n integer DEFAULT 1, ADD m float DEFAULT random()", ""),
        ("ALTER TABLE \"It's\" ADD m integer DEFAULT 1", &*of("\"It's\"", "\"It's_log\"", "\"a b\"", "")),
        ("ALTER TABLE \"It's\" ALTER m TYPE bigint", &*of("\"It's\"", "\"It's_log\"", "\"a b\"", "")),
    ] {
        assert_eq!(told(&server, sql), expected, "{sql}");
    }
    // As the HINT says.
    client.run(
        "ALTER TABLE items DROP d, DROP e, DROP f, DROP g, DROP h, DROP a, DROP b, DROP b2, DROP b3, DROP b4",
    );
    client.run("ALTER TABLE copy ADD more integer; SELECT sno_seek_feed('search', since => now())");
    let told = told(&server, "ALTER TABLE items ADD more integer DEFAULT 7");
    let (_, statement) = told.split_once("log all rows: ").unwrap();
    client.run(statement);
    ITEMS.check(&mut client, statement);
    if client.one::<i32>("SELECT current_setting('server_version_num')::integer") >= 180_000 {
        assert_eq!(
            self::told(&server, "ALTER TABLE items ADD v integer GENERATED ALWAYS AS (n + 1) VIRTUAL"),
            items
        );
        assert_eq!(self::told(&server, "ALTER TABLE items ALTER v SET EXPRESSION AS (n + 2)"), items);
    }
}

/// DDL goes on, whatever keeps the log from following it, and its role is told.
#[test]
fn what_cannot_be_followed() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE ROLE alice LOGIN; GRANT CREATE ON SCHEMA public TO alice; CREATE TABLE plain (id integer PRIMARY KEY);
         CREATE TABLE ran (role name); GRANT INSERT ON ran TO PUBLIC",
    );
    client.run(PARTS);
    let warned = |part: &str, sql: &str, detail: &str| {
        let expected = format!(
            "WARNING:  log of the changes of \"public.parts\" does not know partition \"public.{part}\"\nDETAIL:  {detail}\n\
             HINT:  Give its partitions the owner of the table, then call public.sno_track_changes('public.parts')."
        );
        assert_eq!(told(&server, sql), expected, "{sql}");
    };
    client.run("ALTER TABLE parts OWNER TO alice; ALTER TABLE parts_log OWNER TO alice; ALTER VIEW parts_changes OWNER TO alice");
    warned(
        "p1",
        "CREATE TABLE p1 PARTITION OF parts FOR VALUES FROM (10) TO (20)",
        "permission denied for table p1",
    );
    // Nothing would log that it is truncated or dropped.
    assert_eq!(code(&mut client, "SELECT FROM parts_changes"), "55000");
    client.run("ALTER TABLE p1 OWNER TO alice; SELECT sno_track_changes('parts')");
    // An old snapshot.
    warned(
        "p3",
        "SET ROLE alice; BEGIN ISOLATION LEVEL REPEATABLE READ; CREATE TABLE p3 (LIKE parts); INSERT INTO p3 VALUES (30, 1);
         ALTER TABLE parts ATTACH PARTITION p3 FOR VALUES FROM (30) TO (40); COMMIT",
        "cannot log the rows of \"public.p3\" in a transaction with isolation level REPEATABLE READ",
    );
    // It keeps no others from being followed.
    assert_eq!(
        told(&server, "SET ROLE alice; CREATE TABLE p4 PARTITION OF parts FOR VALUES FROM (40) TO (50)"),
        ""
    );
    assert_eq!(code(&mut client, "DROP TABLE p4"), "2BP01");
    client.run("SELECT sno_track_changes('parts')");
    COPY.check(&mut client, "a partition that was attached in an old snapshot");
    // A role that may not use the schema of the functions is told where they are needed, and nowhere else.
    client.run("REVOKE USAGE ON SCHEMA sno_internal FROM PUBLIC");
    for (sql, expected) in [
        (
            "CREATE TABLE t (id integer); CREATE TABLE u () INHERITS (t); ALTER TABLE t ADD n integer DEFAULT 1",
            "",
        ),
        (
            "CREATE TABLE p5 PARTITION OF parts FOR VALUES FROM (50) TO (60)",
            "WARNING:  logs of changes and feeds may not know what \"CREATE TABLE\" has done\nDETAIL:  SQLSTATE 42501\n\
             HINT:  Have the owner of the table call sno_track_changes(), or sno_refuse_old_keys().",
        ),
    ] {
        assert_eq!(told(&server, &format!("SET ROLE alice; {sql}")), expected, "{sql}");
    }
    client.run("GRANT USAGE ON SCHEMA sno_internal TO PUBLIC; SELECT sno_track_changes('parts')");
    // Nor one that may not read the catalogs.
    client.run("REVOKE SELECT ON pg_depend FROM PUBLIC");
    assert_eq!(
        told(&server, "SET ROLE alice; CREATE TABLE v (id integer); CREATE TABLE w () INHERITS (v)")
            .lines()
            .next(),
        Some("WARNING:  logs of changes and feeds may not know what \"CREATE TABLE\" has done")
    );
    client.run("GRANT SELECT ON pg_depend TO PUBLIC");
    // A client whose encoding has not the characters of the command, which is in the context of each message.
    let dynamic = "DO $$ BEGIN EXECUTE format('ALTER TABLE %I ADD x integer DEFAULT 1', U&'\\65E5'); END $$";
    client.run(
        "CREATE TABLE \"日\" (id integer PRIMARY KEY); SELECT sno_track_changes('\"日\"'); INSERT INTO \"日\" VALUES (1)",
    );
    assert_eq!(told(&server, &format!("SET client_encoding = 'LATIN1'; {dynamic}")), "");
    client.run("SELECT x FROM \"日\"");
    // What names a log of others is no partition of theirs.
    client.run(
        "CREATE ROLE bob; GRANT CREATE ON SCHEMA public TO bob; SET ROLE bob; CREATE TABLE of_bob (id integer);
         CREATE TRIGGER sno_log_truncate BEFORE TRUNCATE ON of_bob FOR EACH STATEMENT WHEN ('parts_log'::regclass IS NOT NULL)
             EXECUTE FUNCTION sno_internal.sno_log_changes()",
    );
    for of in ["'parts', 'of_bob'", "'of_bob', 'parts'"] {
        assert_eq!(
            code(&mut client, &format!("SELECT sno_internal.sno_depend({of}, true)")),
            "42501",
            "{of}"
        );
    }
    client.run("RESET ROLE; SELECT FROM parts_changes");
    COPY.check(&mut client, "partitions that were not followed");
}

/// Sessions that change partitions at once, also in old snapshots, and writers: nobody waits longer than without the log.
#[test]
fn partitions_of_two_sessions() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(PARTS);
    client.run("BEGIN; CREATE TABLE p1 PARTITION OF parts FOR VALUES FROM (10) TO (20); INSERT INTO parts VALUES (10, 1)");
    let create =
        "CREATE TABLE p2 PARTITION OF parts FOR VALUES FROM (20) TO (30); INSERT INTO parts VALUES (20, 1)";
    let others = meanwhile(&server, || told(&server, create), || client.run("COMMIT"));
    assert_eq!(others, "");
    client.run("TRUNCATE p1, p2");
    COPY.check(&mut client, "TRUNCATE of partitions of two sessions");
    // Below two partitions of the table, whose commands have locked nothing in common.
    client.run(
        "CREATE TABLE q1 PARTITION OF parts FOR VALUES FROM (100) TO (200) PARTITION BY RANGE (id);
         CREATE TABLE q2 PARTITION OF parts FOR VALUES FROM (200) TO (300) PARTITION BY RANGE (id)",
    );
    client.run("BEGIN; CREATE TABLE q3 PARTITION OF q1 FOR VALUES FROM (100) TO (200)");
    assert_eq!(told(&server, "CREATE TABLE q4 PARTITION OF q2 FOR VALUES FROM (200) TO (300)"), "");
    client.run("COMMIT");
    // Writers before and during an ATTACH.
    let mut other = server.connect();
    client.run("CREATE TABLE p3 (LIKE parts)");
    client.run("BEGIN; INSERT INTO parts VALUES (11, 1)");
    other.run(
        "SET lock_timeout = '1s'; BEGIN; ALTER TABLE parts ATTACH PARTITION p3 FOR VALUES FROM (30) TO (40)",
    );
    client.run(
        "SET lock_timeout = '1s'; INSERT INTO parts VALUES (12, 1); COMMIT; INSERT INTO parts VALUES (21, 1)",
    );
    other.run("COMMIT");
    COPY.check(&mut client, "ATTACH beside writers");
    // A snapshot without a partition of another session.
    other.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM copy_of_parts");
    client.run("CREATE TABLE p4 PARTITION OF parts FOR VALUES FROM (40) TO (50)");
    other.run("CREATE TABLE p5 PARTITION OF parts FOR VALUES FROM (50) TO (60); COMMIT");
    for part in ["p3", "p4", "p5"] {
        assert_eq!(code(&mut client, &format!("DROP TABLE {part}")), "2BP01", "{part}");
    }
    client.run("INSERT INTO parts VALUES (41, 1), (51, 1); TRUNCATE p4; TRUNCATE p5");
    COPY.check(&mut client, "partitions of an old snapshot");
}

/// The event triggers come and go with the extension, are in no dump, and say nothing during a restore.
#[test]
fn dumps_and_the_end() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(PARTS);
    client.run(
        "CREATE TABLE p1 PARTITION OF parts FOR VALUES FROM (0) TO (20); CREATE TABLE p2 (LIKE parts); CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new());
         SELECT sno_create_feed('events', 'events', margin => '0'); INSERT INTO events DEFAULT VALUES;
         ALTER EVENT TRIGGER sno_follow_ddl DISABLE; ALTER TABLE parts ATTACH PARTITION p2 FOR VALUES FROM (20) TO (30);
         ALTER EVENT TRIGGER sno_follow_ddl ENABLE ALWAYS; INSERT INTO parts VALUES (1, 1), (21, 1);
         CREATE TABLE z1 PARTITION OF parts FOR VALUES FROM (30) TO (40)",
    );
    next_tick();
    client.run("CREATE TABLE done AS SELECT * FROM sno_feed('events', NULL::events)");
    let dump = server.command("pg_dump").args(["-d", "postgres"]).output().unwrap();
    let dump = String::from_utf8(dump.stdout).unwrap();
    assert!(dump.contains("CREATE EXTENSION") && !dump.contains("EVENT TRIGGER"), "{dump}");
    client.run("CREATE DATABASE restored");
    let path = format!("{}/dump", text(&mut client, "SHOW data_directory"));
    assert!(
        server.command("pg_dump").args(["-d", "postgres", "-Fd", "-f", &path]).status().unwrap().success()
    );
    let output = server.command("pg_restore").args(["-d", "restored", &path]).output().unwrap();
    assert_eq!((output.status.success(), str::from_utf8(&output.stderr).unwrap()), (true, ""));
    let mut restored = server.connect_to("restored");
    // Their triggers were restored before and after that of their table.
    for drop in ["TABLE p1", "TABLE copy_of_parts, p1", "TABLE z1"] {
        assert_eq!(code(&mut restored, &format!("DROP {drop}")), "2BP01", "{drop}");
    }
    restored.run("SELECT sno_track_changes('parts'); INSERT INTO parts VALUES (2, 2); TRUNCATE p1");
    COPY.check(&mut restored, "after a restore");
    assert_eq!(code(&mut restored, "DROP TABLE p1"), "2BP01");
    let ours = "SELECT string_agg(concat(evtname, evtenabled), ' ' ORDER BY evtname) FROM pg_event_trigger";
    assert_eq!(
        text(&mut restored, ours),
        "sno_follow_ddlA sno_follow_dropsA sno_follow_publicationsA sno_follow_rewritesA"
    );
    // No function takes a command that a role has kept, and that is no more.
    assert_eq!(
        text(
            &mut restored,
            "SELECT count(*) FROM pg_proc WHERE 'pg_ddl_command'::regtype = ANY (proargtypes) AND oid >= 16384"
        ),
        "0"
    );
    let refused = error(&mut restored, "SELECT * FROM sno_internal.sno_altered()");
    assert_eq!(refused.code().code(), "39P03");
    // A whole table goes.
    restored.run(
        "CREATE TABLE gone (id integer PRIMARY KEY) PARTITION BY RANGE (id); CREATE TABLE gone_1 PARTITION OF gone DEFAULT;
         CREATE TABLE alone (id integer PRIMARY KEY); SELECT sno_track_changes('gone'), sno_track_changes('alone');
         DROP TABLE gone CASCADE; DROP TABLE alone CASCADE",
    );
    restored
        .run("DROP EXTENSION sno CASCADE; CREATE TABLE p4 PARTITION OF parts FOR VALUES FROM (40) TO (50)");
    assert_eq!(text(&mut restored, "SELECT count(*) FROM pg_event_trigger"), "0");
}
