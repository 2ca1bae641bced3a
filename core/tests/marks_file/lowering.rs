//! Horizons that are lowered after the clock was fast.

use std::{cell::Cell, sync::atomic::Ordering::Relaxed};

use sno_core::{
    Announcement, Member, Tick, Transaction,
    record::Lowering,
    server::{Error, Session, Shared},
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

fn lowering(to: u64, from: u64) -> Option<Lowering> {
    Some(Lowering { to: tick(to), from: tick(from) })
}

/// The tick and the side of an ID of a transaction of a database, or until when it would have to wait.
fn id(server: &Server, session: &Generator<'_>, database: u32, now: u64) -> Result<(u64, bool), u64> {
    server.now.store(now, Relaxed);
    let (transaction, announcement) = (Transaction::new(), Announcement::default());
    let horizon = session.horizon_of(database).unwrap();
    let member = Member { horizon: &horizon, announcement: &announcement, number: 7, is_shared: false };
    match session.next_of(&transaction, &member) {
        Ok(stamp) => Ok((stamp.tick().get(), stamp.tick_tock())),
        Err(Error::ClockWentBack { until, is_told, .. }) => {
            assert!(is_told);
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
    assert_eq!(session.lower_horizons().unwrap(), lowering(1100, 10_000));
    assert_eq!([1, 2, 3].map(|database| id(&server, &session, database, 1104)), [Ok((1104, true)); 3]);
    // The marks of both sides stay above all their IDs.
    assert_eq!((server.marks(), server.record().horizon), ([10_500, 1604], tick(1100)));
    assert_eq!([4, 0].map(|margin| horizon(&session, 1, margin)), [1100, 1104].map(tick));
    // Once is enough, but who calls it later, in another database, is told where the first call was.
    server.now.store(1200, Relaxed);
    let written = server.record().serial;
    assert_eq!(session.lower_horizons().unwrap(), lowering(1100, 10_000));
    assert_eq!(server.record().serial, written);
    // And it is known after a restart, which has nothing to say.
    server.shared = Shared::default();
    server.now.store(2000, Relaxed);
    let session = server.start();
    assert_eq!(server.steps_while_down.load(Relaxed), 0);
    assert_eq!(session.lower_horizons().unwrap(), lowering(1100, 10_000));
    assert_eq!(id(&server, &session, 1, 2000), Ok((2000, true)));
    server.now.store(10_001, Relaxed);
    assert_eq!(session.lower_horizons().unwrap(), None);
    assert_eq!(id(&server, &session, 1, 10_600), Ok((10_600, true)));
}

/// Nothing is lowered that is not ahead of the clock; and what could not be written is not lowered.
#[test]
fn horizons_that_stay() {
    let server = fast();
    let session = server.start();
    assert_eq!(session.lower_horizons().unwrap(), None);
    server.now.store(1100, Relaxed);
    server.syncs_fail.store(true, Relaxed);
    assert!(session.lower_horizons().is_err());
    server.syncs_fail.store(false, Relaxed);
    assert_eq!(id(&server, &session, 1, 1100), Err(9750));
}

/// The clock was slow when they were lowered, then fast once more: feeds that have not gone back go back as far as the first time.
#[test]
fn horizons_are_lowered_again() {
    let server = fast();
    let session = server.start();
    for (read_at, corrected_to, lowered) in [
        (None, 1100, lowering(1100, 10_000)),
        (Some(5000), 1300, lowering(1100, 10_000)),
        (Some(20_000), 1400, lowering(1100, 20_000)),
        // After the time that it was lowered from, nobody knows of it any more.
        (Some(30_000), 21_000, lowering(21_000, 30_000)),
    ] {
        if let Some(at) = read_at {
            server.now.store(at, Relaxed);
            horizon(&session, 1, 250);
        }
        server.now.store(corrected_to, Relaxed);
        assert_eq!(session.lower_horizons().unwrap(), lowered, "{corrected_to}");
        assert_eq!(session.shared().horizons.highest_floor(), tick(corrected_to));
    }
}

/// A reader during whose third look at transactions the horizons are lowered: it was told of the future, and begins again.
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

/// After a reader has read the fast clock, that is corrected, and the horizons are lowered. What it has read does not count.
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
