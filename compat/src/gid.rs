//! gid: the type and its functions. Its IDs have 64 random bits, so there are no generators, no shared memory and no
//! marks.

use pgrx::pg_sys::Datum;
use sno_core::{
    FixedLength as _,
    compat::{Epoch, Gid, gid::Millis},
};

use crate::{
    common::{invalid_argument, named},
    fixed_length::{
        Fixed,
        sort::{self, Abbreviate},
        type_functions,
    },
    id::Id,
    pg::{
        datum::{NewVarlena, Timestamp, Uuid, by_reference, varlena},
        errors::{Error, sentence},
        fmgr::{Row, export},
        server::random,
    },
};

export! {
    gid_new, gid_prefix, gid_time, gid_tail, gid_inspect, gid_make, gid_lower, gid_upper, gid_from_uuid,
}

by_reference!(Id<Gid>);

impl Fixed for Id<Gid> {}

type_functions!(Id<Gid>, "gid", sort::abbreviated::<Id<Gid>>);

/// The first eight bytes: prefix and time, which sort as the IDs do.
impl Abbreviate for Id<Gid> {
    type Abbreviation = ();

    fn anchor(self) {}

    #[inline(always)]
    fn key(self, (): ()) -> u64 {
        let [key @ .., _, _, _, _, _, _, _, _] = self.to_bytes();
        u64::from_be_bytes(key)
    }
}

const SPAN: &str = "A gid holds times from 1970-01-01 00:00:00 UTC to 10889-08-02 05:31:50.655999 UTC.";

fn millis(at: Timestamp) -> Result<Millis, Error> {
    Epoch::UNIX.floor(at.unix_micros()).map_err(|_| Error::time("gid", at, SPAN))
}

/// `gid_new(text) → gid`
fn gid_new(prefix: &[u8]) -> Result<Id<Gid>, Error> {
    let prefix = named("prefix", prefix)?;
    Ok(Id(Gid::from_fields(prefix, millis(Timestamp::now())?, u64::from_ne_bytes(random()?))))
}

/// `gid_prefix(gid) → text`
fn gid_prefix(id: Id<Gid>) -> Datum {
    varlena(id.prefix().name())
}

/// `gid_time(gid) → timestamptz`: the start of its millisecond.
fn gid_time(id: Id<Gid>) -> Timestamp {
    Timestamp::from_unix_micros(Epoch::UNIX.unix_micros(id.time()))
}

/// `gid_tail(gid) → bytea`: the last nine bytes.
fn gid_tail(id: Id<Gid>) -> NewVarlena<[u8; 9]> {
    NewVarlena(id.tail())
}

/// `gid_inspect(gid) → (prefix, time, tail)`
fn gid_inspect(id: Id<Gid>) -> Row<3> {
    [gid_prefix(id).into(), gid_time(id).into(), varlena(id.tail()).into()]
}

/// `gid_make(text, timestamptz, bytea) → gid`: the inverse of `gid_inspect`.
fn gid_make(prefix: &[u8], at: Timestamp, tail: &[u8]) -> Result<Id<Gid>, Error> {
    let mut bytes = Gid::from_fields(named("prefix", prefix)?, millis(at)?, 0).to_bytes();
    let nine: &[u8; 9] = tail.try_into().map_err(|_| Error::length("gid tail", 9, tail.len()))?;
    bytes[7..].copy_from_slice(nine);
    Gid::from_bytes(bytes).map(Id).map_err(|error| {
        let hex: String = tail.iter().map(|byte| format!("{byte:02x}")).collect();
        invalid_argument("tail", format!("\\x{hex}").as_bytes(), error)
    })
}

/// `gid_lower(text, timestamptz) → gid`: the smallest possible ID of a prefix at or after a time.
fn gid_lower(prefix: &[u8], time: Timestamp) -> Result<Id<Gid>, Error> {
    Ok(Id(Gid::lower_bound(named("prefix", prefix)?, time.unix_micros())))
}

/// `gid_upper(text, timestamptz) → gid`: the largest possible ID of a prefix in the millisecond of a time.
fn gid_upper(prefix: &[u8], time: Timestamp) -> Result<Id<Gid>, Error> {
    Ok(Id(Gid::upper_bound(named("prefix", prefix)?, time.unix_micros())))
}

/// `gid_from_uuid(uuid) → gid`: the same 16 bytes.
fn gid_from_uuid(uuid: Uuid) -> Result<Id<Gid>, Error> {
    Gid::from_bytes(uuid.0).map(Id).map_err(|error| Error::uuid("gid", &uuid.0, sentence(error)))
}
