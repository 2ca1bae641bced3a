//! What fails is counted by the server, and tried again alone.

use std::time::{Duration, Instant};

use sno_tests::postgres::Client;
use sno_tests::{Mode, Server, Sql as _, assert_soon, code, error, text, wait_until};

use super::{INSERT, READ, SETUP, next_tick, server};
use crate::at_point;
use crate::changes::ddl::told;

fn peek(client: &mut Client) -> String {
    text(client, "SELECT coalesce(string_agg(n::text, ' '), '') FROM sno_peek_feed('feed', NULL::items, 4)")
}

fn advance(client: &mut Client, n: i32) {
    client.run(&format!("SELECT sno_advance_feed('feed', (SELECT id FROM items WHERE n = {n}))"));
}

/// Says that rows from one number up to another have failed, and returns how often.
fn fail(client: &mut Client, first: i32, last: i32, pause: &str) -> String {
    let id = |n| format!("(SELECT id FROM items WHERE n = {n})");
    let upto = if last == first { "NULL".to_owned() } else { id(last) };
    text(client, &format!("SELECT sno_fail_feed('feed', {}, 'error of {first}', {upto}, {pause})", id(first)))
}

/// What the list of feeds says.
fn shown(client: &mut Client) -> String {
    text(
        client,
        "SELECT concat_ws(' ', (SELECT n FROM items WHERE id = failing), attempts, last_error, failing_since <= now(), retry_at IS NULL)
         FROM sno_feeds() WHERE feed = 'feed'",
    )
}

/// Whoever gives up the lock of a peek, and loses its rows to another consumer, has not moved the feed by saying that one of them has failed.
#[test]
fn rows_that_another_consumer_has_taken() {
    let server = server();
    let (mut client, mut other) = (server.connect(), server.connect());
    client.run(&format!("{INSERT} (1), (2), (3), (4)"));
    next_tick();
    client.run("BEGIN; SAVEPOINT a");
    assert_eq!(peek(&mut client), "1 2 3 4");
    client.run("ROLLBACK TO a");
    other.run("BEGIN");
    assert_eq!(peek(&mut other), "1 2 3 4");
    advance(&mut other, 2);
    other.run("COMMIT");
    assert_eq!(fail(&mut client, 4, 4, "NULL"), "0");
    let advance = "SELECT sno_advance_feed('feed', (SELECT id FROM items WHERE n = 4))";
    assert_eq!(code(&mut client, advance), "40001");
}

/// The rows before it come together, then it alone, until it is passed.
#[test]
fn a_row_that_fails() {
    let server = server();
    let mut client = server.connect();
    client.run(&format!("{INSERT} (1), (2), (3), (4), (5), (6), (7), (8)"));
    next_tick();
    assert_eq!(peek(&mut client), "1 2 3 4");
    assert_eq!(shown(&mut client), "t");
    assert_eq!(fail(&mut client, 3, 3, "'0'"), "1");
    assert_eq!(shown(&mut client), "3 1 error of 3 t f");
    assert_eq!(peek(&mut client), "1 2");
    // Not for a call that moves the feed by itself.
    assert_eq!(text(&mut client, &format!("BEGIN; {READ}; ROLLBACK")), "1 2 3 4 5 6 7 8");
    advance(&mut client, 2);
    assert_eq!(peek(&mut client), "3");
    for attempts in ["2", "3"] {
        assert_eq!(fail(&mut client, 3, 3, "'0'"), attempts);
    }
    // A row behind it is not counted before it is the first one, a row before it is.
    assert_eq!(fail(&mut client, 6, 6, "'0'"), "0");
    assert_eq!(shown(&mut client), "3 3 error of 3 t f");
    // Over a crash, and by any consumer.
    server.stop(Mode::Immediate);
    server.start();
    let mut client = server.connect();
    assert_eq!(fail(&mut client, 3, 3, "'0'"), "4");
    advance(&mut client, 3);
    assert_eq!(shown(&mut client), "t");
    for n in ["4", "5", "6"] {
        assert_eq!(peek(&mut client), n);
        advance(&mut client, n.parse().unwrap());
    }
    assert_eq!(peek(&mut client), "7 8");
    // What was passed is not counted, nor kept.
    assert_eq!(fail(&mut client, 6, 6, "'0'"), "0");
    assert_eq!(text(&mut client, "SELECT count(*) FROM sno_internal.feed_failures"), "0");
    assert_eq!(fail(&mut client, 7, 7, "'0'"), "1");
    assert_eq!(fail(&mut client, 8, 8, "'0'"), "0");
    client.run("SELECT sno_seek_feed('feed', '-infinity')");
    assert_eq!(peek(&mut client), "1 2 3 4");
    assert_eq!(fail(&mut client, 1, 1, "'0'"), "1");
    client.run("SELECT sno_drop_feed('feed')");
    assert_eq!(text(&mut client, "SELECT count(*) FROM sno_internal.feed_failures"), "0");
}

/// Whoever leads a feed past a row that fails, or drops one that was read, is told how to come back.
#[test]
fn the_way_back() {
    let server = server();
    let mut client = server.connect();
    client.run(&format!("{INSERT} (1), (2), (3)"));
    next_tick();
    advance(&mut client, 1);
    fail(&mut client, 2, 2, "'0'");
    let told = |call: &str| String::from_utf8(server.psql(&format!("SELECT {call}")).stderr).unwrap();
    let first = text(&mut client, "SELECT id FROM items WHERE n = 1");
    assert_eq!(told("sno_seek_feed('feed', after => id) FROM items WHERE n = 1"), "");
    // A consumer's second line is no HINT of the server's.
    client.run("SELECT sno_fail_feed('feed', id, E'error of 2\\nHINT:  of a consumer', pause => '0') FROM items WHERE n = 2");
    let passed = told("sno_seek_feed('feed', after => id) FROM items WHERE n = 2");
    assert!(passed.starts_with("WARNING:  feed \"feed\" passes the row \""), "{passed}");
    assert!(!passed.contains("of a consumer"), "{passed}");
    assert!(passed.contains("error of 2") && passed.contains(&format!("after => '{first}'")), "{passed}");
    assert_eq!(peek(&mut client), "3");
    client.run(&format!("SELECT sno_seek_feed('feed', after => '{first}')"));
    let dropped = told("sno_drop_feed('feed')");
    assert!(
        dropped.starts_with("WARNING:  feed \"feed\" was dropped, which had read the rows up to \""),
        "{dropped}"
    );
    assert!(dropped.contains(&format!("after => '{first}'")), "{dropped}");
    client.run(&format!(
        "SELECT sno_create_feed('feed', 'items', now()), sno_seek_feed('feed', after => '{first}')"
    ));
    assert_eq!(peek(&mut client), "2 3");
    client.run("SELECT sno_create_feed('unread', 'items')");
    assert_eq!(told("sno_drop_feed('unread')"), "");
}

/// The same where none has failed: if there are rows that the feed has not returned, or if that cannot be known.
#[test]
fn the_way_back_over_unread_rows() {
    let server = server();
    let mut client = server.connect();
    client.run(
        "CREATE ROLE alice LOGIN; GRANT CREATE ON SCHEMA public TO alice; GRANT SELECT ON items TO alice; SET ROLE alice; CREATE TABLE hers (LIKE items INCLUDING ALL);
         SELECT sno_create_feed('hers', 'hers', margin => '0'); RESET ROLE; SELECT sno_create_feed('unread', 'items')",
    );
    client.run(&format!("BEGIN; {INSERT} (1), (2), (3); INSERT INTO hers TABLE items; COMMIT"));
    next_tick();
    let id = |client: &mut Client, n: i32| text(client, &format!("SELECT id FROM items WHERE n = {n}"));
    let [first, second] = [1, 2].map(|n| id(&mut client, n));
    client.run(&format!(
        "SELECT sno_seek_feed(feed, after => '{first}') FROM unnest('{{feed,hers}}'::text[]) feed"
    ));
    let told = |call: &str| told(&server, &format!("SELECT sno_seek_feed({call})"));
    let warning = |feed: &str, passes: &str, [after, upto]: [&str; 2]| {
        format!(
            "WARNING:  feed \"{feed}\" {passes} rows that were not read\n\
             DETAIL:  It does not return those after \"{after}\" and up to \"{upto}\".\n\
             HINT:  If they are to be read, call sno_seek_feed() with after => '{after}'."
        )
    };
    let forth = |feed: &str| format!("'{feed}', after => '{second}'");
    assert_eq!(told(&forth("feed")), warning("feed", "passes", [&first, &second]));
    assert_eq!(peek(&mut client), "3");
    // As the HINT says; a feed that has read nothing; one that passes nothing.
    assert_eq!(told(&format!("'feed', after => '{first}'")), "");
    assert_eq!(peek(&mut client), "2 3");
    assert_eq!(told(&forth("unread")), "");
    client.run("SELECT sno_seek_feed('feed', now())");
    assert_eq!(told("'feed', now()"), "");
    // A superuser calls no function of hers, unless the table is named.
    assert_eq!(told(&forth("hers")), warning("hers", "may pass", [&first, &second]));
    client.run(&format!("SELECT sno_seek_feed('hers', after => '{first}')"));
    assert_eq!(
        told(&format!("{}, source => 'hers'", forth("hers"))),
        warning("hers", "passes", [&first, &second])
    );
    // While somebody has locked it.
    let mut holder = server.connect();
    holder.run("BEGIN; LOCK items");
    client.run(&format!("SELECT sno_seek_feed('feed', after => '{first}')"));
    assert_eq!(told(&forth("feed")), warning("feed", "may pass", [&first, &second]));
}

/// Which of several rows has failed is not known, so they come one by one.
#[test]
fn rows_that_fail_together() {
    let server = server();
    let mut client = server.connect();
    client.run(&format!("{INSERT} (1), (2), (3), (4), (5), (6)"));
    next_tick();
    assert_eq!(fail(&mut client, 2, 4, "'0'"), "0");
    assert_eq!(shown(&mut client), "2 0 error of 2 t f");
    assert_eq!(peek(&mut client), "1");
    advance(&mut client, 1);
    assert_eq!(peek(&mut client), "2");
    assert_eq!(fail(&mut client, 2, 2, "'0'"), "1");
    // Of a consumer that has got them before.
    assert_eq!(fail(&mut client, 2, 3, "'0'"), "0");
    assert_eq!(fail(&mut client, 2, 2, "'0'"), "2");
    advance(&mut client, 2);
    assert_eq!(peek(&mut client), "3");
    advance(&mut client, 3);
    assert_eq!(peek(&mut client), "4");
    assert_eq!(fail(&mut client, 4, 4, "'0'"), "1");
    // Deleted meanwhile.
    client.run("DELETE FROM items WHERE n = 4");
    assert_eq!(peek(&mut client), "5");
    advance(&mut client, 5);
    assert_eq!(peek(&mut client), "6");
    assert_eq!(shown(&mut client), "t");
    let backwards = "SELECT sno_fail_feed('feed', max(id), upto => min(id)) FROM items";
    assert_eq!(code(&mut client, &format!("{INSERT} (7); {backwards}")), "22023");
    assert_eq!(
        code(&mut client, "SELECT sno_fail_feed('feed', max(id), pause => '-1 s') FROM items"),
        "22023"
    );
    assert_eq!(code(&mut client, "SELECT sno_fail_feed('feed', NULL)"), "22004");
}

/// No consumer gets it before its time, longer after each failure, or as long as one says; waits end then.
#[test]
fn pauses() {
    let server = server();
    let mut client = server.connect();
    client.run(&format!("{INSERT} (1), (2)"));
    next_tick();
    let pause = |client: &mut Client| -> f64 {
        text(client, "SELECT extract(epoch FROM retry_at - clock_timestamp()) FROM sno_feeds()")
            .parse()
            .unwrap()
    };
    for (attempts, longest) in [(1, 0.1), (2, 0.2), (3, 0.4), (4, 0.8)] {
        assert_eq!(fail(&mut client, 1, 1, "NULL"), attempts.to_string());
        let pause = pause(&mut client);
        assert!(pause <= longest && pause > longest / 2.0 - 0.05, "{attempts}: {pause}");
        // A consumer that had got it before: the same attempt.
        assert_eq!(fail(&mut client, 1, 1, "NULL"), attempts.to_string());
        if attempts < 4 {
            std::thread::sleep(Duration::from_secs_f64(longest));
        }
    }
    assert_eq!(peek(&mut client), "");
    let begin = Instant::now();
    assert_eq!(text(&mut client, "CALL sno_wait_feed('feed', '0.1 s')"), "f");
    assert_eq!(text(&mut client, "CALL sno_wait_feed('feed', '10 s')"), "t");
    assert_soon(begin.elapsed(), Duration::from_secs(5));
    assert_eq!(peek(&mut client), "1");
    client.run("UPDATE sno_internal.feed_failures SET attempts = 100");
    assert_eq!(fail(&mut client, 1, 1, "NULL"), "101");
    assert!(pause(&mut client) <= 10.0);
    // Another consumer passes it meanwhile.
    client.run("UPDATE sno_internal.feed_failures SET retry_at = now()");
    fail(&mut client, 1, 1, "'1 day'");
    assert!(pause(&mut client) > 86_000.0);
    let waited = std::thread::scope(|scope| {
        let wait = scope.spawn(|| text(&mut server.connect(), "CALL sno_wait_feed('feed', '20 s')"));
        std::thread::sleep(Duration::from_millis(300));
        advance(&mut client, 1);
        wait.join().unwrap()
    });
    assert_eq!((waited.as_str(), peek(&mut client).as_str()), ("t", "2"));
    advance(&mut client, 2);
    // A failure just before a session that waits looks for the row: the wait ends when the time is there.
    let failed = std::thread::scope(|scope| {
        let wait = scope.spawn(|| text(&mut server.connect(), "CALL sno_wait_feed('feed', '20 s')"));
        let waits = "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Extension' AND query ~ '^CALL'";
        wait_until("a session that waits", || client.one(waits));
        let mut failed = Instant::now();
        let other = || {
            fail(&mut client, 3, 3, "'0.5 s'");
            failed = Instant::now();
        };
        let mut writer = server.connect();
        let write = || {
            writer.run(&format!("{INSERT} (3)"));
            wait.join().unwrap()
        };
        assert_eq!(at_point(&server, "look begins", write, other), "t");
        failed
    });
    assert!(failed.elapsed() > Duration::from_millis(400), "{:?}", failed.elapsed());
    assert_soon(failed.elapsed(), Duration::from_secs(5));
    assert_eq!(peek(&mut client), "3");
    // The rows before it are there at once.
    advance(&mut client, 3);
    client.run(&format!("{INSERT} (4), (5)"));
    next_tick();
    fail(&mut client, 5, 5, "'1 day'");
    assert_eq!(text(&mut client, "CALL sno_wait_feed('feed', '5 s')"), "t");
    assert_eq!(peek(&mut client), "4");
}

/// What no peek can have returned has not failed: from then on, all rows up to there would come one by one.
#[test]
fn rows_that_nobody_has() {
    let server = server();
    let mut client = server.connect();
    let refused = |client: &mut Client, sql: &str| {
        let refused = error(client, sql);
        assert_eq!(refused.code().code(), "22023", "{sql}: {refused}");
        assert!(refused.message().contains("cannot have failed") && refused.hint().is_some(), "{refused}");
        let _ = client.batch_execute("ROLLBACK");
    };
    client.run(&format!("{INSERT} (1), (2), (3)"));
    next_tick();
    let mut open = server.connect();
    open.run(&format!("BEGIN; {INSERT} (4)"));
    for call in [
        "SELECT sno_fail_feed('feed', 'xxxxxxxxxxxxxxxx', 'error')",
        "SELECT sno_fail_feed('feed', min(id), 'error', upto => 'xxxxxxxxxxxxxxxx') FROM items",
        "SELECT sno_fail_feed('feed', sno_new(), 'error')",
        "BEGIN; SELECT FROM sno_peek_feed('feed', NULL::items, 2); SELECT sno_fail_feed('feed', max(id)) FROM items",
    ] {
        refused(&mut client, call);
    }
    open.run("COMMIT");
    next_tick();
    assert_eq!((peek(&mut client), shown(&mut client)), ("1 2 3 4".into(), "t".into()));
    client.run("BEGIN; SELECT FROM sno_peek_feed('feed', NULL::items, 2); SAVEPOINT work");
    assert_eq!(fail(&mut client, 1, 2, "'0'"), "0");
    client.run("COMMIT");
    assert_eq!(peek(&mut client), "1");
}

/// Feeds of one name that several roles have are stored at one moment: what happens to one happens to no other.
#[test]
fn one_of_several_roles() {
    let server = server();
    let mut client = server.connect();
    client.run(&format!(
        "SELECT sno_drop_feed('feed'); CREATE ROLE alice LOGIN; CREATE ROLE bob LOGIN; GRANT SELECT ON items TO PUBLIC; {INSERT} (1), (2)"
    ));
    let [mut alice, mut bob] = ["alice", "bob"].map(|role| server.connect_as(role));
    next_tick();
    for role in [&mut alice, &mut bob] {
        role.run("SELECT sno_create_feed('feed', 'items', margin => '0')");
        assert_eq!(fail(role, 1, 1, "'0'"), "1");
    }
    client.run("UPDATE sno_internal.feed_positions SET moved = now()");
    let of_bob =
        "SELECT concat_ws(' ', position, moved, failing, attempts) FROM sno_feeds() WHERE owner = 'bob'";
    let before = text(&mut client, of_bob);
    for change in [
        "sno_advance_feed('feed', min(id)) FROM items",
        "sno_fail_feed('feed', max(id)) FROM items",
        "sno_seek_feed('feed', '-infinity')",
        "sno_fail_feed('feed', min(id)) FROM items",
        "sno_drop_feed('feed')",
    ] {
        alice.run(&format!("SELECT {change}"));
        assert_eq!(text(&mut client, of_bob), before, "{change}");
    }
}

/// Who may not use the feed sees that it fails, and not what the error says.
#[test]
fn errors_are_for_who_may_use_the_feed() {
    let server = Server::builder().start();
    server.run(SETUP);
    let mut client = server.connect();
    client.run(&format!(
        "CREATE ROLE alice LOGIN; CREATE ROLE carol LOGIN IN ROLE alice; CREATE ROLE bob LOGIN IN ROLE pg_read_all_data;
         GRANT SELECT ON items TO PUBLIC; SELECT sno_drop_feed('feed'); {INSERT} (1)"
    ));
    server.connect_as("alice").run("SELECT sno_create_feed('feed', 'items', margin => '0')");
    next_tick();
    client.run("SELECT sno_fail_feed('feed', id, repeat('secret', 1000)) FROM items");
    for (role, expected) in [("alice", "1000"), ("carol", "1000"), ("postgres", "1000"), ("bob", "")] {
        let read = "SELECT concat(length(last_error)) FROM sno_feeds() WHERE failing IS NOT NULL";
        assert_eq!(text(&mut server.connect_as(role), read), expected, "{role}");
    }
    let dump = server.command("pg_dump").output().unwrap();
    assert!(dump.status.success() && !String::from_utf8_lossy(&dump.stdout).contains("secret"));
}

/// Whoever reads at that time still finds it where it was.
#[test]
fn a_failure_moves_no_feed() {
    let server = server();
    let mut client = server.connect();
    client.run(&format!("{INSERT} (1), (2)"));
    next_tick();
    let fails = || assert_eq!(fail(&mut server.connect(), 1, 1, "NULL"), "1");
    assert_eq!(at_point(&server, "feed moves", || text(&mut client, READ), fails), "1 2");
}
