//! The counts of a workload in the form that a command line asks for.
//!
//! ```text
//!  Shown ─▶ counts │ live bytes over time │ sizes │ lifetimes │ threads │ pools │ stacks
//! ```
//!
//! Design: `.rep.show` in `design/replay.md`.

use super::gather::{Part, Shown};
use super::stacks::StackShown;
use crate::report::of_program;
use cli::Stop;
use cli::table::{Around, Cell, Column, Form, Sheet, Table, count, size, text, time};
use cli::units::{bytes, nanoseconds, number};
use eventlog::format::text::OneLine;
use serde_json::json;
use std::fmt::Write as _;

const BAR_WIDTH: u64 = 40;
/// The number of lines for live bytes over time, for people.
const LIVE_COUNT: usize = 16;
/// The maximum number of threads and pools that people see.
const PART_COUNT_MAX: usize = 16;
const FRAME_COUNT_MAX: usize = 12;

/// Returns the counts in a form; CSV has the sizes.
pub(crate) fn answer(
    shown: &Shown,
    modified: &str,
    stack_count: usize,
    form: &Form,
) -> Result<Vec<u8>, Stop> {
    let mut around = Around { facts: json!(shown), ..Around::default() };
    if !modified.is_empty() {
        let _ = writeln!(around.before, "modified: {modified}");
    }
    counts(shown, &mut around.before);
    if let Some(of_program) = of_program(&shown.subject) {
        let _ = writeln!(around.before, "{}", OneLine(of_program.as_bytes()));
    }
    let titled = |name, title: &str, table| {
        Sheet::new(name, table).between(format!("\n{title}\n"), String::new())
    };
    let (sizes, lifetimes) = (&shown.subject.sizes, &shown.subject.lifetimes);
    let most = "the most live bytes in each stretch of time";
    let mut sheets = vec![
        titled("live", most, live(shown, form.is_text())).whole(),
        titled("sizes", "sizes", histogram(size("up to"), sizes)),
        titled("lifetimes", "lifetimes", histogram(time("up to"), lifetimes)),
        Sheet::new("threads", parts("thread", &shown.threads)).most(PART_COUNT_MAX),
    ];
    if shown.pools.len() > 1 || !form.is_text() {
        sheets.push(Sheet::new("pools", parts("pool", &shown.pools)).most(PART_COUNT_MAX));
    }
    let sorts: [Sort; 4] = [
        ("bytes at the peak", |shown| shown.peak_bytes),
        ("bytes allocated", |shown| shown.bytes),
        ("allocations", |shown| shown.count),
        ("bytes left at the end", |shown| shown.left_bytes),
    ];
    for sort in sorts {
        stacks(sort, &shown.stacks, stack_count, &mut around.after);
    }
    form.answer_all("sizes", sheets, around)
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

fn bar(value: u64, greatest: u64) -> Cell {
    let width = u128::from(value) * u128::from(BAR_WIDTH) / u128::from(greatest.max(1));
    "█".repeat(width as usize).into()
}

/// Returns live bytes over time; people see fewer stretches.
fn live(shown: &Shown, is_text: bool) -> Table<'static> {
    let mut table = Table::new([time("from"), size("live"), text("").for_people()]);
    let step = if is_text { shown.live.len().div_ceil(LIVE_COUNT).max(1) } else { 1 };
    for points in shown.live.chunks(step) {
        let greatest = points.iter().map(|point| point.1).max().unwrap_or(0);
        let from = points.first().map_or(0, |point| point.0);
        table.row([from.into(), greatest.into(), bar(greatest, shown.subject.live_peak)]);
    }
    table
}

fn histogram(class: Column<'static>, counts: &[(u64, u64)]) -> Table<'static> {
    let mut table = Table::new([class, count("count"), text("").for_people()]);
    let greatest = counts.iter().map(|count| count.1).max().unwrap_or(0);
    for (value, count) in counts {
        table.row([(*value).into(), (*count).into(), bar(*count, greatest)]);
    }
    table
}

/// Returns what threads or pools did, those with the most bytes first.
fn parts(what: &'static str, parts: &[Part]) -> Table<'static> {
    let counts = [what, "allocations", "reallocations", "frees"].map(count);
    let mut table = Table::new(counts.into_iter().chain([size("requested")]));
    let mut sorted: Vec<&Part> = parts.iter().collect();
    sorted.sort_by_key(|part| std::cmp::Reverse(part.bytes));
    for part in sorted {
        let Part { index, allocation_count, reallocation_count, free_count, bytes } = *part;
        let numbers = [index.into(), allocation_count, reallocation_count, free_count, bytes];
        table.row(numbers.map(Cell::from));
    }
    table
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
