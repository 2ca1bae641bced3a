//! Masked IDs: encrypted with a key, as 16 other characters of the same alphabet.
//!
//! An ID shows when and where it was generated, and which of two is older. Its mask shows none of this, and can be
//! converted back with the key only. So a table can keep its time-sorted key, and a URL shows the mask.
//!
//! ```
//! use sno_core::{Sno, mask::Key};
//!
//! let key = Key::new(&[0x2b; 32])?;
//! let id = Sno::literal("9q7k4op826n2g222");
//! let masked = key.mask(id, b"orders");
//! assert_eq!(&masked, b"h6vfmnuqk49ag52w");
//! assert_eq!(key.unmask(&masked, b"orders"), Ok(id));
//! # Ok::<(), sno_core::mask::InvalidKey>(())
//! ```
//!
//! The cipher is FF1 with AES, of NIST's Special Publication 800-38G, over the 16 characters as numerals of radix 32:
//! `2` is 0, `x` is 31. The tweak is a *context*, such as the name of a table: the same ID has other masks in other
//! contexts. A program in any language that has FF1 can mask and unmask, too.
//!
//! A mask proves nothing. Every text of 16 characters is the mask of some ID, so who guesses one gets an ID that most
//! likely does not exist. And the same ID has the same mask, within a key and a context.

use core::fmt;

use aes::{Aes128, Aes192, Aes256};
use fpe::ff1::{FF1, NumeralString, Operations};

use crate::id::base32::ParseError;
use crate::id::sno::Sno;

/// How many values a character has.
const RADIX: u32 = 32;

/// A key, expanded for its cipher: AES-128, AES-192 or AES-256.
pub struct Key(Cipher);

enum Cipher {
    Aes128(FF1<Aes128>),
    Aes192(FF1<Aes192>),
    Aes256(FF1<Aes256>),
}

/// Calls a method of FF1 with an ID; it returns one.
macro_rules! apply {
    ($key:expr, $method:ident, $context:expr, $id:expr) => {{
        let (context, id) = ($context, &Numerals($id.to_bytes()));
        assert!(context.len() <= i32::MAX as usize, "the context of a mask is longer than 2 GiB");
        let result = match &$key.0 {
            Cipher::Aes128(cipher) => cipher.$method(context, id),
            Cipher::Aes192(cipher) => cipher.$method(context, id),
            Cipher::Aes256(cipher) => cipher.$method(context, id),
        };
        Sno::from_bytes(result.expect("16 numerals of radix 32 are long enough").0)
    }};
}

impl Key {
    /// A key of 16, 24 or 32 bytes.
    ///
    /// # Errors
    ///
    /// It has another length.
    pub fn new(key: &[u8]) -> Result<Self, InvalidKey> {
        let cipher = match key.len() {
            16 => FF1::new(key, RADIX).map(Cipher::Aes128),
            24 => FF1::new(key, RADIX).map(Cipher::Aes192),
            32 => FF1::new(key, RADIX).map(Cipher::Aes256),
            length => return Err(InvalidKey { length }),
        };
        Ok(Self(cipher.expect("FF1 takes a radix of 32")))
    }

    /// The mask of an ID: 16 characters, as ASCII. The context is by convention a text in UTF-8.
    ///
    /// # Panics
    ///
    /// If the context is longer than 2 GiB.
    #[must_use]
    pub fn mask(&self, id: Sno, context: &[u8]) -> [u8; 16] {
        apply!(self, encrypt, context, id).to_text()
    }

    /// The ID of a mask.
    ///
    /// # Errors
    ///
    /// The mask is not 16 characters of the alphabet. That is all that can be told: with another key or another context
    /// it is the mask of another ID.
    ///
    /// # Panics
    ///
    /// If the context is longer than 2 GiB.
    pub fn unmask(&self, masked: &[u8], context: &[u8]) -> Result<Sno, ParseError> {
        let masked = Sno::parse_bytes(masked)?;
        Ok(apply!(self, decrypt, context, masked))
    }
}

/// The length of the key, and not the key itself.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = match &self.0 {
            Cipher::Aes128(_) => 128,
            Cipher::Aes192(_) => 192,
            Cipher::Aes256(_) => 256,
        };
        write!(f, "Key(AES-{bits})")
    }
}

/// A key of a length that AES does not have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InvalidKey {
    length: usize,
}

impl fmt::Display for InvalidKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a key is 16, 24 or 32 bytes long, not {}", self.length)
    }
}

impl core::error::Error for InvalidKey {}

/// The bytes of an ID as 16 numerals of five bits. `fpe` has numeral strings of any radix, with numbers of any length
/// on the heap, which take ten times as long.
struct Numerals([u8; 10]);

impl NumeralString for Numerals {
    type Ops = Half;

    fn is_valid(&self, radix: u32) -> bool {
        radix == RADIX
    }

    fn numeral_count(&self) -> usize {
        16
    }

    fn split(&self) -> (Half, Half) {
        let [a, b, c, d, e, f, g, h, i, j] = self.0;
        (Half::of([a, b, c, d, e]), Half::of([f, g, h, i, j]))
    }

    fn concat(left: Half, right: Half) -> Self {
        let ([a, b, c, d, e], [f, g, h, i, j]) = (left.bytes(), right.bytes());
        Self([a, b, c, d, e, f, g, h, i, j])
    }
}

/// Eight numerals as a number of 40 bits, so arithmetic is modulo 2^40: radix^8.
struct Half(u64);

impl Half {
    fn of([a, b, c, d, e]: [u8; 5]) -> Self {
        Self(u64::from_be_bytes([0, 0, 0, a, b, c, d, e]))
    }

    fn bytes(&self) -> [u8; 5] {
        let [_, _, _, a, b, c, d, e] = self.0.to_be_bytes();
        [a, b, c, d, e]
    }

    /// The low 40 bits of a number.
    fn low(number: u64) -> Self {
        Self(number & ((1 << 40) - 1))
    }
}

/// The low 64 bits of a number of any length, most significant byte first.
fn number(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0, |number, byte| number << 8 | u64::from(byte))
}

impl Operations for Half {
    type Bytes = [u8; 5];

    fn numeral_count(&self) -> usize {
        8
    }

    fn to_be_bytes(&self, _radix: u32, _length: usize) -> [u8; 5] {
        self.bytes()
    }

    fn add_mod_exp(self, other: impl Iterator<Item = u8>, _radix: u32, _numerals: usize) -> Self {
        Self::low(self.0.wrapping_add(number(other)))
    }

    fn sub_mod_exp(self, other: impl Iterator<Item = u8>, _radix: u32, _numerals: usize) -> Self {
        Self::low(self.0.wrapping_sub(number(other)))
    }
}
