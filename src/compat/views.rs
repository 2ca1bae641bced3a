//! Monitoring of generators: `sno_compat_generators`.

use std::sync::atomic::Ordering::Acquire;

use pgrx::pg_sys::{self, Datum, FunctionCallInfo, ReturnSetInfo};
use sno_core::compat::snowflake_si::BaseClock;

use crate::{
    compat::{
        settings::BASE_CLOCK,
        snowflake_si::generate::{self as snowflake_si, SnowflakeSiScheme},
        uid60::generate::{self as uid60, Uid60Scheme},
        uniqueid::generate::{self as uniqueid, UniqueIdScheme},
    },
    generator::{scheme::Scheme, shared::Memory},
    pg::{
        datum::{Interval, Timestamp, text},
        errors::{Error, guard},
        fmgr::{self, finfo},
    },
};

finfo!(sno_compat_generators);
/// `sno_compat_generators() → setof (system, slot, number, last_time, sequence, safe_time, overflows, waited)`:
/// one row per generator in use since the server started.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sno_compat_generators(fcinfo: FunctionCallInfo) -> Datum {
    // SAFETY: declared in SQL as a set of these rows. This is the outermost frame.
    unsafe { guard(|| generator_rows(fcinfo)) }
}

/// # Safety
/// `fcinfo` is a call to a function that returns a set of these rows.
unsafe fn generator_rows(fcinfo: FunctionCallInfo) -> Result<Datum, Error> {
    // SAFETY: PostgreSQL checks that the caller takes a set.
    unsafe {
        pg_sys::InitMaterializedSRF(fcinfo, 0);
        let result = (*fcinfo).resultinfo.cast::<ReturnSetInfo>();
        // Without a base clock, ticks can't be converted to times.
        if let Ok(base) = BASE_CLOCK.get::<BaseClock>() {
            add_rows(result, "snowflake_si", SnowflakeSiScheme(base), &snowflake_si::MEMORY)?;
        }
        add_rows(result, "uid60", Uid60Scheme, &uid60::MEMORY)?;
        add_rows(result, "uniqueid", UniqueIdScheme, &uniqueid::MEMORY)?;
    }
    Ok(Datum::null())
}

/// # Safety
/// `result` takes rows of the declared columns.
unsafe fn add_rows<S: Scheme, const SLOTS: usize>(
    result: *mut ReturnSetInfo,
    name: &str,
    scheme: S,
    memory: &'static Memory<S, SLOTS>,
) -> Result<(), Error> {
    // A query of the view should not allocate the memory of a scheme that is not used.
    if !std::fs::exists(S::MARKS).unwrap_or(false) {
        return Ok(());
    }
    let shared = memory.attach()?;
    if !shared.ready.load(Acquire) {
        return Ok(());
    }
    let time = |tick| Timestamp::from_unix_micros(scheme.unix_micros(tick));
    for (slot, state) in shared.slots.iter().map(|slot| slot.state()).enumerate() {
        let Some(number) = state.partition else { continue };
        let row = [
            text(name).into(),
            (slot as i32).into(),
            i32::from(number).into(),
            time(state.tick).into(),
            i32::from(state.sequence).into(),
            time(state.safe).into(),
            (state.overflows as i64).into(),
            Interval(state.waited_micros as i64).into(),
        ];
        // SAFETY: by the contract.
        unsafe { fmgr::add_row(result, row) };
    }
    Ok(())
}
