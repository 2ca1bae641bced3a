//! Any bytes as the file of the high-water marks.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sno_core::record::{LENGTH, Record};

/// A page that decodes encodes to the same bytes.
fn check(page: &[u8]) {
    if let Some(record) = <Record>::decode(page) {
        assert_eq!(record.encode()[..], page[..LENGTH]);
    }
}

fuzz_target!(|bytes: &[u8]| {
    check(bytes);

    // A file of two pages, each with one of two lines and the checksum that no mutation would find.
    let mut file = [b' '; 2 * LENGTH];
    let mut lines = bytes.splitn(2, |byte| *byte == b'\n');
    for (page, line) in file.chunks_mut(LENGTH).zip(&mut lines) {
        let length = line.len().min(LENGTH);
        page[..length].copy_from_slice(&line[..length]);
        if let Some(room) = page.get_mut(length..length + 15) {
            room.copy_from_slice(format!(" crc32={:08x}", crc32fast::hash(&line[..length])).as_bytes());
        }
        page[LENGTH - 1] = b'\n';
        check(page);
    }
    let newest = <Record>::newest(&file);
    let pages = [<Record>::decode(&file[..LENGTH]), <Record>::decode(&file[LENGTH..])];
    assert_eq!(
        newest.as_ref().map(|record| record.serial),
        pages.iter().flatten().map(|record| record.serial).max()
    );
    assert!(newest.is_none() || pages.contains(&newest));
});
