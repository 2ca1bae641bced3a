//! Any two IDs: IDs, bytes, texts and fields have the same order.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sno_core::{Fields, Sno};

fuzz_target!(|pair: ([u8; 10], [u8; 10], u8)| {
    let (a, mut b, same) = pair;
    // Random pairs would nearly always differ in the first byte.
    let same = same as usize % (a.len() + 1);
    b[..same].copy_from_slice(&a[..same]);

    let order = a.cmp(&b);
    let (a, b) = (Sno::from_bytes(a), Sno::from_bytes(b));
    assert_eq!(a.cmp(&b), order);
    assert_eq!(b.cmp(&a), order.reverse());
    assert_eq!(a == b, order.is_eq());
    assert_eq!(a.to_text().cmp(&b.to_text()), order);
    let key = |id: Sno| {
        let Fields { tick, tick_tock, metabyte, partition, sequence } = id.fields();
        (tick, tick_tock, metabyte, partition, sequence)
    };
    assert_eq!(key(a).cmp(&key(b)), order);
});
