//! When who waits for rows looks for them, step by step.

use std::sync::atomic::Ordering::Relaxed;

use sno_core::{Marks, Tick, Watch, server::Session};

use crate::{
    WATCH,
    server::{Process, RANGE, Server, tick},
};

fn step(session: &Session<'_, Tick, 1, Process<'_>>, watch: &mut Watch, held: Option<u64>) -> Option<u64> {
    crate::step(session, watch, || held.map(tick)).map(Tick::get)
}

/// What has been looked for is not looked for again, as long as nobody generates or holds anything back.
#[test]
fn a_wait_looks_no_more_often_than_it_has_to() {
    let server = Server::new(1000, 8, [900; 2]);
    let (session, mut watch) = (server.start(), WATCH);
    let mut looks = |held: fn(u64) -> Option<u64>| -> Vec<u64> {
        let at = |now| {
            server.now.store(now, Relaxed);
            step(&session, &mut watch, held(now))
        };
        let first = server.now.load(Relaxed) + 1;
        (first..first + 1000).filter_map(at).collect()
    };
    // At all rows every 1250 ticks.
    assert_eq!(looks(|_| None), [1001]);
    session.next().unwrap();
    assert_eq!(looks(|_| None), [2001, 2251]);
    // That of a transaction which is open for a while: once before it, where other IDs could be.
    session.next().unwrap();
    assert_eq!(looks(|now| Some(3000).filter(|_| now < 3200)), [3000, 3200, 3501]);
}

/// An ID that another process takes while this one reads the clock.
#[test]
fn a_wait_misses_no_id_that_is_taken_meanwhile() {
    let mut server = Server::new(1000, 8, [900; 2]);
    server.before_reading = |server| {
        if server.now.load(Relaxed) == 1001 {
            server.now.store(1002, Relaxed);
            server.shared.slots[0]
                .claim_from(tick(1001), &|| Ok(tick(1001)), RANGE, &Marks::unlimited())
                .unwrap();
        }
    };
    let (session, mut watch) = (server.start(), WATCH);
    let steps = [(1000, None), (1001, Some(1001)), (1002, Some(1002))].map(|(now, held)| {
        server.now.store(now, Relaxed);
        step(&session, &mut watch, held)
    });
    // When its transaction has ended, another one is open, which may be so for long.
    assert_eq!(steps[2], Some(1002), "{steps:?}");
}

/// IDs of before a step back are ahead of the clock: they are looked for when it has come to them again.
#[test]
fn a_wait_looks_for_ids_of_the_side_that_was_left() {
    let server = Server::new(1000, 8, [900, 100]);
    let (session, mut watch) = (server.start(), WATCH);
    let at = |now| server.now.store(now, Relaxed);
    session.next().unwrap();
    at(700);
    assert!(session.next().unwrap().tick_tock());
    assert_eq!(step(&session, &mut watch, None), Some(700));
    at(800);
    assert_eq!(step(&session, &mut watch, None), Some(800));
    at(1001);
    assert_eq!(step(&session, &mut watch, None), Some(1001));
    at(1002);
    assert_eq!(step(&session, &mut watch, None), None);
}
