//! uniqueid: the type, its fields, bounds, and the conversion to sno.

pub(crate) mod generate;

use pgrx::pg_sys::Datum;
use sno_core::{
    Sno,
    compat::{UniqueId, uniqueid::Fields},
};

use self::generate::UniqueIdScheme;
use crate::{
    common::{into_sno, named},
    fixed_length::{Fixed, sort, type_functions},
    generator::scheme::Scheme as _,
    id::Id,
    pg::{
        datum::{Timestamp, by_value, varlena},
        errors::{Error, check_range},
        fmgr::{Row, export},
    },
};

export! {
    uniqueid_time, uniqueid_sequence, uniqueid_generator, uniqueid_cluster, uniqueid_form, uniqueid_inspect,
    uniqueid_make, uniqueid_lower, uniqueid_upper, uniqueid_to_sno,
}

by_value! {
    Id<UniqueId>: |datum| Id(UniqueId::new(datum.value() as u64)), |id| id.get().into();
}

impl Fixed for Id<UniqueId> {}

type_functions!(Id<UniqueId>, "uniqueid", sort::unsigned);

/// `uniqueid_time(uniqueid) → timestamptz`: the start of its millisecond.
fn uniqueid_time(id: Id<UniqueId>) -> Timestamp {
    UniqueIdScheme.time(id.time())
}

/// `uniqueid_sequence(uniqueid) → integer`
fn uniqueid_sequence(id: Id<UniqueId>) -> i32 {
    i32::from(id.fields().sequence)
}

/// `uniqueid_generator(uniqueid) → integer`
fn uniqueid_generator(id: Id<UniqueId>) -> i32 {
    i32::from(id.fields().generator)
}

/// `uniqueid_cluster(uniqueid) → integer`
fn uniqueid_cluster(id: Id<UniqueId>) -> i32 {
    i32::from(id.fields().cluster)
}

/// `uniqueid_form(uniqueid) → text`
fn uniqueid_form(id: Id<UniqueId>) -> Datum {
    varlena(id.form().name())
}

/// `uniqueid_inspect(uniqueid) → (time, sequence, generator, cluster, form)`
fn uniqueid_inspect(id: Id<UniqueId>) -> Row<5> {
    let Fields { time, sequence, generator, cluster, form } = id.fields();
    [
        UniqueIdScheme.time(time).into(),
        i32::from(sequence).into(),
        i32::from(generator).into(),
        i32::from(cluster).into(),
        varlena(form.name()).into(),
    ]
}

/// `uniqueid_make(timestamptz, integer, integer, integer, text) → uniqueid`: the inverse of
/// `uniqueid_inspect`.
fn uniqueid_make(
    at: Timestamp,
    sequence: i32,
    generator: i32,
    cluster: i32,
    form: &[u8],
) -> Result<Id<UniqueId>, Error> {
    let fields = Fields {
        form: named("form", form)?,
        time: UniqueIdScheme.tick(at)?,
        sequence: check_range("sequence", sequence, 63)?,
        generator: check_range("generator", generator, 2047)?,
        cluster: check_range("cluster", cluster, 15)?,
    };
    Ok(Id(UniqueId::from_fields(fields).expect("fields that fit")))
}

/// `uniqueid_lower(timestamptz) → uniqueid`: the smallest possible time-sequential ID of the first millisecond at
/// or after a time.
fn uniqueid_lower(time: Timestamp) -> Id<UniqueId> {
    Id(UniqueId::lower_bound(time.unix_micros()))
}

/// `uniqueid_upper(timestamptz) → uniqueid`: the largest possible time-sequential ID of the millisecond of a time.
fn uniqueid_upper(time: Timestamp) -> Id<UniqueId> {
    Id(UniqueId::upper_bound(time.unix_micros()))
}

/// `uniqueid_to_sno(uniqueid, integer) → sno`
fn uniqueid_to_sno(id: Id<UniqueId>, metabyte: i32) -> Result<Sno, Error> {
    into_sno(metabyte, UniqueIdScheme.time(id.time()), |metabyte| id.to_sno(metabyte))
}
