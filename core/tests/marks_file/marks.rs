//! The marks in the file: what is in a record, what a start and a promotion make of it, when a mark is renewed.

use std::{
    num::NonZeroU32,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use proptest::prelude::*;
use sno_core::{
    Prefix,
    record::{Machine, Place, Record},
    server::{Error, Shared},
};

use crate::server::{NUMBER, PLACE, Server, tick};

proptest! {
    /// A line that is damaged in one place, with the checksum that no damage would have; and any bytes.
    #[test]
    fn a_record_that_is_read_would_be_written_so(
        at in 0..200_usize, less in 0..20_usize, more in "[0-9=+ -]{0,3}|.{0,9}", bytes: Vec<u8>,
    ) {
        let mut line: Vec<u8> = Server::new(1000, 8, [900; 2]).record().to_string().into();
        let at = at.min(line.len());
        line.splice(at..(at + less).min(line.len()), more.bytes());
        let checksum = format!(" crc32={:08x}", crc32fast::hash(&line));
        for page in [[&line, checksum.as_bytes(), &bytes].concat(), bytes] {
            if let Some(record) = <Record>::decode(&page) {
                prop_assert!(record.encode().starts_with(&page[..record.to_string().len() + checksum.len()]));
            }
        }
    }
}

/// What is on the disk then is not known: the next record takes its place, and not that of the record before.
#[test]
fn a_record_that_is_not_synced_does_not_count() {
    let server = Server::new(1000, 8, [900; 2]);
    let session = server.start();
    server.syncs_fail.store(true, Relaxed);
    assert!(matches!(session.next(), Err(Error::Io { doing: "write", .. })));
    assert_eq!(server.shared.marks.limit(false), tick(900));
    server.syncs_fail.store(false, Relaxed);
    session.next().unwrap();
    assert_eq!(*server.serials.lock().unwrap(), [8, 9, 9]);
    assert_eq!(server.marks(), [1500, 900]);
}

/// Whether the file has a record or none, the old primary's IDs reach to two seconds after the last commit in the log.
#[test]
fn a_promotion_raises_what_is_lower() {
    for (serial, found, raised) in
        [(0, [0, 0], [2500, 2500]), (8, [900, 3000], [2500, 3000]), (8, [3000, 4000], [3000, 4000])]
    {
        let server = Server { replayed: Some(2000), ..Server::new(1990, serial, found) };
        server.start();
        assert_eq!(server.marks(), raised);
        assert_eq!(server.shared.horizons.highest_floor(), tick(raised[0]));
        assert!(server.shared.slots[0].state().tick >= tick(raised[0]));
    }
}

#[test]
fn a_mark_is_renewed_early_after_a_step_back() {
    let server = Server::new(10_300, 8, [10_500, 9000]);
    server.start();
    let renew = |fails, side, now| {
        server.syncs_fail.store(fails, Relaxed);
        server.marks_file().renew_early(side, tick(now));
        [false, true].map(|side| server.shared.marks.limit(side).get())
    };
    assert_eq!(renew(true, false, 10_300), [10_500, 9000]);
    // For 200 ms, others leave it to the process that has tried.
    assert_eq!(renew(false, false, 10_349), [10_500, 9000]);
    server.lock.store(true, Relaxed);
    assert_eq!(renew(false, false, 10_400), [10_500, 9000]);
    server.lock.store(false, Relaxed);
    assert_eq!(renew(false, true, 9000), [10_500, 9500]);
    assert_eq!(renew(false, false, 10_301), [10_801, 9500]);
}

#[test]
fn the_current_side_is_in_the_file() {
    let server = Server::new(1000, 8, [900, 100]);
    let session = server.start();
    // After the step back, the mark is raised before the other side is entered.
    for (now, side, in_file) in [(1000, false, false), (600, true, false), (900, true, true)] {
        server.now.store(now, Relaxed);
        assert_eq!((session.next().unwrap().tick_tock(), server.record().current), (side, in_file));
    }
}

/// A mark that another process writes before this one has the lock.
#[test]
fn marks_are_computed_under_the_lock() {
    for early in [true, false] {
        let mut server = Server::new(1000, 8, [900; 2]);
        server.start();
        server.meanwhile = |server| server.shared.marks.raise([tick(900), tick(3000)]);
        if early {
            server.marks_file().renew_early(false, tick(1000));
        } else {
            server.marks_file().secure(0, tick(1000), tick(1000)).unwrap();
            assert_eq!(server.record().horizon, tick(1000));
        }
        assert_eq!(server.marks(), [if early { 1500 } else { 900 }, 3000]);
    }
}

/// While another process writes, which takes long.
#[test]
fn waits_for_a_writer_are_short() {
    let mut server = Server::new(1000, 8, [900; 2]);
    server.lock.store(true, Relaxed);
    server.meanwhile = |server| {
        if server.serials.lock().unwrap().len() > 100 {
            server.lock.store(false, Relaxed);
        }
        server.serials.lock().unwrap().push(0);
    };
    server.start();
    let longest = server.longest_nap.load(Relaxed);
    assert!((1_000..=100_000).contains(&longest), "{longest} us");
}

/// The wait for a tick ends, by another clock, if this one stands still. While it moves, it may be long.
#[test]
fn a_clock_that_stands_still() {
    let server = Server::new(1000, 8, [900, 800]);
    let session = server.start();
    for tick in [1000, 1001] {
        server.now.store(tick, Relaxed);
        for number in 0..4 {
            assert_eq!(session.next().unwrap().sequence(), number);
        }
    }
    assert!(matches!(session.next(), Err(Error::ClockStandsStill { micros: 2_000_001..2_010_000 })));
    assert!((2_000_001..2_010_000).contains(&server.waited.load(Relaxed)));
}

/// Others use up the numbers of each tick until this one waits for its end: the clock does not stand still.
#[test]
fn ticks_that_others_use_up() {
    static IS_OTHER: AtomicBool = AtomicBool::new(false);
    // Not at each reading of the clock: who loses a number to others takes it again.
    static IS_TURN: AtomicBool = AtomicBool::new(false);
    let mut server = Server::new(1000, 8, [900, 800]);
    let session = server.start();
    for _ in 0..4 {
        session.next().unwrap();
    }
    server.before_reading = |server| {
        let now = server.now.load(Relaxed);
        if IS_OTHER.load(Relaxed) || server.lock.load(Relaxed) {
            return;
        }
        if IS_TURN.fetch_xor(true, Relaxed) && now < 1010 {
            IS_OTHER.store(true, Relaxed);
            server.now.store(now + 1, Relaxed);
            if now + 1 < 1010 {
                let other = server.start();
                for _ in 0..4 {
                    other.next().unwrap();
                }
            }
            IS_OTHER.store(false, Relaxed);
        }
    };
    assert_eq!(server.start().next().unwrap().tick(), tick(1010));
}

/// What differs at a start decides whether the server is the one that wrote the record: its number stays, or is another
/// one.
#[test]
fn a_copy_draws_another_number() {
    let machine = |host, boot| Machine { host, boot: NonZeroU32::new(boot) };
    let same = [
        ("a restart", PLACE),
        ("a boot, with other device numbers", Place { machine: machine(3, 40), device: 50, ..PLACE }),
        ("a container with another name on the same machine", Place { machine: machine(30, 4), ..PLACE }),
    ];
    let other = [
        ("a promotion, or a recovery to a point in time", Place { wal_timeline: 2, ..PLACE }),
        ("a copy of the file", Place { file: 70, ..PLACE }),
        ("a copy of the file after a boot", Place { machine: machine(3, 40), file: 70, ..PLACE }),
        ("a copy of the device on the same machine", Place { device: 50, ..PLACE }),
        ("a copy of the device on another machine", Place { machine: machine(30, 40), ..PLACE }),
    ];
    for (case, place) in same {
        let server = Server { place, is_given: false, ..Server::new(1000, 8, [900; 2]) };
        server.start();
        assert_eq!((server.shared.number(), server.record().number), (NUMBER, NUMBER), "{case}");
        assert_eq!((server.copies.load(Relaxed), server.record().serial), (0, 8), "{case}");
    }
    for (case, place) in other {
        let server = Server { place, is_given: false, ..Server::new(1000, 8, [900; 2]) };
        let session = server.start();
        // The random bits are those of the number in the record, which is not drawn again.
        let number = Prefix::new(NUMBER.value() + 1, 14).unwrap();
        assert_eq!((server.shared.number(), server.record().number), (number, number), "{case}");
        assert_eq!(server.copies.load(Relaxed), 1, "{case}");
        // Before the first ID, and with the marks of before.
        assert_eq!((server.marks(), server.record().origin.place), ([900; 2], place), "{case}");
        session.next().unwrap();
        assert_eq!(server.record().number, number, "{case}");
        let again = Server { shared: Shared::default(), random: 99, ..server };
        again.start();
        assert_eq!(
            (again.shared.number(), again.copies.load(Relaxed)),
            (number, 1),
            "{case}: at the next start"
        );
    }
    // Where no boot has an identity, all has to be the same.
    let unknown = Place { machine: machine(3, 0), ..PLACE };
    assert!(unknown.is_same(&unknown));
    assert!(!unknown.is_same(&Place { device: 50, ..unknown }));
    assert!(!unknown.is_same(&Place { machine: machine(30, 0), ..unknown }));
    assert_eq!(Machine::new(b"pg-1", b"").boot, None);
    assert_ne!(Machine::new(b"pg-1", b"a"), Machine::new(b"pg-2", b"a"));
    assert_ne!(Machine::new(b"pg-1", b"a"), Machine::new(b"pg-1", b"b"));
}

/// The file of another cluster, and none: the marks are now.
#[test]
fn without_a_record_of_this_cluster_a_number_is_drawn() {
    for (serial, system_identifier, drawn) in [(0, 1, NUMBER.value()), (8, 2, NUMBER.value() + 1)] {
        let server = Server { system_identifier, is_given: false, ..Server::new(1000, serial, [900; 2]) };
        server.start();
        assert_eq!((server.record().number.value(), server.copies.load(Relaxed)), (drawn, 0));
        assert_eq!((server.marks(), server.record().serial), ([1000; 2], serial + 1));
        assert_eq!(server.record().origin.partitions, server.record().number.partitions());
    }
}
