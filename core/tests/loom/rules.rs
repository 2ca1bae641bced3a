//! The rules of a claim, and whether there is an order of events in which each of them follows the rules.

use sno_core::{ClaimError, SequenceRange, Stamp};

/// What a claim may do, as plain as it can be said.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) limits: [u64; 2],
    pub(crate) slots: Vec<State>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct State {
    pub(crate) tick: u64,
    pub(crate) tick_tock: bool,
    /// As a wide number, so that a used-up pool needs no case of its own.
    pub(crate) sequence: u32,
    /// The highest tick that each side has ever been at.
    pub(crate) reached: [u64; 2],
}

impl Rules {
    /// The state after an event; `None` if it may not happen now.
    fn after(&self, event: &Event) -> Option<Self> {
        let mut next = self.clone();
        match event.what {
            What::Raise { tick_tock, to } => {
                let limit = &mut next.limits[tick_tock as usize];
                *limit = to.max(*limit);
            }
            What::Claim { slot, range, now, outcome } => {
                let State { tick, tick_tock: this, sequence, reached } = self.slots[slot];
                let free = |tick_tock: bool| now > reached[tick_tock as usize];
                match outcome {
                    Ok(stamp) => {
                        if stamp.tick().get() != now {
                            return None;
                        }
                        let tick_tock = stamp.tick_tock();
                        let (number, lower) = (stamp.sequence() as u32, range.lower() as u32);
                        let as_it_should = if now == tick {
                            tick_tock == this && number == lower.max(sequence + 1)
                        } else {
                            free(tick_tock)
                                && number == lower
                                && now <= self.limits[tick_tock as usize]
                                // Whoever can stay may leave too, for the side that others are on.
                                && (now > tick || tick_tock != this)
                        };
                        if !as_it_should || number > range.upper() as u32 {
                            return None;
                        }
                        let state = &mut next.slots[slot];
                        (state.tick, state.tick_tock, state.sequence) = (now, tick_tock, number);
                        let reached = &mut state.reached[tick_tock as usize];
                        *reached = now.max(*reached);
                    }
                    Err(ClaimError::SequenceExhausted { until }) => {
                        let used_up = now == tick && sequence >= range.upper() as u32;
                        if !used_up || until.get() != now + 1 {
                            return None;
                        }
                    }
                    Err(ClaimError::ClockWentBack { now: read, until }) => {
                        let past = now < tick && !free(!this);
                        let end = tick.min(reached[!this as usize] + 1);
                        if !past || read.get() != now || until.get() != end {
                            return None;
                        }
                    }
                    Err(ClaimError::MarkReached { tick_tock, tick: wanted }) => {
                        let barred = now != tick && free(tick_tock) && now > self.limits[tick_tock as usize];
                        if !barred || wanted.get() != now {
                            return None;
                        }
                    }
                    Err(ClaimError::TooEarly { .. } | ClaimError::OutOfEpoch(_)) => return None,
                }
            }
        }
        Some(next)
    }

    /// Whether the events that are left can happen one after another.
    pub(crate) fn explain(&self, events: &[Event], done: u32) -> bool {
        done.count_ones() as usize == events.len()
            || events.iter().enumerate().any(|(id, event)| {
                done & 1 << id == 0
                    && event.before & !done == 0
                    && self.after(event).is_some_and(|next| next.explain(events, done | 1 << id))
            })
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) what: What,
    /// The events, as bits, that surely come before this one.
    pub(crate) before: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    Claim { slot: usize, range: SequenceRange, now: u64, outcome: Result<Stamp, ClaimError> },
    Raise { tick_tock: bool, to: u64 },
}
