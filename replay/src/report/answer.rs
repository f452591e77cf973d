//! The results in the form that a command line asks for.
//!
//! ```text
//!  Measured ─┬─ words: the workload, the mode, the machine, what went wrong ─┐
//!            └─ tables.rs: time, memory, what is left, latencies ────────────┴──▶ text, CSV, JSON
//! ```
//!
//! JSON has all of [`Measured`] next to the rows, and can be read back as such. Design:
//! `.rep.report`, `.rep.json` in `design/replay.md`.

use super::tables::{NOISE, NOT_IN_TIMES, Parts, trouble};
use crate::measured::{Measured, Subject};
use cli::Stop;
use cli::table::{Around, Form};
use cli::units::{bytes, counted_in_groups, nanoseconds, number};
use eventlog::format::text::OneLine;
use serde_json::json;
use std::fmt::{Result, Write};

/// The version of the JSON. New fields leave it; a changed or removed field raises it.
const FORMAT: u32 = 2;

/// Returns the results in a form; CSV has the times.
///
/// # Errors
///
/// The times lack the column of `--sort`.
pub fn answer(measured: &Measured, form: &Form) -> std::result::Result<Vec<u8>, Stop> {
    let parts = Parts::new(measured);
    let mut around = Around { none: "\nno heap was played", ..Around::default() };
    // Writing to a string cannot fail.
    let _ = words(&parts, &mut around.before);
    around.facts = json!(measured);
    around.facts["format"] = json!(FORMAT);
    form.answer_all("time", parts.sheets(), around)
}

/// Writes the workload, how it was played, and failures.
fn words(parts: &Parts<'_>, out: &mut String) -> Result {
    let measured = parts.measured;
    subject(&measured.workload, out)?;
    for (what, text) in [("played", &measured.mode), ("on", &measured.machine)] {
        if !text.is_empty() {
            writeln!(out, "  {what}: {}", line(text))?;
        }
    }
    let part = match measured.is_paced {
        true => "as fast as possible; ns/op includes the waits for recorded times",
        false => "part of ns/op, not of net",
    };
    let loop_time = nanoseconds(measured.loop_ns);
    writeln!(out, "  loop: {loop_time} an operation against the null heap, {part}")?;
    if measured.clock_ns > 0.0 {
        let clock = nanoseconds(measured.clock_ns);
        writeln!(out, "  clock: {clock} a reading, taken from every latency")?;
    }
    for heap in &measured.heaps {
        if let Some(why) = trouble(heap) {
            writeln!(out, "  {} (!): {}", line(&heap.name), line(&why))?;
        }
    }
    if !measured.heaps.is_empty() {
        writeln!(out, "  {NOT_IN_TIMES}")?;
        if parts.has_noise() {
            writeln!(out, "  {NOISE}")?;
        }
    }
    Ok(())
}

fn subject(subject: &Subject, out: &mut String) -> Result {
    let parts = subject.parts();
    writeln!(
        out,
        "{}: {} of {}: {}, {}, {}",
        line(&subject.name),
        counted_in_groups(parts.iter().sum(), "operation"),
        counted_in_groups(subject.thread_count.into(), "thread"),
        counted_in_groups(subject.allocation_count, "allocation"),
        counted_in_groups(subject.reallocation_count, "reallocation"),
        counted_in_groups(subject.free_count, "free"),
    )?;
    write!(
        out,
        "  {} allocated, at most {} live",
        bytes(subject.bytes_allocated as f64),
        bytes(subject.live_peak as f64),
    )?;
    if subject.pool_count > 1 {
        write!(out, ", in {}", counted_in_groups(subject.pool_count.into(), "pool"))?;
    }
    if subject.duration_ns > 0 {
        write!(out, "; the program took {}", nanoseconds(subject.duration_ns as f64))?;
    }
    writeln!(out)?;
    if let Some(of_program) = of_program(subject) {
        writeln!(out, "  {}", line(&of_program))?;
    }
    if subject.left_count > 0 {
        let left = bytes(subject.left_bytes as f64);
        writeln!(
            out,
            "  left at the end: {} ({left})",
            counted_in_groups(subject.left_count, "object")
        )?;
    }
    for (what, count) in &subject.skipped {
        writeln!(out, "  {}: {}", line(what), number(*count))?;
    }
    Ok(())
}

/// Returns memory and processor time of the program, how much of that memory was live, and whose
/// malloc it called.
pub(crate) fn of_program(subject: &Subject) -> Option<String> {
    let program = subject.program.as_ref()?;
    let [user, system] = [program.user_ns, program.system_ns].map(|ns| nanoseconds(ns as f64));
    let times = format!("{user} of processor time and {system} in the kernel, with recording");
    if program.resident_peak == 0 {
        return Some(format!("the program took {times}"));
    }
    let part = subject.live_peak as f64 / program.own_peak().max(1) as f64 * 100.0;
    let malloc = subject.malloc.as_deref().map(|file| format!(" with the malloc of {file}"));
    let recorder = match program.recorder {
        0 => String::new(),
        size => format!(" ({} of the recorder's are taken out)", bytes(size as f64)),
    };
    Some(format!(
        "the program took at most {} of memory{}{recorder}, and live objects explain {part:.0} % \
         of it; {times}",
        bytes(program.own_peak() as f64),
        malloc.unwrap_or_default(),
    ))
}

impl Subject {
    /// Returns the numbers of allocations, reallocations and frees.
    pub(super) fn parts(&self) -> [u64; 3] {
        [self.allocation_count, self.reallocation_count, self.free_count]
    }
}

/// Returns a text from outside on one line, without characters that steer a terminal.
fn line(text: &str) -> String {
    OneLine(text.as_bytes()).to_string()
}
