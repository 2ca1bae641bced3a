//! Snowflake-SI: its fields, bounds, and the conversion to sno. An ID is a `bigint`, so there is no type.
//!
//! The fields depend on the site's base clock and on how it divides the 13 low bits. The functions take these as
//! arguments, whose defaults in SQL are the server's settings.

pub(crate) mod generate;

use std::str::FromStr;

use sno_core::{
    Sno,
    compat::{
        SnowflakeSi,
        snowflake_si::{BaseClock, Fields, Machine},
    },
};

use self::generate::SnowflakeSiScheme;
use crate::{
    common::{into_sno, invalid_argument, out_of_range},
    generator::scheme::Scheme as _,
    pg::{
        datum::Timestamp,
        errors::{Error, check_range},
        fmgr::{Row, export},
        server::{is_preloaded, not_preloaded},
        server_setting::{OfThisHost, Setting},
    },
    settings::{BASE_CLOCK, MACHINE},
};

export! {
    snowflake_si_base_clock, snowflake_si_machine_bits, snowflake_si_time, snowflake_si_machine,
    snowflake_si_index, snowflake_si_inspect, snowflake_si_make, snowflake_si_lower, snowflake_si_upper,
    snowflake_si_to_sno,
}

fn id(number: i64) -> Result<SnowflakeSi, Error> {
    // As an unsigned number, a negative one is too large.
    SnowflakeSi::new(number as u64).map_err(|error| out_of_range("Snowflake-SI ID", number, error))
}

/// The scheme of a site.
fn scheme(base: Timestamp) -> Result<SnowflakeSiScheme, Error> {
    base_clock(base).map(SnowflakeSiScheme)
}

fn base_clock(at: Timestamp) -> Result<BaseClock, Error> {
    let micros = at.unix_micros();
    let reason = match BaseClock::new(micros.div_euclid(1000)) {
        Ok(base) if micros % 1000 == 0 => return Ok(base),
        Ok(_) => "a base clock is exact to the millisecond, and no finer".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(invalid_argument("base clock", at.to_text().as_bytes(), reason))
}

fn machine_bits(bits: i32) -> Result<u8, Error> {
    check_range("number of machine bits", bits, Machine::MAX_BITS.into()).map(|bits| bits as u8)
}

/// The setting that is the default of an argument. Without it, the argument can be given.
fn default_of<T: FromStr<Err: ToString>>(argument: &str, setting: &Setting<T>) -> Result<T, Error> {
    if is_preloaded() {
        return setting.get();
    }
    Err(not_preloaded()
        .detail(format!("The default of the argument {argument} is a setting, which only a server that preloads sno_compat has."))
        .hint(format!(
            "Give the argument {argument}, or add \"sno_compat\" to \"shared_preload_libraries\" in postgresql.conf, and restart the server."
        )))
}

/// `snowflake_si_base_clock() → timestamptz`: the setting.
fn snowflake_si_base_clock() -> Result<Timestamp, Error> {
    default_of("base_clock", &BASE_CLOCK)
        .map(|base: BaseClock| Timestamp::from_unix_micros(base.unix_millis() * 1000))
}

/// `snowflake_si_machine_bits() → integer`: the setting.
fn snowflake_si_machine_bits() -> Result<i32, Error> {
    default_of("machine_bits", &MACHINE).map(|OfThisHost(machine): OfThisHost<Machine>| machine.bits().into())
}

/// `snowflake_si_time(bigint, timestamptz) → timestamptz`
fn snowflake_si_time(number: i64, base: Timestamp) -> Result<Timestamp, Error> {
    Ok(scheme(base)?.time(id(number)?.time()))
}

/// `snowflake_si_machine(bigint, integer) → integer`
fn snowflake_si_machine(number: i64, bits: i32) -> Result<i32, Error> {
    let bits = machine_bits(bits)?;
    Ok(id(number)?.fields(bits).machine.into())
}

/// `snowflake_si_index(bigint, integer) → integer`
fn snowflake_si_index(number: i64, bits: i32) -> Result<i32, Error> {
    let bits = machine_bits(bits)?;
    Ok(id(number)?.fields(bits).index.into())
}

/// `snowflake_si_inspect(bigint, timestamptz, integer) → (time, machine, index)`
fn snowflake_si_inspect(number: i64, base: Timestamp, bits: i32) -> Result<Row<3>, Error> {
    let (scheme, bits) = (scheme(base)?, machine_bits(bits)?);
    let Fields { time, machine, index } = id(number)?.fields(bits);
    Ok([scheme.time(time).into(), i32::from(machine).into(), i32::from(index).into()])
}

/// `snowflake_si_make(timestamptz, integer, integer, timestamptz, integer) → bigint`: the inverse of
/// `snowflake_si_inspect`.
fn snowflake_si_make(
    at: Timestamp,
    machine: i32,
    index: i32,
    base: Timestamp,
    bits: i32,
) -> Result<i64, Error> {
    let (scheme, bits) = (scheme(base)?, machine_bits(bits)?);
    let [machine_max, index_max] = [bits, 13 - bits].map(|bits| ((1_u32 << bits) - 1) as u16);
    let fields = Fields {
        time: scheme.tick(at)?,
        machine: check_range("machine", machine, machine_max)?,
        index: check_range("index", index, index_max)?,
    };
    Ok(SnowflakeSi::from_fields(fields, bits).expect("fields that fit").get() as i64)
}

/// `snowflake_si_lower(timestamptz, timestamptz) → bigint`: the smallest ID that was not generated before.
fn snowflake_si_lower(at: Timestamp, base: Timestamp) -> Result<i64, Error> {
    Ok(SnowflakeSi::lower_bound(base_clock(base)?, at.unix_micros()).get() as i64)
}

/// `snowflake_si_upper(timestamptz, timestamptz) → bigint`: the largest ID that was not generated after.
fn snowflake_si_upper(at: Timestamp, base: Timestamp) -> Result<i64, Error> {
    Ok(SnowflakeSi::upper_bound(base_clock(base)?, at.unix_micros()).get() as i64)
}

/// `snowflake_si_to_sno(bigint, integer, timestamptz) → sno`
fn snowflake_si_to_sno(number: i64, metabyte: i32, base: Timestamp) -> Result<Sno, Error> {
    let (base, id) = (base_clock(base)?, id(number)?);
    into_sno(metabyte, SnowflakeSiScheme(base).time(id.time()), |metabyte| id.to_sno(base, metabyte))
}
