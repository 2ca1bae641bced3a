//! The benchmark runs and writes what it should: with tables of a few thousand rows, whose figures mean nothing.

use std::fs;

use sno_bench::{Report, Selection, Size, measure, write_report};

/// What a run measures unless told, but for the crates, which need criterion's files.
const SECTIONS: [&str; 9] =
    ["generation", "sort", "insert", "disk", "hour", "copy", "clients", "plans", "backends"];

fn measured(selection: Selection) -> Report {
    let (report, failed) = measure(Size::smoke(), selection).expect("a run");
    assert!(failed.is_empty(), "{failed:?}");
    report
}

#[test]
fn every_section_has_figures_a_table_and_a_chart() {
    let report = measured(Selection::default());
    assert_eq!(report.sections.iter().map(|section| section.name.as_str()).collect::<Vec<_>>(), SECTIONS);
    for section in &report.sections {
        assert!(!section.figures.is_empty(), "{}", section.name);
        for figure in &section.figures {
            assert!(figure.series.len() >= 3, "{}", figure.title);
            assert!(figure.series[0].name.starts_with("sno"), "{}", figure.title);
            for series in &figure.series {
                // Only a net time can be less than nothing, by what the clock can't tell.
                let sane = series.median.is_finite() && (series.median > 0.0 || section.name == "generation");
                assert!(sane, "{}, {}: {:?}", figure.title, series.name, series.samples);
            }
        }
    }

    let home = tempfile::tempdir().unwrap();
    let (folder, page) = (home.path().join("here"), home.path().join("page.md"));
    fs::write(
        &page,
        "<!-- bench here sort -->\nold\n<!-- end -->\n<!-- bench there sort -->\n<!-- end -->\n",
    )
    .unwrap();
    write_report(&report, "results", &folder, Some(&page)).unwrap();

    let read: Report =
        serde_json::from_str(&fs::read_to_string(folder.join("results.json")).unwrap()).unwrap();
    assert_eq!(read.sections.len(), report.sections.len());
    let table = fs::read_to_string(folder.join("results.md")).unwrap();
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("here/sort.svg") && !page.contains("old") && !page.contains("there/"), "{page}");
    for section in &report.sections {
        assert!(table.contains(&section.title));
        let svg = fs::read_to_string(folder.join(format!("{}.svg", section.name))).unwrap();
        let chart = roxmltree::Document::parse(&svg).unwrap();
        let bars = chart
            .descendants()
            .filter(|node| node.attribute("class").is_some_and(|c| c == "ours" || c == "other"));
        assert_eq!(bars.count(), section.figures.iter().map(|figure| figure.series.len()).sum::<usize>());
    }
}

#[test]
fn a_section_can_run_alone() {
    let only = |name: &str| Selection { only: vec![name.into()], ..Selection::default() };
    let report = measured(only("large"));
    assert_eq!(report.sections.len(), 1);
    assert_eq!(report.sections[0].figures.len(), 5);
    let error = measure(Size::smoke(), only("larger")).expect_err("a section that is not there").to_string();
    assert!(error.starts_with("there is no section larger; there are generation, sort,"), "{error}");
}
