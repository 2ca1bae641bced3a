//! Results for people: tables in Markdown, charts as SVG, and the blocks of a page that are renewed.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use crate::results::{Run, Runs, Series, Unit, three_digits};
use crate::summary::summary;

/// Writes `results.md` and a chart for each section into a folder, and the blocks of pages that belong to this folder:
/// what stands between `<!-- bench FOLDER SECTION -->` and `<!-- end -->`. Sections of other runs than `full` have the
/// run's name in front of their own, unless it is the same.
pub(crate) fn write(runs: &Runs, folder: &Path, pages: &[PathBuf]) -> Result<(), Box<dyn Error>> {
    let mut blocks = vec![("summary".to_owned(), summary(runs))];
    let label = folder.file_name().unwrap_or_default().to_string_lossy();
    let mut tables =
        String::from("# Results\n\nThe median of the rounds; its quartiles; the smallest and the largest.\n");
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
            let mut chart = format!("![{block}]({block}.svg)\n\n");
            if section[0].unit == Unit::Instructions {
                chart.clear();
            } else {
                fs::write(folder.join(format!("{block}.svg")), svg(&block, &figures))?;
            }
            tables += &format!("\n### {block}\n\n{chart}{}", table(&figures, true));
            let chart = chart.replace("](", &format!("](../bench/results/{label}/"));
            blocks.push((block, chart + &table(&figures, false)));
        }
    }
    fs::write(folder.join("results.md"), tables)?;
    for page in pages {
        let mut text = fs::read_to_string(page)?;
        for (block, content) in &blocks {
            renew(&mut text, &label, block, content)?;
        }
        fs::write(page, text)?;
    }
    Ok(())
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
/// also as multiples of the first one's. With the spread of the samples, or without.
fn table(figures: &[&[Series]], spread: bool) -> String {
    let cell = |figure: &[Series], series: &Series| {
        let show = |value| series.unit.show(value);
        let mut cell = show(series.median);
        if series.contender != figure[0].contender {
            cell += &format!(", {}", ratio(figure, series));
        }
        if spread && series.rounds > 1 {
            let [[low, high], [least, most]] = [series.quartiles.map(show), series.range.map(show)];
            cell += &format!("<br>{low}, {high}<br>{least}, {most}<br>{} rounds", series.rounds);
        }
        if series.note.is_empty() { cell } else { format!("{cell}<br>{}", series.note) }
    };
    let names = |figure: &&[Series]| figure.iter().map(|series| series.contender.clone()).collect::<Vec<_>>();
    let cells = |figure: &&[Series]| figure.iter().map(|series| cell(figure, series)).collect::<Vec<_>>();
    let line = |name: &str, cells: Vec<String>| format!("| {name} | {} |\n", cells.join(" | "));
    let rows = figures[0][0].rows;
    let mut text = if rows > 1 { format!("{rows} rows:\n\n") } else { String::new() };
    for group in figures.chunk_by(|one, next| names(one) == names(next)) {
        let (figure, title) = (&group[0], group[0][0].figure.clone());
        let columns = if group.len() > 1 { names(figure) } else { vec![title] };
        text += &(line("", columns.clone()) + "|---|" + &"---:|".repeat(columns.len()) + "\n");
        if group.len() > 1 {
            text.extend(group.iter().map(|figure| line(&figure[0].figure, cells(figure))));
        } else {
            text.extend(figure.iter().map(|series| line(&series.contender, vec![cell(figure, series)])));
        }
        text += "\n";
    }
    text
}

fn ratio(figure: &[Series], series: &Series) -> String {
    three_digits(series.median / figure[0].median) + "×"
}

const WIDTH: f64 = 860.0;
const MARGIN: f64 = 16.0;
const ROW: f64 = 22.0;
const TITLE: f64 = 30.0;
/// What a number beside a bar needs.
const VALUE: f64 = 118.0;
/// A bar that is longer than so many times the first is cut, or nothing would be left of the first.
const LONGEST: f64 = 30.0;
/// The background is the chart's own: pages don't say whether they are dark, only browsers do.
const STYLE: &str = "text{font:12px system-ui,-apple-system,'Segoe UI',sans-serif;fill:#1f2328}\
.card{fill:#fff;stroke:#d0d7de}.title{font-weight:600}.muted{fill:#59636e}\
.other{fill:#afb8c1}.ours{fill:#2f6fde}.spread{stroke:#1f2328;stroke-opacity:.55;fill:none}\
.cut{stroke:#fff;stroke-width:3}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.card{fill:#0d1117;stroke:#30363d}.muted{fill:#9198a1}\
.other{fill:#59636e}.ours{fill:#58a6ff}.spread{stroke:#e6edf3}.cut{stroke:#0d1117}}";

/// A section's figures, one below the other: a bar up to each median, a line from the smallest sample to the largest.
fn svg(title: &str, figures: &[&[Series]]) -> String {
    let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let names = figures.concat().into_iter().map(|series| series.contender.chars().count());
    let (rows, longest) = (names.len(), names.max().unwrap_or(0));
    let start = MARGIN + longest as f64 * 6.4 + 10.0;
    let room = WIDTH - MARGIN - VALUE - start;
    let height = 2.0 * MARGIN + figures.len() as f64 * TITLE + rows as f64 * ROW;
    let mut svg = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height}' width='{WIDTH}' role='img'>\n\
         <title>{}</title>\n<style>{STYLE}</style>\n\
         <rect class='card' x='.5' y='.5' width='{}' height='{}' rx='8'/>\n",
        escape(title),
        WIDTH - 1.0,
        height - 1.0
    );
    let mut y = MARGIN + 16.0;
    for figure in figures {
        let better = if figure[0].unit == Unit::PerSecond { "more is better" } else { "less is better" };
        let (title, better) =
            (escape(&figure[0].figure), format!("<tspan class='muted' font-weight='400'>· {better}</tspan>"));
        svg += &format!("<text class='title' x='{MARGIN}' y='{y}'>{title} {better}</text>\n");
        y += TITLE;
        let limit = (figure[0].median * LONGEST).max(figure[0].range[1]);
        let shown = figure.iter().filter(|series| series.median <= limit);
        let largest = shown.map(|series| series.range[1]).fold(f64::MIN_POSITIVE, f64::max);
        let scale = |value: f64| start + (value / largest * room).clamp(0.0, room);
        for series in *figure {
            let [median, low, high] = [series.median, series.range[0], series.range[1]].map(scale);
            let class = if series.contender.starts_with("sno") { "ours" } else { "other" };
            let (name, value) = (escape(&series.contender), series.unit.show(series.median));
            let (before, bar, after) = (start - 8.0, (median - start).max(1.0), high.max(median) + 8.0);
            let [top, line] = [y - 11.0, y - 7.0];
            svg += &format!(
                "<text x='{before:.1}' y='{y}' text-anchor='end'>{name}</text>\
                 <rect class='{class}' x='{start:.1}' y='{top}' width='{bar:.1}' height='14' rx='2'/>\
                 <path class='spread' d='M{low:.1} {line}v6m0 -3H{high:.1}m0 -3v6'/>\
                 <text x='{after:.1}' y='{y}'>{value} <tspan class='muted'>{}</tspan></text>\n",
                ratio(figure, series)
            );
            if series.median > limit {
                svg += &format!(
                    "<path class='cut' d='M{:.1} {}l6 -18m3 0l-6 18'/>\n",
                    start + room * 0.93,
                    y + 5.0
                );
            }
            y += ROW;
        }
    }
    svg + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_replaced_and_all_else_stays() {
        let mut page =
            "a\n<!-- bench x sort -->\nold\n<!-- end -->\nb\n<!-- bench y sort -->\n<!-- end -->\n"
                .to_owned();
        let expected = page.replace("old", "\nnew\n");
        renew(&mut page, "x", "sort", "new").unwrap();
        renew(&mut page, "x", "absent", "new").unwrap();
        assert_eq!(page, expected);
        assert!(renew(&mut "<!-- bench x sort -->\n".to_owned(), "x", "sort", "new").is_err());
    }
}
