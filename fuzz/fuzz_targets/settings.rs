//! Any text as the value of a setting.

#![no_main]

use std::{
    fmt::{Debug, Display},
    str::FromStr,
};

use libfuzzer_sys::fuzz_target;
use sno_core::{Prefix, SequenceRange};

/// A value that parses is displayed as a text that parses to the same value; an error has a message.
fn check<T>(text: &str) -> Option<T>
where
    T: FromStr<Err: Debug + Display> + Display + PartialEq + Debug,
{
    match text.parse::<T>() {
        Ok(value) => {
            assert_eq!(value.to_string().parse::<T>().expect("what is shown can be read"), value);
            assert!(text.bytes().all(|byte| b"0123456789-/ ".contains(&byte)), "{text:?} is {value}");
            Some(value)
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            None
        }
    }
}

fuzz_target!(|input: (u32, &str)| {
    let (process, text) = input;
    if let Some(prefix) = check::<Prefix>(text) {
        let (value, low) = (prefix.value(), 16 - prefix.bits() as u32);
        assert_eq!(Prefix::new(value, prefix.bits()), Ok(prefix));
        let (partition, reserved) = (prefix.partition(process), prefix.reserved());
        assert_eq!(partition as u32 >> low, value as u32);
        assert_eq!(reserved.is_none(), low == 0);
        assert!(reserved.is_none_or(|reserved| reserved != partition && reserved >> low == value));
    }
    if let Some(range) = check::<SequenceRange>(text) {
        assert_eq!(SequenceRange::new(range.lower(), range.upper()), Ok(range));
        assert!(range.size() >= SequenceRange::MIN_SIZE);
    }
});
