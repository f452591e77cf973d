//! Draws charts as SVG, in parts of their size: they fit any width, and their text has the size of
//! the page's text.
//!
//! ```text
//!  1 MiB ┤      ╭──╮        svg, in percent: text, grid, points
//!        │  ╭───╯  │        an inner svg, 0 to 1000 both ways: the lines, whose strokes are
//!      0 ┼──┴──────┴──      not stretched
//!         0    1 M   2 M    data-points: the values that the script shows under the pointer
//!
//!  600 k ┤   █              bars: a value each, with a name below
//!      0 ┼─▄─█─█─▂─
//! ```
//!
//! Design: `.output.page` in `design/output.md`.

use super::scale::{Scale, Tick};
use crate::units::{Unit, number};
use maud::{Markup, html};
use serde_json::json;
use std::fmt::Write;

/// Up to this number of points of a line are marked.
const MARKED_COUNT_MAX: usize = 48;
/// The size of the inner drawing, both ways.
const INNER: f64 = 1000.0;
/// The number of colours; further series have the same colours, dashed.
const COLOR_COUNT: usize = 12;
/// Names below bars, at most.
const NAMED_COUNT_MAX: usize = 8;
/// The part of its place that a bar takes.
const BAR_PART: f64 = 0.86;

/// The style of charts, for a page that has some.
pub const STYLE: &str = include_str!("chart.css");
/// The script of line charts.
pub const SCRIPT: &str = include_str!("chart.js");

/// A line chart.
#[derive(Default)]
pub struct Chart {
    /// The title.
    pub title: &'static str,
    /// What is drawn, in words.
    pub note: &'static str,
    /// The labels of the horizontal axis.
    pub x: Vec<Tick>,
    /// The labels of the vertical axis.
    pub y: Vec<Tick>,
    /// The labels instead of `y` for an axis that ends at a half, a quarter, … of its length.
    pub closer: Vec<Vec<Tick>>,
    /// The horizontal places with values, and their names.
    pub columns: Vec<Tick>,
    /// The lines.
    pub lines: Vec<Line>,
    /// The filled area behind the lines.
    pub area: Option<Line>,
}

/// A line: for each column its place from below, and the text of its value.
pub struct Line {
    /// The series, from 0; none for the area.
    pub series: Option<usize>,
    /// The name.
    pub name: String,
    /// For each column, the place and the text of the value, if it has one.
    pub points: Vec<Option<Tick>>,
}

/// A bar.
pub struct Bar {
    /// What stands below it.
    pub name: String,
    /// Its height.
    pub value: u64,
    /// The classes of its series, if it has one.
    pub class: String,
}

/// Returns the CSS classes of a series: its index, and its colour.
pub fn series(index: usize) -> String {
    let again = if index >= COLOR_COUNT { " again" } else { "" };
    format!("s{index} c{}{again}", index % COLOR_COUNT)
}

/// Returns boxes that show and hide series, by their long and short names.
pub fn legend<'n>(label: &str, names: impl Iterator<Item = (&'n str, &'n str)>) -> Markup {
    html! {
        div.boxes role="group" aria-label=(label) {
            @for (index, (name, short)) in names.enumerate() {
                @let id = format!("series{index}");
                // The entry does not have the class that it hides.
                label class=(series(index).replacen(&format!("s{index}"), "entry", 1)) for=(id) {
                    input type="checkbox" id=(id) checked;
                    svg.key aria-hidden="true" { line.line x1="0" x2="100%" y1="50%" y2="50%" {} }
                    span title=(name) { (short) }
                }
            }
        }
    }
}

/// Returns the rules that hide a series whose box in the legend is not checked.
pub fn toggles(count: usize) -> String {
    let rule = |at| format!(":root:has(#series{at}:not(:checked)) .s{at} {{ display: none }}\n");
    (0..count).map(rule).collect()
}

/// Draws bars, as high as their values.
pub fn bars(title: &str, note: &str, bars: &[Bar], unit: Unit) -> Markup {
    let scale = Scale::linear(bars.iter().map(|bar| bar.value as f64));
    let width = 1.0 / bars.len().max(1) as f64;
    let every = bars.len().div_ceil(NAMED_COUNT_MAX).max(1);
    let named = bars.iter().enumerate().step_by(every);
    let place = |(index, bar): (usize, &Bar)| Tick {
        at: (index as f64 + 0.5) * width,
        text: bar.name.clone(),
    };
    let x: Vec<Tick> = named.map(place).collect();
    html! {
        figure {
            figcaption { b { (title) } " " span.soft { (note) } }
            @if bars.is_empty() {
                p.none { "No data." }
            } @else {
                svg.chart.bars role="img" aria-label=(title) {
                    (side(&scale.ticks(unit)))
                    (bottom(&x))
                    @for (index, bar) in bars.iter().enumerate().filter(|(_, of)| of.value > 0) {
                        // Even a small value is visible.
                        @let tallness = scale.place(bar.value as f64).max(0.006);
                        rect class={ "column " (bar.class) }
                            x=(percent((index as f64 + (1.0 - BAR_PART) / 2.0) * width))
                            width=(percent(width * BAR_PART)) y=(percent(1.0 - tallness))
                            height=(percent(tallness)) {
                            title { (bar.name) ": " (number(bar.value)) }
                        }
                    }
                }
            }
        }
    }
}

fn percent(part: f64) -> String {
    format!("{:.2}%", part * 100.0)
}

impl Chart {
    /// Draws the chart.
    pub fn draw(&self) -> Markup {
        html! {
            figure {
                figcaption { b { (self.title) } " " span.soft { (self.note) } }
                @if self.lines.iter().all(Line::is_empty) {
                    p.none { "No data." }
                } @else {
                    svg.chart tabindex="0" role="img" aria-label=(self.title)
                        data-points=(self.points()) {
                        (bottom(&self.x))
                        g.level { (side(&self.y)) }
                        @for ticks in &self.closer { g.level.off { (side(ticks)) } }
                        svg viewBox="0 0 1000 1000" preserveAspectRatio="none"
                            width="100%" height="100%" {
                            @if let Some(area) = &self.area {
                                path.live d=(area.area_path(&self.columns)) {}
                            }
                            @for line in &self.lines {
                                path class={ "line " (line.classes()) }
                                    d=(line.path(&self.columns)) {}
                            }
                        }
                        @for line in &self.lines { (line.marks(&self.columns)) }
                    }
                }
            }
        }
    }

    /// Returns the data for the script: places from the left and from above, and texts.
    fn points(&self) -> String {
        let all = self.area.iter().chain(&self.lines);
        let place = |at: f64| (at * INNER * 10.0).round() / (INNER * 10.0);
        let line = |line: &Line| {
            let at = |point: &Option<Tick>| point.as_ref().map(|tick| place(1.0 - tick.at));
            let text = |point: &Option<Tick>| point.as_ref().map(|tick| tick.text.clone());
            json!({
                "series": line.series,
                "name": line.name,
                "y": line.points.iter().map(at).collect::<Vec<_>>(),
                "text": line.points.iter().map(text).collect::<Vec<_>>(),
            })
        };
        let points = json!({
            "x": self.columns.iter().map(|column| place(column.at)).collect::<Vec<_>>(),
            "at": self.columns.iter().map(|column| column.text.as_str()).collect::<Vec<_>>(),
            "lines": all.map(line).collect::<Vec<_>>(),
        });
        points.to_string()
    }
}

/// Draws the labels and lines of the vertical axis.
fn side(y: &[Tick]) -> Markup {
    html! {
        @for tick in y {
            @let at = percent(1.0 - tick.at);
            line.grid x1="0" x2="100%" y1=(at) y2=(at) {}
            text.y x="-8" y=(at) dy="4" { (tick.text) }
        }
    }
}

/// Draws the labels of the horizontal axis.
fn bottom(x: &[Tick]) -> Markup {
    // A narrow page has no room for each label.
    let odd = |index: usize| if index % 2 == 1 && x.len() > 4 { "x odd" } else { "x" };
    html! {
        @for (index, tick) in x.iter().enumerate() {
            @let at = percent(tick.at);
            text class=(odd(index)) x=(at) y="100%" dy="18" { (tick.text) }
        }
    }
}

impl Line {
    fn is_empty(&self) -> bool {
        self.points.iter().all(Option::is_none)
    }

    fn classes(&self) -> String {
        self.series.map(series).unwrap_or_default()
    }

    /// Returns the points in the inner drawing.
    fn places(&self, columns: &[Tick]) -> Vec<Option<(f64, f64)>> {
        let place = |(point, column): (&Option<Tick>, &Tick)| {
            point.as_ref().map(|point| (column.at * INNER, (1.0 - point.at) * INNER))
        };
        self.points.iter().zip(columns).map(place).collect()
    }

    fn path(&self, columns: &[Tick]) -> String {
        let mut path = String::new();
        let mut is_open = false;
        for place in self.places(columns) {
            if let Some((x, y)) = place {
                // Writing to a string cannot fail.
                let _ = write!(path, "{}{x:.1} {y:.2}", if is_open { 'L' } else { 'M' });
            }
            is_open = place.is_some();
        }
        path
    }

    /// Returns the path, closed along the bottom.
    fn area_path(&self, columns: &[Tick]) -> String {
        let places: Vec<(f64, f64)> = self.places(columns).into_iter().flatten().collect();
        let (Some(first), Some(last)) = (places.first(), places.last()) else {
            return String::new();
        };
        let mut path = format!("M{:.1} {INNER}", first.0);
        for (x, y) in &places {
            let _ = write!(path, "L{x:.1} {y:.2}");
        }
        let _ = write!(path, "L{:.1} {INNER}Z", last.0);
        path
    }

    /// Draws points that a line would not show, and all points if they are few.
    fn marks(&self, columns: &[Tick]) -> Markup {
        let is_few = self.points.len() <= MARKED_COUNT_MAX;
        let around = |index: usize| {
            let before = index.checked_sub(1).and_then(|index| self.points.get(index));
            [before, self.points.get(index + 1)]
        };
        let is_alone =
            |index| around(index).into_iter().flatten().all(|neighbour| neighbour.is_none());
        html! {
            @for (index, (point, column)) in self.points.iter().zip(columns).enumerate() {
                @if let Some(point) = point {
                    @if is_few || is_alone(index) {
                        circle class={ "mark " (self.classes()) } r="3"
                            cx=(percent(column.at)) cy=(percent(1.0 - point.at)) {}
                    }
                }
            }
        }
    }
}
