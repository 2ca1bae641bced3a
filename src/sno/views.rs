//! Monitoring of generators: `sno_generators` and `sno_generator()`.

use std::sync::atomic::Ordering::Acquire;

use sno_core::{SlotState, Tick};

use crate::{
    generator::settings::max_clock_wait,
    pg::{
        datum::{Timestamp, interval},
        errors::Error,
        fmgr::{Row, pg_function},
    },
    sno::{
        generate::{MEMORY, SLOTS, own_partition},
        settings::Settings,
    },
};

/// The columns that both have in common. `floor` is [`Horizon::floor`](sno_core::Horizon::floor).
fn state_columns(state: Option<SlotState>, floor: Tick) -> Row<7> {
    [
        state.map(|state| Timestamp::from(state.tick)).into(),
        state.map(|state| state.tick_tock).into(),
        state.map(|state| i32::from(state.sequence)).into(),
        state.map(|state| Timestamp::from(state.safe.max(floor))).into(),
        state.map(|state| state.backward_steps as i64).into(),
        state.map(|state| state.overflows as i64).into(),
        state.map(|state| interval(state.waited_micros)).into(),
    ]
}

pg_function! {
    /// `sno_generators() → setof (generator, partition, last_time, tick_tock, sequence, safe_time, drifts, overflows,
    /// waited)`: one row per generator in use since the server started.
    fn sno_generators() -> Result<Vec<Row<9>>, Error> {
        let shared = MEMORY.attach()?;
        let slots = if shared.ready.load(Acquire) { &shared.slots[..] } else { &[] };
        let floor = shared.horizon.floor();
        let rows = slots.iter().map(|slot| slot.state()).enumerate().filter_map(|(number, state)| {
            let partition = state.partition?;
            let [last_time, tick_tock, sequence, safe_time, drifts, overflows, waited] =
                state_columns(Some(state), floor);
            Some([
                (number as i32).into(),
                i32::from(partition).into(),
                last_time,
                tick_tock,
                sequence,
                safe_time,
                drifts,
                overflows,
                waited,
            ])
        });
        Ok(rows.collect())
    }

    /// `sno_generator() → (generator, partition, prefix, prefix_bits, sequence_lower, sequence_upper, max_clock_wait,
    /// last_time, tick_tock, sequence, safe_time, drifts, overflows, waited)`: this backend's generator and settings.
    fn sno_generator() -> Result<Row<14>, Error> {
        let settings = Settings::current()?;
        let shared = MEMORY.attach()?;
        let partition = own_partition(&settings);
        let slot = partition as usize % SLOTS;
        let state = Some(shared.slots[slot].state())
            .filter(|state| shared.ready.load(Acquire) && state.partition.is_some());
        let [last_time, tick_tock, sequence, safe_time, drifts, overflows, waited] = state_columns(state, shared.horizon.floor());
        Ok([
            (slot as i32).into(),
            i32::from(partition).into(),
            i32::from(settings.prefix.value()).into(),
            i32::from(settings.prefix.bits()).into(),
            i32::from(settings.range.lower()).into(),
            i32::from(settings.range.upper()).into(),
            interval(max_clock_wait()).into(),
            last_time,
            tick_tock,
            sequence,
            safe_time,
            drifts,
            overflows,
            waited,
        ])
    }
}
