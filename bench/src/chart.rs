//! Charts: horizontal bars with their numbers, as SVG without scripts, for light and for dark pages.

use std::fmt::Write;

use crate::report::{Section, Series};

const WIDTH: f64 = 860.0;
const MARGIN: f64 = 16.0;
const ROW: f64 = 22.0;
const TITLE: f64 = 30.0;
/// What a number beside a bar needs.
const VALUE: f64 = 118.0;
/// A bar that is longer than so many times the first is cut, or nothing would be left of the first.
const LONGEST: f64 = 30.0;

/// The background is the chart's own: pages don't say whether they are dark, only browsers do.
const STYLE: &str = "\
text{font:12px system-ui,-apple-system,'Segoe UI',sans-serif;fill:#1f2328}\
.card{fill:#fff;stroke:#d0d7de}.title{font-weight:600}.muted{fill:#59636e}\
.other{fill:#afb8c1}.ours{fill:#2f6fde}.spread{stroke:#1f2328;stroke-opacity:.55}\
.cut{stroke:#fff;stroke-width:3}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.card{fill:#0d1117;stroke:#30363d}.muted{fill:#9198a1}\
.other{fill:#59636e}.ours{fill:#58a6ff}.spread{stroke:#e6edf3}.cut{stroke:#0d1117}}";

/// A section's figures, one below the other.
pub(crate) fn svg(section: &Section) -> String {
    let labels = section.figures.iter().flat_map(|figure| &figure.series);
    let longest = labels.map(|series| series.name.chars().count()).max().unwrap_or(0);
    let start = MARGIN + longest as f64 * 6.4 + 10.0;
    let room = WIDTH - MARGIN - VALUE - start;
    let rows: usize = section.figures.iter().map(|figure| figure.series.len()).sum();
    let height = 2.0 * MARGIN + section.figures.len() as f64 * TITLE + rows as f64 * ROW;

    let mut svg = String::new();
    let mut put = |line: String| svg.push_str(&(line + "\n"));
    put(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" role=\"img\">"
    ));
    put(format!("<title>{}</title>", escape(&section.title)));
    put(format!("<style>{STYLE}</style>"));
    put(format!(
        "<rect class=\"card\" x=\".5\" y=\".5\" width=\"{}\" height=\"{}\" rx=\"8\"/>",
        WIDTH - 1.0,
        height - 1.0
    ));
    let mut y = MARGIN;
    for figure in &section.figures {
        let better = if figure.unit.is_rate() { "more is better" } else { "less is better" };
        put(format!(
            "<text class=\"title\" x=\"{MARGIN}\" y=\"{}\">{} <tspan class=\"muted\" \
             font-weight=\"400\">· {better}</tspan></text>",
            y + 16.0,
            escape(&figure.title)
        ));
        y += TITLE;
        let first = &figure.series[0];
        let limit = (first.median * LONGEST).max(first.max);
        let shown = figure.series.iter().filter(|series| series.median <= limit);
        let largest = shown.map(|series| series.max).fold(f64::MIN_POSITIVE, f64::max);
        let scale = |value: f64| start + (value / largest * room).clamp(0.0, room);
        for series in &figure.series {
            put(bar(series, figure.unit.show(series.median), y, start, scale));
            if series.median > limit {
                let (x, y) = (start + room * 0.93, y + ROW - 4.0);
                put(format!("<path class=\"cut\" d=\"M{x:.1} {y:.1}l6 -18m3 0l-6 18\"/>"));
            }
            y += ROW;
        }
    }
    put("</svg>".into());
    svg
}

/// One contender: its name, a bar up to its median, a line from its smallest to its largest sample, the numbers.
fn bar(series: &Series, value: String, y: f64, start: f64, scale: impl Fn(f64) -> f64) -> String {
    let class = if series.name.starts_with("sno") { "ours" } else { "other" };
    let middle = y + ROW / 2.0 - 2.0;
    let [median, low, high] = [series.median, series.min, series.max].map(scale);
    let mut row = String::new();
    let _ = write!(
        row,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
         <rect class=\"{class}\" x=\"{start:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"14\" rx=\"2\"/>",
        start - 8.0,
        middle + 4.0,
        escape(&series.name),
        middle - 7.0,
        (median - start).max(1.0),
    );
    if high - low > 1.0 {
        let _ = write!(
            row,
            "<path class=\"spread\" d=\"M{low:.1} {:.1}v6m0 -3H{high:.1}m0 -3v6\" fill=\"none\"/>",
            middle - 3.0
        );
    }
    let _ = write!(
        row,
        "<text x=\"{:.1}\" y=\"{:.1}\">{value} <tspan class=\"muted\">{}</tspan></text>",
        median.max(high) + 8.0,
        middle + 4.0,
        ratio(series.ratio)
    );
    row
}

/// A multiple, with the digits that count.
pub(crate) fn ratio(ratio: f64) -> String {
    match ratio.abs() {
        r if r < 9.95 => format!("{ratio:.2}×"),
        r if r < 99.5 => format!("{ratio:.1}×"),
        _ => format!("{ratio:.0}×"),
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
