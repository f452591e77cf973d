//! Writes the results for people at a terminal.
//!
//! ```text
//!  sort.ops: 1,234,567 operations of 2 threads: …
//!
//!  heap      ops/s  vs first  ns/op     spread   net    p50    p99
//!  system   34.2 M     1.00×   29.2  28.9–30.1  27.1  21 ns  88 ns
//! ```
//!
//! Design: `.rep.report` in `design/replay.md`.

use super::summary::Summary;
use super::tables::{Columns, NOISE, NOT_IN_TIMES, Parts, trouble};
use crate::measured::{Measured, Subject};
use cli::table::Table;
use cli::units::{bytes, counted_in_groups, nanoseconds, number};
use eventlog::format::text::OneLine;
use std::io::{self, Write};

/// Writes the workload, the tables, and failures.
pub fn table(measured: &Measured, out: &mut dyn Write) -> io::Result<()> {
    let summaries = Summary::of_all(measured);
    let parts = Parts { measured, summaries: &summaries };
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
    if measured.heaps.is_empty() {
        return writeln!(out, "\nno heap was played");
    }
    writeln!(out, "  {NOT_IN_TIMES}")?;
    if parts.has_noise() {
        writeln!(out, "  {NOISE}")?;
    }
    columns("Time", parts.time(), out)?;
    columns("Memory", parts.memory(), out)?;
    if let Some(note) = parts.of_program() {
        writeln!(out, "{}", line(&note))?;
    }
    columns("After all was freed; page faults; allocations that failed", parts.left(), out)?;
    let classes = parts.classes();
    if !classes.rows.is_empty() {
        columns("Allocations by size: p50 · p99.9", classes, out)?;
    }
    Ok(())
}

fn subject(subject: &Subject, out: &mut dyn Write) -> io::Result<()> {
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

fn columns(title: &str, columns: Columns, out: &mut dyn Write) -> io::Result<()> {
    let clean = |row: Vec<String>| row.iter().map(|cell| line(cell)).collect::<Vec<_>>();
    let mut table = Table::new(1, &clean(columns.heading));
    columns.rows.into_iter().for_each(|row| table.row(clean(row)));
    write!(out, "\n{title}\n{table}")
}
