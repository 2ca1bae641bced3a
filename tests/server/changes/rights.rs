//! Of whom the log, its view and its triggers are, and who may do what.

use sno_tests::{Server, Sql as _, code, error, next_tick, text};

/// Of the owner of the table alone, whoever tracks it: what triggers do as him must be nothing that others choose.
#[test]
fn rights() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE ROLE alice LOGIN; CREATE ROLE bob LOGIN; CREATE ROLE carol LOGIN IN ROLE alice; GRANT CREATE ON SCHEMA public TO PUBLIC;
         CREATE ROLE super LOGIN SUPERUSER; CREATE SCHEMA trap AUTHORIZATION bob",
    );
    let mut bob = server.connect_as("bob");
    bob.run(
        "CREATE FUNCTION trap.trapped(text, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
         CREATE OPERATOR trap.= (FUNCTION = trap.trapped, LEFTARG = text, RIGHTARG = text);
         CREATE OPERATOR trap.<> (FUNCTION = trap.trapped, LEFTARG = text, RIGHTARG = text)",
    );
    for who in ["alice", "carol", "super"] {
        let mut alice = server.connect_as("alice");
        alice.run("CREATE TABLE items (id integer PRIMARY KEY, n integer); GRANT SELECT, INSERT, UPDATE, DELETE, TRIGGER ON items TO bob");
        let mut tracker = server.connect_as(who);
        tracker.run("SELECT sno_track_changes('items')");
        bob.run("INSERT INTO items VALUES (1, 1), (2, 2)");
        next_tick();
        alice.run("DELETE FROM items WHERE id = 2");
        assert_eq!(
            text(
                &mut alice,
                "SELECT string_agg(concat(id, record), ' ' ORDER BY changed) FROM items_changes"
            ),
            "1(1,1) 2 2"
        );
        for sql in [
            "SELECT FROM items_log",
            "INSERT INTO items_log (id) VALUES (1)",
            "SELECT FROM items_changes",
            "SELECT sno_create_feed('bob', 'items_changes')",
            "SELECT sno_forget_changes('items')",
            "SELECT sno_untrack_changes('items')",
            "SELECT sno_track_changes('items')",
        ] {
            assert_eq!(code(&mut bob, sql), "42501", "{sql}");
        }
        // Nor by a trigger that names the log, on a table of his own: values of other types would be cast by his functions, as the log's owner.
        for key in ["integer", "text"] {
            bob.run(&format!(
                "DROP TABLE IF EXISTS own; CREATE TABLE own (id {key} PRIMARY KEY);
                 CREATE TRIGGER own AFTER INSERT ON own FOR EACH ROW WHEN ('items_log'::regclass IS NOT NULL)
                     EXECUTE FUNCTION sno_internal.sno_log_changes()"
            ));
            assert_eq!(code(&mut bob, "INSERT INTO own VALUES ('1')"), "55000", "{key}");
        }
        bob.run("DROP TABLE own");
        // What a trigger of the owner's finds by the path is none of his.
        alice.run(
            "CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM note(); RETURN NULL; END $$;
             CREATE TRIGGER audit AFTER INSERT ON items_log FOR EACH ROW EXECUTE FUNCTION audit()",
        );
        bob.run("CREATE FUNCTION trap.note() RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$; GRANT USAGE ON SCHEMA trap TO PUBLIC; SET search_path = trap, public");
        assert_eq!(code(&mut bob, "UPDATE items SET n = 2"), "42883");
        bob.run("RESET search_path; DROP FUNCTION trap.note()");
        alice.run("DROP TRIGGER audit ON items_log; DROP FUNCTION audit()");
        // Types of the session come before those of the schema.
        let mut other = server.connect_as("bob");
        other.run(
            "CREATE TYPE pg_temp.record AS (n integer, more integer); CREATE TEMP TABLE items_log (id integer);
             UPDATE items SET id = 7 WHERE id = 1",
        );
        assert_eq!(
            text(&mut alice, "SELECT count(*) FROM items_changes WHERE id = 7 OR record IS NULL"),
            "5"
        );
        // Nor do operators of others come before PostgreSQL's.
        other.run("SET search_path = trap, pg_catalog; UPDATE public.items SET n = 2; RESET search_path");
        other.run("DISCARD TEMP");
        let owners = "SELECT string_agg(DISTINCT o::regrole::text, ' ') FROM (
            SELECT relowner FROM pg_class WHERE relname ~ '^items') owners(o)";
        assert_eq!(text(&mut alice, owners), "alice");
        alice.run("GRANT SELECT ON items_changes TO bob");
        bob.run("SELECT sno_create_feed('bob', 'items_changes', margin => '0')");
        next_tick();
        assert_eq!(text(&mut bob, "SELECT count(*) FROM sno_peek_feed('bob', NULL::items_changes)"), "6");
        bob.run("SELECT sno_drop_feed('bob')");
        tracker.run(
            "SELECT sno_track_changes('items'), sno_forget_changes('items'), sno_untrack_changes('items')",
        );
        alice.run("DROP TABLE items");
    }
    // Whoever has a trigger of this name on a table can't have the objects of others replaced or dropped.
    let mut alice = server.connect_as("alice");
    alice.run("CREATE TABLE items (id integer PRIMARY KEY); SELECT sno_track_changes('items')");
    bob.run(
        "CREATE TABLE own (id integer PRIMARY KEY); CREATE TRIGGER sno_log AFTER INSERT ON own FOR EACH ROW
             WHEN ('items_log'::regclass IS NOT NULL) EXECUTE FUNCTION sno_internal.sno_log_changes()",
    );
    for call in ["sno_forget_changes", "sno_untrack_changes"] {
        assert_eq!(code(&mut client, &format!("SELECT {call}('own')")), "55000", "{call}");
    }
    client.run("SELECT sno_track_changes('own'), sno_untrack_changes('own')");
    alice.run("CREATE FUNCTION own_log() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$");
    bob.run(
        "CREATE TABLE own_log (changed sno, id integer, CONSTRAINT sno_log CHECK ('own'::regclass IS NOT NULL));
         CREATE OR REPLACE TRIGGER sno_log AFTER INSERT ON own FOR EACH ROW EXECUTE FUNCTION own_log()",
    );
    for (call, refused) in
        [("sno_track_changes", "42710"), ("sno_forget_changes", "55000"), ("sno_untrack_changes", "55000")]
    {
        assert_eq!(code(&mut client, &format!("SELECT {call}('own')")), refused, "{call}");
    }
    // Nor does a table that another one owns now, or of whose objects another one owns one.
    client.run("ALTER TABLE items OWNER TO bob");
    assert_eq!(code(&mut client, "SELECT sno_track_changes('items')"), "55000");
    client.run("ALTER TABLE items OWNER TO alice");
    for (object, codes) in
        [("TABLE items_log", ["55000"; 3]), ("VIEW items_changes", ["42710", "55000", "2BP01"])]
    {
        client.run(&format!("ALTER {object} OWNER TO bob"));
        let calls = ["sno_track_changes", "sno_forget_changes", "sno_untrack_changes"];
        for (call, refused) in calls.into_iter().zip(codes) {
            assert_eq!(code(&mut client, &format!("SELECT {call}('items')")), refused, "{object}: {call}");
        }
        let read = "GRANT SELECT ON items, items_log TO bob; SELECT FROM items_changes";
        assert_eq!(code(&mut client, read), if object.starts_with("VIEW") { "55000" } else { "42501" });
        client.run(&format!("ALTER {object} OWNER TO alice; REVOKE ALL ON items, items_log FROM bob"));
    }
    // A view of another role that looks like that of the changes is in nobody's way.
    bob.run("CREATE VIEW mine AS SELECT FROM items, items_log WHERE sno_internal.check_changes('items')");
    alice.run("SELECT sno_track_changes('items'), sno_forget_changes('items'); DROP VIEW items_changes");
    assert_eq!(code(&mut alice, "SELECT sno_forget_changes('items')"), "55000");
    alice.run("SELECT sno_track_changes('items'), sno_forget_changes('items')");
    client.run("ALTER TABLE items OWNER TO bob");
    client.run("ALTER TABLE items_log OWNER TO bob; ALTER VIEW items_changes OWNER TO bob");
    bob.run("SELECT sno_track_changes('items'); TRUNCATE items");
}

/// Who may create triggers on a table, and nothing else, does not say what its owner drops, replaces or logs.
#[test]
fn triggers_of_others() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE ROLE alice; CREATE ROLE bob; GRANT CREATE ON SCHEMA public TO alice; GRANT CREATE ON DATABASE postgres TO bob; SET ROLE alice;
         CREATE TABLE items (id integer PRIMARY KEY); SELECT sno_track_changes('items'); CREATE TABLE plain (id integer PRIMARY KEY);
         CREATE TABLE paid (changed sno, id integer NOT NULL); GRANT TRIGGER ON items, plain TO bob",
    );
    for log in ["paid", "items_log"] {
        client.run(&format!(
            "SET ROLE bob; CREATE OR REPLACE TRIGGER sno_log AFTER INSERT ON plain FOR EACH ROW WHEN ('{log}'::regclass IS NOT NULL)
                 EXECUTE FUNCTION sno_internal.sno_log_changes(); SET ROLE alice"
        ));
        for call in ["sno_forget_changes", "sno_untrack_changes"] {
            let error = error(&mut client, &format!("SELECT {call}('plain')"));
            assert_eq!(error.message(), "changes of \"public.plain\" are not tracked", "{log}");
        }
        client.run("SELECT sno_track_changes('plain'); INSERT INTO plain VALUES (1); DELETE FROM plain");
        assert_eq!(text(&mut client, "SELECT count(*) FROM plain_log"), "2", "{log}");
        client.run("SELECT sno_untrack_changes('plain')");
    }
    // Also one that names a log of its own, which names the table.
    client.run("SELECT sno_track_changes('plain'); SET ROLE bob; CREATE SCHEMA bobs");
    client.run(
        "CREATE TABLE bobs.log (changed sno, id integer, CONSTRAINT sno_log CHECK ('plain'::regclass IS NOT NULL));
         CREATE OR REPLACE TRIGGER sno_log AFTER INSERT ON plain FOR EACH ROW WHEN ('bobs.log'::regclass IS NOT NULL)
             EXECUTE FUNCTION sno_internal.sno_log_changes(); SET ROLE alice",
    );
    assert_eq!(code(&mut client, "SELECT FROM plain_changes"), "55000");
    client.run("SELECT sno_track_changes('plain'); INSERT INTO plain VALUES (2); SELECT FROM plain_changes");
    for trigger in ["sno_log", "sno_log_truncate"] {
        client.run(&format!("DROP TRIGGER {trigger} ON plain"));
        assert_eq!(code(&mut client, "SELECT FROM plain_changes"), "55000", "{trigger}");
        client.run("SELECT sno_track_changes('plain'); SELECT FROM plain_changes");
    }
    client.run("DROP TRIGGER sno_log ON plain; SELECT sno_untrack_changes('plain')");
    // A copy of the log is not the log, also when the changes are not tracked any more, or somebody's trigger names it.
    client.run(
        "SELECT sno_track_changes('plain'); CREATE TABLE kept (LIKE plain_log INCLUDING ALL); SET ROLE bob;
         CREATE OR REPLACE TRIGGER sno_log AFTER INSERT ON plain FOR EACH ROW WHEN ('kept'::regclass IS NOT NULL)
             EXECUTE FUNCTION sno_internal.sno_log_changes(); SET ROLE alice; SELECT sno_untrack_changes('plain')",
    );
    assert_eq!(
        error(&mut client, "SELECT sno_untrack_changes('plain')").message(),
        "changes of \"public.plain\" are not tracked"
    );
    client.run("SELECT sno_track_changes('plain'); INSERT INTO plain VALUES (3); SELECT sno_untrack_changes('plain'); TABLE kept");
    // What was replaced is reported, and put in order.
    for (of, when) in
        [("sno_log", "AFTER INSERT ON items FOR EACH ROW"), ("sno_log_truncate", "BEFORE TRUNCATE ON items")]
    {
        client.run(&format!(
            "SET ROLE bob; CREATE OR REPLACE TRIGGER {of} {when} WHEN (false AND 'items_log'::regclass IS NOT NULL)
                 EXECUTE FUNCTION sno_internal.sno_log_changes(); SET ROLE alice"
        ));
        assert_eq!(code(&mut client, "SELECT FROM items_changes"), "55000", "{of}");
        client.run("SELECT sno_track_changes('items'); DELETE FROM items_log; INSERT INTO items VALUES (1); TRUNCATE items");
        assert_eq!(text(&mut client, "SELECT count(*) FROM items_changes"), "2", "{of}");
    }
}

/// What policies hide from the reader of a view would look deleted.
#[test]
fn a_view_with_the_rights_of_its_reader() {
    let server = super::server();
    let mut client = server.connect();
    client.run("ALTER VIEW items_changes SET (security_invoker); UPDATE items SET n = n; SELECT FROM items_changes; ALTER TABLE items ENABLE ROW LEVEL SECURITY");
    let error = sno_tests::error(&mut client, "SELECT FROM items_changes");
    assert_eq!(
        (error.code().code(), error.hint()),
        ("55000", Some("ALTER VIEW public.items_changes RESET (security_invoker)"))
    );
    client.run(error.hint().unwrap());
    client.run("SELECT FROM items_changes");
}

/// What the owner of a table, of a partition or a former owner cannot do with the rights of the log's owner.
#[test]
fn what_belongs_to_others() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE ROLE alice LOGIN; CREATE ROLE bob LOGIN; GRANT CREATE ON SCHEMA public TO alice, bob;
         CREATE TABLE given (id integer PRIMARY KEY, x integer); SELECT sno_track_changes('given'); ALTER TABLE given OWNER TO bob;
         CREATE TABLE parts (id integer PRIMARY KEY, x integer) PARTITION BY RANGE (id);
         CREATE TABLE part PARTITION OF parts FOR VALUES FROM (0) TO (9); SELECT sno_track_changes('parts'); ALTER TABLE part OWNER TO bob;
         CREATE TABLE other (id integer PRIMARY KEY); SELECT sno_track_changes('other')",
    );
    // Planning a query of a table runs the functions in its indexes.
    let mut bob = server.connect_as("bob");
    bob.run(
        "CREATE TABLE ran (role name);
         CREATE FUNCTION note() RETURNS integer LANGUAGE plpgsql AS 'BEGIN INSERT INTO public.ran VALUES (current_user); RETURN 1; END';
         CREATE FUNCTION trap(integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN public.note(); END';
         INSERT INTO given VALUES (1, 1); INSERT INTO part VALUES (1, 1);
         CREATE INDEX ON given ((trap(1) + x)); CREATE INDEX ON part ((trap(1) + x)); DELETE FROM ran",
    );
    for table in ["given", "part"] {
        assert_eq!(code(&mut bob, &format!("TRUNCATE {table}")), "42501", "{table}");
    }
    assert_eq!(text(&mut client, "SELECT count(*) FROM ran WHERE role <> 'bob'"), "0");
    // The log of another table of the same owner.
    bob.run(
        "CREATE TRIGGER other AFTER INSERT ON part FOR EACH ROW WHEN ('other_log'::regclass IS NOT NULL)
             EXECUTE FUNCTION sno_internal.sno_log_changes()",
    );
    assert_eq!(code(&mut bob, "INSERT INTO part VALUES (2, 2)"), "55000");
    // A rule, or a view of its name, would do more than to write the log.
    client.run("CREATE RULE more AS ON INSERT TO other_log DO ALSO INSERT INTO ran VALUES ('rule')");
    assert_eq!(code(&mut client, "INSERT INTO other VALUES (1)"), "55000");
    client.run("DROP RULE more ON other_log; INSERT INTO other VALUES (1)");
    // A copy of a log is none, and nothing is cleared there.
    client.run("CREATE TABLE archive (LIKE other_log INCLUDING ALL)");
    let logs = "SELECT concat((SELECT count(*) FROM sno_internal.log_read('archive')), (SELECT log FROM sno_internal.log_read('other_changes')))";
    assert_eq!(text(&mut client, logs), "0other_log");
    // Nor is what a trigger of one's own writes.
    client.run(
        "CREATE FUNCTION own() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
         CREATE OR REPLACE TRIGGER sno_log AFTER INSERT ON other FOR EACH ROW WHEN ('other_log'::regclass IS NOT NULL) EXECUTE FUNCTION own()",
    );
    assert_eq!(text(&mut client, logs), "0");
}

/// Who has a feed of changes of their own can have their view name any table, or look like that of its changes: that keeps none of its rows.
#[test]
fn views_of_others_keep_no_rows() {
    let server = Server::builder().start();
    server.run(
        "CREATE ROLE alice LOGIN; CREATE ROLE mallory LOGIN; CREATE SCHEMA alice AUTHORIZATION alice; CREATE SCHEMA mallory AUTHORIZATION mallory;
         GRANT USAGE ON SCHEMA alice TO mallory",
    );
    let (mut alice, mut mallory) = (server.connect_as("alice"), server.connect_as("mallory"));
    alice.run(
        "CREATE TABLE events (id public.sno PRIMARY KEY DEFAULT public.sno_new()); CREATE TABLE items (id integer PRIMARY KEY);
         SELECT sno_track_changes('items'); SELECT sno_create_feed('feed', 'events', margin => '0'), sno_create_feed('feed of items', 'items_changes');
         INSERT INTO events DEFAULT VALUES",
    );
    next_tick();
    alice.run("BEGIN; CREATE TEMP TABLE done AS SELECT * FROM sno_feed('feed', NULL::events); COMMIT");
    mallory.run("CREATE TABLE items (id integer PRIMARY KEY); SELECT sno_track_changes('items'); SELECT sno_create_feed('feed', 'items_changes')");
    let readers = "SELECT string_agg(owner, ' ') FROM sno_readers('TABLE')";
    let shown = "NULL::items AS record, true AS deleted";
    for (table, view) in [
        ("events", format!("SELECT id AS changed, 1 AS id, {shown} FROM alice.events")),
        (
            "items_log",
            format!(
                "SELECT l.changed, l.id, {shown} FROM alice.items_log l WHERE sno_internal.check_changes('alice.items')"
            ),
        ),
    ] {
        mallory.run(&format!("CREATE OR REPLACE VIEW items_changes AS {view}"));
        assert_eq!(text(&mut alice, &readers.replace("TABLE", table)), "alice", "{table}");
    }
    assert!(alice.one::<bool>("SELECT sno_read_by_all('events') >= max(id) FROM events"));
    // Nor can one that looks like it have a feed, which would miss what the owner's feeds have cleared.
    alice.run("GRANT SELECT ON items_log TO mallory");
    mallory.run(
        "CREATE VIEW same AS SELECT l.changed, l.id, NULL::alice.items AS record, true AS deleted FROM alice.items_log l
             WHERE sno_internal.check_changes('alice.items')",
    );
    let refused = error(&mut mallory, "SELECT sno_create_feed('other', 'same')");
    assert_eq!(
        (refused.code().code(), refused.message()),
        ("55000", "view \"mallory.same\" is of another owner than the log \"alice.items_log\"")
    );
}
