//! The text of `perf script` to rows: the default form, and `-F comm,tid,time,event,trace`.
//!
//! ```text
//!  name 7 [000] 1.000002: sched:sched_switch: prev_comm=…      header and payload
//!      ffffffff821facd8 __schedule+0x618 ([kernel.kallsyms])    frames, the innermost first
//!                                                               an empty line ends them
//! ```
//!
//! A thread's name may have line ends. A line that begins no event continues the payload before it
//! while fields are missing there. Else it begins the name in the line after it.
//!
//! Design: `.waits.script` in `design/waits.md`.

mod frames;
mod header;
mod payload;
mod rows;
mod running;

use super::import::{Identity, ImportError, Imported, Input, Place, origin};
use crate::waits::output::{CPU_COUNT_MAX, Output};
use eventlog::reader::Source;
use frames::Frames;
use header::{COMM_SIZE_MAX, Header};
use memchr::memmem;
use payload::Payload;
use rows::{Event, Rows};
use std::collections::HashMap;
use std::io::Write;

/// Bytes of a line, at most. Longer lines are counted as faults.
const LINE_SIZE_MAX: usize = 1 << 16;
/// Bytes of an event's text over several lines, at most.
const TEXT_SIZE_MAX: usize = 1 << 13;
/// Bytes of the beginning that tell whether wakers were recorded.
const LOOK_SIZE: usize = 1 << 20;
/// Bytes of a line that a fault repeats.
const SHOWN_SIZE_MAX: usize = 80;
/// Names of events without a meaning here that are counted, at most.
const OTHER_COUNT_MAX: usize = 1 << 12;
/// Why a text whose times go back is refused. perf prints events in order of time.
const DELTAS: &str = "its times go back again and again, as those of perf script --deltatime do: \
                      they tell no time; print it without --deltatime";
/// Why lines are left out that follow the first event of a group.
const COPIES: &str = "perf script prints the record of a group's first event under the names of \
                      the others, too; record without \":S\"";
/// A byte order mark, which some tools put before text.
const MARK: &[u8] = b"\xEF\xBB\xBF";

/// Makes a log of the text of `perf script`.
///
/// ```
/// use eventlog::writer::uuid_of;
/// use lens::waits::source::script;
///
/// let text = b"a 7 [000] 1.000002: sched:sched_process_exit: comm=a pid=7 prio=120\n";
/// let mut log = Vec::new();
/// let done = script::import(&text.to_vec(), uuid_of(text).into(), &mut log)?;
/// assert_eq!((done.known_count, done.fault_count), (1, 0));
/// # Ok::<(), lens::waits::source::import::ImportError>(())
/// ```
///
/// # Errors
///
/// Fails if the source cannot be read, the log cannot be written, or no line is an event.
pub fn import(
    source: &dyn Source,
    identity: Identity,
    out: &mut dyn Write,
) -> Result<Imported, ImportError> {
    let mut input = Input::new(source, 0, source.size());
    let look = input.fill(LOOK_SIZE).map_err(ImportError::Read)?;
    let has_waking = memmem::find(look, b" sched:sched_waking: ").is_some();
    let cpu_count = cpu_count(look);
    if are_deltas(look) {
        return Err(ImportError::Refused(DELTAS.into()));
    }
    if look.starts_with(MARK) {
        input.skip(MARK.len() as u64);
    }
    let out = Output::new(out, &origin(identity, "perf script"))?;
    let mut text = Text::new(Rows::new(out, has_waking, cpu_count));
    while let Some((size, is_ended)) = line_size(&mut input)? {
        let bytes = input.bytes();
        let is_long = size > LINE_SIZE_MAX;
        let line = bytes.get(..size.min(LINE_SIZE_MAX)).unwrap_or_default();
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        text.number += 1;
        if is_long {
            text.fault(line)?
        } else {
            text.line(line)?
        }
        input.skip(size as u64);
        if is_long && !is_ended {
            skip_line(&mut input)?;
        }
    }
    text.finish()
}

/// Returns the number of processors that a text names.
fn cpu_count(text: &[u8]) -> u32 {
    let mark = b" target_cpu=";
    let numbers = memmem::find_iter(text, mark).filter_map(|at| text.get(at + mark.len()..));
    let numbers = numbers.filter_map(header::number).map(|(cpu, _)| cpu);
    let count = numbers.max().map_or(1, |cpu| cpu.saturating_add(1));
    u32::try_from(count).unwrap_or(u32::MAX).min(CPU_COUNT_MAX)
}

/// Returns whether times in a text count from the event before: then more than one in eight is
/// earlier than the one before.
fn are_deltas(text: &[u8]) -> bool {
    let times = text.split(|byte| *byte == b'\n').filter(|line| line.first() != Some(&b'\t'));
    let (mut last, mut count, mut back_count) = (0, 0, 0);
    for time in times.filter_map(Header::parse).map(|header| header.time) {
        back_count += usize::from(time < last);
        count += 1;
        last = time;
    }
    back_count > 1 && back_count * 8 > count
}

/// Returns the size of the next line, and whether its end is in it; `None` at the end. A size
/// beyond the maximum stands for any.
fn line_size(input: &mut Input<'_>) -> Result<Option<(usize, bool)>, ImportError> {
    if let Some(at) = memchr::memchr(b'\n', input.bytes()) {
        return Ok(Some((at + 1, true)));
    }
    let bytes = input.fill(LINE_SIZE_MAX + 1).map_err(ImportError::Read)?;
    Ok(match memchr::memchr(b'\n', bytes) {
        Some(at) => Some((at + 1, true)),
        None if bytes.is_empty() => None,
        None => Some((bytes.len().min(LINE_SIZE_MAX + 1), false)),
    })
}

/// Takes the rest of a line that is too long.
fn skip_line(input: &mut Input<'_>) -> Result<(), ImportError> {
    loop {
        let bytes = input.fill(1).map_err(ImportError::Read)?;
        let (size, is_end) = match memchr::memchr(b'\n', bytes) {
            Some(at) => (at + 1, true),
            None => (bytes.len(), bytes.is_empty()),
        };
        input.skip(size as u64);
        if is_end {
            return Ok(());
        }
    }
}

/// The lines of a text, and the event that is being read.
struct Text<'o> {
    rows: Rows<'o>,
    frames: Frames,
    done: Imported,
    /// The number of the line, from 1.
    number: u64,
    /// The event that is being read: its first lines, and the number of the first.
    event: Option<(Vec<u8>, u64)>,
    /// Whether no field of the event is missing.
    is_whole: bool,
    /// Whether rows of the event keep its stack.
    has_stack: bool,
    /// The beginning of the name in the next line, and the number of its line.
    prefix: Option<(Vec<u8>, u64)>,
    /// Buffers of earlier events.
    spare: Vec<u8>,
    /// Events without a meaning here, by their names.
    others: HashMap<Box<[u8]>, u64>,
    /// Lines that repeat the record of the event before them.
    copy_count: u64,
}

impl<'o> Text<'o> {
    fn new(rows: Rows<'o>) -> Text<'o> {
        Text {
            rows,
            frames: Frames::default(),
            done: Imported::default(),
            number: 0,
            event: None,
            is_whole: false,
            has_stack: false,
            prefix: None,
            spare: Vec::new(),
            others: HashMap::new(),
            copy_count: 0,
        }
    }

    /// Takes a line, without its end.
    fn line(&mut self, line: &[u8]) -> Result<(), ImportError> {
        if line.first() == Some(&b'\t') && self.event.is_some() && self.is_whole {
            if self.has_stack {
                self.frames.push(line);
            }
            return Ok(());
        }
        if let Some(prefix) = self.prefix.take() {
            return self.named(prefix, line);
        }
        if Header::parse(line).is_some() {
            return self.begin(line, self.number);
        }
        if !self.is_whole && self.event.is_some() {
            return self.go_on(line);
        }
        if line.is_empty() {
            return self.end();
        }
        if line.starts_with(b"#") && self.event.is_none() {
            return Ok(());
        }
        self.prefix = Some((line.to_vec(), self.number));
        Ok(())
    }

    /// Takes a line after one that begins no event: the two may be parted by a name's line end.
    fn named(&mut self, (mut text, first): (Vec<u8>, u64), line: &[u8]) -> Result<(), ImportError> {
        let alone = text.clone();
        text.push(b'\n');
        text.extend_from_slice(line);
        if Header::parse(&text).is_some_and(|header| header.name.len() <= COMM_SIZE_MAX) {
            return self.begin(&text, first);
        }
        if Header::parse(line).is_none() && text.len() <= COMM_SIZE_MAX {
            self.prefix = Some((text, first));
            return Ok(());
        }
        self.end()?;
        self.lost(first, &alone);
        self.line(line)
    }

    /// Begins an event with its first line.
    fn begin(&mut self, line: &[u8], number: u64) -> Result<(), ImportError> {
        self.end()?;
        let mut text = std::mem::take(&mut self.spare);
        text.clear();
        text.extend_from_slice(line);
        self.event = Some((text, number));
        self.look();
        Ok(())
    }

    /// Adds a line to an event whose fields are not whole.
    fn go_on(&mut self, line: &[u8]) -> Result<(), ImportError> {
        let Some((text, _)) = &mut self.event else { return Ok(()) };
        if text.len() + line.len() >= TEXT_SIZE_MAX {
            return self.end();
        }
        text.push(b'\n');
        text.extend_from_slice(line);
        self.look();
        Ok(())
    }

    /// Decides whether the event is whole, and whether its stack counts.
    fn look(&mut self) {
        let header = self.event.as_ref().and_then(|(text, _)| Header::parse(text));
        let Some(header) = header else { return };
        let event = Event::of(&header);
        self.is_whole = !matches!(event, Event::Fields(Payload::Part));
        self.has_stack = event.has_stack();
    }

    /// Adds the rows of the event.
    fn end(&mut self) -> Result<(), ImportError> {
        let Some((text, number)) = self.event.take() else { return Ok(()) };
        let header = Header::parse(&text);
        let event = header.as_ref().map(Event::of);
        let is_copy = header.as_ref().zip(event.as_ref());
        let is_copy = is_copy.is_some_and(|(header, event)| self.rows.is_copy(header, event));
        if is_copy {
            self.copy_count += 1;
            self.frames.clear();
            self.spare = text;
            return Ok(());
        }
        match (header, event) {
            (Some(_), None | Some(Event::Fields(Payload::Part))) | (None, _) => {
                self.lost(number, &text);
            }
            (Some(header), Some(event)) => {
                let is_known = self.rows.put(&mut self.frames, &header, &event, &mut self.done)?;
                match is_known {
                    true => self.done.known_count += 1,
                    false => {
                        self.done.unknown_count += 1;
                        self.leave_out(header.event);
                    }
                }
            }
        }
        self.frames.clear();
        self.spare = text;
        Ok(())
    }

    /// Counts an event without a meaning here.
    fn leave_out(&mut self, event: &[u8]) {
        if let Some(count) = self.others.get_mut(event) {
            *count += 1;
        } else if self.others.len() < OTHER_COUNT_MAX {
            self.others.insert(event.into(), 1);
        }
    }

    /// Takes a line that is a fault.
    fn fault(&mut self, line: &[u8]) -> Result<(), ImportError> {
        self.end()?;
        self.prefix = None;
        self.lost(self.number, line);
        Ok(())
    }

    fn lost(&mut self, number: u64, line: &[u8]) {
        let shown = line.get(..SHOWN_SIZE_MAX).unwrap_or(line).trim_ascii().escape_ascii();
        let what = format!("not an event of perf script, left out: \"{shown}\"");
        self.done.fault(Place::Line(number), what);
    }

    fn finish(mut self) -> Result<Imported, ImportError> {
        self.end()?;
        if let Some((text, number)) = self.prefix.take() {
            self.lost(number, &text);
        }
        let done = &mut self.done;
        if done.known_count == 0 && done.unknown_count == 0 {
            let fault = done.faults.first().map(|fault| format!(" ({fault})"));
            return Err(ImportError::Refused(format!(
                "has no event of perf.data, trace.dat or the text of perf script{}",
                fault.unwrap_or_default()
            )));
        }
        if self.copy_count > 0 {
            let count = self.copy_count;
            done.notes.push(format!("{count} lines are left out: {COPIES}"));
        }
        let name = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        done.leave_out(self.others.iter().map(|(event, count)| (name(event), *count)));
        done.made = self.rows.finish()?;
        Ok(self.done)
    }
}
