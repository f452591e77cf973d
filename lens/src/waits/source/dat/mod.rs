//! trace.dat of `trace-cmd record`, versions 6 and 7, to rows.
//!
//! ```text
//!  head ── 6: all in one order │ 7: options ──▶ sections ─┐
//!  pages of each processor, plain or in chunks ───────────┴─ the oldest page ──▶ ring ──▶ rows
//! ```
//!
//! Design: `.waits.dat` in `design/waits.md`.

mod chunks;
mod head;
mod options;
mod version6;

use super::import::{Clock, Identity, ImportError, Imported, Place, origin};
use super::ring::Ring;
use crate::waits::output::Output;
use chunks::Pages;
use eventlog::format::ClockSource;
use eventlog::reader::Source;
use eventlog::writer::Origin;
use head::Head;
use std::collections::HashSet;
use std::io::Write;

/// Pages of each processor that are looked at before all are read.
const LOOK_COUNT: usize = 64;

/// Makes a log of a trace.dat.
///
/// # Errors
///
/// Fails if the source cannot be read, the log cannot be written, the source is the text that
/// `trace-cmd` takes of a latency tracer, or its head is damaged. Damage after that is a fault, and
/// the log has the rows of what is sound.
pub fn import(
    source: &dyn Source,
    identity: Identity,
    out: &mut dyn Write,
) -> Result<Imported, ImportError> {
    let mut done = Imported::default();
    let head = Head::read(source, &mut done)?;
    let mut origin = origin(identity, "trace-cmd record");
    done.clock = set_clock(&mut origin, &head);
    let mut out = Output::new(out, &origin)?;
    let layout = head.layout();
    let mut tracepoints = head.tracepoints(&recorded(source, &head)?);
    let mut ring = Ring::new(layout);
    let mut cpus = Vec::new();
    for cpu in &head.cpus {
        let mut pages = Pages::new(source, cpu, head.codec, layout.page_size);
        if pages.advance(&mut done)? {
            cpus.push(pages);
        }
    }
    let mut is_first = true;
    // The page that begins first is next.
    while let Some(next) = next(&cpus, &layout) {
        let Some(pages) = cpus.get_mut(next) else { break };
        if std::mem::take(&mut is_first) {
            let ticks = layout.open(pages.page()).map_or(0, |page| page.begin());
            for (thread, name) in head.names() {
                out.thread(ticks, thread, 0, name)?;
            }
        }
        let before = ring.counts();
        ring.page(&mut tracepoints, &mut out, pages.cpu(), pages.page(), &mut |_, _| {})?;
        let counts = ring.counts();
        if counts.damaged_pages > before.damaged_pages {
            let what = format!("a page of processor {} is damaged", pages.cpu());
            done.fault(Place::Offset(pages.offset()), what);
        } else if counts.damaged > before.damaged {
            let what = format!("a page of processor {} has records cut short", pages.cpu());
            done.fault(Place::Offset(pages.offset()), what);
        }
        if !pages.advance(&mut done)? {
            cpus.swap_remove(next);
        }
    }
    let end = ring.counts().last;
    for stats in head.stats() {
        ring.settle(&mut tracepoints, &mut out, stats, end, false)?;
    }
    ring.finish(&mut tracepoints, &mut out)?;
    let counts = ring.counts();
    (done.known_count, done.unknown_count) = (counts.known, counts.unknown);
    done.damaged_count = counts.damaged;
    done.leave_out(tracepoints.left_out());
    done.lost_count = counts.lost.max(counts.gaps);
    done.made = out.finish()?;
    Ok(done)
}

/// Returns the numbers of the tracepoints in the first pages. The head describes all tracepoints of
/// the kernel, recorded or not.
fn recorded(source: &dyn Source, head: &Head) -> Result<HashSet<u16>, ImportError> {
    let (layout, mut ids) = (head.layout(), HashSet::new());
    // Damage is reported when all pages are read.
    let mut ignored = Imported::default();
    for cpu in &head.cpus {
        let mut pages = Pages::new(source, cpu, head.codec, layout.page_size);
        for _ in 0..LOOK_COUNT {
            if !pages.advance(&mut ignored)? {
                break;
            }
            let records = layout.open(pages.page()).into_iter().flatten();
            let bytes = records.filter_map(|record| record.bytes.get(..2));
            ids.extend(bytes.filter_map(|id| layout.machine.number(id)).map(|id| id as u16));
        }
    }
    Ok(ids)
}

/// Returns the processor whose next page begins first. A page without a meaning is next at once.
fn next(cpus: &[Pages<'_>], layout: &super::page::Layout) -> Option<usize> {
    let begin = |pages: &Pages<'_>| layout.open(pages.page()).map_or(0, |page| page.begin());
    let begins = cpus.iter().enumerate().map(|(index, pages)| (begin(pages), pages.cpu(), index));
    begins.min().map(|(_, _, index)| index)
}

/// States the clock in the header of the log.
fn set_clock(origin: &mut Origin, head: &Head) -> Clock {
    match head.clock() {
        b"mono" => Clock::Monotonic,
        b"x86-tsc" => {
            origin.clock_source = ClockSource::Tsc;
            origin.clock_rate = head.rate;
            Clock::Counter
        }
        // USER_HZ of Linux.
        b"uptime" => {
            (origin.clock_source, origin.clock_rate) = (ClockSource::C, 100);
            Clock::Own
        }
        // It counts events: the log has an order and no times.
        b"counter" => {
            (origin.clock_source, origin.clock_rate) = (ClockSource::C, 0);
            Clock::Own
        }
        _ => Clock::Own,
    }
}
