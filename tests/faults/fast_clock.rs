//! A clock that was fast while feeds were read, and is corrected: one call, and all goes on. No ID comes twice, and no row is missed; rows of
//! the future come again.

use std::thread;
use std::time::Duration;

use sno_tests::postgres::Client;
use sno_tests::{Ids, Mode, Server, Sql as _, assert_soon, wait_until};

use crate::{code, error, tally, text};

/// Waits for nothing: a wait that is not needed is an error.
const IMPATIENT: &str = "-c sno.max_clock_wait=0";

const SETUP: &str = "CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(1), at text NOT NULL); CREATE TABLE copy (LIKE events);
    SELECT sno_create_feed('copy', 'events', margin => '0.1 s')";

const LOWER: &str = "SELECT count(*) FROM sno_lower_horizon()";

/// A server that has lived for a while: on a new one, the marks of both sides start at its first ID, so that a step to before that time has
/// to wait.
fn server() -> Server {
    let server = Server::builder()
        .faketime(true)
        .conf("sno.partition_prefix", "42/8")
        .conf("max_prepared_transactions", "10")
        .start();
    server.set_clock("-300000");
    server.run("SELECT sno_new(1)");
    server.set_clock("+0");
    server
}

fn step(server: &Server, offset: &str) {
    server.set_clock(offset);
    tally::fault("clock steps");
}

/// A hundred rows, whose IDs are collected.
fn insert(ids: &mut Ids, client: &mut Client, at: &str) {
    let insert = format!("INSERT INTO events (at) SELECT '{at}' FROM generate_series(1, 100) RETURNING id");
    ids.query(client, &insert).unwrap();
}

/// How many rows a consumer copies, once they are older than the margin.
fn read(client: &mut Client) -> u64 {
    thread::sleep(Duration::from_millis(200));
    client.execute("INSERT INTO copy SELECT * FROM sno_feed('copy', NULL::events, 100000)", &[]).unwrap()
}

/// How often the rows of each time were copied.
fn copies(client: &mut Client) -> String {
    text(
        client,
        "SELECT string_agg(format('%s: %s', at, times), ', ' ORDER BY at) FROM (
             SELECT DISTINCT e.at, (SELECT count(*) FROM copy c WHERE c.id = e.id) AS times FROM events e) x",
    )
}

/// Rows before and in the fast time, of which a consumer has read some; and the correction.
fn fast(server: &Server, ids: &mut Ids, client: &mut Client) {
    insert(ids, client, "right");
    assert_eq!(read(client), 100);
    step(server, "+86400");
    insert(ids, client, "fast");
    assert_eq!(read(client), 100);
    insert(ids, client, "fast, not read");
    step(server, "+0");
}

#[test]
fn by_a_day() {
    let server = server();
    let mut client = server.connect();
    let mut ids = server.ids();
    client.run(SETUP);
    assert_eq!(client.one::<i64>(LOWER), 0);
    fast(&server, &mut ids, &mut client);
    let mut impatient = server.connect_with(IMPATIENT);
    let refused = error(&mut impatient, "SELECT sno_new(1)");
    assert_eq!(refused.code().code(), "55000");
    assert!(refused.hint().unwrap().contains("sno_lower_horizon()"), "{refused:?}");
    // A feed that is ahead lets nothing be deleted.
    assert_eq!(client.one::<i64>("SELECT count(*) FROM events WHERE id <= sno_read_by_all('events')"), 0);
    // After the last ID of a tick: one after the first would leave that out.
    let lowered = "SELECT string_agg(format('%s of %s: %s', feed, owner, read_up_to > now() + interval '86390 s' AND goes_on_after BETWEEN now() - interval '5 s' AND clock_timestamp()
            AND goes_on_after = sno_upper(sno_time(goes_on_after))), '')
        FROM sno_lower_horizon()";
    assert_eq!(
        text(&mut client, lowered),
        format!("copy of {}: t", text(&mut server.connect(), "SELECT current_user::text"))
    );
    insert(&mut ids, &mut impatient, "corrected");
    assert_eq!(read(&mut client), 100);
    assert_eq!(client.one::<i64>(LOWER), 0);
    // A clock that is behind the feed is waited for: it has gone back.
    step(&server, "-8");
    assert!(!client.one::<bool>("CALL sno_wait_feed('copy', '1 s')"));
    step(&server, "+0");
    server.restart(Mode::Crash);
    let log = server.log();
    assert!(!log.contains("while the server was down"), "{log}");
    step(&server, "+1");
    let mut client = server.connect();
    insert(&mut ids, &mut client, "crashed");
    assert_eq!((read(&mut client), client.one::<i64>(LOWER)), (100, 0));
    // A day later.
    step(&server, "+86500");
    insert(&mut ids, &mut client, "later");
    assert_eq!(read(&mut client), 300);
    assert_eq!(
        copies(&mut client),
        "corrected: 1, crashed: 1, fast: 2, fast, not read: 1, later: 1, right: 1"
    );
    tally::prove(ids);
}

/// Each has its feeds, and all have one horizon of the future. So does a new one, which may be a copy.
#[test]
fn in_several_databases() {
    let server = server();
    server.run("CREATE DATABASE one");
    server.run("CREATE DATABASE new");
    let mut ids = server.ids();
    let [mut client, mut other] = ["postgres", "one"].map(|database| server.connect_to(database));
    other.run("CREATE EXTENSION sno");
    for client in [&mut client, &mut other] {
        client.run(SETUP);
    }
    other.run("SELECT sno_create_feed('idle', 'events', margin => '0.1 s')");
    fast(&server, &mut ids, &mut other);
    step(&server, "+86410");
    assert_eq!(other.take::<i64>("SELECT count(*) FROM sno_feed('idle', NULL::events, 100000)"), 300);
    let mut peeking = server.connect_to("one");
    peeking.run("BEGIN; SELECT FROM sno_peek_feed('copy', NULL::events)");
    step(&server, "+0");
    // It has read nothing of the future, and is of another database.
    insert(&mut ids, &mut client, "corrected");
    let mut new = server.connect_to("new");
    new.run("CREATE EXTENSION sno; SET sno.max_clock_wait = 0");
    assert_eq!(code(&mut new, "SELECT sno_new()"), "55000");
    assert_eq!(client.one::<i64>(LOWER), 0);
    // What was peeked at comes again.
    assert_eq!(code(&mut peeking, "SELECT sno_advance_feed('copy', max(id)) FROM events"), "40001");
    peeking.run("ROLLBACK");
    ids.query(&mut new, "SELECT sno_new()").unwrap();
    insert(&mut ids, &mut other, "corrected");
    // A consumer need not wait for the call in its database.
    assert!(other.one::<bool>("CALL sno_wait_feed('copy', '20 s')"));
    assert_eq!((read(&mut other), read(&mut other)), (0, 100));
    // An hour later, over a restart, a feed that nobody has read since goes back as far as the first call.
    server.restart(Mode::Immediate);
    step(&server, "+3600");
    let mut other = server.connect_to("one");
    insert(&mut ids, &mut other, "an hour later");
    assert_eq!(other.one::<i64>("SELECT count(*) FROM sno_lower_horizon() WHERE feed = 'idle'"), 1);
    thread::sleep(Duration::from_millis(200));
    assert_eq!(other.take::<i64>("SELECT count(*) FROM sno_feed('idle', NULL::events, 100000)"), 200);
    assert_eq!(read(&mut other), 100);
    assert_eq!(copies(&mut other), "an hour later: 1, corrected: 1, fast: 1, fast, not read: 0, right: 1");
    tally::prove(ids);
}

/// A feed of another database than that of the call, which nobody reads before the clock has passed all that it was told.
#[test]
fn a_feed_that_is_read_days_later() {
    let server = server();
    server.run("CREATE DATABASE one");
    let mut ids = server.ids();
    let [mut client, mut other] = ["postgres", "one"].map(|database| server.connect_to(database));
    other.run("CREATE EXTENSION sno");
    other.run(SETUP);
    fast(&server, &mut ids, &mut other);
    client.run(LOWER);
    insert(&mut ids, &mut other, "corrected");
    step(&server, "+200000");
    insert(&mut ids, &mut other, "later");
    server.restart(Mode::Fast);
    let mut other = server.connect_to("one");
    // What was told counts for nobody who deletes.
    assert_eq!(
        other.one::<i64>(
            "SELECT count(*) FROM events WHERE id <= sno_read_by_all('events') AND at = 'corrected'"
        ),
        0
    );
    assert!(other.one::<bool>("CALL sno_wait_feed('copy', '20 s')"));
    assert_eq!((read(&mut other), read(&mut other)), (0, 400));
    assert_eq!(copies(&mut other), "corrected: 1, fast: 2, fast, not read: 1, later: 1, right: 1");
    assert_eq!(other.one::<i64>(LOWER), 0);
    tally::prove(ids);
}

/// The caller is killed while it waits for a feed whose row another transaction has locked. Inserts go on before that.
#[test]
fn a_crash_in_between() {
    let server = server();
    let mut client = server.connect();
    let mut ids = server.ids();
    client.run(SETUP);
    fast(&server, &mut ids, &mut client);
    let mut holder = server.connect();
    holder.run("BEGIN; SELECT FROM sno_internal.feed_positions FOR UPDATE");
    thread::scope(|scope| {
        let caller = scope.spawn(|| server.connect().batch_execute(LOWER).is_err());
        let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%lower_horizon%'";
        wait_until("a call that waits", || client.one::<i64>(waits) == 1);
        insert(&mut ids, &mut client, "corrected");
        assert_eq!(text(&mut client, "SELECT coalesce(sno_read_by_all('events')::text, 'none')"), "none");
        let pid: i32 = client.one("SELECT pid FROM pg_stat_activity WHERE query LIKE '%FROM sno_lower_horizon%' AND pid <> pg_backend_pid()");
        server.crash(1, [pid]);
        assert!(caller.join().unwrap());
    });
    let mut client = server.connect();
    insert(&mut ids, &mut client, "crashed");
    assert_eq!(client.one::<i64>(LOWER), 1);
    assert_eq!(read(&mut client), 200);
    tally::prove(ids);
}

/// It was told a horizon of the future, and reads slowly. It gets nothing when the horizon was lowered meanwhile, and the feed stays where it is.
#[test]
fn a_reader_that_was_told_before() {
    let server = server();
    let mut client = server.connect();
    let mut ids = server.ids();
    client.run(SETUP);
    client.run("SELECT sno_create_feed('slow', 'events', margin => '0')");
    step(&server, "+86400");
    insert(&mut ids, &mut client, "fast");
    let mut holder = server.connect();
    holder.run("BEGIN; LOCK events");
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            server.connect().take::<i64>("SELECT count(*) FROM sno_feed('slow', NULL::events, 100000)")
        });
        let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'relation'";
        wait_until("a reader", || client.one::<i64>(waits) == 1);
        step(&server, "+0");
        assert_eq!(client.one::<i64>(LOWER), 0);
        holder.run("COMMIT");
        assert_eq!(reader.join().unwrap(), 0);
    });
    assert!(client.one::<bool>("SELECT position IS NULL FROM sno_feeds() WHERE feed = 'slow'"));
    insert(&mut ids, &mut client, "corrected");
    thread::sleep(Duration::from_millis(100));
    assert_eq!(client.take::<i64>("SELECT count(*) FROM sno_feed('slow', NULL::events, 100000)"), 100);
    tally::prove(ids);
}

/// Transactions that are open or prepared over all of this hold the horizon in each of these times.
#[test]
fn transactions_of_before() {
    let server = server();
    let mut client = server.connect();
    let mut ids = server.ids();
    client.run(SETUP);
    client.run("SELECT sno_create_feed('times', 'events', margin => '0.1 s')");
    let insert = |ids: &mut Ids, client: &mut Client, at: &str| {
        // In another tick than the row before.
        thread::sleep(Duration::from_millis(10));
        ids.query(client, &format!("INSERT INTO events (at) VALUES ('{at}') RETURNING id")).unwrap();
    };
    step(&server, "+86400");
    let [mut open, mut prepared] = [server.connect(), server.connect()];
    open.run("BEGIN");
    insert(&mut ids, &mut open, "open");
    prepared.run("BEGIN");
    insert(&mut ids, &mut prepared, "prepared");
    prepared.run("PREPARE TRANSACTION 'before'");
    insert(&mut ids, &mut client, "fast");
    client.run("SELECT sno_horizon('0')");
    step(&server, "+0");
    client.run(LOWER);
    insert(&mut ids, &mut open, "open, corrected");
    prepared.run("BEGIN");
    insert(&mut ids, &mut prepared, "prepared, corrected");
    prepared.run("PREPARE TRANSACTION 'after'");
    insert(&mut ids, &mut client, "corrected");
    assert_eq!(read(&mut client), 0);
    open.run("COMMIT");
    assert_eq!(read(&mut client), 1);
    client.run("COMMIT PREPARED 'after'");
    assert_eq!(read(&mut client), 2);
    // What was open is before what is still prepared.
    step(&server, "+86410");
    assert_eq!(read(&mut client), 1);
    client.run("COMMIT PREPARED 'before'");
    assert_eq!(read(&mut client), 2);
    tally::prove(ids);
}

/// A server that was copied while the clock was fast, and is promoted after the correction.
#[test]
fn a_standby_that_is_promoted() {
    let server = server();
    let mut client = server.connect();
    let mut ids = server.ids();
    client.run(SETUP);
    insert(&mut ids, &mut client, "right");
    step(&server, "+86400");
    insert(&mut ids, &mut client, "fast");
    assert_eq!(read(&mut client), 200);
    let standby = server.standby();
    step(&server, "+0");
    client.run(LOWER);
    insert(&mut ids, &mut client, "corrected");
    server.wait_replayed(&standby);
    server.stop(Mode::Fast);
    standby.set_clock("+0");
    standby.promote();
    let mut client = standby.connect();
    assert_eq!(code(&mut client, "SELECT sno_new()"), "55000");
    // The primary's call has set the feed back.
    assert_eq!(client.one::<i64>(LOWER), 0);
    insert(&mut ids, &mut client, "promoted");
    assert_eq!(read(&mut client), 200);
    tally::prove(ids);
}

/// A feed that has read nothing of the future stays, also beside one of its name.
#[test]
fn feeds_that_stay() {
    let server = server();
    let mut client = server.connect();
    let mut ids = server.ids();
    client.run(SETUP);
    client.run("CREATE ROLE bob LOGIN; GRANT SELECT ON events TO bob");
    let mut bob = server.connect_as("bob");
    bob.run("SELECT sno_create_feed('copy', 'events', margin => '0.1 s')");
    fast(&server, &mut ids, &mut client);
    assert_eq!(client.one::<i64>(LOWER), 1);
    let stay = "SELECT string_agg(format('%s of %s: %s', feed, owner, coalesce(position > sno_lower(now() + interval '1 hour'), false)), ', ' ORDER BY feed, owner)
        FROM sno_feeds()";
    let own = text(&mut client, "SELECT current_user::text");
    assert_eq!(text(&mut client, stay), format!("copy of bob: f, copy of {own}: f"));
    thread::sleep(Duration::from_millis(200));
    assert_eq!(bob.take::<i64>("SELECT count(*) FROM sno_feed('copy', NULL::events, 100)"), 100);
    tally::prove(ids);
}

/// Nothing can help where both sides have IDs of the future.
#[test]
fn twice() {
    let server = server();
    let mut client = server.connect_with(IMPATIENT);
    client.run(SETUP);
    for offset in ["+86400", "+43200"] {
        step(&server, offset);
        client.run("INSERT INTO events (at) VALUES ('fast')");
        thread::sleep(Duration::from_millis(200));
        client.run("SELECT sno_lower_horizon()");
    }
    client.run("SELECT sno_horizon()");
    step(&server, "+0");
    let lowered = server.psql(LOWER);
    assert!(
        String::from_utf8_lossy(&lowered.stderr).contains("WARNING:  generation waits until "),
        "{lowered:?}"
    );
    let refused = error(&mut client, "SELECT sno_new()");
    assert_eq!((refused.code().code(), refused.hint().unwrap().contains("lower")), ("55000", false));
}

/// A role that may not call it; a wrong level of isolation; a feed of which nothing is known.
#[test]
fn refused() {
    let server = server();
    let mut client = server.connect();
    client.run(SETUP);
    client.run("UPDATE sno_internal.feed_positions SET position = sno_upper(now() + interval '1 day')");
    let lowered = server.psql(LOWER);
    let told = String::from_utf8_lossy(&lowered.stderr);
    assert!(
        told.contains("WARNING:  feed \"copy\" of role ") && told.contains("which is ahead of the clock"),
        "{lowered:?}"
    );
    client.run("CREATE ROLE someone");
    assert_eq!(code(&mut client, &format!("SET ROLE someone; {LOWER}")), "42501");
    client.run("RESET ROLE");
    assert_eq!(
        code(&mut client, "SET ROLE someone; SELECT * FROM sno_internal.sno_lower_horizons()"),
        "42501"
    );
    client.run("RESET ROLE");
    for level in ["REPEATABLE READ", "SERIALIZABLE"] {
        assert_eq!(code(&mut client, &format!("BEGIN ISOLATION LEVEL {level}; {LOWER}")), "25000", "{level}");
        client.run("ROLLBACK");
    }
}

/// A clock that stands still: what is left of a tick is used up, and no call waits for the next one without end.
#[test]
fn a_clock_that_stands_still() {
    let server = Server::builder().faketime(true).conf("sno.sequence_range", "0-99").start();
    let mut client = server.connect_with("-c sno.max_clock_wait=3s");
    let mut ids = server.ids();
    ids.query(&mut client, "SELECT sno_new()").unwrap();
    server.stop_clock(client.one("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + 10000"));
    ids.query(&mut client, "SELECT sno_new() FROM generate_series(1, 100)").unwrap();
    let began = std::time::Instant::now();
    let refused = error(&mut client, "SELECT sno_new()");
    let took = began.elapsed();
    assert_eq!(refused.code().code(), "55000");
    assert!(refused.message().contains("stood still for 3."), "{refused:?}");
    assert!(took >= Duration::from_secs(3), "{took:?}");
    assert_soon(took, Duration::from_secs(8));
    server.set_clock("+1");
    ids.query(&mut client, "SELECT sno_new() FROM generate_series(1, 1000)").unwrap();
    tally::prove(ids);
}
