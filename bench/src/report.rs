//! Results for people: tables in Markdown, and the blocks of a page that are renewed.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use crate::results::{Run, Runs, Series};
use crate::summary::summary;

/// Returns all tables, and writes the blocks of pages that belong to the folder of the results:
/// what stands between `<!-- bench FOLDER SECTION -->` and `<!-- end -->`. Sections of other runs than `full` have the
/// run's name in front of their own, unless it is the same.
pub(crate) fn write(runs: &Runs, folder: &Path, pages: &[PathBuf]) -> Result<String, Box<dyn Error>> {
    let mut blocks = vec![("summary".to_owned(), summary(runs))];
    let label = folder.file_name().unwrap_or_default().to_string_lossy();
    let mut tables = String::from(
        "# Results\n\nThe median of the rounds; its quartiles; the smallest and the largest. bench/README.md says how to read them.\n",
    );
    for (name, run) in runs {
        let prefix = if name == "full" { String::new() } else { format!("{name}-") };
        let conditions = conditions(name, run);
        blocks.push((format!("{prefix}machine"), conditions.clone()));
        tables += &format!("\n## The {name} run\n\n{conditions}\n");
        for section in run.series.chunk_by(|one, next| one.section == next.section) {
            let figures: Vec<&[Series]> = section.chunk_by(|one, next| one.figure == next.figure).collect();
            let block = match &section[0].section {
                section if section == name => name.clone(),
                section => format!("{prefix}{section}"),
            };
            tables += &format!("\n### {block}\n\n{}", table(&figures, true));
            blocks.push((block, table(&figures, false)));
        }
    }
    for page in pages {
        let mut text = fs::read_to_string(page)?;
        for (block, content) in &blocks {
            renew(&mut text, &label, block, content)?;
        }
        fs::write(page, text)?;
    }
    Ok(tables)
}

/// Replaces a block of a page, if the page has it.
fn renew(page: &mut String, label: &str, block: &str, text: &str) -> Result<(), Box<dyn Error>> {
    let open = format!("<!-- bench {label} {block} -->\n");
    let Some(start) = page.find(&open).map(|at| at + open.len()) else { return Ok(()) };
    let length = page[start..].find("<!-- end -->").ok_or_else(|| format!("the block {block} has no end"))?;
    page.replace_range(start..start + length, &format!("\n{}\n\n", text.trim()));
    Ok(())
}

/// Where, when, and with which settings.
fn conditions(name: &str, run: &Run) -> String {
    let Run { postgresql, machine, load, seconds, settings, .. } = run;
    let line = format!("PostgreSQL {postgresql}, {machine}; the machine's load average before was {load}.");
    if settings.is_empty() {
        return line;
    }
    let (minutes, seconds, settings) = (seconds / 60, seconds % 60, settings.join("`, `"));
    format!(
        "{line} A {name} run of {minutes}:{seconds:02} minutes.\n\nSettings for all contenders: `{settings}`."
    )
}

/// A row for each figure and a column for each contender, or the other way round if there is only one figure: medians,
/// and how many times worse they are than the first one. With the spread of the samples, or without.
fn table(figures: &[&[Series]], spread: bool) -> String {
    let cell = |figure: &[Series], series: &Series| {
        let show = |value| series.unit.show(value);
        let mut cell = show(series.median);
        if series.contender != figure[0].contender {
            cell += &format!(", {}", figure[0].times_worse(series));
        }
        if spread && series.rounds > 1 {
            let [[low, high], [least, most]] = [series.quartiles.map(show), series.range.map(show)];
            cell += &format!("<br>{low}, {high}<br>{least}, {most}<br>{} rounds", series.rounds);
        }
        cell
    };
    let names = |figure: &&[Series]| figure.iter().map(|series| series.contender.clone()).collect::<Vec<_>>();
    let cells = |figure: &&[Series]| figure.iter().map(|series| cell(figure, series)).collect::<Vec<_>>();
    let line = |name: &str, cells: Vec<String>| format!("| {name} | {} |\n", cells.join(" | "));
    let rows = figures[0][0].rows;
    let mut text = if rows > 1 { format!("{rows} rows:\n\n") } else { String::new() };
    for group in figures.chunk_by(|one, next| names(one) == names(next)) {
        let (figure, title) = (&group[0], group[0][0].figure.clone());
        let columns = if group.len() > 1 { names(figure) } else { vec![title] };
        text += &(line(if group.len() > 1 { "Figure" } else { "" }, columns.clone())
            + "|---|"
            + &"---:|".repeat(columns.len())
            + "\n");
        if group.len() > 1 {
            text.extend(group.iter().map(|figure| line(&figure[0].figure, cells(figure))));
        } else {
            text.extend(figure.iter().map(|series| line(&series.contender, vec![cell(figure, series)])));
        }
        text += "\n";
    }
    text
}
