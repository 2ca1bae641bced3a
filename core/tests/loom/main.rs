//! Callers that share generators, in the orders that loom tries, weak memory included (`dev/test-loom`).
//!
//! Scenes with too many interleavings limit how often a thread is interrupted without need; a limit for all
//! of them, where a large one is as good as none, is `LOOM_MAX_PREEMPTIONS`. `--ignored` takes much longer.
//!
//! There is one system clock. It reads the ticks of a script, one after another, and threads step it from
//! each to the next at any moment. What the callers got is then held against [`rules`]: there has to be an
//! order, one caller after another, in which each outcome is what the rules allow at that point. So a
//! stamp never comes twice, and a caller waits only if it has to.
//!
//! A caller's place in that order is open only as far as it could not have known better. What a thread did
//! before it stepped the clock comes before whatever others do with a later reading. To tell whether the
//! state machine needs help from that, each test runs again with a clock that carries no news from thread to
//! thread beyond what it reads; and a third time with callers that first try a claim within the tick, as the
//! extension does.
#![cfg(loom)]

mod rules;
mod scene;

// Not loom's, as in the scenes.
use std::sync::Arc;

use loom::thread;
use sno_core::{Marks, SequenceRange, Tick};

use scene::{Act, Caller, PLAIN, POOL, Scene};

/// Numbers of their own.
const OTHER_POOL: SequenceRange = match SequenceRange::new(2, 5) {
    Ok(range) => range,
    Err(_) => unreachable!(),
};

/// Claims, and has to get a stamp.
fn take(caller: &Caller) {
    caller.claim().unwrap();
}

/// Claims, and has to get a stamp or to be told to wait.
fn ask(caller: &Caller) {
    let _ = caller.claim();
}

fn ask_twice(caller: &Caller) {
    ask(caller);
    ask(caller);
}

fn step_and_take(caller: &Caller) {
    caller.step();
    take(caller);
}

fn step_and_ask(caller: &Caller) {
    caller.step();
    ask(caller);
}

#[test]
fn callers_in_one_tick_take_one_number_each() {
    let seen = Scene { first: take, threads: &[take, take, take], ..PLAIN }.play();
    assert_eq!((seen.overflows, seen.regressions, seen.second), (0, 0, 0));
}

#[test]
fn callers_with_different_pools_take_one_number_each() {
    fn other(caller: &Caller) {
        caller.claim_from(0, OTHER_POOL).unwrap();
    }
    Scene {
        threads: &[
            |caller| {
                other(caller);
                other(caller);
            },
            ask_twice,
        ],
        ..PLAIN
    }
    .play();
}

#[test]
fn three_callers_enter_a_tick_one_by_one() {
    let seen = Scene {
        script: &[100, 101],
        first: take,
        threads: &[take, take, step_and_take],
        interruptions: Some(4),
        ..PLAIN
    }
    .play();
    assert_eq!((seen.overflows, seen.regressions, seen.second), (0, 0, 0));
}

#[test]
fn a_used_up_pool_holds_those_who_come_late_until_the_next_tick() {
    let seen = Scene {
        script: &[100, 101],
        first: |caller| (0..3).for_each(|_| take(caller)),
        threads: &[ask, ask, ask],
        last: step_and_take,
        ..PLAIN
    }
    .play();
    assert_eq!((seen.overflows, seen.regressions), (2 * seen.executions, 0));
}

#[test]
fn three_callers_meet_the_first_step_back() {
    let seen = Scene {
        script: &[1000, 900],
        first: take,
        threads: &[take, take, step_and_take],
        interruptions: Some(3),
        ..PLAIN
    }
    .play();
    assert!(seen.second > 0 && seen.overflows + seen.regressions == 0);
}

#[test]
fn a_side_is_entered_again_only_past_where_it_was_left() {
    // The second thread may have judged by the state of the first tick all along.
    let seen = Scene {
        script: &[1000, 900, 1100, 1050, 1000],
        first: take,
        threads: &[
            |caller| {
                for _ in 0..4 {
                    step_and_ask(caller);
                }
            },
            ask,
        ],
        interruptions: Some(3),
        ..PLAIN
    }
    .play();
    assert!(seen.second > 0 && seen.regressions > 0);
}

#[test]
fn callers_follow_to_the_side_that_others_are_on() {
    let seen = Scene {
        slots: 2,
        script: &[1000, 900, 901, 902],
        first: take,
        threads: &[
            |caller| {
                step_and_take(caller);
                caller.step();
            },
            |caller| {
                caller.claim_from(1, POOL).unwrap();
                caller.claim_from(1, POOL).unwrap();
            },
        ],
        last: |caller| {
            caller.step();
            // Past where the first side was left nowhere but on slot 1, and never back.
            let stamp = caller.claim().unwrap();
            assert!(stamp.tick_tock());
            caller.claim_from(1, POOL).unwrap();
        },
        ..PLAIN
    }
    .play();
    assert!(seen.second > 0 && seen.overflows + seen.regressions == 0);
}

#[test]
fn two_callers_follow_at_once() {
    let seen = Scene {
        slots: 2,
        script: &[500, 1000, 900, 901],
        first: |caller| {
            caller.claim_from(1, POOL).unwrap();
            step_and_take(caller);
            step_and_take(caller);
        },
        threads: &[
            |caller| {
                caller.step();
                caller.claim_from(1, POOL).unwrap();
            },
            |caller| {
                caller.claim_from(1, POOL).unwrap();
                caller.claim_from(1, POOL).unwrap();
            },
        ],
        last: |caller| assert!(caller.claim_from(1, POOL).unwrap().tick_tock()),
        ..PLAIN
    }
    .play();
    assert!(seen.second > 0 && seen.overflows + seen.regressions == 0);
}

#[test]
fn marks_that_are_raised_while_others_claim() {
    let seen = Scene {
        limits: [100, 50],
        script: &[100, 101, 60],
        first: take,
        threads: &[
            |caller| {
                caller.step();
                caller.claim_with_marks().unwrap();
                caller.step();
                let _ = caller.claim_with_marks();
            },
            |caller| {
                let _ = caller.claim_with_marks();
            },
        ],
        interruptions: Some(2),
        ..PLAIN
    }
    .play();
    assert!(seen.marks > 0 && seen.second > 0 && seen.regressions == 0);
}

#[test]
fn marks_never_fall() {
    let tick = |number| Tick::new(number).unwrap();
    loom::model(move || {
        let marks = Arc::new(Marks::new([tick(100); 2], false));
        let raises = [[tick(300), tick(100)], [tick(200), tick(400)]].map(|limits| {
            let marks = marks.clone();
            thread::spawn(move || {
                marks.raise(limits);
                assert!(marks.limit(false) >= limits[0] && marks.limit(true) >= limits[1]);
            })
        });
        for raise in raises {
            raise.join().unwrap();
        }
        assert_eq!([marks.limit(false), marks.limit(true)], [tick(300), tick(400)]);
    });
}

#[test]
fn after_a_restart_callers_start_above_the_marks() {
    let seen = Scene {
        limits: [500, 300],
        resume: true,
        script: &[300, 301, 500],
        threads: &[
            |caller| {
                let _ = caller.claim_with_marks();
                caller.step();
                let _ = caller.claim_with_marks();
            },
            |caller| {
                let _ = caller.claim_with_marks();
                caller.step();
                let _ = caller.claim_with_marks();
            },
        ],
        interruptions: Some(3),
        ..PLAIN
    }
    .play();
    assert!(seen.marks > 0 && seen.second > 0 && seen.regressions > 0 && seen.overflows > 0);
}

/// All histories of a clock that reads one of these ticks at a time.
fn histories(ticks: &[u64], length: u32) -> impl Iterator<Item = &'static [u64]> {
    (0..ticks.len().pow(length)).map(move |mut number| {
        let script: Vec<u64> = (0..length)
            .map(|_| {
                let tick = ticks[number % ticks.len()];
                number /= ticks.len();
                tick
            })
            .collect();
        &*script.leak()
    })
}

fn two_callers_in_every_history(length: u32, interruptions: usize) {
    for script in histories(&[100, 101, 102], length) {
        let threads: &[Act] =
            &[|caller| (1..caller.world.script.len()).for_each(|_| step_and_ask(caller)), ask_twice];
        Scene { script, first: ask, threads, interruptions: Some(interruptions), ..PLAIN }.play();
    }
}

#[test]
fn two_callers_in_every_short_history() {
    two_callers_in_every_history(4, 2);
}

/// What a scheme without a second side resumes at: the other was left at the largest tick there is.
const ONE_SIDE: Scene = Scene { limits: [99, Tick::MAX.get()], resume: true, ..PLAIN };

#[test]
fn with_one_side_a_clock_that_goes_back_is_waited_for() {
    let seen = Scene {
        script: &[105, 101, 102, 106],
        first: |caller| _ = caller.claim_with_marks(),
        threads: &[
            |caller| {
                step_and_ask(caller);
                caller.step();
                step_and_ask(caller);
            },
            ask_twice,
        ],
        interruptions: Some(3),
        ..ONE_SIDE
    }
    .play();
    assert!(seen.regressions > 0 && seen.second == 0, "{seen:?}");
}

#[test]
fn with_one_side_a_used_up_tick_is_not_entered_again_after_a_step_back() {
    let seen = Scene {
        script: &[100, 101, 100, 101],
        first: |caller| {
            let _ = caller.claim_with_marks();
            take(caller);
            take(caller);
        },
        threads: &[
            |caller| {
                step_and_ask(caller);
                step_and_ask(caller);
            },
            |caller| {
                ask(caller);
                caller.step_from(2);
                ask(caller);
            },
        ],
        last: ask,
        interruptions: Some(3),
        ..ONE_SIDE
    }
    .play();
    assert!(seen.regressions > 0 && seen.second == 0, "{seen:?}");
}
