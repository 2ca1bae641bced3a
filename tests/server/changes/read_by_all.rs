//! What all feeds have read: changes in the log, rows of a table, partitions.

use sno_tests::postgres::Client;
use sno_tests::{Server, Sql as _, code, error, next_tick, stored, text, wait_until};

use super::{ITEMS, ddl::told, server};

/// What all feeds have read, and nothing else, is deleted from the log.
#[test]
fn the_log_is_cleared() {
    let server = server();
    let mut client = server.connect();
    let forget = "SELECT sno_forget_changes('items')";
    client.run("SELECT sno_drop_feed('search'); UPDATE items SET n = n");
    assert_eq!(client.one::<i64>(forget), 0, "without a feed");
    client.run("SELECT sno_create_feed('search', 'items_changes', margin => '0')");
    client.run("SELECT sno_create_feed('other', 'items_changes', margin => '0')");
    ITEMS.check(&mut client, "one feed");
    assert_eq!(client.one::<i64>(forget), 0, "one feed has read nothing");
    client.run(&stored("SELECT sno_feed('other', NULL::items_changes)"));
    client.run("UPDATE items SET n = n WHERE id > 5");
    ITEMS.check(&mut client, "the other one");
    assert_eq!(client.one::<i64>(forget), 10);
    assert_eq!(client.one::<i64>("SELECT count(*) FROM items_log"), 5);
    // Up to the very change that was read last, if there are more.
    let last = ["'search', NULL::items_changes, 2", "'other', NULL::items_changes"]
        .map(|feed| stored(&format!("SELECT sno_feed({feed})")));
    client.run("UPDATE items SET n = n WHERE id IN (2, 4, 6)");
    next_tick();
    client.run(&last.join(";"));
    assert_eq!(client.one::<i64>(forget), 7);
    ITEMS.check(&mut client, "the rest");
    assert_eq!(client.one::<i64>(forget), 1);
    client.run("UPDATE items SET n = n WHERE id > 5");
    ITEMS.check(&mut client, "the other one again");
    // A consumer that has not committed has read nothing.
    let mut consumer = server.connect();
    consumer.run(&format!("BEGIN; {}", stored("SELECT sno_feed('other', NULL::items_changes)")));
    assert_eq!(client.one::<i64>(forget), 0);
    consumer.run("ROLLBACK");
    assert_eq!(client.take::<i64>("SELECT count(*) FROM sno_feed('other', NULL::items_changes)"), 5);
    assert_eq!(client.one::<i64>(forget), 5);
}

/// Up to where the rows of a table can be deleted: never beyond a feed that reads them, whatever it reads them by.
#[test]
fn what_all_feeds_have_read() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE outbox (id sno PRIMARY KEY DEFAULT sno_new(1), n integer, item sno NOT NULL DEFAULT sno_new(2), UNIQUE (item));
         CREATE TABLE other (id sno PRIMARY KEY DEFAULT sno_new(1), n integer); CREATE TABLE without (n integer);
         INSERT INTO outbox (n) SELECT generate_series(1, 10); INSERT INTO other (n) SELECT generate_series(1, 10)",
    );
    next_tick();
    let read = "SELECT count(*) FROM outbox WHERE id <= sno_read_by_all('outbox')";
    assert_eq!(client.one::<i64>(read), 0, "no feed");
    client.run("SELECT sno_create_feed('all', 'outbox', margin => '0'), sno_create_feed('other', 'other', margin => '0')");
    assert_eq!(client.one::<i64>(read), 0, "a feed that has read nothing");
    client.run(&stored("SELECT sno_feed('all', NULL::outbox, 4)"));
    assert_eq!(client.one::<i64>(read), 4);
    client.run("SELECT sno_create_feed('second', 'outbox', margin => '0')");
    assert_eq!(client.one::<i64>(read), 0);
    client.run(&stored("SELECT sno_feed('second', NULL::outbox, 2)"));
    assert_eq!(client.one::<i64>(read), 2);
    client.run("SELECT sno_drop_feed('second')");
    assert_eq!(client.one::<i64>(read), 4);
    // By what is not the key of the table: nobody knows which rows were read.
    client.run("SELECT sno_create_feed('second', 'outbox', now(), 'item', '0')");
    assert_eq!(client.one::<i64>(read), 0);
    client.run("SELECT sno_drop_feed('second')");
    assert_eq!(
        client.one::<i64>("SELECT count(*) FROM without WHERE sno_read_by_all('without') IS NOT NULL"),
        0
    );
    let mut consumer = server.connect();
    consumer.run(&format!("BEGIN; {}", stored("SELECT sno_feed('all', NULL::outbox)")));
    assert_eq!(client.one::<i64>(read), 4, "not committed");
    consumer.run("COMMIT");
    assert_eq!(client.execute("DELETE FROM outbox WHERE id <= sno_read_by_all('outbox')", &[]).unwrap(), 10);
    client.run("SELECT sno_drop_feed('all')");
    assert_eq!(client.one::<Option<String>>("SELECT sno_read_by_all('outbox')::text"), None);
    // Nor when columns have exchanged their names since a feed has read by one of them.
    client.run(
        "CREATE TABLE swapped (id sno PRIMARY KEY DEFAULT sno_new(), item sno NOT NULL DEFAULT sno_new()); CREATE INDEX ON swapped (item);
         INSERT INTO swapped DEFAULT VALUES; SELECT sno_create_feed('swapped', 'swapped', key => 'item', margin => '0'), pg_sleep(0.008)",
    );
    assert_eq!(client.take::<i64>("SELECT count(*) FROM sno_feed('swapped', NULL::swapped)"), 1);
    client.run("ALTER TABLE swapped RENAME id TO x; ALTER TABLE swapped RENAME item TO id; ALTER TABLE swapped RENAME x TO item");
    assert!(client.one::<bool>("SELECT sno_read_by_all('swapped') IS NULL"));
    // Of a primary key with two IDs nobody knows by which of them rows are to be deleted.
    client.run(
        "CREATE TABLE two (a sno, b sno, PRIMARY KEY (a, b)); INSERT INTO two VALUES (sno_new(), sno_new());
         SELECT sno_create_feed('two', 'two', key => 'a', margin => '0'), pg_sleep(0.008)",
    );
    assert_eq!(client.take::<i64>("SELECT count(*) FROM sno_feed('two', NULL::two)"), 1);
    assert!(client.one::<bool>("SELECT sno_read_by_all('two') IS NULL"));
    // A key of a domain, and a column that is in its index alone.
    client.run(
        "CREATE DOMAIN own_id AS sno; CREATE TABLE domains (id own_id DEFAULT sno_new(1), item sno, PRIMARY KEY (id) INCLUDE (item));
         INSERT INTO domains DEFAULT VALUES; SELECT sno_create_feed('domains', 'domains', margin => '0'), pg_sleep(0.008)",
    );
    assert_eq!(client.take::<i64>("SELECT count(*) FROM sno_feed('domains', NULL::domains)"), 1);
    assert_eq!(client.one::<i64>("SELECT count(*) FROM domains WHERE id <= sno_read_by_all('domains')"), 1);
    // The log of a table's changes has a key of its own, which is no place among the table's. What is deleted is a change, too.
    client.run("SELECT sno_track_changes('outbox'); SELECT sno_create_feed('changes', 'outbox_changes', now(), 'changed', '0')");
    assert_eq!(client.one::<i64>("SELECT count(*) FROM sno_readers('outbox')"), 0);
    assert!(client.one::<bool>("SELECT sno_read_by_all('outbox_log') IS NOT NULL"));
    // Nobody is waited for who has locked the view.
    let mut holder = server.connect();
    holder.run("BEGIN; ALTER VIEW outbox_changes SET (security_barrier)");
    assert!(client.one::<bool>("SELECT sno_read_by_all('outbox_log') IS NOT NULL"));
}

#[test]
fn partitions_that_all_feeds_have_read() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE log (id sno PRIMARY KEY DEFAULT sno_new(1), n integer) PARTITION BY RANGE (id);
         SELECT sno_create_partitions('log', '1 day', now() - interval '3 days', now() + interval '1 day');
         INSERT INTO log SELECT sno_new(1, now() - n * interval '1 day'), n FROM generate_series(0, 3) n;
         SELECT sno_create_feed('all', 'log', margin => '0')",
    );
    next_tick();
    let maintain = "SELECT coalesce(string_agg(action, ' '), '') FROM sno_maintain_partitions('log', '1 day', 1, '1 hour', read_by_all => true)";
    let expire = "SELECT count(*)::text FROM sno_expire_partitions('log', now(), true, read_by_all => true)";
    for (feed, expected) in
        [("SELECT".to_owned(), ""), (stored("SELECT sno_feed('all', NULL::log, 2)"), "detached")]
    {
        client.run(&feed);
        assert_eq!(text(&mut client, maintain), expected);
    }
    assert_eq!(text(&mut client, expire), "0");
    // A feed of the table reads the rows of each partition.
    let second = text(&mut client, "SELECT min(tableoid::regclass::text) FROM log");
    assert!(client.one::<bool>(&format!("SELECT sno_read_by_all('{second}') = sno_read_by_all('log')")));
    client.run(&stored("SELECT sno_feed('all', NULL::log)"));
    assert_eq!(text(&mut client, expire), "2");
    assert_eq!(text(&mut client, "SELECT string_agg(n::text, ' ') FROM log"), "0");
    // Without a word about feeds, they count if there are any.
    client.run(
        "SELECT sno_create_partitions('log', '1 day', now() - interval '9 days', now() - interval '7 days');
         SELECT sno_create_feed('new', 'log', margin => '0')",
    );
    let expire_any =
        "SELECT count(*)::text FROM sno_expire_partitions('log', now() - interval '8 days', true)";
    let output = server.psql(expire_any);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.stdout == b"0\n" && told.starts_with("WARNING:  partition \"public.log_"), "{output:?}");
    assert!(told.contains("\nDETAIL:  Feeds of \"public.log\": \"all\" of role \"postgres\", "), "{told}");
    assert_eq!(text(&mut client, &expire_any.replace("true", "true, read_by_all => false")), "1");
    client.run("SELECT sno_drop_feed('all'), sno_drop_feed('new')");
    assert_eq!(text(&mut client, expire), "0");
    assert_eq!(text(&mut client, &expire_any.replace("8 days", "7 days")), "1");
    let call = "SELECT sno_maintain_partitions('log', '1 day', read_by_all => true)";
    assert_eq!(code(&mut client, call), "22023");
}

/// Who has them go all the same is told which feeds have not read their rows.
#[test]
fn partitions_that_go_unread() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE log (id sno PRIMARY KEY DEFAULT sno_new(1), n integer) PARTITION BY RANGE (id);
         SELECT sno_create_partitions('log', '1 day', now() - interval '4 days', now() + interval '1 day');
         INSERT INTO log SELECT sno_new(1, now() - n * interval '1 day'), n FROM generate_series(0, 3) n;
         SELECT sno_create_feed('all', 'log', margin => '0'), sno_create_feed('some', 'log', margin => '0')",
    );
    next_tick();
    client.run(&stored("SELECT sno_feed('all', NULL::log, 1)"));
    // The first one is empty, the second was read by one feed, the third by none.
    for (drops, feeds) in [
        (true, ""),
        (false, "\"some\" of role \"postgres\""),
        (true, "\"all\" of role \"postgres\", \"some\" of role \"postgres\""),
    ] {
        let [name, before] = ["partition", "until"].map(|column| {
            text(&mut client, &format!("SELECT {column} FROM sno_partitions('log') ORDER BY until LIMIT 1"))
        });
        let told = told(
            &server,
            &format!("SELECT sno_expire_partitions('log', '{before}', {drops}, read_by_all => false)"),
        );
        let expected = format!(
            "WARNING:  rows of \"public.{name}\" were not read by all feeds\nDETAIL:  They are missed by: {feeds}.\n\
             HINT:  Roll back, or attach it again until they have read these rows."
        );
        assert_eq!(told, if feeds.is_empty() { String::new() } else { expected });
    }
}

/// Of the last tick of a partition one row was read, and the other was not.
#[test]
fn partitions_that_end_with_a_tick_or_within_one() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE log (id sno PRIMARY KEY) PARTITION BY RANGE (id);
         CREATE FUNCTION id(millis integer, sequence integer) RETURNS sno LANGUAGE SQL
             AS $$ SELECT sno_make('2026-01-01Z'::timestamptz + millis * interval '1 ms', 1, 1, sequence) $$;
         DO $$ BEGIN
             EXECUTE format('CREATE TABLE a PARTITION OF log FOR VALUES FROM (MINVALUE) TO (%L)', sno_lower('2026-01-01 00:00:00.004Z'));
             EXECUTE format('CREATE TABLE b PARTITION OF log FOR VALUES FROM (%L) TO (%L)', sno_lower('2026-01-01 00:00:00.004Z'), id(8, 3));
         END $$;
         INSERT INTO log SELECT id(millis, sequence) FROM unnest('{0, 8}'::integer[]) millis, generate_series(1, 2) sequence;
         SELECT sno_create_feed('log', 'log', margin => '0')",
    );
    let read = stored("SELECT sno_feed('log', NULL::log, 1)");
    for expired in ["0", "0", "1"] {
        client.run(&read);
        assert_eq!(text(&mut client, "SELECT count(*) FROM sno_expire_partitions('log', now())"), expired);
    }
    client.run(&read);
    assert_eq!(text(&mut client, "SELECT sno_read_by_all('log') = id(8, 2)"), "t");
}

/// A feed of the table's owner clears the log as it moves, of what all have read and is an hour old; a feed of another role does not.
#[test]
fn the_log_is_cleared_by_those_who_read_it() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE ROLE alice LOGIN; CREATE ROLE bob LOGIN; GRANT CREATE ON SCHEMA public TO alice, bob; SET ROLE alice;
         CREATE TABLE items (id integer PRIMARY KEY); SELECT sno_track_changes('items'); GRANT SELECT ON items_changes TO bob;
         INSERT INTO items_log SELECT sno_new(0, now() - interval '2 hours'), n FROM generate_series(1, 5) n; INSERT INTO items VALUES (6)",
    );
    let mut alice = server.connect_as("alice");
    let mut bob = server.connect_as("bob");
    let create = |session: &mut Client, feed: &str, source: &str| {
        session.run(&format!(
            "SELECT sno_create_feed('{feed}', '{source}', now() - interval '1 day', 'changed', '0')"
        ));
    };
    create(&mut alice, "search", "items_changes");
    create(&mut alice, "few", "items_changes");
    create(&mut bob, "bob", "items_changes");
    client.run("RESET ROLE; UPDATE sno_internal.feed_positions SET moved = moved - interval '1 minute'; SELECT pg_sleep(0.01)");
    let mut left = |feed: &str| (feed.to_owned(), client.one::<i64>("SELECT count(*) FROM items_log"));
    let read = |feed: &str, view: &str| {
        format!(
            "BEGIN; CREATE TEMP TABLE {feed} AS SELECT changed FROM sno_feed('{feed}', NULL::{view}); COMMIT"
        )
    };
    alice.run(&read("few", "items_changes"));
    assert_eq!(left("few"), ("few".to_owned(), 6));
    let last = text(&mut alice, "SELECT max(changed) FROM sno_peek_feed('search', NULL::items_changes)");
    alice.run(&format!("SELECT sno_advance_feed('search', '{last}')"));
    assert_eq!(left("search"), ("search".to_owned(), 6));
    // The last to read is not of a role that could delete.
    bob.run(&read("bob", "items_changes"));
    assert_eq!(left("bob"), ("bob".to_owned(), 6));
    server.run("UPDATE sno_internal.feed_positions SET moved = moved - interval '1 minute'");
    server.run("UPDATE sno_internal.feed_positions SET moved = moved - interval '1 minute'");
    alice.run("INSERT INTO items VALUES (8); SELECT pg_sleep(0.01)");
    let last = text(&mut alice, "SELECT max(changed) FROM sno_peek_feed('search', NULL::items_changes)");
    alice.run(&format!("SELECT sno_advance_feed('search', '{last}')"));
    assert_eq!(left("search"), ("search".to_owned(), 2));
}

/// Between the statements that give table, log and view to another owner, no feed clears the log of what one of the view has not read.
#[test]
fn a_log_that_changes_its_owner() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE ROLE alice; CREATE ROLE bob; GRANT CREATE ON SCHEMA public TO alice, bob; SET ROLE alice;
         CREATE TABLE items (id integer PRIMARY KEY); SELECT sno_track_changes('items'); RESET ROLE;
         INSERT INTO items_log SELECT sno_new(0, now() - interval '2 hours'), n FROM generate_series(1, 5) n;
         SELECT sno_create_feed('slow', 'items_changes', now() - interval '1 day', 'changed', '0');
         SELECT sno_create_feed('fast', 'items_log', now() - interval '1 day', 'changed', '0'); SELECT pg_sleep(0.01)",
    );
    let objects = ["TABLE items", "TABLE items_log", "VIEW items_changes"];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        for object in order {
            client.run(&format!("ALTER {} OWNER TO bob", objects[object]));
            client.run(
                "UPDATE sno_internal.feed_positions SET moved = moved - interval '1 minute';
                 BEGIN; CREATE TEMP TABLE read ON COMMIT DROP AS SELECT * FROM sno_feed('fast', NULL::items_log); COMMIT;
                 SELECT sno_seek_feed('fast', since => now() - interval '1 day')",
            );
            assert_eq!(text(&mut client, "SELECT count(*) FROM items_log"), "5", "{order:?}: {object}");
        }
        for object in objects {
            client.run(&format!("ALTER {object} OWNER TO alice"));
        }
    }
}

/// A feed that is set back further than the log is kept, an hour, is told that its log may lack changes; one of a table is not.
#[test]
fn a_feed_that_is_set_back_further_than_its_log() {
    let server = server();
    server.run(
        "CREATE TABLE log (id sno PRIMARY KEY DEFAULT sno_new()); SELECT sno_create_feed('log', 'log', now() - interval '1 s')",
    );
    let told = |feed: &str, since: &str| {
        told(&server, &format!("SELECT sno_seek_feed('{feed}', {since})")).lines().next().map(str::to_owned)
    };
    let lacks = Some("WARNING:  log of changes may lack what all feeds had read".to_owned());
    told("search", "now() - interval '1 s'");
    for (since, expected) in [
        ("now() - interval '59 minutes'", &None),
        ("now() - interval '61 minutes'", &lacks),
        // Forward, and back again.
        ("now() - interval '30 minutes'", &None),
        ("now() - interval '2 hours'", &lacks),
        ("'-infinity'", &lacks),
    ] {
        assert_eq!(told("search", since), *expected, "{since}");
    }
    assert_eq!(told("log", "now() - interval '2 hours'"), None);
}

/// A feed that moves clears the log, but does not have it know a partition that was attached with rows: reads report that.
#[test]
fn a_partition_that_is_attached_before_a_feed_moves() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE items (id integer PRIMARY KEY, n integer) PARTITION BY RANGE (id);
         CREATE TABLE part PARTITION OF items FOR VALUES FROM (0) TO (10); CREATE TABLE copy (LIKE items);
         SELECT sno_track_changes('items'); SELECT sno_create_feed('search', 'items_changes', margin => '0');
         INSERT INTO items VALUES (1, 1); CREATE TABLE late (LIKE items); INSERT INTO late VALUES (11, 1)",
    );
    next_tick();
    let last = text(&mut client, "SELECT max(changed) FROM sno_peek_feed('search', NULL::items_changes)");
    client.run(
        "ALTER TABLE items ATTACH PARTITION late FOR VALUES FROM (10) TO (20);
         UPDATE sno_internal.feed_positions SET moved = moved - interval '1 minute'",
    );
    client.run(&format!("SELECT sno_advance_feed('search', '{last}')"));
    let reported = error(&mut client, "SELECT FROM items_changes");
    assert_eq!(reported.detail(), Some("Table \"public.late\" was attached: its rows are not in the log."));
    client.run("SELECT sno_track_changes('items'), sno_seek_feed('search', '-infinity')");
    ITEMS.check(&mut client, "a partition that was attached before a feed moved");
}

/// Horizons that are lowered while a call waits for a partition, and a row that comes there below what was read before, by the table or not.
#[test]
fn what_expires_was_read() {
    for written in ["log", "early"] {
        let server = Server::builder().faketime(true).start();
        let (mut client, mut other) = (server.connect(), server.connect());
        client.run(
            "CREATE TABLE log (id sno PRIMARY KEY DEFAULT sno_new(1), n integer) PARTITION BY RANGE (id); CREATE TABLE copy (n integer);
             CREATE TABLE early PARTITION OF log FOR VALUES FROM (sno_lower(now() - interval '1 minute')) TO (sno_lower(now() + interval '4 minutes'));
             CREATE TABLE late PARTITION OF log DEFAULT; SELECT sno_create_feed('log', 'log', margin => '0')",
        );
        // With what PostgreSQL keeps of a partition in a session, who writes into it locks it alone.
        other.run("INSERT INTO early (n) VALUES (0)");
        server.set_clock("+300");
        let read = "INSERT INTO copy SELECT n FROM sno_feed('log', NULL::log)";
        client.run("INSERT INTO log (n) VALUES (1)");
        server.advance_clock(0.01);
        client.run(read);
        other.run(&format!("BEGIN; SELECT FROM {written}"));
        let mut owner = server.connect_with("-c lock_timeout=30s");
        let expire = || owner.run("SELECT sno_expire_partitions('log', now() - interval '1 s', true)");
        crate::meanwhile(&server, expire, || {
            server.set_clock("+0");
            server.run("SELECT sno_lower_horizon()");
            other.run(&format!("INSERT INTO {written} (n) VALUES (2); COMMIT"));
        });
        wait_until("the row comes", || {
            client.run(read);
            client.one("SELECT EXISTS (SELECT FROM copy WHERE n = 2)")
        });
    }
}

/// Upkeep waits for no reader. A partition of another owner expires, too.
#[test]
fn expiry_waits_for_no_reader() {
    let server = Server::builder().conf("statement_timeout", "30s").start();
    let (mut client, mut reader) = (server.connect(), server.connect());
    client.run(
        "CREATE ROLE alice; CREATE ROLE bob; GRANT CREATE ON SCHEMA public TO alice, bob; SET ROLE alice;
         CREATE TABLE log (id sno PRIMARY KEY DEFAULT sno_new(1), n integer) PARTITION BY RANGE (id);
         SELECT sno_create_partitions('log', '1 day', now() - interval '3 days', now());
         GRANT SELECT ON log TO bob; SET ROLE bob; SELECT sno_create_feed('log', 'log', margin => '0'); RESET ROLE",
    );
    let part = text(&mut client, "SELECT partition FROM sno_partitions('log') LIMIT 1");
    client.run(&format!("ALTER TABLE {part} OWNER TO bob; INSERT INTO log VALUES (DEFAULT, 1)"));
    next_tick();
    client.run(
        "SET ROLE bob; CREATE TEMP TABLE done AS SELECT * FROM sno_feed('log', NULL::log); SET ROLE alice",
    );
    let expire = "SELECT coalesce(string_agg(p, ' '), 'none') FROM sno_expire_partitions('log', now() - interval '1 day') p";
    assert!(text(&mut client, expire).starts_with(&format!("public.{part}")));
    // A partition that others use, or that something depends on, keeps nobody else waiting, and new ones come.
    client.run(
        "SET client_min_messages = error; SELECT sno_create_partitions('log', '1 day', now() - interval '7 days', now() - interval '5 days');
         SELECT sno_track_changes('log')",
    );
    let first = text(&mut client, "SELECT partition FROM sno_partitions('log') LIMIT 1");
    client.run(&format!("ALTER TABLE log DETACH PARTITION {first}"));
    reader.run(&format!("BEGIN; SELECT FROM {first}"));
    assert_eq!(code(&mut client, "SELECT sno_expire_partitions('log', now() - interval '5 days')"), "55P03");
    let maintain = "SELECT coalesce(string_agg(action, ' '), 'none') FROM sno_maintain_partitions('log', '1 day', 1, '5 days', true)";
    assert_eq!(text(&mut client, maintain), "created");
    reader.run("COMMIT");
    let second = text(&mut client, "SELECT partition FROM sno_partitions('log') LIMIT 1");
    for (create, drop) in [
        (format!("CREATE VIEW depends AS SELECT FROM {second}"), "VIEW depends"),
        (
            "GRANT REFERENCES ON log TO bob; SET ROLE bob; CREATE TABLE refers (id sno REFERENCES log); RESET ROLE".to_owned(),
            "TABLE refers",
        ),
        (
            format!(
                "INSERT INTO log SELECT sno_lower(since) FROM sno_partitions('log') LIMIT 1; CREATE TABLE refers (id sno REFERENCES log);
                 GRANT SELECT ON refers TO alice; INSERT INTO refers SELECT id FROM {second}"
            ),
            "TABLE refers",
        ),
    ] {
        reader.run(&create);
        assert_eq!(text(&mut client, maintain), "none", "{create}");
        // Before anything is locked, or logged.
        if drop.starts_with("VIEW") {
            reader.run("BEGIN; SELECT FROM log");
            client.run("SELECT sno_expire_partitions('log', now() - interval '5 days', true, false)");
            reader.run("COMMIT");
        }
        reader.run(&format!("DROP {drop}"));
    }
    assert_eq!(text(&mut client, maintain), "dropped");
    // What went with CASCADE is not logged, and reads go on saying so.
    let third = text(&mut client, "SELECT partition FROM sno_partitions('log') LIMIT 1");
    client.run(&format!(
        "DROP TABLE {third} CASCADE; SELECT sno_maintain_partitions('log', '1 day', 3, '1 hour')"
    ));
    assert_eq!(code(&mut client, "SELECT FROM log_changes"), "55000");
}
