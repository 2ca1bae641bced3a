//! Every refusal, with its SQLSTATE and what it says.

use sno_tests::{Server, Sql as _, code, error, text};

use super::{SETUP, next_tick, server};
use crate::at_point;

/// Every refusal, with its SQLSTATE and what it says.
#[test]
fn refusals() {
    let server = Server::builder().conf("wal_level", "logical").start();
    let mut client = server.connect();
    client.run(SETUP);
    client.run(
        "CREATE ROLE alice LOGIN; CREATE ROLE bob LOGIN; GRANT CREATE ON SCHEMA public TO alice;
         CREATE TABLE two (a sno, b sno, PRIMARY KEY (a, b)); CREATE VIEW shown AS SELECT * FROM items;
         CREATE TABLE numbers (id integer PRIMARY KEY); CREATE TABLE loose (id sno PRIMARY KEY, other sno);
         CREATE TABLE included (n integer, id sno, PRIMARY KEY (n) INCLUDE (id));
         CREATE TABLE lines (item sno REFERENCES items, line integer, PRIMARY KEY (item, line));
         CREATE TABLE tenants (tenant integer, id sno, PRIMARY KEY (tenant, id));
         CREATE MATERIALIZED VIEW old AS SELECT * FROM items;
         CREATE EXTENSION postgres_fdw; CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw; CREATE FOREIGN TABLE alone (id sno NOT NULL) SERVER far;
         CREATE TABLE log (id sno NOT NULL) PARTITION BY RANGE (id); CREATE INDEX ON log (id);
         CREATE FOREIGN TABLE log_far PARTITION OF log FOR VALUES FROM ('2222222222222222') TO (MAXVALUE) SERVER far;
         CREATE TABLE dropped (LIKE items INCLUDING ALL); SELECT sno_create_feed('dropped', 'dropped'); DROP TABLE dropped;
         CREATE TABLE dropped (LIKE items INCLUDING ALL);
         CREATE TABLE prices (item sno PRIMARY KEY, price integer); SELECT sno_track_changes('prices'); SELECT sno_create_feed('prices', 'prices_changes');
         CREATE VIEW over_changes AS SELECT * FROM prices_changes;
         SELECT sno_create_feed('other', 'items');
         SELECT sno_create_feed(repeat('x', 255), 'items'); SELECT sno_drop_feed(repeat('x', 255))",
    );
    let mut alice = server.connect_as("alice");
    alice.run("CREATE TABLE hers (id sno PRIMARY KEY); SELECT sno_create_feed('hers', 'hers')");
    let refused = |user: &str, sql: &str, code: &str, message: &str| {
        let mut client = server.connect_as(user);
        let error = error(&mut client, sql);
        assert_eq!((error.code().code(), error.message()), (code, message), "{sql}");
        // Nothing has happened, and nothing is held.
        let _ = client.batch_execute("ROLLBACK");
        client.run("SELECT 1");
    };
    let feed = "SELECT * FROM sno_peek_feed('feed', NULL::items)";
    // For each SQLSTATE statements, and what they say.
    let statements = r#"
        25000 BEGIN ISOLATION LEVEL REPEATABLE READ; TABLE feed -> cannot read a feed in a transaction with isolation level REPEATABLE READ
        25000 BEGIN ISOLATION LEVEL SERIALIZABLE; TABLE feed -> cannot read a feed in a transaction with isolation level SERIALIZABLE
        25006 BEGIN READ ONLY; SELECT * FROM sno_feed('feed', NULL::items) -> cannot read a feed in a read-only transaction
        22023 SELECT sno_peek_feed('feed', NULL::items, 0) -> invalid size of a batch: 0
        22004 SELECT sno_peek_feed('feed', NULL::items, NULL) -> size of a batch must not be null
        42704 SELECT sno_peek_feed('none', NULL::items) -> feed "none" does not exist
        22004 SELECT sno_peek_feed(NULL, NULL::items) -> name of a feed must not be null
        42804 SELECT sno_peek_feed('feed', NULL::two) -> feed "feed" returns rows of "public.items", not of "public.two"
        42804 SELECT sno_peek_feed('feed', 1) -> feed "feed" returns rows of "public.items", not of "integer"
        42710 SELECT sno_create_feed('feed', 'items') -> feed "feed" already exists
        42809 CREATE TEMP TABLE passing (id sno PRIMARY KEY); create('passing') -> cannot create a feed of a temporary table: "passing"
        22004 create('items', NULL) -> name, source, start and margin of a feed must not be null
        22004 create('items', margin => NULL) -> name, source, start and margin of a feed must not be null
        22004 create(NULL) -> name, source, start and margin of a feed must not be null
        42622 SELECT sno_create_feed(repeat('ä', 128), 'items') -> name of a feed is too long
        42602 SELECT sno_create_feed('a' || chr(10), 'items') -> name of a feed has a control character
        42602 SELECT sno_create_feed(chr(8238) || 'a', 'items') -> name of a feed has a control character
        22004 SELECT sno_create_feed(NULL, 'items') -> name, source, start and margin of a feed must not be null
        22023 create('items', '2070-01-01Z') -> feed cannot start in the future: "2070-01-01 00:00:00+00"
        22023 create('items', margin => '-1 s') -> margin must not be negative
        22023 SELECT sno_seek_feed('feed') -> either a time or an ID must be given
        22023 SELECT sno_seek_feed('feed', now(), '2222222222222222') -> either a time or an ID must be given
        22023 SELECT sno_seek_feed('feed', 'infinity') -> feed cannot start in the future: "infinity"
        42704 SELECT sno_seek_feed('none', '-infinity') -> feed "none" does not exist
        42704 SELECT sno_drop_feed('none') -> feed "none" does not exist
        42809 create('shown') -> "public.shown" cannot be the source of a feed
        42809 create('shown', key => 'id') -> "public.shown" cannot be the source of a feed
        42809 create('old') -> "public.old" cannot be the source of a feed
        42809 create('alone', key => 'id') -> "public.alone" cannot be the source of a feed
        42809 create('over_changes', key => 'changed') -> "public.over_changes" cannot be the source of a feed
        42809 create('items_pkey', key => 'id') -> "public.items_pkey" cannot be the source of a feed
        42809 create('log', key => 'id') -> feed cannot read foreign rows: "public.log_far"
        25000 BEGIN ISOLATION LEVEL REPEATABLE READ; create('items', now()) -> cannot create a feed that begins at a time in a transaction with isolation level REPEATABLE READ
        0A000 CREATE TABLE t AS SELECT * FROM sno_feed('feed', NULL::items) UNION ALL SELECT * FROM sno_feed('other', NULL::items) -> a statement cannot read two feeds by sno_feed()
        42703 create('two') -> no single key of type sno in "public.two"
        42703 create('two', key => 'c') -> no single key of type sno in "public.two"
        42703 create('prices_changes', key => 'item') -> no single key of type sno in "public.prices_changes"
        42703 create('numbers') -> no single key of type sno in "public.numbers"
        55000 create('loose', key => 'other') -> key "other" of "public.loose" can be null
        42703 create('included') -> no single key of type sno in "public.included"
        42703 create('lines') -> no single key of type sno in "public.lines""#;
    for line in statements.lines().skip(1) {
        let (code, rest) = line.trim().split_once(' ').unwrap();
        let (sql, message) = rest.split_once(" -> ").unwrap();
        let sql = sql.replace("TABLE feed", feed).replace("create(", "SELECT sno_create_feed('x', ");
        refused("postgres", &sql, code, message);
    }
    // A key that begins no index, until one is there.
    let create_tenants = "SELECT sno_create_feed('tenants', 'tenants')";
    for index in
        ["", "ON tenants (id, tenant) WHERE tenant > 0", "ON tenants USING hash (id)", "ON tenants (tenant)"]
    {
        if !index.is_empty() {
            client.run(&format!("CREATE INDEX {index}"));
        }
        refused("postgres", create_tenants, "55000", "no index of \"public.tenants\" begins with \"id\"");
    }
    // One that could not be built to its end.
    client.run("INSERT INTO tenants VALUES (1, '9222222222222222'), (2, '9222222222222222')");
    assert_eq!(code(&mut client, "CREATE UNIQUE INDEX CONCURRENTLY ON tenants (id)"), "23505");
    refused("postgres", create_tenants, "55000", "no index of \"public.tenants\" begins with \"id\"");
    client.run(&format!("CREATE INDEX ON tenants (id, tenant); {create_tenants}"));
    // A foreign key that is named.
    client.run("SELECT sno_create_feed('lines', 'lines', key => 'item')");
    // A domain over a domain is a key as well.
    client.run(
        "CREATE DOMAIN a AS sno; CREATE DOMAIN b AS a; CREATE DOMAIN c AS b NOT NULL;
         CREATE TABLE deep (id c PRIMARY KEY DEFAULT sno_new(1)); INSERT INTO deep DEFAULT VALUES;
         SELECT sno_create_feed('deep', 'deep', margin => '0'); SELECT pg_sleep(0.008)",
    );
    assert_eq!(text(&mut client, "SELECT count(*) FROM sno_peek_feed('deep', NULL::deep)"), "1");
    // A key of another type by now.
    client.run(
        "CREATE TABLE changed (id sno PRIMARY KEY); SELECT sno_create_feed('changed', 'changed', refuse_old_keys => false);
         ALTER TABLE changed ALTER id TYPE uuid USING id::uuid",
    );
    assert_eq!(code(&mut client, "SELECT * FROM sno_peek_feed('changed', NULL::changed)"), "42883");
    // Of one that is compared with IDs: a time is no pointer.
    client.run(
        "CREATE TABLE timed (id sno PRIMARY KEY); SELECT sno_create_feed('timed', 'timed', margin => '0', refuse_old_keys => false);
         INSERT INTO timed VALUES (sno_new()), (sno_new()); SELECT pg_sleep(0.008);
         ALTER TABLE timed ALTER id TYPE timestamptz USING id::timestamptz - random() * interval '1 hour'",
    );
    for call in ["SELECT * FROM sno_peek_feed('timed', NULL::timed, 1)", "CALL sno_wait_feed('timed', '0')"] {
        refused("postgres", call, "42804", "key of the feed's source has another type: \"id\"");
    }
    // Whatever asks for it: one state has one answer.
    let message = "source of feed \"dropped\" does not exist";
    for call in [
        "SELECT sno_peek_feed('dropped', NULL::dropped)",
        "CALL sno_wait_feed('dropped', '0')",
        "CALL sno_wait_read('dropped', sno_upper('infinity'), '0')",
    ] {
        refused("postgres", call, "42P01", message);
    }
    client.run("SELECT sno_drop_feed('dropped')");
    // What belongs to another role.
    refused("bob", "SELECT sno_create_feed('x', 'hers')", "42501", "permission denied for table hers");
    // A horizon for who restores a dump, also where others may not have one.
    let message = "permission denied for table feed_positions";
    refused("bob", "SELECT sno_internal.sno_give_horizon()", "42501", message);
    for call in ["sno_peek_feed('hers', NULL::hers)", "sno_seek_feed('hers', now())", "sno_drop_feed('hers')"]
    {
        refused(
            "bob",
            &format!("SELECT {call}"),
            "42501",
            "must be a member of role \"alice\" to use feed \"hers\"",
        );
    }
    // What a table gets later, or a partitioned table below it.
    client.run(
        "DROP FOREIGN TABLE log_far, alone;
         CREATE TABLE parts (id sno PRIMARY KEY, n integer) PARTITION BY RANGE (id);
         CREATE TABLE part PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (MAXVALUE);
         SELECT sno_create_feed('parts', 'parts');
         CREATE SUBSCRIPTION s CONNECTION 'dbname=none' PUBLICATION p WITH (connect = false);
         INSERT INTO pg_subscription_rel SELECT oid, unnest('{items,part}'::regclass[]), 'r' FROM pg_subscription",
    );
    for (name, source, table) in [("feed", "items", "items"), ("parts", "parts", "part")] {
        let message = format!("feed cannot read subscribed rows: \"public.{table}\"");
        for call in [
            format!("SELECT sno_peek_feed('{name}', NULL::{source})"),
            format!("CALL sno_wait_feed('{name}')"),
        ] {
            refused("postgres", &call, "55000", &message);
        }
        let hint = error(&mut client, &format!("SELECT sno_seek_feed('{name}', now())"));
        assert!(
            hint.hint()
                .unwrap()
                .contains("on the server of these rows, or have sno_track_changes() log them here")
        );
        refused("postgres", &format!("SELECT sno_create_feed('x', '{source}')"), "55000", &message);
    }
    // What the hint says: a log of this server's.
    client.run(
        "SELECT sno_track_changes('items'); SELECT sno_create_feed('changes', 'items_changes', margin => '0');
         INSERT INTO items (n) VALUES (1); SELECT pg_sleep(0.01)",
    );
    assert_eq!(text(&mut client, "SELECT count(*) FROM sno_peek_feed('changes', NULL::items_changes)"), "1");
    client.run("SELECT sno_drop_feed('changes'), sno_untrack_changes('items')");
    // A partitioned table that is subscribed to as one.
    client.run("UPDATE pg_subscription_rel SET srrelid = 'parts'::regclass WHERE srrelid = 'part'::regclass");
    let message = "feed cannot read subscribed rows: \"public.parts\"";
    refused("postgres", "SELECT sno_peek_feed('parts', NULL::parts)", "55000", message);
    refused("postgres", "SELECT sno_create_feed('x', 'parts')", "55000", message);
    client.run("DELETE FROM pg_subscription_rel; ALTER SUBSCRIPTION s DISABLE; ALTER SUBSCRIPTION s SET (slot_name = NONE); DROP SUBSCRIPTION s");
    client.run("ALTER TABLE items RENAME id TO key");
    refused("postgres", feed, "42703", "key \"id\" of feed \"feed\" does not exist");
    // A position that is not before the horizon, as in a dump of a server whose clock was ahead.
    client.run("ALTER TABLE items RENAME key TO id; UPDATE sno_internal.feed_positions SET position = 'xxxxxxxxxxxxxxxx' WHERE feed = 'feed'");
    let error = error(&mut client, feed);
    assert_eq!(error.code().code(), "55000");
    assert!(
        error.message().starts_with(
            "feed \"feed\" was read up to \"xxxxxxxxxxxxxxxx\", which is not before the horizon"
        )
    );
    client.run("SELECT sno_seek_feed('feed', now())");
    client.run(feed);
}

/// The view of changes stays a source as long as it shows all of its log, whatever else it shows; who replaces it by another one is told at the next
/// read, and nothing is forgotten meanwhile.
#[test]
fn a_view_of_changes_that_is_replaced() {
    let server = server();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE other (n integer); SELECT sno_track_changes('items'); SELECT sno_create_feed('changes', 'items_changes', margin => '0');
         INSERT INTO items (n) VALUES (1), (2), (3)",
    );
    next_tick();
    client.run("SELECT sno_advance_feed('changes', min(changed)) FROM items_log");
    let shown = "l.changed, l.id, NULL::items AS record, false AS deleted";
    let peek = "SELECT count(*) FROM sno_peek_feed('changes', NULL::items_changes)";
    for (query, is_source) in [
        ("SELECT SHOWN FROM items_log l WHERE CHECK", true),
        (
            "SELECT SHOWN, 1 AS more, (SELECT count(*) FROM items) AS count FROM ONLY items_log l WHERE CHECK ORDER BY changed",
            true,
        ),
        ("SELECT SHOWN FROM items_log l WHERE CHECK AND changed IS NOT NULL", false),
        ("SELECT SHOWN FROM items_log l WHERE sno_internal.check_changes('items') IS NOT NULL", false),
        ("SELECT SHOWN FROM items_log l", false),
        ("SELECT SHOWN FROM items_log l WHERE CHECK LIMIT 100", false),
        ("SELECT SHOWN FROM items_log l WHERE CHECK OFFSET 0", false),
        ("SELECT SHOWN FROM items_log l WHERE CHECK FOR UPDATE OF l SKIP LOCKED", false),
        ("SELECT DISTINCT SHOWN FROM items_log l WHERE CHECK", false),
        ("SELECT SHOWN FROM items_log l WHERE CHECK GROUP BY l.changed", false),
        (
            "SELECT SHOWN FROM items_log l WHERE CHECK UNION ALL SELECT SHOWN FROM items_log l WHERE CHECK",
            false,
        ),
        ("SELECT SHOWN FROM items_log l TABLESAMPLE SYSTEM (50) WHERE CHECK", false),
        ("SELECT SHOWN FROM (TABLE items_log) l WHERE CHECK", false),
        ("SELECT SHOWN FROM items_log l, other WHERE CHECK", false),
        ("SELECT SHOWN FROM items_log l LEFT JOIN other ON true WHERE CHECK", false),
        ("SELECT SHOWN, generate_series(1, 0) AS n FROM items_log l WHERE CHECK", false),
        (
            "SELECT coalesce(changed) AS changed, l.id, NULL::items AS record, false AS deleted FROM items_log l WHERE CHECK",
            false,
        ),
        (
            "SELECT l.id AS changed, l.id, NULL::items AS record, false AS deleted FROM items_log l WHERE CHECK",
            false,
        ),
        (
            "SELECT l.id AS changed, l.id, l AS record, (SELECT false FROM items_log LIMIT 1) AS deleted FROM items l WHERE CHECK",
            false,
        ),
    ] {
        let query = query.replace("SHOWN", shown).replace("CHECK", "sno_internal.check_changes('items')");
        client.run(&format!("BEGIN; CREATE OR REPLACE VIEW items_changes AS {query}"));
        let readers = "SELECT string_agg(concat(feed, read IS NULL), ' ') FROM sno_readers('items_log')";
        assert_eq!(text(&mut client, readers), if is_source { "changesf" } else { "changest" }, "{query}");
        if is_source {
            assert_eq!(text(&mut client, peek), "2", "{query}");
        } else {
            assert_eq!(code(&mut client, peek), "42809", "{query}");
        }
        client.run("ROLLBACK");
    }
    // The log of another table has other changes.
    client.run(
        "CREATE TABLE more (LIKE items INCLUDING ALL); SELECT sno_track_changes('more');
         CREATE OR REPLACE VIEW items_changes AS SELECT l.changed, l.id, NULL::items AS record, false AS deleted
             FROM more_log l WHERE sno_internal.check_changes('more')",
    );
    assert_eq!(code(&mut client, peek), "42809");
}

/// The same while it is read, by a view whose key is another one when it is computed for the third time, after the comparisons.
#[test]
fn a_view_of_changes_that_is_replaced_while_it_is_read() {
    let server = server();
    let mut client = server.connect();
    client.run(
        "CREATE FUNCTION lying(id sno) RETURNS sno IMMUTABLE LANGUAGE plpgsql AS $$
             BEGIN
                 PERFORM set_config('lying.calls', (current_setting('lying.calls')::integer + 1)::text, false);
                 RETURN CASE WHEN current_setting('lying.calls')::integer % 3 > 0 THEN id
                     ELSE nullif(current_setting('lying.third'), '')::sno END;
             END $$;
         SELECT sno_track_changes('items'); SELECT sno_create_feed('changes', 'items_changes', margin => '0'); INSERT INTO items (n) VALUES (1), (2)",
    );
    next_tick();
    for third in ["", "xxxxxxxxxxxxxxxx", "2222222222222223"] {
        for call in [
            "SELECT FROM sno_peek_feed('changes', NULL::items_changes, 1)",
            "INSERT INTO taken SELECT 1 FROM sno_feed('changes', NULL::items_changes, 1)",
        ] {
            let mut reader = server.connect();
            reader.run(&format!("SET lying.calls = 0; SET lying.third = '{third}'"));
            let read = || code(&mut reader, call);
            let refused = at_point(&server, "source named", read, || {
                client.run(
                    "CREATE OR REPLACE VIEW items_changes AS SELECT lying(l.changed) AS changed, l.id, NULL::items AS record, false AS deleted
                     FROM items_log l WHERE sno_internal.check_changes('items')",
                );
            });
            assert_eq!(refused, "42809", "{third}: {call}");
            client.run("SELECT sno_track_changes('items')");
        }
    }
    let position = "SELECT position IS NULL FROM sno_feeds() WHERE feed = 'changes'";
    assert_eq!(text(&mut client, position), "t");
}
