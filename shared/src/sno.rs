//! Values of the type `sno`, which the functions of both extensions take and return. Its functions themselves are in
//! the library `sno`.
//!
//! The accepted texts:
//!
//! ```text
//! sno   := 16 of "23456789abcdefghijklmnopqrstuvwx"
//!        | "\\x" 20 of "0123456789abcdefABCDEF"
//! ```
//!
//! The second is what drivers send when a program binds the ten raw bytes. Output is always the first. A binary message
//! is the ten bytes; the first text is accepted, too.

use sno_core::{Abbreviation, FixedLength as _, ParseError, Sno, Tick};

use crate::{
    fixed_length::{Fixed, sort::Abbreviate},
    pg::{
        datum::{Timestamp, by_reference},
        errors::{Error, check_range, sentence},
    },
};

by_reference!(Sno);

impl Fixed for Sno {
    #[inline(always)]
    fn input(text: &[u8]) -> Result<Self, ParseError> {
        match Self::parse_bytes(text) {
            Ok(id) => Ok(id),
            Err(error) => parse_digits(text, error),
        }
    }

    /// Also the text, whose length no binary form has: loaders that know an ID as a text send it in binary messages,
    /// too.
    #[inline(always)]
    fn receive(message: &[u8]) -> Result<Self, Option<ParseError>> {
        if message.len() == 16 { receive_text(message) } else { Self::of_bytes(message) }
    }

    fn invalid(text: &[u8], error: ParseError) -> Error {
        let detail = if text.starts_with(b"\\x") {
            "After \\x a sno has 20 hexadecimal digits.".to_owned()
        } else if error.position().is_some() {
            sentence(error)
        } else {
            "A sno is 16 characters, or \\x and 20 hexadecimal digits.".to_owned()
        };
        let error = Error::syntax(Self::NAME, text, detail);
        // `id >= '2026-11-01'` is read as a comparison of IDs.
        match str::from_utf8(text) {
            Ok(text) if is_like_a_time(text) => {
                error.hint(format!("To compare with a time, write its type: timestamptz '{text}'."))
            }
            _ if text.len() == 16 && Self::parse_bytes(&text.to_ascii_lowercase()).is_ok() => {
                error.hint("The letters of a sno are in lower case.")
            }
            _ => error,
        }
    }
}

/// Parses the second form. `error` is for a text that is of neither.
#[cold]
fn parse_digits(text: &[u8], error: ParseError) -> Result<Sno, ParseError> {
    text.strip_prefix(b"\\x").and_then(Sno::parse_hex).ok_or(error)
}

/// Parses a text in a binary message: out of the way of the ten bytes, which would save its registers.
#[inline(never)]
fn receive_text(text: &[u8]) -> Result<Sno, Option<ParseError>> {
    Sno::parse_bytes(text).map_err(Some)
}

/// Whether a text is like a date, with a time of day or without, or one of PostgreSQL's special times: so much so that
/// it is worth a HINT, which quotes it.
fn is_like_a_time(text: &str) -> bool {
    // Nothing that would have to be escaped.
    let is_plain = |byte: u8| byte == b' ' || byte.is_ascii_graphic() && !matches!(byte, b'\'' | b'\\');
    if text.len() > 40 || !text.bytes().all(is_plain) {
        return false;
    }
    let text = text.trim().trim_start_matches('-').to_ascii_lowercase();
    if ["now", "today", "tomorrow", "yesterday", "infinity", "epoch"].contains(&text.as_str()) {
        return true;
    }
    // A year, a month and a day, in any order: 2026-11-01, 11/1/2026, 1.11.2026.
    let Some(sign) = text.chars().find(|sign| !sign.is_ascii_digit()) else { return false };
    let parts: Vec<&str> = text.splitn(3, sign).collect();
    let [first, second, rest] = parts[..] else { return false };
    let third = rest.len() - rest.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
    matches!(sign, '-' | '/' | '.')
        && (1..=4).contains(&first.len())
        && second.bytes().all(|digit| digit.is_ascii_digit())
        && (1..=2).contains(&second.len())
        && (1..=4).contains(&third)
}

impl Abbreviate for Sno {
    type Abbreviation = Abbreviation;

    #[inline(always)]
    fn anchor(self) -> Abbreviation {
        Abbreviation::anchored_at(self)
    }

    #[inline(always)]
    fn key(self, by: Abbreviation) -> u64 {
        by.key(self)
    }
}

/// The times that a sno holds, as a sentence for a DETAIL.
pub const SPAN: &str = "A sno holds times from 2010-01-01 00:00:00 UTC to 2079-09-07 15:47:35.551999 UTC.";

impl From<Tick> for Timestamp {
    #[inline(always)]
    fn from(tick: Tick) -> Self {
        Self::from_unix_micros(tick.unix_micros())
    }
}

/// The tick of a time, for an ID.
pub fn tick(time: Timestamp) -> Result<Tick, Error> {
    Tick::floor(time.unix_micros()).map_err(|_| Error::time("sno", time, SPAN))
}

/// The metabyte of an argument.
pub fn metabyte(value: i32) -> Result<u8, Error> {
    check_range("metabyte", value, u8::MAX.into()).map(|byte| byte as u8)
}
