//! The benchmark runs and writes what it should: with tables of a few thousand rows, whose figures mean nothing.

use std::fs;
use std::process::Command;

use serde_json::Value;

#[test]
fn every_section_has_figures_and_a_table() {
    let home = tempfile::tempdir().unwrap();
    let (folder, page) = (home.path().join("here"), home.path().join("page.md"));
    fs::write(&page, "<!-- bench here smoke-sort -->\nold\n<!-- end -->\n").unwrap();
    let smoke = |options: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sno-bench"));
        command.args(["smoke", "--into"]).arg(&folder).arg("--page").arg(&page).args(options);
        let output = command.output().unwrap();
        let [tables, error] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        (output.status.success(), tables, error)
    };
    let (_, _, error) = smoke(&["--only", "larger"]);
    let (_, sections) = error.trim().split_once("there is no section larger; there are ").expect(&error);
    let (succeeded, tables, error) = smoke(&[]);
    assert!(succeeded, "{error}");

    let page = fs::read_to_string(&page).unwrap();
    assert!(page.contains("CREATE INDEX, keys of one hour") && !page.contains("old"), "{page}");
    let results: Value =
        serde_json::from_str(&fs::read_to_string(folder.join("results.json")).unwrap()).unwrap();
    let all = results["smoke"]["series"].as_array().unwrap();
    for section in sections.split(", ") {
        let series: Vec<_> = all.iter().filter(|series| series["section"] == section).collect();
        assert!(series.len() >= 3, "{section}");
        // A contender that cannot be called takes no part.
        let alone =
            |one: &&Value| series.iter().filter(|other| other["figure"] == one["figure"]).count() == 1;
        assert!(section != "feeds" || !series.iter().any(alone), "{series:?}");
        for series in series {
            assert!(tables.contains(series["figure"].as_str().unwrap()), "{series}");
            // Only a net time can be less than nothing, by what the clock can't tell.
            assert!(series["median"].as_f64().unwrap() > 0.0 || section == "generation", "{series}");
        }
    }
}
