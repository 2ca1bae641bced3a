//! Declarations of functions that PostgreSQL's function manager calls, by its "version 1" convention.
//!
//! pgrx's `#[pg_extern]` is not used. Its generated SQL could be switched off (`sql = false`), but:
//!
//! * It chooses the C names of functions, which the catalogs of installed versions hold.
//! * It allocates for what it guards, which would make `sno_new` slower.
//! * For types of fixed length without a header, its traits would take some sixty lines for each type.
//!
//! [`export!`] declares plain Rust functions; a panic or an `Err` becomes an `ERROR`.
//! [`functions!`] declares functions by Rust functions that take the call itself, without a guard. Functions are STRICT,
//! so no argument is null, but for those that read theirs by [`optional`].

use std::{array, ptr, slice};

use pgrx::pg_sys::{self, Datum, FunctionCallInfo, NullableDatum, ReturnSetInfo};

use crate::pg::{
    datum::{Argument, ByValue, Returned},
    errors::{Error, guard},
    raw,
};

/// Declares the functions that PostgreSQL can call, by their names, at the top of a file. They are plain Rust
/// functions, each with the arguments of its SQL declaration, that return an [`IntoResult`]. The module `c` has the C
/// functions.
///
/// ```text
/// export! { sno_tick_tock }
///
/// /// `sno_tick_tock(sno) → boolean`
/// fn sno_tick_tock(id: Sno) -> bool {
///     id.tick_tock()
/// }
/// ```
#[macro_export]
macro_rules! export {
    ($($name:ident),* $(,)?) => {
        pub(crate) mod c {
            $crate::pg::fmgr::functions! { $($name: |fcinfo| $crate::pg::fmgr::call(super::$name, fcinfo);)* }
        }
    };
}

/// A Rust function whose arguments have the types `A`.
pub trait SqlFunction<A> {
    /// The type of its value.
    type Value: Returned;

    /// Calls it with the arguments of a call.
    ///
    /// # Safety
    /// As for [`Args::new`].
    unsafe fn call(self, fcinfo: FunctionCallInfo) -> Result<Self::Value, Error>;
}

macro_rules! sql_function {
    ($($arg:ident)*) => {
        impl<$($arg: Argument,)* R: IntoResult, F: Fn($($arg),*) -> R> SqlFunction<($($arg,)*)> for F {
            type Value = R::Value;

            #[inline(always)]
            #[allow(unused_mut, unused_variables)]
            unsafe fn call(self, fcinfo: FunctionCallInfo) -> Result<R::Value, Error> {
                // SAFETY: as promised by the caller.
                unsafe {
                    let mut args = Args::new(fcinfo);
                    self($(args.next::<$arg>()),*).into_result(fcinfo)
                }
            }
        }
    };
}

sql_function!();
sql_function!(A);
sql_function!(A B);
sql_function!(A B C);
sql_function!(A B C D);
sql_function!(A B C D E);

/// Calls a function inside the guard, which raises its error.
///
/// # Safety
/// As for [`Args::new`]; no frame above has anything to drop.
#[inline(always)]
pub unsafe fn call<A>(function: impl SqlFunction<A>, fcinfo: FunctionCallInfo) -> Datum {
    // SAFETY: as promised by the caller; functions have nothing to drop.
    unsafe { guard(|| function.call(fcinfo)).into_datum() }
}

/// Declares functions that PostgreSQL can call, each by a Rust function that takes the same call.
///
/// ```text
/// functions! {
///     /// `sno_new(integer) → sno`
///     sno_new: new;
/// }
/// ```
#[macro_export]
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

/// The record by which PostgreSQL knows that a function has the version 1 calling convention.
#[macro_export]
macro_rules! finfo {
    ($name:ident) => {
        $crate::pg::fmgr::finfo!(@ stringify!($name));
    };
    (@ $($name:expr),*) => {
        const _: () = {
            #[unsafe(export_name = concat!("pg_finfo_", $($name),*))]
            extern "C-unwind" fn finfo() -> &'static pgrx::pg_sys::Pg_finfo_record {
                &pgrx::pg_sys::Pg_finfo_record { api_version: 1 }
            }
        };
    };
}

pub use {export, finfo, functions};

/// The arguments of a call, one after another.
pub struct Args(*const NullableDatum);

impl Args {
    /// The arguments of a call.
    ///
    /// # Safety
    /// `fcinfo` is what PostgreSQL passed, and as many arguments are taken as the SQL declaration has,
    /// of the types that it has.
    #[inline(always)]
    pub unsafe fn new(fcinfo: FunctionCallInfo) -> Self {
        // SAFETY: the arguments follow the call data in memory.
        Self(unsafe { (*fcinfo).args.as_ptr() })
    }

    /// The next argument.
    ///
    /// # Safety
    /// As for [`Args::new`].
    #[inline(always)]
    pub unsafe fn next<T: Argument>(&mut self) -> T {
        // SAFETY: the SQL declaration has one more argument, and it is a `T`.
        unsafe {
            let datum = (*self.0).value;
            self.0 = self.0.add(1);
            T::from_datum(datum)
        }
    }
}

/// The first arguments of a call of a function that is not STRICT.
///
/// # Safety
/// The SQL declaration has as many.
pub unsafe fn optional<const N: usize>(fcinfo: FunctionCallInfo) -> [Option<Datum>; N] {
    // SAFETY: the arguments follow the call data in memory.
    let args = unsafe { slice::from_raw_parts((*fcinfo).args.as_ptr(), N) };
    array::from_fn(|number| (!args[number].isnull).then_some(args[number].value))
}

/// Adds a row to the set of a function that has called `InitMaterializedSRF`.
///
/// # Safety
/// Its call; the set has as many columns, of these types. No frame above has anything to drop: it can raise an error.
#[allow(ffi_unwind_calls, reason = "by the rule of `pg::raw`")]
pub unsafe fn put_row<const N: usize>(fcinfo: FunctionCallInfo, columns: [Option<Datum>; N]) {
    let mut values = columns.map(|column| column.unwrap_or(Datum::null()));
    let mut nulls = columns.map(|column| column.is_none());
    // SAFETY: as promised by the caller.
    unsafe {
        let set = (*fcinfo).resultinfo.cast::<ReturnSetInfo>();
        raw::tuplestore_putvalues((*set).setResult, (*set).setDesc, values.as_mut_ptr(), nulls.as_mut_ptr());
    }
}

/// What the body of a guarded function may return: a value, a row, the rows of a set, or a `Result` of one of them.
pub trait IntoResult {
    /// The type of the value.
    type Value: Returned;

    /// The value, or the error to raise. It is called inside the guard, in a call of a function that is declared in SQL
    /// with such a result.
    fn into_result(self, fcinfo: FunctionCallInfo) -> Result<Self::Value, Error>;
}

impl<T: Returned> IntoResult for T {
    type Value = T;

    #[inline(always)]
    fn into_result(self, _: FunctionCallInfo) -> Result<T, Error> {
        Ok(self)
    }
}

impl<T: IntoResult> IntoResult for Result<T, Error> {
    type Value = T::Value;

    #[inline(always)]
    fn into_result(self, fcinfo: FunctionCallInfo) -> Result<T::Value, Error> {
        self?.into_result(fcinfo)
    }
}

/// A row of so many columns.
pub type Row<const N: usize> = [Column; N];

/// A value of a row, or null.
#[derive(Clone, Copy)]
pub struct Column(Option<Datum>);

impl<T: ByValue> From<T> for Column {
    fn from(value: T) -> Self {
        Self(Some(value.datum()))
    }
}

impl<T: ByValue> From<Option<T>> for Column {
    fn from(value: Option<T>) -> Self {
        Self(value.map(T::datum))
    }
}

/// The values and the null flags of a row.
fn columns<const N: usize>(row: Row<N>) -> ([Datum; N], [bool; N]) {
    (row.map(|column| column.0.unwrap_or(Datum::null())), row.map(|column| column.0.is_none()))
}

impl<const N: usize> IntoResult for Row<N> {
    type Value = Datum;

    fn into_result(self, fcinfo: FunctionCallInfo) -> Result<Datum, Error> {
        let (mut values, mut nulls) = columns(self);
        // SAFETY: the descriptor is the declared row's, of N columns, and is blessed for use as a datum.
        unsafe {
            let mut descriptor = ptr::null_mut();
            let class = pg_sys::get_call_result_type(fcinfo, ptr::null_mut(), &mut descriptor);
            assert_eq!(class, pg_sys::TypeFuncClass::TYPEFUNC_COMPOSITE);
            assert_eq!((*descriptor).natts as usize, N);
            let descriptor = pg_sys::BlessTupleDesc(descriptor);
            let tuple = pg_sys::heap_form_tuple(descriptor, values.as_mut_ptr(), nulls.as_mut_ptr());
            Ok(pg_sys::HeapTupleHeaderGetDatum((*tuple).t_data))
        }
    }
}

impl<const N: usize> IntoResult for Vec<Row<N>> {
    type Value = Datum;

    fn into_result(self, fcinfo: FunctionCallInfo) -> Result<Datum, Error> {
        // SAFETY: PostgreSQL checks that the caller takes a set, and the descriptor has N columns.
        unsafe {
            pg_sys::InitMaterializedSRF(fcinfo, 0);
            let set = (*fcinfo).resultinfo.cast::<ReturnSetInfo>();
            assert_eq!((*(*set).setDesc).natts as usize, N);
            for (mut values, mut nulls) in self.into_iter().map(columns) {
                let (values, nulls) = (values.as_mut_ptr(), nulls.as_mut_ptr());
                pg_sys::tuplestore_putvalues((*set).setResult, (*set).setDesc, values, nulls);
            }
        }
        Ok(Datum::null())
    }
}
