//! Any bytes as the text of an ID: the result, or the position of the first invalid character.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sno_core::Sno;

const ALPHABET: &[u8] = b"23456789abcdefghijklmnopqrstuvwx";

/// Base32 without optimization, one character after another. `Err` is the position of the first invalid one, or `None` if
/// the length is wrong.
fn reference(text: &[u8]) -> Result<[u8; 10], Option<usize>> {
    if text.len() != 16 {
        return Err(None);
    }
    let mut number = 0_u128;
    for (place, byte) in text.iter().enumerate() {
        let value = ALPHABET.iter().position(|letter| letter == byte).ok_or(Some(place))?;
        number = number << 5 | value as u128;
    }
    Ok(std::array::from_fn(|place| (number >> (72 - 8 * place)) as u8))
}

fuzz_target!(|text: &[u8]| {
    let decoded = Sno::parse_bytes(text);
    assert_eq!(decoded.map(Sno::to_bytes).map_err(|error| error.position()), reference(text));
    if let Ok(id) = decoded {
        assert_eq!(id.to_text(), text);
    }
    if let Ok(text) = str::from_utf8(text) {
        assert_eq!(text.parse(), decoded);
    }
});
