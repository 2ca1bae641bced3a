//! Changes that a subscription applies.

use sno_tests::{Server, Sql as _, code, text, wait_until};

use super::{Copy, ITEMS};

/// What a subscription applies has keys of this server's own log, also in partitions; but for a TRUNCATE that comes for each partition.
#[test]
fn subscribers() {
    for by_root in [true, false] {
        let builder = || Server::builder().conf("wal_level", "logical");
        let (publisher, subscriber) = (builder().start(), builder().start());
        let tables = "CREATE TABLE items (id integer PRIMARY KEY, n integer);
            CREATE TABLE parts (id integer PRIMARY KEY, n integer) PARTITION BY RANGE (id);
            CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (100);
            CREATE TABLE plain (id sno PRIMARY KEY DEFAULT sno_new(1));";
        publisher.run(tables);
        publisher.run(&format!(
            "INSERT INTO items SELECT n, n FROM generate_series(1, 10) n;
             CREATE PUBLICATION everything FOR TABLE items, parts, plain WITH (publish_via_partition_root = {by_root})"
        ));
        let mut client = subscriber.connect();
        client.run(tables);
        client.run(
            "SELECT sno_track_changes('items'), sno_track_changes('parts');
             CREATE TABLE copy (LIKE items); CREATE TABLE copy_of_parts (LIKE parts)",
        );
        let source = publisher.connection_string();
        client.run(&format!("CREATE SUBSCRIPTION everything CONNECTION '{source}' PUBLICATION everything"));
        client.run(
            "SELECT sno_create_feed('search', 'items_changes', margin => '0'), sno_create_feed('parts', 'parts_changes', margin => '0')",
        );
        // Its keys are no log's.
        assert_eq!(code(&mut client, "SELECT sno_create_feed('other', 'plain')"), "55000");
        publisher.run(
            "UPDATE items SET n = 0 WHERE id < 4; DELETE FROM items WHERE id > 8; UPDATE items SET id = 20 WHERE id = 5;
             INSERT INTO parts SELECT n, n FROM generate_series(1, 10) n; UPDATE parts SET n = 0 WHERE id < 4;
             DELETE FROM parts WHERE id > 8",
        );
        let parts = Copy { feed: "parts", changes: "parts_changes", copy: "copy_of_parts", key: "id" };
        for (change, seen) in [
            ("SELECT", (0, 0)),
            ("TRUNCATE items; INSERT INTO items VALUES (7, 7)", (0, 0)),
            ("INSERT INTO parts VALUES (17, 7)", (0, 0)),
            ("TRUNCATE parts; INSERT INTO items VALUES (8, 8)", (0, 0)),
        ] {
            publisher.run(change);
            let sums = "SELECT (SELECT concat(count(*), ' ', sum(id), ' ', sum(n)) FROM items)
                            || (SELECT concat(count(*), ' ', sum(id), ' ', sum(n)) FROM parts)";
            let sent = text(&mut publisher.connect(), sums);
            wait_until("the subscriber has all", || text(&mut client, sums) == sent);
            ITEMS.check(&mut client, change);
            parts.follow(&mut client);
            assert_eq!(parts.wrong(&mut client), seen, "{change}");
        }
    }
}
