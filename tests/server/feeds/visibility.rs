//! A statement gets no row that it does not see, and reads a feed once.

use sno_tests::{Mode, Server, Sql as _, code, stored, text};

use super::{INSERT, READ, meanwhile, next_tick, read, server};

/// How many rows the feed returns, and how many the statement that calls it sees, which began before they were committed:
/// it waits for a lock first.
const CALL: &str =
    "SELECT f.n || ' of ' || (SELECT count(*) FROM items) FROM (SELECT pg_advisory_lock_shared(1)::text AS lock OFFSET 0) wait,
    LATERAL (SELECT count(*) AS n FROM sno_feed('feed', NULL::items, 1 + length(lock))) f";

/// A statement gets no row that it does not see, whatever it is, so that joins find what was committed with the row.
#[test]
fn a_row_that_is_committed_while_the_caller_runs_is_for_the_next_call() {
    let server = server();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE results (result text); CREATE TABLE copy (LIKE items); CREATE TABLE events (n integer)",
    );
    let peek = CALL.replace("sno_feed", "sno_peek_feed");
    for (name, kind) in [
        ("stable", "plpgsql STABLE"),
        ("immutable", "plpgsql IMMUTABLE"),
        ("volatile", "plpgsql"),
        ("settings", "plpgsql SET search_path = public SET work_mem = '1MB'"),
    ] {
        client.run(&format!(
            "CREATE FUNCTION {name}() RETURNS text LANGUAGE {kind} AS $$ BEGIN RETURN ({peek}); END $$"
        ));
    }
    client.run(&format!(
        "CREATE FUNCTION stable_sql() RETURNS text LANGUAGE SQL STABLE AS $$ {peek} $$;
         CREATE FUNCTION of_feed(lock text) RETURNS SETOF items LANGUAGE plpgsql STABLE AS $$
             BEGIN RETURN QUERY SELECT * FROM sno_peek_feed('feed', NULL::items, 1 + length(lock)); END $$;
         CREATE PROCEDURE procedure() LANGUAGE plpgsql AS $$ BEGIN INSERT INTO results {CALL}; END $$;
         CREATE FUNCTION at_insert() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO results {CALL}; RETURN NULL; END $$;
         CREATE TRIGGER at_insert AFTER INSERT ON events EXECUTE FUNCTION at_insert()"
    ));
    let (feed, wait) = ("sno_feed('feed', NULL::items)", "pg_advisory_lock_shared(1)::text");
    let last = "SELECT result FROM results";
    let calls = [
        stored(CALL),
        format!("PREPARE call AS INSERT INTO results {CALL} RETURNING result; EXECUTE call"),
        format!("BEGIN; DECLARE c CURSOR FOR {peek}; FETCH c; COMMIT"),
        "SELECT stable()".into(),
        "SELECT immutable()".into(),
        "SELECT volatile()".into(),
        "SELECT settings()".into(),
        "SELECT stable_sql()".into(),
        format!("CALL procedure(); {last}"),
        format!("INSERT INTO events VALUES (1); {last}"),
        format!("DO $$ BEGIN INSERT INTO results {CALL}; END $$; {last}"),
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
        stored(&format!(
            "SELECT count(f.n + 1) || ' of ' || (SELECT count(*) FROM items)
             FROM (SELECT ({feed}).* FROM (SELECT {wait} OFFSET 0) wait OFFSET 0) f"
        )),
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
    next_tick();
    client.run(&format!("{INSERT} (2); SELECT pg_advisory_lock(1)"));
    let result = meanwhile(&server, &stored(CALL), || {
        writer.run("COMMIT");
        next_tick();
        client.run("SELECT pg_advisory_unlock_all()");
    });
    assert_eq!(result.as_deref(), Ok("0 of 1"));
    assert_eq!(read(&mut client), "1 2");
}

/// Where a batch ends, if the statement does not see all rows below the horizon: before the first such row.
#[test]
fn batches_that_are_not_all_visible() {
    const POSITION_IS_STORED: &str =
        "UPDATE sno_internal.feed_positions SET moved = moved - interval '1 min'";
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(1), n integer); CREATE TABLE taken (n integer); CREATE TABLE tagged (id sno NOT NULL, n integer);
         CREATE INDEX ON tagged (id)",
    );
    let one = &stored("SELECT count(*) FROM sno_feed('feed', NULL::items, 1)");
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
            "UPDATE sno_internal.feed_positions SET position = '2222222222222222'",
            "",
            "1 2 3",
        ),
        ("tagged", 3, &[1, 2, -3, 4], "", "", "1 1 2 2", "3 3 4 4"),
        ("tagged", 10, &[1, -2, 3], "", "", "1 1", "2 2 3 3"),
    ] {
        client.run(&format!(
            "TRUNCATE items, tagged; DELETE FROM sno_internal.feed_positions; SELECT sno_create_feed('feed', '{source}', key => 'id', margin => '0')"
        ));
        let mut writer = server.connect();
        writer.run("BEGIN");
        for &n in rows {
            let sql = format!(
                "WITH i AS ({INSERT} ({}) RETURNING *) INSERT INTO tagged SELECT i.* FROM i, generate_series(1, 2)",
                i32::abs(n)
            );
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
        let got = meanwhile(&server, &stored(&call), || {
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
    client.run(&format!("{INSERT} (1), (2), (3); {TWICE}"));
    next_tick();
    let one = "SELECT n FROM sno_feed('feed', NULL::items, 1)";
    for begin in ["BEGIN", "BEGIN; SAVEPOINT s"] {
        for twice in [&*format!("INSERT INTO taken {one} UNION ALL {one}"), AGAIN] {
            client.run(begin);
            assert_eq!(code(&mut client, twice), "40001", "{twice}");
            client.run("ROLLBACK");
        }
    }
    assert_eq!(read(&mut client), "1 2 3");
}

/// Reads a row, in a function that a statement calls before it reads the feed itself.
const TWICE: &str = "CREATE FUNCTION one() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO taken SELECT n FROM sno_feed('feed', NULL::items, 1); RETURN 1; END $$";
const AGAIN: &str = "INSERT INTO taken SELECT f.n FROM (SELECT one() OFFSET 0) o(one), LATERAL sno_feed('feed', NULL::items, one) f";

/// Also if the first call has nothing to return: the second one, whose horizon is later, could have rows that the first one does not know.
#[test]
fn twice_in_a_statement_without_rows() {
    let server = server();
    let mut client = server.connect();
    let none = "SELECT n FROM sno_feed('feed', NULL::items)";
    assert_eq!(code(&mut client, &format!("INSERT INTO taken {none} UNION ALL {none}")), "40001");
    // A statement after another is one of its own, in loops and in functions that others call.
    client.run(&format!("DO $$ BEGIN FOR i IN 1 .. 3 LOOP INSERT INTO taken {none}; END LOOP; END $$"));
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
    client.run(&format!("{INSERT} (1), (2); {TWICE}"));
    assert!(client.one::<bool>("SELECT pg_current_xact_id() > '4294967296'"));
    next_tick();
    assert_eq!(code(&mut client, AGAIN), "40001");
}
