//! Input and output of types of fixed length, as text and as bytes.

use std::ffi::{CStr, c_char};

use pgrx::pg_sys::{self, Datum, FunctionCallInfo};

use crate::{
    fixed::Fixed,
    pg::{
        datum::{Returned, store, store_guarded},
        errors::{Error, guard, sentence},
        fmgr::Args,
    },
};

/// Input of text; errors are soft for a caller that asks for that.
///
/// # Safety
/// A call to a function that is declared in SQL with an argument of type cstring, and this type as its result.
#[inline(always)]
pub(crate) unsafe fn input<T: Fixed>(fcinfo: FunctionCallInfo) -> Datum {
    // SAFETY: a cstring is a pointer to a text that ends with a zero.
    unsafe {
        let text = CStr::from_ptr(Args::new(fcinfo).next::<Datum>().cast_mut_ptr::<c_char>()).to_bytes();
        match T::parse(text) {
            Ok(value) => value.answer(),
            Err(wrong) => refuse::<T>(fcinfo, text, wrong),
        }
    }
}

/// The error of [`input`].
#[cold]
unsafe fn refuse<T: Fixed>(fcinfo: FunctionCallInfo, text: &[u8], wrong: T::Wrong) -> Datum {
    // SAFETY: as above. This is the outermost frame.
    unsafe {
        let report = guard(|| Ok(Error::syntax(T::NAME, text, sentence(wrong)).into_report()));
        report.save((*fcinfo).context);
    }
    // After a soft error the caller looks at its context, not at the datum.
    Datum::null()
}

/// A cstring.
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
pub(crate) unsafe fn receive<T: Fixed>(fcinfo: FunctionCallInfo) -> Datum {
    // SAFETY: a receive function's argument is the message's buffer, with the cursor in its bounds. This is the
    // outermost frame.
    unsafe {
        let message = &mut *Args::new(fcinfo).next::<Datum>().cast_mut_ptr::<pg_sys::StringInfoData>();
        let rest = (message.len - message.cursor) as usize;
        let bytes = std::slice::from_raw_parts(message.data.add(message.cursor as usize).cast::<u8>(), rest);
        message.cursor = message.len;
        match of_bytes::<T>(bytes) {
            Ok(value) => value.answer(),
            Err(wrong) => guard(|| Err(wrong_bytes::<T>(bytes, wrong))),
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
    unsafe { Bytea(Args::new(fcinfo).next::<T>().to_bytes()).answer() }
}

/// The value whose binary form a `bytea` is.
///
/// # Safety
/// A call to a function that is declared in SQL with one argument of type bytea, and this type as its result.
pub(crate) unsafe fn from_bytea<T: Fixed>(fcinfo: FunctionCallInfo) -> Datum {
    // SAFETY: the argument is a bytea; its bytes stay where they are while they are copied. This is the outermost frame.
    unsafe {
        let value = guard(|| {
            let datum: Datum = Args::new(fcinfo).next();
            let bytes = pgrx::varlena_to_byte_slice(pg_sys::pg_detoast_datum_packed(datum.cast_mut_ptr()));
            of_bytes::<T>(bytes).map_err(|wrong| wrong_bytes::<T>(bytes, wrong))
        });
        value.answer()
    }
}

/// A `bytea` of these bytes.
#[derive(Clone, Copy)]
pub(crate) struct Bytea<B: Copy>(pub(crate) B);

/// Its length and its bytes.
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
        // SAFETY: the header is where PostgreSQL has it.
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
    unsafe fn answer(self) -> Datum {
        // SAFETY: by the contract.
        unsafe { store(Varlena::from(self)) }
    }
}
