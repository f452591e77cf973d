//! The head of a trace.dat: formats, names of threads, the clock, and where the pages are.
//!
//! ```text
//!  6: header_page │ formats │ functions │ printk │ names │ processors │ options │ places
//!  7: codec │ offset of options ──▶ id, size, data │ … │ 0: offset of further options
//!                                    └▶ offsets of sections, each with 16 bytes of its own
//! ```
//!
//! Design: `.waits.dat` in `design/waits.md`.

use super::chunks::{Codec, PLAIN_SIZE_MAX};
use crate::source::cursor::{Cursor, until_zero};
use crate::source::description::{Description, Head as Begin};
use crate::source::format::ByteOrder;
use crate::source::import::{ImportError, Imported, Input, Place};
use crate::source::page::Layout;
use crate::source::tracepoints::Tracepoints;
use eventlog::reader::Source;
use std::collections::HashSet;

/// Processors of a source, at most.
const CPU_COUNT_MAX: u32 = 1 << 12;
/// Sections of options, at most.
const OPTIONS_COUNT_MAX: usize = 1 << 10;
/// Bytes before the pages of version 6, at most.
const HEAD_SIZE_MAX: u64 = 256 << 20;
/// Bytes of the sizes that a page may have.
const PAGE_SIZES: std::ops::RangeInclusive<usize> = 64..=1 << 20;
/// Flag of a section: its data is compressed.
const IS_COMPRESSED: u16 = 1;
/// Options.
const DONE: u16 = 0;
const BUFFER: u16 = 3;
const CLOCK: u16 = 4;
const TSC_RATE: u16 = 14;
const PAGE_HEADER: u16 = 16;
const FTRACE: u16 = 17;
const SYSTEMS: u16 = 18;
const FUNCTIONS: u16 = 19;
const NAMES: u16 = 21;
const TEXT: u16 = 22;

/// Where the pages of a processor are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CpuPlace {
    pub(super) cpu: u32,
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) is_compressed: bool,
    pub(super) is_big_endian: bool,
}

/// What is known before the pages.
#[derive(Debug)]
pub(super) struct Head {
    description: Description,
    order: ByteOrder,
    pub(super) codec: Codec,
    pub(super) cpus: Vec<CpuPlace>,
    /// The name of the clock, as `mono`; empty if unknown.
    pub(super) clock: Vec<u8>,
    /// Ticks of the processor's counter in a second; 0 if unknown.
    pub(super) rate: u64,
    names: Vec<u8>,
    page_size: usize,
}

impl Head {
    /// Reads the head.
    pub(super) fn read(source: &dyn Source, done: &mut Imported) -> Result<Head, ImportError> {
        let bytes = part(source, 0, HEAD_SIZE_MAX.min(4096))?;
        let refused = |what: &str| ImportError::Refused(what.to_owned());
        let parsed = Begin::parse(&bytes);
        let (begin, rest) = parsed.ok_or_else(|| refused("the head of trace.dat is damaged"))?;
        let mut head = Head {
            description: Description::new(begin.machine),
            order: begin.machine.order,
            codec: Codec::None,
            cpus: Vec::new(),
            clock: Vec::new(),
            rate: 0,
            names: Vec::new(),
            page_size: begin.page_size as usize,
        };
        let from = (bytes.len() - rest.len()) as u64;
        match begin.version {
            b"6" => head.version_6(source, from)?,
            b"7" => head.version_7(source, &mut Cursor::new(begin.machine, rest), done)?,
            version => {
                let version = version.escape_ascii();
                let what = format!("trace.dat has version {version}; versions 6 and 7 are read");
                return Err(ImportError::Refused(what));
            }
        }
        if head.description.wrong_count > 0 {
            let what = format!("{} formats have no meaning", head.description.wrong_count);
            done.fault(Place::Offset(0), what);
        }
        Ok(head)
    }

    /// Returns the layout of the pages.
    pub(super) fn layout(&self) -> Layout {
        let mut layout = self.description.layout;
        if PAGE_SIZES.contains(&self.page_size) {
            layout.page_size = self.page_size;
        }
        layout
    }

    /// Returns the tracepoints, if these were recorded.
    pub(super) fn tracepoints(&self, recorded: &HashSet<u16>) -> Tracepoints {
        // A wake stands for a waker only where no waker was recorded.
        self.description
            .tracepoints(|format| &*format.name != "sched_waking" || recorded.contains(&format.id))
    }

    /// Returns the names of threads: lines of a number and a name.
    pub(super) fn names(&self) -> impl Iterator<Item = (u32, &[u8])> {
        self.names.split(|byte| *byte == b'\n').filter_map(|line| {
            let end = memchr::memchr(b' ', line)?;
            let thread: u32 = str::from_utf8(line.get(..end)?).ok()?.parse().ok()?;
            let name = until_zero(line.get(end + 1..)?);
            // The kernel gives this name to threads that it does not remember.
            (thread != 0 && !name.is_empty() && name != b"<...>").then_some((thread, name))
        })
    }

    /// Reads version 6: one part after another.
    fn version_6(&mut self, source: &dyn Source, from: u64) -> Result<(), ImportError> {
        let bytes = part(source, from, HEAD_SIZE_MAX)?;
        let mut cursor = Cursor::new(self.description.layout.machine, &bytes);
        let mut read = || -> Option<Option<&'static str>> {
            self.description.pages(&mut cursor)?;
            self.description.ftrace(&mut cursor)?;
            self.description.systems(&mut cursor)?;
            self.description.functions(&mut cursor)?;
            let size = cursor.u32()?;
            cursor.take(size as usize)?;
            let size = cursor.u64()?;
            self.names = cursor.take_u64(size)?.to_vec();
            let count = cursor.u32()?.min(CPU_COUNT_MAX);
            loop {
                match cursor.take(10)? {
                    b"options  \0" => {
                        while let id @ 1.. = cursor.u16()? {
                            let size = cursor.u32()?;
                            let data = cursor.take(size as usize)?;
                            option(id, data, &mut self.clock);
                        }
                    }
                    b"flyrecord\0" => break,
                    b"latency  \0" => return Some(Some("latency")),
                    _ => return None,
                }
            }
            let is_big_endian = self.order == ByteOrder::Big;
            for cpu in 0..count {
                let (offset, size) = (cursor.u64()?, cursor.u64()?);
                let place = CpuPlace { cpu, offset, size, is_compressed: false, is_big_endian };
                self.cpus.push(place);
            }
            Some(None)
        };
        match read() {
            Some(None) => Ok(()),
            Some(Some(_)) => Err(ImportError::Refused(TEXT_REFUSED.into())),
            None => Err(ImportError::Refused("the head of trace.dat is cut or damaged".into())),
        }
    }

    /// Reads version 7: sections that options lead to.
    fn version_7(
        &mut self,
        source: &dyn Source,
        cursor: &mut Cursor<'_>,
        done: &mut Imported,
    ) -> Result<(), ImportError> {
        let head = cursor.string().and_then(|codec| {
            cursor.string()?;
            Some((codec, cursor.u64()?))
        });
        let Some((codec, mut next)) = head else {
            return Err(ImportError::Refused("the head of trace.dat is damaged".into()));
        };
        self.codec = match codec {
            b"none" => Codec::None,
            b"zlib" => Codec::Zlib,
            b"zstd" => Codec::Zstd,
            other => {
                let what = format!(
                    "trace.dat is compressed by {}; zlib and zstd are read",
                    other.escape_ascii()
                );
                return Err(ImportError::Refused(what));
            }
        };
        let mut is_text = false;
        for _ in 0..OPTIONS_COUNT_MAX {
            let Some(options) = self.section(source, next, done)? else { break };
            let mut cursor = Cursor::new(self.description.layout.machine, &options);
            next = 0;
            while let Some(id) = cursor.u16()
                && let Some(size) = cursor.u32()
                && let Some(data) = cursor.take(size as usize)
            {
                let mut value = Cursor::new(cursor.machine, data);
                match id {
                    DONE => {
                        next = value.u64().unwrap_or(0);
                        break;
                    }
                    TEXT => is_text = true,
                    _ => self.option(source, id, value, done)?,
                }
            }
            if next == 0 {
                break;
            }
        }
        match self.cpus.is_empty() {
            true if is_text => Err(ImportError::Refused(TEXT_REFUSED.into())),
            true => Err(ImportError::Refused("trace.dat has no pages of a processor".into())),
            false => Ok(()),
        }
    }

    /// Takes an option of version 7.
    fn option(
        &mut self,
        source: &dyn Source,
        id: u16,
        mut value: Cursor<'_>,
        done: &mut Imported,
    ) -> Result<(), ImportError> {
        if id == BUFFER {
            return self.buffer(source, value, done);
        }
        if id == TSC_RATE {
            if let (Some(mult @ 1..), Some(shift)) = (value.u32(), value.u32()) {
                let ticks = 1_000_000_000u128 << shift.min(63);
                self.rate = u64::try_from(ticks / u128::from(mult)).unwrap_or(0);
            }
            return Ok(());
        }
        if !matches!(id, PAGE_HEADER | FTRACE | SYSTEMS | FUNCTIONS | NAMES) {
            option(id, value.rest, &mut self.clock);
            return Ok(());
        }
        let Some(from) = value.u64() else { return Ok(()) };
        let Some(bytes) = self.section(source, from, done)? else { return Ok(()) };
        let mut cursor = Cursor::new(value.machine, &bytes);
        let read = match id {
            PAGE_HEADER => self.description.pages(&mut cursor),
            FTRACE => self.description.ftrace(&mut cursor),
            SYSTEMS => self.description.systems(&mut cursor),
            FUNCTIONS => self.description.functions(&mut cursor),
            _ => cursor.u64().and_then(|size| cursor.take_u64(size)).map(|names| {
                self.names = names.to_vec();
            }),
        };
        if read.is_none() {
            done.fault(Place::Offset(from), format!("section {id} is cut"));
        }
        Ok(())
    }

    /// Takes the places of the pages of an instance. Only the first instance is read.
    fn buffer(
        &mut self,
        source: &dyn Source,
        mut value: Cursor<'_>,
        done: &mut Imported,
    ) -> Result<(), ImportError> {
        let Some(from) = value.u64() else { return Ok(()) };
        if !self.cpus.is_empty() {
            let name = value.string().unwrap_or_default().escape_ascii();
            let what = format!("instance \"{name}\" is left out: only the first one is read");
            done.fault(Place::Offset(from), what);
            return Ok(());
        }
        let head = part(source, from, 4)?;
        let mut head = Cursor::new(value.machine, &head);
        let is_compressed =
            head.u16().zip(head.u16()).is_some_and(|(_, flags)| flags & IS_COMPRESSED != 0);
        let is_big_endian = self.order == ByteOrder::Big;
        let mut read = || {
            value.string()?;
            let clock = value.string()?;
            if !clock.is_empty() {
                self.clock = chosen(clock);
            }
            self.page_size = value.u32()? as usize;
            for _ in 0..value.u32()?.min(CPU_COUNT_MAX) {
                let cpu = value.u32()?;
                let (offset, size) = (value.u64()?, value.u64()?);
                self.cpus.push(CpuPlace { cpu, offset, size, is_compressed, is_big_endian });
            }
            Some(())
        };
        if read().is_none() {
            done.fault(Place::Offset(from), "the places of the pages are cut");
        }
        Ok(())
    }

    /// Returns the data of a section, decompressed; `None` if it is damaged.
    fn section(
        &self,
        source: &dyn Source,
        from: u64,
        done: &mut Imported,
    ) -> Result<Option<Vec<u8>>, ImportError> {
        const HEADER_SIZE: u64 = 16;
        let machine = self.description.layout.machine;
        let head = part(source, from, HEADER_SIZE)?;
        let mut cursor = Cursor::new(machine, &head);
        let mut read = || {
            let (_, flags, _) = (cursor.u16()?, cursor.u16()?, cursor.u32()?);
            Some((flags, cursor.u64()?))
        };
        let mut found = None;
        if let Some((flags, size)) = read() {
            let size = size.min(PLAIN_SIZE_MAX as u64);
            let bytes = part(source, from.saturating_add(HEADER_SIZE), size)?;
            let is_whole = bytes.len() as u64 == size;
            found = match flags & IS_COMPRESSED {
                0 => is_whole.then_some(bytes),
                _ => {
                    let mut cursor = Cursor::new(machine, &bytes);
                    let sizes = cursor.u32().zip(cursor.u32());
                    sizes.and_then(|(size, plain)| {
                        self.codec.plain(cursor.take(size as usize)?, plain as usize)
                    })
                }
            };
        }
        if found.is_none() {
            done.fault(Place::Offset(from), "a section is cut or damaged");
        }
        Ok(found)
    }
}

/// Why a trace of text is refused.
const TEXT_REFUSED: &str = "has the text of a latency tracer, which tells no switches; record with \
                            trace-cmd record -e sched";

/// Takes an option that both versions have.
fn option(id: u16, data: &[u8], clock: &mut Vec<u8>) {
    if id == CLOCK && clock.is_empty() {
        *clock = chosen(until_zero(data));
    }
}

/// Returns the clock between brackets in the text of `trace_clock`, or the whole text.
fn chosen(text: &[u8]) -> Vec<u8> {
    let after = text.split(|byte| *byte == b'[').nth(1);
    let within = after.and_then(|after| after.split(|byte| *byte == b']').next());
    within.unwrap_or(text).trim_ascii().to_vec()
}

/// Returns the bytes of a part of a source, as far as the source has them.
fn part(source: &dyn Source, from: u64, size: u64) -> Result<Vec<u8>, ImportError> {
    let end = from.saturating_add(size).min(source.size());
    let size = end.saturating_sub(from);
    let mut input = Input::new(source, from, end);
    let bytes = input.fill(size as usize).map_err(ImportError::Read)?;
    Ok(bytes.to_vec())
}

#[cfg(test)]
mod tests {
    use super::chosen;

    #[test]
    fn the_clock_is_the_one_between_brackets() {
        assert_eq!(chosen(b"local global [mono] boot\n"), b"mono");
        assert_eq!(chosen(b"x86-tsc"), b"x86-tsc");
        assert_eq!(chosen(b"[local"), b"local");
    }
}
