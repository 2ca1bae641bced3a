//! Random numbers that can be repeated.

/// A linear congruential generator, of which the upper bits are used.
pub struct Random(pub u64);

impl Random {
    /// By `SNO_FAULT_SEED`, or else by the time; a test that fails says which seed it had.
    #[must_use]
    pub fn seeded() -> Self {
        let seed = std::env::var("SNO_FAULT_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = seed.unwrap_or_else(|| {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            now.expect("a clock").as_nanos() as u64
        });
        println!("SNO_FAULT_SEED={seed}");
        Self(seed)
    }

    /// Other numbers for each of several threads, which share a seed.
    #[must_use]
    pub fn of_thread(&self, number: usize) -> Self {
        Self(self.0.wrapping_add((number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    /// A number from 0 on, less than `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    /// One of some values.
    pub fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }
}
