//! Chance that can be repeated.

/// An ordinary generator of random numbers, so that a run can be repeated.
pub(crate) struct Random(u64);

impl Random {
    /// By `SNO_FAULT_SEED`, or else by the time; a test that fails says which seed it had.
    pub(crate) fn seeded() -> Self {
        let seed = std::env::var("SNO_FAULT_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = seed.unwrap_or_else(|| {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
            now.as_nanos() as u64 | 1
        });
        println!("SNO_FAULT_SEED={seed}");
        Self(seed)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}
