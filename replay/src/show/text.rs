//! Prints the counts of a workload for people.
//!
//! ```text
//!  Shown ─▶ counts │ live bytes over time │ sizes │ lifetimes │ threads │ pools │ stacks
//! ```
//!
//! Design: `.rep.show` in `design/replay.md`.

use super::gather::{Part, Shown};
use super::stacks::StackShown;
use crate::report::of_program;
use cli::table::Table;
use cli::units::{Unit, bytes, nanoseconds, number};
use eventlog::format::text::OneLine;
use std::fmt::Write as _;
use std::io::{self, Write};

const BAR_WIDTH: u64 = 40;
/// The number of lines for live bytes over time.
const LIVE_COUNT: usize = 16;
/// The maximum number of threads and pools that are printed.
const PART_COUNT_MAX: usize = 16;
const FRAME_COUNT_MAX: usize = 12;

pub(crate) fn write(
    shown: &Shown,
    modified: &str,
    stack_count: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut text = String::new();
    if !modified.is_empty() {
        let _ = writeln!(text, "modified: {modified}");
    }
    counts(shown, &mut text);
    live(shown, &mut text);
    if let Some(of_program) = of_program(&shown.subject) {
        let _ = writeln!(text, "{}", OneLine(of_program.as_bytes()));
    }
    histogram("sizes", &shown.subject.sizes, Unit::Bytes, &mut text);
    histogram("lifetimes", &shown.subject.lifetimes, Unit::Nanoseconds, &mut text);
    parts("thread", &shown.threads, &mut text);
    if shown.pools.len() > 1 {
        parts("pool", &shown.pools, &mut text);
    }
    let sorts: [Sort; 4] = [
        ("bytes at the peak", |shown| shown.peak_bytes),
        ("bytes allocated", |shown| shown.bytes),
        ("allocations", |shown| shown.count),
        ("bytes left at the end", |shown| shown.left_bytes),
    ];
    for sort in sorts {
        stacks(sort, &shown.stacks, stack_count, &mut text);
    }
    out.write_all(text.as_bytes())
}

type Sort = (&'static str, fn(&StackShown) -> u64);

fn counts(shown: &Shown, text: &mut String) {
    let subject = &shown.subject;
    let mut line = |what: &str, value: String| {
        let _ = writeln!(text, "{what:<22}{value}");
    };
    line("allocations", number(subject.allocation_count));
    line("reallocations", number(subject.reallocation_count));
    let cross = match shown.cross_thread_free_count {
        0 => String::new(),
        count => format!(", {} by another thread", number(count)),
    };
    line("frees", number(subject.free_count) + &cross);
    line("threads", number(u64::from(subject.thread_count)));
    if subject.pool_count > 1 {
        line("pools", number(u64::from(subject.pool_count)));
    }
    line("duration", nanoseconds(subject.duration_ns as f64));
    line("bytes requested", bytes(subject.bytes_allocated as f64));
    let (count, when) = (number(shown.live_peak_count), nanoseconds(shown.live_peak_ns as f64));
    line(
        "live at the peak",
        format!("{} in {count} objects, at {when}", bytes(subject.live_peak as f64)),
    );
    let (count, left) = (number(subject.left_count), bytes(subject.left_bytes as f64));
    line("left at the end", format!("{left} in {count} objects"));
    for (what, count) in &subject.skipped {
        let _ = writeln!(text, "note: {} {what}", number(*count));
    }
}

fn bar(value: u64, greatest: u64) -> String {
    let width = u128::from(value) * u128::from(BAR_WIDTH) / u128::from(greatest.max(1));
    "█".repeat(width as usize)
}

fn live(shown: &Shown, text: &mut String) {
    let step = shown.live.len().div_ceil(LIVE_COUNT).max(1);
    let _ = writeln!(text, "\nlive bytes over time: the most in each stretch from");
    for points in shown.live.chunks(step) {
        let greatest = points.iter().map(|point| point.1).max().unwrap_or(0);
        let from = points.first().map_or(0, |point| point.0);
        let bar = bar(greatest, shown.subject.live_peak);
        let _ = writeln!(
            text,
            "{:>12} {:>10}  {bar}",
            nanoseconds(from as f64),
            bytes(greatest as f64)
        );
    }
}

fn histogram(title: &str, counts: &[(u64, u64)], unit: Unit, text: &mut String) {
    if counts.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{title}: up to, count");
    let greatest = counts.iter().map(|count| count.1).max().unwrap_or(0);
    for (value, count) in counts {
        let line = format!(
            "{:>12} {:>14}  {}",
            unit.round(*value as f64),
            number(*count),
            bar(*count, greatest)
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

fn parts(what: &str, parts: &[Part], text: &mut String) {
    let mut table = Table::new(0, &["", what, "allocations", "reallocations", "frees", "bytes"]);
    let mut sorted: Vec<&Part> = parts.iter().collect();
    sorted.sort_by_key(|part| std::cmp::Reverse(part.bytes));
    for part in sorted.iter().take(PART_COUNT_MAX) {
        let counts = [part.allocation_count, part.reallocation_count, part.free_count].map(number);
        let [allocations, reallocations, frees] = counts;
        let (index, bytes) = (part.index.to_string(), bytes(part.bytes as f64));
        table.row(vec![String::new(), index, allocations, reallocations, frees, bytes]);
    }
    let _ = write!(text, "\n{table}");
    if let Some(more) = sorted.len().checked_sub(PART_COUNT_MAX + 1) {
        let _ = writeln!(text, "  and {} more", more + 1);
    }
}

fn stacks((what, key): Sort, stacks: &[StackShown], count: usize, text: &mut String) {
    let mut sorted: Vec<&StackShown> = stacks.iter().filter(|shown| key(shown) > 0).collect();
    if sorted.is_empty() {
        return;
    }
    sorted.sort_by_key(|shown| std::cmp::Reverse(key(shown)));
    let _ = writeln!(text, "\ncall stacks with the most {what}");
    for shown in sorted.iter().take(count) {
        let at_peak = match shown.peak_count {
            0 => String::new(),
            count => format!(
                ", {} of them live at the peak with {}",
                number(count),
                bytes(shown.peak_bytes as f64)
            ),
        };
        let left = match shown.left_count {
            0 => String::new(),
            left => {
                format!(", {} of them left with {}", number(left), bytes(shown.left_bytes as f64))
            }
        };
        let (allocated, objects) = (bytes(shown.bytes as f64), number(shown.count));
        let _ = writeln!(text, "  {allocated} in {objects} objects{at_peak}{left}");
        for frame in shown.frames.iter().take(FRAME_COUNT_MAX) {
            let _ = writeln!(text, "      {frame}");
        }
        if shown.frames.len() > FRAME_COUNT_MAX {
            let _ = writeln!(text, "      … {} more", shown.frames.len() - FRAME_COUNT_MAX);
        }
    }
}
