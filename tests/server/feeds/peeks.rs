//! Reading and acknowledging apart: `sno_peek_feed()` moves nothing, `sno_advance_feed()` says what is done.

use sno_tests::{Server, Sql as _, code, error, text};

use super::{INSERT, SETUP, meanwhile, next_tick, server};

/// The numbers of the next rows, of a feed that stays where it is.
const PEEK: &str = "SELECT coalesce(string_agg(n::text, ' '), '') FROM sno_peek_feed('feed', NULL::items)";

/// Where the feed is, and which transaction has stored that.
const PLACE: &str =
    "SELECT concat(position, ' ', moved, ' ', xmin) FROM sno_internal.feed_positions WHERE feed = 'feed'";

/// The statement that says that the rows up to a number are done.
fn advance(n: i32) -> String {
    format!("SELECT sno_advance_feed('feed', (SELECT id FROM items WHERE n = {n}))")
}

/// Whatever a program does with the rows: they come again until it says that they are done, and nothing is stored.
#[test]
fn programs_that_lose_nothing() {
    let server = server();
    let mut client = server.connect();
    client.run(
        "INSERT INTO items (n) SELECT generate_series(1, 10); CREATE TABLE copy (LIKE items);
         CREATE VIEW first AS SELECT * FROM sno_peek_feed('feed', NULL::items) LIMIT 1;
         CREATE PROCEDURE fails() LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN
             FOR r IN SELECT * FROM sno_peek_feed('feed', NULL::items) LOOP
                 INSERT INTO copy VALUES (r.id, r.n); COMMIT; IF r.n = 4 THEN RAISE 'failed'; END IF;
             END LOOP; END $$",
    );
    next_tick();
    let place = text(&mut client, PLACE);
    let peek = "sno_peek_feed('feed', NULL::items)";
    for program in [
        "SELECT count(*) FROM PEEK",
        "SELECT EXISTS (SELECT FROM PEEK)",
        "SELECT * FROM PEEK LIMIT 1",
        "SELECT * FROM PEEK WHERE n > 8",
        "EXPLAIN ANALYZE SELECT * FROM PEEK",
        "BEGIN; EXPLAIN ANALYZE SELECT * FROM PEEK; COMMIT",
        "BEGIN; DECLARE c CURSOR FOR SELECT * FROM PEEK; FETCH 2 FROM c; CLOSE c; COMMIT",
        "BEGIN; SELECT * FROM PEEK; COMMIT",
        "BEGIN READ ONLY; SELECT * FROM PEEK; COMMIT",
        "COPY (SELECT * FROM PEEK) TO '/dev/null'",
        "SELECT * FROM first",
        "CREATE MATERIALIZED VIEW seen AS SELECT * FROM PEEK",
        "REFRESH MATERIALIZED VIEW seen",
        "INSERT INTO copy SELECT * FROM PEEK",
        "CREATE TABLE another AS SELECT * FROM PEEK",
        "DO $$ DECLARE r record; BEGIN SELECT * INTO r FROM PEEK; END $$",
    ] {
        client.run(&program.replace("PEEK", peek));
        assert_eq!(text(&mut client, PEEK), "1 2 3 4 5 6 7 8 9 10", "{program}");
        assert_eq!(text(&mut client, PLACE), place, "{program}");
    }
    assert_eq!(code(&mut client, "CALL fails()"), "P0001");
    assert_eq!(text(&mut client, PLACE), place);
    // Nor is there a transaction to be committed.
    client.run(PEEK);
    let wal = text(&mut client, "SELECT pg_current_wal_insert_lsn()");
    for _ in 0..10 {
        client.run(PEEK);
    }
    assert_eq!(text(&mut client, "SELECT pg_current_wal_insert_lsn()"), wal);
}

/// Forward, up to the horizon, and in a transaction block only after a peek of its own.
#[test]
fn advances() {
    let server = server();
    let mut client = server.connect();
    client.run(&format!("{INSERT} (1), (2), (3), (4), (5), (6)"));
    next_tick();
    // By itself.
    assert_eq!(text(&mut client, &advance(2)), "t");
    assert_eq!(text(&mut client, PEEK), "3 4 5 6");
    for n in [1, 2] {
        assert_eq!(text(&mut client, &advance(n)), "f", "{n}");
    }
    assert_eq!(text(&mut client, PEEK), "3 4 5 6");
    // In a transaction block.
    client.run("BEGIN");
    let refused = error(&mut client, &advance(3));
    assert_eq!(
        (refused.code().code(), refused.message()),
        ("25P01", "feed \"feed\" was not peeked at in this transaction")
    );
    // Nor where a statement works and advances, which two consumers could do at the same time.
    client.run("ROLLBACK; CREATE TABLE done (n integer)");
    let works = format!(
        "DO $$ BEGIN INSERT INTO done VALUES (3); PERFORM {}; END $$",
        &advance(3)["SELECT ".len()..]
    );
    assert_eq!(code(&mut client, &works), "25P01");
    client.run("BEGIN");
    client.run(&format!("ROLLBACK; BEGIN; {PEEK}; ROLLBACK; BEGIN"));
    assert_eq!(code(&mut client, &advance(3)), "25P01");
    // Nor after a peek at another feed.
    client.run("ROLLBACK; SELECT sno_create_feed('other', 'items', margin => '0')");
    client.run(&format!("BEGIN; {PEEK}; ROLLBACK; BEGIN; {}", PEEK.replace("'feed'", "'other'")));
    assert_eq!(code(&mut client, &advance(3)), "25P01");
    client.run("ROLLBACK; BEGIN");
    assert_eq!(text(&mut client, PEEK), "3 4 5 6");
    assert_eq!(text(&mut client, &advance(3)), "t");
    assert_eq!(text(&mut client, PEEK), "4 5 6");
    // Not over rows that were not shown, as the largest ID of the table; a smaller batch takes nothing back.
    client.run("COMMIT; BEGIN");
    client.run("SELECT FROM sno_peek_feed('feed', NULL::items, 2); SELECT FROM sno_peek_feed('feed', NULL::items, 1)");
    client.run(&format!("SAVEPOINT s; {}; ROLLBACK TO s", advance(5)));
    let refused = error(&mut client, &advance(6));
    assert_eq!(refused.code().code(), "22023");
    assert!(refused.detail().unwrap().starts_with("This transaction has peeked at the rows up to \""));
    client.run(&format!("ROLLBACK; BEGIN; {PEEK}"));
    // One that a savepoint takes back, and another one.
    client.run(&format!("SAVEPOINT s; {}; ROLLBACK TO s", advance(5)));
    assert_eq!(text(&mut client, PEEK), "4 5 6");
    client.run(&format!("SAVEPOINT s; {PEEK}; {}; ROLLBACK TO s; {}; COMMIT", advance(5), advance(4)));
    assert_eq!(text(&mut client, PEEK), "5 6");
    // Rolled back.
    client.run(&format!("BEGIN; {PEEK}; {}; ROLLBACK", advance(6)));
    assert_eq!(text(&mut client, PEEK), "5 6");
    // In one statement, and in a function.
    client.run("CREATE TABLE copy (LIKE items)");
    let all = "WITH f AS MATERIALIZED (SELECT * FROM sno_peek_feed('feed', NULL::items, 1)), i AS (INSERT INTO copy SELECT * FROM f)
               SELECT sno_advance_feed('feed', max(id)) FROM f";
    assert_eq!(text(&mut client, all), "t");
    client.run("DO $$ BEGIN PERFORM sno_advance_feed('feed', max(id)) FROM sno_peek_feed('feed', NULL::items); END $$");
    assert_eq!(text(&mut client, PEEK), "");
    // Not past the horizon, also with a peek.
    client.run(&format!("BEGIN; {INSERT} (7)"));
    let mut other = server.connect();
    next_tick();
    for begin in ["", "BEGIN; SELECT FROM sno_peek_feed('feed', NULL::items);"] {
        for id in ["sno_upper('infinity')", "sno_new(1)"] {
            let refused = error(&mut other, &format!("{begin} SELECT sno_advance_feed('feed', {id})"));
            assert_eq!(refused.code().code(), "22023");
            assert!(refused.message().starts_with("cannot advance feed \"feed\" to \""), "{refused:?}");
            other.run("ROLLBACK");
        }
    }
    client.run("COMMIT");
    assert_eq!(code(&mut client, "SELECT sno_advance_feed('feed', NULL)"), "22004");
    assert_eq!(
        code(
            &mut client,
            "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM sno_peek_feed('feed', NULL::items)"
        ),
        "25000"
    );
}

/// In transactions, two consumers take turns; what was done by one is not done by the other.
#[test]
fn two_consumers() {
    let server = server();
    let (mut one, mut other) = (server.connect(), server.connect());
    one.run(&format!("{INSERT} (1), (2), (3)"));
    next_tick();
    one.run(&format!("BEGIN; {PEEK}"));
    // Who only looks does not wait.
    assert_eq!(text(&mut other, PEEK), "1 2 3");
    let block = format!("BEGIN; {PEEK}");
    let second = meanwhile(&server, &block, || one.run(&format!("{}; COMMIT", advance(2))));
    assert_eq!(second.as_deref(), Ok(""));
    assert_eq!(text(&mut other, PEEK), "3");
    // After a rollback it gets the rows.
    one.run(&format!("BEGIN; {PEEK}; {}", advance(3)));
    let second = meanwhile(&server, &block, || one.run("ROLLBACK"));
    assert_eq!(second.as_deref(), Ok("3"));
    // With autocommit, what another consumer has done meanwhile is done.
    one.run(&format!("BEGIN; {PEEK}; {}", advance(3)));
    assert_eq!(meanwhile(&server, &advance(3), || one.run("COMMIT")).as_deref(), Ok("f"));

    // Where nothing is locked, since a savepoint was rolled back.
    one.run(&format!("{INSERT} (4), (5); SELECT pg_sleep(0.01)"));
    one.run(&format!("BEGIN; SAVEPOINT s; {PEEK}; ROLLBACK TO s"));
    other.run(&advance(4));
    let refused = error(&mut one, &advance(5));
    assert_eq!(
        (refused.code().code(), refused.message()),
        ("40001", "feed \"feed\" was moved since this transaction has peeked at it")
    );
    one.run("ROLLBACK");
    one.run(&advance(5));
    // A statement that writes, and a function that a client calls, each by itself.
    one.run(&format!("{INSERT} (6), (7); SELECT pg_sleep(0.01)"));
    for (works, left) in [
        (
            "INSERT INTO taken SELECT n FROM sno_peek_feed('feed', NULL::items) WHERE pg_advisory_xact_lock(1) IS NOT NULL",
            "6 7",
        ),
        (
            "WITH f AS MATERIALIZED (SELECT n FROM sno_peek_feed('feed', NULL::items)), i AS (INSERT INTO taken TABLE f)
             SELECT '' FROM (SELECT count(*) FROM f) c WHERE count + length(pg_advisory_xact_lock(1)::text) > 0",
            "6 7",
        ),
        (
            "DO $$ BEGIN PERFORM count(*) FROM sno_peek_feed('feed', NULL::items);
             PERFORM pg_advisory_xact_lock(1); PERFORM sno_advance_feed('feed', max(id)) FROM items; END $$",
            "",
        ),
    ] {
        one.run("BEGIN; SELECT pg_advisory_xact_lock(1)");
        let done = meanwhile(&server, works, || {
            // It holds the feed.
            other.run("SET lock_timeout = '10ms'");
            assert_eq!(code(&mut other, &advance(6)), "55P03");
            one.run("COMMIT");
        });
        assert_eq!(done.as_deref(), Ok(""));
        assert_eq!(text(&mut one, PEEK), left);
    }
}

/// What a peek finds after it was moved there and back, or by hand, is of a statement that does not see what the others did.
#[test]
fn a_feed_that_moves_while_it_is_peeked_at() {
    let server = server();
    let (mut client, mut other) = (server.connect(), server.connect());
    let there_and_back = "INSERT INTO taken SELECT n FROM sno_feed('feed', NULL::items, 1); SELECT sno_seek_feed('feed', '-infinity')";
    let by_hand = "UPDATE sno_internal.feed_positions SET position = '2222222222222222'";
    client.run(&format!("{INSERT} (1), (2); {there_and_back}"));
    next_tick();
    let slowly = format!(
        "BEGIN; {}",
        PEEK.replace(
            "sno_peek_feed(",
            "(SELECT pg_advisory_lock_shared(1)::text AS lock OFFSET 0) wait, sno_peek_feed("
        )
        .replace("items)", "items, 1000 + length(lock))")
    );
    for moves in [there_and_back, by_hand] {
        client.run("SELECT pg_advisory_lock(1)");
        let got = meanwhile(&server, &slowly, || {
            other.run(moves);
            client.run("SELECT pg_advisory_unlock_all()");
        });
        assert_eq!(got.as_deref(), Ok(""), "{moves}");
        assert_eq!(text(&mut client, PEEK), "1 2", "{moves}");
    }
}

/// As a call of `sno_feed()` does, a peek without rows stores the position every ten seconds, and else nothing.
#[test]
fn idle_peeks() {
    let server = Server::builder().faketime(true).start();
    server.run(SETUP);
    let mut client = server.connect();
    let place = text(&mut client, PLACE);
    client.run(PEEK);
    assert_eq!(text(&mut client, PLACE), place);
    server.advance_clock(11.0);
    let mut client = server.connect();
    client.run(&format!("BEGIN READ ONLY; {PEEK}; COMMIT"));
    assert_eq!(text(&mut client, PLACE), place);
    client.run(PEEK);
    let later = text(&mut client, PLACE);
    assert_ne!(later, place);
    client.run(&format!("{PEEK}; BEGIN; {PEEK}; COMMIT"));
    assert_eq!(text(&mut client, PLACE), later);
    // With rows it stores nothing, however old the position is.
    client.run(&format!("{INSERT} (1)"));
    server.advance_clock(11.0);
    let mut client = server.connect();
    assert_eq!(text(&mut client, PEEK), "1");
    assert_eq!(text(&mut client, PLACE), later);
}

/// A name that several roles have: the table says which feed is meant, for all calls.
#[test]
fn one_name_of_several_roles() {
    let server = server();
    let mut client = server.connect();
    client.run(
        "CREATE ROLE alice LOGIN; CREATE ROLE mallory LOGIN; GRANT CREATE ON SCHEMA public TO mallory; GRANT SELECT ON items TO alice;
         SELECT sno_drop_feed('feed')",
    );
    server.connect_as("alice").run("SELECT sno_create_feed('feed', 'items', margin => '0')");
    server
        .connect_as("mallory")
        .run("CREATE TABLE other (id sno PRIMARY KEY DEFAULT sno_new(1), n integer); SELECT sno_create_feed('feed', 'other', margin => '0')");
    client.run(&format!("{INSERT} (1), (2); INSERT INTO other (n) VALUES (10)"));
    next_tick();
    assert_eq!(text(&mut client, PEEK), "1 2");
    assert_eq!(text(&mut client, &PEEK.replace("items", "other")), "10");
    let calls = [
        "SELECT sno_advance_feed('feed', (SELECT min(id) FROM items)SOURCE)",
        "SELECT sno_fail_feed('feed', (SELECT max(id) FROM items)SOURCE)",
        "CALL sno_wait_feed('feed', '1 s'SOURCE)",
        "CALL sno_wait_read('feed', '2222222222222222', '1 s'SOURCE)",
        "SELECT sno_seek_feed('feed', after => '2222222222222223'SOURCE)",
    ];
    for call in calls {
        assert_eq!(code(&mut client, &call.replace("SOURCE", "")), "42P09", "{call}");
        client.run(&call.replace("SOURCE", ", source => 'items'"));
    }
    assert_eq!(
        text(
            &mut client,
            "SELECT string_agg(concat(owner, position IS NULL), ' ' ORDER BY owner) FROM sno_feeds()"
        ),
        "alicef malloryt"
    );
    // Also before the own one, of another table.
    client.run("CREATE TABLE own (LIKE items INCLUDING ALL); SELECT sno_create_feed('feed', 'own')");
    assert_eq!(text(&mut client, PEEK), "1 2");
    assert_eq!(text(&mut client, &PEEK.replace("items", "own")), "");
}

/// What runs as the owner of the ledger calls nothing of the caller's, whatever is in front of PostgreSQL's names.
#[test]
fn names_in_front_of_postgresqls() {
    let server = server();
    let mut client = server.connect();
    client.run("CREATE ROLE alice LOGIN; CREATE SCHEMA trap AUTHORIZATION alice; GRANT SELECT, INSERT ON items TO alice");
    let mut alice = server.connect_as("alice");
    alice.run("CREATE TABLE trap.runs (role name); GRANT INSERT ON trap.runs TO PUBLIC");
    let note =
        "LANGUAGE plpgsql AS $$ BEGIN INSERT INTO trap.runs VALUES (current_user); RETURN true; END $$";
    for (number, operator) in ["=", "<>", "<", ">", "<=", ">="].into_iter().enumerate() {
        for of in ["text", "name", "sno", "timestamptz", "oid", "bigint", "regclass"] {
            alice.run(&format!(
                "CREATE FUNCTION trap.compare{number}({of}, {of}) RETURNS boolean {note};
                 CREATE OPERATOR trap.{operator} (LEFTARG = {of}, RIGHTARG = {of}, FUNCTION = trap.compare{number})"
            ));
        }
    }
    for function in
        ["clock_timestamp()", "count(text)", "to_regclass(text)", "left(text, integer)", "bool_and(boolean)"]
    {
        alice.run(&format!("CREATE FUNCTION trap.{function} RETURNS boolean {note}"));
    }
    alice.run("SET search_path = trap, pg_catalog, public; SELECT public.sno_create_feed('hers', 'items', margin => '0')");
    alice.run("INSERT INTO public.items (n) VALUES (1), (2); SELECT pg_catalog.pg_sleep(0.01)");
    for call in [
        "BEGIN; SELECT FROM sno_peek_feed('hers', NULL::items); SELECT sno_advance_feed('hers', (SELECT min(id) FROM items)); COMMIT",
        "SELECT sno_fail_feed('hers', (SELECT max(id) FROM items), 'error')",
        "SELECT * FROM sno_feeds()",
        "SELECT sno_seek_feed('hers', '-infinity')",
        "INSERT INTO public.taken SELECT n FROM sno_feed('hers', NULL::items)",
        "CALL sno_wait_feed('hers', '0')",
        "SELECT sno_drop_feed('hers')",
    ] {
        alice.run(call);
    }
    assert_eq!(text(&mut client, "SELECT count(*) FROM trap.runs WHERE role <> 'alice'"), "0");
}

/// A feed that is there is left alone, or is in the way; one whose table was dropped is not.
#[test]
fn feeds_that_are_there() {
    let server = server();
    let mut client = server.connect();
    client.run(&format!("{INSERT} (1)"));
    next_tick();
    client.run(&advance(1));
    let place = text(&mut client, PLACE);
    client.run("SELECT sno_create_feed('feed', 'items', if_not_exists => true)");
    assert_eq!(text(&mut client, PLACE), place);
    assert_eq!(code(&mut client, "SELECT sno_create_feed('feed', 'items')"), "42710");
    client.run("CREATE TABLE other (LIKE items INCLUDING ALL)");
    let other = "SELECT sno_create_feed('feed', 'other', margin => '0', if_not_exists => true)";
    assert_eq!(code(&mut client, other), "42710");
    client.run("DROP TABLE items");
    client.run(other);
    client.run("INSERT INTO other (n) VALUES (2)");
    next_tick();
    assert_eq!(text(&mut client, &PEEK.replace("items", "other")), "2");
    // Also one that another session is creating.
    let (mut first, second) =
        (server.connect(), "SELECT sno_create_feed('both', 'other', if_not_exists => true)");
    first.run("BEGIN; SELECT sno_create_feed('both', 'other')");
    crate::meanwhile(&server, || client.run(second), || first.run("COMMIT"));
    first.run("BEGIN; SELECT sno_create_feed('more', 'other')");
    let second = "SELECT sno_create_feed('more', 'other')";
    assert_eq!(crate::meanwhile(&server, || code(&mut client, second), || first.run("COMMIT")), "42710");
    // A restore can still bring what it has not found yet.
    client.run("INSERT INTO sno_internal.feed_positions (feed, source_name, key, margin) VALUES ('later', 'public.later', 'id', '0')");
    assert_eq!(code(&mut client, "SELECT sno_create_feed('later', 'other', if_not_exists => true)"), "42710");
}

/// With autocommit, two consumers get the same rows: the second one is told when it says that they are done.
#[test]
fn two_consumers_with_autocommit() {
    let server = server();
    server.run(&format!("{INSERT} (1); SELECT pg_sleep(0.01)"));
    let advance = "SELECT sno_advance_feed('feed', (SELECT max(id) FROM items))";
    let told = |sql: &str| String::from_utf8(server.psql(sql).stderr).unwrap();
    assert_eq!(told(advance), "");
    assert!(told(advance).starts_with("WARNING:  rows of feed \"feed\" up to \""), "{}", told(advance));
    // The transaction that has peeked knows.
    let peek = "SELECT FROM sno_peek_feed('feed', NULL::items)";
    assert_eq!(told(&format!("BEGIN; {peek}; {advance}; COMMIT")), "");
}
