//! The fields of an ID, and an ID from its fields.

use pgrx::pg_sys;
use sno_core::{Fields, Sno, Tick};

use crate::{
    fixed::field,
    pg::{
        datum::Timestamp,
        errors::Error,
        fmgr::{self, Args, finfo, pg_function},
    },
};
/// The times that a sno holds, as a sentence for a DETAIL.
pub(crate) const SPAN: &str =
    "A sno holds times from 2010-01-01 00:00:00 UTC to 2079-09-07 15:47:35.551999 UTC.";

/// The metabyte of an argument.
pub(crate) fn metabyte(value: i32) -> Result<u8, Error> {
    field("metabyte", value, u8::MAX.into()).map(|byte| byte as u8)
}

pg_function! {
    /// `sno_time(sno) → timestamptz`: the start of the ID's tick.
    fn sno_time(id: Sno) -> Timestamp {
        Timestamp::from(id.tick())
    }
}

pg_function! {
    /// `sno_tick_tock(sno) → boolean`
    fn sno_tick_tock(id: Sno) -> bool {
        id.tick_tock()
    }
}

pg_function! {
    /// `sno_metabyte(sno) → integer`
    fn sno_metabyte(id: Sno) -> i32 {
        i32::from(id.metabyte())
    }
}

pg_function! {
    /// `sno_partition(sno) → integer`
    fn sno_partition(id: Sno) -> i32 {
        i32::from(id.partition())
    }
}

pg_function! {
    /// `sno_sequence(sno) → integer`
    fn sno_sequence(id: Sno) -> i32 {
        i32::from(id.sequence())
    }
}

finfo!(sno_inspect);
/// `sno_inspect(sno) → (time, tick_tock, metabyte, partition, sequence)`
#[unsafe(no_mangle)]
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn sno_inspect(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: declared in SQL with one argument of type sno, and with this row as its result.
    unsafe {
        let id: Sno = Args::new(fcinfo).next();
        let Fields { tick, tick_tock, metabyte, partition, sequence } = id.fields();
        let row = [
            Timestamp::from(tick).into(),
            tick_tock.into(),
            i32::from(metabyte).into(),
            i32::from(partition).into(),
            i32::from(sequence).into(),
        ];
        fmgr::row(fcinfo, row)
    }
}

pg_function! {
    /// `sno_make(timestamptz, integer, integer, integer, boolean) → sno`: the inverse of `sno_inspect`.
    fn sno_make(at: Timestamp, metabyte: i32, partition: i32, sequence: i32, tick_tock: bool) -> Sno {
        make(at, metabyte, partition, sequence, tick_tock)
    }
}

fn make(at: Timestamp, metabyte: i32, partition: i32, sequence: i32, tick_tock: bool) -> Result<Sno, Error> {
    let fields = Fields {
        tick: tick(at)?,
        tick_tock,
        metabyte: self::metabyte(metabyte)?,
        partition: field("partition", partition, u16::MAX)?,
        sequence: field("sequence", sequence, u16::MAX)?,
    };
    Ok(fields.into())
}

pg_function! {
    /// `sno_with_metabyte(sno, integer) → sno`
    fn sno_with_metabyte(id: Sno, metabyte: i32) -> Sno {
        self::metabyte(metabyte).map(|metabyte| id.with_metabyte(metabyte))
    }
}

/// The tick of a time, for an ID.
pub(crate) fn tick(time: Timestamp) -> Result<Tick, Error> {
    Tick::floor(time.unix_micros()).map_err(|_| Error::time("sno", time, SPAN))
}
