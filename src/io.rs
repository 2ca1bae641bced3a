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

use sno_core::Sno;
use sno_glue::{functions, io};

functions! {
    /// `sno_in(cstring) → sno`
    sno_in: io::input::<Sno>;
    /// `sno_out(sno) → cstring`
    sno_out: io::output::<Sno>;
    /// `sno_recv(internal) → sno`
    sno_recv: io::receive::<Sno>;
    /// `sno_send(sno) → bytea`
    sno_send: io::send::<Sno>;
}
