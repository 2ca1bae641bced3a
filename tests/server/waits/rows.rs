//! What a wait returns for, and when: rows, also of prepared transactions, and an ID that was read.

use std::thread;
use std::time::Duration;

use sno_tests::{Mode, Server, Sql as _, assert_soon, stored, text};

use super::{INSERT, READ, SETUP, SOON, WAIT, during, wait};

#[test]
fn it_returns_when_a_row_can_be_read() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(SETUP);
    let (ready, took) = wait(&mut client, "CALL sno_wait_feed('feed', '0.5 s')");
    assert!(!ready && took >= Duration::from_millis(500), "{took:?}");
    assert_soon(took, SOON);
    let (ready, took) = wait(&mut client, "CALL sno_wait_feed('feed', '-1 day')");
    assert!(!ready, "{took:?}");
    assert_soon(took, SOON);
    // A row that comes, one that its transaction holds back, one that was there before, and one from a subtransaction.
    let (ready, took) = during(&server, WAIT, |other| other.run(INSERT));
    assert!(ready, "{took:?}");
    assert_soon(took, SOON);
    let (ready, took) = wait(&mut client, WAIT);
    assert!(ready, "{took:?}");
    assert_soon(took, Duration::from_secs(1));
    assert_eq!(client.take::<i64>(READ), 1);
    let mut holder = server.connect();
    holder.run(&format!("BEGIN; {INSERT}"));
    thread::sleep(Duration::from_millis(300));
    let (ready, took) = during(&server, WAIT, |_| holder.run("COMMIT"));
    assert!(ready, "{took:?}");
    assert_soon(took, SOON);
    assert_eq!(client.take::<i64>(READ), 1);
    // The first of two transactions that hold rows back: the wait has looked for nothing behind it.
    let mut later = server.connect();
    holder.run(&format!("BEGIN; {INSERT}"));
    thread::sleep(Duration::from_millis(300));
    later.run("BEGIN; SELECT sno_new(1)");
    thread::sleep(Duration::from_millis(300));
    let (ready, took) = during(&server, WAIT, |_| holder.run("COMMIT"));
    assert!(ready, "{took:?}");
    assert_soon(took, SOON);
    assert_eq!(client.take::<i64>(READ), 1);
    later.run("ROLLBACK");
    // IDs of others, and of transactions that are rolled back, are no rows.
    client.run("CREATE TABLE others (id sno DEFAULT sno_new(1))");
    let (ready, _) = during(&server, "CALL sno_wait_feed('feed', '1.5 s')", |other| {
        other.run("INSERT INTO others DEFAULT VALUES");
        other.run(&format!("BEGIN; {INSERT}; ROLLBACK"));
    });
    assert!(!ready);
    // After a wait of steps that were doubled.
    let (ready, took) = during(&server, WAIT, |other| {
        (0..20).for_each(|_| other.run("INSERT INTO others DEFAULT VALUES; SELECT pg_sleep(0.03)"));
        other.run(INSERT);
    });
    assert!(ready, "{took:?}");
    assert_soon(took, SOON);
}

/// A transaction that is prepared before a restart, of which no generator knows.
#[test]
fn a_prepared_transaction() {
    let server = Server::builder().conf("max_prepared_transactions", "2").start();
    server.run(SETUP);
    server.run(&format!("BEGIN; {INSERT}; PREPARE TRANSACTION 'one'"));
    server.restart(Mode::Immediate);
    // Past the marks, which count as IDs of before the restart.
    thread::sleep(Duration::from_secs(3));
    let (ready, took) = during(&server, WAIT, |other| other.run("COMMIT PREPARED 'one'"));
    assert!(ready, "{took:?}");
    assert_soon(took, SOON);
}

/// The clock goes back, and later to where it was; and keys that no generator of this server has made.
#[test]
fn what_no_new_id_tells() {
    let server = Server::builder().faketime(true).start();
    let mut client = server.connect();
    server.set_clock("-3600");
    client.run(SETUP);
    client.run("SELECT sno_new(1)");
    server.set_clock("+0");
    // As if it had been read just now, so that the wait does not read a horizon: then the clock would be waited for.
    client.run("UPDATE sno_internal.feed_positions SET moved = clock_timestamp()");
    // The key is from before the last step of the wait.
    let (ready, took) = during(&server, WAIT, |other| {
        server.set_clock("-30");
        other.run(INSERT);
    });
    assert!(ready, "{took:?}");
    assert_soon(took, SOON);
    assert_eq!(client.take::<i64>(READ), 1);
    server.set_clock("+0");
    client.run(INSERT);
    server.set_clock("-29");
    let (ready, took) = during(&server, WAIT, |_| server.set_clock("+1"));
    assert!(ready, "{took:?}");
    assert_soon(took, SOON);
    assert_eq!(client.take::<i64>(READ), 1);
    client.run("ALTER TABLE items DISABLE TRIGGER sno_own_keys");
    let (ready, took) = during(&server, WAIT, |other| {
        other.run("INSERT INTO items SELECT sno_make(clock_timestamp() + '0.2 s', 1, 7, 0)");
    });
    assert!(ready, "{took:?}");
    assert_soon(took, Duration::from_secs(9));
}

/// Read your own writes: what another session has read, or what will never come.
#[test]
fn it_returns_when_an_id_was_read() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(SETUP);
    let id = text(&mut client, &format!("{INSERT} RETURNING id::text"));
    let call = |id: &str, timeout: &str| format!("CALL sno_wait_read('feed', '{id}', '{timeout}')");
    let (read, took) = wait(&mut client, &call(&id, "0.4 s"));
    assert!(!read && took >= Duration::from_millis(400), "{took:?}");
    assert_soon(took, SOON);
    assert!(!wait(&mut client, &call(&id, "0")).0);
    let (read, took) = during(&server, &call(&id, "50 s"), |reader| {
        // The transaction of the reader has to commit.
        reader.run("BEGIN");
        assert_eq!(text(reader, &stored(READ)), "1");
        thread::sleep(Duration::from_millis(200));
        assert!(!client.one::<bool>(&call(&id, "0")));
        reader.run("COMMIT");
    });
    assert!(read, "{took:?}");
    assert_soon(took, SOON);
    // Also for who has waited for long.
    let next = text(&mut client, &format!("{INSERT} RETURNING id::text"));
    let (read, took) = during(&server, &call(&next, "50 s"), |reader| {
        thread::sleep(Duration::from_millis(2100));
        assert_eq!(reader.take::<i64>(READ), 1);
    });
    assert!(read, "{took:?}");
    assert_soon(took, Duration::from_secs(1));
    // An ID that is the last one of a full batch.
    let id = text(&mut client, &format!("{INSERT} RETURNING id::text"));
    client.run(INSERT);
    thread::sleep(Duration::from_millis(150));
    client.run(&stored(&READ.replace("items)", "items, 1)")));
    assert!(client.one::<bool>(&call(&id, "0")));
    assert_eq!(client.take::<i64>(READ), 1);
    // It does not wait for a call that finds nothing new.
    let (read, took) = wait(&mut client, &call(&id, "50 s"));
    assert!(read, "{took:?}");
    assert_soon(took, SOON);
    // The last ID of a batch.
    let next = text(&mut client, &format!("{INSERT} RETURNING id::text"));
    assert!(!client.one::<bool>(&call(&next, "0")));
    thread::sleep(Duration::from_millis(300));
    assert_eq!(client.take::<i64>("SELECT count(*) FROM sno_feed('feed', NULL::items, 1)"), 1);
    assert!(client.one::<bool>(&call(&next, "0")));
}

/// Nor is what has to come again, after a fast clock, when the clock is behind the position for another reason.
#[test]
fn a_clock_that_steps_back_after_it_was_corrected() {
    let server = Server::builder().faketime(true).start();
    let mut client = server.connect();
    server.set_clock("-3600");
    client.run("SELECT sno_new(1)");
    server.set_clock("+60");
    client.run(SETUP);
    client.run(INSERT);
    server.advance_clock(0.2);
    assert_eq!(client.take::<i64>(READ), 1);
    server.set_clock("+0");
    client.run("SELECT sno_lower_horizon()");
    client.run(INSERT);
    server.advance_clock(0.2);
    assert_eq!(client.take::<i64>(READ), 1);
    server.set_clock("-8");
    let (ready, took) = wait(&mut client, "CALL sno_wait_feed('feed', '0.5 s')");
    assert!(!ready && took >= Duration::from_millis(500), "{ready} after {took:?}");
}
