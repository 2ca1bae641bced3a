//! The vectors of the four schemes.

use std::collections::HashMap;

use sno_core::{
    FixedLength as _, TickType,
    compat::{Gid, SnowflakeSi, Uid60, UniqueId, gid, snowflake_si, uid60, uniqueid},
};

/// `name=number` pairs.
fn numbers(fields: &str) -> HashMap<&str, u64> {
    fields
        .split(' ')
        .filter_map(|field| field.split_once('='))
        .filter_map(|(name, value)| Some((name, value.parse().ok()?)))
        .collect()
}

#[test]
fn vectors() {
    let mut count = 0;
    for line in include_str!("../vectors/compat.tsv").lines().skip(1) {
        let [system, value, text, _] = line.split('\t').collect::<Vec<_>>().try_into().expect("four columns");
        let fields = numbers(text);
        match system {
            "snowflake_si" => {
                let bits = fields["machine_bits"] as u8;
                let expected = snowflake_si::Fields {
                    time: snowflake_si::Millis::new(fields["ms"]).unwrap(),
                    machine: fields["machine"] as u16,
                    index: fields["uin"] as u16,
                };
                let id = SnowflakeSi::new(value.parse().unwrap()).unwrap();
                assert_eq!(id.fields(bits), expected, "{line}");
                assert_eq!(SnowflakeSi::from_fields(expected, bits), Some(id), "{line}");
            }
            "uid60" => {
                let (number, text) = value.split_once(' ').unwrap();
                let expected = uid60::Fields {
                    time: uid60::Seconds::new(fields["seconds"]).unwrap(),
                    worker: fields["worker"] as u16,
                    sequence: fields["sequence"] as u16,
                    random: fields["random"] as u16,
                };
                let id = Uid60::new(number.parse().unwrap()).unwrap();
                assert_eq!(id.fields(), expected, "{line}");
                assert_eq!(Uid60::from_fields(expected), Some(id), "{line}");
                assert_eq!(id.to_string(), text, "{line}");
                assert_eq!(text.parse(), Ok(id), "{line}");
            }
            "uniqueid" => {
                let mode = text.rsplit_once("mode=").unwrap().1;
                let expected = uniqueid::Fields {
                    time: uniqueid::Millis::new(fields["ms"]).unwrap(),
                    sequence: fields["sequence"] as u16,
                    generator: fields["generator"] as u16,
                    cluster: fields["cluster"] as u16,
                    form: mode.parse().unwrap(),
                };
                let id: UniqueId = value.parse().unwrap();
                assert_eq!(id.fields(), expected, "{line}");
                assert_eq!(UniqueId::from_fields(expected), Some(id), "{line}");
                assert_eq!(id.to_string(), value, "{line}");
            }
            "gid" => {
                let id: Gid = value.parse().unwrap();
                assert_eq!(id.to_string(), value, "{line}");
                if let Ok(bytes) = u128::from_str_radix(text, 16) {
                    assert_eq!(Gid::from_bytes(bytes.to_be_bytes()), Ok(id), "{line}");
                } else {
                    assert!(text.starts_with("prefix=volume ") && text.ends_with(" last nine bytes ff"));
                    assert_eq!(id.prefix(), gid::Prefix::Volume);
                    assert_eq!(id.time().get(), fields["ms"]);
                    assert_eq!(id.tail(), [0xff; 9]);
                }
            }
            _ => panic!("{line}"),
        }
        count += 1;
    }
    assert_eq!(count, 16);
}
