//! What was measured: sections of figures, figures of series, series of samples.

use serde::{Deserialize, Serialize};

use crate::machine::Machine;

/// What the numbers of a figure count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Time, kept in nanoseconds.
    Nanoseconds,
    /// Time, kept in seconds.
    Seconds,
    /// Space a row takes.
    BytesPerRow,
    /// A rate: more is better, of this one only.
    PerSecond,
    /// Instructions of the processor, for a row.
    Instructions,
}

impl Unit {
    /// Whether more is better.
    #[must_use]
    pub fn is_rate(self) -> bool {
        self == Self::PerSecond
    }

    /// A number as people read it: three digits that count, and the unit; counts as they are.
    #[must_use]
    pub fn show(self, value: f64) -> String {
        let (scaled, unit) = match self {
            Self::Nanoseconds => time(value / 1e9),
            Self::Seconds => time(value),
            Self::BytesPerRow => (value, "B"),
            Self::PerSecond if value >= 1e6 => (value / 1e6, "M/s"),
            Self::PerSecond if value >= 1e3 => (value / 1e3, "k/s"),
            Self::PerSecond => (value, "/s"),
            Self::Instructions => return format!("{value:.0}"),
        };
        format!("{} {unit}", three_digits(scaled))
    }
}

fn time(seconds: f64) -> (f64, &'static str) {
    match seconds.abs() {
        0.0 => (0.0, "s"),
        s if s < 1e-6 => (seconds * 1e9, "ns"),
        s if s < 1e-3 => (seconds * 1e6, "µs"),
        s if s < 1.0 => (seconds * 1e3, "ms"),
        _ => (seconds, "s"),
    }
}

fn three_digits(value: f64) -> String {
    let decimals = match value.abs() {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

/// The samples of one contender.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Series {
    /// Who.
    pub name: String,
    /// What else is to be known about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The sample in the middle.
    pub median: f64,
    /// The quartiles.
    pub quartiles: [f64; 2],
    /// The smallest sample.
    pub min: f64,
    /// The largest sample.
    pub max: f64,
    /// The median as a multiple of the figure's first median.
    pub ratio: f64,
    /// All samples, in the order of the rounds.
    pub samples: Vec<f64>,
}

impl Series {
    /// A contender's samples, one at least.
    #[must_use]
    pub fn new(name: impl Into<String>, samples: Vec<f64>) -> Self {
        assert!(!samples.is_empty(), "no samples");
        let samples: Vec<f64> = samples.into_iter().map(four_digits).collect();
        let mut sorted = samples.clone();
        sorted.sort_by(f64::total_cmp);
        Self {
            name: name.into(),
            note: None,
            median: quantile(&sorted, 0.5),
            quartiles: [quantile(&sorted, 0.25), quantile(&sorted, 0.75)],
            min: sorted[0],
            max: sorted[sorted.len() - 1],
            ratio: 1.0,
            samples,
        }
    }

    /// With something else to know.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }
}

/// A sample has no more digits that mean anything.
fn four_digits(value: f64) -> f64 {
    format!("{value:.3e}").parse().expect("a number in scientific notation")
}

/// The value that a share of sorted samples lies below, between two samples if need be.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

/// The mean of what is left without the lowest and the highest tenth: for readings that are whole units, whose
/// median would be one, too.
pub(crate) fn trimmed_mean(mut readings: Vec<f64>) -> f64 {
    readings.sort_by(f64::total_cmp);
    let cut = readings.len() / 10;
    let kept = &readings[cut..readings.len() - cut];
    kept.iter().sum::<f64>() / kept.len() as f64
}

/// Contenders measured in one thing. The first is the one that the others are compared with.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Figure {
    /// What was measured.
    pub title: String,
    /// In what.
    pub unit: Unit,
    /// The contenders.
    pub series: Vec<Series>,
}

impl Figure {
    /// A figure of some contenders, one at least.
    #[must_use]
    pub fn new(title: impl Into<String>, unit: Unit, mut series: Vec<Series>) -> Self {
        let first = series[0].median;
        for one in &mut series {
            one.ratio = one.median / first;
        }
        Self { title: title.into(), unit, series }
    }
}

/// Figures that belong together.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Section {
    /// Its name in files and on the command line.
    pub name: String,
    /// Its title.
    pub title: String,
    /// How it was measured.
    pub method: String,
    /// The figures.
    pub figures: Vec<Figure>,
    /// What else came out.
    pub remarks: Vec<String>,
}

/// The results of one run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Report {
    /// The size of the run: `full`, `quick`, `scale`.
    pub size: String,
    /// Where and when.
    pub machine: Machine,
    /// The server's version.
    pub postgresql: String,
    /// The settings of the server that matter.
    pub settings: Vec<(String, String)>,
    /// How long the measuring took, in seconds.
    pub seconds: u64,
    /// What was measured.
    pub sections: Vec<Section>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_knows_its_middle_and_its_ends() {
        let series = Series::new("x", vec![5.0, 1.0, 4.0, 2.0]);
        assert_eq!((series.median, series.quartiles), (3.0, [1.75, 4.25]));
        assert_eq!((series.min, series.max), (1.0, 5.0));
        assert_eq!(series.samples, [5.0, 1.0, 4.0, 2.0]);
    }

    #[test]
    fn ratios_are_against_the_first() {
        let figure = Figure::new(
            "x",
            Unit::Seconds,
            vec![Series::new("sno", vec![2.0]), Series::new("uuid", vec![5.0])],
        );
        assert_eq!(figure.series.iter().map(|s| s.ratio).collect::<Vec<_>>(), [1.0, 2.5]);
    }

    #[test]
    fn numbers_have_three_digits_and_a_unit_of_their_size() {
        assert_eq!(Unit::Nanoseconds.show(1.236), "1.24 ns");
        assert_eq!(Unit::Nanoseconds.show(-3.0), "-3.00 ns");
        assert_eq!(Unit::Nanoseconds.show(7420.0), "7.42 µs");
        assert_eq!(Unit::Seconds.show(0.000_31), "310 µs");
        assert_eq!(Unit::Seconds.show(12.34), "12.3 s");
        assert_eq!(Unit::BytesPerRow.show(99.97), "100 B");
        assert_eq!(Unit::PerSecond.show(16_384_000.0), "16.4 M/s");
        assert_eq!(Unit::PerSecond.show(812.0), "812 /s");
        assert_eq!(Unit::Instructions.show(2578.8), "2579");
    }

    #[test]
    fn a_trimmed_mean_has_no_ear_for_a_tenth() {
        let mut readings = vec![4.0; 8];
        readings.extend([1000.0, 0.0]);
        assert_eq!(trimmed_mean(readings), 4.0);
    }
}
