//! Values that no two servers may have in common, written for one server or for each host by its name.

use core::{fmt::Display, ops::RangeInclusive, str::FromStr};
use std::{
    format,
    string::{String, ToString as _},
    vec::Vec,
};

use crate::generation::partition::{Prefix, SequenceRange};

/// What belongs to one server alone, of the servers whose IDs meet.
pub trait OfOneServer: FromStr<Err: Display> {
    /// The numbers that no other server may use.
    fn numbers(&self) -> RangeInclusive<u16>;
}

impl OfOneServer for Prefix {
    fn numbers(&self) -> RangeInclusive<u16> {
        self.partitions()
    }
}

impl OfOneServer for SequenceRange {
    fn numbers(&self) -> RangeInclusive<u16> {
        self.lower()..=self.upper()
    }
}

/// Whether two servers would use a number both.
pub(crate) fn overlap(a: &RangeInclusive<u16>, b: &RangeInclusive<u16>) -> bool {
    a.start() <= b.end() && b.start() <= a.end()
}

/// The value for a host: of a text such as `42`, for every server that reads it; of a list such as `db1=42, db2=43`, the
/// host's own. One list can be the configuration of all servers, and is that of their copies, too: on a host that it
/// does not name, there is no value.
///
/// ```
/// use sno_core::{Prefix, value_for_host};
///
/// let value = |host| value_for_host::<Prefix>("db1=42, db2=43", host);
/// assert_eq!(value("db2").unwrap().value(), 43);
/// assert_eq!(value("staging").unwrap_err(), "the list has no value for host \"staging\"");
/// ```
///
/// # Errors
///
/// The text is no value and no list, names a host twice or hosts whose numbers overlap, or does not name this host.
pub fn value_for_host<T: OfOneServer>(text: &str, host: &str) -> Result<T, String> {
    if !text.contains('=') {
        return text.parse().map_err(|error: T::Err| error.to_string());
    }
    let mut values: Vec<(&str, T)> = Vec::new();
    for entry in text.split(',') {
        let (name, value) =
            entry.split_once('=').map(|(name, value)| (name.trim(), value.trim())).unwrap_or_default();
        if name.is_empty() || value.is_empty() {
            return Err("expected hosts with their values, as in \"db1=1, db2=2\"".into());
        }
        let value: T = value.parse().map_err(|error| format!("value of host \"{name}\": {error}"))?;
        if let Some((other, _)) =
            values.iter().find(|(other, taken)| *other == name || overlap(&taken.numbers(), &value.numbers()))
        {
            return Err(match *other == name {
                true => format!("the list has host \"{name}\" twice"),
                false => format!("hosts \"{other}\" and \"{name}\" would generate the same IDs"),
            });
        }
        values.push((name, value));
    }
    let own = values.into_iter().find(|(name, _)| *name == host).map(|(_, value)| value);
    own.ok_or_else(|| format!("the list has no value for host \"{host}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(text: &str, host: &str) -> Result<std::string::String, std::string::String> {
        value_for_host::<Prefix>(text, host).map(|prefix| prefix.to_string())
    }

    #[test]
    fn one_value_is_every_host_s() {
        assert_eq!(prefix("42", "db1").as_deref(), Ok("42/8"));
        assert_eq!(prefix("", "db1"), Err(Prefix::SYNTAX.to_string()));
        assert_eq!(prefix("db1", "db1"), Err(Prefix::SYNTAX.to_string()));
    }

    #[test]
    fn a_list_has_one_for_each_host() {
        let list = " db1 = 42 ,db2=43/8,db3.example.com=704/12";
        assert_eq!(prefix(list, "db1").as_deref(), Ok("42/8"));
        assert_eq!(prefix(list, "db2").as_deref(), Ok("43/8"));
        assert_eq!(prefix(list, "db3.example.com").as_deref(), Ok("704/12"));
        assert_eq!(prefix("db1=42", "db1").as_deref(), Ok("42/8"));
        for other in ["db3", "DB1", "db", "db11", "", "42"] {
            let error = format!("the list has no value for host \"{other}\"");
            assert_eq!(prefix(list, other), Err(error), "{other:?}");
        }
    }

    /// Whichever host reads it.
    #[test]
    fn what_would_repeat_ids_cannot_be_written() {
        for (list, error) in [
            ("db1=42,db2=42", "hosts \"db1\" and \"db2\" would generate the same IDs"),
            ("db1=42,db2=43,db3=43", "hosts \"db2\" and \"db3\" would generate the same IDs"),
            ("db1=42/8,db2=672/12", "hosts \"db1\" and \"db2\" would generate the same IDs"),
            ("db1=687/12,db2=42", "hosts \"db1\" and \"db2\" would generate the same IDs"),
            ("db1=42,db1=43", "the list has host \"db1\" twice"),
            ("db1=42,db2=256", "value of host \"db2\": a prefix of 8 bits is at most 255"),
            (
                "db1=42,db2=auto",
                "value of host \"db2\": expected a number, or a number and its bits, as in \"42/8\"",
            ),
            ("db1=42,", "expected hosts with their values, as in \"db1=1, db2=2\""),
            ("db1=42,43", "expected hosts with their values, as in \"db1=1, db2=2\""),
            (
                "db1=42 db2=43",
                "value of host \"db1\": expected a number, or a number and its bits, as in \"42/8\"",
            ),
            ("=42", "expected hosts with their values, as in \"db1=1, db2=2\""),
            ("db1=", "expected hosts with their values, as in \"db1=1, db2=2\""),
        ] {
            for host in ["db1", "db2", "db9"] {
                assert_eq!(prefix(list, host), Err(error.into()), "{list}");
            }
        }
        assert_eq!(prefix("db1=42/8,db2=671/12,db3=688/12", "db3").as_deref(), Ok("688/12"));
        let range = |text: &str| value_for_host::<SequenceRange>(text, "b").map(|range| range.to_string());
        assert_eq!(range("a=0-32767, b=32768-65535").as_deref(), Ok("32768-65535"));
        assert!(range("a=0-32768, b=32768-65535").is_err());
    }
}
