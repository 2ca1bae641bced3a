//! Values as PostgreSQL passes them, by the types of Rust that stand for those of SQL.
//!
//! pgrx's `FromDatum` and `IntoDatum` would do for most of them. But they take and give options, though no argument
//! here is ever null, and allocate behind a guard of their own, which costs more than to make an ID.

use std::ffi::{CStr, c_int, c_void};

use pgrx::{
    PgLogLevel, PgSqlErrorCode,
    pg_sys::{self, panic::ErrorReport},
};

unsafe extern "C-unwind" {
    // Without pgrx's wrappers, which take longer than the allocation itself.
    fn palloc(size: usize) -> *mut c_void;
    fn palloc_extended(size: usize, flags: c_int) -> *mut c_void;
}

/// A copy of a value in the current memory context.
///
/// # Safety
/// Called in the outermost frame, which has nothing to drop: PostgreSQL jumps for lack of memory.
#[inline(always)]
pub(crate) unsafe fn store<T: Copy>(value: T) -> pg_sys::Datum {
    // What PostgreSQL aligns for.
    const { assert!(align_of::<T>() <= 8) };
    // SAFETY: palloc returns memory of that size, or not at all.
    unsafe {
        let place = palloc(size_of::<T>()).cast::<T>();
        place.write(value);
        place.into()
    }
}

/// The same inside of a guard: panics for lack of memory.
pub(crate) fn store_guarded<T: Copy>(value: T) -> pg_sys::Datum {
    // The size is one that PostgreSQL takes without an error.
    const { assert!(align_of::<T>() <= 8 && size_of::<T>() < 1024) };
    // SAFETY: by its flag this returns memory of that size, or null.
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
    /// The datum is one of the SQL type that this type stands for.
    unsafe fn from_datum(datum: pg_sys::Datum) -> Self;
}

/// A type of result.
pub(crate) trait Returned: Copy {
    /// The datum of a value, inside of a guard: panics for lack of memory.
    fn into_datum(self) -> pg_sys::Datum;

    /// The datum of a value, as the result of a call.
    ///
    /// # Safety
    /// As for [`store`].
    #[inline(always)]
    unsafe fn answer(self) -> pg_sys::Datum {
        self.into_datum()
    }
}

/// A type of bytes, without header and without alignment, by reference.
macro_rules! by_reference {
    ($($type:ty),*) => {$(
        const _: () = assert!(align_of::<$type>() == 1);

        impl $crate::pg::datum::Argument for $type {
            #[inline(always)]
            unsafe fn from_datum(datum: pgrx::pg_sys::Datum) -> Self {
                // SAFETY: by the trait's contract it points to one, and any bytes are aligned.
                unsafe { *datum.cast_mut_ptr::<$type>() }
            }
        }

        impl $crate::pg::datum::Returned for $type {
            fn into_datum(self) -> pgrx::pg_sys::Datum {
                $crate::pg::datum::store_guarded(self)
            }

            #[inline(always)]
            unsafe fn answer(self) -> pgrx::pg_sys::Datum {
                // SAFETY: by the contract.
                unsafe { $crate::pg::datum::store(self) }
            }
        }
    )*};
}

/// A type that is one number of 64 bits, by value.
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

/// The call itself, for functions that need more of it than its arguments.
impl Argument for pg_sys::Datum {
    #[inline(always)]
    unsafe fn from_datum(datum: pg_sys::Datum) -> Self {
        datum
    }
}

/// A `timestamptz`: microseconds since 2000-01-01 00:00:00 UTC, its extremes standing for infinity.
#[derive(Clone, Copy)]
pub(crate) struct Timestamp(pub(crate) i64);

impl Timestamp {
    /// 2000-01-01 in the Unix clock's microseconds.
    const UNIX_MICROS: i64 = 946_684_800_000_000;

    /// In the Unix clock's microseconds. It saturates, so that infinity stays beyond any epoch.
    pub(crate) const fn unix_micros(self) -> i64 {
        self.0.saturating_add(Self::UNIX_MICROS)
    }

    /// As PostgreSQL writes it in messages.
    pub(crate) fn to_text(self) -> String {
        // SAFETY: a static buffer of PostgreSQL's, copied at once.
        unsafe { CStr::from_ptr(pg_sys::timestamptz_to_str(self.0)) }.to_string_lossy().into_owned()
    }

    /// From the Unix clock's microseconds, of any system's epoch.
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
