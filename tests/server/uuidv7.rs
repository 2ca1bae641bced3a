//! `sql/uuidv7.sql`: the module `without` needs any server from PostgreSQL 14 on, `beside` one that has the extension, too. Readers of the
//! horizon under load are in `../faults/uuidv7.rs`.

use sno_tests::postgres::Client;
use sno_tests::{Builder, Server, major_version, sql_file, text};

/// A server with the file.
fn start(builder: Builder) -> Server {
    let server = builder.conf("max_prepared_transactions", "9").start();
    server.run(&sql_file("uuidv7.sql"));
    server
}

/// What generates keys here: the file, and PostgreSQL from 18 on.
fn defaults(client: &mut Client) -> &'static [&'static str] {
    if major_version(client) < 18 { &["sno_uuid(1)"] } else { &["sno_uuid(1)", "uuidv7()"] }
}

/// The cases of a query that are not as they should be.
#[track_caller]
fn none(client: &mut Client, query: &str) {
    let wrong = client.simple_query(&format!("{query} LIMIT 5")).unwrap_or_else(|e| panic!("{query}: {e:?}"));
    let rows = wrong.iter().filter(|m| matches!(m, sno_tests::postgres::SimpleQueryMessage::Row(_))).count();
    assert_eq!(rows, 0, "{wrong:?}");
}

mod without {
    use std::process::Output;
    use std::thread;
    use std::time::Duration;

    use sno_tests::postgres::Client;
    use sno_tests::{Server, Sql as _, code, error, give_to_server, plan, sql_file, text};

    use super::{defaults, none};

    fn start() -> Server {
        super::start(Server::builder().extension(false))
    }

    /// The file by `psql -1 -f`, as some role.
    fn install(server: &Server, role: &str) -> Output {
        let file = server.socket_folder().join("uuidv7.sql");
        std::fs::write(&file, sql_file("uuidv7.sql")).unwrap();
        give_to_server(&file);
        let mut psql = server.command("psql");
        psql.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-U", role, "-d", "postgres", "-1", "-f"]).arg(file);
        psql.output().unwrap()
    }

    #[test]
    fn it_is_installed_by_a_role_without_rights() {
        let server = Server::builder().extension(false).start();
        server.run(
            "CREATE ROLE owner LOGIN; CREATE ROLE app LOGIN; CREATE SCHEMA own AUTHORIZATION owner;
             GRANT USAGE ON SCHEMA own TO app; ALTER ROLE ALL SET search_path = own",
        );
        let output = install(&server, "owner");
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        let (mut client, mut app) = (server.connect(), server.connect_as("app"));
        none(
            &mut client,
            "SELECT oid::regprocedure::text FROM pg_proc
             WHERE pronamespace = 'own'::regnamespace AND obj_description(oid, 'pg_proc') IS NULL
             UNION ALL SELECT oid::regclass::text FROM pg_class
             WHERE relnamespace = 'own'::regnamespace AND relkind IN ('r', 'S') AND obj_description(oid, 'pg_class') IS NULL",
        );
        // What applications need, without any further right.
        server.connect_as("owner").run(
            "CREATE TABLE items (id uuid PRIMARY KEY DEFAULT sno_uuid(1)); GRANT SELECT, INSERT ON items TO app",
        );
        app.run("INSERT INTO items DEFAULT VALUES");
        app.run("SELECT min(id), max(id), uuidv7_horizon('items') FROM items");
        assert_eq!(code(&mut app, "SELECT * FROM uuidv7_feed('a', NULL::items)"), "42501");
        server.connect_as("owner").run(
            "GRANT SELECT, UPDATE ON uuidv7_feeds TO app; INSERT INTO uuidv7_feeds (feed, source, margin) VALUES ('a', 'items', '0')",
        );
        thread::sleep(Duration::from_millis(8));
        assert_eq!(text(&mut app, "SELECT count(*) FROM uuidv7_feed('a', NULL::items)"), "1");
        // Once more: it leaves what it has no newer form of.
        server.connect_as("owner").run(
            "CREATE OR REPLACE FUNCTION sno_uuid_server() RETURNS integer LANGUAGE SQL STABLE RETURN 42;
             CREATE INDEX ON items (uuidv7_time(id)); CREATE VIEW latest AS SELECT max(id) FROM items",
        );
        let kept = "SELECT sno_uuid_server() || ' ' || last_value || ' ' || position || ' '
                        || (SELECT count(*) FROM pg_proc WHERE pronamespace = 'own'::regnamespace)
                    FROM sno_uuid_counter, uuidv7_feeds";
        let before = text(&mut client, kept);
        let output = install(&server, "owner");
        assert!(output.status.success(), "{output:?}");
        assert_eq!(text(&mut client, kept), before);
        app.run("INSERT INTO items DEFAULT VALUES");
        thread::sleep(Duration::from_millis(8));
        assert_eq!(text(&mut app, "SELECT count(*) FROM uuidv7_feed('a', NULL::items)"), "1");
        // Whose start the owner may not see, holds all.
        app.run("BEGIN; INSERT INTO items DEFAULT VALUES");
        let mut owner = server.connect_as("owner");
        let hidden = error(&mut owner, "SELECT uuidv7_horizon('items')");
        assert_eq!(hidden.code().code(), "42501");
        assert_eq!(hidden.message(), "cannot see when a transaction started");
        client.run("GRANT pg_read_all_stats TO owner");
        owner.run("SELECT uuidv7_horizon('items')");
        app.run("COMMIT");
        client.run("SET track_activities = off; BEGIN; INSERT INTO items DEFAULT VALUES");
        assert_eq!(code(&mut owner, "SELECT uuidv7_horizon('items')"), "42501");
    }

    /// A migration runs it in a transaction of its own, in whatever schema. What others put there later is not called.
    #[test]
    fn it_works_in_a_schema_of_any_name() {
        let server = Server::builder().extension(false).start();
        let mut client = server.connect();
        client.run(r#"CREATE SCHEMA "Ev""il; --"; SET search_path = "Ev""il; --""#);
        let mut migration = client.transaction().unwrap();
        migration.run(&sql_file("uuidv7.sql"));
        migration.commit().unwrap();
        client.run(
            r#"CREATE TABLE "It's %I" ("K""ey" uuid PRIMARY KEY DEFAULT sno_uuid(), n integer);
               CREATE FUNCTION trap(oid, regclass) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
               CREATE FUNCTION trap(oid, regtype) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
               CREATE FUNCTION trap(regclass, oid) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
               CREATE OPERATOR = (FUNCTION = trap, LEFTARG = oid, RIGHTARG = regclass);
               CREATE OPERATOR = (FUNCTION = trap, LEFTARG = oid, RIGHTARG = regtype);
               CREATE OPERATOR <> (FUNCTION = trap, LEFTARG = regclass, RIGHTARG = oid);
               CREATE FUNCTION format(text, name, regclass) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
               CREATE FUNCTION pg_typeof("It's %I") RETURNS regtype LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
               INSERT INTO "It's %I" (n) VALUES (1), (2);
               INSERT INTO uuidv7_feeds (feed, source, key, margin) VALUES ('f', '"It''s %I"', 'K"ey', '0');
               SELECT pg_sleep(0.01); RESET search_path"#,
        );
        let read = r#"SELECT sum(n) FROM "Ev""il; --".uuidv7_feed('f', NULL::"Ev""il; --"."It's %I")"#;
        assert_eq!(text(&mut client, read), "3");
        // The functions of feeds look into the schema by its name; the file gives them the new one.
        client.run(r#"ALTER SCHEMA "Ev""il; --" RENAME TO renamed; SET search_path = renamed"#);
        let read = r#"SELECT sum(n) FROM uuidv7_feed('f', NULL::"It's %I")"#;
        assert_eq!(code(&mut client, read), "42P01");
        client.run(&sql_file("uuidv7.sql"));
        client.run(r#"INSERT INTO "It's %I" (n) VALUES (4); SELECT pg_sleep(0.01)"#);
        assert_eq!(text(&mut client, read), "4");
    }

    /// In whole milliseconds; before 1970 and for ever they are within the first and the last one. Against those of the extension: `beside`.
    #[test]
    fn bounds_of_times() {
        let server = start();
        let mut client = server.connect();
        for (call, bound) in [
            ("uuidv7_lower('-infinity')", "00000000-0000-7000-8000-000000000000"),
            ("uuidv7_upper('-infinity')", "00000000-0000-7fff-bfff-ffffffffffff"),
            ("uuidv7_lower('infinity')", "ffffffff-ffff-7000-8000-000000000000"),
            ("uuidv7_upper('infinity')", "ffffffff-ffff-7fff-bfff-ffffffffffff"),
            ("uuidv7_lower('2026-11-21 09:30:15.372Z')", "01a1fd71-2dcc-7000-8000-000000000000"),
            ("uuidv7_lower('2026-11-21 09:30:15.371001Z')", "01a1fd71-2dcc-7000-8000-000000000000"),
            ("uuidv7_upper('2026-11-21 09:30:15.372999Z')", "01a1fd71-2dcc-7fff-bfff-ffffffffffff"),
            ("uuidv7_time('01a1fd71-2dcc-7fff-bfff-ffffffffffff')", "2026-11-21 09:30:15.372+00"),
        ] {
            assert_eq!(text(&mut client, &format!("SELECT {call}")), bound, "{call}");
        }
        let nulls = "SELECT num_nulls(uuidv7_time(NULL), uuidv7_lower(NULL), uuidv7_upper(NULL), uuidv7_between(NULL, now(), now()),
            uuidv7_horizon('uuidv7_feeds', NULL))";
        assert_eq!(text(&mut client, nulls), "5");
    }

    #[test]
    fn bounds_are_conditions_on_indexes_and_prune() {
        let server = start();
        let mut client = server.connect();
        client.run(
            "CREATE TABLE items (id uuid PRIMARY KEY, n integer);
             INSERT INTO items SELECT uuidv7_lower(now() - n * interval '1 min'), n FROM generate_series(1, 20000) n; ANALYZE items;
             CREATE TABLE log (id uuid) PARTITION BY RANGE (id);
             CREATE TABLE log_1 PARTITION OF log FOR VALUES FROM (uuidv7_lower('2020-01-01Z')) TO (uuidv7_lower('2020-01-02Z'));
             CREATE TABLE log_2 PARTITION OF log FOR VALUES FROM (uuidv7_lower('2020-01-02Z')) TO (uuidv7_lower('2099-01-01Z'))",
        );
        for condition in [
            "id >= uuidv7_lower(now() - interval '1 hour')",
            "id <= uuidv7_upper('2020-01-01Z')",
            "uuidv7_between(id, now() - interval '1 hour', now())",
            "uuidv7_between(id, '2020-01-01Z', '2020-01-02Z')",
        ] {
            let plan = plan(&mut client, "COSTS OFF", &format!("SELECT n FROM items WHERE {condition}"));
            assert!(plan.contains("Index Cond") && !plan.contains("Filter"), "{condition}\n{plan}");
        }
        let rows = "SELECT count(*) FROM items WHERE uuidv7_between(id, now() - interval '1 hour', now())";
        assert!((59..=60).contains(&client.one::<i64>(rows)));
        for (condition, partitions) in [
            ("id >= uuidv7_lower('2020-01-03Z')", "log_2"),
            ("uuidv7_between(id, '2020-01-01 10:00Z', '2020-01-01 11:00Z')", "log_1"),
            ("id >= uuidv7_lower(now() - interval '1 hour')", "Subplans Removed: 1"),
        ] {
            let plan = plan(&mut client, "COSTS OFF", &format!("SELECT FROM log WHERE {condition}"));
            let scans = plan.matches(" on log_").count();
            assert!(plan.contains(partitions) && scans == 1, "{condition}\n{plan}");
        }
        for (aggregate, n) in [("min", 20000), ("max", 1)] {
            let query = format!("SELECT {aggregate}(id) FROM items");
            let plan = plan(&mut client, "COSTS OFF", &query);
            assert!(plan.contains("Index Only Scan"), "{plan}");
            client.run(
                "SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off",
            );
            let found = format!("SELECT n FROM items WHERE id = ({query} WHERE n > 0)");
            assert_eq!(client.one::<i32>(&found), n);
            assert!(client.one::<bool>(&format!("SELECT ({query} WHERE n < 0) IS NULL")));
            client.run("RESET ALL");
        }
    }

    /// Somebody else's, or a later PostgreSQL's.
    #[test]
    fn aggregates_that_are_there_stay() {
        let server = Server::builder().extension(false).start();
        server.run("CREATE FUNCTION own(uuid, uuid) RETURNS uuid LANGUAGE SQL RETURN $1; CREATE AGGREGATE max(uuid) (SFUNC = own, STYPE = uuid)");
        server.run(&sql_file("uuidv7.sql"));
        let functions = "SELECT string_agg(aggtransfn::text, ' ' ORDER BY aggfnoid::text) FROM pg_aggregate
            WHERE aggfnoid IN ('min(uuid)'::regprocedure, 'max(uuid)'::regprocedure)";
        assert_eq!(text(&mut server.connect(), functions), "own uuidv7_smaller");
    }

    /// The counter is not the time's: it goes on whatever the clock does.
    #[test]
    fn ids_differ_although_the_clock_stands() {
        let server = super::start(Server::builder().extension(false).faketime(true));
        server.hold_clock();
        let mut client = server.connect();
        let times = "SELECT count(DISTINCT id), count(DISTINCT uuidv7_time(id)) FROM (SELECT sno_uuid(1) AS id FROM generate_series(1, 100000)) ids";
        let row = client.query_one(times, &[]).unwrap();
        assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (100_000, 1));
        // In the order of the calls, until 24 bits are used up.
        client.run("CREATE TABLE items (n serial, id uuid DEFAULT sno_uuid(1)); INSERT INTO items SELECT FROM generate_series(1, 1000)");
        none(
            &mut client,
            "SELECT * FROM (SELECT id, lag(id) OVER (ORDER BY n) AS last FROM items) i WHERE id <= last",
        );
        client.run("SELECT setval('sno_uuid_counter', 16777214)");
        let query =
            "SELECT substr(id::text, 20) FROM (SELECT sno_uuid(1) AS id FROM generate_series(1, 2)) ids";
        let ends: Vec<String> = client.query(query, &[]).unwrap().iter().map(|row| row.get(0)).collect();
        assert_eq!(ends, ["81ff-fffe00000000", "8000-000000000000"]);
    }

    const ITEMS: &str = "CREATE TABLE items (id uuid PRIMARY KEY DEFAULT sno_uuid(1), n integer);
        CREATE VIEW items_view AS SELECT * FROM items; CREATE TABLE other (id uuid DEFAULT sno_uuid(1));
        CREATE TABLE log (id uuid DEFAULT sno_uuid(1)) PARTITION BY RANGE (id);
        CREATE TABLE log_1 PARTITION OF log DEFAULT PARTITION BY LIST (id); CREATE TABLE log_2 PARTITION OF log_1 DEFAULT;
        CREATE TABLE old (id uuid DEFAULT sno_uuid(1)); CREATE TABLE old_1 () INHERITS (old)";

    /// Whether a transaction of another session holds a table's horizon at its start.
    #[track_caller]
    fn holds(reader: &mut Client, pid: &str, table: &str) -> bool {
        thread::sleep(Duration::from_millis(8));
        let start = text(reader, &format!("SELECT xact_start FROM pg_stat_activity WHERE pid = {pid}"));
        let settled = text(reader, &format!("SELECT uuidv7_settled('{table}')"));
        let holds = reader.one::<bool>(&format!("SELECT '{settled}'::timestamptz = '{start}'"));
        let latest = if holds { format!("'{settled}'") } else { "clock_timestamp()".to_owned() };
        let horizon = format!(
            "SELECT uuidv7_time(uuidv7_horizon('{table}', '0')) BETWEEN '{settled}'::timestamptz - interval '4 ms' AND {latest}"
        );
        assert!(reader.one::<bool>(&horizon), "{table}");
        holds
    }

    #[test]
    fn who_writes_the_table_holds_its_horizon() {
        let server = start();
        server.run(ITEMS);
        // With the same OIDs.
        server.connect_to("template1").run("CREATE DATABASE copy TEMPLATE postgres");
        let (mut reader, mut writer) = (server.connect(), server.connect());
        let pid = text(&mut writer, "SELECT pg_backend_pid()");
        for (table, holding, work) in [
            ("items", true, "INSERT INTO items VALUES (DEFAULT, 1)"),
            ("items", true, "INSERT INTO items_view VALUES (DEFAULT, 1)"),
            ("items", true, "SAVEPOINT s; INSERT INTO items VALUES (DEFAULT, 1); RELEASE s"),
            ("items", true, "WITH w AS (INSERT INTO items VALUES (DEFAULT, 1) RETURNING n) SELECT FROM w"),
            ("items", true, "DO 'BEGIN INSERT INTO items VALUES (DEFAULT, 1); END'"),
            ("items", false, "SAVEPOINT s; INSERT INTO items VALUES (DEFAULT, 1); ROLLBACK TO s"),
            ("items", false, "INSERT INTO other DEFAULT VALUES; SELECT FROM items FOR UPDATE"),
            ("log", true, "INSERT INTO log DEFAULT VALUES"),
            ("log", true, "INSERT INTO log_1 DEFAULT VALUES"),
            ("log", true, "INSERT INTO log_2 DEFAULT VALUES"),
            ("log_2", true, "LOCK TABLE ONLY log IN ROW EXCLUSIVE MODE"),
            ("old", true, "INSERT INTO old_1 DEFAULT VALUES"),
        ] {
            writer.run(&format!("BEGIN; {work}"));
            assert_eq!(holds(&mut reader, &pid, table), holding, "{table}: {work}");
            writer.run("COMMIT");
        }
        let mut elsewhere = server.connect_to("copy");
        elsewhere.run("BEGIN; INSERT INTO items VALUES (DEFAULT, 1)");
        let pid = text(&mut elsewhere, "SELECT pg_backend_pid()");
        assert!(!holds(&mut reader, &pid, "items"));
        // A prepared one has no start.
        writer.run("BEGIN; INSERT INTO items VALUES (DEFAULT, 1); PREPARE TRANSACTION 'p'");
        assert!(
            reader.one::<bool>("SELECT uuidv7_settled('items') IS NULL AND uuidv7_horizon('items') IS NULL")
        );
        assert!(reader.one::<bool>("SELECT uuidv7_settled('other') IS NOT NULL"));
        writer.run("COMMIT PREPARED 'p'");
        assert!(reader.one::<bool>("SELECT uuidv7_settled('items') IS NOT NULL"));
        let margin = "SELECT clock_timestamp() - uuidv7_time(uuidv7_horizon('items', '1 hour')) BETWEEN '1 hour' AND '1 hour 5 s'";
        assert!(reader.one::<bool>(margin));
    }

    #[test]
    fn what_it_refuses() {
        let server = start();
        server.run(ITEMS);
        let mut client = server.connect();
        for (query, state) in [
            ("SELECT uuidv7_horizon('items', '-1 s')", "22023"),
            ("SELECT uuidv7_settled('items_view')", "42809"),
            ("SELECT uuidv7_settled('items_pkey')", "42809"),
            ("SELECT uuidv7_settled(1)", "42809"),
            ("SELECT uuidv7_settled(NULL)", "42809"),
            ("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT uuidv7_horizon('items')", "25000"),
            ("BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT uuidv7_horizon('items')", "25000"),
            ("SELECT * FROM uuidv7_feed('none', NULL::items)", "42704"),
            ("SELECT * FROM uuidv7_feed(NULL, NULL::items)", "42704"),
            ("SELECT * FROM uuidv7_feed('f', NULL::other)", "42804"),
            ("SELECT * FROM uuidv7_feed('f', 1)", "42804"),
            ("SELECT * FROM uuidv7_feed('f', NULL::items, 0)", "22023"),
            ("SELECT * FROM uuidv7_feed('f', NULL::items, NULL)", "22023"),
            ("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT uuidv7_feed('f', NULL::items)", "25000"),
            ("BEGIN READ ONLY; SELECT uuidv7_feed('f', NULL::items)", "25006"),
            ("SELECT sno_uuid(-1)", "22003"),
            ("SELECT sno_uuid(256)", "22003"),
        ] {
            client.run("DELETE FROM uuidv7_feeds; INSERT INTO uuidv7_feeds (feed, source, margin) VALUES ('f', 'items', '0');
                INSERT INTO items VALUES (DEFAULT, 1); SELECT pg_sleep(0.01)");
            assert_eq!(code(&mut client, query), state, "{query}");
            let _ = client.batch_execute("ROLLBACK");
        }
        client.run(
            "CREATE TABLE gone (id uuid); INSERT INTO uuidv7_feeds VALUES ('g', 'gone'); DROP TABLE gone",
        );
        assert_eq!(code(&mut client, "SELECT * FROM uuidv7_feed('g', NULL::items)"), "42804");
        // Plans in use notice another number of the server.
        client.run("PREPARE p AS SELECT sno_uuid_server(sno_uuid(1))");
        for (number, state) in [("255", ""), ("256", "22023"), ("-1", "22023")] {
            client.run(&format!("CREATE OR REPLACE FUNCTION sno_uuid_server() RETURNS integer LANGUAGE SQL STABLE RETURN {number}"));
            if state.is_empty() {
                assert_eq!(text(&mut client, "EXECUTE p"), number);
            } else {
                assert_eq!(code(&mut client, "EXECUTE p"), state, "{number}");
            }
        }
        let standby = server.standby();
        assert_eq!(code(&mut standby.connect(), "SELECT uuidv7_horizon('items')"), "25006");
        assert_eq!(code(&mut standby.connect(), "SELECT uuidv7_feed('f', NULL::items)"), "25006");
    }

    /// The numbers of the next rows.
    fn next(client: &mut Client, batch: i32) -> Result<Vec<i32>, String> {
        let rows = client.query(&format!("SELECT n FROM uuidv7_feed('f', NULL::items, {batch})"), &[]);
        let code = |e: sno_tests::postgres::Error| e.code().expect("SQLSTATE").code().to_owned();
        Ok(rows.map_err(code)?.iter().map(|row| row.get(0)).collect())
    }

    #[test]
    fn a_feed_returns_each_row_once_and_in_order() {
        let server = start();
        let mut client = server.connect();
        for default in defaults(&mut client) {
            client.run(&format!(
                "DROP TABLE IF EXISTS items; CREATE TABLE items (id uuid PRIMARY KEY DEFAULT {default}, n integer);
                 DELETE FROM uuidv7_feeds; INSERT INTO uuidv7_feeds (feed, source, margin) VALUES ('f', 'items', '0');
                 INSERT INTO items (n) SELECT generate_series(1, 10); SELECT pg_sleep(0.01)"
            ));
            assert_eq!(next(&mut client, 4), Ok(vec![1, 2, 3, 4]));
            client.run("BEGIN");
            assert_eq!(next(&mut client, 2), Ok(vec![5, 6]));
            assert_eq!(next(&mut client, 2), Ok(vec![7, 8]));
            client.run("ROLLBACK");
            // Who does not wait for a late row, would miss it.
            let mut late = server.connect();
            late.run("BEGIN; INSERT INTO items (n) VALUES (11)");
            client.run(
                "INSERT INTO items (n) VALUES (12); SELECT pg_sleep(0.01); DELETE FROM items WHERE n = 8",
            );
            assert_eq!(next(&mut client, 1000), Ok(vec![5, 6, 7, 9, 10]));
            // Nothing to read: nothing is written.
            client.run("BEGIN");
            assert_eq!(next(&mut client, 1000), Ok(vec![]));
            assert!(client.one::<bool>("SELECT pg_current_xact_id_if_assigned() IS NULL"));
            client.run("COMMIT");
            late.run("COMMIT; BEGIN; INSERT INTO items (n) VALUES (13); PREPARE TRANSACTION 'p'; SELECT pg_sleep(0.01)");
            assert_eq!(next(&mut client, 1000), Ok(vec![]));
            late.run("COMMIT PREPARED 'p'");
            thread::sleep(Duration::from_millis(10));
            assert_eq!(next(&mut client, 1000), Ok(vec![11, 12, 13]));
            // From now on, and from a time on.
            client.run("UPDATE uuidv7_feeds SET position = uuidv7_horizon('items', '0')");
            assert_eq!(next(&mut client, 1000), Ok(vec![]));
            client.run("UPDATE uuidv7_feeds SET position = uuidv7_lower(now() - interval '1 hour')");
            assert_eq!(next(&mut client, 1000).map(|rows| rows.len()), Ok(12));
        }
    }

    /// A statement gets no row that it does not see, so that joins find what was committed with the row.
    #[test]
    fn a_statement_sees_what_its_rows_came_with() {
        let server = start();
        let mut client = server.connect();
        client.run(ITEMS);
        client.run("INSERT INTO uuidv7_feeds (feed, source, margin) VALUES ('f', 'items', '0')");
        // Rows below 0 are committed after the statement began.
        for (size, rows, meantime, expected, then) in [
            (9, &[-1][..], "", "", vec![1]),
            (9, &[1, -2, 3], "", "1 of 1", vec![2, 3]),
            (2, &[1, 2, -3, 4], "", "1 2 of 1 2", vec![3, 4]),
            (9, &[-1, 2, 3], "", "", vec![1, 2, 3]),
            (9, &[1, 2, 3], "DELETE FROM items WHERE n = 2", "1 2 3 of 1 2 3", vec![]),
            (9, &[1, 2], "SELECT count(*) FROM uuidv7_feed('f', NULL::items, 1)", "", vec![2]),
        ] {
            client.run("TRUNCATE items");
            let mut writer = server.connect();
            writer.run("BEGIN");
            for &n in rows {
                let insert = format!("INSERT INTO items VALUES (DEFAULT, {})", i32::abs(n));
                if n < 0 {
                    writer.run(&insert);
                } else {
                    client.run(&insert);
                }
                thread::sleep(Duration::from_millis(8));
            }
            client.run("SELECT pg_advisory_lock(1)");
            let call = format!(
                "SELECT coalesce(string_agg(f.n::text, ' ' ORDER BY f.n) || ' of ' || string_agg(i.n::text, ' ' ORDER BY f.n), '')
                 FROM (SELECT pg_advisory_lock_shared(1)::text AS lock OFFSET 0) wait,
                     LATERAL uuidv7_feed('f', NULL::items, {size} + length(lock)) f LEFT JOIN items i USING (id)"
            );
            let got = crate::meanwhile(
                &server,
                || text(&mut server.connect(), &call),
                || {
                    writer.run("COMMIT");
                    client.run(meantime);
                    thread::sleep(Duration::from_millis(8));
                    client.run("SELECT pg_advisory_unlock_all()");
                },
            );
            assert_eq!((&*got, next(&mut client, 9)), (expected, Ok(then)), "{size} {rows:?} {meantime}");
        }
        // Once in a statement, as what it has read is not in its snapshot.
        client.run("INSERT INTO items VALUES (DEFAULT, 1), (DEFAULT, 2); SELECT pg_sleep(0.01)");
        let one = "SELECT count(*) FROM uuidv7_feed('f', NULL::items, 1)";
        for begin in ["BEGIN", "BEGIN; SAVEPOINT s"] {
            client.run(begin);
            assert_eq!(code(&mut client, &format!("{one} UNION ALL {one}")), "40001");
            client.run("ROLLBACK");
        }
        assert_eq!(next(&mut client, 9), Ok(vec![1, 2]));
    }

    /// Also where no index gives the order.
    #[test]
    fn rows_come_in_the_order_of_their_ids() {
        let server = start();
        let mut client = server.connect();
        client.run(
            "CREATE TABLE items (id uuid, n integer);
             INSERT INTO items SELECT uuidv7_lower('2026-01-01Z'::timestamptz + n * interval '1 s'), n FROM generate_series(9, 1, -1) n;
             INSERT INTO uuidv7_feeds (feed, source, margin) VALUES ('f', 'items', '0')",
        );
        assert_eq!(next(&mut client, 5), Ok(vec![1, 2, 3, 4, 5]));
        assert_eq!(next(&mut client, 5), Ok(vec![6, 7, 8, 9]));
    }

    #[test]
    fn a_feed_refuses_a_clock_before_its_position() {
        let server = super::start(Server::builder().extension(false).faketime(true));
        server.run(ITEMS);
        let mut client = server.connect();
        client.run("INSERT INTO uuidv7_feeds (feed, source, margin) VALUES ('f', 'items', '0'); INSERT INTO items VALUES (DEFAULT, 1)");
        server.advance_clock(1.0);
        assert_eq!(next(&mut client, 9), Ok(vec![1]));
        server.set_clock("-3600");
        assert_eq!(next(&mut client, 9), Err("55000".into()));
        client.run("UPDATE uuidv7_feeds SET position = uuidv7_horizon('items'); INSERT INTO items VALUES (DEFAULT, 2)");
        server.advance_clock(1.0);
        assert_eq!(next(&mut client, 9), Ok(vec![2]));
    }

    #[test]
    fn a_dump_brings_it_back() {
        let server = start();
        server.run(ITEMS);
        server.run(
            "CREATE OR REPLACE FUNCTION sno_uuid_server() RETURNS integer LANGUAGE SQL STABLE RETURN 42;
             ALTER TABLE items ADD CHECK (uuidv7_time(id) > '2020-01-01Z'), ADD COLUMN latest uuid;
             CREATE INDEX ON items (uuidv7_time(id)); CREATE VIEW latest AS SELECT max(id) FROM items;
             INSERT INTO items SELECT FROM generate_series(1, 9); INSERT INTO items VALUES (DEFAULT, 1);
             INSERT INTO uuidv7_feeds (feed, source, margin) VALUES ('f', 'items', '0'); SELECT pg_sleep(0.01)",
        );
        server.run("SELECT FROM uuidv7_feed('f', NULL::items, 9)");
        server.run("CREATE DATABASE restored");
        let dump = server.command("pg_dump").args(["-d", "postgres"]).output().unwrap();
        assert!(dump.status.success(), "{dump:?}");
        let file = server.socket_folder().join("dump.sql");
        std::fs::write(&file, dump.stdout).unwrap();
        give_to_server(&file);
        let output = server
            .command("psql")
            .args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", "restored", "-f"])
            .arg(&file)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let mut client = server.connect_to("restored");
        assert_eq!(next(&mut client, 9), Ok(vec![1]));
        client.run("INSERT INTO items VALUES (DEFAULT, 2); SELECT pg_sleep(0.01); SELECT * FROM latest");
        assert_eq!(next(&mut client, 9), Ok(vec![2]));
        assert_eq!(text(&mut client, "SELECT sno_uuid_server(max(id)) FROM items"), "42");
        none(
            &mut client,
            "SELECT FROM items a JOIN items b ON substr(a.id::text, 20) = substr(b.id::text, 20) AND a.id <> b.id",
        );
    }
}

mod beside {
    use sno_tests::{Server, Sql as _, sql_file};

    use super::{none, start, text};

    /// Each is the other's inverse, field by field, and the bounds are the same.
    #[test]
    fn ids_and_bounds_are_those_of_the_extension() {
        let server = start(Server::builder());
        let mut client = server.connect();
        for number in [0, 7, 42, 255] {
            client.run(&format!(
                "CREATE OR REPLACE FUNCTION sno_uuid_server() RETURNS integer LANGUAGE SQL STABLE RETURN {number};
                 SELECT setval('sno_uuid_counter', 16777216 * 5 + 16777000)"
            ));
            none(
                &mut client,
                &format!(
                    "SELECT * FROM (SELECT n, sno_uuid(n % 256) AS id FROM generate_series(0, 2559) n OFFSET 0) ids,
                         uuidv7_to_sno(id) sno, sno_inspect(sno) i
                     WHERE sno_to_uuidv7(sno) <> id OR i.time <> uuidv7_time(id) OR i.tick_tock
                        OR i.metabyte <> n % 256 OR i.metabyte <> sno_uuid_metabyte(id)
                        OR i.partition >> 8 <> {number} OR i.partition >> 8 <> sno_uuid_server(id)
                        OR (i.partition % 256 << 16) + i.sequence <> (16777001 + n) % 16777216"
                ),
            );
        }
        client.run(
            "CREATE TABLE ids AS
             SELECT sno_make(at, m, p, s, tt) AS sno
             FROM unnest('{2010-01-01Z,2026-11-21 09:30:15.372Z,2079-09-07 15:47:35.548Z}'::timestamptz[]) at,
                 unnest('{0,1,127,128,255}'::integer[]) m, unnest('{0,1,255,256,10759,65535}'::integer[]) p,
                 unnest('{0,65535}'::integer[]) s, unnest('{f,t}'::boolean[]) tt;
             CREATE TABLE times AS
             SELECT at + us * interval '1 us' AS t
             FROM (SELECT DISTINCT sno_time(sno) AS at FROM ids) a, unnest('{-4000,-3999,-1000,-1,0,1,999,1000,3999,4000}'::integer[]) us
             UNION ALL SELECT unnest('{-infinity,infinity}'::timestamptz[])",
        );
        none(
            &mut client,
            "SELECT * FROM ids, sno_to_uuidv7(sno) id
             WHERE uuidv7_time(id) <> sno_time(sno) OR sno_uuid_metabyte(id) <> sno_metabyte(sno)
                OR sno_uuid_server(id) <> sno_partition(sno) >> 8",
        );
        // But for those at which the bounds of sno end.
        none(
            &mut client,
            "SELECT * FROM ids, times, sno_to_uuidv7(sno) id
             WHERE ((id >= uuidv7_lower(t)) <> (sno >= sno_lower(t)) OR (id <= uuidv7_upper(t)) <> (sno <= sno_upper(t)))
               AND sno NOT IN ('2222222222222222', 'xxxxxxxxxxxxxxxx')",
        );
    }

    #[test]
    fn both_live_in_one_schema() {
        for file_first in [true, false] {
            let server = Server::builder().extension(false).start();
            let mut client = server.connect();
            let mut parts =
                [sql_file("uuidv7.sql"), String::from("CREATE EXTENSION sno; CREATE EXTENSION sno_compat")];
            if !file_first {
                parts.reverse();
            }
            for part in &parts {
                client.run(part);
            }
            client.run(&sql_file("uuidv7.sql"));
            let version =
                "SELECT uuidv7_version() = default_version FROM pg_available_extensions WHERE name = 'sno'";
            assert!(client.one::<bool>(version));
            client.run(
                "CREATE TABLE a (id uuid PRIMARY KEY DEFAULT sno_uuid(1)); CREATE TABLE b (id sno PRIMARY KEY DEFAULT sno_new(1));
                 INSERT INTO a DEFAULT VALUES; INSERT INTO b DEFAULT VALUES; SELECT sno_horizon(), uuidv7_horizon('a')",
            );
            for query in [
                "SELECT sno_time('9q7k4op826n2g222')",
                "SELECT sno_lower('2026-01-01Z')",
                "SELECT max(id) FROM a",
                "SELECT max(id) FROM b",
            ] {
                text(&mut client, query);
            }
        }
    }
}
