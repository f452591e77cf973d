//! Writes the results as a page: one file, which makes no network requests.
//!
//! ```text
//!  Measured ─ curves, histograms ─▶ SVG ─┐
//!             tables ────────────────────┼──▶ the kit of `cli` ──▶ page.html, whose script shows
//!             page.css, page.js ─────────┘    the values under the pointer
//! ```
//!
//! Design: `.rep.page` in `design/replay.md`.

use super::answer::of_program;
use super::curves;
use super::histogram::histogram;
use super::tables::{NOISE, NOT_IN_TIMES, Parts, short_name, trouble};
use crate::measured::{HeapMeasured, Measured, Subject};
use cli::page::chart::{self, legend, series, toggles};
use cli::page::{self, Page, scroll};
use cli::units::{Unit, bytes, nanoseconds, number};
use maud::{Markup, html};
use std::io::{self, Write};

const STYLE: &str = include_str!("page.css");

/// Writes the page. Without heaps it shows the workload.
pub fn page(measured: &Measured, out: &mut dyn Write) -> io::Result<()> {
    let words = [&*measured.mode, &measured.machine];
    let page = Page {
        title: &measured.workload.name,
        about: &words.into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>().join(" · "),
        styles: &[chart::STYLE, STYLE, &toggles(measured.heaps.len())],
        scripts: &[chart::SCRIPT],
        body: body(&Parts::new(measured)),
        data: None,
    };
    page.write(out)
}

fn body(parts: &Parts<'_>) -> Markup {
    let measured = parts.measured;
    html! {
        (page::facts(facts(measured)))
        (troubles(measured))
        @if let Some(of_program) = of_program(&measured.workload) {
            p.soft { (of_program) }
        }
        @if !measured.heaps.is_empty() {
            (legend("Heaps that are shown", measured.heaps.iter().map(names)))
            section aria-label="Time" {
                h2 { "Time" }
                (scroll(&parts.time(), series))
                (curves::quantiles(parts).draw())
                details { summary { "All latencies" } (latencies(parts)) }
            }
            section aria-label="Memory" {
                h2 { "Memory" }
                div.columns {
                    (curves::memory(parts).draw()) (curves::fragmentation(parts).draw())
                }
                (scroll(&parts.memory(), series))
                @if let Some(note) = parts.of_program() { p.soft { (note) } }
                (scroll(&parts.left(), series))
            }
        }
        (workload(&measured.workload))
        @if !measured.heaps.is_empty() { (notes(measured)) }
        div id="tip" role="status" hidden {}
    }
}

fn names(heap: &HeapMeasured) -> (&str, &str) {
    (&heap.name, short_name(heap))
}

fn facts(measured: &Measured) -> Vec<(&'static str, String, bool)> {
    let subject = &measured.workload;
    let duration = match subject.duration_ns {
        0 => "unknown".to_owned(),
        ns => nanoseconds(ns as f64),
    };
    let threads = if subject.thread_count == 1 { "thread" } else { "threads" };
    // A workload that was not played has no loop.
    let of_loop = (!measured.heaps.is_empty())
        .then(|| ("the loop, an operation", nanoseconds(measured.loop_ns)));
    let facts = [
        ("operations", number(subject.parts().iter().sum())),
        (threads, number(subject.thread_count.into())),
        ("allocated", bytes(subject.bytes_allocated as f64)),
        ("peak of live bytes", bytes(subject.live_peak as f64)),
        ("the program took", duration),
    ];
    facts.into_iter().chain(of_loop).map(|(name, value)| (name, value, false)).collect()
}

/// Writes the heaps that did less than the others, and the skipped parts of the log.
fn troubles(measured: &Measured) -> Markup {
    let heaps = measured.heaps.iter();
    html! {
        @for (heap, why) in heaps.filter_map(|heap| Some((heap, trouble(heap)?))) {
            p.warn role="alert" { b { (heap.name) } ": " (why) }
        }
        @if !measured.workload.skipped.is_empty() {
            p.soft {
                b { "Not as recorded: " }
                @for (index, (what, count)) in measured.workload.skipped.iter().enumerate() {
                    @if index > 0 { ", " }
                    (what) ": " (number(*count))
                }
            }
        }
    }
}

/// Writes all latencies. A row belongs to the heap that it names.
fn latencies(parts: &Parts<'_>) -> Markup {
    let (table, heaps) = parts.latencies();
    scroll(&table, |row| heaps.get(row).copied().map_or_else(String::new, series))
}

fn workload(subject: &Subject) -> Markup {
    html! {
        section aria-label="Workload" {
            h2 { "The workload" }
            p {
                (number(subject.allocation_count)) " allocations, "
                (number(subject.reallocation_count)) " reallocations, "
                (number(subject.free_count)) " frees"
                @if subject.pool_count > 1 { ", in " (number(subject.pool_count.into())) " pools" }
                "; at the end " (number(subject.left_count)) " objects ("
                (bytes(subject.left_bytes as f64)) ") were left."
            }
            div.columns {
                (histogram("Sizes", "objects, by their size up to", &subject.sizes, Unit::Bytes))
                (histogram("Lifetimes", "objects, by how long they lived, up to",
                    &subject.lifetimes, Unit::Nanoseconds))
            }
        }
    }
}

fn notes(measured: &Measured) -> Markup {
    html! {
        footer.soft {
            p {
                "Of several runs, times are those of the fastest run, and memory is the median. "
                "Spread: from the least to the greatest. " (NOISE) ". " (NOT_IN_TIMES)
                ". ns/op is the duration over "
                "the number of operations of all threads"
                @if measured.is_paced {
                    ", with the waits for recorded times"
                } @else {
                    "; net is ns/op less the " (nanoseconds(measured.loop_ns)) " of the loop "
                    "itself, measured against a heap that does nothing"
                }
                @if measured.clock_ns > 0.0 {
                    ". Latencies come from one more run of each heap, less the "
                    (nanoseconds(measured.clock_ns)) " of reading the counter"
                }
                ". cpu: processor time of all threads, without waits for each other. Memory is \
                 all that a heap takes, with its start-up. over live peak: peak of resident over \
                 peak of live bytes. program: the predicted peak of the whole program with this \
                 heap."
            }
        }
    }
}
