//! The high-water marks in a file: a line of text with a checksum.
//!
//! ```text
//! sno-marks 5 serial=7 side0=133210011000 side1=0 current=0 horizon=133210010500 lowered=0:0,0:0,0:0 from=0
//!     begun=0:0,4531256511104:133210000000 number=2725/14
//!     system=7575001234567890123 timeline=1 host=2774106531 boot=1090342716 device=2049 file=1311789
//!     partitions=10752-11007 sequences=0-65535 crc32=9d2b61f0
//! ```
//!
//! (in one line). `side0` and `side1` are the marks of the two tick-tock sides, in ticks. `horizon` is the mark
//! of the [horizons](crate::horizon::Horizon), `lowered` when they were lowered and to which tick, the last three
//! times, and `from` the tick that they were lowered from. `begun` says when the server began to generate in the
//! place before this one and in this one, and from which ticks on. `number` is what the server has drawn for the case that
//! nobody gives it a number. `timeline` is that of the write-ahead log; `host` and `boot` are checksums of
//! the machine's name and of what identifies its running system.
//!
//! A file holds two records of 4096 bytes, padded with spaces, which are written in turn. If a crash interrupts a
//! write, only the older record is lost. A mark is not used before its write is complete. So the newest valid record
//! always holds marks that were not exceeded. The process that reads a record after a start writes it again in its place, since its
//! writer may have died before the sync: that changes no byte, so nothing is lost if this is interrupted.
//!
//! A disk writes whole sectors, of 512 bytes or more. A line is within the first sector of its page, so if the power
//! fails during the write, the line is there or it is not, whatever became of the padding. Of the first record of a new
//! file this leaves the record or a [blank](is_blank) file.

use core::{
    fmt::{self, Write as _},
    num::NonZeroU32,
    ops::RangeInclusive,
    str::FromStr,
};

use crate::generation::by_host::overlap;
use crate::generation::partition::{Prefix, SequenceRange};
use crate::id::tick::Tick;
use crate::id::tick_type::TickType;

/// Length of a record in the file, in bytes: a page, so that two records never share a sector.
pub const LENGTH: usize = 4096;

/// What precedes the checksum, which is of all bytes before this.
const CHECKSUM: &str = " crc32=";
const CHECKSUM_DIGITS: usize = 8;

/// Whether a file was not written a record yet: it is empty, or holds only what reserves its space, what pads a record,
/// and zeros, which a crash of the machine may leave.
pub fn is_blank(file: &[u8]) -> bool {
    file.iter().all(|byte| matches!(byte, 0 | b' ' | b'\n'))
}

/// What the generators of a server need after a restart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record<T = Tick> {
    /// The number of the write: the newer of two records has the higher one.
    pub serial: u64,
    /// The last tick that each tick-tock side may enter, inclusive; in ticks since the scheme's epoch.
    pub limits: [T; 2],
    /// The side that was entered last.
    pub current: bool,
    /// The latest horizon that a reader may have been given.
    pub horizon: T,
    /// How the horizons were lowered.
    pub lowerings: Lowerings<T>,
    /// The number that the server has drawn.
    pub number: Prefix,
    /// The system identifier, as `pg_control_system()` shows it, of the cluster that wrote the record.
    pub system_identifier: u64,
    /// Where it was written, and for which IDs.
    pub origin: Origin,
}

/// How many [`Lowerings`] are kept.
pub(super) const KEPT: usize = 3;

/// The number of a [`Lowering`] has the timeline above so many bits, which hold a tick. A `bigint` has room for two
/// million timelines.
const TIMELINE_SHIFT: u32 = 42;

/// How the horizons were lowered that were ahead of the clock, after it had been fast. Zeros: they were not. When a
/// server begins in another place, this counts as a lowering, too: to where its own horizons begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lowerings<T = Tick> {
    /// The last lowerings after a fast clock, in the order of time.
    pub last: [Lowering<T>; KEPT],
    /// No reader was given a later horizon than this before the last of them.
    pub from: T,
    /// When the server began in the place before this one, and in this one: after it was created, promoted, restored or
    /// copied, or had lost its marks. Other servers may have given readers later horizons, by a clock that was ahead.
    pub begun: [Lowering<T>; 2],
}

/// The number of a [`Lowering`]: the timeline of the write-ahead log on which the server began, then the tick of the
/// lowering, and in any case higher than the number before. So no number is used twice, not even on standbys and copies,
/// and a server that was promoted has higher numbers than its old primary, whatever their clocks show.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LoweringNumber(pub u64);

impl LoweringNumber {
    /// Before the first one.
    pub const ZERO: Self = Self(0);
    /// After all that there will be.
    pub const MAX: Self = Self(i64::MAX as u64);

    /// As SQL has it, a `bigint`.
    pub const fn to_bigint(self) -> i64 {
        self.0 as i64
    }

    /// From SQL.
    pub const fn from_bigint(number: i64) -> Self {
        Self(number as u64)
    }
}

/// One lowering of the horizons.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lowering<T = Tick> {
    /// Its number.
    pub number: LoweringNumber,
    /// From this tick on, new IDs can be below horizons that readers were given before.
    pub to: T,
}

impl<T: TickType> Lowerings<T> {
    /// None.
    pub const NONE: Self = {
        let none = Lowering { number: LoweringNumber::ZERO, to: T::MIN };
        Self { last: [none; KEPT], from: T::MIN, begun: [none; 2] }
    };

    /// These and one more lowering, at `now`. The oldest one is merged with the one after it: a reader that knows neither
    /// goes back as far as for both.
    pub(super) fn with_lowering(self, now: T, from: T) -> Self {
        let [first, second, third] = self.last;
        let second = Lowering {
            to: if first.number == LoweringNumber::ZERO { second.to } else { first.to.min(second.to) },
            ..second
        };
        let from = if self.from > now { self.from.max(from) } else { from };
        Self {
            last: [second, third, self.new_lowering(self.begun[1].number.0 >> TIMELINE_SHIFT, now, now)],
            from,
            ..self
        }
    }

    /// These of a server that begins in another place, at `now`, and generates from the tick `to` on. A reader that has
    /// read nothing in the last two places goes back to the first ID of both: of earlier places nothing is kept.
    pub(super) fn with_new_place(self, wal_timeline: u32, now: T, to: T) -> Self {
        Self { begun: [self.begun[1], self.new_lowering(u64::from(wal_timeline), now, to)], ..self }
    }

    fn new_lowering(&self, wal_timeline: u64, now: T, to: T) -> Lowering<T> {
        let number = (wal_timeline << TIMELINE_SHIFT | now.get()).max(self.number().0 + 1);
        Lowering { number: LoweringNumber(number), to }
    }

    /// The number of the last one; zero if there was none.
    pub fn number(&self) -> LoweringNumber {
        self.last[KEPT - 1].number.max(self.begun[1].number)
    }

    /// The tick to which a reader goes back that was given the horizon `tick` when the last lowering had this number.
    /// `None` if there was none since then, or only to later ticks. With the number zero, which no reader is given, only
    /// lowerings after a fast clock count.
    pub fn goes_back_from(&self, tick: T, number: LoweringNumber) -> Option<T> {
        let all = self.last.iter().chain(self.begun.iter().filter(|_| number > LoweringNumber::ZERO));
        let to = all.filter(|lowering| lowering.number > number).map(|lowering| lowering.to).min()?;
        (tick >= to).then_some(to)
    }
}

/// A machine.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Machine {
    /// A checksum of its name.
    pub host: u32,
    /// A checksum of what identifies its operating system from one boot to the next; `None` if that is not known.
    pub boot: Option<NonZeroU32>,
}

impl Machine {
    /// The machine of this name, with what identifies its operating system while it runs, or nothing.
    pub fn new(name: &[u8], boot: &[u8]) -> Self {
        // The checksum of nothing is zero.
        Self { host: crc32fast::hash(name), boot: NonZeroU32::new(crc32fast::hash(boot)) }
    }
}

/// The place of a file of marks: the server, and the file there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The timeline of the write-ahead log. Each promotion and each point-in-time recovery begins a new one.
    pub wal_timeline: u32,
    /// The machine.
    pub machine: Machine,
    /// The number of the device on which the file is, which the operating system may number differently after the next
    /// boot.
    pub device: u64,
    /// The file's inode number, which a copy of the file does not share, though one of the device does.
    pub file: u64,
}

impl Place {
    /// Whether both are the same: then the second is the server that wrote the first, and no copy of it.
    ///
    /// While an operating system runs, no two files have the same device and inode number, whatever name the machine or
    /// container has. Between two boots, the machine's name has to be the same. So a copy of a whole disk goes
    /// unnoticed only on another machine of the same name.
    pub fn is_same(&self, other: &Self) -> bool {
        let (here, there) = (self.machine, other.machine);
        let is_same_machine = match here.boot == there.boot {
            true => self.device == other.device && (here.boot.is_some() || here.host == there.host),
            false => here.host == there.host,
        };
        is_same_machine && (self.wal_timeline, self.file) == (other.wal_timeline, other.file)
    }
}

/// Where a record was written, and for which IDs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    /// The place of the file.
    pub place: Place,
    /// The partitions of the server's prefix.
    pub partitions: RangeInclusive<u16>,
    /// The server's pool of sequence numbers.
    pub sequences: RangeInclusive<u16>,
}

impl Origin {
    /// The origin of records that a server with these settings writes.
    pub const fn new(place: Place, prefix: Prefix, range: SequenceRange) -> Self {
        Self { place, partitions: prefix.partitions(), sequences: range.lower()..=range.upper() }
    }

    /// Whether two servers with these partitions and sequences could generate the same ID.
    pub fn overlaps(&self, other: &Self) -> bool {
        overlap(&self.partitions, &other.partitions) && overlap(&self.sequences, &other.sequences)
    }
}

impl<T: TickType> Record<T> {
    /// The record's bytes.
    pub fn encode(&self) -> [u8; LENGTH] {
        let mut page = Page { bytes: [b' '; LENGTH], length: 0 };
        page.bytes[LENGTH - 1] = b'\n';
        write!(page, "{self}").expect("a line fits its page");
        let checksum = crc32fast::hash(&page.bytes[..page.length]);
        write!(page, "{CHECKSUM}{checksum:08x}").expect("a line fits its page");
        page.bytes
    }

    /// The record at the start of a page; `None` if its line is damaged or incomplete. The padding does not count.
    pub fn decode(page: &[u8]) -> Option<Self> {
        let end = page.windows(CHECKSUM.len()).position(|bytes| bytes == CHECKSUM.as_bytes())?;
        let fields = core::str::from_utf8(&page[..end]).ok()?;
        let mut words = Words(fields.strip_prefix(T::NAME)?.strip_prefix("-marks 5 ")?);
        let record = Self {
            serial: words.number("serial")?,
            limits: [words.tick("side0")?, words.tick("side1")?],
            current: words.number::<u8>("current")? == 1,
            horizon: words.tick("horizon")?,
            lowerings: Lowerings {
                last: words.lowerings("lowered")?,
                from: words.tick("from")?,
                begun: words.lowerings("begun")?,
            },
            number: words.number("number")?,
            system_identifier: words.number("system")?,
            origin: Origin {
                place: Place {
                    wal_timeline: words.number("timeline")?,
                    machine: Machine {
                        host: words.number("host")?,
                        boot: NonZeroU32::new(words.number("boot")?),
                    },
                    device: words.number("device")?,
                    file: words.number("file")?,
                },
                partitions: words.range("partitions")?,
                sequences: words.range("sequences")?,
            },
        };
        // A number can be read in several spellings, such as with a leading zero. Only the line that `encode` writes is
        // valid; this also checks the checksum.
        let line = page.get(..end + CHECKSUM.len() + CHECKSUM_DIGITS)?;
        record.encode().starts_with(line).then_some(record)
    }

    /// The newer of the valid records in a file.
    pub fn newest(file: &[u8]) -> Option<Self> {
        file.chunks(LENGTH).filter_map(Self::decode).max_by_key(|record| record.serial)
    }

    /// The position of the record in the file, in bytes. Successive records alternate between two positions.
    pub const fn offset(&self) -> u64 {
        self.serial % 2 * LENGTH as u64
    }
}

impl<T: TickType> fmt::Display for Record<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            serial,
            limits: [zero, one],
            current,
            horizon,
            lowerings,
            number,
            system_identifier,
            origin,
        } = self;
        let [zero, one, horizon, from] = [zero, one, horizon, &lowerings.from].map(|tick| tick.get());
        let list = |all: &[Lowering<T>]| {
            let all = all.iter().map(|Lowering { number, to }| format!("{}:{}", number.0, to.get()));
            all.collect::<Vec<_>>().join(",")
        };
        let (lowered, begun) = (list(&lowerings.last), list(&lowerings.begun));
        let current = *current as u8;
        let Origin { place: Place { wal_timeline, machine, device, file }, partitions, sequences } = origin;
        let Machine { host, boot } = machine;
        let boot = boot.map_or(0, NonZeroU32::get);
        write!(
            f,
            "{}-marks 5 serial={serial} side0={zero} side1={one} current={current} horizon={horizon} \
             lowered={lowered} from={from} begun={begun} number={number} \
             system={system_identifier} timeline={wal_timeline} host={host} boot={boot} device={device} file={file} \
             partitions={}-{} sequences={}-{}",
            T::NAME,
            partitions.start(),
            partitions.end(),
            sequences.start(),
            sequences.end()
        )
    }
}

/// Reads the `name=value` pairs of a line, one after another.
struct Words<'a>(&'a str);

impl<'a> Words<'a> {
    fn value(&mut self, name: &str) -> Option<&'a str> {
        let (word, rest) = self.0.split_once(' ').unwrap_or((self.0, ""));
        self.0 = rest;
        word.strip_prefix(name)?.strip_prefix('=')
    }

    fn number<T: FromStr>(&mut self, name: &str) -> Option<T> {
        self.value(name)?.parse().ok()
    }

    fn tick<T: TickType>(&mut self, name: &str) -> Option<T> {
        T::new(self.number(name)?)
    }

    fn lowerings<T: TickType, const N: usize>(&mut self, name: &str) -> Option<[Lowering<T>; N]> {
        let mut words = self.value(name)?.split(',').map(|word| {
            let (number, to) = word.split_once(':')?;
            Some(Lowering { number: LoweringNumber(number.parse().ok()?), to: T::new(to.parse().ok()?)? })
        });
        let none = Lowering { number: LoweringNumber::ZERO, to: T::MIN };
        let (mut all, mut are_there) = ([none; N], true);
        for lowering in &mut all {
            let word = words.next().flatten();
            (*lowering, are_there) = (word.unwrap_or(none), are_there && word.is_some());
        }
        (are_there && words.next().is_none()).then_some(all)
    }

    fn range(&mut self, name: &str) -> Option<RangeInclusive<u16>> {
        let (first, last) = self.value(name)?.split_once('-')?;
        Some(first.parse().ok()?..=last.parse().ok()?)
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

    const PLACE: Place = Place {
        wal_timeline: u32::MAX,
        machine: Machine { host: u32::MAX, boot: NonZeroU32::new(u32::MAX) },
        device: u64::MAX,
        file: u64::MAX,
    };
    const ORIGIN: Origin = Origin { place: PLACE, partitions: 65280..=u16::MAX, sequences: 0..=u16::MAX };
    const RECORD: Record = Record {
        serial: 7,
        limits: [Tick::MAX, Tick::MIN],
        current: true,
        horizon: Tick::MAX,
        lowerings: Lowerings {
            last: [Lowering { number: LoweringNumber::MAX, to: Tick::MAX }; 3],
            from: Tick::MAX,
            begun: [Lowering { number: LoweringNumber::MAX, to: Tick::MAX }; 2],
        },
        number: Prefix::drawn(16_383, None),
        system_identifier: u64::MAX,
        origin: ORIGIN,
    };

    #[test]
    fn a_line_that_people_can_read() {
        let page = RECORD.encode();
        let line = std::str::from_utf8(&page).unwrap().trim_end();
        assert_eq!(
            line,
            "sno-marks 5 serial=7 side0=549755813887 side1=0 current=1 horizon=549755813887 \
             lowered=9223372036854775807:549755813887,9223372036854775807:549755813887,9223372036854775807:549755813887 \
             from=549755813887 begun=9223372036854775807:549755813887,9223372036854775807:549755813887 \
             number=16383/14 \
             system=18446744073709551615 timeline=4294967295 host=4294967295 boot=4294967295 \
             device=18446744073709551615 file=18446744073709551615 \
             partitions=65280-65535 sequences=0-65535 crc32=102b7da1"
        );
        assert_eq!(page.last(), Some(&b'\n'));
        assert_eq!(Record::decode(&page), Some(RECORD));
        assert_eq!(<Record>::decode(&page[..line.len()]), Some(RECORD));
        assert_eq!(<Record>::decode(&page[..line.len() - 1]), None);
    }

    #[test]
    fn settings_overlap_or_not() {
        let origin =
            |prefix: &str, range: &str| Origin::new(PLACE, prefix.parse().unwrap(), range.parse().unwrap());
        let here = origin("42", "0-999");
        assert_eq!((here.partitions.clone(), here.sequences.clone()), (10752..=11007, 0..=999));
        for (prefix, range, overlaps) in [
            ("42", "0-999", true),
            ("42", "999-65535", true),
            ("42", "1000-1999", false),
            ("672/12", "0-999", true),
            ("688/12", "0-999", false),
            ("11007/16", "0-999", true),
            ("11008/16", "0-999", false),
            ("41", "0-999", false),
        ] {
            assert_eq!(here.overlaps(&origin(prefix, range)), overlaps, "{prefix} {range}");
            assert_eq!(origin(prefix, range).overlaps(&here), overlaps, "{prefix} {range}");
        }
    }

    #[test]
    fn any_changed_byte_spoils_a_record() {
        let page = RECORD.encode();
        let line = page.trim_ascii_end().len();
        for place in 0..line {
            let mut torn = page;
            torn[place] ^= 1;
            assert_eq!(<Record>::decode(&torn), None, "byte {place}");
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
            line.replace("partitions=65280-", "partitions=+65280-"),
            line.replace("sno-marks 5", "sno-marks 6"),
            line.replace("sno-marks 5", "sno-marks 4"),
            format!("{line} more=1"),
        ] {
            assert_eq!(<Record>::decode(&page(&other)), None, "{other}");
        }
    }

    const SECTOR: usize = 512;

    #[test]
    fn the_longest_line_is_within_a_sector() {
        let longest = Record { serial: u64::MAX, limits: [Tick::MAX; 2], ..RECORD };
        let page = longest.encode();
        assert!(page.trim_ascii_end().len() < SECTOR);
        assert_eq!(Record::decode(&page), Some(longest));
    }

    /// The sectors of a write that a power failure interrupts get to the disk in any order.
    #[test]
    fn of_a_torn_first_write_the_record_is_left_or_nothing() {
        let page = RECORD.encode();
        for blank in [0, b' ', 0xff] {
            for written in 0..1 << (LENGTH / SECTOR) {
                let mut torn = [blank; LENGTH];
                for sector in (0..LENGTH / SECTOR).filter(|sector| written >> sector & 1 == 1) {
                    let bytes = sector * SECTOR..(sector + 1) * SECTOR;
                    torn[bytes.clone()].copy_from_slice(&page[bytes]);
                }
                let whole = written & 1 == 1;
                assert_eq!(Record::decode(&torn), whole.then_some(RECORD), "{written:08b}");
                assert_eq!(is_blank(&torn), !whole && blank != 0xff, "{written:08b}");
            }
        }
    }

    #[test]
    fn a_torn_write_leaves_the_record_before_it() {
        let old = Record { serial: 8, ..RECORD };
        let new = Record { serial: 9, limits: [Tick::MAX; 2], ..RECORD };
        assert_ne!(old.offset(), new.offset());
        let mut file = [0; 2 * LENGTH];
        file[old.offset() as usize..][..LENGTH].copy_from_slice(&old.encode());
        assert_eq!(Record::newest(&file).as_ref(), Some(&old));
        for written in [1, 60, 200] {
            file[new.offset() as usize..][..written].copy_from_slice(&new.encode()[..written]);
            assert_eq!(Record::newest(&file).as_ref(), Some(&old), "{written} bytes");
        }
        file[new.offset() as usize..][..LENGTH].copy_from_slice(&new.encode());
        assert_eq!(Record::newest(&file), Some(new));
        assert_eq!(Record::newest(&file[..LENGTH]), Some(old));
        // The record that a new file begins with is in the second page, and the first is blank.
        assert!(!is_blank(&[[b' '; LENGTH], [b'?'; LENGTH]].concat()));
        let [low, high] = [255, 256].map(|serial| Record { serial, ..RECORD });
        assert_eq!(Record::newest(&[high.encode(), low.encode()].concat()), Some(high));
    }

    #[test]
    fn nothing_else_is_a_record() {
        for file in [&b""[..], b"sno-marks", &[0; 2 * LENGTH], &[b' '; LENGTH], &[0xff; LENGTH]] {
            assert_eq!(<Record>::newest(file), None);
        }
    }
}
