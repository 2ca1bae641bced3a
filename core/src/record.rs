//! The marks as a file keeps them: a line of text with a checksum.
//!
//! ```text
//! sno-marks 1 serial=7 timeline0=133210011000 timeline1=0 current=0 system=7575001234567890123 crc32=9d2b61f0
//! ```
//!
//! A file holds two records of 4096 bytes, padded with spaces, and the writer takes them in turn. A write
//! that is torn by a crash spoils the older record at most, and no mark counts before its write is
//! complete, so the newest whole record is always right.

use core::fmt::{self, Write as _};

use crate::Tick;

/// Length of a record in the file: a page, so that two records never share a sector.
pub const LENGTH: usize = 4096;

/// The longest line is some 150 bytes long; the checksum covers what stands before it.
const CHECKSUM: &str = " crc32=";

/// What has to survive a restart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// Counts the writes; the higher of two whole records is the newer.
    pub serial: u64,
    /// The marks of both timelines.
    pub limits: [Tick; 2],
    /// The timeline that was entered last.
    pub current: bool,
    /// Identifies the system that wrote the record.
    pub system: u64,
}

impl Record {
    /// The record's bytes.
    pub fn encode(&self) -> [u8; LENGTH] {
        let mut page = Page { bytes: [b' '; LENGTH], length: 0 };
        page.bytes[LENGTH - 1] = b'\n';
        write!(page, "{self}").expect("a line fits its page");
        let checksum = crc32fast::hash(&page.bytes[..page.length]);
        write!(page, "{CHECKSUM}{checksum:08x}").expect("a line fits its page");
        page.bytes
    }

    /// The record in a page, if it is whole.
    pub fn decode(page: &[u8]) -> Option<Self> {
        let page = page.get(..LENGTH)?;
        let (fields, _) = core::str::from_utf8(page).ok()?.split_once(CHECKSUM)?;
        let mut words = fields.strip_prefix("sno-marks 1 ")?.split(' ');
        let mut field = |name| {
            let (key, value) = words.next()?.split_once('=')?;
            if key == name { value.parse::<u64>().ok() } else { None }
        };
        let record = Self {
            serial: field("serial")?,
            limits: [Tick::new(field("timeline0")?)?, Tick::new(field("timeline1")?)?],
            current: field("current")? == 1,
            system: field("system")?,
        };
        // Numbers can be spelt in many ways, but were written in one; so was the checksum.
        (record.encode() == page).then_some(record)
    }

    /// The newer of the whole records in a file.
    pub fn newest(file: &[u8]) -> Option<Self> {
        file.chunks(LENGTH).filter_map(Self::decode).max_by_key(|record| record.serial)
    }

    /// Where in the file the record belongs: never over the one before it.
    pub const fn offset(&self) -> u64 {
        self.serial % 2 * LENGTH as u64
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { serial, limits: [zero, one], current, system } = self;
        let (zero, one, current) = (zero.get(), one.get(), *current as u8);
        write!(
            f,
            "sno-marks 1 serial={serial} timeline0={zero} timeline1={one} current={current} system={system}"
        )
    }
}

/// A page that text is written into.
struct Page {
    bytes: [u8; LENGTH],
    length: usize,
}

impl fmt::Write for Page {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length + text.len();
        self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: Record =
        Record { serial: 7, limits: [Tick::MAX, Tick::MIN], current: true, system: u64::MAX };

    #[test]
    fn a_line_that_people_can_read() {
        let page = RECORD.encode();
        let line = std::str::from_utf8(&page).unwrap().trim_end();
        assert_eq!(
            line,
            "sno-marks 1 serial=7 timeline0=549755813887 timeline1=0 current=1 \
             system=18446744073709551615 crc32=5ea1fa90"
        );
        assert_eq!(page.last(), Some(&b'\n'));
        assert_eq!(Record::decode(&page), Some(RECORD));
        assert_eq!(Record { serial: u64::MAX, ..RECORD }.encode().len(), LENGTH);
    }

    #[test]
    fn any_changed_byte_spoils_a_record() {
        let page = RECORD.encode();
        let line = page.trim_ascii_end().len();
        for place in 0..line {
            let mut torn = page;
            torn[place] ^= 1;
            assert_eq!(Record::decode(&torn), None, "byte {place}");
        }
    }

    #[test]
    fn a_record_is_spelt_in_one_way() {
        let page = |line: &str| {
            let line = format!("{line}{CHECKSUM}{:08x}", crc32fast::hash(line.as_bytes()));
            format!("{line:width$}\n", width = LENGTH - 1).into_bytes()
        };
        let line = RECORD.to_string();
        assert_eq!(page(&line), RECORD.encode());
        for other in [
            line.replace("=7", "=+7"),
            line.replace("=7", "=07"),
            line.replace("current=1", "current=2"),
            format!("{line} more=1"),
        ] {
            assert_eq!(Record::decode(&page(&other)), None, "{other}");
        }
        let tab = RECORD.encode().map(|byte| if byte == b'\n' { b'\t' } else { byte });
        assert_eq!(Record::decode(&tab), None);
    }

    #[test]
    fn a_torn_write_leaves_the_record_before_it() {
        let old = Record { serial: 8, ..RECORD };
        let new = Record { serial: 9, limits: [Tick::MAX; 2], ..RECORD };
        assert_ne!(old.offset(), new.offset());
        let mut file = [0; 2 * LENGTH];
        file[old.offset() as usize..][..LENGTH].copy_from_slice(&old.encode());
        assert_eq!(Record::newest(&file), Some(old));
        for written in [1, 60, 100] {
            file[new.offset() as usize..][..written].copy_from_slice(&new.encode()[..written]);
            assert_eq!(Record::newest(&file), Some(old), "{written} bytes");
        }
        file[new.offset() as usize..][..LENGTH].copy_from_slice(&new.encode());
        assert_eq!(Record::newest(&file), Some(new));
        assert_eq!(Record::newest(&file[..LENGTH]), Some(old));
    }

    #[test]
    fn nothing_else_is_a_record() {
        for file in [&b""[..], b"sno-marks", &[0; 2 * LENGTH], &[b' '; LENGTH], &[0xff; LENGTH]] {
            assert_eq!(Record::newest(file), None);
        }
    }
}
