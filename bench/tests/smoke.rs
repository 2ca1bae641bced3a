//! The benchmark runs and writes what it should: with tables of a few thousand rows, whose figures mean nothing.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn bench(folder: &Path, options: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_sno-bench");
    Command::new(program).arg("smoke").arg("--into").arg(folder).args(options).output().unwrap()
}

#[test]
fn every_section_has_figures_a_table_and_a_chart() {
    let home = tempfile::tempdir().unwrap();
    let (folder, page) = (home.path().join("here"), home.path().join("page.md"));
    fs::write(&page, "<!-- bench here smoke-sort -->\nold\n<!-- end -->\n").unwrap();
    let output = bench(&folder, &["--page", page.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("here/smoke-sort.svg") && !page.contains("old"), "{page}");
    let (tables, results) =
        (read("results.md"), serde_json::from_str::<Value>(&read("results.json")).unwrap());
    let list = |value: &Value| value.as_array().unwrap().clone();
    let sections = list(&results["smoke"]["sections"]);
    let names: Vec<&str> = sections.iter().map(|section| section["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["generation", "sort", "insert", "disk", "hour", "copy", "clients", "plans", "backends"]
    );
    for section in &sections {
        let svg = read(&format!("smoke-{}.svg", section["name"].as_str().unwrap()));
        let chart = roxmltree::Document::parse(&svg).unwrap();
        let mut bars =
            chart.descendants().filter(|node| matches!(node.attribute("class"), Some("ours" | "other")));
        for figure in list(&section["figures"]) {
            assert!(tables.contains(figure["title"].as_str().unwrap()), "{figure}");
            assert!(list(&figure["series"]).len() >= 3, "{figure}");
            for series in list(&figure["series"]) {
                // Only a net time can be less than nothing, by what the clock can't tell.
                let median = series["median"].as_f64().unwrap();
                assert!(median > 0.0 || section["name"] == "generation", "{series}");
                assert!(bars.next().is_some(), "{svg}");
            }
        }
        assert!(bars.next().is_none(), "{svg}");
    }
}

#[test]
fn a_section_can_run_alone() {
    let home = tempfile::tempdir().unwrap();
    let output = bench(home.path(), &["--only", "large", "--rows", "20000"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(home.path().join("smoke-large.svg").exists());
    let output = bench(home.path(), &["--only", "larger"]);
    assert!(
        String::from_utf8_lossy(&output.stderr)
            .contains("there is no section larger; there are generation, sort,")
    );
}
