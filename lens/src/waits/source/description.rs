//! The description of a kernel's tracepoints, as trace.dat and perf.data have it.
//!
//! ```text
//!  17 08 44 "tracing" version │ order │ long │ page size │ header_page │ header_event
//!   │ formats of ftrace │ systems: formats │ addresses of functions │ …
//! ```
//!
//! Design: `.waits.dat`, `.waits.perf` in `design/waits.md`.

use super::cursor::Cursor;
use super::format::{ByteOrder, Format, Machine};
use super::page::Layout;
use super::tracepoints::Tracepoints;

/// The first bytes.
pub(super) const MAGIC: &[u8] = b"\x17\x08\x44tracing";
/// Formats of a description, at most.
const FORMAT_COUNT_MAX: usize = 1 << 16;
/// The function that ends the sleep of a thread.
const WAKEUP: &[u8] = b"hrtimer_wakeup";

/// The facts before all sections.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head<'b> {
    pub(super) version: &'b [u8],
    pub(super) machine: Machine,
    pub(super) page_size: u32,
}

impl<'b> Head<'b> {
    /// Reads the first bytes. Returns them and the rest.
    pub(super) fn parse(bytes: &'b [u8]) -> Option<(Head<'b>, &'b [u8])> {
        let mut cursor = Cursor::new(Machine::HERE, bytes.strip_prefix(MAGIC)?);
        let version = cursor.string()?;
        let order = match cursor.u8()? {
            0 => ByteOrder::Little,
            1 => ByteOrder::Big,
            _ => return None,
        };
        let word_size = cursor.u8().filter(|size| matches!(size, 4 | 8))?;
        cursor.machine = Machine { order, word_size };
        let page_size = cursor.u32()?;
        Some((Head { version, machine: cursor.machine, page_size }, cursor.rest))
    }
}

/// What is known of a kernel.
#[derive(Debug)]
pub(super) struct Description {
    pub(super) layout: Layout,
    /// The formats of all tracepoints.
    pub(super) formats: Vec<Format>,
    /// Formats that have no meaning.
    pub(super) wrong_count: usize,
    /// The address of the function that ends sleeps.
    pub(super) wakeup: Option<u64>,
}

impl Description {
    pub(super) fn new(machine: Machine) -> Description {
        let layout = Layout::of(machine);
        Description { layout, formats: Vec::new(), wrong_count: 0, wakeup: None }
    }

    /// Returns the tracepoints that `is_wanted` selects.
    pub(super) fn tracepoints(&self, is_wanted: impl Fn(&Format) -> bool) -> Tracepoints {
        let mut tracepoints = Tracepoints::new(self.layout.machine);
        for format in self.formats.iter().filter(|format| is_wanted(format)) {
            tracepoints.learn(format);
        }
        if let Some(address) = self.wakeup {
            tracepoints.wakeup_at(address);
        }
        tracepoints
    }

    /// Reads "header_page" and "header_event". Returns `None` if they end too early.
    pub(super) fn pages(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        cursor.string().filter(|name| *name == b"header_page")?;
        let size = cursor.u64()?;
        let text = cursor.take_u64(size)?;
        let order = self.layout.machine.order;
        // Without it, kernels have pages of the usual layout.
        if let Some(layout) = str::from_utf8(text).ok().and_then(|t| Layout::parse(order, t).ok()) {
            self.layout = layout;
        }
        cursor.string().filter(|name| *name == b"header_event")?;
        let size = cursor.u64()?;
        cursor.take_u64(size)?;
        Some(())
    }

    /// Reads the formats of ftrace itself: stacks, texts of `trace_marker`.
    pub(super) fn ftrace(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        let count = cursor.u32()?;
        self.system(cursor, "ftrace", count)
    }

    /// Reads the formats of all systems.
    pub(super) fn systems(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        for _ in 0..cursor.u32()? {
            let name = String::from_utf8_lossy(cursor.string()?);
            let count = cursor.u32()?;
            self.system(cursor, &name, count)?;
        }
        Some(())
    }

    fn system(&mut self, cursor: &mut Cursor<'_>, system: &str, count: u32) -> Option<()> {
        for _ in 0..count {
            let size = cursor.u64()?;
            let text = String::from_utf8_lossy(cursor.take_u64(size)?);
            match Format::parse(system, &text) {
                Ok(format) if self.formats.len() < FORMAT_COUNT_MAX => self.formats.push(format),
                _ => self.wrong_count += 1,
            }
        }
        Some(())
    }

    /// Reads the addresses of the kernel's functions: lines of an address, a letter and a name.
    pub(super) fn functions(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        let size = cursor.u32()?;
        let text = cursor.take(size as usize)?;
        for at in memchr::memmem::find_iter(text, WAKEUP) {
            let end = at + WAKEUP.len();
            if !matches!(text.get(end), None | Some(b'\n' | b'\t' | 0)) {
                continue;
            }
            let begin =
                text.get(..at)?.iter().rposition(|byte| *byte == b'\n').map_or(0, |n| n + 1);
            let line = str::from_utf8(text.get(begin..at)?).unwrap_or_default();
            let mut words = line.split_ascii_whitespace();
            let address = words.next().and_then(|word| u64::from_str_radix(word, 16).ok());
            // Without the right to see them, a kernel prints 0.
            if let (Some(address @ 1..), Some(_), None) = (address, words.next(), words.next()) {
                self.wakeup = Some(address);
                break;
            }
        }
        Some(())
    }
}
