//! Results as files: JSON for programs, Markdown and charts for people, and the blocks of a page that are renewed.

use std::error::Error;
use std::fmt::Write;
use std::path::Path;
use std::{fs, io};

use crate::chart::{ratio, svg};
use crate::instructions::Instructions;
use crate::machine::Machine;
use crate::report::{Figure, Report, Section, Series};

/// Writes `NAME.json`, `NAME.md` and a chart for each section into a folder, and the blocks of a page that belong to
/// this folder: what stands between `<!-- bench FOLDER SECTION -->` and `<!-- end -->`. Sections of a run that is
/// not called `results` have its name in front of their own.
pub fn write_report(
    report: &Report,
    name: &str,
    folder: &Path,
    page: Option<&Path>,
) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join(format!("{name}.json")), serde_json::to_string_pretty(report)? + "\n")?;
    let prefix = if name == "results" { String::new() } else { format!("{name}-") };
    fs::write(folder.join(format!("{name}.md")), all(report, &prefix))?;
    for section in &report.sections {
        fs::write(folder.join(format!("{prefix}{}.svg", section.name)), svg(section))?;
    }
    if let Some(page) = page {
        let label = label(folder);
        let mut text = fs::read_to_string(page)?;
        renew(&mut text, &label, &format!("{prefix}machine"), &conditions(report))?;
        for section in &report.sections {
            let block = format!(
                "{}\n\n![{}](../bench/results/{label}/{prefix}{}.svg)\n\n{}",
                section.method,
                section.title,
                section.name,
                short(section)
            );
            renew(&mut text, &label, &format!("{prefix}{}", section.name), &block)?;
        }
        fs::write(page, text)?;
    }
    Ok(())
}

/// Writes the counts of instructions, in the same way.
pub fn write_instructions(
    counts: &Instructions,
    folder: &Path,
    page: Option<&Path>,
) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join("instructions.json"), serde_json::to_string_pretty(counts)? + "\n")?;
    let mut table = String::from("| function | instructions a call |\n|---|---:|\n");
    for (function, count) in &counts.functions {
        writeln!(table, "| `{function}` | {count:.1} |")?;
    }
    let mut statements = String::new();
    for section in &counts.statements {
        // A count has no median.
        let table = short(section).replacen("| | median |", "| | instructions a row |", 1);
        write!(statements, "{}\n\n{table}\n", section.method)?;
    }
    let text = format!(
        "# Instructions\n\n{}, PostgreSQL {}\n\n{table}\n{statements}",
        machine(&counts.machine),
        counts.postgresql
    );
    fs::write(folder.join("instructions.md"), text)?;
    if let Some(page) = page {
        let mut text = fs::read_to_string(page)?;
        renew(&mut text, &label(folder), "instructions", &table)?;
        renew(&mut text, &label(folder), "statements", &statements)?;
        fs::write(page, text)?;
    }
    Ok(())
}

fn label(folder: &Path) -> String {
    folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// Replaces a block of a page, if the page has it.
fn renew(page: &mut String, label: &str, block: &str, text: &str) -> io::Result<()> {
    let open = format!("<!-- bench {label} {block} -->\n");
    let Some(start) = page.find(&open).map(|at| at + open.len()) else { return Ok(()) };
    let Some(length) = page[start..].find("<!-- end -->") else {
        return Err(io::Error::other(format!("the block {block} has no end")));
    };
    page.replace_range(start..start + length, &format!("\n{}\n\n", text.trim()));
    Ok(())
}

fn machine(machine: &Machine) -> String {
    format!(
        "{}, {} cores, {} GiB; {}; {}; {}, commit {}",
        machine.cpu,
        machine.cores,
        machine.memory_gib,
        machine.system,
        machine.rustc,
        machine.date,
        machine.commit
    )
}

/// Where, when, and with which settings.
fn conditions(report: &Report) -> String {
    let settings: Vec<String> =
        report.settings.iter().map(|(name, value)| format!("`{name} = {value}`")).collect();
    format!(
        "PostgreSQL {}, {}. A {} run of {}:{:02} minutes; the machine's load average before it was {}.\n\n\
         {}Settings for all contenders: {}.",
        report.postgresql,
        machine(&report.machine),
        report.size,
        report.seconds / 60,
        report.seconds % 60,
        report.machine.load,
        if report.size == "quick" { "**A quick run is to look at, not to quote.**\n\n" } else { "" },
        settings.join(", ")
    )
}

/// Everything.
fn all(report: &Report, prefix: &str) -> String {
    let mut text = format!("# Results\n\n{}\n", conditions(report));
    for section in &report.sections {
        let _ = write!(
            text,
            "\n## {}\n\n{}\n\n![{}]({prefix}{}.svg)\n",
            section.title, section.method, section.title, section.name
        );
        for figure in &section.figures {
            let _ = write!(text, "\n**{}**\n\n{}", figure.title, long(figure));
        }
        text += &remarks(section);
    }
    text
}

fn remarks(section: &Section) -> String {
    section.remarks.iter().map(|remark| format!("\n{remark}\n")).collect()
}

/// A figure with its spread.
fn long(figure: &Figure) -> String {
    let noted = figure.series.iter().any(|series| series.note.is_some());
    let mut table = format!(
        "| | median | quartiles | smallest, largest | samples | |{}\n|---|---:|---:|---:|---:|---:|{}\n",
        if noted { " |" } else { "" },
        if noted { "---|" } else { "" }
    );
    for series in &figure.series {
        let show = |value| figure.unit.show(value);
        let note = if noted { note(series) } else { String::new() };
        let _ = writeln!(
            table,
            "| {} | {} | {}, {} | {}, {} | {} | {} |{note}",
            series.name,
            show(series.median),
            show(series.quartiles[0]),
            show(series.quartiles[1]),
            show(series.min),
            show(series.max),
            series.samples.len(),
            ratio(series.ratio)
        );
    }
    table
}

/// The cell of a series that has something else to be known.
fn note(series: &Series) -> String {
    format!(" {} |", series.note.as_deref().unwrap_or_default())
}

/// A section's medians: figures by contenders if they have the same, one below the other if not.
fn short(section: &Section) -> String {
    let names = |figure: &Figure| figure.series.iter().map(|series| series.name.clone()).collect::<Vec<_>>();
    let shared = section.figures.first().map(names).unwrap_or_default();
    let noted = section.figures.iter().flat_map(|figure| &figure.series).any(|series| series.note.is_some());
    let mut table;
    if !noted && section.figures.len() > 1 && section.figures.iter().all(|figure| names(figure) == shared) {
        table = format!("| | {} |\n|---|{}\n", shared.join(" | "), "---:|".repeat(shared.len()));
        for figure in &section.figures {
            let _ = write!(table, "| {} |", figure.title);
            for (place, series) in figure.series.iter().enumerate() {
                let _ = write!(table, " {}", figure.unit.show(series.median));
                if place > 0 {
                    let _ = write!(table, ", {}", ratio(series.ratio));
                }
                table += " |";
            }
            table += "\n";
        }
    } else {
        let (column, ruler) = if noted { (" |", "---|") } else { ("", "") };
        table = format!("| | median | |{column}\n|---|---:|---:|{ruler}\n");
        for figure in &section.figures {
            if section.figures.len() > 1 {
                let _ = writeln!(table, "| **{}** | | |{column}", figure.title);
            }
            for series in &figure.series {
                let _ = writeln!(
                    table,
                    "| {} | {} | {} |{}",
                    series.name,
                    figure.unit.show(series.median),
                    ratio(series.ratio),
                    if noted { note(series) } else { String::new() }
                );
            }
        }
    }
    table + &remarks(section)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_replaced_and_all_else_stays() {
        let mut page =
            "a\n<!-- bench x sort -->\nold\n<!-- end -->\nb\n<!-- bench y sort -->\n<!-- end -->\n"
                .to_owned();
        renew(&mut page, "x", "sort", "new").unwrap();
        renew(&mut page, "x", "absent", "new").unwrap();
        let expected =
            "a\n<!-- bench x sort -->\n\nnew\n\n<!-- end -->\nb\n<!-- bench y sort -->\n<!-- end -->\n";
        assert_eq!(page, expected);
        renew(&mut page, "x", "sort", "new").unwrap();
        assert_eq!(page, expected);
    }

    #[test]
    fn a_block_without_an_end_is_an_error() {
        assert!(renew(&mut "<!-- bench x sort -->\n".to_owned(), "x", "sort", "new").is_err());
    }

    #[test]
    fn every_row_of_a_table_has_all_columns() {
        use crate::report::Unit;
        let figure = |names: [&str; 2], note: bool| {
            let series = names.map(|name| Series::new(name, vec![1.0, 2.0]));
            let [ours, other] = series;
            let other = if note { other.note("a note") } else { other };
            Figure::new("x", Unit::Seconds, vec![ours, other])
        };
        let section = |figures| Section {
            name: "x".into(),
            title: "x".into(),
            method: String::new(),
            figures,
            remarks: Vec::new(),
        };
        for (figures, rows) in [
            (vec![figure(["sno", "uuid"], false)], 4),
            (vec![figure(["sno", "uuid"], false), figure(["sno", "uuid"], false)], 4),
            (vec![figure(["sno", "uuid"], false), figure(["sno", "text"], false)], 8),
            (vec![figure(["sno", "uuid"], true), figure(["sno", "uuid"], false)], 8),
        ] {
            let table = short(&section(figures.clone()));
            assert_eq!(table.lines().count(), rows, "{table}");
            for table in figures.iter().map(long).chain([table]) {
                let columns: Vec<usize> = table.lines().map(|line| line.matches('|').count()).collect();
                assert!(columns.iter().all(|count| *count == columns[0]), "{table}");
            }
        }
    }
}
