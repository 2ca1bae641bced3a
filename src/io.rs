//! Input and output, as text and as bytes.
//!
//! The accepted texts:
//!
//! ```text
//! sno   := 16 of "23456789abcdefghijklmnopqrstuvwx"
//!        | "\x" 20 of "0123456789abcdefABCDEF"
//! ```
//!
//! The second is what drivers send when a program binds the ten raw bytes. Output is always the first.

use std::ffi::{CStr, c_char};

use pgrx::pg_sys;
use sno_core::Sno;

use crate::{
    errors::Error,
    v1::{Args, Returned as _, finfo, palloc, v1},
};

fn parse(text: &[u8]) -> Result<Sno, Error> {
    match text.strip_prefix(b"\\x") {
        None => Sno::parse_bytes(text).map_err(|error| Error::syntax(text, error)),
        Some(digits) => hex(digits).ok_or_else(|| Error::hex_digits(text)),
    }
}

fn hex(digits: &[u8]) -> Option<Sno> {
    let mut bytes = [0; 10];
    if digits.len() != 2 * bytes.len() {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let [high, low] = [pair[0], pair[1]].map(|digit| (digit as char).to_digit(16));
        *byte = (high? << 4 | low?) as u8;
    }
    Some(Sno::from_bytes(bytes))
}

finfo!(sno_in);
/// `sno_in(cstring) → sno`
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sno_in(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: a cstring is a pointer to a text that ends with a zero. The guard is the outermost frame,
    // and a sno has no destructor.
    let id = unsafe {
        pgrx::pgrx_extern_c_guard(|| {
            let datum: pg_sys::Datum = Args::new(fcinfo).next();
            match parse(CStr::from_ptr(datum.cast_mut_ptr::<c_char>()).to_bytes()) {
                Ok(id) => Some(id),
                Err(error) => {
                    error.save((*fcinfo).context);
                    None
                }
            }
        })
    };
    // After a soft error the caller looks at its context, not at the datum.
    id.map_or(pg_sys::Datum::null(), Sno::into_datum)
}

finfo!(sno_out);
/// `sno_out(sno) → cstring`
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sno_out(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: the argument is a sno; 17 bytes are allocated and written; nothing here needs dropping if
    // the allocation jumps out.
    unsafe {
        let id: Sno = Args::new(fcinfo).next();
        let text = palloc(17).cast::<[u8; 16]>();
        text.write(id.to_text());
        text.add(1).cast::<u8>().write(0);
        text.into()
    }
}

v1! {
    /// `sno_recv(internal) → sno`
    fn sno_recv(message: pg_sys::Datum) -> Sno {
        let message = message.cast_mut_ptr::<pg_sys::StringInfoData>();
        // SAFETY: a receive function's argument is the message's buffer, with the cursor in its bounds.
        unsafe {
            let rest = ((*message).len - (*message).cursor) as usize;
            if rest == 10 {
                let bytes = pg_sys::pq_getmsgbytes(message, 10).cast::<[u8; 10]>();
                Ok(Sno::from_bytes(*bytes))
            } else {
                Err(Error::length(rest))
            }
        }
    }
}

v1! {
    /// `sno_send(sno) → bytea`
    fn sno_send(id: Sno) -> pg_sys::Datum {
        bytea(id.as_ref())
    }
}

/// A `bytea` of these bytes.
pub(crate) fn bytea(bytes: &[u8]) -> pg_sys::Datum {
    pgrx::rust_byte_slice_to_bytea(bytes).into_pg().into()
}
