//! 64 bits that stand in for an ID in a sort.

use crate::Sno;

/// Turns IDs into numbers of 64 bits in the same order: if two numbers differ, their IDs compare as they do;
/// if they are equal, the IDs have to be looked at.
///
/// The first 8 bytes would do for IDs of many years, but not for those of one bulk load: they are made by
/// the ten thousand in one tick and one partition, and differ in the sequence alone, which is the last two
/// bytes. So the numbers are not spread evenly over the epoch. Three quarters of them go to the seven hours
/// around one ID, in which no two IDs share a number; the rest goes to all other times, where IDs that differ
/// only in the sequence or in the two lowest bits of the partition do.
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
/// let abbreviation = Abbreviation::around(a);
/// assert!(abbreviation.of(a) < abbreviation.of(b));
/// assert!(abbreviation.of(b) < abbreviation.of(far));
/// # Ok::<(), sno_core::ParseError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Abbreviation {
    /// First 8 bytes of the first ID of the seven hours, a multiple of 4.
    base: u64,
}

/// Width of the seven hours in the first 8 bytes.
const WIDTH: u64 = 3 << 46;

impl Abbreviation {
    /// Numbers whose seven hours have this ID in their middle.
    #[inline]
    pub const fn around(id: Sno) -> Self {
        let start = id.key().0.saturating_sub(WIDTH / 2);
        // Up to the last ID.
        let last = u64::MAX - (WIDTH - 1);
        Self { base: (if start < last { start } else { last }) & !3 }
    }

    /// The number of an ID.
    #[inline]
    pub const fn of(self, id: Sno) -> u64 {
        let (high, low) = id.key();
        if high < self.base {
            return high >> 2;
        }
        let since = high - self.base;
        (self.base >> 2)
            + if since < WIDTH { since << 16 | low as u64 } else { (WIDTH << 16) + ((since - WIDTH) >> 2) }
    }
}

/// Tells numbers of which many are equal from others, without keeping them: one bit per hash.
#[derive(Clone, Debug)]
pub struct Variety {
    bits: [u64; Self::BITS / 64],
    set: u32,
}

impl Variety {
    const BITS: usize = 1 << 14;
    /// So many different hashes are enough.
    const ENOUGH: u32 = 1 << 12;

    /// No numbers yet.
    pub const fn new() -> Self {
        Self { bits: [0; Self::BITS / 64], set: 0 }
    }

    /// Takes a number into account. Returns whether there is any need to go on.
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

    /// At least so many different numbers were added.
    pub const fn at_least(&self) -> u32 {
        self.set
    }
}

impl Default for Variety {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HALF: i64 = WIDTH as i64 / 2;

    /// IDs around a given one as well as anywhere, so that borders are met.
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
            let abbreviation = Abbreviation::around(center);
            let (x, y) = (abbreviation.of(a), abbreviation.of(b));
            prop_assert!(x == y || x.cmp(&y) == a.cmp(&b), "{a:?} {b:?} {x} {y}");
        }

        #[test]
        fn nothing_is_lost_within_three_hours(
            (center, low, offset) in (any::<[u8; 10]>(), any::<u16>(), 4 - HALF..HALF - 4)
        ) {
            let center = Sno::from_bytes(center);
            let abbreviation = Abbreviation::around(center);
            let a = id(center.key().0.saturating_add_signed(offset), low);
            if let Some(b) = a.successor() {
                prop_assert_eq!(abbreviation.of(a) + 1, abbreviation.of(b));
            }
        }
    }

    #[test]
    fn the_ends() {
        for center in [Sno::MIN, Sno::MAX] {
            let abbreviation = Abbreviation::around(center);
            assert!(abbreviation.of(Sno::MIN) < abbreviation.of(Sno::MAX));
        }
        assert_eq!(Abbreviation::around(Sno::MIN).of(Sno::MIN), 0);
        // Nothing is lost up to the last of them.
        for center in [id(u64::MAX - WIDTH / 2 + 1, 0), Sno::MAX] {
            let abbreviation = Abbreviation::around(center);
            let numbers = [5, 4, 3, 2, 1, 0].map(|back| abbreviation.of(id(u64::MAX - back, 0)));
            assert!(numbers.windows(2).all(|pair| pair[0] + (1 << 16) == pair[1]), "{numbers:x?}");
        }
    }

    #[test]
    fn few_and_many() {
        let mut variety = Variety::new();
        for n in 0..100_000_u64 {
            assert!(variety.add(n % 50));
        }
        assert!((45..=50).contains(&variety.at_least()));
        let mut variety = Variety::new();
        assert_eq!((0..100_000_u64).take_while(|n| variety.add(n << 16)).count() as u32 / 1000, 4);
    }
}
