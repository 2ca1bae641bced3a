//! A simulator of whole lives of servers: the code of the core as it is, in a world where each clock, disk and
//! interruption is drawn from a seed.
//!
//! ```sh
//! make sim                        # random seeds for ten seconds
//! make sim SEED=7 STEPS=100000    # one seed, with its trace if it fails
//! make sim DURATION=3600          # random seeds for an hour
//! ```
//!
//! Processes are coroutines in one thread. At each access to an atomic, each call of the disk and each reading of a
//! clock, the seed decides whether another one runs. It also decides which faults there are in its run at all, so that
//! pairs of rare ones get whole runs. Whether what happens is right is judged from outside: by the IDs, the horizons
//! and what is on the disk.
//!
//! Seeds of former failures are not kept: each change of the core or of the simulator turns a seed into another life.
//! What such a life had met is in `EVENTS` instead.
#![cfg(simulated)]

mod disk;
mod process;
mod wait;
mod world;

use std::{
    collections::BTreeMap,
    env,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use world::{Condition, Outcome, follow, run};

/// Accesses to atomics, disks and clocks in the life of a seed.
const STEPS: u64 = 20_000;

/// What has to happen in some life, or the simulator does not see what it should.
const EVENTS: &[&str] = &[
    "IDs of the second side",
    "changes of the side",
    "waits for a tick",
    "waits for the clock",
    "waits for a writer of the marks",
    "errors: the clock went back",
    "errors: the file of the marks",
    "early renewals that failed",
    "copies that were noticed",
    "marks that were created",
    "backward steps while a server was down",
    "backward steps that were logged",
    "cancelled calls",
    "clocks that stood still",
    "clones",
    "crashes of a server",
    "servers that went down in a call of the disk",
    "torn sectors",
    "full disks",
    "power failures",
    "failovers",
    "failovers with a slow clock",
    "restores to a point in time",
    "files of another cluster",
    "damaged files",
    "files with a damaged page",
    "old files that were put back",
    "upgrades to a new cluster",
    "horizons that a transaction holds back",
    "prepared transactions",
    "subtransactions rolled back",
    "settings that changed",
    "looks that find rows",
    "looks in vain",
    "steps without a look",
    "looks at all unread rows",
    "rows of a clock that was ahead",
    "backward steps between two steps of a wait",
    "copies of a database",
    "horizons above open transactions of another database",
    "horizons that were lowered",
    "horizons that were read while they were lowered",
    "errors: the clock stands still",
];

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().filter(|text| !text.is_empty()).map(|text| text.parse().expect(name))
}

/// The failure of a seed, and what led to it.
fn explain(seed: u64, steps: u64, without: Option<Condition>) -> String {
    let Outcome { failure, trace, faults, server, .. } = run(seed, steps, without, true);
    let trace: Vec<_> = trace.into_iter().filter(|line| line.0 == server).map(|line| line.1).collect();
    // The last lines, and before them those that say the same, as an ID that came twice.
    let (before, last) = trace.split_at(trace.len().saturating_sub(number("TRACE").unwrap_or(40) as usize));
    let said = |line: &String| line.split(": ").last().map(str::to_owned);
    let same = before.iter().filter(|line| said(line) == trace.last().and_then(said)).cloned();
    let trace = same.chain(last.iter().cloned()).collect::<Vec<_>>().join("\n");
    let failure = failure.expect("it fails again");
    format!(
        "seed {seed}, server {server}: {failure}\n{faults}\n{trace}\nAgain: make sim SEED={seed} STEPS={steps}"
    )
}

/// Random seeds for some seconds; or one seed.
#[test]
fn no_life_breaks_a_promise() {
    let steps = number("STEPS").unwrap_or(STEPS);
    let seconds = Duration::from_secs(number("DURATION").unwrap_or(10));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as u64;
    let (one, first) = (number("SEED"), number("SEED").unwrap_or(now));
    let seeds = (first..).take(if one.is_some() { 1 } else { usize::MAX });
    println!("seeds from {first}, {steps} steps each");
    let (began, mut lives, mut all_steps, mut micros) = (Instant::now(), 0, 0, 0);
    let mut counts = BTreeMap::<&str, u64>::new();
    let mut missing = Vec::new();
    for seed in seeds {
        let outcome = run(seed, steps, None, false);
        if outcome.failure.is_some() {
            panic!(
                "after {lives} lives and {:.1} s, {}",
                began.elapsed().as_secs_f64(),
                explain(seed, steps, None)
            );
        }
        lives += 1;
        all_steps += outcome.steps;
        micros += outcome.micros;
        for (event, count) in outcome.counts {
            *counts.entry(event).or_default() += count;
        }
        missing = EVENTS.iter().filter(|event| !counts.contains_key(*event)).collect();
        // On a busy machine, some of them may take longer.
        if began.elapsed() > seconds && (missing.is_empty() || lives > 3000) {
            break;
        }
    }
    let (days, minutes) = (micros as f64 / 86_400e6, began.elapsed().as_secs_f64() / 60.0);
    let ids = counts["IDs"];
    println!(
        "{lives} lives, {all_steps} steps, {days:.1} days of servers, {ids} IDs in {minutes:.2} minutes: \
         each minute {:.3} years and {:.0} IDs",
        days / 365.0 / minutes,
        ids as f64 / minutes
    );
    counts.iter().for_each(|(event, count)| println!("{count:>12} {event}"));
    assert!(missing.is_empty() || one.is_some(), "in {lives} lives there were no {missing:?}");
}

/// If one of them did not show a repeated ID, its fault would not be simulated.
#[test]
fn without_a_condition_ids_repeat() {
    for without in [
        Condition::DifferentNumbers,
        Condition::NoCopyAlongside,
        Condition::FailoverWithRightClock,
        Condition::MarksOrClock,
        Condition::OldMarksOrClock,
        Condition::HonestDisk,
    ] {
        let repeats = |seed: &u64| {
            let failure = run(*seed, STEPS, Some(without), false).failure;
            failure.is_some_and(|text| text.starts_with("twice"))
        };
        let seed = (1..500).find(repeats).unwrap_or_else(|| panic!("no ID twice without {without:?}"));
        println!("{without:?}: seed {seed} repeats an ID");
    }
}

#[test]
fn one_seed_is_one_life() {
    for seed in 1..20 {
        let [first, second] = [(); 2].map(|()| run(seed, 5000, None, true).trace);
        assert!(first == second, "two lives of seed {seed}");
        assert!(first.len() > 10);
    }
}

/// `tests/faults/disk.rs` has a real server go through the same schedule.
#[test]
fn a_real_server_does_the_same() {
    let schedule = include_str!("schedule.txt");
    let found = follow(schedule);
    assert!(found == schedule, "{found}");
}
