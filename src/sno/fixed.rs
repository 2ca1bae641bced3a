//! The type `sno` as one of fixed length: ten bytes by reference, 16 characters.
//!
//! The accepted texts:
//!
//! ```text
//! sno   := 16 of "23456789abcdefghijklmnopqrstuvwx"
//!        | "\\x" 20 of "0123456789abcdefABCDEF"
//! ```
//!
//! The second is what drivers send when a program binds the ten raw bytes. Output is always the first.

use std::fmt::{self, Display};

use sno_core::{Abbreviation, ParseError, Sno};

use crate::{
    fixed::{Fixed, sort::Abbreviate},
    pg::datum::by_reference,
};

by_reference!(Sno);

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

impl Fixed for Sno {
    const NAME: &'static str = "sno";
    type Text = [u8; 16];
    type Bytes = [u8; 10];

    type Error = InvalidSno;

    #[inline(always)]
    fn parse(text: &[u8]) -> Result<Self, InvalidSno> {
        match Self::parse_bytes(text) {
            Ok(id) => Ok(id),
            Err(error) => parse_digits(text, error),
        }
    }

    /// `id >= '2026-11-01'` is read as a comparison of IDs.
    fn hint(text: &[u8]) -> Option<String> {
        let text = str::from_utf8(text).ok().filter(|text| is_like_a_time(text))?;
        Some(format!("To compare with a time, write its type: timestamptz '{text}'."))
    }

    #[inline(always)]
    fn from_bytes(bytes: [u8; 10]) -> Result<Self, InvalidSno> {
        Ok(Self::from_bytes(bytes))
    }

    #[inline(always)]
    fn to_text(self) -> [u8; 16] {
        self.to_text()
    }

    #[inline(always)]
    fn to_bytes(self) -> [u8; 10] {
        self.to_bytes()
    }
}

/// Parses the second form. `error` is for a text that does not start with `\x`.
#[cold]
fn parse_digits(text: &[u8], error: ParseError) -> Result<Sno, InvalidSno> {
    match text.strip_prefix(b"\\x") {
        None => Err(InvalidSno::Characters(error)),
        Some(digits) => Sno::parse_hex(digits).ok_or(InvalidSno::Digits),
    }
}

/// Whether a text is like a date, with a time of day or without, or one of PostgreSQL's special times: so much so that it
/// is worth a HINT, which quotes it.
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

/// Why a text is not a sno.
#[derive(Clone, Copy)]
pub(crate) enum InvalidSno {
    /// It is not the 16 characters.
    Characters(ParseError),
    /// It starts with `\x`, but 20 hexadecimal digits do not follow.
    Digits,
}

impl Display for InvalidSno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Characters(error) if error.position().is_some() => error.fmt(f),
            Self::Characters(_) => f.write_str("a sno is 16 characters, or \\x and 20 hexadecimal digits"),
            Self::Digits => f.write_str("after \\x a sno has 20 hexadecimal digits"),
        }
    }
}
