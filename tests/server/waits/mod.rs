//! `CALL sno_wait_feed(…)` and `CALL sno_wait_read(…)`: they return in time, and hold nothing up meanwhile.

mod costs;
mod ends;
mod rows;

use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use sno_tests::postgres::Client;
use sno_tests::{Server, Sql as _, major_version, wait_until};

const SETUP: &str = "CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(1), n integer);
    SELECT sno_create_feed('feed', 'items', margin => '0.1 s')";

const READ: &str = "SELECT count(*) FROM sno_feed('feed', NULL::items)";

const INSERT: &str = "INSERT INTO items DEFAULT VALUES";

/// What a wait returns, and how long it took.
fn wait(client: &mut Client, call: &str) -> (bool, Duration) {
    let began = Instant::now();
    (client.one(call), began.elapsed())
}

/// The sessions that wait for a feed.
fn waiting(client: &mut Client) -> i64 {
    let event = if major_version(client) >= 17 { "SnoFeed" } else { "Extension" };
    client.one(&format!(
        "SELECT count(*) FROM pg_stat_activity
         WHERE wait_event_type = 'Extension' AND wait_event = '{event}' AND query LIKE 'CALL sno_wait%'"
    ))
}

/// Does something while a session waits. What the wait returned, and how long it took from then on.
#[track_caller]
fn during<'a>(server: &'a Server, call: &'a str, work: impl FnOnce(&mut Client)) -> (bool, Duration) {
    let mut other = server.connect();
    thread::scope(|scope| {
        let waiter: ScopedJoinHandle<'_, (bool, Instant)> = scope.spawn(move || {
            let ready = server.connect().one(call);
            (ready, Instant::now())
        });
        wait_until("a session that waits", || waiting(&mut other) == 1);
        // It is past its first looks.
        thread::sleep(Duration::from_millis(300));
        assert!(!waiter.is_finished(), "it did not wait");
        work(&mut other);
        let began = Instant::now();
        let (ready, returned) = waiter.join().unwrap();
        (ready, returned.saturating_duration_since(began))
    })
}

const WAIT: &str = "CALL sno_wait_feed('feed', '50 s')";

/// Far below any timeout, on a machine with other work.
const SOON: Duration = Duration::from_secs(3);

/// What a session that waits holds.
const HELD: &str = "SELECT concat_ws(' ', backend_xmin, backend_xid, (
        SELECT string_agg(locktype || ' ' || mode, ', ') FROM pg_locks l WHERE l.pid = a.pid AND locktype <> 'virtualxid'
    )) FROM pg_stat_activity a WHERE query LIKE 'CALL sno_wait%'";
