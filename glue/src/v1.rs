//! The border to PostgreSQL's function manager, "version 1" calls.
//!
//! pgrx's `#[pg_extern]` would write the SQL for each function; here the SQL is written by hand, so that
//! it can be read, reviewed and upgraded like any extension's. [`v1!`] declares a function for it:
//! arguments are read by their types, a panic or an `Err` becomes an `ERROR`, the result becomes a datum.
//!
//! All functions are STRICT, so no argument is ever null.

use std::ffi::{CStr, c_int, c_void};

use pgrx::{
    PgLogLevel, PgSqlErrorCode,
    pg_sys::{self, panic::ErrorReport},
};
use sno_core::{Sno, Tick};

use crate::errors::{Error, guard};

/// Declares a function for PostgreSQL, with the record of its calling convention.
#[macro_export]
macro_rules! v1_function {
    ($(#[$attr:meta])* fn $name:ident($($arg:ident: $type:ty),*) -> $result:ty $body:block) => {
        $crate::finfo!($name);
        $(#[$attr])*
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(fcinfo: pgrx::pg_sys::FunctionCallInfo) -> pgrx::pg_sys::Datum {
            fn call($($arg: $type),*) -> impl $crate::v1::Outcome<$result> $body

            // SAFETY: PostgreSQL calls with valid call data, and with the arguments that the SQL
            // declaration names; this is the outermost frame, and nothing in it needs dropping.
            unsafe {
                let result: $result = $crate::v1::Outcome::guarded(|| {
                    // Some functions have none.
                    #[allow(unused_mut, unused_variables)]
                    let mut args = $crate::v1::Args::new(fcinfo);
                    call($(args.next::<$type>()),*)
                });
                $crate::v1::Returned::answer(result)
            }
        }
    };
}

/// The record that tells PostgreSQL that a function takes version 1 calls.
#[macro_export]
macro_rules! finfo {
    ($name:ident) => {
        const _: () = {
            #[unsafe(export_name = concat!("pg_finfo_", stringify!($name)))]
            extern "C-unwind" fn finfo() -> &'static pgrx::pg_sys::Pg_finfo_record {
                &pgrx::pg_sys::Pg_finfo_record { api_version: 1 }
            }
        };
    };
}

/// Declares functions for PostgreSQL, each by one of Rust that takes the same call.
///
/// ```text
/// functions! {
///     /// `sno_eq(sno, sno) → boolean`
///     sno_eq: compare::eq::<Sno>;
/// }
/// ```
#[macro_export]
macro_rules! functions {
    ($($(#[$attr:meta])* $name:ident: $function:expr;)*) => {$(
        $crate::finfo!($name);
        $(#[$attr])*
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(
            fcinfo: pgrx::pg_sys::FunctionCallInfo,
        ) -> pgrx::pg_sys::Datum {
            // SAFETY: PostgreSQL's call, with the arguments of the SQL declaration, is handed on as it is.
            unsafe { $function(fcinfo) }
        }
    )*};
}

pub use crate::{finfo, functions, v1_function as v1};

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
pub unsafe fn store<T: Copy>(value: T) -> pg_sys::Datum {
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
pub fn store_guarded<T: Copy>(value: T) -> pg_sys::Datum {
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

/// The arguments of a call, one after another.
pub struct Args(*const pg_sys::NullableDatum);

impl Args {
    /// Of a call.
    ///
    /// # Safety
    /// `fcinfo` is what PostgreSQL passed, and as many arguments are taken as the SQL declaration has,
    /// of the types that it has.
    #[inline(always)]
    pub unsafe fn new(fcinfo: pg_sys::FunctionCallInfo) -> Self {
        // SAFETY: the arguments follow the call data in memory.
        Self(unsafe { (*fcinfo).args.as_ptr() })
    }

    /// The next argument.
    ///
    /// # Safety
    /// As for [`Args::new`].
    #[inline(always)]
    pub unsafe fn next<T: Argument>(&mut self) -> T {
        // SAFETY: by the contract of `new`, there is one more, and it is a `T`.
        unsafe {
            let datum = (*self.0).value;
            self.0 = self.0.add(1);
            T::from_datum(datum)
        }
    }
}

/// A type of argument.
pub trait Argument {
    /// The value of a datum.
    ///
    /// # Safety
    /// The datum is one of the SQL type that this type stands for.
    unsafe fn from_datum(datum: pg_sys::Datum) -> Self;
}

/// A result, with or without the possibility of an error.
pub trait Outcome<T> {
    /// Has an error and a panic become an `ERROR`.
    ///
    /// # Safety
    /// Called in the outermost frame, which has nothing to drop.
    unsafe fn guarded(work: impl FnOnce() -> Self) -> T;
}

/// A type of result.
pub trait Returned: Copy {
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

impl<T: Returned> Outcome<T> for T {
    #[inline(always)]
    unsafe fn guarded(work: impl FnOnce() -> T) -> T {
        // SAFETY: by the contract.
        unsafe { pgrx::pgrx_extern_c_guard(work) }
    }
}

impl<T: Returned> Outcome<T> for Result<T, Error> {
    #[inline(always)]
    unsafe fn guarded(work: impl FnOnce() -> Self) -> T {
        // SAFETY: by the contract.
        unsafe { guard(work) }
    }
}

/// A type of bytes, without header and without alignment, by reference.
macro_rules! by_reference {
    ($($type:ty),*) => {$(
        const _: () = assert!(align_of::<$type>() == 1);

        impl Argument for $type {
            #[inline(always)]
            unsafe fn from_datum(datum: pg_sys::Datum) -> Self {
                // SAFETY: by the trait's contract it points to one, and any bytes are aligned.
                unsafe { *datum.cast_mut_ptr::<$type>() }
            }
        }

        impl Returned for $type {
            fn into_datum(self) -> pg_sys::Datum {
                store_guarded(self)
            }

            #[inline(always)]
            unsafe fn answer(self) -> pg_sys::Datum {
                // SAFETY: by the contract.
                unsafe { store(self) }
            }
        }
    )*};
}

by_reference!(Sno, Uuid);
#[cfg(feature = "kin")]
by_reference!(sno_core::kin::Gid);

/// A `uuid`.
#[derive(Clone, Copy)]
pub struct Uuid(pub [u8; 16]);

/// A type that is one number of 64 bits, by value.
#[cfg(feature = "kin")]
macro_rules! by_value {
    ($($type:ty: $read:expr;)*) => {$(
        impl Argument for $type {
            #[inline(always)]
            unsafe fn from_datum(datum: pg_sys::Datum) -> Self {
                let read: fn(u64) -> $type = $read;
                read(datum.value() as u64)
            }
        }

        impl Returned for $type {
            #[inline(always)]
            fn into_datum(self) -> pg_sys::Datum {
                self.get().into()
            }
        }
    )*};
}

#[cfg(feature = "kin")]
by_value! {
    sno_core::kin::Uid60: sno_core::kin::Uid60::from_bits;
    sno_core::kin::UniqueId: sno_core::kin::UniqueId::new;
}

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
pub struct Timestamp(pub i64);

impl Timestamp {
    /// 2000-01-01 in the Unix clock's microseconds.
    const UNIX_MICROS: i64 = 946_684_800_000_000;

    /// In the Unix clock's microseconds. It saturates, so that infinity stays beyond any epoch.
    pub const fn unix_micros(self) -> i64 {
        self.0.saturating_add(Self::UNIX_MICROS)
    }

    /// As PostgreSQL writes it in messages.
    pub fn to_text(self) -> String {
        // SAFETY: a static buffer of PostgreSQL's, copied at once.
        unsafe { CStr::from_ptr(pg_sys::timestamptz_to_str(self.0)) }.to_string_lossy().into_owned()
    }

    /// From the Unix clock's microseconds, of any system's epoch.
    #[inline(always)]
    pub const fn from_unix_micros(micros: i64) -> Self {
        Self(micros - Self::UNIX_MICROS)
    }
}

impl From<Tick> for Timestamp {
    #[inline(always)]
    fn from(tick: Tick) -> Self {
        Self::from_unix_micros(tick.unix_micros())
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
pub struct Interval(pub i64);

impl Returned for Interval {
    fn into_datum(self) -> pg_sys::Datum {
        store_guarded(pg_sys::Interval { time: self.0, day: 0, month: 0 })
    }
}

/// A value of a row: null if there is none.
#[derive(Clone, Copy)]
pub struct Column(Option<pg_sys::Datum>);

impl<T: Returned> From<T> for Column {
    fn from(value: T) -> Self {
        Self(Some(value.into_datum()))
    }
}

impl<T: Returned> From<Option<T>> for Column {
    fn from(value: Option<T>) -> Self {
        Self(value.map(T::into_datum))
    }
}

/// Values and null flags, as PostgreSQL takes them.
fn columns<const N: usize>(row: [Column; N]) -> ([pg_sys::Datum; N], [bool; N]) {
    (row.map(|column| column.0.unwrap_or(pg_sys::Datum::null())), row.map(|column| column.0.is_none()))
}

/// Adds a row to a set.
///
/// # Safety
/// `result` is of a call to a function that returns a set of these columns, after `InitMaterializedSRF`.
pub unsafe fn add_row<const N: usize>(result: *mut pg_sys::ReturnSetInfo, row: [Column; N]) {
    let (mut values, mut nulls) = columns(row);
    // SAFETY: by the contract.
    unsafe {
        assert_eq!((*(*result).setDesc).natts as usize, N);
        pg_sys::tuplestore_putvalues(
            (*result).setResult,
            (*result).setDesc,
            values.as_mut_ptr(),
            nulls.as_mut_ptr(),
        );
    }
}

/// One row of the type that the call declares.
///
/// # Safety
/// `fcinfo` is a call to a function that returns a row of these columns.
pub unsafe fn row<const N: usize>(fcinfo: pg_sys::FunctionCallInfo, row: [Column; N]) -> pg_sys::Datum {
    let (mut values, mut nulls) = columns(row);
    // SAFETY: the descriptor is the declared row's, of N columns, and is blessed for use as a datum.
    unsafe {
        let mut descriptor = std::ptr::null_mut();
        let class = pg_sys::get_call_result_type(fcinfo, std::ptr::null_mut(), &mut descriptor);
        assert_eq!(class, pg_sys::TypeFuncClass::TYPEFUNC_COMPOSITE);
        assert_eq!((*descriptor).natts as usize, N);
        let descriptor = pg_sys::BlessTupleDesc(descriptor);
        let tuple = pg_sys::heap_form_tuple(descriptor, values.as_mut_ptr(), nulls.as_mut_ptr());
        pg_sys::HeapTupleHeaderGetDatum((*tuple).t_data)
    }
}
