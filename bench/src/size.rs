//! How much is measured.

/// The rows, rounds and times of a run.
#[derive(Debug, Clone)]
pub struct Size {
    /// What it is called.
    pub name: &'static str,
    /// Calls of a generator in one sample.
    pub generation_rows: usize,
    /// Rows that are sorted.
    pub sort_rows: usize,
    /// Rows of a bulk insert.
    pub insert_rows: usize,
    /// Rows of the tables whose size is looked at.
    pub disk_rows: usize,
    /// Rows that are there before clients begin.
    pub client_rows: usize,
    /// How long clients work for one sample, in seconds.
    pub client_seconds: u32,
    /// Rows of one day, of which the last hour is asked for.
    pub day_rows: usize,
    /// Rows of a COPY.
    pub copy_rows: usize,
    /// Plans made for one sample.
    pub plans: usize,
    /// Numbers of backends that generate at once.
    pub backends: &'static [usize],
    /// How long they do, for one sample, in seconds.
    pub backend_seconds: f64,
    /// Rows of the tables that only `make bench-scale` fills.
    pub large_rows: usize,
    /// The least and the most rounds.
    pub rounds: (usize, usize),
    /// Seconds for the rounds of all sections together; half as much again if the least number of rounds needs it.
    pub seconds: f64,
}

impl Size {
    /// `make bench`: a quarter of an hour.
    #[must_use]
    pub fn full() -> Self {
        Self {
            name: "full",
            generation_rows: 100_000,
            sort_rows: 3_000_000,
            insert_rows: 2_000_000,
            disk_rows: 500_000,
            client_rows: 1_000_000,
            client_seconds: 3,
            day_rows: 2_000_000,
            copy_rows: 1_000_000,
            plans: 200,
            backends: &[1, 2, 8, 64, 300],
            backend_seconds: 1.0,
            large_rows: 100_000_000,
            rounds: (3, 15),
            seconds: 740.0,
        }
    }

    /// `make bench-quick`: two minutes.
    #[must_use]
    pub fn quick() -> Self {
        Self {
            name: "quick",
            generation_rows: 50_000,
            sort_rows: 500_000,
            insert_rows: 200_000,
            disk_rows: 100_000,
            client_rows: 100_000,
            client_seconds: 1,
            day_rows: 500_000,
            copy_rows: 200_000,
            plans: 100,
            backends: &[1, 2, 8, 64, 300],
            backend_seconds: 0.3,
            large_rows: 1_000_000,
            rounds: (2, 7),
            seconds: 60.0,
        }
    }

    /// `make bench-scale`: half an hour.
    #[must_use]
    pub fn scale() -> Self {
        Self { name: "scale", sort_rows: 10_000_000, rounds: (2, 5), seconds: 1500.0, ..Self::full() }
    }

    /// What the tests take: seconds, and figures that mean nothing.
    #[must_use]
    pub fn smoke() -> Self {
        Self {
            name: "smoke",
            generation_rows: 20_000,
            sort_rows: 10_000,
            insert_rows: 10_000,
            disk_rows: 10_000,
            client_rows: 1_000,
            client_seconds: 1,
            day_rows: 10_000,
            copy_rows: 10_000,
            plans: 10,
            backends: &[1, 2],
            backend_seconds: 0.05,
            large_rows: 20_000,
            rounds: (1, 1),
            seconds: 0.0,
        }
    }
}
