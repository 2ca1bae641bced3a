//! Abbreviated keys of 64 bits, for sorts.

use crate::id::sno::Sno;

/// Maps IDs to numbers of 64 bits in the same order: if two numbers differ, their IDs compare as they do; if they are
/// equal, the IDs themselves have to be compared.
///
/// The first 8 bytes alone would not tell apart the IDs of one bulk load: tens of thousands of them are of one tick and
/// one partition, and differ only in the sequence, which is the last two bytes. So three quarters of all numbers are
/// for the seven hours around one ID, in which different IDs have different numbers. The other numbers are for all
/// other times; there IDs have the same number if they differ only in the sequence and in the two lowest bits of the
/// partition.
///
/// ```text
///  ID      0 ────────────── base ┬──────── 7 hours ────────┬──────────────── 2^80
///            drops 18 bits       │        drops none       │   drops 18 bits
///  number  0 ────── base/4 ──────┴──────── 3 · 2^62 ───────┴────────── 2^64
/// ```
///
/// ```
/// use sno_core::{Abbreviation, Sno};
///
/// let [a, b, far]: [Sno; 3] = ["9q7k4op826n2g222".parse()?, "9q7k4op826n2g223".parse()?, Sno::MAX];
/// let abbreviation = Abbreviation::anchored_at(a);
/// assert!(abbreviation.key(a) < abbreviation.key(b));
/// assert!(abbreviation.key(b) < abbreviation.key(far));
/// # Ok::<(), sno_core::ParseError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Abbreviation {
    /// The first 8 bytes of the first ID of the seven hours, as a multiple of 4.
    base: u64,
}

/// How many values the first 8 bytes have in seven hours: 3 · 2²¹ ticks, each of 2²⁵ values.
const WIDTH: u64 = 3 << 46;

impl Abbreviation {
    /// An abbreviation whose seven hours have this ID in their middle, or reach to the first or the last ID.
    #[inline]
    pub const fn anchored_at(id: Sno) -> Self {
        let start = id.key().0.saturating_sub(WIDTH / 2);
        // The seven hours end with the last ID at the latest.
        let last = u64::MAX - (WIDTH - 1);
        Self { base: (if start < last { start } else { last }) & !3 }
    }

    /// The number of an ID.
    #[inline]
    pub const fn key(self, id: Sno) -> u64 {
        let (high, low) = id.key();
        if high < self.base {
            return high >> 2;
        }
        let since = high - self.base;
        (self.base >> 2)
            + if since < WIDTH { since << 16 | low as u64 } else { (WIDTH << 16) + ((since - WIDTH) >> 2) }
    }
}

/// Counts distinct numbers, up to 4096 or so, in 2 KiB: it keeps one bit for each of 16384 hashes.
#[derive(Clone, Debug)]
pub struct DistinctCounter {
    bits: [u64; Self::BITS / 64],
    set: u32,
}

impl DistinctCounter {
    const BITS: usize = 1 << 14;
    /// The count at which [`DistinctCounter::add`] says that it is enough.
    const ENOUGH: u32 = 1 << 12;

    /// No numbers yet.
    pub const fn new() -> Self {
        Self { bits: [0; Self::BITS / 64], set: 0 }
    }

    /// Adds a number. Returns false once 4096 distinct hashes were added: then counting can end.
    #[inline]
    pub const fn add(&mut self, number: u64) -> bool {
        // The upper bits of the product depend on all bits of the number.
        let hash = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - Self::BITS.trailing_zeros());
        let (word, bit) = (hash as usize / 64, 1 << (hash % 64));
        if self.bits[word] & bit == 0 {
            self.bits[word] |= bit;
            self.set += 1;
        }
        self.set < Self::ENOUGH
    }

    /// A lower bound of how many distinct numbers were added: the number of their distinct hashes.
    pub const fn at_least(&self) -> u32 {
        self.set
    }
}

impl Default for DistinctCounter {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HALF: i64 = WIDTH as i64 / 2;

    /// IDs around a given one, at the borders of its seven hours, and anywhere.
    fn near(center: Sno) -> impl Strategy<Value = Sno> {
        let center = center.key();
        prop_oneof![
            any::<[u8; 10]>().prop_map(Sno::from_bytes),
            (any::<i64>(), 14..63_u32, any::<u16>()).prop_map(move |(offset, shift, low)| {
                let high = center.0.saturating_add_signed(offset >> shift);
                id(high, low)
            }),
            (-2_i64..3, any::<bool>(), any::<u16>()).prop_map(move |(offset, upper, low)| {
                let border = if upper { HALF } else { -HALF };
                id(center.0.saturating_add_signed(border + offset), low)
            }),
        ]
    }

    fn id(high: u64, low: u16) -> Sno {
        let mut bytes = [0; 10];
        bytes[..8].copy_from_slice(&high.to_be_bytes());
        bytes[8..].copy_from_slice(&low.to_be_bytes());
        Sno::from_bytes(bytes)
    }

    fn three() -> impl Strategy<Value = (Sno, Sno, Sno)> {
        prop_oneof![Just([0; 10]), Just([0xff; 10]), any::<[u8; 10]>()]
            .prop_map(Sno::from_bytes)
            .prop_flat_map(|center| (Just(center), near(center), near(center)))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn the_order_is_kept((center, a, b) in three()) {
            let abbreviation = Abbreviation::anchored_at(center);
            let (x, y) = (abbreviation.key(a), abbreviation.key(b));
            prop_assert!(x == y || x.cmp(&y) == a.cmp(&b), "{a:?} {b:?} {x} {y}");
        }

        #[test]
        fn nothing_is_lost_within_three_hours(
            (center, low, offset) in (any::<[u8; 10]>(), any::<u16>(), 4 - HALF..HALF - 4)
        ) {
            let center = Sno::from_bytes(center);
            let abbreviation = Abbreviation::anchored_at(center);
            let a = id(center.key().0.saturating_add_signed(offset), low);
            if let Some(b) = a.successor() {
                prop_assert_eq!(abbreviation.key(a) + 1, abbreviation.key(b));
            }
        }

        #[test]
        fn elsewhere_18_bits_are_lost((center, at) in (any::<[u8; 10]>(), any::<[u8; 10]>())) {
            let abbreviation = Abbreviation::anchored_at(Sno::from_bytes(center));
            let (base, a) = (abbreviation.base, Sno::from_bytes(at));
            let (high, low) = a.key();
            let next = high.saturating_add(4);
            prop_assume!(next < base || (high >= base + WIDTH && next > high + 3));
            prop_assert_eq!(abbreviation.key(a), abbreviation.key(id(high & !3, !low)));
            prop_assert_eq!(abbreviation.key(a) + 1, abbreviation.key(id(next, low)));
        }
    }

    #[test]
    fn the_ends() {
        for center in [Sno::MIN, Sno::MAX] {
            let abbreviation = Abbreviation::anchored_at(center);
            assert!(abbreviation.key(Sno::MIN) < abbreviation.key(Sno::MAX));
        }
        assert_eq!(Abbreviation::anchored_at(Sno::MIN).key(Sno::MIN), 0);
        // Nothing is lost from the first ID of the seven hours on.
        let first = id(WIDTH, 0);
        let abbreviation = Abbreviation::anchored_at(id(WIDTH + WIDTH / 2, 0));
        assert_eq!(abbreviation.base, WIDTH);
        assert_eq!(abbreviation.key(first) + 1, abbreviation.key(first.successor().unwrap()));
        // Nor up to the last one.
        for center in [id(u64::MAX - WIDTH / 2 + 1, 0), Sno::MAX] {
            let abbreviation = Abbreviation::anchored_at(center);
            let numbers = [5, 4, 3, 2, 1, 0].map(|back| abbreviation.key(id(u64::MAX - back, 0)));
            assert!(numbers.windows(2).all(|pair| pair[0] + (1 << 16) == pair[1]), "{numbers:x?}");
        }
    }

    #[test]
    fn few_and_many() {
        let mut counter = DistinctCounter::new();
        for n in 0..100_000_u64 {
            assert!(counter.add(n % 50));
        }
        assert!((45..=50).contains(&counter.at_least()));
        let mut counter = DistinctCounter::new();
        assert_eq!((0..100_000_u64).take_while(|n| counter.add(n << 16)).count() as u32 / 1000, 4);
        assert_eq!(counter.at_least(), 4096);
    }
}
