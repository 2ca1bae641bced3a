//! Input and output, as text and as bytes.

use std::ffi::{CStr, c_char};

use pgrx::pg_sys::{self, Datum, FunctionCallInfo};

use crate::{
    fixed::Fixed,
    pg::{
        datum::{Bytes, Returned, store, store_guarded},
        errors::{Error, guard, sentence},
        fmgr::Args,
    },
};

/// Input of text. Errors are soft if the caller asks for that.
///
/// # Safety
/// A call to a function that is declared in SQL with an argument of type cstring, and this type as its result.
#[inline(always)]
pub(crate) unsafe fn input<T: Fixed>(fcinfo: FunctionCallInfo) -> Datum {
    // SAFETY: a cstring is a pointer to a text that ends with a zero.
    unsafe {
        let text = CStr::from_ptr(Args::new(fcinfo).next::<Datum>().cast_mut_ptr::<c_char>()).to_bytes();
        match T::parse(text) {
            Ok(value) => value.into_datum_unguarded(),
            Err(error) => refuse::<T>(fcinfo, text, error),
        }
    }
}

/// Raises or saves the error of [`input`].
#[cold]
unsafe fn refuse<T: Fixed>(fcinfo: FunctionCallInfo, text: &[u8], error: T::Error) -> Datum {
    // SAFETY: as above. This is the outermost frame.
    unsafe {
        let report = guard(|| {
            let error = Error::syntax(T::NAME, text, sentence(error));
            let error = match T::hint(text) {
                Some(hint) => error.hint(hint),
                None => error,
            };
            Ok(error.into_report())
        });
        report.save((*fcinfo).context);
    }
    // After a soft error the caller ignores the datum.
    Datum::null()
}

/// A cstring of fixed length.
#[derive(Clone, Copy)]
#[repr(C, packed)]
struct Terminated<T: Copy> {
    text: T,
    end: u8,
}

/// Output of text.
///
/// # Safety
/// A call to a function that is declared in SQL with one argument of this type.
#[inline(always)]
pub(crate) unsafe fn output<T: Fixed>(fcinfo: FunctionCallInfo) -> Datum {
    // SAFETY: by the contract; nothing here needs dropping.
    unsafe {
        let value: T = Args::new(fcinfo).next();
        store(Terminated { text: value.to_text(), end: 0 })
    }
}

/// The value of bytes. The error is `None` if their number is wrong.
#[inline(always)]
fn of_bytes<T: Fixed>(bytes: &[u8]) -> Result<T, Option<T::Error>> {
    T::from_bytes(T::Bytes::try_from(bytes).map_err(|_| None)?).map_err(Some)
}

/// The error of [`of_bytes`] as one to raise.
#[cold]
fn invalid_bytes<T: Fixed>(bytes: &[u8], error: Option<T::Error>) -> Error {
    match error {
        Some(error) => Error::binary(T::NAME, sentence(error)),
        None => Error::length(T::NAME, T::LENGTH, bytes.len()),
    }
}

/// Input of a binary message.
///
/// # Safety
/// A call to a receive function, with this type as its result.
#[inline(always)]
pub(crate) unsafe fn receive<T: Fixed>(fcinfo: FunctionCallInfo) -> Datum {
    // SAFETY: a receive function's argument is the message's buffer, whose cursor is within its length. This is the
    // outermost frame.
    unsafe {
        let message = &mut *Args::new(fcinfo).next::<Datum>().cast_mut_ptr::<pg_sys::StringInfoData>();
        let rest = (message.len - message.cursor) as usize;
        let bytes = std::slice::from_raw_parts(message.data.add(message.cursor as usize).cast::<u8>(), rest);
        message.cursor = message.len;
        match of_bytes::<T>(bytes) {
            Ok(value) => value.into_datum_unguarded(),
            Err(error) => guard(|| Err(invalid_bytes::<T>(bytes, error))),
        }
    }
}

/// Output of a binary message, and of a `bytea`.
///
/// # Safety
/// A call to a function that is declared in SQL with one argument of this type.
#[inline(always)]
pub(crate) unsafe fn send<T: Fixed>(fcinfo: FunctionCallInfo) -> Datum {
    // SAFETY: as above. Nothing here needs dropping.
    unsafe { Bytea(Args::new(fcinfo).next::<T>().to_bytes()).into_datum_unguarded() }
}

/// Conversion from a `bytea` that holds the binary form.
///
/// # Safety
/// A call to a function that is declared in SQL with one argument of type bytea, and this type as its result.
pub(crate) unsafe fn from_bytea<T: Fixed>(fcinfo: FunctionCallInfo) -> Datum {
    // SAFETY: the argument is a bytea, whose bytes are valid during the call. This is the outermost frame.
    unsafe {
        let value = guard(|| {
            let Bytes(bytes) = Args::new(fcinfo).next();
            of_bytes::<T>(bytes).map_err(|error| invalid_bytes::<T>(bytes, error))
        });
        value.into_datum_unguarded()
    }
}

/// A `bytea` of these bytes, or a `text`, which has the same memory layout.
#[derive(Clone, Copy)]
pub(crate) struct Bytea<B: Copy>(pub(crate) B);

/// The memory layout of a `bytea`: its length and its bytes.
#[derive(Clone, Copy)]
#[repr(C)]
struct Varlena<B: Copy> {
    header: u32,
    bytes: B,
}

impl<B: Copy> From<Bytea<B>> for Varlena<B> {
    #[inline(always)]
    fn from(bytea: Bytea<B>) -> Self {
        const { assert!(align_of::<B>() == 1) };
        let mut varlena = Self { header: 0, bytes: bytea.0 };
        // SAFETY: the header of a varlena is its first four bytes.
        unsafe {
            let length = pg_sys::VARHDRSZ + size_of::<B>();
            pgrx::set_varsize_4b((&raw mut varlena).cast(), length as i32);
        }
        varlena
    }
}

impl<B: Copy> Returned for Bytea<B> {
    fn into_datum(self) -> Datum {
        store_guarded(Varlena::from(self))
    }

    #[inline(always)]
    unsafe fn into_datum_unguarded(self) -> Datum {
        // SAFETY: by the contract.
        unsafe { store(Varlena::from(self)) }
    }
}
