//! Results for people who look before they read: charts of a few figures, in pictures that follow the reader's color scheme.

use std::error::Error;
use std::fs;
use std::path::Path;

use plotters::coord::ranged1d::SegmentValue;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::results::{Runs, Series, Unit};
use crate::summary::{BUILT_IN, name_of, place_of};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A picture: its file, what it shows for who cannot see it, and its charts, from top to bottom.
struct Picture {
    file: &'static str,
    title: &'static str,
    charts: &'static [Chart],
}

/// A run, its section and figure, and what is above the bars, one for each contender: a rate as the time of one, so that
/// less is better in all of them.
struct Chart {
    run: &'static str,
    section: &'static str,
    figure: &'static str,
    caption: &'static str,
}

const fn chart(
    run: &'static str,
    section: &'static str,
    figure: &'static str,
    caption: &'static str,
) -> Chart {
    Chart { run, section, figure, caption }
}

const PICTURES: [Picture; 2] = [
    Picture {
        file: "figures.svg",
        title: "Four costs of a key, and two ways to read, by the kind of key",
        charts: &[
            chart("full", "insert", "One row of a bulk insert", "Bulk insert, one row: less is better"),
            chart(
                "full",
                "disk",
                "The key, nothing else",
                "Table and index, a row with nothing but the key: less is better",
            ),
            chart(
                "full",
                "disk",
                "The key and an integer, with an index on both together",
                "Table and indexes, a row with an integer and an index on both: less is better",
            ),
            chart("full", "copy", "COPY FROM, text, one row", "COPY, one row with its key: less is better"),
            chart(
                "full",
                "clients",
                "Rows looked up by key, each by a statement of its own",
                "Lookups of 8 clients, one lookup: less is better",
            ),
            chart(
                "full",
                "hour",
                "Reading the last hour's rows",
                "Reading the last hour of a day, two million rows in all: less is better",
            ),
        ],
    },
    Picture {
        file: "latency.svg",
        title: "From the INSERT to the consumer, by the margin of the feed and by how the consumer waits",
        charts: &[
            chart(
                "calls",
                "feeds",
                "From the INSERT to the consumer, margin 0.1 s",
                "From the INSERT to the consumer, margin 0.1 s, the default: less is better",
            ),
            chart(
                "calls",
                "feeds",
                "From the INSERT to the consumer, margin 0",
                "From the INSERT to the consumer, margin 0: less is better",
            ),
        ],
    },
];

const WIDTH: u32 = 760;
const BAR: u32 = 22;
const AROUND_BARS: u32 = 66;
const LEGEND: u32 = 30;
const OURS: RGBColor = RGBColor(0x1a, 0x7f, 0x37);
const OTHERS: RGBColor = RGBColor(0x8c, 0x95, 0x9f);
const RANGE: RGBColor = RGBColor(0xbf, 0x87, 0x00);

/// Text has another color in the dark, and a ground of its own, since the page can have another scheme than the system.
const STYLE: &str = "<style>text { fill: #1f2328; font-family: system-ui, sans-serif }
.panel { fill: #ffffff; stroke: #d0d7de }
@media (prefers-color-scheme: dark) { text { fill: #f0f6fc } .panel { fill: #161b22; stroke: #3d444d } }</style>";

/// Writes the pictures whose figures were measured.
pub(crate) fn write(runs: &Runs, folder: &Path) -> Result<()> {
    for picture in PICTURES {
        let mut charts = Vec::new();
        for chart in picture.charts {
            let all = runs.get(chart.run).map_or(&[][..], |run| &run.series);
            // Keys of other extensions have a table of their own.
            let is_of_it = |series: &&Series| {
                let is_known = chart.run != "full" || place_of(BUILT_IN, &series.contender).is_some();
                series.section == chart.section && series.figure == chart.figure && is_known
            };
            let mut bars: Vec<&Series> = all.iter().filter(is_of_it).collect();
            bars.sort_by_key(|series| place_of(BUILT_IN, &series.contender));
            if !bars.is_empty() {
                charts.push((chart.caption, bars));
            }
        }
        if charts.len() == picture.charts.len() {
            let svg = draw(&charts)?;
            let start = svg.find('>').ok_or("no picture")? + 1;
            let panel = r#"<rect class="panel" x="0.5" y="0.5" width="99.8%" height="99.8%" rx="8"/>"#;
            let head = format!("{}\n<title>{}</title>\n{STYLE}\n{panel}", &svg[..start], picture.title);
            fs::write(folder.join(picture.file), head + &svg[start..] + "\n")?;
        }
    }
    Ok(())
}

fn draw(charts: &[(&str, Vec<&Series>)]) -> Result<String> {
    let heights: Vec<u32> = charts.iter().map(|(_, bars)| BAR * bars.len() as u32 + AROUND_BARS).collect();
    let mut svg = String::new();
    {
        let height = heights.iter().sum::<u32>() + LEGEND;
        let root = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        let mut rest = root.clone();
        for ((caption, bars), height) in charts.iter().zip(heights) {
            let (area, below) = rest.split_vertically(height);
            rest = below;
            draw_bars(&area, caption, bars)?;
        }
        let style = TextStyle::from(("sans-serif", 16)).pos(Pos::new(HPos::Left, VPos::Center));
        let legend = "Bars are medians, lines the middle half of the runs. ×: of the first bar; ≈: cannot be told from it.";
        rest.draw(&Text::new(legend, (16, 12), style))?;
        root.present()?;
    }
    Ok(svg)
}

/// The least is at the left; what is shown at the end of a bar is what the tables say.
fn draw_bars<B: DrawingBackend>(
    area: &DrawingArea<B, plotters::coord::Shift>,
    caption: &str,
    bars: &[&Series],
) -> Result<()>
where
    B::ErrorType: 'static,
{
    let last = bars.len() as i32 - 1;
    let unit = if bars[0].unit == Unit::PerSecond { Unit::Seconds } else { bars[0].unit };
    let value = |series: &Series, number: f64| match series.unit {
        Unit::PerSecond => 1.0 / number,
        _ => number,
    };
    let end = |series: &&Series| {
        let [low, high] = series.quartiles;
        value(series, series.median).max(value(series, low)).max(value(series, high))
    };
    let most = bars.iter().map(end).fold(0.0, f64::max);
    let mut chart = ChartBuilder::on(area)
        .caption(caption, ("sans-serif", 18))
        .margin(8)
        .x_label_area_size(20)
        .y_label_area_size(180)
        .build_cartesian_2d(0.0..most * 1.4, (0..last).into_segmented())?;
    let name = |place: &SegmentValue<i32>| match place {
        SegmentValue::CenterOf(number) => name_of(BUILT_IN, &bars[(last - number) as usize].contender),
        _ => String::new(),
    };
    chart
        .configure_mesh()
        .disable_mesh()
        .axis_style(OTHERS)
        .x_labels(5)
        .x_label_formatter(&|at| if *at == 0.0 { "0".into() } else { unit.show(*at) })
        .x_label_style(("sans-serif", 14))
        .y_labels(bars.len())
        .y_label_formatter(&name)
        .y_label_style(("sans-serif", 16))
        .draw()?;
    for (number, series) in bars.iter().enumerate() {
        let (place, color) = (last - number as i32, if number == 0 { OURS } else { OTHERS });
        let median = value(series, series.median);
        let corners = [(0.0, SegmentValue::Exact(place)), (median, SegmentValue::Exact(place + 1))];
        let mut bar = Rectangle::new(corners, color.filled());
        bar.set_margin(3, 3, 0, 0);
        let quartiles = series.quartiles.map(|number| (value(series, number), SegmentValue::CenterOf(place)));
        let mut label = unit.show(median);
        if number > 0 {
            label += &format!(" ({})", bars[0].times_worse(series));
        }
        let style = TextStyle::from(("sans-serif", 16)).pos(Pos::new(HPos::Left, VPos::Center));
        let text = Text::new(label, (end(series) + most * 0.01, SegmentValue::CenterOf(place)), style);
        chart.draw_series([bar])?;
        chart.draw_series([PathElement::new(quartiles, RANGE.stroke_width(3))])?;
        chart.draw_series([text])?;
    }
    Ok(())
}
