//! Bar charts, one row a heap: throughput, and memory that is left.
//!
//! ```text
//!  system    ███████████████├─┤        34.2 M/s
//!  mimalloc  ██████████████████████├┤  51.0 M/s      the mark: from the least run to the greatest
//! ```
//!
//! Design: `.rep.page` in `design/replay.md`.

use super::chart::{heap_classes, percent};
use super::scale::Scale;
use super::summary::Spread;
use super::tables::{Parts, short_name};
use cli::units::{NOTHING, Unit, bytes, wait};
use maud::{Markup, html};

/// Draws operations a second.
pub(super) fn throughput(parts: Parts<'_>) -> Markup {
    let most = parts.summaries.iter().filter_map(|summary| summary.ops_per_s).map(|of| of.most);
    let scale = Scale::linear(most);
    let text = |value: f64| format!("{}/s", Unit::Count.text(value));
    html! {
        figure.bars {
            figcaption {
                b { "Throughput" } " "
                span.soft { "operations a second; the mark: from the least run to the greatest" }
            }
            @for (index, (heap, summary)) in parts.heaps().enumerate() {
                div class={ "bar " (heap_classes(index)) } {
                    span.name title=(heap.name) { (short_name(heap)) }
                    @if let Some(rate) = summary.ops_per_s {
                        svg aria-hidden="true" {
                            rect.fill x="0" y="15%" height="70%"
                                width=(percent(scale.place(rate.median))) {}
                            (range(rate, scale))
                        }
                        span.value title={ (text(rate.least)) " to " (text(rate.most)) } {
                            (text(rate.median))
                        }
                    } @else {
                        svg aria-hidden="true" {}
                        span.value { (NOTHING) }
                    }
                }
            }
        }
    }
}

/// Draws the mark from the least run to the greatest.
fn range(of: Spread, scale: Scale) -> Markup {
    let [least, most] = [of.least, of.most].map(|value| percent(scale.place(value)));
    html! {
        @if least != most {
            line.range x1=(least) x2=(most) y1="50%" y2="50%" {}
            line.range x1=(least) x2=(least) y1="30%" y2="70%" {}
            line.range x1=(most) x2=(most) y1="30%" y2="70%" {}
        }
    }
}

/// Draws the peak of resident memory, and the memory that is left after all was freed.
pub(super) fn left(parts: Parts<'_>) -> Markup {
    let times = parts.after_times();
    let peaks = parts.summaries.iter().filter_map(|summary| summary.resident_peak);
    let after = parts.summaries.iter().flat_map(|summary| &summary.after).map(|(_, of)| *of);
    let scale = Scale::linear(peaks.chain(after).map(|of| of.median));
    let shade = |index: usize| format!("fill s{}", (index + 1).min(3));
    html! {
        figure.bars.left {
            figcaption {
                b { "Memory given back" } " "
                span.soft { "resident at the peak (light), and after all was freed: "
                    @for (index, ms) in times.iter().enumerate() {
                        @if index > 0 { ", " }
                        (wait(*ms))
                    }
                }
            }
            @for (index, (heap, summary)) in parts.heaps().enumerate() {
                div class={ "bar " (heap_classes(index)) } {
                    span.name title=(heap.name) { (short_name(heap)) }
                    svg aria-hidden="true" {
                        @if let Some(peak) = summary.resident_peak {
                            rect.fill.s0 x="0" y="10%" height="80%"
                                width=(percent(scale.place(peak.median))) {}
                        }
                        @for (index, ms) in times.iter().enumerate() {
                            @if let Some(of) = summary.after_at(*ms) {
                                @let height = 60.0 / times.len() as f64;
                                rect class=(shade(index)) x="0"
                                    y=(format!("{:.1}%", 20.0 + index as f64 * height))
                                    height=(format!("{height:.1}%"))
                                    width=(percent(scale.place(of.median))) {}
                            }
                        }
                    }
                    span.value {
                        @match (summary.resident_peak, summary.after.last()) {
                            (Some(peak), Some((_, last))) => {
                                (bytes(peak.median)) " → " (bytes(last.median))
                            }
                            (Some(peak), None) => (bytes(peak.median)),
                            _ => (NOTHING),
                        }
                    }
                }
            }
        }
    }
}
