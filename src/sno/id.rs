//! The type `sno`, in the order in which one asks: input and output, comparison, sorting and hashing, btree and BRIN,
//! casts, fields.

use pgrx::pg_sys::{self, Datum};
use sno_core::{Fields, Sno};
pub(crate) use sno_shared::sno::{SPAN, metabyte, tick};

use crate::{
    fixed_length::{sort, type_functions},
    pg::{
        datum::{Timestamp, Uuid},
        errors::{Error, check_range},
        fmgr::{Row, export},
        raw::in_range_timestamptz_interval,
    },
};

export! {
    sno_in_range, sno_brin_distance, sno_to_uuid, sno_from_uuid, sno_to_uuidv7, uuidv7_to_sno, sno_time,
    sno_tick_tock, sno_metabyte, sno_partition, sno_sequence, sno_inspect, sno_make, sno_with_metabyte,
}

// Input, output, comparison, sort support, hash, casts to and from bytea.
type_functions!(Sno, "sno", sort::abbreviated::<Sno>);

/// `sno_in_range(sno, sno, interval, boolean, boolean) → boolean`: the function of `timestamptz`, for the times of
/// IDs.
fn sno_in_range(value: Sno, base: Sno, offset: Datum, sub: Datum, less: Datum) -> Datum {
    let [value, base] = [value, base].map(|id| Timestamp::from(id.tick()).0.into());
    // SAFETY: the arguments that it takes.
    unsafe {
        pg_sys::DirectFunctionCall5Coll(
            Some(in_range_timestamptz_interval),
            pg_sys::InvalidOid,
            value,
            base,
            offset,
            sub,
            less,
        )
    }
}

/// `sno_brin_distance(sno, sno) → double precision`: the distance of two IDs, in ticks. `minmax_multi` merges the
/// ranges that are closest to each other.
fn sno_brin_distance(left: Sno, right: Sno) -> f64 {
    left.distance(right)
}

/// Skip scans came with PostgreSQL 18; before, SQL does not declare the function.
mod skip {
    use pgrx::pg_sys::{Datum, FunctionCallInfo, Relation};
    use sno_core::Sno;

    use crate::pg::{
        datum::{Argument as _, Returned as _},
        fmgr::{Args, functions},
    };

    /// PostgreSQL's `SkipSupportData`, which pgrx does not bind.
    #[repr(C)]
    struct SkipSupport {
        low: Datum,
        high: Datum,
        decrement: unsafe extern "C-unwind" fn(Relation, Datum, *mut bool) -> Datum,
        increment: unsafe extern "C-unwind" fn(Relation, Datum, *mut bool) -> Datum,
    }

    functions! {
        /// `sno_skipsupport(internal) → void`
        sno_skipsupport: fill;
    }

    unsafe fn fill(fcinfo: FunctionCallInfo) -> Datum {
        // SAFETY: PostgreSQL passes this struct to fill. No frame above has anything to drop.
        unsafe {
            let place = Args::new(fcinfo).next::<Datum>().cast_mut_ptr::<SkipSupport>();
            let (low, high) = (Sno::MIN.into_datum(), Sno::MAX.into_datum());
            place.write(SkipSupport { low, high, decrement, increment });
        }
        Datum::null()
    }

    unsafe extern "C-unwind" fn decrement(_: Relation, id: Datum, overflow: *mut bool) -> Datum {
        // SAFETY: the element is a sno, and the flag is to be written.
        unsafe { neighbour(Sno::from_datum(id).predecessor(), overflow) }
    }

    unsafe extern "C-unwind" fn increment(_: Relation, id: Datum, overflow: *mut bool) -> Datum {
        // SAFETY: the element is a sno, and the flag is to be written.
        unsafe { neighbour(Sno::from_datum(id).successor(), overflow) }
    }

    unsafe fn neighbour(id: Option<Sno>, overflow: *mut bool) -> Datum {
        // SAFETY: the caller's flag. No frame above has anything to drop.
        unsafe {
            *overflow = id.is_none();
            id.map_or(Datum::null(), |id| id.into_datum())
        }
    }
}

/// `sno_to_uuid(sno) → uuid`: the 16 characters as the 16 bytes, in the same order.
fn sno_to_uuid(id: Sno) -> Uuid {
    Uuid(id.to_text())
}

/// `sno_from_uuid(uuid) → sno`
fn sno_from_uuid(uuid: Uuid) -> Result<Sno, Error> {
    Sno::parse_bytes(&uuid.0).map_err(|error| {
        // There are 16 bytes, so the error has a position.
        let place = error.position().map_or(0, |position| position + 1);
        let detail = format!("Byte {place} is not the code of one of the characters 2-9 and a-x.");
        Error::uuid("sno", &uuid.0, detail)
    })
}

/// `sno_to_uuidv7(sno) → uuid`: a version 7 with the fields of the ID.
fn sno_to_uuidv7(id: Sno) -> Uuid {
    Uuid(id.to_uuidv7())
}

/// `uuidv7_to_sno(uuid) → sno`
fn uuidv7_to_sno(uuid: Uuid) -> Result<Sno, Error> {
    let detail = "It is not a result of sno_to_uuidv7.";
    Sno::from_uuidv7(uuid.0).ok_or_else(|| Error::uuid("sno", &uuid.0, detail))
}

/// `sno_time(sno) → timestamptz`: the start of the ID's tick.
fn sno_time(id: Sno) -> Timestamp {
    Timestamp::from(id.tick())
}

/// `sno_tick_tock(sno) → boolean`
fn sno_tick_tock(id: Sno) -> bool {
    id.tick_tock()
}

/// `sno_metabyte(sno) → integer`
fn sno_metabyte(id: Sno) -> i32 {
    i32::from(id.metabyte())
}

/// `sno_partition(sno) → integer`
fn sno_partition(id: Sno) -> i32 {
    i32::from(id.partition())
}

/// `sno_sequence(sno) → integer`
fn sno_sequence(id: Sno) -> i32 {
    i32::from(id.sequence())
}

/// `sno_inspect(sno) → (time, tick_tock, metabyte, partition, sequence)`
fn sno_inspect(id: Sno) -> Row<5> {
    let Fields { tick, tick_tock, metabyte, partition, sequence } = id.fields();
    [
        Timestamp::from(tick).into(),
        tick_tock.into(),
        i32::from(metabyte).into(),
        i32::from(partition).into(),
        i32::from(sequence).into(),
    ]
}

/// `sno_make(timestamptz, integer, integer, integer, boolean) → sno`: the inverse of `sno_inspect`.
fn sno_make(
    at: Timestamp,
    metabyte: i32,
    partition: i32,
    sequence: i32,
    tick_tock: bool,
) -> Result<Sno, Error> {
    let fields = Fields {
        tick: tick(at)?,
        tick_tock,
        metabyte: sno_shared::sno::metabyte(metabyte)?,
        partition: check_range("partition", partition, u16::MAX)?,
        sequence: check_range("sequence", sequence, u16::MAX)?,
    };
    Ok(fields.into())
}

/// `sno_with_metabyte(sno, integer) → sno`
fn sno_with_metabyte(id: Sno, metabyte: i32) -> Result<Sno, Error> {
    sno_shared::sno::metabyte(metabyte).map(|metabyte| id.with_metabyte(metabyte))
}
