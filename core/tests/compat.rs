//! The four schemes: their vectors, their texts, their order, and that nothing is lost on the way into `Sno`.
#![cfg(feature = "compat")]

use std::{
    cell::Cell,
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
};

use proptest::prelude::*;
use sno_core::{
    ClaimError, FixedLength as _, Marks, OutOfEpoch, SequenceRange, Slot, Sno, Stamp, TickType,
    compat::{
        Epoch, Gid, SnowflakeSi, Uid60, UniqueId, gid,
        snowflake_si::{self, BaseClock, Machine},
        uid60,
        uniqueid::{self, Cluster, Form, GeneratorBits},
    },
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
    for line in include_str!("vectors/compat.tsv").lines().skip(1) {
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

/// Mostly near the ends and around a value that matters; else anything below a power of two.
fn bits(count: u32) -> impl Strategy<Value = u64> {
    let max = u64::MAX >> (64 - count);
    prop_oneof![4 => 0..=max, 1 => Just(0), 1 => Just(max), 1 => (0..count).prop_map(|bit| 1 << bit)]
}

fn uid60() -> impl Strategy<Value = Uid60> {
    bits(60).prop_map(|number| Uid60::new(number).unwrap())
}

fn uniqueid() -> impl Strategy<Value = UniqueId> {
    bits(64).prop_map(UniqueId::new)
}

fn snowflake_si() -> impl Strategy<Value = SnowflakeSi> {
    bits(53).prop_map(|number| SnowflakeSi::new(number).unwrap())
}

fn gid() -> impl Strategy<Value = Gid> {
    (prop::sample::select(&gid::Prefix::ALL[..]), bits(48), 0x80..=0xff_u8, bits(64)).prop_map(
        |(prefix, millis, seventh, random)| {
            let time = gid::Millis::new(millis).unwrap();
            let mut bytes = Gid::from_fields(prefix, time, random).to_bytes();
            bytes[7] = seventh;
            Gid::from_bytes(bytes).unwrap()
        },
    )
}

/// Base clocks of all times that PostgreSQL and RFC 3339 share.
fn base() -> impl Strategy<Value = BaseClock> {
    (BaseClock::AFTER_UNIX_MILLIS + 1..253_402_300_800_000)
        .prop_map(|unix_millis| BaseClock::new(unix_millis).unwrap())
}

/// Unix times in microseconds, far beyond any epoch.
fn times() -> impl Strategy<Value = i64> {
    prop_oneof![
        4 => 0..4_000_000_000_000_000_i64,
        1 => any::<i64>(),
        1 => Just(i64::MIN),
        1 => Just(i64::MAX)
    ]
}

/// The bits of an ID below its tick.
fn rest(id: Sno) -> u32 {
    u32::from(id.partition()) << 16 | u32::from(id.sequence())
}

proptest! {
    #[test]
    fn uid60_texts_and_fields_come_back(id in uid60()) {
        prop_assert_eq!(id.to_string().parse(), Ok(id));
        prop_assert_eq!(Uid60::from_fields(id.fields()), Some(id));
    }

    #[test]
    fn uniqueid_texts_and_fields_come_back(id in uniqueid()) {
        prop_assert_eq!(id.to_string().parse(), Ok(id));
        prop_assert_eq!(id.to_string().to_uppercase().parse(), Ok(id));
        prop_assert_eq!(UniqueId::from_fields(id.fields()), Some(id));
    }

    #[test]
    fn snowflake_si_fields_come_back(id in snowflake_si(), machine_bits in 0..=Machine::MAX_BITS) {
        prop_assert_eq!(SnowflakeSi::from_fields(id.fields(machine_bits), machine_bits), Some(id));
    }

    #[test]
    fn gid_texts_come_back_and_sort_as_the_ids_do(id in gid(), other in gid()) {
        prop_assert_eq!(id.to_string().parse(), Ok(id));
        prop_assert_eq!(Gid::from_bytes(id.to_bytes()), Ok(id));
        prop_assert_eq!(id.cmp(&other), id.to_string().cmp(&other.to_string()));
        prop_assert_eq!(
            (id.prefix(), id.time(), id.tail()).cmp(&(other.prefix(), other.time(), other.tail())),
            id.cmp(&other)
        );
    }

    #[test]
    fn no_text_is_read_that_would_not_be_written(bytes in prop::collection::vec(any::<u8>(), 0..30)) {
        if let Ok(id) = Uid60::parse_bytes(&bytes) {
            prop_assert_eq!(&id.to_text()[..], &bytes[..]);
        }
        if let Ok(id) = UniqueId::parse_bytes(&bytes) {
            prop_assert_eq!(&id.to_text()[..], &bytes.to_ascii_lowercase()[..]);
        }
        if let Ok(id) = Gid::parse_bytes(&bytes) {
            prop_assert_eq!(&id.to_text()[..], &bytes[..]);
        }
    }

    #[test]
    fn settings_of_any_text(text in "[0-9]{1,4}[/-][0-9]{1,4}|20[0-9-]{8}T[0-9:]{8}[.0-9]{0,4}Z|.{0,20}") {
        if let Ok(machine) = text.parse::<Machine>() {
            prop_assert_eq!(Machine::new(machine.number(), machine.bits()), Ok(machine));
            prop_assert!(machine.pool().upper() < 1 << 13);
        }
        if let Ok(workers) = text.parse::<uid60::Workers>() {
            prop_assert_eq!(uid60::Workers::new(*workers.numbers().start(), *workers.numbers().end()), Ok(workers));
        }
        if let Ok(base) = text.parse::<BaseClock>() {
            prop_assert_eq!(BaseClock::new(base.unix_millis()), Ok(base));
        }
    }

    /// One wrong character at any place, of texts that are right otherwise.
    #[test]
    fn a_wrong_character_is_never_read(
        id in uid60(), other in uniqueid(), gid in gid(), place in 0..10_usize, byte in any::<u8>()
    ) {
        let mut text = id.to_text();
        text[place] = byte;
        let good = byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        prop_assert_eq!(Uid60::parse_bytes(&text).is_ok(), good);
        let mut text = other.to_text();
        text[place] = byte;
        prop_assert_eq!(UniqueId::parse_bytes(&text).is_ok(), byte.is_ascii_hexdigit());
        let mut text = gid.to_text();
        text[place] = byte;
        if !byte.is_ascii_alphanumeric() || b"0OIl".contains(&byte) {
            prop_assert!(Gid::parse_bytes(&text).is_err());
        } else if let Ok(id) = Gid::parse_bytes(&text) {
            prop_assert_eq!(id.to_text(), text);
        }
    }

    /// Different IDs become different `Sno`s: everything that makes up an ID can be read from its `Sno`.
    #[test]
    fn uid60_into_sno_loses_nothing(id in uid60(), other in uid60(), metabyte in any::<u8>()) {
        match id.to_sno(metabyte) {
            Ok(sno) => {
                prop_assert_eq!(sno.metabyte(), metabyte);
                prop_assert!(!sno.tick_tock());
                let time = uid60::EPOCH.floor::<uid60::Seconds>(sno.tick().unix_micros()).unwrap();
                prop_assert_eq!(Uid60::new(time.get() << 28 | u64::from(rest(sno))), Ok(id));
                if let Ok(second) = other.to_sno(metabyte) {
                    prop_assert_eq!(id.cmp(&other), sno.cmp(&second));
                }
            }
            // The epoch begins after sno's, and ends later.
            Err(error) => prop_assert!(error == OutOfEpoch::After && id.time().get() > 1_900_000_000),
        }
    }

    #[test]
    fn snowflake_si_into_sno_loses_nothing(
        id in snowflake_si(), other in snowflake_si(), base in base(), metabyte in any::<u8>()
    ) {
        let unix_millis = base.unix_millis() + id.time().get() as i64;
        let held = (1_262_304_000_000..=3_461_327_255_551).contains(&unix_millis);
        prop_assert_eq!(id.to_sno(base, metabyte).is_ok(), held);
        if let Ok(sno) = id.to_sno(base, metabyte) {
            prop_assert_eq!((sno.metabyte(), sno.tick_tock(), sno.partition()), (metabyte, false, 0));
            let millis = sno.tick().unix_micros() / 1000 + i64::from(rest(sno) >> 13) - base.unix_millis();
            let number = (millis as u64) << 13 | u64::from(rest(sno) & 0x1fff);
            prop_assert_eq!(SnowflakeSi::new(number), Ok(id));
            if let Ok(second) = other.to_sno(base, metabyte) {
                prop_assert_eq!(id.cmp(&other), sno.cmp(&second));
            }
        }
    }

    #[test]
    fn uniqueid_into_sno_loses_nothing(
        bits in bits(64), millis in 1_262_304_000_000..3_461_327_255_552_u64, metabyte in any::<u8>()
    ) {
        let any = UniqueId::new(bits);
        let time = uniqueid::Millis::new(millis).unwrap();
        let held = UniqueId::from_fields(uniqueid::Fields { time, ..any.fields() }).unwrap();
        prop_assert!(held.to_sno(metabyte).is_ok());
        for id in [any, held] {
            let Ok(sno) = id.to_sno(metabyte) else {
                let outside = id.time().get() < 1_262_304_000_000 || id.time().get() > 3_461_327_255_551;
                prop_assert!(outside);
                continue;
            };
            prop_assert_eq!((sno.metabyte(), sno.tick_tock()), (metabyte, false));
            let millis = sno.tick().unix_micros() as u64 / 1000 + u64::from(rest(sno) >> 22);
            let low = u64::from(rest(sno) & 0x3f_ffff);
            let spread = (millis.reverse_bits() >> 22) << 22 | low;
            let back = if low & 0x1000 == 0 { spread } else { millis << 22 | low };
            prop_assert_eq!(UniqueId::new(back), id);
        }
    }

    /// An ID is within the bounds of a time exactly if its time is.
    #[test]
    fn bounds_are_exact(id in uid60(), base in base(), si in snowflake_si(), at in times(), gid in gid()) {
        check_bounds(uid60::EPOCH, id.time(), at, id >= Uid60::lower_bound(at), id <= Uid60::upper_bound(at))?;
        let (lower, upper) = (SnowflakeSi::lower_bound(base, at), SnowflakeSi::upper_bound(base, at));
        check_bounds(base.epoch(), si.time(), at, si >= lower, si <= upper)?;
        let (lower, upper) = (Gid::lower_bound(gid.prefix(), at), Gid::upper_bound(gid.prefix(), at));
        check_bounds(Epoch::UNIX, gid.time(), at, gid >= lower, gid <= upper)?;
        prop_assert_eq!((lower.prefix(), upper.prefix()), (gid.prefix(), gid.prefix()));
    }

    #[test]
    fn bounds_of_time_sequential_uniqueids_are_exact(bits in bits(64), at in times()) {
        let any = UniqueId::new(bits);
        let id = UniqueId::from_fields(uniqueid::Fields { form: Form::TimeSequential, ..any.fields() }).unwrap();
        let (lower, upper) = (UniqueId::lower_bound(at), UniqueId::upper_bound(at));
        check_bounds(Epoch::UNIX, id.time(), at, id >= lower, id <= upper)?;
    }
}

/// Before the epoch everything is not before a time, and after it everything is not after it, except the
/// IDs that the saturated bounds are.
fn check_bounds<T: TickType>(
    epoch: Epoch,
    time: T,
    at: i64,
    not_before: bool,
    not_after: bool,
) -> Result<(), TestCaseError> {
    let start = epoch.unix_micros(time);
    if (epoch.unix_micros(T::MIN)..=epoch.unix_micros(T::MAX)).contains(&at) {
        prop_assert_eq!((not_before, not_after), (start >= at, start <= at));
    } else if at < epoch.unix_micros(T::MIN) {
        prop_assert!(not_before);
        prop_assert!(!not_after || time == T::MIN);
    } else {
        prop_assert!(not_after);
        prop_assert!(!not_before || time == T::MAX);
    }
    Ok(())
}

#[test]
fn ends_of_the_epochs() {
    let end = |micros: i64| (micros / 1_000_000, micros % 1_000_000);
    // 2154-04-07 06:28:15 and 2109-05-15 07:35:11.103 UTC.
    assert_eq!(end(uid60::EPOCH.unix_micros(uid60::Seconds::MAX)), (5_814_829_695, 0));
    assert_eq!(end(Epoch::UNIX.unix_micros(uniqueid::Millis::MAX)), (4_398_046_511, 103_000));
    assert_eq!(SnowflakeSi::MAX.get(), (1 << 53) - 1);
    assert_eq!(
        SnowflakeSi::new(1 << 53).unwrap_err().to_string(),
        "a Snowflake-SI ID is between 0 and 9007199254740991"
    );
    assert_eq!(Uid60::new(1 << 60).unwrap_err().to_string(), "a uid60 is between 0 and 1152921504606846975");
}

#[test]
fn fields_that_do_not_fit() {
    let fields = snowflake_si::Fields { time: TickType::MIN, machine: 0, index: 0 };
    assert_eq!(SnowflakeSi::from_fields(snowflake_si::Fields { machine: 32, ..fields }, 5), None);
    assert!(SnowflakeSi::from_fields(fields, 12).is_some() && SnowflakeSi::from_fields(fields, 13).is_none());
    assert_eq!([15, 16].map(|number| Cluster::new(number).is_ok()), [true, false]);
    assert_eq!([5, 6, 11, 12].map(|bits| GeneratorBits::new(bits).is_ok()), [false, true, true, false]);
    assert_eq!(SnowflakeSi::from_fields(snowflake_si::Fields { index: 256, ..fields }, 5), None);
    assert!(
        SnowflakeSi::from_fields(snowflake_si::Fields { machine: 4095, index: 1, ..fields }, 12).is_some()
    );
    let fields = uid60::Fields { time: TickType::MIN, worker: 511, sequence: 1023, random: 511 };
    assert!(Uid60::from_fields(fields).is_some());
    assert_eq!(Uid60::from_fields(uid60::Fields { worker: 512, ..fields }), None);
    assert_eq!(Uid60::from_fields(uid60::Fields { sequence: 1024, ..fields }), None);
    assert_eq!(Uid60::from_fields(uid60::Fields { random: 512, ..fields }), None);
    let fields = uniqueid::Fields {
        time: TickType::MIN,
        sequence: 63,
        generator: 2047,
        cluster: 15,
        form: Form::TimeSequential,
    };
    assert!(UniqueId::from_fields(fields).is_some());
    assert_eq!(UniqueId::from_fields(uniqueid::Fields { sequence: 64, ..fields }), None);
    assert_eq!(UniqueId::from_fields(uniqueid::Fields { generator: 2048, ..fields }), None);
    assert_eq!(UniqueId::from_fields(uniqueid::Fields { cluster: 16, ..fields }), None);
}

/// A scheme without a tick-tock bit has one side: a clock that steps back is waited for, also after a restart.
#[test]
fn a_clock_that_steps_back_is_waited_for() {
    let second = |number| uid60::Seconds::new(number).unwrap();
    let now = Cell::new(0);
    let slot = Slot::<uid60::Seconds>::default();
    let claim = |at| {
        now.set(at);
        let stamp = slot.claim(&|| Ok(second(now.get())), Uid60::POOL, &Marks::unlimited());
        stamp.map(|stamp| (stamp.tick().get(), stamp.tick_tock()))
    };
    for start in [1000, 2000] {
        assert_eq!(claim(start), Ok((start, false)));
        let [now, until] = [start - 1, start].map(second);
        assert_eq!(claim(start - 1), Err(ClaimError::ClockWentBack { now, until }));
        slot.resume(&Marks::new([1500, 0].map(second), true));
        assert_eq!(slot.state().safe.get(), 1500);
    }
}

/// A stamp that was claimed with another pool.
#[test]
fn stamps_that_do_not_fit() {
    fn fits<T: TickType, I>(sequence: u16, of_stamp: impl Fn(Stamp<T>) -> I) -> bool {
        let pool = SequenceRange::new(sequence, sequence + 3).unwrap();
        let stamp = Slot::default().claim(&|| Ok(T::MAX), pool, &Marks::unlimited()).unwrap();
        catch_unwind(AssertUnwindSafe(|| of_stamp(stamp))).is_ok()
    }
    let uid60 = |sequence, worker| fits(sequence, move |stamp| Uid60::from_stamp(stamp, worker, u16::MAX));
    assert_eq!([uid60(1023, 511), uid60(1024, 511), uid60(1023, 512)], [true, false, false]);
    let uniqueid = |sequence, generator| {
        fits(sequence, move |stamp| UniqueId::from_stamp(stamp, generator, Cluster::default(), Form::Spread))
    };
    assert_eq!([uniqueid(63, 2047), uniqueid(64, 2047), uniqueid(63, 2048)], [true, false, false]);
    let snowflake_si = |sequence| fits(sequence, SnowflakeSi::from_stamp);
    assert_eq!([snowflake_si(8191), snowflake_si(8192)], [true, false]);
}

#[test]
fn a_snowflake_si_is_a_decimal_number() {
    let largest = "9007199254740991";
    assert_eq!(largest.parse(), Ok(SnowflakeSi::MAX));
    assert_eq!(SnowflakeSi::MAX.to_string(), largest);
    assert_eq!(format!("{:>4}", SnowflakeSi::new(7).unwrap()), "   7");
    for text in ["", "-1", "+1", "x", " 1", "9007199254740992", "99999999999999999999"] {
        assert!(text.parse::<SnowflakeSi>().is_err(), "{text:?}");
    }
}

#[test]
#[should_panic = "a machine has 0 to 12 bits"]
fn a_machine_of_13_bits_leaves_none_for_the_index() {
    let _ = SnowflakeSi::MAX.fields(13);
}

#[test]
fn gids_that_are_none() {
    let reason = |text: &str| text.parse::<Gid>().unwrap_err().to_string();
    let syntax = "a gid is 10 characters of base58, a hyphen, and 13 more";
    for text in [
        "",
        "5rLWQQkJdm-2dVseX433Zwh",
        "5rLWQQkJdm_2dVseX433Zwhy",
        "5rLWQQkJd0-2dVseX433Zwhy",
        "5rLWQQkJdm-2dVseX433Zwhyy",
    ] {
        assert_eq!(reason(text), syntax, "{text}");
    }
    // More than the bytes hold, and less than any prefix.
    assert_eq!(reason("zzzzzzzzzz-2dVseX433Zwhy"), "the parts of a gid stand for 7 and 9 bytes");
    assert_eq!(reason("5rLWQQkJdm-zzzzzzzzzzzzz"), "the parts of a gid stand for 7 and 9 bytes");
    assert_eq!(reason("1111111111-2dVseX433Zwhy"), "the first byte of a gid is 0x80, 0xa0 or 0xc0");
    assert_eq!(reason("5rLWQQkJdm-1111111111111"), "byte 7 of a gid is at least 0x80");
    for byte in 0..=255 {
        let mut bytes = [0x80; 16];
        bytes[0] = byte;
        assert_eq!(Gid::from_bytes(bytes).is_ok(), [0x80, 0xa0, 0xc0].contains(&byte));
        bytes[0] = 0xa0;
        bytes[7] = byte;
        assert_eq!(Gid::from_bytes(bytes).is_ok(), byte >= 0x80);
    }
}

#[test]
fn settings() {
    let base = |text: &str| text.parse::<BaseClock>().map_err(|error| error.to_string());
    assert_eq!(base("2020-01-01T00:00:00Z").unwrap().unix_millis(), 1_577_836_800_000);
    assert_eq!(base("2003-03-18T07:20:19.225Z").unwrap().unix_millis(), 1_047_972_019_225);
    let early = "a base clock is after 2003-03-18T07:20:19.224Z";
    assert_eq!(base("2003-03-18T07:20:19.224Z").unwrap_err(), early);
    assert_eq!(base("1970-01-01T00:00:00Z").unwrap_err(), early);
    assert_eq!(base("").unwrap_err(), "a site chooses its base clock before its first ID");
    assert!(base("2020-01-01T00:00:00.0001Z").unwrap_err().contains("exact to the millisecond"));
    for text in ["2020-01-01", "yesterday", "2020-13-01T00:00:00Z", "2020-01-01T00:00:00+01:00"] {
        assert!(base(text).unwrap_err().starts_with("expected a time in UTC"), "{text}");
    }

    let machine = |text: &str| text.parse::<Machine>().map_err(|error| error.to_string());
    assert_eq!(machine("12/4"), Ok(Machine::new(12, 4).unwrap()));
    assert_eq!(machine("31"), Ok(Machine::new(31, 5).unwrap()));
    assert_eq!(machine("0/0"), Ok(Machine::new(0, 0).unwrap()));
    for text in ["32", "16/4", "1/0", "4096/12", "70000/12"] {
        assert_eq!(machine(text).unwrap_err(), "the number of a machine has to fit its bits", "{text}");
    }
    assert_eq!(machine("0/13").unwrap_err(), "a machine has 0 to 12 bits");
    for text in ["", "x", "1/", "/5", "-1", "1/2/3"] {
        assert!(machine(text).unwrap_err().starts_with("expected a number"), "{text}");
    }
    let pool = Machine::new(12, 4).unwrap().pool();
    assert_eq!((pool.lower(), pool.upper()), (12 << 9, (13 << 9) - 1));
    let pool = Machine::new(4095, 12).unwrap().pool();
    assert_eq!((pool.lower(), pool.upper()), (8190, 8191));

    let workers = |text: &str| text.parse::<uid60::Workers>().map_err(|error| error.to_string());
    assert_eq!(workers("0-511").unwrap().numbers(), 0..=511);
    assert_eq!(workers("7-7").unwrap().numbers(), 7..=7);
    assert_eq!(workers("0-512").unwrap_err(), "a worker is between 0 and 511");
    assert_eq!(workers("8-7").unwrap_err(), "there is at least one worker");
    assert!(workers("8").unwrap_err().starts_with("expected the first and the last worker"));

    for (text, good) in
        [("0", true), ("15", true), ("16", false), ("65536", false), ("", false), ("x", false)]
    {
        assert_eq!(text.parse::<uniqueid::Cluster>().is_ok(), good, "{text}");
    }
    for (text, good) in [("6", true), ("11", true), ("5", false), ("12", false), ("262", false), ("", false)]
    {
        assert_eq!(text.parse::<uniqueid::GeneratorBits>().is_ok(), good, "{text}");
    }
    assert_eq!("spread".parse::<Form>(), Ok(Form::default()));
    assert!("Spread".parse::<Form>().is_err());
}

#[test]
fn workers_are_given_out_one_after_another_and_for_an_hour() {
    use std::sync::atomic::AtomicU64;
    let counter = AtomicU64::new(0);
    let second = |number| uid60::Seconds::new(number).unwrap();
    let workers: uid60::Workers = "100-103".parse().unwrap();
    let leases: Vec<_> = (0..6).map(|_| workers.lease(&counter, second(1000))).collect();
    let numbers: Vec<u16> = leases.iter().map(|lease| lease.worker()).collect();
    assert_eq!(numbers, [100, 101, 102, 103, 100, 101]);
    assert!(leases[0].holds(second(1000)) && leases[0].holds(second(4599)));
    assert!(!leases[0].holds(second(4600)) && !leases[0].holds(second(999)));
}
