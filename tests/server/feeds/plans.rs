//! What a call of `sno_feed()` costs, and keeps: each row is read once, queries are planned once, few locks are held, no memory is lost.

use sno_tests::postgres::Client;
use sno_tests::{Server, Sql as _, code, stored, text};

use super::{ATTACH, FAR, server};

/// How many plans of a session have a query that begins so, and how many of them are generic.
fn plans(client: &mut Client, query: &str) -> [i64; 2] {
    ["CachedPlanSource", "CachedPlan"].map(|name| {
        client.one(&format!(
            "SELECT count(*) FROM pg_backend_memory_contexts WHERE name = '{name}' AND ident LIKE '{query}%'"
        ))
    })
}

/// The SQLSTATE of a statement, or nothing if it succeeds.
fn outcome(client: &mut Client, sql: &str) -> String {
    match client.batch_execute(sql) {
        Ok(()) => String::new(),
        Err(error) => error.code().map(|code| code.code().to_owned()).unwrap_or_default(),
    }
}

/// Reads a feed until there is nothing more.
fn read_all(client: &mut Client, feed: &str, rows: &str) -> i64 {
    client.run("SELECT pg_sleep(0.01)");
    client.take(&format!("SELECT count(*) FROM sno_feed('{feed}', NULL::{rows}, 1000000)"))
}

#[test]
fn queries_are_planned_once() {
    let server = server();
    let mut client = server.connect();
    for _ in 0..5 {
        client.run("INSERT INTO items DEFAULT VALUES");
        assert_eq!(read_all(&mut client, "feed", "items"), 1);
        assert_eq!(read_all(&mut client, "feed", "items"), 0);
    }
    assert_eq!(plans(&mut client, "SELECT * FROM public.items"), [1, 1]);
    // Also by a wait, which has the same query. A plan that is not valid any more is another one.
    client.run("CALL sno_wait_feed('feed', '0')");
    client.run("ALTER TABLE items ADD m integer");
    client.run("INSERT INTO items DEFAULT VALUES");
    client.run("CALL sno_wait_feed('feed', '1 s')");
    assert_eq!(read_all(&mut client, "feed", "items"), 1);
    assert_eq!(plans(&mut client, "SELECT * FROM public.items"), [1, 1]);
    // Nor is it asked each time whose horizon counts. Autovacuum may change a table meanwhile.
    client.run("SET track_functions = 'all'; BEGIN");
    (0..20).for_each(|_| client.run("INSERT INTO taken SELECT n FROM sno_feed('feed', NULL::items)"));
    let asked: i64 = client.one(
        "SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_xact_user_functions WHERE funcname = 'check_source'",
    );
    assert!(asked < 5, "{asked} times");
    // The settings of these queries are not those of the next ones in the transaction.
    assert_eq!(text(&mut client, "SHOW enable_sort"), "on");
}

/// After an error the plan is in its place again.
#[test]
fn errors_lose_no_plan() {
    let server = server();
    let mut client = server.connect();
    client.run(
        "SELECT sno_track_changes('items'); SELECT sno_create_feed('changes', 'items_changes', margin => '0');
         INSERT INTO items (n) VALUES (0); ALTER TABLE items DISABLE TRIGGER sno_log; SELECT pg_sleep(0.01)",
    );
    client.run(
        "CREATE FUNCTION fails(sqlstate text, call text) RETURNS boolean LANGUAGE plpgsql AS $$
         BEGIN
             FOR i IN 1 .. 100 LOOP
                 BEGIN EXECUTE call; RETURN false;
                 EXCEPTION WHEN OTHERS THEN IF SQLSTATE <> fails.sqlstate THEN RAISE; END IF;
                 END;
             END LOOP;
             RETURN true;
         END $$",
    );
    let call =
        "SELECT fails('55000', 'INSERT INTO taken SELECT 1 FROM sno_feed(''changes'', NULL::items_changes)')";
    assert!(client.one::<bool>(call));
    let size = "SELECT sum(total_bytes)::bigint FROM pg_backend_memory_contexts";
    let before: i64 = client.one(size);
    for _ in 0..10 {
        assert!(client.one::<bool>(call));
        let block = "BEGIN; INSERT INTO taken SELECT 1 FROM sno_feed('changes', NULL::items_changes)";
        assert_eq!(code(&mut client, block), "55000");
        client.run("ROLLBACK");
        assert_eq!(code(&mut client, "CALL sno_wait_feed('changes', '1 s')"), "55000");
    }
    let grown = client.one::<i64>(size) - before;
    assert!(grown < 200_000, "{grown} bytes");
    assert_eq!(plans(&mut client, "SELECT * FROM public.items_changes")[0], 1);
}

/// More feeds than plans are kept for, in turn, and with each role its own plans.
#[test]
fn many_feeds_and_roles() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE ROLE one; CREATE ROLE two; CREATE TABLE taken (n integer); GRANT INSERT ON taken TO one, two",
    );
    for number in 1..=40 {
        client.run(&format!(
            "CREATE TABLE items_{number} (id sno PRIMARY KEY DEFAULT sno_new(1), n integer DEFAULT {number}); GRANT SELECT ON items_{number} TO one, two"
        ));
    }
    for role in ["one", "two"] {
        client.run(&format!(
            "SET ROLE {role}; SELECT sno_create_feed('feed ' || n, format('items_%s', n)::regclass, margin => '0') FROM generate_series(1, 40) n"
        ));
    }
    for _ in 0..2 {
        for number in 1..=40 {
            client.run(&format!(
                "RESET ROLE; INSERT INTO items_{number} DEFAULT VALUES; SELECT pg_sleep(0.005)"
            ));
            for role in ["one", "two"] {
                client.run(&format!("SET ROLE {role}"));
                let read =
                    stored(&format!("SELECT sum(n) FROM sno_feed('feed {number}', NULL::items_{number})"));
                assert_eq!(text(&mut client, &read), number.to_string(), "{role}");
            }
        }
    }
    client.run("RESET ROLE");
    assert!(plans(&mut client, "SELECT * FROM public.items")[0] <= 32);
}

/// A generic plan of a partitioned table would lock all partitions, whichever it reads; also if they came after it was made.
#[test]
fn locks_of_many_partitions() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE log (id sno PRIMARY KEY DEFAULT sno_new(1), n integer) PARTITION BY RANGE (id);
         SELECT sno_create_partitions('log', '1 hour', now(), now() + interval '1 hour');
         SELECT sno_create_feed('log', 'log', now(), margin => '0')",
    );
    let read = stored("SELECT count(*) FROM sno_feed('log', NULL::log)");
    client.run(&read);
    client.run(
        "SELECT sno_create_partitions('log', '1 hour', now() - interval '3 days', now() + interval '3 days')",
    );
    for (rows, insert) in [("0", ""), ("1", "INSERT INTO log DEFAULT VALUES;")] {
        for _ in 0..8 {
            client.run(insert);
            client.run("SELECT pg_sleep(0.01); BEGIN");
            assert_eq!(text(&mut client, &read), rows);
            // Others come once in a minute, when logs are looked for.
            let locks: i64 = client.one(
                "SELECT count(*) FROM pg_locks JOIN pg_inherits ON inhrelid = relation WHERE inhparent = 'log'::regclass AND pid = pg_backend_pid()",
            );
            client.run("COMMIT");
            assert!(locks < 10, "{locks} locks");
        }
    }
}

/// Each row is read once, and none that is not returned.
#[test]
fn rows_are_read_once() {
    let server = server();
    let mut client = server.connect();
    client.run("INSERT INTO items (n) SELECT generate_series(1, 100); SELECT pg_sleep(0.01)");
    for rows in [10, 20, 30] {
        client.run("INSERT INTO taken SELECT n FROM sno_feed('feed', NULL::items, 10)");
        client.run("SELECT pg_stat_force_next_flush()");
        let read: i64 = client.one("SELECT idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'items'");
        // One row more of each batch, to know that it ends with its ID.
        assert!((rows..=rows + rows / 10).contains(&read), "{read} of {rows}");
    }
}

/// A feed within what another feed reads, and a feed within itself: an owner can add columns to a view of changes.
#[test]
fn feeds_within_feeds() {
    let server = server();
    let mut client = server.connect();
    client.run(
        "CREATE FUNCTION inner_rows() RETURNS bigint LANGUAGE sql VOLATILE SET search_path = public AS $$
             WITH f AS MATERIALIZED (SELECT n FROM sno_feed('inner', NULL::items)), i AS (INSERT INTO taken TABLE f) SELECT count(*) FROM f $$;
         CREATE FUNCTION itself() RETURNS bigint LANGUAGE plpgsql VOLATILE SET search_path = public AS
             $$ BEGIN INSERT INTO taken SELECT n FROM sno_feed('itself', NULL::own_changes); RETURN 0; END $$;
         CREATE TABLE others (id serial PRIMARY KEY); CREATE TABLE own (id serial PRIMARY KEY); SELECT sno_track_changes('others'), sno_track_changes('own');
         CREATE OR REPLACE VIEW others_changes AS SELECT l.changed, l.id, NULL::others AS record, false AS deleted, inner_rows() AS n
             FROM others_log l WHERE sno_internal.check_changes('others');
         CREATE OR REPLACE VIEW own_changes AS SELECT l.changed, l.id, NULL::own AS record, false AS deleted, itself() AS n
             FROM own_log l WHERE sno_internal.check_changes('own');
         SELECT sno_create_feed('inner', 'items', margin => '0'), sno_create_feed('outer', 'others_changes', margin => '0'),
             sno_create_feed('itself', 'own_changes', margin => '0')",
    );
    for _ in 0..3 {
        client.run(
            "INSERT INTO items (n) VALUES (1), (2); INSERT INTO others SELECT FROM generate_series(1, 2); INSERT INTO own DEFAULT VALUES;
             SELECT pg_sleep(0.01)",
        );
        let read = "SELECT string_agg(n::text, ' ') FROM sno_feed('outer', NULL::others_changes)";
        assert_eq!(text(&mut client, &stored(read)), "2 0");
        let itself = "BEGIN; INSERT INTO taken SELECT n FROM sno_feed('itself', NULL::own_changes)";
        assert_eq!(code(&mut client, itself), "54001");
        client.run("ROLLBACK");
    }
}

/// What comes from other servers is asked once, and again when something has changed: in this session or in another one, also in a
/// transaction that sees nothing of it yet.
#[test]
fn foreign_rows_that_come_later() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(FAR);
    let (mut other, read) = (server.connect(), "SELECT count(*) FROM sno_peek_feed('feed', NULL::log)");
    let wait = "CALL sno_wait_feed('feed', '0')";
    for _ in 0..3 {
        for by_other in [false, true] {
            let both = |client: &mut Client| [read, wait].map(|call| outcome(client, call));
            assert_eq!(both(&mut client), [""; 2]);
            let by = if by_other { &mut other } else { &mut client };
            by.run(ATTACH);
            assert_eq!(both(&mut client), ["42809"; 2]);
            other.run("DROP FOREIGN TABLE log_far");
        }
        client.run("BEGIN; SAVEPOINT s");
        client.run(ATTACH);
        client.run("ROLLBACK TO s");
        client.run(read);
        client.run("COMMIT");
    }
    // A foreign table that has nothing to do with it, until it is attached.
    client.run("CREATE FOREIGN TABLE alone (id sno NOT NULL) SERVER far");
    assert_eq!(outcome(&mut client, read), "");
    client.run("ALTER TABLE log ATTACH PARTITION alone FOR VALUES FROM ('x222222222222222') TO (MAXVALUE)");
    assert_eq!(outcome(&mut client, read), "42809");
    // Nor is what is known of another source, which has the same place.
    client.run(
        "DO $$ BEGIN
             FOR n IN 1..1000 LOOP
                 EXECUTE format('CREATE TABLE near_%s (id sno PRIMARY KEY)', n);
                 IF format('near_%s', n)::regclass::oid::bigint % 32 = 'log'::regclass::oid::bigint % 32 THEN
                     EXECUTE format('ALTER TABLE near_%s RENAME TO near', n); RETURN;
                 END IF;
                 -- Otherwise some places would never come.
                 IF n % 2 = 1 THEN EXECUTE format('CREATE SCHEMA s_%s', n); END IF;
             END LOOP;
         END $$;
         SELECT sno_create_feed('near', 'near', margin => '0')",
    );
    // Which changes no catalog meanwhile.
    client.run("SELECT FROM sno_peek_feed('near', NULL::near)");
    assert_eq!(outcome(&mut client, read), "42809");
}

/// What is known of a source and one key says nothing of another key, which can be null since a moment ago.
#[test]
fn another_key_of_the_same_source() {
    let server = server();
    let mut client = server.connect();
    client.run(
        "ALTER TABLE items ADD other sno NOT NULL DEFAULT sno_new(2) UNIQUE; SELECT sno_create_feed('other', 'items', key => 'other');
         SELECT FROM sno_peek_feed('feed', NULL::items); SELECT FROM sno_peek_feed('other', NULL::items);
         ALTER TABLE items ALTER other DROP NOT NULL",
    );
    for _ in 0..2 {
        for (feed, expected) in [("feed", ""), ("other", "55000")] {
            for call in ["SELECT FROM sno_peek_feed('FEED', NULL::items)", "CALL sno_wait_feed('FEED', '0')"]
            {
                assert_eq!(outcome(&mut client, &call.replace("FEED", feed)), expected, "{feed}: {call}");
            }
        }
    }
}

/// What only an INSERT can set is checked by it, and the time of a position by its type: no UPDATE has to parse a condition.
#[test]
fn positions_are_checked() {
    let server = server();
    let mut client = server.connect();
    let insert =
        "INSERT INTO sno_internal.feed_positions (feed, owner, source, source_name, key, margin, moved)
                  VALUES ('new', current_user,";
    for values in [
        "'items', NULL, 'id', '101 years', now())",
        "'items', NULL, 'id', '-101 years', now())",
        "'items', 'items', 'id', '1 s', now())",
        "NULL, NULL, 'id', '1 s', now())",
        "'items', NULL, 'id', '1 s', 'infinity')",
    ] {
        assert_eq!(code(&mut client, &format!("{insert} {values}")), "23514", "{values}");
    }
    assert_eq!(code(&mut client, &format!("{insert} 'items', NULL, 'id', NULL, now())")), "23502");
    assert_eq!(code(&mut client, "UPDATE sno_internal.feed_positions SET moved = 'infinity'"), "23514");
    let checks = "SELECT count(*) FROM pg_constraint WHERE conrelid = 'sno_internal.feed_positions'::regclass AND contype = 'c'";
    assert_eq!(client.one::<i64>(checks), 0);
}

/// As long as a transaction is old, VACUUM removes no version of a feed's row; a call does not visit them.
#[test]
fn versions_of_a_feed_are_not_visited() {
    let server = Server::builder().conf("autovacuum", "off").start();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(1)); SELECT sno_create_feed('feed', 'items', margin => '0');
         INSERT INTO items (id) SELECT sno_new(1) FROM generate_series(1, 3020); SELECT pg_sleep(0.02)",
    );
    let mut old = server.connect();
    old.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_current_xact_id()");
    let mut read = |count: usize| {
        client.run(&format!(
            "DO $$ DECLARE last items; BEGIN FOR n IN 1..{count} LOOP
                 SELECT * INTO STRICT last FROM sno_peek_feed('feed', NULL::items, 1);
                 PERFORM sno_advance_feed('feed', last.id);
                 COMMIT;
             END LOOP; END $$"
        ));
        client.run("SELECT pg_stat_force_next_flush()");
        client.one::<i64>(
            "SELECT heap_blks_hit FROM pg_statio_all_tables WHERE relid = 'sno_internal.feed_positions'::regclass",
        )
    };
    let before = read(3000);
    let visited = read(20) - before;
    // By each call, of the few places in which the newest version can be.
    assert!(visited < 20 * 20, "{visited} pages");
}
