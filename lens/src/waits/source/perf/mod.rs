//! perf.data to rows: files, and what `perf record -o -` writes to a pipe.
//!
//! ```text
//!  head: attributes, formats ─┐
//!  records ── compressed? ── rounds: by time ──▶ rows
//! ```
//!
//! Design: `.waits.perf` in `design/waits.md`.

mod attrs;
mod head;
mod layout;
mod losses;
mod parts;
mod places;
mod records;
mod rounds;
mod rows;
mod zstd;

use super::cursor::Cursor;
use super::description::{Description, Head as DescriptionHead};
use super::format::Machine;
use super::import::{Clock, Identity, ImportError, Imported, Input, Place, origin};
use super::switches::Switches;
use crate::waits::output::Output;
use attrs::{Attrs, Conversion};
use eventlog::format::ClockSource;
use eventlog::reader::Source;
use eventlog::writer::Origin;
use head::Head;
use losses::Losses;
use places::Places;
use records::Records;
use rows::{Has, Rows};
use std::collections::HashMap;
use std::io::Write;

/// Bytes of the description of tracepoints in a pipe, at most.
const DESCRIPTION_SIZE_MAX: usize = 64 << 20;
/// Records before the first sample that tell facts, at most.
const EARLY_COUNT_MAX: usize = 1 << 16;
/// CLOCK_MONOTONIC.
const MONOTONIC: u32 = 1;
/// What a source lacks whose switches do not tell where.
const NO_PROCESSORS: &str = "its records do not tell their processors: a thread that runs takes \
                             the first number that is free; record with --sample-cpu";

/// Makes a log of a perf.data, or of what `perf record` wrote to a pipe.
///
/// # Errors
///
/// Fails as [`import_parts`] does.
pub fn import(
    source: &dyn Source,
    identity: Identity,
    out: &mut dyn Write,
) -> Result<Imported, ImportError> {
    import_parts(source, &[], identity, out)
}

/// Returns whether two sources are files of one recording, as `perf record --switch-output` makes
/// them: their events have the same numbers.
pub fn are_of_one_recording(one: &dyn Source, other: &dyn Source) -> bool {
    let attrs = |source| Head::read(source, &mut Imported::default()).map(|head| head.attrs);
    let (Ok(one), Ok(other)) = (attrs(one), attrs(other)) else { return false };
    let has_numbers = one.iter().any(|attr| !attr.ids.is_empty());
    has_numbers && one.len() == other.len() && one.iter().zip(&other).all(|(a, b)| a.ids == b.ids)
}

/// Makes a log of several files: of a folder of `perf record --threads`, whose file `data` is the
/// source, and whose `data.0` and so on are the records of its threads; or of files of one
/// recording.
///
/// # Errors
///
/// Fails if the source cannot be read, the log cannot be written, or the source describes no
/// events. Damage after that is a fault, and the log has the rows before it.
pub fn import_parts(
    source: &dyn Source,
    others: &[&dyn Source],
    identity: Identity,
    out: &mut dyn Write,
) -> Result<Imported, ImportError> {
    let mut done = Imported::default();
    let mut head = Head::read(source, &mut done)?;
    let conversion = early(source, &mut head)?;
    let machine = head.machine;
    let (from, to) = head.records;
    let mut places = vec![(source, from, to)];
    for part in others {
        // The records of a thread have no head.
        let (from, to) = match Head::read(*part, &mut done) {
            Ok(head) => head.records,
            Err(ImportError::Read(error)) => return Err(ImportError::Read(error)),
            Err(_) => (0, part.size()),
        };
        places.push((*part, from, to));
    }
    let has_tracepoints = head.attrs.iter().any(|attr| attr.tracepoint().is_some());
    let description = describe(machine, head.tracing.take(), has_tracepoints, &mut done);
    let attrs = Attrs::new(machine, head.attrs).ok_or_else(|| {
        let what = "the records of perf.data cannot be told apart: they have no identifiers";
        ImportError::Refused(what.into())
    })?;
    let clock = attrs.layouts.first().and_then(|layout| layout.clock);
    let conversion = conversion.filter(|_| clock.is_none());
    let mut origin = origin(identity, "perf record");
    done.clock = set_clock(&mut origin, clock, conversion);
    let mut out = Output::new(out, &origin)?;
    if let Some(sync) = head.sync.filter(|_| done.clock == Clock::Monotonic) {
        out.sync(sync)?;
    }
    if !head.places.learn(&attrs.layouts) {
        done.notes.push(NO_PROCESSORS.into());
    }
    let mut rows = rows(out, &attrs, head.places, &description, conversion);
    parts::read(&places, &mut rows, &mut done)?;
    if done.known_count == 0 && done.fault_count > 0 {
        let fault = done.faults.first().map(|fault| format!(": {fault}")).unwrap_or_default();
        return Err(ImportError::Refused(format!("perf.data has no readable event{fault}")));
    }
    done.made = rows.finish(&mut done)?;
    Ok(done)
}

/// Reads the facts in records before the first sample.
fn early(source: &dyn Source, head: &mut Head) -> Result<Option<Conversion>, ImportError> {
    // Damage is reported when the records are read.
    let mut ignored = Imported::default();
    let (from, to) = head.records;
    let mut records = Records::new(head.machine, Input::new(source, from, to));
    let mut conversion = None;
    for _ in 0..EARLY_COUNT_MAX {
        let Some(header) = records.next(&mut ignored)? else { break };
        let body = records.body(&header);
        let mut cursor = Cursor::new(head.machine, body);
        match header.kind {
            records::SAMPLE | records::COMPRESSED | records::COMPRESSED2 => break,
            records::ATTR if head.is_pipe => {
                // Its own size, after which the numbers come.
                let size = body.get(4..8).and_then(|size| head.machine.number(size));
                let split = size.and_then(|size| body.split_at_checked(size as usize));
                if let Some((attr, ids)) = split {
                    head.attr(attr, ids);
                }
            }
            records::FEATURE => {
                if let Some(feature) = cursor.u64() {
                    head.feature(feature as u32, cursor.rest.to_vec());
                }
            }
            records::TRACING_DATA => {
                head.tracing = Some(records.data(&header, DESCRIPTION_SIZE_MAX)?);
            }
            records::ID_INDEX => head.places.index(cursor),
            records::TIME_CONV => {
                let words = [cursor.u64(), cursor.u64(), cursor.u64()];
                if let [Some(shift), Some(mult @ 1..), Some(zero)] = words {
                    let shift = u32::try_from(shift).unwrap_or(0).min(63);
                    conversion = Some(Conversion { shift, mult, zero });
                }
            }
            _ => {}
        }
    }
    match head.attrs.is_empty() {
        true => Err(ImportError::Refused("perf.data describes no events".into())),
        false => Ok(conversion),
    }
}

/// Returns the description of the tracepoints.
fn describe(
    machine: Machine,
    tracing: Option<Vec<u8>>,
    has_tracepoints: bool,
    done: &mut Imported,
) -> Description {
    let bytes = tracing.unwrap_or_default();
    let mut description = Description::new(machine);
    let is_whole = DescriptionHead::parse(&bytes).and_then(|(head, rest)| {
        description = Description::new(head.machine);
        let mut cursor = Cursor::new(head.machine, rest);
        description.pages(&mut cursor)?;
        description.ftrace(&mut cursor)?;
        description.systems(&mut cursor)?;
        description.functions(&mut cursor)
    });
    if is_whole.is_none() && has_tracepoints {
        let what = "the formats of the tracepoints are missing or cut: events may be left out";
        done.fault(Place::Offset(0), what);
    }
    if description.wrong_count > 0 {
        let what = format!("{} formats of tracepoints have no meaning", description.wrong_count);
        done.fault(Place::Offset(0), what);
    }
    description
}

/// States the clock in the header of the log.
fn set_clock(origin: &mut Origin, clock: Option<u32>, conversion: Option<Conversion>) -> Clock {
    match (clock, conversion) {
        (Some(MONOTONIC), _) => Clock::Monotonic,
        (None, Some(conversion)) => {
            origin.clock_source = ClockSource::Tsc;
            origin.clock_rate = conversion.rate();
            Clock::Counter
        }
        _ => Clock::Own,
    }
}

fn rows<'o, 'a>(
    out: Output<'o>,
    attrs: &'a Attrs,
    places: Places,
    description: &Description,
    conversion: Option<Conversion>,
) -> Rows<'o, 'a> {
    let is_recorded = |id: u16| {
        let mut ids = attrs.layouts.iter().filter_map(|layout| layout.tracepoint());
        ids.any(|recorded| recorded == u64::from(id))
    };
    let formats = description.formats.iter().filter(|format| is_recorded(format.id));
    let formats: Vec<_> = formats.collect();
    let has = |name: &str| formats.iter().any(|format| *format.name == *name);
    let with_stack = formats
        .iter()
        .filter(|format| matches!(&*format.name, "sched_switch" | "sched_waking" | "sched_wakeup"));
    let tells_switches =
        has("sched_switch") || attrs.layouts.iter().any(|layout| layout.has_switches);
    Rows {
        out,
        attrs,
        tracepoints: description.tracepoints(|format| is_recorded(format.id)),
        conversion,
        with_stack: with_stack.map(|format| format.id).collect(),
        has: Has {
            switch: has("sched_switch"),
            fork: has("sched_process_fork"),
            exec: has("sched_process_exec"),
            exit: has("sched_process_exit"),
        },
        switches: Switches::default(),
        is_bound: places.are_bound() && tells_switches,
        aliases: HashMap::default(),
        places,
        frames: Vec::new(),
        losses: Losses::default(),
        others: HashMap::default(),
        timeless_count: 0,
        now: 0,
    }
}
