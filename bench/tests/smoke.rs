//! The benchmark runs and writes what it should: with tables of a few thousand rows, whose figures mean nothing.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Runs it with a folder for its results; what it complained of.
fn smoke(folder: &Path, options: &[&str]) -> Result<(), String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sno-bench"));
    let output = command.args(["smoke", "--into"]).arg(folder).args(options).output().unwrap();
    output.status.success().then_some(()).ok_or_else(|| String::from_utf8(output.stderr).unwrap())
}

#[test]
fn every_section_has_figures_a_table_and_a_chart() {
    let home = tempfile::tempdir().unwrap();
    let (folder, page) = (home.path().join("here"), home.path().join("page.md"));
    fs::write(&page, "<!-- bench here smoke-sort -->\nold\n<!-- end -->\n").unwrap();
    smoke(&folder, &["--page", page.to_str().unwrap()]).unwrap();
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("here/smoke-sort.svg") && !page.contains("old"), "{page}");

    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let (tables, results) =
        (read("results.md"), serde_json::from_str::<Value>(&read("results.json")).unwrap());
    let all = results["smoke"]["series"].as_array().unwrap();
    for section in [
        "generation",
        "sort",
        "insert",
        "disk",
        "wal",
        "durable",
        "hour",
        "copy",
        "clients",
        "plans",
        "backends",
    ] {
        let series: Vec<_> = all.iter().filter(|series| series["section"] == section).collect();
        assert!(series.len() >= 3, "{section}");
        for series in &series {
            assert!(tables.contains(series["figure"].as_str().unwrap()), "{series}");
            // Only a net time can be less than nothing, by what the clock can't tell.
            assert!(series["median"].as_f64().unwrap() > 0.0 || section == "generation", "{series}");
        }
        let svg = read(&format!("smoke-{section}.svg"));
        let chart = roxmltree::Document::parse(&svg).unwrap();
        let bar = |class: &str| class == "ours" || class == "other";
        let bars = chart.descendants().filter(|node| node.attribute("class").is_some_and(bar));
        assert_eq!(bars.count(), series.len(), "{svg}");
    }
}

#[test]
fn a_section_can_run_alone() {
    let home = tempfile::tempdir().unwrap();
    smoke(home.path(), &["--only", "large", "--rows", "20000"]).unwrap();
    assert!(home.path().join("smoke-large.svg").exists());
    let error = smoke(home.path(), &["--only", "larger"]).unwrap_err();
    assert!(error.contains("there is no section larger; there are generation, sort,"), "{error}");
}
