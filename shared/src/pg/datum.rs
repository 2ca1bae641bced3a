//! Conversions between datums and Rust types.
//!
//! pgrx has `FromDatum` and `IntoDatum` for this. But these take and return options, though hardly any argument here
//! can be null, and they allocate behind a guard, which takes longer than to generate an ID.

use std::ffi::CStr;

use pgrx::pg_sys::{self, Datum};

use crate::pg::raw;

/// A type of argument.
pub trait Argument {
    /// The value of a datum.
    ///
    /// # Safety
    /// The datum is one of the SQL type that corresponds to this type.
    unsafe fn from_datum(datum: Datum) -> Self;
}

/// A type of result.
pub trait Returned: Copy {
    /// The datum of a value, as the last step of a function.
    ///
    /// # Safety
    /// As for the functions of [`raw`]: it may allocate.
    unsafe fn into_datum(self) -> Datum;
}

/// A type of result that is passed by value.
pub trait ByValue: Copy {
    /// The datum of a value.
    fn datum(self) -> Datum;
}

impl<T: ByValue> Returned for T {
    #[inline(always)]
    unsafe fn into_datum(self) -> Datum {
        self.datum()
    }
}

/// Declares types that are passed by value, with the conversions from and to a datum.
#[macro_export]
macro_rules! by_value {
    ($($type:ty: $read:expr, $write:expr;)*) => {$(
        impl $crate::pg::datum::Argument for $type {
            #[inline(always)]
            unsafe fn from_datum(datum: pgrx::pg_sys::Datum) -> Self {
                let read: fn(pgrx::pg_sys::Datum) -> $type = $read;
                read(datum)
            }
        }

        impl $crate::pg::datum::ByValue for $type {
            #[inline(always)]
            fn datum(self) -> pgrx::pg_sys::Datum {
                let write: fn($type) -> pgrx::pg_sys::Datum = $write;
                write(self)
            }
        }
    )*};
}

/// Declares types of bytes without header and alignment, passed by reference.
#[macro_export]
macro_rules! by_reference {
    ($($type:ty),*) => {$(
        const _: () = assert!(align_of::<$type>() == 1);

        impl $crate::pg::datum::Argument for $type {
            #[inline(always)]
            unsafe fn from_datum(datum: pgrx::pg_sys::Datum) -> Self {
                // SAFETY: the datum points to a value of the SQL type, which needs no alignment.
                unsafe { *datum.cast_mut_ptr::<$type>() }
            }
        }

        impl $crate::pg::datum::Returned for $type {
            #[inline(always)]
            unsafe fn into_datum(self) -> pgrx::pg_sys::Datum {
                // SAFETY: no frame above has anything to drop.
                unsafe { $crate::pg::datum::palloc_copy(self) }
            }
        }
    )*};
}

pub use {by_reference, by_value};

/// A copy of a value in the current memory context.
///
/// # Safety
/// As for the functions of [`raw`]: if there is no memory, PostgreSQL raises an error with `longjmp`.
#[inline(always)]
#[allow(ffi_unwind_calls, reason = "no frame up to PostgreSQL has anything to drop")]
pub unsafe fn palloc_copy<T: Copy>(value: T) -> Datum {
    // palloc aligns to 8 bytes.
    const { assert!(align_of::<T>() <= 8) };
    // SAFETY: palloc returns memory of that size, or raises an error, and no frame above has anything to drop.
    unsafe {
        let place = raw::palloc(size_of::<T>()).cast::<T>();
        place.write(value);
        place.into()
    }
}

by_value! {
    i32: |datum| datum.value() as i32, Datum::from;
    i64: |datum| datum.value() as i64, Datum::from;
    f64: |datum| f64::from_bits(datum.value() as u64), |value| value.to_bits().into();
    bool: |datum| datum.value() as u8 != 0, Datum::from;
    Timestamp: |datum| Timestamp(datum.value() as i64), |time| time.0.into();
    // A value of any type, as its datum.
    Datum: |datum| datum, |datum| datum;
}
by_reference!(Uuid);

/// A `uuid`.
#[derive(Clone, Copy)]
pub struct Uuid(pub [u8; 16]);

/// The bytes of a `bytea` or a `text`, as an argument that is valid during the call.
impl Argument for &[u8] {
    unsafe fn from_datum(datum: Datum) -> Self {
        // SAFETY: a varlena; what is detoasted lives as long as the memory context of the call.
        unsafe { pgrx::varlena_to_byte_slice(pg_sys::pg_detoast_datum_packed(datum.cast_mut_ptr())) }
    }
}

/// A `bytea` or a `text` of these bytes, as a result.
#[derive(Clone, Copy)]
pub struct NewVarlena<B: Copy>(pub B);

impl<B: Copy> Returned for NewVarlena<B> {
    #[inline(always)]
    unsafe fn into_datum(self) -> Datum {
        /// The memory layout.
        #[derive(Clone, Copy)]
        #[repr(C)]
        struct Varlena<B: Copy> {
            header: u32,
            bytes: B,
        }

        const { assert!(align_of::<B>() == 1) };
        let mut varlena = Varlena { header: 0, bytes: self.0 };
        // SAFETY: the header of a varlena is its first four bytes. No frame above has anything to drop.
        unsafe {
            let length = pg_sys::VARHDRSZ + size_of::<B>();
            pgrx::set_varsize_4b((&raw mut varlena).cast(), length as i32);
            palloc_copy(varlena)
        }
    }
}

/// A `bytea` or a `text` of these bytes, for a column of a row.
pub fn varlena(bytes: impl AsRef<[u8]>) -> Datum {
    let bytes = bytes.as_ref();
    // SAFETY: PostgreSQL copies as many bytes as there are.
    unsafe { pg_sys::cstring_to_text_with_len(bytes.as_ptr().cast(), bytes.len() as i32).into() }
}

/// An `interval` of so many microseconds, for a column of a row.
pub fn interval(micros: u64) -> Datum {
    let interval = pg_sys::Interval { time: micros as i64, day: 0, month: 0 };
    // SAFETY: PostgreSQL allocates as many bytes, or raises an error, which is a panic here.
    unsafe {
        let place = pg_sys::palloc(size_of::<pg_sys::Interval>()).cast::<pg_sys::Interval>();
        place.write(interval);
        place.into()
    }
}

/// An `interval`, as an argument.
#[derive(Clone, Copy)]
pub struct Interval(pg_sys::Interval);

impl Interval {
    /// No time.
    pub const ZERO: Self = Self(pg_sys::Interval { time: 0, day: 0, month: 0 });

    /// In microseconds, with days of 24 hours and months of 30 days, as PostgreSQL compares intervals. It saturates.
    pub fn micros(self) -> i64 {
        let days = i64::from(self.0.month) * 30 + i64::from(self.0.day);
        self.0.time.saturating_add(days.saturating_mul(86_400_000_000))
    }
}

impl Argument for Interval {
    unsafe fn from_datum(datum: Datum) -> Self {
        // SAFETY: the datum points to an interval.
        Self(unsafe { *datum.cast_mut_ptr() })
    }
}

/// A `timestamptz`: microseconds since 2000-01-01 00:00:00 UTC; the smallest and the largest are the infinities.
#[derive(Clone, Copy)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// 2000-01-01 00:00:00 UTC as a Unix time in microseconds.
    const UNIX_MICROS: i64 = 946_684_800_000_000;

    /// What the system's clock shows, as `clock_timestamp()`: not the time of the transaction.
    #[inline(always)]
    pub fn now() -> Self {
        // SAFETY: a plain call.
        Self(unsafe { raw::GetCurrentTimestamp() })
    }

    /// The Unix time in microseconds. It saturates, so infinity is after all times that IDs hold.
    pub const fn unix_micros(self) -> i64 {
        self.0.saturating_add(Self::UNIX_MICROS)
    }

    /// The text that PostgreSQL writes in messages.
    pub fn to_text(self) -> String {
        // SAFETY: PostgreSQL returns a static buffer, which is copied at once.
        unsafe { CStr::from_ptr(pg_sys::timestamptz_to_str(self.0)) }.to_string_lossy().into_owned()
    }

    /// The timestamp of a Unix time in microseconds that an ID of some scheme holds.
    #[inline(always)]
    pub const fn from_unix_micros(micros: i64) -> Self {
        Self(micros - Self::UNIX_MICROS)
    }
}
