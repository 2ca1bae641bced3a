//! Any ten bytes as an ID: to its text, its fields, its bounds and back.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sno_core::{Fields, Sno, Tick};

fuzz_target!(|bytes: [u8; 10]| {
    let id = Sno::from_bytes(bytes);
    assert_eq!(id.to_bytes(), bytes);
    assert_eq!(Sno::parse_bytes(&id.to_text()), Ok(id));
    assert_eq!(id.to_string().parse(), Ok(id));
    assert_eq!(id.to_string().as_bytes(), id.to_text());

    let fields = id.fields();
    assert_eq!(Sno::from(fields), id);
    let Fields { tick, tick_tock, metabyte, partition, sequence } = fields;
    let number = (tick.get() as u128) << 41
        | (tick_tock as u128) << 40
        | (metabyte as u128) << 32
        | (partition as u128) << 16
        | sequence as u128;
    assert_eq!(number.to_be_bytes()[6..], bytes);

    let start = tick.unix_micros();
    assert_eq!(Tick::floor(start), Ok(tick));
    assert_eq!(Tick::ceil(start), Ok(tick));
    assert!(Sno::lower_bound(start) <= id && id <= Sno::upper_bound(start));

    // The first byte serves as another metabyte.
    let changed = id.with_metabyte(bytes[0]);
    assert_eq!(changed.fields(), Fields { metabyte: bytes[0], ..fields });
});
