//! Laws that hold for every ID.

use proptest::prelude::*;
use sno_core::{Fields, Prefix, SequenceRange, Sno, Tick};

fn ids() -> impl Strategy<Value = Sno> {
    any::<[u8; 10]>().prop_map(Sno::from_bytes)
}

/// Times from well before the epoch to well after it, and around its ends.
fn times() -> impl Strategy<Value = i64> {
    let [first, last] = [Tick::MIN, Tick::MAX].map(Tick::unix_micros);
    prop_oneof![
        any::<i64>(),
        first..=last,
        first - 10_000..first + 10_000,
        last - 10_000..last + 10_000,
        Just(i64::MIN),
        Just(i64::MAX),
    ]
}

proptest! {
    #[test]
    fn fields_and_back(id in ids()) {
        prop_assert_eq!(Sno::from(id.fields()), id);
        prop_assert_eq!(Fields::from(id), id.fields());
    }

    #[test]
    fn back_and_fields(
        tick in 0..=Tick::MAX.get(),
        tick_tock: bool,
        metabyte: u8,
        partition: u16,
        sequence: u16,
    ) {
        let tick = Tick::new(tick).unwrap();
        let fields = Fields { tick, tick_tock, metabyte, partition, sequence };
        prop_assert_eq!(Sno::from(fields).fields(), fields);
    }

    #[test]
    fn text_and_back(id in ids()) {
        prop_assert_eq!(id.to_string().parse(), Ok(id));
    }

    #[test]
    fn hex_and_back(id in ids(), at in 0..20_usize, other in "[^0-9a-fA-F]") {
        let digits: String = id.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        for digits in [digits.clone(), digits.to_uppercase()] {
            prop_assert_eq!(Sno::parse_hex(digits.as_bytes()), Some(id));
            prop_assert_eq!(Sno::parse_hex(&digits.as_bytes()[..18]), None);
            prop_assert_eq!(Sno::parse_hex(format!("{digits}00").as_bytes()), None);
        }
        let mut digits = digits.into_bytes();
        digits[at] = other.as_bytes()[0];
        prop_assert_eq!(Sno::parse_hex(&digits), None);
    }

    #[test]
    fn uuidv7_and_back_in_the_same_order(a in ids(), b in ids(), same in 0..=10_usize, bit in 0..128_u32) {
        let mut b = b.to_bytes();
        b[..same].copy_from_slice(&a.to_bytes()[..same]);
        let b = Sno::from_bytes(b);
        let uuid = a.to_uuidv7();
        prop_assert_eq!(uuid.cmp(&b.to_uuidv7()), a.cmp(&b));
        prop_assert_eq!(Sno::from_uuidv7(uuid), Some(a));
        prop_assert_eq!((uuid[6] >> 4, uuid[8] >> 6), (7, 0b10));
        let millis = u64::from_be_bytes(uuid[..8].try_into().unwrap()) >> 16;
        prop_assert_eq!(millis as i64 * 1000, a.tick().unix_micros());
        // Any bit that is changed makes another ID, or none.
        let other = (u128::from_be_bytes(uuid) ^ 1 << bit).to_be_bytes();
        prop_assert!(Sno::from_uuidv7(other).is_none_or(|id| id != a && id.to_uuidv7() == other));
    }

    #[test]
    fn neighbours(id in prop_oneof![ids(), Just(Sno::MIN), Just(Sno::MAX)]) {
        match id.successor() {
            Some(next) => {
                prop_assert!(next > id && next.predecessor() == Some(id));
                prop_assert!(next.distance(id) > 0.0 && next.distance(id) == id.distance(next));
            }
            None => prop_assert_eq!(id, Sno::MAX),
        }
        prop_assert_eq!(id.predecessor().is_none(), id == Sno::MIN);
        prop_assert_eq!(id.distance(id), 0.0);
    }

    #[test]
    fn the_distance_is_in_ticks(id in ids(), later in 0..1_u64 << 20) {
        let start = Sno::from(Fields { tick: id.tick(), ..Fields::default() });
        if let Some(tick) = Tick::new(id.tick().get() + later) {
            prop_assert_eq!(Sno::from(Fields { tick, ..Fields::default() }).distance(start), later as f64);
        }
    }

    #[test]
    fn any_text_that_parses_is_canonical(text in "[2-9a-x]{16}|[1-9a-zA-Z]{14,18}|.{0,20}") {
        if let Ok(id) = text.parse::<Sno>() {
            prop_assert_eq!(id.to_string(), text);
        } else {
            let alphabet = text.bytes().all(|byte| b"23456789abcdefghijklmnopqrstuvwx".contains(&byte));
            prop_assert!(text.len() != 16 || !alphabet);
        }
    }

    #[test]
    fn no_bytes_are_read_that_would_not_be_written(bytes in prop::collection::vec(any::<u8>(), 0..30)) {
        if let Ok(id) = Sno::parse_bytes(&bytes) {
            prop_assert_eq!(&id.to_text()[..], &bytes[..]);
        }
        prop_assert!(Sno::parse_hex(&bytes).is_none_or(|_| bytes.len() == 20));
    }

    #[test]
    fn a_setting_that_is_shown_is_the_same(text in "[0-9]{1,5}[/-][0-9]{1,5}|[0-9/ -]{0,12}|.{0,20}", process: u32) {
        if let Ok(prefix) = text.parse::<Prefix>() {
            prop_assert_eq!(prefix.to_string().parse(), Ok(prefix));
            prop_assert_eq!(Prefix::new(prefix.value(), prefix.bits()), Ok(prefix));
            prop_assert!(prefix.partitions().contains(&prefix.partition(process)));
        }
        if let Ok(range) = text.parse::<SequenceRange>() {
            prop_assert_eq!(range.to_string().parse(), Ok(range));
            prop_assert!(range.size() >= SequenceRange::MIN_SIZE);
        }
    }

    #[test]
    fn order_is_that_of_bytes_and_texts_and_fields(a in ids(), b in ids(), same in 0..=10_usize) {
        let mut b = b.to_bytes();
        b[..same].copy_from_slice(&a.to_bytes()[..same]);
        let b = Sno::from_bytes(b);
        let order = a.cmp(&b);
        prop_assert_eq!(a.to_bytes().cmp(&b.to_bytes()), order);
        prop_assert_eq!(a.to_string().cmp(&b.to_string()), order);
        let key = |id: Sno| (id.tick(), id.tick_tock(), id.metabyte(), id.partition(), id.sequence());
        prop_assert_eq!(key(a).cmp(&key(b)), order);
    }

    #[test]
    fn bounds_are_exact(id in ids(), time in times()) {
        let start = id.tick().unix_micros();
        // Past the last tick even the largest ID is reached: the price of saturation.
        if id != Sno::MAX {
            prop_assert_eq!(id >= Sno::lower_bound(time), start >= time);
        }
        if id != Sno::MIN {
            prop_assert_eq!(id <= Sno::upper_bound(time), start <= time);
        }
        prop_assert!(id >= Sno::lower_bound(start) && id <= Sno::upper_bound(start));
    }

    #[test]
    fn only_the_metabyte_changes(id in ids(), metabyte: u8) {
        let changed = id.with_metabyte(metabyte);
        prop_assert_eq!(changed.fields(), Fields { metabyte, ..id.fields() });
    }
}

#[test]
fn bounds_saturate() {
    assert_eq!(Sno::lower_bound(i64::MIN), Sno::MIN);
    assert_eq!(Sno::upper_bound(i64::MIN), Sno::MIN);
    assert_eq!(Sno::lower_bound(i64::MAX), Sno::MAX);
    assert_eq!(Sno::upper_bound(i64::MAX), Sno::MAX);
    assert_eq!(Sno::lower_bound(Tick::MIN.unix_micros()), Sno::MIN);
    assert_eq!(Sno::upper_bound(Tick::MAX.unix_micros()), Sno::MAX);
}

#[test]
fn conversions() {
    let id = Sno::from_bytes([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    assert_eq!(Sno::try_from(&id.to_bytes()[..]).ok(), Some(id));
    assert!(Sno::try_from(&[0; 9][..]).is_err());
    assert!(Sno::try_from(&[0; 11][..]).is_err());
    assert_eq!((<[u8; 10]>::from(id), Sno::from(id.to_bytes())), (id.to_bytes(), id));
    assert_eq!(id.as_ref(), id.as_bytes());
    assert_eq!(format!("{id:>18}"), format!("  {id}"));
    assert_eq!(format!("{id:?}"), format!("Sno({id})"));
}
