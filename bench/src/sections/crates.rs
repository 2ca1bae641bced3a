//! The crates, without a server: criterion has measured, here its samples are read.

use std::error::Error;
use std::path::Path;
use std::{fs, io};

use serde::Deserialize;

use crate::report::{Figure, Section, Series, Unit};
use crate::run::{Bench, Budget};

/// What criterion says of a benchmark, as far as it matters here.
#[derive(Deserialize)]
struct Benchmark {
    group_id: String,
    function_id: String,
    throughput: Option<Throughput>,
}

#[derive(Deserialize)]
struct Throughput {
    #[serde(rename = "Elements")]
    elements: f64,
}

/// Its samples: how often something was done, and the nanoseconds that took.
#[derive(Deserialize)]
struct Sample {
    iters: Vec<f64>,
    times: Vec<f64>,
}

/// The groups in their order here, and what is said of them.
const GROUPS: [&str; 4] = ["one ID", "ID to text", "text to ID, validated", "comparison"];

pub(crate) fn section(bench: &mut Bench, _: Budget) -> Result<Option<Section>, Box<dyn Error>> {
    let Some(folder) = bench.criterion() else { return Ok(None) };
    let mut series = Vec::new();
    for group in children(folder)? {
        for function in children(&group)? {
            if function.join("new").is_dir() {
                series.push(read(&function.join("new")).map_err(|e| format!("{}: {e}", function.display()))?);
            }
        }
    }
    let figures = GROUPS.map(|group| {
        let mut members: Vec<Series> =
            series.iter().filter(|(of, _)| of == group).map(|(_, series)| series.clone()).collect();
        // Ours first, as everywhere.
        members.sort_by_key(|series| (!series.name.starts_with("sno"), series.name.clone()));
        (group, members)
    });
    if let Some((group, _)) = figures.iter().find(|(_, members)| members.is_empty()) {
        return Err(format!("criterion left nothing of {group} in {}", folder.display()).into());
    }
    let figures = figures.map(|(group, members)| {
        let title = format!("{}{}", group[..1].to_uppercase(), &group[1..]);
        Figure::new(title, Unit::Nanoseconds, members)
    });
    Ok(Some(Section {
        name: "crates".into(),
        title: "In Rust, without a server".into(),
        method: "`sno-core` and other crates under criterion, one thread. uuid draws its random numbers from a \
                 generator in the process (feature `fast-rng`), as the others do. Text and comparisons: 1024 values \
                 of random bits in turn, the time of one of them."
            .into(),
        figures: figures.into(),
        remarks: vec![
            "A version 4 uuid needs no clock. ferroid reads one that another thread keeps up to the millisecond. \
             `sno` is made by sixteen generators in turn, each of which is safe for any number of threads; a single one \
             is at its limit of 65,536 IDs in 4 ms."
                .into(),
        ],
    }))
}

fn children(folder: &Path) -> io::Result<Vec<std::path::PathBuf>> {
    let mut children = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            children.push(path);
        }
    }
    children.sort();
    Ok(children)
}

/// A benchmark's group, and its samples in nanoseconds an element.
fn read(folder: &Path) -> Result<(String, Series), Box<dyn Error>> {
    let benchmark: Benchmark = serde_json::from_str(&fs::read_to_string(folder.join("benchmark.json"))?)?;
    let sample: Sample = serde_json::from_str(&fs::read_to_string(folder.join("sample.json"))?)?;
    let elements = benchmark.throughput.map_or(1.0, |throughput| throughput.elements);
    let samples =
        sample.times.iter().zip(&sample.iters).map(|(time, iters)| time / iters / elements).collect();
    Ok((benchmark.group_id, Series::new(benchmark.function_id, samples)))
}
