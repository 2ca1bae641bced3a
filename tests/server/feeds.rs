//! Feeds: `sno_feed()` returns each row once, whoever calls it and however, or says why not. What is done to it under
//! load is in `../faults/feeds.rs`.

use std::env;
use std::thread;
use std::time::Duration;

use sno_tests::postgres::{Client, SimpleQueryMessage};
use sno_tests::{Mode, Server, Sql as _, code, error, give_to_server, program, text, wait_until};

use crate::docs;

const SETUP: &str = "
    CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(1), n integer);
    SELECT sno_create_feed('feed', 'items', margin => '0');";

/// The numbers of the next rows, in their order.
const READ: &str = "SELECT coalesce(string_agg(n::text, ' '), '') FROM sno_feed('feed', NULL::items)";

const INSERT: &str = "INSERT INTO items (n) VALUES";

fn server() -> Server {
    let server = Server::builder().start();
    server.run(SETUP);
    server
}

/// A tick later, so that the horizon is after all rows that are committed.
fn next_tick() {
    thread::sleep(Duration::from_millis(8));
}

#[track_caller]
fn read(client: &mut Client) -> String {
    next_tick();
    text(client, READ)
}

/// Runs some SQL in one session, up to where it waits for a lock; then something else; the last value that it returned.
#[track_caller]
fn meanwhile(server: &Server, sql: &str, other: impl FnOnce()) -> Result<String, String> {
    let call = || {
        let messages = server.connect().simple_query(sql).map_err(|error| format!("{error:?}"))?;
        let mut values = messages.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        });
        Ok(values.next_back().unwrap_or_default())
    };
    crate::meanwhile(server, call, other)
}

/// How many rows the feed returns, and how many the statement that calls it sees, which began before they were committed:
/// it waits for a lock first.
const CALL: &str =
    "SELECT (SELECT count(*) FROM sno_feed('feed', NULL::items)) || ' of ' || (SELECT count(*) FROM items)
    FROM (SELECT pg_advisory_lock_shared(1) OFFSET 0) wait";

/// A statement gets no row that it does not see, whatever it is, so that joins find what was committed with the row.
#[test]
fn a_row_that_is_committed_while_the_caller_runs_is_for_the_next_call() {
    let server = server();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE results (result text); CREATE TABLE copy (LIKE items); CREATE TABLE events (n integer)",
    );
    client.run("CREATE EXTENSION dblink");
    for (name, kind) in [
        ("stable", "plpgsql STABLE"),
        ("immutable", "plpgsql IMMUTABLE"),
        ("volatile", "plpgsql"),
        ("settings", "plpgsql SET search_path = public SET work_mem = '1MB'"),
    ] {
        client.run(&format!(
            "CREATE FUNCTION {name}() RETURNS text LANGUAGE {kind} AS $$ BEGIN RETURN ({CALL}); END $$"
        ));
    }
    client.run(&format!(
        "CREATE FUNCTION stable_sql() RETURNS text LANGUAGE SQL STABLE AS $$ {CALL} $$;
         CREATE FUNCTION of_feed(lock text) RETURNS SETOF items LANGUAGE plpgsql STABLE AS $$
             BEGIN RETURN QUERY SELECT * FROM sno_feed('feed', NULL::items, 1 + length(lock)); END $$;
         CREATE PROCEDURE procedure() LANGUAGE plpgsql AS $$ BEGIN INSERT INTO results {CALL}; END $$;
         CREATE FUNCTION at_insert() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO results {CALL}; RETURN NULL; END $$;
         CREATE TRIGGER at_insert AFTER INSERT ON events EXECUTE FUNCTION at_insert()"
    ));
    let remote = server.connection_string();
    let (feed, wait) = ("sno_feed('feed', NULL::items)", "pg_advisory_lock_shared(1)::text");
    let last = "SELECT result FROM results";
    let calls = [
        CALL.to_owned(),
        format!("PREPARE call AS {CALL}; EXECUTE call"),
        format!("BEGIN; DECLARE c CURSOR FOR {CALL}; FETCH c; COMMIT"),
        format!("BEGIN; DECLARE c CURSOR WITH HOLD FOR {CALL}; COMMIT; FETCH c"),
        "SELECT stable()".into(),
        "SELECT immutable()".into(),
        "SELECT volatile()".into(),
        "SELECT settings()".into(),
        "SELECT stable_sql()".into(),
        format!("CALL procedure(); {last}"),
        format!("INSERT INTO events VALUES (1); {last}"),
        format!("DO $$ BEGIN INSERT INTO results {CALL}; END $$; {last}"),
        format!("SELECT * FROM dblink('{remote}', $$ {CALL} $$) r (result text)"),
        format!(
            "WITH wait AS MATERIALIZED (SELECT {wait} AS lock),
                  feed AS MATERIALIZED (SELECT f.* FROM wait, sno_feed('feed', NULL::items, 1 + length(lock)) f),
                  copied AS (INSERT INTO copy SELECT * FROM feed)
             SELECT count(*) || ' of ' || (SELECT count(*) FROM items) FROM feed"
        ),
        format!(
            "SELECT count(f.id) || ' of ' || count(items.id)
             FROM (SELECT {wait} AS lock OFFSET 0) wait, LATERAL of_feed(lock) f LEFT JOIN items ON items.id = f.id"
        ),
        format!(
            "SELECT count(f.n + 1) || ' of ' || (SELECT count(*) FROM items)
             FROM (SELECT ({feed}).* FROM (SELECT {wait} OFFSET 0) wait OFFSET 0) f"
        ),
    ];
    for call in &calls {
        client.run("TRUNCATE items, results; SELECT pg_advisory_lock(1)");
        let mut writer = server.connect();
        writer.run(&format!("BEGIN; {INSERT} (1)"));
        let result = meanwhile(&server, call, || {
            writer.run("COMMIT");
            next_tick();
            client.run("SELECT pg_advisory_unlock_all()");
        });
        assert_eq!(result.as_deref(), Ok("0 of 0"), "{call}");
        assert_eq!(read(&mut client), "1", "{call}");
    }
}

/// The same if neither the oldest transaction nor the latest one that has ended is another one by then.
#[test]
fn a_transaction_between_others_that_ends_while_the_caller_runs() {
    let server = server();
    let (mut client, mut oldest, mut writer) = (server.connect(), server.connect(), server.connect());
    oldest.run("BEGIN; SELECT pg_current_xact_id()");
    writer.run(&format!("BEGIN; {INSERT} (1)"));
    client.run("SELECT pg_current_xact_id(); SELECT pg_advisory_lock(1)");
    let result = meanwhile(&server, CALL, || {
        writer.run("COMMIT");
        next_tick();
        client.run("SELECT pg_advisory_unlock_all()");
    });
    assert_eq!(result.as_deref(), Ok("0 of 0"));
    assert_eq!(read(&mut client), "1");
}

/// In the order of the IDs, each row once, and never the end of a batch between equal keys.
#[test]
fn batches() {
    let server = server();
    let mut client = server.connect();
    // Some 200 rows in each tick.
    client.run(
        "INSERT INTO items SELECT sno_make('2026-01-01Z'::timestamptz + n / 200 * interval '4 ms', n % 3, 7, n), n
         FROM generate_series(1, 1000) n",
    );
    client.run("CREATE TABLE tags (item sno, tag integer); INSERT INTO tags SELECT id, t FROM items, generate_series(1, 5) t");
    client.run("CREATE VIEW tagged AS SELECT items.id, n, tag, sno_time(items.id) AS created_at FROM items JOIN tags ON item = items.id");
    client.run("SELECT sno_create_feed('tagged', 'tagged', key => 'id', margin => '0')");
    for (feed, size, batches) in [("feed', NULL::items", 33, 31), ("tagged', NULL::tagged", 33, 143)] {
        client.run("SELECT sno_seek_feed('feed', '-infinity'), sno_seek_feed('tagged', '-infinity')");
        client.run("CREATE TEMP TABLE got (id sno, n integer, batch integer, place serial)");
        for batch in 1..=batches + 1 {
            let copy = format!(
                "INSERT INTO got (id, n, batch) SELECT id, n, {batch} FROM sno_feed('{feed}, {size})"
            );
            let rows = client.execute(&*copy, &[]).unwrap();
            assert!(
                rows >= size && rows < size + 5 || batch >= batches,
                "{rows} rows of {feed} in batch {batch}"
            );
            assert!((rows > 0) == (batch <= batches), "{rows} rows of {feed} in batch {batch}");
        }
        for (wrong, query) in [
            (
                "order",
                "SELECT count(*) FROM (SELECT id < lag(id) OVER (ORDER BY place) AS back FROM got) g WHERE back",
            ),
            (
                "a key in two batches",
                "SELECT count(*) FROM (SELECT FROM got GROUP BY id HAVING count(DISTINCT batch) > 1) g",
            ),
            ("missing", "SELECT 1000 - count(DISTINCT id) FROM got"),
            ("twice", "SELECT count(*) % 1000 FROM got"),
        ] {
            assert_eq!(client.one::<i64>(query), 0, "{wrong}: {feed}, {size}");
        }
        client.run("DROP TABLE got");
    }
}

/// The first ID there is, the last row of a batch that is deleted, IDs of one tick with the position.
#[test]
fn ends_of_batches() {
    let server = server();
    let mut client = server.connect();
    client.run(
        "INSERT INTO items VALUES ('2222222222222222', 1), ('2222222222222223', 2), ('2222222222222224', 3)",
    );
    assert_eq!(read(&mut client), "1 2 3");
    // Up to a horizon that is given, as of the server that has generated these.
    client.run("INSERT INTO items VALUES ('4222222222222222', 9); SELECT sno_create_feed('given', 'items', margin => NULL)");
    let given = READ.replace("feed'", "given'").replace("items)", "items, 9, '3222222222222222')");
    assert_eq!((text(&mut client, &given), text(&mut client, &given)), ("1 2 3".into(), String::new()));
    client.run("DELETE FROM items WHERE n = 9; SELECT sno_drop_feed('given')");
    client.run("SELECT sno_seek_feed('feed', '-infinity')");
    for expected in ["1", "2", "3", ""] {
        assert_eq!(text(&mut client, &READ.replace("items)", "items, 1)")), expected);
    }
    client.run("SELECT sno_seek_feed('feed', after => '2222222222222222')");
    client.run("DELETE FROM items WHERE n = 3");
    assert_eq!(read(&mut client), "2");
    // Not beyond the horizon, and before its first ID.
    client.run("SELECT sno_seek_feed('feed', after => 'xxxxxxxxxxxxxxxx')");
    assert!(client.one::<bool>("SELECT position = sno_upper(sno_time(position)) FROM sno_feeds"));
    client.run(&format!("{INSERT} (4)"));
    assert_eq!(read(&mut client), "4");
}

/// What a transaction has read comes again if it is rolled back, and not if it commits.
#[test]
fn transactions() {
    let server = Server::builder().conf("max_prepared_transactions", "9").start();
    server.run(SETUP);
    let (mut client, mut other) = (server.connect(), server.connect());
    client.run(&format!("{INSERT} (1), (2), (3)"));
    let one = READ.replace("items)", "items, 1)");
    next_tick();
    client.run("BEGIN");
    assert_eq!((text(&mut client, &one), text(&mut client, &one)), ("1".into(), "2".into()));
    client.run("SAVEPOINT s");
    assert_eq!(text(&mut client, &one), "3");
    client.run("ROLLBACK TO s");
    assert_eq!(text(&mut client, &one), "3");
    client.run("ROLLBACK");
    // Prepared: others wait, and get the rows if it is rolled back.
    client.run(&format!("BEGIN; {one}; PREPARE TRANSACTION 'one'"));
    other.run("SET lock_timeout = '10ms'");
    assert_eq!(code(&mut other, &one), "55P03");
    // docs/runbook.md has a query that shows for whom.
    let page = docs::page("runbook.md");
    let [query] = &docs::blocks(docs::section(&page, "A feed that stands still"), "sql")[..] else {
        panic!("one query")
    };
    let prepared = format!("SELECT prepared FROM ({}) q", query.sql.trim_end().trim_end_matches(';'));
    assert_eq!(text(&mut other, &prepared), "one");
    let got = meanwhile(&server, &one, || client.run("ROLLBACK PREPARED 'one'"));
    assert_eq!(got.as_deref(), Ok("1"));
    client.run(&format!("BEGIN; {one}; PREPARE TRANSACTION 'two'"));
    let got = meanwhile(&server, &one, || client.run("COMMIT PREPARED 'two'"));
    assert_eq!((got.as_deref(), text(&mut client, &one)), (Ok(""), "3".into()));
    // A call that finds nothing waits for nobody.
    client.run("BEGIN; SELECT FROM sno_internal.feed_positions WHERE feed = 'feed' FOR UPDATE");
    assert_eq!(read(&mut other), "");
    client.run("ROLLBACK");
}

/// A consumer that stops in the middle of a batch gives back the rest, but no part of the rows of an ID.
#[test]
fn rows_that_are_given_back() {
    let server = server();
    let mut client = server.connect();
    client.run(&format!(
        "{INSERT} (1), (2), (3), (4), (5);
         CREATE TABLE tags (n integer, tag integer); INSERT INTO tags VALUES (1, 1), (2, 1), (2, 2), (3, 1), (4, 1), (5, 1);
         CREATE VIEW tagged AS SELECT items.id, items.n FROM items JOIN tags USING (n);
         SELECT sno_create_feed('tagged', 'tagged', margin => '0')"
    ));
    next_tick();
    let after = |feed: &str, n: i32| {
        format!("SELECT sno_seek_feed('{feed}', after => (SELECT id FROM items WHERE n = {n}))")
    };
    for end in ["ROLLBACK", "COMMIT"] {
        client.run("BEGIN");
        assert_eq!(text(&mut client, &READ.replace("items)", "items, 4)")), "1 2 3 4");
        client.run(&format!("{}; {end}", after("feed", 2)));
    }
    assert_eq!(read(&mut client), "3 4 5");
    let tagged = READ.replace("feed'", "tagged'").replace("items", "tagged");
    client.run("BEGIN");
    assert_eq!(text(&mut client, &tagged), "1 2 2 3 4 5");
    let refused = error(&mut client, &after("tagged", 2));
    assert_eq!(refused.code().code(), "55000");
    assert!(refused.message().starts_with("cannot give back rows of feed \"tagged\" after"), "{refused:?}");
    client.run("ROLLBACK; BEGIN; SAVEPOINT s");
    assert_eq!(text(&mut client, &tagged), "1 2 2 3 4 5");
    client.run(&format!("{}; COMMIT", after("tagged", 1)));
    assert_eq!(text(&mut client, &tagged), "2 2 3 4 5");
    // Whoever has not read them in this transaction knows what he does.
    client.run(&after("tagged", 2));
    assert_eq!(text(&mut client, &tagged), "3 4 5");
    // Nor has he who has read another role's feed of this name.
    client.run(
        "CREATE ROLE alice; GRANT SELECT ON items, tagged TO alice;
         SET ROLE alice; SELECT sno_create_feed('tagged', 'tagged', margin => '0'); RESET ROLE",
    );
    client.run("SELECT sno_seek_feed('tagged', '-infinity'); BEGIN");
    assert_eq!(text(&mut client, &tagged), "1 2 2 3 4 5");
    client.run(&format!("SET ROLE alice; {}; RESET ROLE; COMMIT", after("tagged", 2)));
}

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
         CREATE TABLE log (id sno) PARTITION BY RANGE (id);
         CREATE FOREIGN TABLE log_far PARTITION OF log FOR VALUES FROM ('2222222222222222') TO (MAXVALUE) SERVER far;
         CREATE EXTENSION dblink; CREATE VIEW by_dblink AS SELECT * FROM dblink('', '') AS row (id sno, n integer);
         CREATE TABLE dropped (LIKE items INCLUDING ALL); SELECT sno_create_feed('dropped', 'dropped'); DROP TABLE dropped;
         CREATE TABLE dropped (LIKE items INCLUDING ALL);
         SELECT sno_create_feed('given', 'items', margin => NULL)",
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
    let feed = "SELECT * FROM sno_feed('feed', NULL::items)";
    // For each SQLSTATE statements, and what they say.
    let statements = r#"
        25000 BEGIN ISOLATION LEVEL REPEATABLE READ; TABLE feed -> cannot read a feed in a transaction with isolation level REPEATABLE READ
        25000 BEGIN ISOLATION LEVEL SERIALIZABLE; TABLE feed -> cannot read a feed in a transaction with isolation level SERIALIZABLE
        25006 BEGIN READ ONLY; TABLE feed -> cannot read a feed in a read-only transaction
        22023 SELECT sno_feed('feed', NULL::items, 0) -> invalid size of a batch: 0
        22004 SELECT sno_feed('feed', NULL::items, NULL) -> size of a batch must not be null
        42704 SELECT sno_feed('none', NULL::items) -> feed "none" does not exist
        22004 SELECT sno_feed(NULL, NULL::items) -> name of a feed must not be null
        42804 SELECT sno_feed('feed', NULL::two) -> feed "feed" returns rows of "public.items", not of "public.two"
        42804 SELECT sno_feed('feed', 1) -> feed "feed" returns rows of "public.items", not of "integer"
        55000 SELECT sno_feed('given', NULL::items) -> horizon must be given for feed "given"
        22023 SELECT sno_feed('feed', NULL::items, 1, '2222222222222222') -> horizon cannot be given for feed "feed"
        42710 SELECT sno_create_feed('feed', 'items') -> feed "feed" already exists
        42809 CREATE TEMP TABLE passing (id sno PRIMARY KEY); create('passing') -> cannot create a feed of temporary rows: "passing"
        22004 create('items', NULL) -> name, source and start of a feed must not be null
        22004 create(NULL) -> name, source and start of a feed must not be null
        22004 SELECT sno_create_feed(NULL, 'items') -> name, source and start of a feed must not be null
        22023 create('items', '2070-01-01Z') -> feed cannot start in the future: "2070-01-01 00:00:00+00"
        22023 create('items', margin => '-1 s') -> margin must not be negative
        22023 SELECT sno_seek_feed('feed') -> either a time or an ID must be given
        22023 SELECT sno_seek_feed('feed', now(), '2222222222222222') -> either a time or an ID must be given
        22023 SELECT sno_seek_feed('feed', 'infinity') -> feed cannot start in the future: "infinity"
        42704 SELECT sno_seek_feed('none', '-infinity') -> feed "none" does not exist
        42704 SELECT sno_drop_feed('none') -> feed "none" does not exist
        42809 create('old') -> cannot create a feed of materialized rows: "public.old"
        42809 create('over_old') -> cannot create a feed of materialized rows: "public.old"
        42809 create('log') -> cannot create a feed of foreign rows: "public.log_far"
        42809 create('log', margin => NULL) -> cannot create a feed of foreign rows: "public.log_far"
        42809 create('by_dblink') -> cannot create a feed of foreign rows: "public.by_dblink"
        42809 create('by_dblink', margin => NULL) -> cannot create a feed of foreign rows: "public.by_dblink"
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
    assert_eq!(text(&mut client, "SELECT count(*) FROM sno_feed('deep', NULL::deep)"), "1");
    // A key of another type by now.
    client.run(
        "CREATE TABLE changed (id sno PRIMARY KEY); SELECT sno_create_feed('changed', 'changed');
         ALTER TABLE changed ALTER id TYPE uuid USING id::uuid",
    );
    assert_eq!(code(&mut client, "SELECT * FROM sno_feed('changed', NULL::changed)"), "42883");
    // Whatever asks for it: one state has one answer.
    let message = "source of feed \"dropped\" does not exist";
    for call in [
        "SELECT sno_feed('dropped', NULL::dropped)",
        "CALL sno_wait_feed('dropped', '0')",
        "CALL sno_wait_read('dropped', sno_upper('infinity'), '0')",
    ] {
        refused("postgres", call, "42P01", message);
    }
    client.run("SELECT sno_drop_feed('dropped')");
    // What belongs to another role.
    refused("bob", "SELECT sno_create_feed('x', 'hers')", "42501", "permission denied for \"public.hers\"");
    for call in ["sno_feed('hers', NULL::hers)", "sno_seek_feed('hers', now())", "sno_drop_feed('hers')"] {
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
         SELECT sno_create_feed(name, name::regclass) FROM unnest('{own,parts}'::text[]) name;
         CREATE SUBSCRIPTION s CONNECTION 'dbname=none' PUBLICATION p WITH (connect = false);
         INSERT INTO pg_subscription_rel SELECT oid, unnest('{items,part}'::regclass[]), 'r' FROM pg_subscription",
    );
    for (name, table) in [("feed", "items"), ("own", "own"), ("parts", "parts")] {
        let call = format!("SELECT * FROM sno_feed('{name}', NULL::{table})");
        refused("postgres", &call, "55000", &format!("horizon must be given for feed \"{name}\""));
        client.run(&call.replace(&format!("{table})"), &format!("{table}, 1, '2222222222222222')")));
    }
    for (source, table) in [("items", "items"), ("own", "items"), ("parts", "part")] {
        let message = format!("cannot create a feed of subscribed rows: \"public.{table}\"");
        refused("postgres", &format!("SELECT sno_create_feed('x', '{source}')"), "42809", &message);
    }
    // A partition of a partitioned table that is subscribed to as one table.
    client.run(
        "UPDATE pg_subscription_rel SET srrelid = 'parts'::regclass WHERE srrelid = 'part'::regclass;
         SELECT sno_create_feed('part', 'part', margin => NULL)",
    );
    for (name, table) in [("parts", "parts"), ("part", "part")] {
        let call = format!("SELECT * FROM sno_feed('{name}', NULL::{table})");
        refused("postgres", &call, "55000", &format!("horizon must be given for feed \"{name}\""));
    }
    let message = "cannot create a feed of subscribed rows: \"public.part\"";
    refused("postgres", "SELECT sno_create_feed('x', 'part')", "42809", message);
    client.run("DELETE FROM pg_subscription_rel; ALTER SUBSCRIPTION s DISABLE; ALTER SUBSCRIPTION s SET (slot_name = NONE); DROP SUBSCRIPTION s");
    client.run("CREATE OR REPLACE VIEW own AS SELECT * FROM items UNION ALL SELECT * FROM by_dblink");
    let call = "SELECT * FROM sno_feed('own', NULL::own)";
    refused("postgres", call, "42809", "cannot read a feed of foreign rows: \"public.by_dblink\"");
    client.run(
        "CREATE FOREIGN TABLE far_items (id sno, n integer) SERVER far;
         CREATE OR REPLACE VIEW own AS SELECT * FROM items UNION ALL SELECT * FROM far_items",
    );
    for horizon in ["", ", 1, '2222222222222222'"] {
        let call = format!("SELECT * FROM sno_feed('own', NULL::own{horizon})");
        refused("postgres", &call, "42809", "cannot read a feed of foreign rows: \"public.far_items\"");
    }
    // But not what its rules read when it is written to.
    client.run(
        "CREATE RULE also AS ON DELETE TO loose DO ALSO SELECT * FROM far_items;
         SELECT sno_create_feed('loose', 'loose', key => 'id')",
    );
    client.run("ALTER TABLE items RENAME id TO key");
    refused("postgres", feed, "42703", "column \"id\" does not exist");
    // A position that is not before the horizon, as after marks were removed and with a clock that is slow.
    client.run("ALTER TABLE items RENAME key TO id; UPDATE sno_internal.own_feeds SET position = 'xxxxxxxxxxxxxxxx' WHERE feed = 'feed'");
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

/// What other sessions do between the statements of a call.
#[test]
fn two_at_once() {
    let server = server();
    let (mut first, mut other) = (server.connect(), server.connect());
    // The feed is dropped while a consumer waits for it.
    first.run(&format!("{INSERT} (1)"));
    next_tick();
    first.run(&format!("BEGIN; {READ}"));
    let dropped = meanwhile(&server, READ, || first.run("SELECT sno_drop_feed('feed'); COMMIT"));
    assert_eq!((dropped.as_deref(), code(&mut first, READ).as_str()), (Ok(""), "42704"));

    // The consumer that is waited for goes beyond the horizon of the one that waits.
    first.run("SELECT sno_create_feed('feed', 'items', margin => '0')");
    next_tick();
    first.run(&format!("BEGIN; {READ}"));
    let later = meanwhile(&server, READ, || {
        other.run(&format!("{INSERT} (2)"));
        assert_eq!(read(&mut first), "2");
        first.run("COMMIT");
    });
    assert_eq!(later.as_deref(), Ok(""));
    assert_eq!(read(&mut first), "");

    // The table is replaced by another one of its name, after the call has looked the name up.
    other.run(&format!("{INSERT} (3); CREATE TABLE other (LIKE items INCLUDING ALL); INSERT INTO other SELECT id, n + 100 FROM items"));
    next_tick();
    first.run("SELECT pg_advisory_lock(1)");
    let slowly = format!(
        "BEGIN; {READ}; ROLLBACK; SELECT coalesce(string_agg(n::text, ' '), '')
         FROM (SELECT pg_advisory_lock_shared(1)::text AS lock OFFSET 0) wait, sno_feed('feed', NULL::items, 1 + length(lock))"
    );
    let replaced = meanwhile(&server, &slowly, || {
        first.run("BEGIN; LOCK items; SELECT pg_advisory_unlock(1)");
        let waits = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'relation')";
        wait_until("a call that waits for the table", || other.one(waits));
        first.run("ALTER TABLE items RENAME TO replaced; ALTER TABLE other RENAME TO items; COMMIT");
    });
    assert_eq!(replaced.as_deref(), Ok(""));
    first.run("DROP TABLE items; ALTER TABLE replaced RENAME TO items");
    assert_eq!(read(&mut first), "3");

    // The feed is set back while another call, which has found nothing, is about to store how far it has looked.
    first.run(
        "CREATE VIEW slow AS SELECT * FROM items WHERE (SELECT pg_advisory_lock_shared(1) IS NOT NULL);
         SELECT sno_create_feed('slow', 'slow', now(), margin => '0')",
    );
    let read_slow = READ.replace("feed'", "slow'").replace("items", "slow");
    first.run("UPDATE sno_internal.feed_positions SET moved = moved - interval '1 min' WHERE feed = 'slow'; SELECT pg_advisory_lock(1)");
    let nothing = meanwhile(&server, &read_slow, || {
        other.run("SELECT sno_seek_feed('slow', '-infinity')");
        first.run("SELECT pg_advisory_unlock(1)");
    });
    assert_eq!(nothing.as_deref(), Ok(""));
    assert_eq!(text(&mut first, &read_slow), "1 2 3");
}

/// Between the opening of the feed and the lock on its source.
#[test]
fn a_foreign_table_that_is_attached_meanwhile() {
    let server = Server::builder().start();
    let mut other = server.connect();
    other.run(
        "CREATE EXTENSION postgres_fdw; CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw;
         CREATE TABLE log (id sno NOT NULL) PARTITION BY RANGE (id);
         CREATE TABLE log_near PARTITION OF log FOR VALUES FROM (MINVALUE) TO ('x222222222222222');
         CREATE VIEW shown AS TABLE log; SELECT sno_create_feed('feed', 'shown', margin => '0');
         BEGIN; INSERT INTO log VALUES (sno_new(1)); COMMIT; BEGIN; LOCK TABLE log",
    );
    next_tick();
    let result = meanwhile(&server, "SELECT count(*) FROM sno_feed('feed', NULL::shown)", || {
        other.run(
            "CREATE FOREIGN TABLE log_far PARTITION OF log FOR VALUES FROM ('x222222222222222') TO (MAXVALUE) SERVER far; COMMIT",
        );
    });
    assert!(result.as_ref().is_err_and(|error| error.contains("E42809")), "{result:?}");
}

/// Where a batch ends, if the statement does not see all rows below the horizon: before the first such row.
#[test]
fn batches_that_are_not_all_visible() {
    const POSITION_IS_STORED: &str =
        "UPDATE sno_internal.feed_positions SET moved = moved - interval '1 min'";
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(1), n integer); CREATE TABLE tags (n integer, tag integer);
         CREATE VIEW tagged AS SELECT items.id, items.n FROM items JOIN tags USING (n)",
    );
    let one = "SELECT count(*) FROM sno_feed('feed', NULL::items, 1)";
    let again = "SELECT sno_seek_feed('feed', '-infinity')";
    let there_and_back = format!("{one}; {again}");
    // Rows below 0 are committed after the statement began.
    for (source, size, rows, before, meantime, expected, next) in [
        ("items", 10, &[-1][..], POSITION_IS_STORED, "", "", "1"),
        ("items", 10, &[], POSITION_IS_STORED, "INSERT INTO items (n) VALUES (5)", "", "5"),
        ("items", 10, &[-1, 2, 3], "", "", "", "1 2 3"),
        ("items", 2, &[1, -2, 3, 4], "", "", "1", "2 3 4"),
        ("items", 10, &[1, -2, 3, -4, 5], "", "", "1", "2 3 4 5"),
        ("items", 2, &[1, 2, -3, 4], "", "", "1 2", "3 4"),
        ("items", 10, &[1, 2, -3], "", "", "1 2", "3"),
        ("items", 10, &[1, 2, -3], "", "DELETE FROM items WHERE n = 2", "1 2", "3"),
        ("items", 10, &[1, 2, 3], "", "DELETE FROM items WHERE n = 2", "1 2 3", ""),
        ("items", 2, &[1, 2, 3, 4], "", "DELETE FROM items WHERE n > 2", "1 2", ""),
        ("items", 10, &[1, 2, 3], "", "UPDATE items SET n = 20 WHERE n = 2", "1 2 3", ""),
        ("items", 10, &[1, 2, 3], "", one, "", "2 3"),
        ("items", 10, &[1, 2, 3], "", again, "", "1 2 3"),
        ("items", 10, &[1, 2, 3], "", &there_and_back, "", "1 2 3"),
        (
            "items",
            10,
            &[1, 2, 3],
            "",
            "UPDATE sno_internal.own_feeds SET position = '2222222222222222'",
            "",
            "1 2 3",
        ),
        ("tagged", 3, &[1, 2, -3, 4], "", "", "1 1 2 2", "3 3 4 4"),
        ("tagged", 10, &[1, -2, 3], "", "", "1 1", "2 2 3 3"),
    ] {
        client.run(&format!(
            "TRUNCATE items, tags; DELETE FROM sno_internal.feed_positions; SELECT sno_create_feed('feed', '{source}', key => 'id', margin => '0')"
        ));
        let mut writer = server.connect();
        writer.run("BEGIN");
        for &n in rows {
            let sql =
                format!("{INSERT} ({0}); INSERT INTO tags SELECT {0}, generate_series(1, 2)", i32::abs(n));
            if n < 0 {
                writer.run(&sql)
            } else {
                client.run(&sql)
            }
            next_tick();
        }
        client.run(&format!("{before}; SELECT pg_advisory_lock(1)"));
        let call = format!(
            "SELECT coalesce(string_agg(f.n::text, ' '), '') FROM (SELECT pg_advisory_lock_shared(1)::text AS lock OFFSET 0) wait,
             LATERAL sno_feed('feed', NULL::{source}, {size} + length(lock)) f"
        );
        let got = meanwhile(&server, &call, || {
            writer.run("COMMIT");
            client.run(meantime);
            next_tick();
            client.run("SELECT pg_advisory_unlock_all()");
        });
        let read = READ.replace("items", source);
        assert_eq!(
            (got.as_deref(), &*text(&mut client, &read)),
            (Ok(expected), next),
            "{source} {size} {rows:?} {meantime}"
        );
    }
}

/// A statement reads a feed once: what it has read is not in its snapshot.
#[test]
fn twice_in_a_statement() {
    let server = server();
    let mut client = server.connect();
    client
        .run(&format!("{INSERT} (1), (2), (3); CREATE TABLE total (n bigint); INSERT INTO total VALUES (0)"));
    next_tick();
    let one = "SELECT count(*) FROM sno_feed('feed', NULL::items, 1)";
    for begin in ["BEGIN", "BEGIN; SAVEPOINT s"] {
        client.run(begin);
        assert_eq!(code(&mut client, &format!("{one} UNION ALL {one}")), "40001");
        client.run("ROLLBACK");
    }
    assert_eq!(code(&mut client, &format!("BEGIN; DECLARE a CURSOR FOR {one}; {one}; FETCH a")), "40001");
    client.run("ROLLBACK");
    // PostgreSQL evaluates a subquery again if its row has changed.
    client.run("BEGIN; UPDATE total SET n = 0");
    let add = format!("UPDATE total SET n = n + ({one} f WHERE f.n > total.n)");
    let again = meanwhile(&server, &add, || client.run("COMMIT"));
    assert!(again.unwrap_err().contains("statement cannot read feed \\\"feed\\\" again"));
    assert_eq!(read(&mut client), "1 2 3");
}

/// What has nothing to return can be called twice, also when it stores how far it has looked.
#[test]
fn twice_in_a_statement_without_rows() {
    let server = Server::builder().faketime(true).start();
    server.run(SETUP);
    server.advance_clock(11.0);
    let none = "(SELECT count(*) FROM sno_feed('feed', NULL::items))";
    assert_eq!(text(&mut server.connect(), &format!("SELECT {none} || ' ' || {none}")), "0 0");
    assert!(server.connect().one::<bool>("SELECT moved > clock_timestamp() - interval '5 s' FROM sno_feeds"));
}

/// From the transaction on whose number needs more than 32 bits, which is what a row has of it.
#[test]
fn twice_in_a_statement_after_four_billion_transactions() {
    let server = server();
    server.stop(Mode::Fast);
    let output = server.command("pg_resetwal").arg("--epoch=1").arg(server.data()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    server.start();
    let mut client = server.connect();
    client.run(&format!("{INSERT} (1), (2)"));
    assert!(client.one::<bool>("SELECT pg_current_xact_id() > '4294967296'"));
    next_tick();
    let one = "SELECT count(*) FROM sno_feed('feed', NULL::items, 1)";
    assert_eq!(code(&mut client, &format!("{one} UNION ALL {one}")), "40001");
}

/// A call that finds nothing writes nothing, except every 10 seconds, and one that finds something updates one row in place.
#[test]
fn what_is_written() {
    let server = server();
    let mut client = server.connect();
    client.run(&format!("{INSERT} (1)"));
    assert_eq!(read(&mut client), "1");
    client.run(&format!("BEGIN; {READ}"));
    assert!(client.one::<bool>("SELECT pg_current_xact_id_if_assigned() IS NULL"));
    client.run("ROLLBACK");
    // The server itself writes now and then.
    let lsn = "SELECT pg_current_wal_insert_lsn()::text";
    let idle = |client: &mut Client| {
        let before = text(client, lsn);
        (0..300).for_each(|_| client.run(READ));
        text(client, lsn) == before
    };
    assert!((0..5).any(|_| idle(&mut client)), "an idle call writes");
    let position = "SELECT position::text FROM sno_feeds";
    let (before, mut other) = (text(&mut client, position), server.connect());
    client.run("UPDATE sno_internal.feed_positions SET moved = moved - interval '11 s'");
    other.run("BEGIN; SELECT FROM sno_internal.feed_positions FOR UPDATE");
    client.run("SET lock_timeout = '10 s'");
    assert_eq!((read(&mut client), text(&mut client, position)), (String::new(), before.clone()));
    other.run("ROLLBACK");
    assert_eq!(read(&mut client), "");
    let after = text(&mut client, position);
    assert!(after > before);
    assert_eq!((read(&mut client), text(&mut client, position)), (String::new(), after));

    client.run(&format!("{INSERT} (2); SELECT pg_stat_force_next_flush()"));
    client.run("SELECT pg_stat_reset_single_table_counters('sno_internal.feed_positions'::regclass)");
    client.run("INSERT INTO items (n) SELECT generate_series(1, 1000)");
    next_tick();
    let one = READ.replace("items)", "items, 1)");
    (0..1001).for_each(|_| assert_ne!(text(&mut client, &one), ""));
    client.run("SELECT pg_stat_force_next_flush()");
    let updates = "SELECT n_tup_upd || ' ' || n_tup_hot_upd || ' ' || pg_relation_size(relid)
                   FROM pg_stat_user_tables WHERE relname = 'feed_positions'";
    assert_eq!(text(&mut client, updates), "1001 1001 8192");
}

/// From the place where the last call ended, by an index: big tables with statistics of long ago, partitions, views.
#[test]
fn plans() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE DOMAIN item AS sno;
         CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(1), n integer) WITH (autovacuum_enabled = off);
         INSERT INTO items (n) SELECT generate_series(1, 100); ANALYZE items;
         INSERT INTO items (n) SELECT generate_series(1, 200000);
         CREATE TABLE typed (id item PRIMARY KEY, n integer); INSERT INTO typed SELECT * FROM items;
         CREATE TABLE log (id sno PRIMARY KEY DEFAULT sno_new(1), n integer) PARTITION BY RANGE (id);
         SELECT sno_create_partitions('log', '1 day', now() - interval '3 days', now() + interval '2 days');
         INSERT INTO log SELECT sno_new(1, now() - n * interval '1 s'), n FROM generate_series(1, 200000) n;
         CREATE VIEW odd AS SELECT sno_time(id) AS created_at, * FROM items WHERE n % 2 = 1",
    );
    next_tick();
    client.run("SELECT sno_create_feed(name, name::regclass, now(), margin => '0') FROM unnest('{items,typed,log,odd}'::text[]) name");
    for table in ["items", "typed", "log"] {
        client.run(&format!("INSERT INTO {table} SELECT sno_new(1), generate_series(1, 10)"));
    }
    client.run("LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET auto_explain.log_nested_statements = on");
    for (name, tables, rows) in
        [("items", "items", 10), ("typed", "typed", 10), ("log", "log_", 10), ("odd", "items", 5)]
    {
        for (start, rows) in [("", rows), ("-infinity", 1000)] {
            if !start.is_empty() {
                client.run(&format!("SELECT sno_seek_feed('{name}', '{start}')"));
            }
            next_tick();
            let before = server.log().len();
            let call = format!("SELECT count(*) FROM sno_feed('{name}', NULL::{name})");
            assert_eq!(client.one::<i64>(&call), rows, "{name}");
            let log = server.log()[before..].to_owned();
            // By the first ID that was not read.
            let is_range = |line: &&str| line.contains("Index Cond: ((") && line.contains(" >= ");
            let indexed = log.lines().filter(is_range).count();
            assert!(
                indexed > 0 && !log.contains(&format!("Seq Scan on {tables}")) && !log.contains("Sort  ("),
                "{log}"
            );
        }
    }
}

/// The line for a shell in docs/feeds.md.
#[test]
fn lines_of_json() {
    let server = Server::builder().start();
    server.run(
        "CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(1), payload text);
         SELECT sno_create_feed('export', 'events', margin => '0');
         INSERT INTO events VALUES ('2222222222222222', 'a \"b\"'), ('2222222222222223', E'c\nd')",
    );
    let page = docs::page("feeds.md");
    let [line] = &docs::blocks(docs::section(&page, "Feeds"), "sh")[..] else { panic!("one line") };
    let print = || {
        let mut path = vec![program("")];
        path.extend(env::split_paths(&env::var_os("PATH").unwrap()));
        let mut shell = server.command("/bin/sh");
        let output =
            shell.args(["-c", line.sql]).env("PATH", env::join_paths(path).unwrap()).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let expected = r#"{"id":"2222222222222222","payload":"a \"b\""}
{"id":"2222222222222223","payload":"c\nd"}
"#;
    assert_eq!((print().as_str(), print().as_str()), (expected, ""));
}

/// By the caller's rights, and by membership in the role that created the feed.
#[test]
fn rights() {
    let server = server();
    let mut client = server.connect();
    client.run(
        "CREATE ROLE alice LOGIN; CREATE ROLE bob LOGIN; CREATE ROLE carol LOGIN IN ROLE alice;
         GRANT SELECT, INSERT ON items TO alice; SELECT sno_drop_feed('feed');
         ALTER TABLE items ENABLE ROW LEVEL SECURITY; CREATE POLICY even ON items USING (n % 2 = 0) WITH CHECK (true);
         INSERT INTO items (n) SELECT generate_series(1, 6)",
    );
    let (mut alice, mut bob, mut carol) =
        (server.connect_as("alice"), server.connect_as("bob"), server.connect_as("carol"));
    alice.run("SELECT sno_create_feed('feed', 'items', margin => '0')");
    assert_eq!(read(&mut carol), "2 4 6");
    assert_eq!(text(&mut carol, "SELECT feed || ' ' || owner FROM sno_feeds"), "feed alice");
    // Everybody sees where feeds are, and nobody else can move, lock or drop them.
    assert_eq!(text(&mut bob, "SELECT count(*) FROM sno_feeds WHERE lag < '1 min'"), "1");
    for sql in [
        "UPDATE sno_internal.feed_positions SET position = NULL",
        "DELETE FROM sno_internal.feed_positions",
        "INSERT INTO sno_internal.feed_positions (feed, source, key) VALUES ('x', 'items', 'id')",
        "INSERT INTO sno_internal.own_feeds (feed, source, key, owner) VALUES ('x', 'items', 'id', 'alice')",
        "INSERT INTO sno_internal.own_feeds (feed, source, key) VALUES ('x', 'items', 'id')",
        // Would lock the row of another's feed.
        "INSERT INTO sno_internal.own_feeds (feed, source, key, margin) VALUES ('feed', 'items', 'id', '1 s')
             ON CONFLICT (feed, owner) DO UPDATE SET position = NULL WHERE false",
        "UPDATE sno_internal.own_feeds SET owner = 'bob'",
        "DELETE FROM sno_internal.own_feeds",
        "DELETE FROM sno_internal.dropped_feeds",
        "SELECT FROM sno_internal.feed_positions FOR UPDATE",
        "LOCK sno_internal.feed_positions IN ROW EXCLUSIVE MODE",
        "LOCK sno_internal.own_feeds IN ROW EXCLUSIVE MODE",
        "LOCK sno_internal.new_feeds IN ROW EXCLUSIVE MODE",
        "LOCK sno_internal.dropped_feeds IN ROW EXCLUSIVE MODE",
        "LOCK sno_feeds IN ROW EXCLUSIVE MODE",
        "TRUNCATE sno_internal.feed_positions",
    ] {
        assert_eq!(code(&mut bob, &format!("BEGIN; {sql}")), "42501", "{sql}");
        bob.run("ROLLBACK");
    }
    for sql in [
        "UPDATE sno_internal.own_feeds SET position = NULL",
        "UPDATE sno_internal.dropped_feeds SET feed = feed",
        "UPDATE sno_internal.own_feeds SET moved = now() WHERE feed = 'feed'",
        "SELECT FROM sno_internal.own_feeds FOR UPDATE",
    ] {
        assert_eq!(bob.execute(sql, &[]).unwrap(), 0, "{sql}");
    }
    // A feed of a table that the role may not read.
    let insert =
        "INSERT INTO sno_internal.new_feeds (feed, source, key, margin) VALUES ('x', 'items', 'id', '1 s')";
    assert_eq!(code(&mut bob, insert), "44000");
    alice.run("INSERT INTO items (n) VALUES (8)");
    assert_eq!(read(&mut alice), "8");
    // What would make the times of all feeds an error.
    for (sql, expected) in [
        ("UPDATE sno_internal.own_feeds SET moved = 'infinity'", "23514"),
        ("SELECT sno_create_feed('wide', 'items', margin => '170000000 years')", "22023"),
        (
            "INSERT INTO sno_internal.new_feeds (feed, source, key, margin) VALUES ('x', 'items', 'id', '-170000000 years')",
            "23514",
        ),
    ] {
        assert_eq!(code(&mut alice, sql), expected, "{sql}");
    }
    // Whatever the margin of a feed, everybody sees what holds the others back.
    alice.run("SELECT sno_create_feed('wide', 'items', margin => '100 years')");
    alice.run("BEGIN; SELECT sno_new()");
    assert_eq!(text(&mut bob, "SELECT count(*) FROM sno_feeds"), "2");
    alice.run("COMMIT");
    // Who may use the feed but not the table reads nothing.
    client.run("REVOKE SELECT ON items FROM alice");
    assert_eq!(code(&mut alice, READ), "42501");
    client.run("GRANT SELECT ON items TO bob");
    assert_eq!(code(&mut bob, READ), "42501");
    carol.run("SELECT sno_drop_feed('feed')");

    // A role whose name differs from another's in upper case alone.
    client.run(r#"CREATE ROLE "Bob" LOGIN; GRANT SELECT ON items TO "Bob""#);
    let mut upper = server.connect_as("Bob");
    upper.run("SELECT sno_create_feed('feed', 'items', margin => '0')");
    assert_eq!(read(&mut upper), "2 4 6 8");
    assert_eq!(code(&mut bob, READ), "42501");
    assert_eq!(code(&mut bob, "SELECT sno_seek_feed('feed', '-infinity')"), "42501");
    upper.run("SELECT sno_seek_feed('feed', '-infinity'), sno_drop_feed('feed')");
}

/// Names that need quotes, and an extension that is in no path; what others put in front of PostgreSQL's names: `schemas.rs`.
#[test]
fn names_and_paths() {
    let server = Server::builder().extension(false).start();
    let mut client = server.connect();
    client.run(
        r#"CREATE SCHEMA "Ex t%s"; CREATE EXTENSION sno SCHEMA "Ex t%s"; CREATE SCHEMA "S '1 %1$s";
           SET search_path = "Ex t%s";
           CREATE TABLE "S '1 %1$s"."Ev""il; --" ("k ""e%I" sno PRIMARY KEY DEFAULT sno_new(1), n integer);
           RESET search_path"#,
    );
    let (table, feed) = (r#""S '1 %1$s"."Ev""il; --""#, "f''\"%1$s");
    let call = format!(r#"SELECT string_agg(n::text, ' ') FROM "Ex t%s".sno_feed('{feed}', NULL::{table})"#);
    client.run(&format!("INSERT INTO {table} (n) VALUES (1), (2)"));
    let create = format!(
        r#"SELECT "Ex t%s".sno_create_feed('{feed}', '{}', margin => '0')"#,
        table.replace('\'', "''")
    );
    client.run(&create);
    next_tick();
    assert_eq!(text(&mut client, &call), "1 2");
    client.run(r#"UPDATE sno_internal.feed_positions SET moved = moved - interval '1 min'"#);
    client.run(&call);
    assert!(
        client.one::<bool>(
            r#"SELECT lag < '1 min' AND moved > now() - interval '1 min' FROM "Ex t%s".sno_feeds"#
        )
    );
    client.run(&format!(r#"SELECT "Ex t%s".sno_seek_feed('{feed}', '-infinity')"#));
    assert_eq!(text(&mut client, &call.replace(&format!("{table})"), &format!("{table}, 1)"))), "1");
    client.run(&format!(r#"SELECT "Ex t%s".sno_drop_feed('{feed}')"#));
    client.run(&format!("DELETE FROM {table}"));
    // Others' functions in the schema of the extension, which fit calls with fewer arguments better.
    client.run(
        r#"CREATE FUNCTION "Ex t%s".sno_seek_feed(text, timestamptz) RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$"#,
    );
    client.run(&format!(
        r#"SELECT "Ex t%s".sno_create_feed('typed', '{}', margin => '0'), "Ex t%s".sno_drop_feed('typed')"#,
        table.replace('\'', "''")
    ));
}

/// Functions in a view find what they name by the caller's path, when the feed is created, read, and given back.
#[test]
fn views_that_rely_on_a_path() {
    let server = server();
    let mut client = server.connect();
    client.run(
        "CREATE SCHEMA app; SET search_path = app, public; CREATE TYPE state AS ENUM ('new');
         CREATE FUNCTION is_new(n integer) RETURNS boolean LANGUAGE sql STABLE AS $$ SELECT n > 0 AND 'new'::state = 'new' $$;
         CREATE VIEW news AS SELECT * FROM items WHERE is_new(n);
         SELECT sno_create_feed('news', 'news', margin => '0'); INSERT INTO items (n) VALUES (0), (1), (2)",
    );
    next_tick();
    let read = "SELECT string_agg(n::text, ' ') || ' ' || min(id)::text FROM sno_feed('news', NULL::news)";
    client.run("BEGIN");
    let rows = text(&mut client, read);
    let (rows, first) = rows.rsplit_once(' ').unwrap();
    assert_eq!(rows, "1 2");
    client.run(&format!("SELECT sno_seek_feed('news', after => '{first}'); COMMIT"));
    assert!(text(&mut client, read).starts_with("2 "));
    client.run("RESET search_path");
    assert_eq!(code(&mut client, "SELECT sno_create_feed('lost', 'app.news')"), "42704");
}

/// Positions are dumped with the rows, whoever dumps and whoever restores.
#[test]
fn dumps() {
    let (server, elsewhere) =
        (Server::builder().extension(false).start(), Server::builder().extension(false).start());
    server.run("CREATE ROLE alice LOGIN; CREATE ROLE dumper LOGIN IN ROLE pg_read_all_data");
    server.run("CREATE DATABASE source OWNER alice");
    let connect = |server: &Server, user: &str, database: &str| {
        server.config().user(user).dbname(database).connect(sno_tests::postgres::NoTls).unwrap()
    };
    let mut alice = connect(&server, "alice", "source");
    alice.run("CREATE EXTENSION sno");
    alice.run(SETUP);
    alice.run(
        "CREATE TABLE gone (id sno PRIMARY KEY); SELECT sno_create_feed('gone', 'gone'); DROP TABLE gone;
         CREATE TEMP TABLE passing (id sno PRIMARY KEY);
         INSERT INTO sno_internal.new_feeds (feed, source, key, margin)
             VALUES ('passing', 'passing', 'id', '1 s'), ('index', 'items_pkey', 'id', '1 s')",
    );
    alice.run(&format!("{INSERT} (1), (2)"));
    assert_eq!(read(&mut alice), "1 2");
    alice.run(&format!("{INSERT} (3)"));
    elsewhere.run("CREATE ROLE carol LOGIN");
    let folder = tempfile::Builder::new().prefix("dump").tempdir_in(server.socket_folder()).unwrap();
    give_to_server(folder.path());
    for (number, (dumper, restorer, server_to)) in [
        ("alice", "alice", &server),
        ("dumper", "alice", &server),
        ("postgres", "postgres", &server),
        ("postgres", "postgres", &elsewhere),
        ("dumper", "carol", &elsewhere),
    ]
    .into_iter()
    .enumerate()
    {
        let file = folder.path().join(number.to_string());
        let run = |server: &Server, user: &str, program: &str, arguments: &[&str]| {
            let output = server.command(program).env("PGUSER", user).args(arguments).output().unwrap();
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.success() && errors.is_empty(),
                "{program} {arguments:?} by {user}: {errors}"
            );
        };
        let file = file.to_str().unwrap();
        run(&server, dumper, "pg_dump", &["-d", "source", "--format", "custom", "--file", file]);
        let target = format!("target{number}");
        server_to.run(&format!("CREATE DATABASE {target} OWNER {restorer}"));
        let mut arguments = vec!["-d", &target, "--exit-on-error", file];
        if !std::ptr::eq(server_to, &server) {
            arguments.extend(["--no-owner", "--no-privileges"]);
        }
        run(server_to, restorer, "pg_restore", &arguments);
        let mut client = connect(server_to, restorer, &target);
        assert_eq!(text(&mut client, "SELECT string_agg(feed, ' ') FROM sno_feeds"), "feed");
        assert_eq!(read(&mut client), "3", "{dumper}, {restorer}");
        client.run("SELECT sno_drop_feed('feed')");
    }
}

/// Each feed is found again by the name that its source had when it was dumped, whatever else is missing.
#[test]
fn partial_restores() {
    let server = Server::builder().extension(false).start();
    let folder = tempfile::Builder::new().prefix("dump").tempdir_in(server.socket_folder()).unwrap();
    give_to_server(folder.path());
    let tables = "CREATE SCHEMA logs;
        CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(1), n integer);
        CREATE TABLE logs.entries (LIKE items INCLUDING ALL);
        CREATE VIEW few AS SELECT * FROM items WHERE n > 0;
        CREATE TABLE after (LIKE items INCLUDING ALL); CREATE TABLE \"Old 'one'\" (LIKE items INCLUDING ALL);
        CREATE TABLE swapped (LIKE items INCLUDING ALL)";
    // Feeds, with what they read now, and then.
    let feeds = [
        ("items", "items", "items"),
        ("entries", "logs.entries", "logs.entries"),
        ("few", "few", "few"),
        ("renamed", "before", "after"),
        ("swapped", "swapped", "\"Old 'one'\""),
    ];
    let create = |feed: &str, source: &str, since: &str| {
        format!("SELECT sno_create_feed('{feed}', '{}'{since}, margin => '0');", source.replace('\'', "''"))
    };
    server.run("CREATE DATABASE source");
    let mut client = server.connect_to("source");
    client.run("CREATE EXTENSION sno");
    // With the names of before.
    client.run(
        &tables
            .replace("TABLE after", "TABLE before")
            .replace("swapped", "n")
            .replace("\"Old 'one'\"", "swapped"),
    );
    client.run(
        "INSERT INTO items (n) VALUES (1), (2); INSERT INTO logs.entries TABLE items; INSERT INTO before TABLE items; INSERT INTO swapped TABLE items",
    );
    next_tick();
    for (feed, source, _) in feeds {
        client.run(&create(feed, source, ""));
        client.run(&format!("SELECT FROM sno_feed('{feed}', NULL::{source})"));
    }
    client.run(
        "INSERT INTO items (n) VALUES (3); INSERT INTO logs.entries SELECT * FROM items WHERE n = 3;
         INSERT INTO before SELECT * FROM items WHERE n = 3; INSERT INTO swapped SELECT * FROM items WHERE n = 3;
         ALTER TABLE before RENAME TO after;
         ALTER TABLE swapped RENAME TO \"Old 'one'\"; ALTER TABLE n RENAME TO swapped",
    );
    let run = |program: &str, arguments: &[&str]| {
        let output = server.command(program).args(arguments).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && errors.is_empty(), "{program} {arguments:?}: {errors}");
    };
    let migrations = |since: &str| {
        let feeds: String = feeds.iter().map(|(feed, _, source)| create(feed, source, since)).collect();
        format!("CREATE EXTENSION sno; {tables}; {feeds}")
    };
    for (number, (dump, before, restore, missing)) in [
        (&[][..], String::new(), &[][..], false),
        (&[], String::new(), &["-j", "2"], false),
        (&["--rows-per-insert=2"], String::new(), &[], false),
        (&["-N", "logs"], String::new(), &[], true),
        (&["-T", "logs.entries"], String::new(), &[], true),
        (&[], String::new(), &["-N", "logs"], true),
        (&["-a"], migrations(""), &[], false),
        (&["-a"], migrations(", now()"), &[], false),
        (&["-a"], format!("CREATE EXTENSION sno; {tables}"), &["--disable-triggers"], false),
    ]
    .into_iter()
    .enumerate()
    {
        let file = folder.path().join(number.to_string());
        let file = file.to_str().unwrap();
        run("pg_dump", &[&["-d", "source", "-F", "custom", "-f", file], dump].concat());
        let target = format!("target{number}");
        server.run(&format!("CREATE DATABASE {target}"));
        let mut client = server.connect_to(&target);
        client.run(&before);
        run("pg_restore", &[&["-d", &target, "--exit-on-error"], restore, &[file]].concat());
        if missing {
            assert_eq!(
                code(&mut client, "CREATE TABLE t (); SELECT FROM sno_feed('entries', NULL::t)"),
                "42P01"
            );
            assert_eq!(text(&mut client, "SELECT count(*) FROM sno_feeds WHERE source IS NULL"), "1");
            // It goes on once it is there.
            run("pg_dump", &["-d", "source", "-F", "custom", "-f", file, "-n", "logs"]);
            client.run("DROP SCHEMA IF EXISTS logs CASCADE");
            run("pg_restore", &["-d", &target, "--exit-on-error", file]);
        }
        for (feed, _, source) in feeds {
            let call = READ.replace("feed'", &format!("{feed}'")).replace("::items", &format!("::{source}"));
            assert_eq!(text(&mut client, &call), "3", "{feed} {dump:?} {restore:?} {before}");
        }
    }
}

/// Two roles can have feeds of one name, and who is a member of both says which one is meant.
#[test]
fn one_name_of_several_roles() {
    let server = server();
    let mut client = server.connect();
    client.run(
        "CREATE ROLE alice LOGIN; CREATE ROLE bob LOGIN; CREATE ROLE carol LOGIN IN ROLE alice, bob;
         GRANT SELECT ON items TO PUBLIC; GRANT INSERT ON items TO bob; SELECT sno_drop_feed('feed')",
    );
    let (mut alice, mut bob, mut carol) =
        (server.connect_as("alice"), server.connect_as("bob"), server.connect_as("carol"));
    let create = "SELECT sno_create_feed('feed', 'items', margin => '0')";
    alice.run(create);
    bob.run(&format!("{INSERT} (1)"));
    assert_eq!(read(&mut carol), "1");
    bob.run(create);
    for sql in [READ, "SELECT sno_seek_feed('feed', now())", "SELECT sno_drop_feed('feed')"] {
        let refused = error(&mut carol, sql);
        assert_eq!(
            (refused.code().code(), refused.message()),
            ("42P09", "several roles have a feed \"feed\"")
        );
    }
    carol.run("SET ROLE bob");
    assert_eq!(read(&mut carol), "1");
    carol.run("RESET ROLE");
    carol.run(create);
    assert_eq!(
        (read(&mut carol), read(&mut alice), read(&mut bob)),
        ("1".into(), String::new(), String::new())
    );
    carol.run("SELECT sno_drop_feed('feed')");
    assert_eq!(text(&mut client, "SELECT string_agg(owner, ' ' ORDER BY owner) FROM sno_feeds"), "alice bob");
    // Nobody fills the table.
    let many = "SELECT sno_create_feed('feed ' || n, 'items') FROM generate_series(1, 1000) n";
    let refused = error(&mut bob, many);
    assert_eq!((refused.code().code(), refused.message()), ("53400", "role \"bob\" has too many feeds"));
    let many = "INSERT INTO sno_internal.new_feeds SELECT 'feed ' || n, 'items', 'id', NULL FROM generate_series(1, 1000) n";
    assert_eq!(code(&mut bob, many), "53400");
    bob.run(&many.replace("1000", "999"));
    assert_eq!(code(&mut bob, "SELECT sno_create_feed('another', 'items')"), "53400");
    alice.run("SELECT sno_create_feed('another', 'items')");
    // The function that a restore needs is of no use to others.
    bob.run("CREATE TEMP TABLE trap (LIKE sno_internal.feed_positions)");
    assert_eq!(
        code(
            &mut bob,
            "CREATE TRIGGER t BEFORE INSERT ON trap FOR EACH ROW EXECUTE FUNCTION sno_internal.add_feed()"
        ),
        "42501"
    );
    assert_eq!(
        code(&mut bob, "INSERT INTO sno_internal.new_feeds (feed, key) VALUES ('feed', 'id')"),
        "23514"
    );
    // A row that is no feed; columns that the role may not read.
    assert_eq!(
        code(&mut alice, "INSERT INTO sno_internal.new_feeds VALUES ('x', 'items', 'none', NULL)"),
        "44000"
    );
    client.run("REVOKE SELECT ON items FROM PUBLIC; GRANT SELECT (id) ON items TO alice");
    let refused = error(&mut alice, "SELECT sno_create_feed('x', 'items')");
    assert_eq!(
        (refused.code().code(), refused.message()),
        ("42501", "permission denied for \"public.items\"")
    );
    client.run("GRANT SELECT (id, n) ON items TO alice");
    alice.run("SELECT sno_create_feed('x', 'items')");
}
