//! Monitoring of generators: `sno_compat_generators`.

use crate::{
    generator::{scheme::Scheme, shared::Memory},
    pg::{
        datum::{interval, varlena},
        errors::Error,
        fmgr::{Row, export},
    },
    settings::BASE_CLOCK,
    snowflake_si::generate::{self as snowflake_si, SnowflakeSiScheme},
    uid60::generate::{self as uid60, Uid60Scheme},
    uniqueid::generate::{self as uniqueid, UniqueIdScheme},
};

export! { sno_compat_generators }

/// `sno_compat_generators() → setof (scheme, generator, number, last_time, sequence, safe_time, overflows,
/// waited)`: one row per generator in use since the server started.
fn sno_compat_generators() -> Result<Vec<Row<8>>, Error> {
    let mut rows = Vec::new();
    // Without a base clock, ticks can't be converted to times.
    if let Ok(base) = BASE_CLOCK.get() {
        add_rows(&mut rows, "snowflake_si", SnowflakeSiScheme(base), &snowflake_si::MEMORY)?;
    }
    add_rows(&mut rows, "uid60", Uid60Scheme, &uid60::MEMORY)?;
    add_rows(&mut rows, "uniqueid", UniqueIdScheme, &uniqueid::MEMORY)?;
    Ok(rows)
}

fn add_rows<S: Scheme, const SLOTS: usize>(
    rows: &mut Vec<Row<8>>,
    name: &str,
    scheme: S,
    memory: &'static Memory<S, SLOTS>,
) -> Result<(), Error> {
    let shared = memory.generators()?;
    if !shared.is_ready() {
        return Ok(());
    }
    rows.extend(shared.slots.iter().map(|slot| slot.state()).enumerate().filter_map(|(slot, state)| {
        Some([
            varlena(name).into(),
            (slot as i32).into(),
            i32::from(state.partition?).into(),
            scheme.time(state.tick).into(),
            i32::from(state.sequence).into(),
            scheme.time(state.safe).into(),
            (state.overflows as i64).into(),
            interval(state.waited_micros).into(),
        ])
    }));
    Ok(())
}
