//! The two forms of a `created_at` that is no column: a function of the row, and a view with `security_invoker`.

use sno_tests::{Server, Sql as _, code, plan, text};

/// Two owners' rows, and a role that may see one of them.
const TABLES: &str = "
    CREATE ROLE app;
    CREATE TABLE notes (id sno PRIMARY KEY DEFAULT sno_new(), owner name, text text);
    INSERT INTO notes (id, owner, text)
        SELECT sno_new(1, now() - n * interval '1 minute'), CASE n % 2 WHEN 0 THEN 'app' ELSE 'other' END, n FROM generate_series(1, 10000) n;
    ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
    CREATE POLICY own ON notes USING (owner = current_user);
    CREATE FUNCTION created_at(notes) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN sno_time($1.id);
    CREATE VIEW notes_by_time WITH (security_invoker) AS SELECT sno_time(id) AS created_at, * FROM notes;
    CREATE VIEW open_notes AS SELECT sno_time(id) AS created_at, * FROM notes;
    GRANT SELECT, INSERT, UPDATE, DELETE ON notes, notes_by_time, open_notes TO app;
    ANALYZE notes";

#[test]
fn a_function_of_the_row_is_a_column_for_queries_that_name_the_table() {
    let server = Server::builder().start();
    server.run(TABLES);
    let mut client = server.connect();
    client.run("SET enable_seqscan = off; SET enable_sort = off");
    for query in [
        "SELECT n.*, n.created_at FROM notes n WHERE n.created_at >= now() - interval '1 hour' ORDER BY n.created_at DESC LIMIT 20",
        "SELECT max(n.created_at) FROM notes n",
        "SELECT * FROM (VALUES (now())) v(at) JOIN notes n ON n.created_at > v.at - interval '1 hour'",
        "UPDATE notes SET text = '' WHERE notes.created_at < now() - interval '6 days' RETURNING notes.created_at",
        "DELETE FROM notes WHERE notes.created_at < now() - interval '6 days'",
        r#"SELECT "public"."notes"."created_at" FROM "public"."notes" WHERE "public"."notes"."created_at" > now() - interval '1 hour'"#,
    ] {
        let plan = plan(&mut client, "COSTS OFF", query);
        assert!(
            // From 18 on, the plan of max() has no condition: a primary key is never null.
            ["Index Cond", "Index Only Scan Backward"].iter().any(|scan| plan.contains(scan))
                && !plan.contains("Filter: (sno_time")
                && !plan.contains("Sort Key"),
            "{query}\n{plan}"
        );
    }
    let grouped = "SELECT count(*) FROM (SELECT n.id, n.text, n.created_at FROM notes n GROUP BY n.id) g";
    assert_eq!(client.one::<i64>(grouped), 10_000);
    let same = "SELECT count(*) FROM notes n WHERE n.created_at = sno_time(id)";
    assert_eq!(client.one::<i64>(same), 10_000);
    // What it can't do.
    assert_eq!(code(&mut client, "SELECT created_at FROM notes"), "42703");
    assert_eq!(client.one::<i64>("SELECT count(x.created_at) FROM (SELECT * FROM notes) x"), 10_000);
    for columns in ["id, owner", "*, 1"] {
        assert_eq!(
            code(&mut client, &format!("SELECT x.created_at FROM (SELECT {columns} FROM notes) x")),
            "42846"
        );
    }
    assert_eq!(code(&mut client, "INSERT INTO notes (created_at) VALUES (now())"), "42703");
    // Columns come and go without it.
    client.run("ALTER TABLE notes ADD COLUMN more text; ALTER TABLE notes DROP COLUMN more");
    client.run("SET ROLE app");
    assert_eq!(client.one::<i64>("SELECT count(n.created_at) FROM notes n"), 5_000);
}

#[test]
fn views_with_security_invoker_have_the_rows_of_the_role() {
    let server = Server::builder().start();
    server.run(TABLES);
    let mut app = server.connect();
    app.run("SET ROLE app");
    for (source, rows) in [("notes", 5_000), ("notes_by_time", 5_000), ("open_notes", 10_000)] {
        assert_eq!(app.one::<i64>(&format!("SELECT count(*) FROM {source}")), rows, "{source}");
        // A feed would count what they hide from the role as read.
        let feed = format!("SELECT sno_create_feed('{source}', '{source}', margin => '0')");
        if rows == 5_000 {
            assert_eq!(code(&mut app, &feed), "42501", "{source}");
            continue;
        }
        app.run(&feed);
        let feed = format!("SELECT count(*) FROM sno_peek_feed('{source}', NULL::{source}, 100000)");
        assert_eq!(text(&mut app, &feed), rows.to_string(), "{source}");
    }
    app.run("SET enable_seqscan = off");
    let query = "SELECT * FROM notes_by_time WHERE created_at >= now() - interval '1 hour' ORDER BY created_at LIMIT 5";
    let plan = plan(&mut app, "COSTS OFF", query);
    assert!(plan.contains("Index Cond: (id >= ") && !plan.contains("Sort"), "{plan}");
    let inserted = "INSERT INTO notes_by_time (owner, text) VALUES ('app', '') RETURNING created_at > now() - interval '1 minute'";
    assert!(app.one::<bool>(inserted));
}
