//! Every refusal, with its SQLSTATE and what it says.

use sno_tests::{Server, Sql as _, code, error, text};

use super::{SETUP, next_tick};

/// Every refusal, with its SQLSTATE and what it says.
#[test]
fn refusals() {
    let server = Server::builder().conf("wal_level", "logical").start();
    let mut client = server.connect();
    client.run(SETUP);
    client.run(
        "CREATE ROLE alice LOGIN; CREATE ROLE bob LOGIN; GRANT CREATE ON SCHEMA public TO alice;
         CREATE TABLE two (a sno, b sno, PRIMARY KEY (a, b)); CREATE VIEW doubled AS SELECT * FROM two;
         CREATE TABLE numbers (id integer PRIMARY KEY); CREATE TABLE loose (id sno PRIMARY KEY, other sno);
         CREATE TABLE included (n integer, id sno, PRIMARY KEY (n) INCLUDE (id));
         CREATE TABLE lines (item sno REFERENCES items, line integer, PRIMARY KEY (item, line));
         CREATE TABLE tenants (tenant integer, id sno, PRIMARY KEY (tenant, id));
         CREATE MATERIALIZED VIEW old AS SELECT * FROM items; CREATE VIEW over_old AS SELECT * FROM old;
         CREATE EXTENSION postgres_fdw; CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw;
         CREATE VIEW locking AS SELECT * FROM items FOR UPDATE; CREATE VIEW locks AS SELECT * FROM items;
         SELECT sno_create_feed('locks', 'locks'); CREATE OR REPLACE VIEW locks AS SELECT * FROM items FOR UPDATE;
         CREATE TABLE log (id sno) PARTITION BY RANGE (id);
         CREATE FOREIGN TABLE log_far PARTITION OF log FOR VALUES FROM ('2222222222222222') TO (MAXVALUE) SERVER far;
         CREATE EXTENSION dblink; CREATE VIEW by_dblink AS SELECT * FROM dblink('', '') AS row (id sno, n integer);
         CREATE TABLE dropped (LIKE items INCLUDING ALL); SELECT sno_create_feed('dropped', 'dropped'); DROP TABLE dropped;
         CREATE TABLE dropped (LIKE items INCLUDING ALL);
         CREATE VIEW limited AS SELECT * FROM items LIMIT 10; CREATE VIEW over_limited AS SELECT id FROM limited;
         CREATE VIEW in_limited AS SELECT s.id FROM two, (SELECT id FROM items OFFSET 1) s;
         CREATE VIEW newest AS SELECT DISTINCT ON (n) * FROM items ORDER BY n, id DESC;
         CREATE VIEW without AS SELECT id FROM items EXCEPT SELECT a FROM two;
         CREATE VIEW last AS SELECT max(id) AS id, n FROM items GROUP BY n;
         CREATE VIEW previous AS SELECT lag(id) OVER (ORDER BY id) AS id FROM items;
         CREATE VIEW numbered AS SELECT *, row_number() OVER (PARTITION BY n ORDER BY id DESC) AS r, row_number() OVER (PARTITION BY n ORDER BY id) AS first,
             lag(n) OVER w AS before, count(*) OVER w AS count, count(*) OVER () AS total, lead(n) OVER w AS next, rank() OVER (ORDER BY n) AS rank
             FROM items WINDOW w AS (ORDER BY id);
         CREATE VIEW newest_by_window AS SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY n ORDER BY id DESC) AS r FROM items) s WHERE r = 1;
         CREATE VIEW over_numbered AS SELECT id FROM numbered WHERE n > 0 AND r < 3; CREATE VIEW by_all AS SELECT id FROM numbered WHERE total > 3;
         CREATE VIEW by_next AS SELECT id FROM numbered WHERE next IS NULL; CREATE VIEW by_rank AS SELECT id FROM numbered WHERE rank < 9;
         CREATE VIEW by_last AS SELECT id FROM (SELECT id, last_value(id) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS last FROM items) s
             WHERE id = last;
         CREATE VIEW by_lag AS SELECT id FROM (SELECT id, lag(n, -1) OVER (ORDER BY id) AS next, lag(n, 1) OVER (ORDER BY id) AS before FROM items) s
             WHERE next IS NULL;
         CREATE VIEW by_lag_of_row AS SELECT id FROM (SELECT id, lag(n, n, 0) OVER (ORDER BY id) AS other FROM items) s WHERE other > 5;
         CREATE VIEW by_earlier AS SELECT id FROM (SELECT id, lag(n, 2, 0) OVER (ORDER BY id) AS before FROM items) s WHERE before > 5;
         CREATE VIEW by_sum AS SELECT id FROM (SELECT id, first + r AS sum FROM numbered) s WHERE sum < 9;
         CREATE VIEW computed_by_window AS SELECT coalesce(id, id) AS id FROM numbered WHERE r = 1;
         CREATE VIEW joined_by_window AS SELECT s.id FROM numbered s JOIN two ON s.r = 1;
         CREATE VIEW nested_by_window AS SELECT s.id FROM two JOIN (numbered s JOIN items i ON s.r = 1) ON true;
         CREATE VIEW optional_by_window AS SELECT s.id FROM two LEFT JOIN numbered s ON s.r = 1 WHERE s.id IS NOT NULL;
         CREATE VIEW right_by_window AS SELECT s.id FROM numbered s RIGHT JOIN two ON s.r = 1 WHERE s.id IS NOT NULL;
         CREATE VIEW in_with_by_window AS WITH s AS (SELECT id, first_value(id) OVER (PARTITION BY n ORDER BY id DESC) AS f FROM items) SELECT id FROM s WHERE f = id;
         CREATE VIEW united_by_window AS SELECT id FROM (SELECT id, r FROM numbered UNION ALL SELECT a, 1 FROM two) s WHERE r = 1;
         CREATE VIEW first_by_window AS SELECT * FROM numbered WHERE first = 1 AND count < 9 AND before IS DISTINCT FROM n;
         CREATE VIEW looked_up AS SELECT i.*, s.r FROM items i JOIN numbered s ON s.n = i.n AND s.r = 1;
         CREATE VIEW kept AS SELECT s.id, s.total FROM numbered s LEFT JOIN two ON s.r = 1 AND two.a = s.id;
         SELECT sno_create_feed(source::text, source) FROM unnest('{numbered,first_by_window,by_earlier,looked_up,kept}'::regclass[]) source;
         CREATE TABLE prices (item integer PRIMARY KEY, price integer); SELECT sno_track_changes('prices');
         CREATE VIEW cheap AS SELECT * FROM prices_changes WHERE (record).price < 5;
         CREATE VIEW few AS SELECT changed, item, CASE WHEN (record).price < 5 THEN record END AS shown FROM prices_changes
             WHERE item % 2 = 0;
         CREATE VIEW live AS SELECT * FROM prices_changes WHERE NOT deleted;
         CREATE VIEW joined AS SELECT c.*, n FROM prices_changes c JOIN items ON n = (c.record).price;
         CREATE VIEW named AS SELECT c.*, n, i.id FROM prices_changes c LEFT JOIN items i ON n = (c.record).price;
         CREATE VIEW named_too AS SELECT c.* FROM two RIGHT JOIN (items FULL JOIN prices_changes c ON n = item) ON c.record IS NULL AND NOT c.deleted
             WHERE changed IS NOT NULL;
         CREATE VIEW below AS SELECT changed, item FROM (SELECT changed, item, (record).price FROM prices_changes) s WHERE price < 5;
         CREATE VIEW over_few AS SELECT * FROM few f (c, i, s) WHERE s IS NOT NULL;
         CREATE VIEW matched AS SELECT c.* FROM prices_changes c JOIN prices USING (item);
         CREATE VIEW matched_below AS SELECT c.* FROM (prices_changes c JOIN prices USING (item)) LEFT JOIN two ON true;
         CREATE VIEW paired AS SELECT * FROM prices_changes WHERE item IN (SELECT n FROM items);
         CREATE VIEW unnested AS SELECT changed, unnest(ARRAY[(record).price]) FROM prices_changes;
         CREATE VIEW grouped AS SELECT changed FROM prices_changes GROUP BY changed HAVING count(record) > 0;
         CREATE VIEW there AS SELECT * FROM prices_changes c WHERE EXISTS (SELECT FROM prices p WHERE p.item = c.item);
         CREATE VIEW optional AS SELECT i.* FROM two LEFT JOIN items i ON i.id = two.a;
         CREATE VIEW others AS SELECT other FROM loose; CREATE VIEW some_others AS SELECT * FROM others WHERE other IS NOT NULL AND other > '2222222222222222';
         CREATE VIEW union_of_limited AS SELECT id FROM limited UNION ALL SELECT a FROM two;
         CREATE VIEW sample AS SELECT * FROM items TABLESAMPLE SYSTEM (50);
         CREATE VIEW computed AS SELECT coalesce(s.id, s.id) AS id FROM (SELECT id FROM items LIMIT 1) s;
         CREATE VIEW rolled_up AS SELECT id FROM items GROUP BY ROLLUP (id); CREATE VIEW d1 AS SELECT id FROM items;
         DO $$ BEGIN FOR n IN 2..30 LOOP
             EXECUTE format('CREATE VIEW d%s AS SELECT id FROM d%s UNION ALL SELECT id FROM d%2$s', n, n - 1);
         END LOOP; END $$; CREATE VIEW doubling AS SELECT id FROM d30;
         CREATE VIEW locking_below AS SELECT id FROM (SELECT * FROM items FOR UPDATE) s;
         CREATE VIEW newest_below AS SELECT id FROM (SELECT DISTINCT ON (n) * FROM items ORDER BY n, id DESC) s;
         CREATE VIEW without_too AS SELECT id FROM items UNION ALL (SELECT id FROM items EXCEPT SELECT a FROM two);
         CREATE VIEW then_limited AS SELECT a AS id FROM two UNION ALL SELECT id FROM limited;
         CREATE VIEW nulls_first AS SELECT other FROM loose UNION ALL SELECT id FROM items;
         CREATE VIEW of_two AS SELECT coalesce(i.id, s.id) AS id FROM items i, (SELECT id FROM items LIMIT 1) s;
         CREATE VIEW optional_too AS SELECT i.id FROM (two LEFT JOIN items i ON i.id = two.a) JOIN two t ON t.a = two.a;
         CREATE FUNCTION five(integer) RETURNS bigint LANGUAGE sql RETURN 5; CREATE VIEW skipping AS SELECT * FROM items OFFSET five(0);
         CREATE VIEW mixed AS SELECT changed FROM (SELECT id AS changed, NULL::prices AS record FROM items
             UNION ALL SELECT changed, record FROM prices_changes) s WHERE (record).price < 5;
         CREATE VIEW crossed AS SELECT c.* FROM prices_changes c, two;
         CREATE VIEW right_joined AS SELECT c.* FROM prices_changes c RIGHT JOIN items ON n = item WHERE changed IS NOT NULL;
         CREATE VIEW whole AS SELECT * FROM prices_changes c WHERE to_jsonb(c) ->> 'deleted' = 'false';
         CREATE DOMAIN key AS sno; CREATE VIEW as_domain AS SELECT id::key FROM (SELECT id FROM items LIMIT 1) s;
         CREATE VIEW fenced AS SELECT * FROM (SELECT * FROM items OFFSET 0) s LIMIT ALL;
         CREATE VIEW replaced AS SELECT * FROM items; SELECT sno_create_feed('replaced', 'replaced');
         CREATE OR REPLACE VIEW replaced AS SELECT * FROM items LIMIT 1;
         CREATE VIEW other_changes AS SELECT id AS changed, n AS record FROM items; CREATE VIEW ours AS SELECT * FROM other_changes WHERE record > 5;
         CREATE VIEW with_lines AS SELECT i.id, array_agg(t.a) FROM items i LEFT JOIN two t ON t.b = i.id GROUP BY i.id;
         CREATE VIEW both_kinds AS SELECT id FROM items UNION ALL SELECT a FROM two;
         CREATE VIEW in_with AS WITH f AS (SELECT * FROM items LIMIT 10) SELECT * FROM f;
         CREATE VIEW in_outer_with AS WITH f AS (SELECT id FROM items EXCEPT SELECT a FROM two), g AS (SELECT s.id FROM (SELECT * FROM f) s) SELECT id FROM g;
         CREATE VIEW recursive AS WITH RECURSIVE r AS (SELECT id FROM items UNION ALL SELECT id FROM r WHERE false) SELECT * FROM r;
         SELECT sno_create_feed(source::text, source) FROM unnest('{few,with_lines,both_kinds,recursive,ours,some_others,fenced}'::regclass[]) source;
         SELECT sno_create_feed(source::text, source, key => 'changed') FROM unnest('{named,named_too}'::regclass[]) source;
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
        42809 create('locking') -> rows of "public.locking" cannot be those of a feed
        42809 SELECT sno_peek_feed('locks', NULL::locks) -> rows of "public.locks" cannot be those of a feed
        42809 create('sample') -> rows of "public.sample" cannot be those of a feed
        42809 create('computed') -> rows of "public.computed" cannot be those of a feed
        42809 create('rolled_up') -> rows of "public.rolled_up" cannot be those of a feed
        42809 create('then_limited') -> rows of "public.limited" cannot be those of a feed
        42809 create('doubling') -> rows of "public.doubling" cannot be those of a feed
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
        42809 create('old') -> feed cannot read materialized rows: "public.old"
        42809 create('over_old') -> feed cannot read materialized rows: "public.old"
        42809 create('log') -> feed cannot read foreign rows: "public.log_far"
        42809 create('by_dblink') -> feed cannot read foreign rows: "public.by_dblink"
        42809 create('limited') -> rows of "public.limited" cannot be those of a feed
        42809 create('over_limited') -> rows of "public.limited" cannot be those of a feed
        42809 create('in_limited') -> rows of "public.in_limited" cannot be those of a feed
        42809 create('newest') -> rows of "public.newest" cannot be those of a feed
        42809 create('without') -> rows of "public.without" cannot be those of a feed
        42809 create('live', key => 'changed') -> rows of "public.live" cannot be those of a feed
        42809 create('joined', key => 'changed') -> rows of "public.joined" cannot be those of a feed
        42809 create('in_with') -> rows of "public.in_with" cannot be those of a feed
        42809 create('in_outer_with') -> rows of "public.in_outer_with" cannot be those of a feed
        42809 create('last') -> rows of "public.last" cannot be those of a feed
        42809 create('previous') -> rows of "public.previous" cannot be those of a feed
        42809 create('newest_by_window') -> rows of "public.newest_by_window" cannot be those of a feed
        42809 create('over_numbered') -> rows of "public.over_numbered" cannot be those of a feed
        42809 create('by_all') -> rows of "public.by_all" cannot be those of a feed
        42809 create('by_next') -> rows of "public.by_next" cannot be those of a feed
        42809 create('by_rank') -> rows of "public.by_rank" cannot be those of a feed
        42809 create('by_lag') -> rows of "public.by_lag" cannot be those of a feed
        42809 create('by_lag_of_row') -> rows of "public.by_lag_of_row" cannot be those of a feed
        42809 create('by_sum') -> rows of "public.by_sum" cannot be those of a feed
        42809 create('by_last') -> rows of "public.by_last" cannot be those of a feed
        42809 create('computed_by_window') -> rows of "public.computed_by_window" cannot be those of a feed
        42809 create('joined_by_window') -> rows of "public.joined_by_window" cannot be those of a feed
        42809 create('nested_by_window') -> rows of "public.nested_by_window" cannot be those of a feed
        42809 create('optional_by_window') -> rows of "public.optional_by_window" cannot be those of a feed
        42809 create('right_by_window') -> rows of "public.right_by_window" cannot be those of a feed
        42809 create('in_with_by_window') -> rows of "public.in_with_by_window" cannot be those of a feed
        42809 create('united_by_window') -> rows of "public.united_by_window" cannot be those of a feed
        42809 create('cheap', key => 'changed') -> rows of "public.cheap" cannot be those of a feed
        42809 create('below', key => 'changed') -> rows of "public.below" cannot be those of a feed
        42809 create('over_few') -> rows of "public.over_few" cannot be those of a feed
        42809 create('matched', key => 'changed') -> rows of "public.matched" cannot be those of a feed
        42809 create('matched_below', key => 'changed') -> rows of "public.matched_below" cannot be those of a feed
        42809 create('paired', key => 'changed') -> rows of "public.paired" cannot be those of a feed
        42809 create('unnested', key => 'changed') -> rows of "public.unnested" cannot be those of a feed
        42809 create('grouped', key => 'changed') -> rows of "public.grouped" cannot be those of a feed
        42809 create('there', key => 'changed') -> rows of "public.there" cannot be those of a feed
        42809 create('optional') -> rows of "public.optional" cannot be those of a feed
        42809 create('others') -> rows of "public.others" cannot be those of a feed
        42809 create('union_of_limited') -> rows of "public.limited" cannot be those of a feed
        42809 create('locking_below') -> rows of "public.locking_below" cannot be those of a feed
        42809 create('newest_below') -> rows of "public.newest_below" cannot be those of a feed
        42809 create('without_too') -> rows of "public.without_too" cannot be those of a feed
        42809 create('nulls_first') -> rows of "public.nulls_first" cannot be those of a feed
        42809 create('of_two') -> rows of "public.of_two" cannot be those of a feed
        42809 create('optional_too') -> rows of "public.optional_too" cannot be those of a feed
        42809 create('skipping') -> rows of "public.skipping" cannot be those of a feed
        42809 create('mixed', key => 'changed') -> rows of "public.mixed" cannot be those of a feed
        42809 create('crossed', key => 'changed') -> rows of "public.crossed" cannot be those of a feed
        42809 create('right_joined', key => 'changed') -> rows of "public.right_joined" cannot be those of a feed
        42809 create('whole', key => 'changed') -> rows of "public.whole" cannot be those of a feed
        42809 create('as_domain') -> rows of "public.as_domain" cannot be those of a feed
        42809 SELECT sno_peek_feed('replaced', NULL::replaced) -> rows of "public.replaced" cannot be those of a feed
        25000 BEGIN ISOLATION LEVEL REPEATABLE READ; create('items', now()) -> cannot create a feed that begins at a time in a transaction with isolation level REPEATABLE READ
        0A000 CREATE TABLE t AS SELECT * FROM sno_feed('feed', NULL::items) UNION ALL SELECT * FROM sno_feed('other', NULL::items) -> a statement cannot read two feeds by sno_feed()
        42703 create('two') -> no single key of type sno in "public.two"
        42703 create('doubled') -> no single key of type sno in "public.doubled"
        42703 create('doubled', key => 'c') -> no single key of type sno in "public.doubled"
        42703 create('numbers') -> no single key of type sno in "public.numbers"
        42703 create('items_pkey', key => 'id') -> no single key of type sno in "public.items_pkey"
        42703 create('loose', key => 'other') -> no single key of type sno in "public.loose"
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
    refused("bob", "SELECT sno_create_feed('x', 'hers')", "42501", "permission denied for \"public.hers\"");
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
    // What a table gets later, or what a view or a partitioned table gets below it: first subscribed rows alone, then foreign ones.
    client.run(
        "DROP FOREIGN TABLE log_far; CREATE VIEW own AS SELECT * FROM items;
         CREATE TABLE parts (id sno PRIMARY KEY, n integer) PARTITION BY RANGE (id);
         CREATE TABLE part PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (MAXVALUE);
         SELECT sno_create_feed(name, name::regclass) FROM unnest('{own,parts,part}'::text[]) name;
         CREATE SUBSCRIPTION s CONNECTION 'dbname=none' PUBLICATION p WITH (connect = false);
         INSERT INTO pg_subscription_rel SELECT oid, unnest('{items,part}'::regclass[]), 'r' FROM pg_subscription",
    );
    for (name, source, table) in
        [("feed", "items", "items"), ("own", "own", "items"), ("parts", "parts", "part")]
    {
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
    // What the hint says: a log of this server's, also of the rows of some servers.
    client.run(
        "SELECT sno_track_changes('items'); CREATE VIEW of_some AS SELECT * FROM items_changes WHERE sno_partition(id) >> 8 < 256;
         SELECT sno_create_feed('some', 'of_some', key => 'changed'); INSERT INTO items (n) VALUES (1); SELECT pg_sleep(0.2)",
    );
    assert_eq!(text(&mut client, "SELECT count(*) FROM sno_peek_feed('some', NULL::of_some)"), "1");
    client.run("SELECT sno_drop_feed('some'); DROP VIEW of_some; SELECT sno_untrack_changes('items')");
    // A partition of a partitioned table that is subscribed to as one table.
    client.run("UPDATE pg_subscription_rel SET srrelid = 'parts'::regclass WHERE srrelid = 'part'::regclass");
    let message = "feed cannot read subscribed rows: \"public.part\"";
    refused("postgres", "SELECT sno_peek_feed('part', NULL::part)", "55000", message);
    refused("postgres", "SELECT sno_create_feed('x', 'part')", "55000", message);
    // Rows that no horizon is for, beside subscribed ones, and alone.
    client.run("CREATE OR REPLACE VIEW own AS SELECT * FROM items UNION ALL SELECT * FROM by_dblink");
    let message = "feed cannot read foreign rows: \"public.by_dblink\"";
    refused("postgres", "SELECT * FROM sno_peek_feed('own', NULL::own)", "42809", message);
    client.run("DELETE FROM pg_subscription_rel; ALTER SUBSCRIPTION s DISABLE; ALTER SUBSCRIPTION s SET (slot_name = NONE); DROP SUBSCRIPTION s");
    refused("postgres", "SELECT * FROM sno_peek_feed('own', NULL::own)", "42809", message);
    client.run(
        "CREATE FOREIGN TABLE far_items (id sno, n integer) SERVER far;
         CREATE OR REPLACE VIEW own AS SELECT * FROM items UNION ALL SELECT * FROM far_items",
    );
    let message = "feed cannot read foreign rows: \"public.far_items\"";
    refused("postgres", "SELECT * FROM sno_peek_feed('own', NULL::own)", "42809", message);
    // But not what its rules read when it is written to.
    client.run(
        "CREATE RULE also AS ON DELETE TO loose DO ALSO SELECT * FROM far_items;
         SELECT sno_create_feed('loose', 'loose', key => 'id')",
    );
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

/// In a database where nothing else comes from elsewhere.
#[test]
fn a_materialized_view_that_comes_below_a_view() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(SETUP);
    client.run(
        "CREATE VIEW shown AS TABLE items; SELECT sno_create_feed('shown', 'shown'); CREATE MATERIALIZED VIEW old AS TABLE items;
         CREATE OR REPLACE VIEW shown AS TABLE old",
    );
    let refused = error(&mut client, "SELECT FROM sno_peek_feed('shown', NULL::shown)");
    assert_eq!(
        (refused.code().code(), refused.message()),
        ("42809", "feed cannot read materialized rows: \"public.old\"")
    );
}

/// The key of a view that is another one when it is computed for the third time, after the comparisons: it moves no feed.
#[test]
fn a_key_that_changes_while_it_is_read() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(SETUP);
    client.run(
        "CREATE FUNCTION lying(id sno) RETURNS sno IMMUTABLE LANGUAGE plpgsql AS $$
             BEGIN
                 PERFORM set_config('lying.calls', (current_setting('lying.calls')::integer + 1)::text, false);
                 RETURN CASE WHEN current_setting('lying.calls')::integer % 3 > 0 THEN id
                     ELSE nullif(current_setting('lying.third'), '')::sno END;
             END $$;
         CREATE VIEW lying AS SELECT lying(id) AS id, n FROM items WHERE n > 1; INSERT INTO items (n) VALUES (1), (2);
         SELECT sno_create_feed('lying', 'lying', margin => '0')",
    );
    next_tick();
    client.run("SELECT sno_seek_feed('lying', after => min(id)) FROM items");
    for third in ["SELECT ''", "SELECT 'xxxxxxxxxxxxxxxx'", "SELECT min(id)::text FROM items"] {
        for read in [
            "SELECT FROM sno_peek_feed('lying', NULL::lying, 1)",
            "INSERT INTO taken SELECT n FROM sno_feed('lying', NULL::lying, 1)",
        ] {
            client.run(&format!("SET lying.calls = 0; SELECT set_config('lying.third', ({third}), false)"));
            assert_eq!(code(&mut client, read), "42P17", "{third}: {read}");
        }
    }
    assert_eq!(
        text(
            &mut client,
            "SELECT position = min(id) FROM items, sno_feeds() WHERE feed = 'lying' GROUP BY position"
        ),
        "t"
    );
}
