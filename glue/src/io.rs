//! Input and output of types of fixed length, as text and as bytes.

use std::ffi::{CStr, c_char};

use pgrx::pg_sys::{self, Datum, FunctionCallInfo};

use crate::{
    errors::{Error, sentence},
    fixed::Fixed,
    v1::{Args, palloc},
};

/// Input of text; errors are soft for a caller that asks for that.
///
/// # Safety
/// A call to a function that is declared in SQL with an argument of type cstring, and this type as its result.
#[inline(always)]
pub unsafe fn input<T: Fixed>(fcinfo: FunctionCallInfo) -> Datum {
    // SAFETY: a cstring is a pointer to a text that ends with a zero.
    unsafe {
        let text = CStr::from_ptr(Args::new(fcinfo).next::<Datum>().cast_mut_ptr::<c_char>()).to_bytes();
        match T::parse(text) {
            Ok(value) => value.into_datum(),
            Err(wrong) => refuse::<T>(fcinfo, text, wrong),
        }
    }
}

/// The error of [`input`].
#[cold]
unsafe fn refuse<T: Fixed>(fcinfo: FunctionCallInfo, text: &[u8], wrong: T::Wrong) -> Datum {
    // SAFETY: as above. The guard is the outermost frame.
    unsafe {
        pgrx::pgrx_extern_c_guard(|| Error::syntax(T::NAME, text, sentence(wrong)).save((*fcinfo).context));
    }
    // After a soft error the caller looks at its context, not at the datum.
    Datum::null()
}

/// Output of text.
///
/// # Safety
/// A call to a function that is declared in SQL with one argument of this type.
#[inline(always)]
pub unsafe fn output<T: Fixed>(fcinfo: FunctionCallInfo) -> Datum {
    // SAFETY: one byte more than the text has is allocated and written; nothing here needs dropping if the
    // allocation jumps out.
    unsafe {
        let value: T = Args::new(fcinfo).next();
        let text = palloc(size_of::<T::Text>() + 1).cast::<T::Text>();
        text.write(value.to_text());
        text.add(1).cast::<u8>().write(0);
        text.into()
    }
}

/// The value of bytes; nothing is known to be wrong with them but their number, if that is.
#[inline(always)]
fn of_bytes<T: Fixed>(bytes: &[u8]) -> Result<T, Option<T::Wrong>> {
    T::from_bytes(T::Bytes::try_from(bytes).map_err(|_| None)?).map_err(Some)
}

/// The error of [`of_bytes`].
#[cold]
fn wrong_bytes<T: Fixed>(bytes: &[u8], wrong: Option<T::Wrong>) -> Error {
    match wrong {
        Some(wrong) => Error::binary(T::NAME, sentence(wrong)),
        None => Error::length(T::NAME, T::LENGTH, bytes.len()),
    }
}

/// Input of a binary message.
///
/// # Safety
/// A call to a receive function, with this type as its result.
#[inline(always)]
pub unsafe fn receive<T: Fixed>(fcinfo: FunctionCallInfo) -> Datum {
    // SAFETY: a receive function's argument is the message's buffer, with the cursor in its bounds. The guard is
    // the outermost frame.
    unsafe {
        let message = &mut *Args::new(fcinfo).next::<Datum>().cast_mut_ptr::<pg_sys::StringInfoData>();
        let rest = (message.len - message.cursor) as usize;
        let bytes = std::slice::from_raw_parts(message.data.add(message.cursor as usize).cast::<u8>(), rest);
        message.cursor = message.len;
        match of_bytes::<T>(bytes) {
            Ok(value) => value.into_datum(),
            Err(wrong) => pgrx::pgrx_extern_c_guard(|| wrong_bytes::<T>(bytes, wrong).raise()),
        }
    }
}

/// Output of a binary message, and of a `bytea`.
///
/// # Safety
/// A call to a function that is declared in SQL with one argument of this type.
#[inline(always)]
pub unsafe fn send<T: Fixed>(fcinfo: FunctionCallInfo) -> Datum {
    // SAFETY: as above. Nothing here needs dropping if the allocation jumps out.
    unsafe { bytea(Args::new(fcinfo).next::<T>().to_bytes().as_ref()) }
}

/// The value whose binary form a `bytea` is.
///
/// # Safety
/// A call to a function that is declared in SQL with one argument of type bytea, and this type as its result.
pub unsafe fn from_bytea<T: Fixed>(fcinfo: FunctionCallInfo) -> Datum {
    // SAFETY: the argument is a bytea; its bytes stay where they are while they are copied.
    let value = unsafe {
        pgrx::pgrx_extern_c_guard(|| {
            let datum: Datum = Args::new(fcinfo).next();
            let bytes = pgrx::varlena_to_byte_slice(pg_sys::pg_detoast_datum_packed(datum.cast_mut_ptr()));
            of_bytes::<T>(bytes).unwrap_or_else(|wrong| wrong_bytes::<T>(bytes, wrong).raise())
        })
    };
    value.into_datum()
}

/// A `bytea` of these bytes.
///
/// May jump out on lack of memory, so nothing that needs dropping may be alive.
#[inline(always)]
pub fn bytea(bytes: &[u8]) -> Datum {
    let length = pg_sys::VARHDRSZ + bytes.len();
    // SAFETY: palloc returns memory of that size, or not at all.
    unsafe {
        let place = palloc(length).cast::<u8>();
        pgrx::set_varsize_4b(place.cast(), length as i32);
        place.add(pg_sys::VARHDRSZ).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        place.into()
    }
}
