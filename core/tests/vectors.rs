//! IDs with all their fields, made by the original implementation: `vectors/sno.tsv`.

use sno_core::{Fields, Sno, Tick};

#[test]
fn vectors_of_the_original() {
    let mut count = 0;
    for line in include_str!("vectors/sno.tsv").lines().skip(1) {
        let [hex, text, unix_nanos, tick_tock, metabyte, partition, sequence] =
            line.split('\t').collect::<Vec<_>>().try_into().expect("seven columns");
        let number = u128::from_str_radix(hex, 16).unwrap();
        let bytes: [u8; 10] = number.to_be_bytes()[6..].try_into().unwrap();
        let micros = unix_nanos.parse::<i64>().unwrap() / 1000;
        let fields = Fields {
            tick: Tick::floor(micros).unwrap(),
            tick_tock: tick_tock == "1",
            metabyte: metabyte.parse().unwrap(),
            partition: partition.parse().unwrap(),
            sequence: sequence.parse().unwrap(),
        };

        let id = Sno::from_bytes(bytes);
        assert_eq!(id.fields(), fields, "{line}");
        assert_eq!(id.tick().unix_micros(), micros, "{line}");
        assert_eq!(Sno::from(fields), id, "{line}");
        assert_eq!(id.to_string(), text, "{line}");
        assert_eq!(text.parse(), Ok(id), "{line}");
        count += 1;
    }
    assert_eq!(count, 122);
}
