//! Conversions between datums and Rust types.
//!
//! pgrx has `FromDatum` and `IntoDatum` for this. But these take and return options, though no argument here is ever
//! null, and they allocate behind a guard, which takes longer than to generate an ID.

use std::{
    ffi::{CStr, c_int, c_void},
    time::{SystemTime, UNIX_EPOCH},
};

use pgrx::{
    PgLogLevel, PgSqlErrorCode,
    pg_sys::{self, panic::ErrorReport},
};

unsafe extern "C-unwind" {
    // pgrx's wrappers of these take longer than the allocation itself.
    fn palloc(size: usize) -> *mut c_void;
    fn palloc_extended(size: usize, flags: c_int) -> *mut c_void;
}

/// A copy of a value in the current memory context.
///
/// # Safety
/// Called in the outermost frame, which has nothing to drop: if there is no memory, PostgreSQL raises an error with `longjmp`.
#[inline(always)]
pub(crate) unsafe fn store<T: Copy>(value: T) -> pg_sys::Datum {
    // palloc aligns to 8 bytes.
    const { assert!(align_of::<T>() <= 8) };
    // SAFETY: palloc returns memory of that size, or raises an error.
    unsafe {
        let place = palloc(size_of::<T>()).cast::<T>();
        place.write(value);
        place.into()
    }
}

/// The same for calls inside a guard: if there is no memory, it panics.
pub(crate) fn store_guarded<T: Copy>(value: T) -> pg_sys::Datum {
    // Sizes below 1 GB are valid, so no error is raised.
    const { assert!(align_of::<T>() <= 8 && size_of::<T>() < 1024) };
    // SAFETY: with this flag palloc_extended returns memory of that size, or null.
    unsafe {
        let place = palloc_extended(size_of::<T>(), pg_sys::MCXT_ALLOC_NO_OOM as c_int).cast::<T>();
        if place.is_null() {
            ErrorReport::new(PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY, "out of memory", "")
                .report(PgLogLevel::ERROR);
        }
        place.write(value);
        place.into()
    }
}

/// A type of argument.
pub(crate) trait Argument {
    /// The value of a datum.
    ///
    /// # Safety
    /// The datum is one of the SQL type that corresponds to this type.
    unsafe fn from_datum(datum: pg_sys::Datum) -> Self;
}

/// A type of result.
pub(crate) trait Returned: Copy {
    /// The datum of a value, for calls inside a guard: if there is no memory, it panics.
    fn into_datum(self) -> pg_sys::Datum;

    /// The datum of a value, for calls outside a guard, as the last step of a function.
    ///
    /// # Safety
    /// As for [`store`].
    #[inline(always)]
    unsafe fn into_datum_unguarded(self) -> pg_sys::Datum {
        self.into_datum()
    }
}

/// Declares types of bytes without header and alignment, passed by reference.
macro_rules! by_reference {
    ($($type:ty),*) => {$(
        const _: () = assert!(align_of::<$type>() == 1);

        impl $crate::pg::datum::Argument for $type {
            #[inline(always)]
            unsafe fn from_datum(datum: pgrx::pg_sys::Datum) -> Self {
                // SAFETY: by the trait's contract it points to a value, which needs no alignment.
                unsafe { *datum.cast_mut_ptr::<$type>() }
            }
        }

        impl $crate::pg::datum::Returned for $type {
            fn into_datum(self) -> pgrx::pg_sys::Datum {
                $crate::pg::datum::store_guarded(self)
            }

            #[inline(always)]
            unsafe fn into_datum_unguarded(self) -> pgrx::pg_sys::Datum {
                // SAFETY: by the contract.
                unsafe { $crate::pg::datum::store(self) }
            }
        }
    )*};
}

/// Declares types that are one number of 64 bits, passed by value.
macro_rules! by_value {
    ($($type:ty: $read:expr;)*) => {$(
        impl $crate::pg::datum::Argument for $type {
            #[inline(always)]
            unsafe fn from_datum(datum: pgrx::pg_sys::Datum) -> Self {
                let read: fn(u64) -> $type = $read;
                read(datum.value() as u64)
            }
        }

        impl $crate::pg::datum::Returned for $type {
            #[inline(always)]
            fn into_datum(self) -> pgrx::pg_sys::Datum {
                self.get().into()
            }
        }
    )*};
}

pub(crate) use {by_reference, by_value};

by_reference!(Uuid);

/// A `uuid`.
#[derive(Clone, Copy)]
pub(crate) struct Uuid(pub(crate) [u8; 16]);

impl Argument for i32 {
    #[inline(always)]
    unsafe fn from_datum(datum: pg_sys::Datum) -> Self {
        datum.value() as i32
    }
}

impl Returned for i32 {
    #[inline(always)]
    fn into_datum(self) -> pg_sys::Datum {
        self.into()
    }
}

impl Argument for i64 {
    #[inline(always)]
    unsafe fn from_datum(datum: pg_sys::Datum) -> Self {
        datum.value() as i64
    }
}

impl Returned for i64 {
    #[inline(always)]
    fn into_datum(self) -> pg_sys::Datum {
        self.into()
    }
}

impl Returned for f64 {
    #[inline(always)]
    fn into_datum(self) -> pg_sys::Datum {
        self.to_bits().into()
    }
}

impl Argument for bool {
    #[inline(always)]
    unsafe fn from_datum(datum: pg_sys::Datum) -> Self {
        datum.value() as u8 != 0
    }
}

impl Returned for bool {
    #[inline(always)]
    fn into_datum(self) -> pg_sys::Datum {
        self.into()
    }
}

impl Returned for pg_sys::Datum {
    #[inline(always)]
    fn into_datum(self) -> pg_sys::Datum {
        self
    }
}

/// An argument of any type, as its datum.
impl Argument for pg_sys::Datum {
    #[inline(always)]
    unsafe fn from_datum(datum: pg_sys::Datum) -> Self {
        datum
    }
}

/// The bytes of a `bytea` or a `text`, as an argument that is valid during the call.
#[derive(Clone, Copy)]
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl Argument for Bytes<'_> {
    unsafe fn from_datum(datum: pg_sys::Datum) -> Self {
        // SAFETY: by the contract; what is detoasted lives as long as the memory context of the call.
        unsafe { Self(pgrx::varlena_to_byte_slice(pg_sys::pg_detoast_datum_packed(datum.cast_mut_ptr()))) }
    }
}

/// A `text` of these characters.
pub(crate) fn text(characters: &str) -> pg_sys::Datum {
    // SAFETY: PostgreSQL copies as many bytes as there are.
    unsafe { pg_sys::cstring_to_text_with_len(characters.as_ptr().cast(), characters.len() as i32).into() }
}

/// A `timestamptz`: microseconds since 2000-01-01 00:00:00 UTC; the smallest and the largest are the infinities.
#[derive(Clone, Copy)]
pub(crate) struct Timestamp(pub(crate) i64);

impl Timestamp {
    /// 2000-01-01 00:00:00 UTC as a Unix time in microseconds.
    const UNIX_MICROS: i64 = 946_684_800_000_000;

    /// What the system's clock shows, which is not the time of the transaction. At 1970 if that is earlier.
    pub(crate) fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self::from_unix_micros(since.map_or(0, |since| since.as_micros() as i64))
    }

    /// As a Unix time in microseconds. It saturates, so infinity is after all times that IDs hold.
    pub(crate) const fn unix_micros(self) -> i64 {
        self.0.saturating_add(Self::UNIX_MICROS)
    }

    /// As PostgreSQL writes it in messages.
    pub(crate) fn to_text(self) -> String {
        // SAFETY: PostgreSQL returns a static buffer, which is copied at once.
        unsafe { CStr::from_ptr(pg_sys::timestamptz_to_str(self.0)) }.to_string_lossy().into_owned()
    }

    /// From a Unix time in microseconds that an ID of some scheme holds.
    #[inline(always)]
    pub(crate) const fn from_unix_micros(micros: i64) -> Self {
        Self(micros - Self::UNIX_MICROS)
    }
}

impl Argument for Timestamp {
    #[inline(always)]
    unsafe fn from_datum(datum: pg_sys::Datum) -> Self {
        Self(datum.value() as i64)
    }
}

impl Returned for Timestamp {
    #[inline(always)]
    fn into_datum(self) -> pg_sys::Datum {
        self.0.into()
    }
}

/// An `interval` of so many microseconds.
#[derive(Clone, Copy)]
pub(crate) struct Interval(pub(crate) i64);

impl Returned for Interval {
    fn into_datum(self) -> pg_sys::Datum {
        store_guarded(pg_sys::Interval { time: self.0, day: 0, month: 0 })
    }
}
