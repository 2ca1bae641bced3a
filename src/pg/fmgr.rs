//! Declarations of functions that PostgreSQL's function manager calls, by its "version 1" convention.
//!
//! pgrx's `#[pg_extern]` is not used:
//!
//! * It generates the SQL of each function. Here the SQL is written by hand, so that it can be read, reviewed and upgraded
//!   like that of any extension.
//! * It generates the C names of functions. Those of released versions are in catalogs and must stay.
//! * It allocates for what it guards, which would make `sno_new` slower.
//! * For types of fixed length without a header, its traits would take some sixty lines for each type.
//!
//! [`pg_function!`] declares a function and converts its arguments and its result; a panic or an `Err` becomes an `ERROR`.
//! [`functions!`] declares functions that pass the call on to generic ones. All functions are STRICT, so no argument is
//! ever null.

use pgrx::pg_sys;

use crate::pg::{
    datum::{Argument, Returned},
    errors::{Error, guard},
};

/// Declares a function that PostgreSQL can call, with the record of its calling convention.
macro_rules! pg_function {
    ($(#[$attr:meta])* fn $name:ident($($arg:ident: $type:ty),*) -> $result:ty $body:block) => {
        $crate::pg::fmgr::finfo!($name);
        $(#[$attr])*
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C-unwind" fn $name(fcinfo: pgrx::pg_sys::FunctionCallInfo) -> pgrx::pg_sys::Datum {
            fn call($($arg: $type),*) -> impl $crate::pg::fmgr::Outcome<$result> $body

            // SAFETY: PostgreSQL calls with valid call data, and with the arguments that the SQL
            // declaration names; this is the outermost frame, and nothing in it needs dropping.
            unsafe {
                let result: $result = $crate::pg::fmgr::Outcome::guarded(|| {
                    // Some functions have no arguments.
                    #[allow(unused_mut, unused_variables)]
                    let mut args = $crate::pg::fmgr::Args::new(fcinfo);
                    call($(args.next::<$type>()),*)
                });
                $crate::pg::datum::Returned::into_datum_unguarded(result)
            }
        }
    };
}

/// The record that tells PostgreSQL that a function takes version 1 calls.
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

/// Declares functions that PostgreSQL can call, each by a Rust function that takes the same call.
///
/// ```text
/// functions! {
///     /// `sno_eq(sno, sno) → boolean`
///     sno_eq: compare::eq::<Sno>;
/// }
/// ```
macro_rules! functions {
    ($($(#[$attr:meta])* $name:ident: $function:expr;)*) => {$(
        $crate::pg::fmgr::finfo!($name);
        $(#[$attr])*
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C-unwind" fn $name(
            fcinfo: pgrx::pg_sys::FunctionCallInfo,
        ) -> pgrx::pg_sys::Datum {
            // SAFETY: PostgreSQL's call, with the arguments of the SQL declaration, is passed on unchanged.
            unsafe { $function(fcinfo) }
        }
    )*};
}

pub(crate) use {finfo, functions, pg_function};

/// The arguments of a call, one after another.
pub(crate) struct Args(*const pg_sys::NullableDatum);

impl Args {
    /// The arguments of a call.
    ///
    /// # Safety
    /// `fcinfo` is what PostgreSQL passed, and as many arguments are taken as the SQL declaration has,
    /// of the types that it has.
    #[inline(always)]
    pub(crate) unsafe fn new(fcinfo: pg_sys::FunctionCallInfo) -> Self {
        // SAFETY: the arguments follow the call data in memory.
        Self(unsafe { (*fcinfo).args.as_ptr() })
    }

    /// The next argument.
    ///
    /// # Safety
    /// As for [`Args::new`].
    #[inline(always)]
    pub(crate) unsafe fn next<T: Argument>(&mut self) -> T {
        // SAFETY: by the contract of `new`, there is one more, and it is a `T`.
        unsafe {
            let datum = (*self.0).value;
            self.0 = self.0.add(1);
            T::from_datum(datum)
        }
    }
}

/// A result: a value, or a `Result` of one.
pub(crate) trait Outcome<T> {
    /// Runs `work`, and raises an error or a panic as an `ERROR`.
    ///
    /// # Safety
    /// Called in the outermost frame, which has nothing to drop.
    unsafe fn guarded(work: impl FnOnce() -> Self) -> T;
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

/// A value of a row, or null.
#[derive(Clone, Copy)]
pub(crate) struct Column(Option<pg_sys::Datum>);

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

/// The values and the null flags of a row.
fn columns<const N: usize>(row: [Column; N]) -> ([pg_sys::Datum; N], [bool; N]) {
    (row.map(|column| column.0.unwrap_or(pg_sys::Datum::null())), row.map(|column| column.0.is_none()))
}

/// Adds a row to the result of a set-returning function.
///
/// # Safety
/// `result` is of a call to a function that returns a set of these columns, after `InitMaterializedSRF`.
pub(crate) unsafe fn add_row<const N: usize>(result: *mut pg_sys::ReturnSetInfo, row: [Column; N]) {
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
pub(crate) unsafe fn row<const N: usize>(
    fcinfo: pg_sys::FunctionCallInfo,
    row: [Column; N],
) -> pg_sys::Datum {
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
