//! Writes the results for programs: one JSON document.
//!
//! ```text
//!  { "format": 1, "workload": {…}, "mode": …, "loop_ns": …,
//!    "heaps": [ { "name": …, "summary": {…}, "runs": […], "latency": {…}, "timeline": […] } ] }
//! ```
//!
//! Design: `.rep.json` in `design/replay.md`.

use super::summary::Summary;
use crate::measured::{HeapMeasured, Measured, Subject};
use serde::Serialize;
use std::io::{self, Write};

/// The version of the document. New fields leave it; a changed or removed field raises it.
const FORMAT: u32 = 1;

#[derive(Serialize)]
struct Document<'m> {
    format: u32,
    workload: &'m Subject,
    mode: &'m str,
    machine: &'m str,
    is_paced: bool,
    loop_ns: f64,
    clock_ns: f64,
    heaps: Vec<Heap<'m>>,
}

#[derive(Serialize)]
struct Heap<'m> {
    summary: Summary,
    #[serde(flatten)]
    measured: &'m HeapMeasured,
}

/// Writes the document, and a line break. The document can be read as a [`Measured`].
pub fn json(measured: &Measured, out: &mut dyn Write) -> io::Result<()> {
    let summaries = Summary::of_all(measured);
    let heaps = measured.heaps.iter().zip(summaries);
    let document = Document {
        format: FORMAT,
        workload: &measured.workload,
        mode: &measured.mode,
        machine: &measured.machine,
        is_paced: measured.is_paced,
        loop_ns: measured.loop_ns,
        clock_ns: measured.clock_ns,
        heaps: heaps.map(|(measured, summary)| Heap { summary, measured }).collect(),
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    out.write_all(b"\n")
}
