//! Monitoring of generators: `sno_generators` and `sno_generator()`.

use crate::{
    generator::{max_clock_wait::max_clock_wait, scheme::Scheme as _},
    pg::{
        datum::{Timestamp, interval},
        errors::Error,
        fmgr::{Row, export},
        server::is_in_recovery,
        server_setting::refuse_undefined,
    },
    sno::{
        memory::{self, MEMORY, SLOTS, SnoScheme, own_partition},
        settings::Settings,
    },
};

export! { sno_generators, sno_generator }

/// `sno_generators() → setof (generator, partition, last_time, tick_tock, sequence, safe_time, drifts, overflows,
/// waited)`: one row per generator in use since the server started.
fn sno_generators() -> Result<Vec<Row<9>>, Error> {
    let shared = MEMORY.generators()?;
    let slots = if shared.is_ready() { &shared.slots[..] } else { &[] };
    let floor = shared.horizons.highest_floor();
    let rows = slots.iter().map(|slot| slot.state()).enumerate().filter_map(|(number, state)| {
        Some([
            (number as i32).into(),
            i32::from(state.partition?).into(),
            Timestamp::from(state.tick).into(),
            state.tick_tock.into(),
            i32::from(state.sequence).into(),
            Timestamp::from(state.safe.max(floor)).into(),
            (state.backward_steps as i64).into(),
            (state.overflows as i64).into(),
            interval(state.waited_micros).into(),
        ])
    });
    Ok(rows.collect())
}

/// `sno_generator() → (generator, partition, prefix, prefix_bits, prefix_auto, sequence_lower, sequence_upper,
/// max_clock_wait)`: this backend's generator and settings. It fails where the settings would make generation fail. A standby does not
/// know the number that it will draw.
fn sno_generator() -> Result<Row<8>, Error> {
    let settings = Settings::current()?;
    refuse_undefined(SnoScheme::SETTING)?;
    let prefix = if is_in_recovery() { settings.prefix } else { Some(memory::prefix()?) };
    let partition = prefix.map(own_partition);
    Ok([
        partition.map(|partition| i32::from(partition % SLOTS as u16)).into(),
        partition.map(i32::from).into(),
        prefix.map(|prefix| i32::from(prefix.value())).into(),
        prefix.map(|prefix| i32::from(prefix.bits())).into(),
        settings.prefix.is_none().into(),
        i32::from(settings.range.lower()).into(),
        i32::from(settings.range.upper()).into(),
        interval(max_clock_wait()).into(),
    ])
}
