//! Monitoring of generators: `sno_generators` and `sno_generator()`.

use std::sync::atomic::Ordering::Acquire;

use pgrx::pg_sys;
use sno_core::SlotState;

use crate::{
    generator::session::max_clock_wait,
    pg::{
        datum::{Interval, Timestamp},
        errors::{Error, guard},
        fmgr::{self, Column, finfo},
    },
    sno::{
        generate::{MEMORY, SLOTS, own_partition},
        settings::Settings,
    },
};

/// The columns that both have in common.
fn state_columns(state: Option<SlotState>) -> [Column; 7] {
    [
        state.map(|state| Timestamp::from(state.tick)).into(),
        state.map(|state| state.tick_tock).into(),
        state.map(|state| i32::from(state.sequence)).into(),
        state.map(|state| Timestamp::from(state.safe)).into(),
        state.map(|state| state.backward_steps as i64).into(),
        state.map(|state| state.overflows as i64).into(),
        state.map(|state| Interval(state.waited_micros as i64)).into(),
    ]
}

finfo!(sno_generators);
/// `sno_generators() → setof (slot, partition, last_time, tick_tock, sequence, safe_time, drifts,
/// overflows, waited)`: one row per generator in use since the server started.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sno_generators(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: declared in SQL as a set of these rows. This is the outermost frame.
    unsafe { guard(|| generator_rows(fcinfo)) }
}

/// # Safety
/// `fcinfo` is a call to a function that returns a set of these rows.
unsafe fn generator_rows(fcinfo: pg_sys::FunctionCallInfo) -> Result<pg_sys::Datum, Error> {
    let shared = MEMORY.attach()?;
    // SAFETY: PostgreSQL checks that the caller takes a set.
    unsafe {
        pg_sys::InitMaterializedSRF(fcinfo, 0);
        let result = (*fcinfo).resultinfo.cast::<pg_sys::ReturnSetInfo>();
        if !shared.ready.load(Acquire) {
            return Ok(pg_sys::Datum::null());
        }
        for (number, slot) in shared.slots.iter().enumerate() {
            let state = slot.state();
            let Some(partition) = state.partition else { continue };
            let [last_time, tick_tock, sequence, safe_time, drifts, overflows, waited] =
                state_columns(Some(state));
            let row = [
                (number as i32).into(),
                i32::from(partition).into(),
                last_time,
                tick_tock,
                sequence,
                safe_time,
                drifts,
                overflows,
                waited,
            ];
            fmgr::add_row(result, row);
        }
    }
    Ok(pg_sys::Datum::null())
}

finfo!(sno_generator);
/// `sno_generator() → (slot, partition, prefix, prefix_bits, sequence_lower, sequence_upper,
/// max_clock_wait, last_time, tick_tock, sequence, safe_time, drifts, overflows, waited)`: this backend's
/// generator and settings.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sno_generator(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: declared in SQL with this row as its result. This is the outermost frame.
    unsafe { guard(|| generator_row(fcinfo)) }
}

/// # Safety
/// `fcinfo` is a call to a function that returns such a row.
unsafe fn generator_row(fcinfo: pg_sys::FunctionCallInfo) -> Result<pg_sys::Datum, Error> {
    let settings = Settings::current()?;
    let shared = MEMORY.attach()?;
    let partition = own_partition(&settings);
    let slot = partition as usize % SLOTS;
    let state = Some(shared.slots[slot].state())
        .filter(|state| shared.ready.load(Acquire) && state.partition.is_some());
    let [last_time, tick_tock, sequence, safe_time, drifts, overflows, waited] = state_columns(state);
    let row = [
        (slot as i32).into(),
        i32::from(partition).into(),
        i32::from(settings.prefix.value()).into(),
        i32::from(settings.prefix.bits()).into(),
        i32::from(settings.range.lower()).into(),
        i32::from(settings.range.upper()).into(),
        Interval(max_clock_wait() as i64).into(),
        last_time,
        tick_tock,
        sequence,
        safe_time,
        drifts,
        overflows,
        waited,
    ];
    // SAFETY: by the contract.
    Ok(unsafe { fmgr::row(fcinfo, row) })
}
