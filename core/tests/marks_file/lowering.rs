//! Horizons that are lowered after the clock was fast.

use std::{cell::Cell, sync::atomic::Ordering::Relaxed};

use sno_core::{
    Announcement, Announcer, Tick, Transaction,
    server::{Error, Session, Shared, record::LoweringNumber},
};

use crate::server::{Process, Server, tick};

/// A server with horizons of two databases, whose clock was fast by 9000 ticks: readers were told of the future.
fn fast() -> Server {
    let server = Server::new(1000, 8, [900, 800]);
    let session = server.start();
    server.now.store(10_000, Relaxed);
    session.next().unwrap();
    for database in [1, 2] {
        assert_eq!(horizon(&session, database, 250), tick(9750));
    }
    assert_eq!((server.marks(), server.record().horizon), ([10_500, 800], tick(10_000)));
    server
}

type Generator<'a> = Session<'a, Tick, 1, Process<'a>>;

fn horizon(session: &Generator<'_>, database: u32, margin: u64) -> Tick {
    session.horizon(&session.horizon_of(database).unwrap(), margin, || None, || None).unwrap()
}

/// The number of the last lowering.
fn last(session: &Generator<'_>) -> u64 {
    session.shared().last_lowering().0
}

/// Where a reader goes on who was told a tick when the horizons had been lowered last by this number.
fn goes_back(session: &Generator<'_>, told: u64, number: u64) -> Option<u64> {
    session.goes_back_from(tick(told), LoweringNumber(number)).unwrap().map(Tick::get)
}

/// The tick and the side of an ID of a transaction of a database, or until when it would have to wait.
fn id(server: &Server, session: &Generator<'_>, database: u32, now: u64) -> Result<(u64, bool), u64> {
    server.now.store(now, Relaxed);
    let (transaction, announcement) = (Transaction::new(), Announcement::default());
    let horizon = session.horizon_of(database).unwrap();
    let announcer = Announcer { horizon: &horizon, announcement: &announcement, number: 7 };
    match session.next_of(&transaction, &announcer) {
        Ok(stamp) => Ok((stamp.tick().get(), stamp.tick_tock())),
        Err(Error::ClockWentBack { until, is_for_horizon, .. }) => {
            assert!(is_for_horizon);
            Err(Tick::floor(until).unwrap().get())
        }
        Err(error) => panic!("{error}"),
    }
}

/// The clock was fast, horizons were read, and it was corrected: one call, and all goes on, also after a restart.
#[test]
fn horizons_are_lowered() {
    let mut server = fast();
    let session = server.start();
    assert_eq!(id(&server, &session, 1, 1100), Err(9750));
    assert_eq!((last(&session), goes_back(&session, 9750, 0)), (0, None));
    session.lower_horizons().unwrap();
    assert_eq!([1, 2, 3].map(|database| id(&server, &session, database, 1104)), [Ok((1104, true)); 3]);
    // The marks of both sides stay above all their IDs.
    assert_eq!((server.marks(), server.record().horizon), ([10_500, 1604], tick(1100)));
    assert_eq!([4, 0].map(|margin| horizon(&session, 1, margin)), [1100, 1104].map(tick));
    // Once is enough.
    server.now.store(1200, Relaxed);
    let written = server.record().serial;
    session.lower_horizons().unwrap();
    assert_eq!(server.record().serial, written);
    // Who was told the future before goes back, whenever that is; who has gone back does not once more.
    let check = |session: &Generator<'_>| {
        assert_eq!(last(session), 1100);
        assert_eq!(
            [1099, 1100, 9750].map(|told| goes_back(session, told, 0)),
            [None, Some(1100), Some(1100)]
        );
        assert_eq!(goes_back(session, 9750, 1100), None);
        // Whom nothing is known of was not told more than the mark.
        let was_lowered =
            [1099, 1100, 9999, 10_000].map(|told| session.was_lowered_from(tick(told)).unwrap());
        assert_eq!(was_lowered, [false, true, true, false]);
    };
    check(&session);
    // Also after a restart, which has nothing to say.
    server.shared = Shared::default();
    server.now.store(2000, Relaxed);
    let session = server.start();
    assert_eq!(server.steps_while_down.load(Relaxed), 0);
    check(&session);
    assert_eq!(id(&server, &session, 1, 2000), Ok((2000, true)));
    assert_eq!(id(&server, &session, 1, 10_600), Ok((10_600, true)));
    check(&session);
}

/// Nothing is lowered that is not ahead of the clock; and what could not be written is not lowered.
#[test]
fn horizons_that_stay() {
    let server = fast();
    let session = server.start();
    session.lower_horizons().unwrap();
    assert_eq!(last(&session), 0);
    server.now.store(1100, Relaxed);
    server.syncs_fail.store(true, Relaxed);
    assert!(session.lower_horizons().is_err());
    server.syncs_fail.store(false, Relaxed);
    assert_eq!((id(&server, &session, 1, 1100), last(&session)), (Err(9750), 0));
}

/// Each reader goes back as far as the lowerings that it does not know of. Of those before the last three, it is as far
/// as for the first.
#[test]
fn horizons_are_lowered_again() {
    let server = fast();
    let session = server.start();
    let lower = |read_at: u64, corrected_to: u64| {
        server.now.store(read_at, Relaxed);
        horizon(&session, 1, 250);
        server.now.store(corrected_to, Relaxed);
        session.lower_horizons().unwrap();
        assert_eq!(session.shared().horizons.highest_floor(), tick(corrected_to));
        last(&session)
    };
    assert_eq!((lower(10_000, 1100), lower(5000, 1300), lower(20_000, 1400)), (1100, 1300, 1400));
    let known = [0, 1100, 1300, 1400].map(|number| goes_back(&session, 9750, number));
    assert_eq!(known, [Some(1100), Some(1300), Some(1400), None]);
    assert_eq!([0, 1100].map(|number| goes_back(&session, 1250, number)), [Some(1100), None]);
    assert_eq!(lower(30_000, 21_000), 21_000);
    let known = [0, 1100, 1300, 1400, 21_000].map(|number| goes_back(&session, 29_750, number));
    assert_eq!(known, [Some(1100), Some(1100), Some(1400), Some(21_000), None]);
    assert_eq!(
        [19_750, 20_999, 21_000].map(|told| goes_back(&session, told, 1400)),
        [None, None, Some(21_000)]
    );
    // The clock is corrected to a time before that.
    assert_eq!(lower(30_000, 500), 21_001);
    assert_eq!(
        [499, 500, 29_750].map(|told| goes_back(&session, told, 21_000)),
        [None, Some(500), Some(500)]
    );
    // No reader was told more: after this, a start says when the clock went back.
    assert_eq!(
        (server.record().lowerings.number().0, server.record().lowerings.from),
        (21_001, tick(30_000))
    );
    // Nor after the next one, from less.
    assert_eq!((lower(5000, 700), server.record().lowerings.from), (21_002, tick(30_000)));
}

/// A reader during whose third look at transactions the horizons are lowered: it was told of the future, and begins
/// again.
#[test]
fn a_horizon_of_an_earlier_generation_is_not_returned() {
    let server = fast();
    let session = server.start();
    server.now.store(12_000, Relaxed);
    let looks = Cell::new(0);
    let look = || {
        if looks.replace(looks.get() + 1) == 2 {
            server.now.store(1100, Relaxed);
            session.lower_horizons().unwrap();
        }
        None
    };
    let of_database = session.horizon_of(1).unwrap();
    assert_eq!(session.horizon(&of_database, 0, look, look).unwrap(), tick(1100));
    assert_eq!((server.record().horizon, of_database.floor()), (tick(1100), tick(1100)));
    // One that has not written its mark yet.
    server.marks_file().secure(0, tick(9000), tick(9000)).unwrap();
    assert_eq!(server.record().horizon, tick(1100));
}

/// After a reader has read the fast clock, that is corrected, and the horizons are lowered. What it has read does not
/// count.
#[test]
fn a_reading_of_an_earlier_generation_raises_nothing() {
    let mut server = fast();
    server.start();
    server.now.store(12_000, Relaxed);
    server.after_reading = |server| {
        if server.now.swap(1100, Relaxed) > 1100 {
            server.marks_file().lower().unwrap();
        }
    };
    let session = server.start();
    assert_eq!(horizon(&session, 1, 0), tick(1100));
    assert_eq!(session.shared().horizons.highest_floor(), tick(1100));
}

/// Readers were told more elsewhere, by a clock that was ahead: by the old primary of a standby that was restarted between
/// its promotion and its first ID, or before the file was lost. They go back to the first ID.
#[test]
fn a_server_that_begins_with_a_slow_clock() {
    for (serial, marks) in [(8, [900, 800]), (0, [0; 2])] {
        let mut server = Server::new(1000, serial, marks);
        // The old primary has begun later, by its clock.
        let (before, begun) = (1 << 42 | 4000, 2 << 42 | 1000);
        server.place.wal_timeline = 2;
        let check = |server: &Server| {
            let session = server.start();
            let gone_back = [999, 1000, 5000].map(|told| goes_back(&session, told, before));
            assert_eq!(gone_back, [None, Some(1000), Some(1000)]);
            // What it tells itself stays.
            assert_eq!(last(&session), begun);
            assert_eq!([0, begun].map(|number| goes_back(&session, 5000, number)), [None; 2]);
        };
        check(&server);
        let session = server.start();
        assert_eq!(id(&server, &session, 1, 990), Err(1000));
        assert_eq!(id(&server, &session, 1, 1001).unwrap().0, 1001);
        server.shared = Shared::default();
        server.now.store(2000, Relaxed);
        check(&server);
        horizon(&server.start(), 1, 0);
        // Its file is copied, and its clock is even slower.
        server.shared = Shared::default();
        server.place.file = 70;
        server.now.store(500, Relaxed);
        let to = Some(server.record().horizon.get());
        let session = server.start();
        let gone_back = [before, begun, begun + 1].map(|number| goes_back(&session, 5000, number));
        assert_eq!(gone_back, [Some(1000), to, None]);
        // Its standby, whose clock is right, takes its place before all have read what it has generated.
        server.shared = Shared::default();
        server.place.wal_timeline = 3;
        server.now.store(9000, Relaxed);
        let session = server.start();
        let known = [begun, begun + 1].map(|number| goes_back(&session, 5000, number));
        assert_eq!(known, [to, None]);
        // What it lowers has a number of this timeline and time.
        server.now.store(20_000, Relaxed);
        horizon(&session, 1, 0);
        server.now.store(9500, Relaxed);
        session.lower_horizons().unwrap();
        assert_eq!(last(&session), 3 << 42 | 9500);
    }
}

#[test]
fn more_databases_than_places() {
    let server = Server::new(1000, 8, [900, 800]);
    let session = server.start();
    assert!((1..=1025).all(|database| session.horizon_of(database).is_ok()));
}
