//! The fields of an ID, and an ID from its fields.

use sno_core::{Fields, Sno, Tick};

use crate::pg::{
    datum::Timestamp,
    errors::{Error, check_range},
    fmgr::{Row, pg_function},
};

/// The times that a sno holds, as a sentence for a DETAIL.
pub(crate) const SPAN: &str =
    "A sno holds times from 2010-01-01 00:00:00 UTC to 2079-09-07 15:47:35.551999 UTC.";

impl From<Tick> for Timestamp {
    #[inline(always)]
    fn from(tick: Tick) -> Self {
        Self::from_unix_micros(tick.unix_micros())
    }
}

/// The tick of a time, for an ID.
pub(crate) fn tick(time: Timestamp) -> Result<Tick, Error> {
    Tick::floor(time.unix_micros()).map_err(|_| Error::time("sno", time, SPAN))
}

/// The metabyte of an argument.
pub(crate) fn metabyte(value: i32) -> Result<u8, Error> {
    check_range("metabyte", value, u8::MAX.into()).map(|byte| byte as u8)
}

pg_function! {
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
        at: Timestamp, metabyte: i32, partition: i32, sequence: i32, tick_tock: bool
    ) -> Result<Sno, Error> {
        let fields = Fields {
            tick: tick(at)?,
            tick_tock,
            metabyte: self::metabyte(metabyte)?,
            partition: check_range("partition", partition, u16::MAX)?,
            sequence: check_range("sequence", sequence, u16::MAX)?,
        };
        Ok(fields.into())
    }

    /// `sno_with_metabyte(sno, integer) → sno`
    fn sno_with_metabyte(id: Sno, metabyte: i32) -> Result<Sno, Error> {
        self::metabyte(metabyte).map(|metabyte| id.with_metabyte(metabyte))
    }
}
