//! Results: runs of sections, of figures, of series, with their statistics; and the file that keeps them.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

/// All runs by their names: `full`, `calls`, `quick`, `instructions`.
pub(crate) type Runs = BTreeMap<String, Run>;

/// What one command measured, where, when, and with which settings of the server.
#[derive(Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) postgresql: String,
    pub(crate) machine: String,
    /// The machine's load average before.
    pub(crate) load: String,
    pub(crate) seconds: u64,
    pub(crate) settings: Vec<String>,
    pub(crate) series: Vec<Series>,
}

/// The samples of one contender, one of each round. Series of a figure follow each other, as do figures of a section;
/// the first of a figure is the one that the others are compared with.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Series {
    pub(crate) section: String,
    /// The rows of its tables.
    pub(crate) rows: usize,
    pub(crate) figure: String,
    pub(crate) contender: String,
    pub(crate) unit: Unit,
    pub(crate) rounds: usize,
    pub(crate) median: f64,
    pub(crate) quartiles: [f64; 2],
    /// The smallest sample and the largest.
    pub(crate) range: [f64; 2],
}

impl Series {
    /// How much worse another one is than this one, whether more of the unit is better or worse; with `≈` in front if
    /// the two count as equal, since the ranges between their quartiles overlap.
    pub(crate) fn times_worse(&self, other: &Series) -> String {
        let times = match self.unit {
            Unit::PerSecond => self.median / other.median,
            _ => other.median / self.median,
        };
        let is_equal = self.quartiles[0] <= other.quartiles[1] && other.quartiles[0] <= self.quartiles[1];
        format!("{}{}×", if is_equal { "≈ " } else { "" }, three_digits(times))
    }

    /// Of a contender in `[section, figure, contender]`.
    pub(crate) fn new(
        [section, figure, contender]: [&str; 3],
        rows: usize,
        unit: Unit,
        mut samples: Vec<f64>,
    ) -> Self {
        samples.sort_by(f64::total_cmp);
        let rounds = samples.len();
        let [smallest, low, median, high, largest] = [0.0, 0.25, 0.5, 0.75, 1.0].map(|share| {
            let place = share * (rounds - 1) as f64;
            let (below, above) = (samples[place.floor() as usize], samples[place.ceil() as usize]);
            let value = below + (above - below) * place.fract();
            // No more digits than mean anything.
            format!("{value:.4e}").parse().unwrap_or(value)
        });
        let [section, figure, contender] = [section, figure, contender].map(String::from);
        let (quartiles, range) = ([low, high], [smallest, largest]);
        Self { section, rows, figure, contender, unit, rounds, median, quartiles, range }
    }
}

/// What the numbers of a figure count.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unit {
    Seconds,
    Bytes,
    /// A rate: more is better.
    PerSecond,
    Instructions,
    /// How many times another one.
    Times,
}

impl Unit {
    /// A number as people read it: three digits, and the unit that suits its size; instructions as they are.
    pub(crate) fn show(self, value: f64) -> String {
        let scales: &[(f64, &str)] = match self {
            Self::Seconds => &[(1.0, " s"), (1e-3, " ms"), (1e-6, " µs"), (1e-9, " ns")],
            Self::Bytes => &[(1e6, " MB"), (1e3, " kB"), (1.0, " B")],
            Self::PerSecond => &[(1e6, " M/s"), (1e3, " k/s"), (1.0, " /s")],
            Self::Instructions if value < 1000.0 => return format!("{value:.1}"),
            Self::Instructions => return format!("{value:.0}"),
            Self::Times => return format!("{value:.2}×"),
        };
        let (scale, name) =
            scales.iter().find(|(scale, _)| value.abs() >= *scale).unwrap_or(&scales[scales.len() - 1]);
        three_digits(value / scale) + name
    }
}

pub(crate) fn three_digits(value: f64) -> String {
    let decimals = match value.abs() {
        small if small < 9.995 => 2,
        medium if medium < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

/// Reads what a folder has.
pub(crate) fn read(folder: &Path) -> Result<Runs, Box<dyn Error>> {
    let file = folder.join("results.json");
    if !file.exists() {
        return Ok(Runs::new());
    }
    serde_json::from_str(&fs::read_to_string(&file)?).map_err(|e| format!("{}: {e}", file.display()).into())
}

/// Writes it, with a line for each series.
pub(crate) fn write(folder: &Path, runs: &Runs) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    let text = serde_json::to_string(runs)?;
    let text =
        text.replace("{\"section\"", "\n  {\"section\"").replace("}]}", "}\n]}").replace("]},\"", "]},\n\"");
    Ok(fs::write(folder.join("results.json"), text + "\n")?)
}

/// The machine, the day and the commit.
const MACHINE: &str = r#"
    . /etc/os-release
    printf '%s, %s cores, %.0f GiB; %s, Linux %s; %s; %s, commit %s%s' \
        "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n1)" "$(nproc)" \
        "$(awk '/^MemTotal/ { print $2 / 1024 / 1024 }' /proc/meminfo)" "$PRETTY_NAME" "$(uname -r)" \
        "$(rustc --version)" "$(date --utc +%F)" "$(git rev-parse --short HEAD)" \
        "$(git diff --quiet HEAD || echo ', changed')""#;

impl Run {
    /// Nothing yet, on this machine.
    pub(crate) fn new(postgresql: String) -> Self {
        let output =
            Command::new("sh").args(["-c", MACHINE]).current_dir(env!("CARGO_MANIFEST_DIR")).output();
        let machine =
            output.map_or_else(|e| e.to_string(), |output| String::from_utf8_lossy(&output.stdout).into());
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load = load.split(' ').next().unwrap_or_default().into();
        Self { postgresql, machine, load, seconds: 0, settings: Vec::new(), series: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_knows_its_middle_and_its_ends() {
        let series = Series::new(["", "", ""], 1, Unit::Seconds, vec![5.0, 1.0, 4.0, 2.0]);
        assert_eq!((series.median, series.quartiles, series.range), (3.0, [1.75, 4.25], [1.0, 5.0]));
    }

    #[test]
    fn more_than_once_is_always_worse() {
        let series = |unit, samples: [f64; 3]| Series::new(["", "", ""], 1, unit, samples.to_vec());
        for (unit, twice) in [(Unit::Seconds, "2.00×"), (Unit::PerSecond, "0.50×")] {
            assert_eq!(series(unit, [1.0; 3]).times_worse(&series(unit, [2.0; 3])), twice);
        }
        let [one, near, far] =
            [[1.0, 2.0, 3.0], [2.0, 3.0, 4.0], [3.0, 4.0, 5.0]].map(|s| series(Unit::Bytes, s));
        assert_eq!([one.times_worse(&near), one.times_worse(&far)], ["≈ 1.50×", "2.00×"]);
    }
}
