//! Input and output, as text and as bytes.

use std::ffi::{CStr, c_char};

use pgrx::pg_sys::{self, Datum, FunctionCallInfo};

use crate::{
    fixed_length::Fixed,
    pg::{
        datum::{NewVarlena, Returned as _, palloc_copy},
        errors::{Error, guard, raise, sentence},
        fmgr::Args,
    },
};

/// Input of text. Errors are soft if the caller asks for that.
#[inline(always)]
pub unsafe fn input<T: Fixed>(fcinfo: FunctionCallInfo) -> Datum {
    let text = CStr::from_ptr(Args::new(fcinfo).next::<Datum>().cast_mut_ptr::<c_char>()).to_bytes();
    match T::input(text) {
        Ok(value) => value.into_datum(),
        Err(error) => refuse::<T>(fcinfo, text, error),
    }
}

/// Raises or saves the error of [`input`].
#[cold]
unsafe fn refuse<T: Fixed>(fcinfo: FunctionCallInfo, text: &[u8], error: T::Error) -> Datum {
    guard(|| {
        T::invalid(text, error).save((*fcinfo).context)?;
        // After a soft error the caller ignores the datum.
        Ok(Datum::null())
    })
}

/// A cstring of fixed length.
#[derive(Clone, Copy)]
#[repr(C, packed)]
struct Terminated<T: Copy> {
    text: T,
    end: u8,
}

/// Output of text.
#[inline(always)]
pub unsafe fn output<T: Fixed>(fcinfo: FunctionCallInfo) -> Datum {
    let value: T = Args::new(fcinfo).next();
    palloc_copy(Terminated { text: value.to_text(), end: 0 })
}

/// The error of [`Fixed::of_bytes`] as one to raise.
#[cold]
fn invalid_bytes<T: Fixed>(bytes: &[u8], error: Option<T::Error>) -> Error {
    match error {
        Some(error) => Error::binary(T::NAME, sentence(error)),
        None => Error::length(T::NAME, T::LENGTH, bytes.len()),
    }
}

/// Input of a binary message.
#[inline(always)]
pub unsafe fn receive<T: Fixed>(fcinfo: FunctionCallInfo) -> Datum {
    // The argument is the message's buffer, whose cursor is within its length.
    let message = &mut *Args::new(fcinfo).next::<Datum>().cast_mut_ptr::<pg_sys::StringInfoData>();
    let rest = (message.len - message.cursor) as usize;
    let bytes = std::slice::from_raw_parts(message.data.add(message.cursor as usize).cast::<u8>(), rest);
    message.cursor = message.len;
    match T::receive(bytes) {
        Ok(value) => value.into_datum(),
        Err(error) => raise(|| invalid_bytes::<T>(bytes, error)),
    }
}

/// Output of a binary message, and of a `bytea`.
#[inline(always)]
pub unsafe fn send<T: Fixed>(fcinfo: FunctionCallInfo) -> Datum {
    NewVarlena(Args::new(fcinfo).next::<T>().to_bytes()).into_datum()
}

/// Conversion from a `bytea` that holds the binary form.
pub unsafe fn from_bytea<T: Fixed>(fcinfo: FunctionCallInfo) -> Datum {
    let value = guard(|| {
        let bytes = Args::new(fcinfo).next();
        T::of_bytes(bytes).map_err(|error| invalid_bytes::<T>(bytes, error))
    });
    value.into_datum()
}
