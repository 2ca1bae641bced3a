//! The benchmark runs, with tables of a few thousand rows, whose figures mean nothing.

use std::process::Command;

#[test]
fn every_figure_is_measured() {
    let output = Command::new(env!("CARGO_BIN_EXE_sno-bench")).arg("smoke").output().unwrap();
    let [tables, error] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(output.status.success(), "{error}");
    // Two lines are headings.
    let lines = tables.lines().filter(|line| line.starts_with("| ")).count();
    assert_eq!(lines, 2 + 17, "{tables}");
}
