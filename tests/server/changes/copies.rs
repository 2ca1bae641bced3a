//! What a copy that follows the changes of a table has in the end, whatever was done to the table, and what is not seen.

use sno_tests::{Server, Sql as _, code, error, major_version, skip, text};

use super::{Copy, ITEMS, server};

/// All ways to change rows, each from ten rows that are in the copy.
#[test]
fn a_copy_has_in_the_end_what_the_table_has() {
    let server = server();
    let mut client = server.connect();
    client.run(
        "CREATE ROLE writer; GRANT SELECT, INSERT, UPDATE, DELETE ON items TO writer;
         CREATE TABLE lines (item integer PRIMARY KEY REFERENCES items ON DELETE CASCADE ON UPDATE CASCADE, n integer);
         SELECT sno_track_changes('lines'); SELECT sno_create_feed('lines', 'lines_changes', margin => '0');
         CREATE TABLE copy_of_lines (LIKE lines)",
    );
    let lines = Copy { feed: "lines", changes: "lines_changes", copy: "copy_of_lines", key: "item" };
    for sql in [
        "UPDATE items SET n = n + 1 WHERE id > 5",
        // No value but its key: not a deleted row.
        "UPDATE items SET n = NULL WHERE id = 3",
        "DELETE FROM items WHERE id > 5",
        // Of a key: to another, in a circle, away and back.
        "UPDATE items SET id = 20 WHERE id = 1",
        "UPDATE items SET id = -id; UPDATE items SET id = 11 + id",
        "BEGIN; DELETE FROM items WHERE id = 1; INSERT INTO items VALUES (1, 100); COMMIT",
        "BEGIN; INSERT INTO items VALUES (11, 1); DELETE FROM items WHERE id = 11; COMMIT",
        "INSERT INTO items VALUES (10, 0), (11, 0) ON CONFLICT (id) DO UPDATE SET n = EXCLUDED.n",
        "INSERT INTO items VALUES (10, 0), (11, 0) ON CONFLICT DO NOTHING",
        "MERGE INTO items USING (VALUES (1), (2), (11)) s(id) ON items.id = s.id WHEN MATCHED AND s.id = 1 THEN DELETE
             WHEN MATCHED THEN UPDATE SET n = 0 WHEN NOT MATCHED THEN INSERT VALUES (s.id, 0)",
        "COPY items FROM PROGRAM 'printf \"11\\t1\\n12\\t2\\n\"'",
        "WITH gone AS (DELETE FROM items WHERE id < 5 RETURNING *) INSERT INTO items SELECT id + 100, n FROM gone",
        "BEGIN; SAVEPOINT s; UPDATE items SET n = 0; ROLLBACK TO s; DELETE FROM items WHERE id = 1; COMMIT",
        "DO $$ BEGIN UPDATE items SET n = 0; RAISE 'x'; EXCEPTION WHEN OTHERS THEN DELETE FROM items WHERE id = 1; END $$",
        "BEGIN; DELETE FROM items; ROLLBACK",
        "BEGIN; DELETE FROM items WHERE id < 5; PREPARE TRANSACTION 'p'; COMMIT PREPARED 'p'",
        "TRUNCATE items CASCADE",
        "BEGIN; TRUNCATE items CASCADE; INSERT INTO items VALUES (1, 0), (11, 0); COMMIT",
        "TRUNCATE items, lines",
        // By a role without rights on the log, where rows are hidden from it.
        "ALTER TABLE items ENABLE ROW LEVEL SECURITY; CREATE POLICY even ON items USING (n % 2 = 0) WITH CHECK (true);
         SET ROLE writer; INSERT INTO items VALUES (11, 1); UPDATE items SET n = n + 2; DELETE FROM items WHERE id = 2; RESET ROLE;
         DROP POLICY even ON items; ALTER TABLE items DISABLE ROW LEVEL SECURITY",
        // As replication and loaders do.
        "SET session_replication_role = replica; INSERT INTO items VALUES (11, 1); UPDATE items SET n = 0 WHERE id = 1;
         DELETE FROM items WHERE id = 2; RESET session_replication_role",
        "SET session_replication_role = replica; TRUNCATE items CASCADE; RESET session_replication_role",
        // What changes no value.
        "UPDATE items SET n = n; VACUUM FULL items; CLUSTER items USING items_pkey; REINDEX TABLE items",
        "ALTER TABLE items ADD more text DEFAULT 'x'; ALTER TABLE items DROP more",
        "ALTER TABLE items RENAME TO things; UPDATE things SET n = 0 WHERE id = 1; TRUNCATE things CASCADE; ALTER TABLE things RENAME TO items",
    ] {
        client.run(
            "DELETE FROM lines; DELETE FROM items; INSERT INTO items SELECT n, n FROM generate_series(1, 10) n;
             INSERT INTO lines SELECT n, n FROM generate_series(1, 10) n",
        );
        ITEMS.check(&mut client, "ten rows");
        lines.check(&mut client, "ten lines");
        // One after the other: some can't be in a transaction.
        for statement in sql.split_inclusive(';').collect::<Statements>().0 {
            client.run(&statement);
        }
        ITEMS.check(&mut client, sql);
        lines.check(&mut client, sql);
    }
}

/// Statements, where one between $$ has semicolons of its own.
#[derive(Default)]
struct Statements(Vec<String>);

impl<'a> FromIterator<&'a str> for Statements {
    fn from_iter<T: IntoIterator<Item = &'a str>>(parts: T) -> Self {
        let mut statements = Self::default();
        for part in parts {
            match statements.0.last_mut() {
                Some(last) if last.matches("$$").count() % 2 == 1 => last.push_str(part),
                _ => statements.0.push(part.to_owned()),
            }
        }
        statements
    }
}

/// What is seen of rows that change without triggers, and how the copy gets right again.
#[test]
fn what_is_not_seen() {
    let server = server();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE parts (id integer PRIMARY KEY, n integer) PARTITION BY RANGE (id);
         CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (10);
         INSERT INTO parts VALUES (9, 9); SELECT sno_track_changes('parts'); SELECT sno_create_feed('parts', 'parts_changes', margin => '0');
         CREATE TABLE copy_of_parts (n integer, id integer)",
    );
    // Rows from before are none of its business.
    assert_eq!(text(&mut client, "SELECT count(*) FROM parts_log"), "0");
    client.run("DELETE FROM parts");
    client.run("DROP TABLE copy_of_parts; CREATE TABLE copy_of_parts (LIKE parts)");
    let parts = Copy { feed: "parts", changes: "parts_changes", copy: "copy_of_parts", key: "id" };
    // Partitions themselves are right, also those that come later, with their columns in another order, and rows that move.
    client.run(
        "INSERT INTO parts_1 SELECT n, n FROM generate_series(0, 9) n; UPDATE parts_1 SET n = 0 WHERE id = 1; DELETE FROM parts_1 WHERE id = 2;
         CREATE TABLE parts_2 (n integer, id integer NOT NULL); ALTER TABLE parts ATTACH PARTITION parts_2 FOR VALUES FROM (10) TO (20);
         CREATE TABLE parts_3 PARTITION OF parts FOR VALUES FROM (20) TO (30);
         INSERT INTO parts_2 (id, n) VALUES (10, 1), (11, 1); INSERT INTO parts VALUES (20, 1), (22, 1); DELETE FROM parts_3 WHERE id = 20;
         UPDATE parts SET id = id + 10 WHERE id IN (11, 5);
         SET session_replication_role = replica; UPDATE parts_2 SET n = 7; UPDATE parts_3 SET n = 7; RESET session_replication_role",
    );
    parts.check(&mut client, "changes of partitions");
    client.run("TRUNCATE parts");
    parts.check(&mut client, "TRUNCATE");

    client.run("INSERT INTO parts SELECT n, n FROM generate_series(0, 29) n");
    parts.check(&mut client, "thirty rows");
    // From here on the log knows all of them.
    client.run("SELECT sno_forget_changes('parts'); TRUNCATE parts_1, parts_3");
    parts.check(&mut client, "TRUNCATE of partitions");
    client.run("INSERT INTO parts SELECT n, n FROM generate_series(20, 29) n");
    let read = "SELECT FROM sno_peek_feed('parts', NULL::parts_changes)";
    for (sql, known) in [
        ("ALTER TABLE parts DETACH PARTITION parts_2", "parts_2"),
        ("ALTER TABLE parts ATTACH PARTITION parts_2 FOR VALUES FROM (10) TO (20)", "parts_1"),
        ("ALTER TABLE parts DETACH PARTITION parts_3", "parts_3"),
    ] {
        client.run(sql);
        assert_eq!(code(&mut client, read), "55000", "{sql}");
        assert_eq!(code(&mut client, "SELECT FROM parts_changes"), "55000", "{sql}");
        assert_eq!(code(&mut client, &format!("DROP TABLE {known}")), "2BP01", "{sql}");
        client.run("SELECT sno_track_changes('parts')");
        parts.check(&mut client, sql);
    }
    client.run("DROP TABLE parts_3");
    parts.check(&mut client, "DROP of a partition that was detached");
    client.run(
        "DROP TABLE parts_2 CASCADE; CREATE TABLE parts_4 PARTITION OF parts FOR VALUES FROM (40) TO (50)",
    );
    assert_eq!(code(&mut client, read), "55000");
    assert_eq!(code(&mut client, "SELECT sno_forget_changes('parts')"), "55000");
    client.run("SELECT sno_track_changes('parts'); DELETE FROM copy_of_parts WHERE id BETWEEN 10 AND 19; INSERT INTO parts VALUES (1, 1)");
    parts.check(&mut client, "DROP with CASCADE");
    client.run("DELETE FROM parts");

    let all = "INSERT INTO items_log (id) SELECT id FROM items";
    for sql in [
        "ALTER TABLE items ALTER n TYPE bigint USING n + 1",
        "ALTER TABLE items ADD more integer DEFAULT 1; ALTER TABLE copy ADD more integer",
    ] {
        client.run(sql);
        ITEMS.follow(&mut client);
        assert_eq!(ITEMS.wrong(&mut client), (10, 10), "{sql}");
        client.run(all);
        ITEMS.check(&mut client, sql);
    }
    // As pg_restore --disable-triggers does it, which also takes "always" away.
    let read = "SELECT FROM sno_peek_feed('search', NULL::items_changes)";
    for state in ["DISABLE TRIGGER ALL", "ENABLE TRIGGER ALL", "DISABLE TRIGGER sno_log_truncate"] {
        client.run(&format!("ALTER TABLE items {state}; UPDATE items SET n = n + 1 WHERE id = 1"));
        assert_eq!(code(&mut client, read), "55000", "{state}");
        client.run("SELECT sno_track_changes('items')");
        client.run(all);
        client.run("SET session_replication_role = replica; UPDATE items SET n = n + 1 WHERE id = 2; RESET session_replication_role");
        ITEMS.check(&mut client, state);
    }
    for (trigger, state) in [
        ("sno_follow_ddl", "DISABLE"),
        ("sno_follow_rewrites", "DISABLE"),
        ("sno_follow_ddl", "ENABLE REPLICA"),
    ] {
        client.run(&format!("ALTER EVENT TRIGGER {trigger} {state}"));
        assert_eq!(code(&mut client, read), "55000", "{trigger} {state}");
        client.run(&format!(
            "ALTER EVENT TRIGGER {trigger} ENABLE ALWAYS; {}",
            read.replace("SELECT", "SELECT *")
        ));
    }
    client.run("ALTER TABLE parts DISABLE TRIGGER ALL; SELECT sno_track_changes('parts')");
    client.run("SET session_replication_role = replica; INSERT INTO parts_1 VALUES (1, 1); RESET session_replication_role");
    parts.check(&mut client, "triggers of partitions that are enabled again");
    for table in ["parts_1", "parts_log"] {
        client.run(&format!("ALTER TABLE {table} SET UNLOGGED"));
        assert_eq!(code(&mut client, "SELECT FROM parts_changes"), "55000", "{table}");
        client.run(&format!("ALTER TABLE {table} SET LOGGED"));
    }
    client.run("DROP TRIGGER sno_log_truncate ON parts_1");
    let error = error(&mut client, "SELECT FROM parts_changes");
    assert!(
        error
            .detail()
            .unwrap()
            .starts_with("Trigger \"sno_log_truncate\" of \"public.parts_1\" was disabled or dropped")
    );
    client.run("SELECT sno_track_changes('parts'); TRUNCATE parts_1");
    parts.check(&mut client, "the trigger of a partition that was dropped");
}

/// Partitions of a partition, which upkeep creates and detaches for the owner of a table that a superuser has tracked.
#[test]
fn partitions_of_partitions() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run("CREATE ROLE alice LOGIN; GRANT CREATE ON SCHEMA public TO alice");
    let mut alice = server.connect_as("alice");
    // Not because event triggers see to it.
    let mut alone = |sql: &str| {
        server.run("ALTER EVENT TRIGGER sno_follow_ddl DISABLE");
        alice.run(sql);
        server.run("ALTER EVENT TRIGGER sno_follow_ddl ENABLE ALWAYS");
    };
    alone(
        "CREATE TABLE logs (kind integer, id sno, n integer, PRIMARY KEY (kind, id)) PARTITION BY LIST (kind);
         CREATE TABLE logs_1 PARTITION OF logs FOR VALUES IN (1) PARTITION BY RANGE (id)",
    );
    client.run(
        "SELECT sno_track_changes('logs'); SELECT sno_create_feed('logs', 'logs_changes', key => 'changed', margin => '0');
         CREATE TABLE copy_of_logs (LIKE logs)",
    );
    let logs = Copy { feed: "logs", changes: "logs_changes", copy: "copy_of_logs", key: "kind, id" };
    alone(
        "SELECT sno_create_partitions('logs_1', '1 day', '2026-01-01Z', '2026-01-04Z');
         INSERT INTO logs SELECT 1, sno_make('2026-01-01 12:00Z'::timestamptz + n * interval '1 day', 1, 1, 1), n FROM generate_series(0, 2) n",
    );
    logs.check(&mut client, "partitions that were created");
    alone("TRUNCATE logs_1_20260101");
    logs.check(&mut client, "TRUNCATE");
    alone("SELECT sno_expire_partitions('logs_1', '2026-01-03Z')");
    logs.check(&mut client, "partitions that were detached");
    // They are tables of their own now.
    let changes = "SELECT count(*) FROM logs_log";
    let before: i64 = client.one(changes);
    alone("TRUNCATE logs_1_20260102");
    assert_eq!(client.one::<i64>(changes), before);
    // The row that is left is logged once.
    alone("TRUNCATE logs");
    assert_eq!(client.one::<i64>(changes), before + 1);
    client.run("SELECT sno_drop_feed('logs')");
    alone("SELECT sno_untrack_changes('logs'); TRUNCATE logs");
}

/// A partition that has left has its own log, or none; triggers that are disabled on a partition are noticed; an old snapshot is refused.
#[test]
fn partitions_that_leave() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE parts (id integer PRIMARY KEY, n integer) PARTITION BY RANGE (id);
         CREATE TABLE part PARTITION OF parts FOR VALUES FROM (0) TO (9); CREATE TABLE other PARTITION OF parts FOR VALUES FROM (9) TO (19);
         SELECT sno_track_changes('parts'); INSERT INTO parts VALUES (1, 1), (11, 1);
         ALTER TABLE parts DETACH PARTITION part; SELECT sno_track_changes('part'), sno_track_changes('parts'); TRUNCATE part",
    );
    assert_eq!(text(&mut client, "SELECT string_agg(id::text, ' ') FROM part_log"), "1");
    client.run("SELECT sno_untrack_changes('parts'), sno_track_changes('parts')");
    for trigger in ["sno_log", "sno_log_truncate", "ALL"] {
        client.run(&format!(
            "ALTER TABLE other DISABLE TRIGGER {trigger}; ALTER TABLE other ENABLE TRIGGER {trigger}"
        ));
        assert_eq!(code(&mut client, "SELECT FROM parts_changes"), "55000", "{trigger}");
        client.run("SELECT sno_track_changes('parts'); SELECT FROM parts_changes");
    }
    // The last one goes.
    client.run("DROP TABLE other CASCADE");
    let detail = error(&mut client, "SELECT FROM parts_changes").detail().map(str::to_owned);
    assert_eq!(
        detail.as_deref(),
        Some("Partitions were dropped with CASCADE, so that their rows are not logged as deleted.")
    );
    client.run("SELECT sno_track_changes('parts'); SELECT FROM parts_changes");
    client.run("CREATE TABLE late (id integer PRIMARY KEY, n integer); INSERT INTO late VALUES (21, 1)");
    client.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT; ALTER TABLE parts ATTACH PARTITION late FOR VALUES FROM (20) TO (29)");
    assert_eq!(code(&mut client, "SELECT sno_track_changes('parts')"), "25000");
    client.run("ROLLBACK");
}

/// Its rows have the key of the table in the log.
#[test]
fn a_partition_with_another_primary_key() {
    let server = Server::builder().start();
    let mut client = server.connect();
    if major_version(&mut client) > 15 {
        return skip("such a partition is not attached");
    }
    client.run(
        "CREATE TABLE parts (a integer, b integer, PRIMARY KEY (a, b)) PARTITION BY RANGE (a);
         CREATE TABLE part (b integer NOT NULL, a integer NOT NULL, PRIMARY KEY (b), UNIQUE (a, b));
         ALTER TABLE parts ATTACH PARTITION part FOR VALUES FROM (0) TO (9); SELECT sno_track_changes('parts');
         INSERT INTO parts VALUES (1, 2); TRUNCATE part; INSERT INTO part (a, b) VALUES (3, 4); TRUNCATE parts",
    );
    assert_eq!(
        text(&mut client, "SELECT string_agg(format('%s %s', a, b), ', ' ORDER BY changed) FROM parts_log"),
        "1 2, 1 2, 3 4, 3 4"
    );
}
