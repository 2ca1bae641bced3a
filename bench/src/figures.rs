//! What a section and a figure of it are made of, and how a figure is measured.

use Measure::*;

use crate::contenders::Contenders;
use crate::results::Unit;

/// Figures that belong together.
pub(crate) struct Section {
    /// Its name in files and on the command line.
    pub(crate) name: &'static str,
    /// Its share of the run's time.
    pub(crate) share: f64,
    /// Rows in a full run.
    pub(crate) rows: usize,
    /// SQL that comes first.
    pub(crate) setup: &'static str,
    /// Words, and queries for what they stand for.
    pub(crate) words: &'static [(&'static str, &'static str)],
    pub(crate) figures: &'static [Figure],
}

/// One thing that is measured of each contender.
pub(crate) struct Figure {
    pub(crate) title: &'static str,
    pub(crate) contenders: Contenders,
    pub(crate) measure: Measure,
    /// What it is measured of: a statement in each line, or a script.
    pub(crate) of: &'static str,
    /// SQL for each contender before the first round; later figures find what it leaves.
    pub(crate) setup: &'static str,
    /// SQL before each sample, and after.
    pub(crate) around: [&'static str; 2],
}

/// How a sample is taken.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Measure {
    /// The time of a statement.
    Time,
    /// The mean time of so many executions of a prepared statement, after one that does not count. If it has a parameter, that is
    /// the last ID of the execution before, in binary, as of a client that pages through a table.
    MeanTime(usize),
    /// The time of a statement for each row, less that of the second one if there is one.
    TimePerRow,
    /// The time that the planner takes for a query.
    Planning,
    /// What a query returns, for each row: once, as it does not vary.
    BytesPerRow,
    /// How often so many clients of pgbench get through a script.
    Rate(u32),
}

impl Measure {
    pub(crate) fn unit(self) -> Unit {
        match self {
            Time | MeanTime(_) | TimePerRow | Planning => Unit::Seconds,
            BytesPerRow => Unit::Bytes,
            Rate(..) => Unit::PerSecond,
        }
    }
}

impl Figure {
    pub(crate) const fn new(
        title: &'static str,
        contenders: Contenders,
        measure: Measure,
        of: &'static str,
    ) -> Self {
        Self { title, contenders, measure, of, setup: "", around: ["", ""] }
    }

    pub(crate) const fn setup(self, setup: &'static str) -> Self {
        Self { setup, ..self }
    }

    pub(crate) const fn around(self, before: &'static str, after: &'static str) -> Self {
        Self { around: [before, after], ..self }
    }
}

pub(crate) const fn section(name: &'static str, share: f64, rows: usize) -> Section {
    Section { name, share, rows, setup: "", words: &[], figures: &[] }
}
