//! uid60: the type, its fields, bounds, and conversions to bigint and sno.

pub(crate) mod generate;

use sno_core::{
    Sno,
    compat::{Uid60, uid60::Fields},
};

use self::generate::Uid60Scheme;
use crate::{
    common::{into_sno, out_of_range},
    fixed_length::{Fixed, sort, type_functions},
    generator::scheme::Scheme as _,
    id::Id,
    pg::{
        datum::{Timestamp, by_value},
        errors::{Error, check_range},
        fmgr::{Row, export},
    },
};

export! {
    uid60_time, uid60_worker, uid60_sequence, uid60_random, uid60_inspect, uid60_make, uid60_lower,
    uid60_upper, uid60_from_bigint, uid60_to_sno,
}

by_value! {
    Id<Uid60>: |datum| Id(Uid60::from_bits(datum.value() as u64)), |id| id.get().into();
}

impl Fixed for Id<Uid60> {}

type_functions!(Id<Uid60>, "uid60", sort::unsigned);

/// `uid60_time(uid60) → timestamptz`: the start of its second.
fn uid60_time(id: Id<Uid60>) -> Timestamp {
    Uid60Scheme.time(id.time())
}

/// `uid60_worker(uid60) → integer`
fn uid60_worker(id: Id<Uid60>) -> i32 {
    i32::from(id.worker())
}

/// `uid60_sequence(uid60) → integer`
fn uid60_sequence(id: Id<Uid60>) -> i32 {
    i32::from(id.sequence())
}

/// `uid60_random(uid60) → integer`
fn uid60_random(id: Id<Uid60>) -> i32 {
    i32::from(id.random())
}

/// `uid60_inspect(uid60) → (time, worker, sequence, random)`
fn uid60_inspect(id: Id<Uid60>) -> Row<4> {
    let Fields { time, worker, sequence, random } = id.fields();
    [
        Uid60Scheme.time(time).into(),
        i32::from(worker).into(),
        i32::from(sequence).into(),
        i32::from(random).into(),
    ]
}

/// `uid60_make(timestamptz, integer, integer, integer) → uid60`: the inverse of `uid60_inspect`.
fn uid60_make(at: Timestamp, worker: i32, sequence: i32, random: i32) -> Result<Id<Uid60>, Error> {
    let fields = Fields {
        time: Uid60Scheme.tick(at)?,
        worker: check_range("worker", worker, 511)?,
        sequence: check_range("sequence", sequence, 1023)?,
        random: check_range("random part", random, 511)?,
    };
    Ok(Id(Uid60::from_fields(fields).expect("fields that fit")))
}

/// `uid60_lower(timestamptz) → uid60`: the smallest possible ID of the first second at or after a time.
fn uid60_lower(time: Timestamp) -> Id<Uid60> {
    Id(Uid60::lower_bound(time.unix_micros()))
}

/// `uid60_upper(timestamptz) → uid60`: the largest possible ID of the second of a time.
fn uid60_upper(time: Timestamp) -> Id<Uid60> {
    Id(Uid60::upper_bound(time.unix_micros()))
}

/// `uid60_from_bigint(bigint) → uid60`
fn uid60_from_bigint(number: i64) -> Result<Id<Uid60>, Error> {
    // As an unsigned number, a negative one is too large.
    Uid60::new(number as u64).map(Id).map_err(|error| out_of_range("uid60", number, error))
}

/// `uid60_to_sno(uid60, integer) → sno`
fn uid60_to_sno(id: Id<Uid60>, metabyte: i32) -> Result<Sno, Error> {
    into_sno(metabyte, Uid60Scheme.time(id.time()), |metabyte| id.to_sno(metabyte))
}
