//! Writes the results as a page: one file, which makes no network requests.
//!
//! ```text
//!  Measured ─ curves, histograms ─▶ SVG ─┐
//!             tables ─▶ HTML ──────────────────┼──▶ page.html
//!             page.css, page.js ───────────────┘    complete without its script, which adds
//! ```                                               the values under the pointer
//!
//! Design: `.rep.page` in `design/replay.md`.

use super::chart::heap_classes;
use super::curves;
use super::histogram::histogram;
use super::summary::Summary;
use super::table::of_program;
use super::tables::{Columns, NOISE, NOT_IN_TIMES, Parts, quantile, short_name, trouble};
use crate::measured::{HeapMeasured, Measured, Quantiles, Subject};
use cli::units::{Unit, bytes, nanoseconds, number};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::io::{self, Write};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Writes the page. Without heaps it shows the workload.
pub fn page(measured: &Measured, out: &mut dyn Write) -> io::Result<()> {
    let summaries = Summary::of_all(measured);
    let body = body(Parts { measured, summaries: &summaries }).into_string();
    // A text in the page cannot foresee the nonce of the page's own style and script.
    let mut hasher = DefaultHasher::new();
    body.hash(&mut hasher);
    let nonce = format!("{:016x}", hasher.finish());
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; \
         base-uri 'none'; form-action 'none'"
    );
    let toggles = toggles(measured.heaps.len());
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="referrer" content="no-referrer";
                title { (measured.workload.name) " – replay" }
                style nonce=(nonce) { (PreEscaped(STYLE)) (PreEscaped(toggles)) }
            }
            body {
                (PreEscaped(body))
                script nonce=(nonce) { (PreEscaped(SCRIPT)) }
            }
        }
    };
    out.write_all(page.into_string().as_bytes())?;
    out.write_all(b"\n")
}

/// Returns the rules that hide a heap whose box in the legend is not checked.
fn toggles(heap_count: usize) -> String {
    let rule =
        |heap| format!(":root:has(#heap{heap}:not(:checked)) .h{heap} {{ display: none }}\n");
    (0..heap_count).map(rule).collect()
}

fn body(parts: Parts<'_>) -> Markup {
    let measured = parts.measured;
    html! {
        main {
            (heading(measured))
            (facts(measured))
            (troubles(measured))
            @if let Some(of_program) = of_program(&measured.workload) {
                p.soft { (of_program) }
            }
            @if !measured.heaps.is_empty() {
                (legend(&measured.heaps))
                section aria-label="Time" {
                    h2 { "Time" }
                    (columns(parts.time(), true))
                    (curves::quantiles(parts).draw())
                    details { summary { "All latencies" } (latencies(measured)) }
                }
                section aria-label="Memory" {
                    h2 { "Memory" }
                    div.pair {
                        (curves::memory(parts).draw()) (curves::fragmentation(parts).draw())
                    }
                    (columns(parts.memory(), true))
                    @if let Some(note) = parts.of_program() { p.soft { (note) } }
                    (columns(parts.left(), true))
                }
            }
            (workload(&measured.workload))
            @if !measured.heaps.is_empty() { (notes(measured)) }
            div id="tip" role="status" hidden {}
        }
    }
}

fn heading(measured: &Measured) -> Markup {
    html! {
        header {
            h1 { (measured.workload.name) }
            label.theme { input type="checkbox" id="theme"; "Dark or light" }
        }
        p.soft {
            (measured.mode)
            @if !measured.mode.is_empty() && !measured.machine.is_empty() { " · " }
            (measured.machine)
        }
    }
}

fn facts(measured: &Measured) -> Markup {
    let subject = &measured.workload;
    let duration = match subject.duration_ns {
        0 => "unknown".to_owned(),
        ns => nanoseconds(ns as f64),
    };
    let threads = if subject.thread_count == 1 { "thread" } else { "threads" };
    let facts = [
        ("operations", number(subject.parts().iter().sum())),
        (threads, number(subject.thread_count.into())),
        ("allocated", bytes(subject.bytes_allocated as f64)),
        ("peak of live bytes", bytes(subject.live_peak as f64)),
        ("the program took", duration),
    ];
    // A workload that was not played has no loop.
    let of_loop = (!measured.heaps.is_empty())
        .then(|| ("the loop, an operation", nanoseconds(measured.loop_ns)));
    html! {
        div.facts {
            @for (name, value) in facts.into_iter().chain(of_loop) {
                div.fact { b { (value) } span.soft { (name) } }
            }
        }
    }
}

/// Writes the heaps that did less than the others, and the skipped parts of the log.
fn troubles(measured: &Measured) -> Markup {
    let heaps = measured.heaps.iter();
    html! {
        @for (heap, why) in heaps.filter_map(|heap| Some((heap, trouble(heap)?))) {
            p.bad role="alert" { b { (heap.name) } ": " (why) }
        }
        @if !measured.workload.skipped.is_empty() {
            p.note {
                b { "Not as recorded: " }
                @for (index, (what, count)) in measured.workload.skipped.iter().enumerate() {
                    @if index > 0 { ", " }
                    (what) ": " (number(*count))
                }
            }
        }
    }
}

fn legend(heaps: &[HeapMeasured]) -> Markup {
    html! {
        div.legend role="group" aria-label="Heaps that are shown" {
            @for (index, heap) in heaps.iter().enumerate() {
                @let id = format!("heap{index}");
                // The entry does not have the class that it hides.
                label class=(heap_classes(index).replacen(&format!("h{index}"), "entry", 1))
                    for=(id) {
                    input type="checkbox" id=(id) checked;
                    svg.key aria-hidden="true" { line.line x1="0" x2="100%" y1="50%" y2="50%" {} }
                    span title=(heap.name) { (short_name(heap)) }
                }
            }
        }
    }
}

/// Writes a table; its rows may belong to heaps.
fn columns(of: Columns, is_by_heap: bool) -> Markup {
    let row_class = |index| if is_by_heap { heap_classes(index) } else { String::new() };
    html! {
        div.scroll {
            table {
                thead { tr { @for cell in &of.heading { th scope="col" { (cell) } } } }
                tbody {
                    @for (index, row) in of.rows.iter().enumerate() {
                        tr class=(row_class(index)) {
                            @for (index, cell) in row.iter().enumerate() {
                                @if index == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn latencies(measured: &Measured) -> Markup {
    let heading = ["of", "count", "mean", "p50", "p99", "p99.9", "max"];
    let row = |name: String, of: &Quantiles| {
        let mean = if of.count > 0 { nanoseconds(of.mean) } else { "–".to_owned() };
        let mut row = vec![name, number(of.count), mean];
        let which: [fn(&Quantiles) -> u64; 4] = [|q| q.p50, |q| q.p99, |q| q.p999, |q| q.max];
        row.extend(which.map(|which| quantile(of, which)));
        row
    };
    html! {
        @for (index, heap) in measured.heaps.iter().enumerate() {
            @let of = &heap.latency;
            @let all = [row("all operations".to_owned(), &of.all)];
            @let free = [row("frees".to_owned(), &of.free)];
            @let by_size = of.by_size.iter().map(|(size, of)| {
                row(format!("allocations up to {}", Unit::Bytes.round(*size as f64)), of)
            });
            @let rows = all.into_iter().chain(free).chain(by_size);
            div class=(heap_classes(index)) {
                h3 { (heap.name) }
                (columns(Columns::new(heading, rows), false))
            }
        }
    }
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
            div.pair {
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
