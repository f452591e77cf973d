//! The head of a trace.dat: formats, names of threads, the clock, and where the pages are.
//!
//! ```text
//!  7: codec │ offset of options ──▶ id, size, data │ … │ 0: offset of further options
//!                                    └▶ offsets of sections, each with 16 bytes of its own
//! ```
//!
//! Design: `.waits.dat` in `design/waits.md`.

use super::chunks::{Codec, PLAIN_SIZE_MAX};
use super::options::{Options, chosen};
use crate::waits::source::cursor::{Cursor, until_zero};
use crate::waits::source::description::{Description, Head as Begin};
use crate::waits::source::format::ByteOrder;
use crate::waits::source::import::{ImportError, Imported, Input, Place};
use crate::waits::source::page::Layout;
use crate::waits::source::stats::Stats;
use crate::waits::source::tracepoints::Tracepoints;
use eventlog::reader::Source;
use std::collections::HashSet;

/// Processors of a source, at most.
pub(super) const CPU_COUNT_MAX: u32 = 1 << 12;
/// Sections of options, at most.
pub(super) const OPTIONS_COUNT_MAX: usize = 1 << 10;
/// Bytes that have the facts before all sections.
const HEAD_SIZE: u64 = 4096;
/// Bytes of the sizes that a page may have.
const PAGE_SIZES: std::ops::RangeInclusive<usize> = 64..=1 << 20;
/// Flag of a section: its data is compressed.
const IS_COMPRESSED: u16 = 1;
/// Options.
const DONE: u16 = 0;
pub(super) const BUFFER: u16 = 3;
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
    pub(super) description: Description,
    pub(super) order: ByteOrder,
    pub(super) codec: Codec,
    pub(super) cpus: Vec<CpuPlace>,
    pub(super) options: Options,
    /// The instance that is read, and the clock that stands with its pages. The name of the first
    /// one is empty.
    instance: Vec<u8>,
    stated: Vec<u8>,
    /// Instances before it whose pages are empty, without the first one.
    empty_count: usize,
    /// Ticks of the processor's counter in a second; 0 if unknown.
    pub(super) rate: u64,
    pub(super) names: Vec<u8>,
    page_size: usize,
}

impl Head {
    /// Reads the head.
    pub(super) fn read(source: &dyn Source, done: &mut Imported) -> Result<Head, ImportError> {
        let bytes = part(source, 0, HEAD_SIZE)?;
        let refused = |what: &str| ImportError::Refused(what.to_owned());
        let parsed = Begin::parse(&bytes);
        let (begin, rest) = parsed.ok_or_else(|| refused("the head of trace.dat is damaged"))?;
        let mut head = Head {
            description: Description::new(begin.machine),
            order: begin.machine.order,
            codec: Codec::None,
            cpus: Vec::new(),
            options: Options::default(),
            instance: Vec::new(),
            stated: Vec::new(),
            empty_count: 0,
            rate: 0,
            names: Vec::new(),
            page_size: begin.page_size as usize,
        };
        let from = (bytes.len() - rest.len()) as u64;
        match begin.version {
            b"6" => head.version_6(source, from, done)?,
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

    /// Returns the name of the clock, as `mono`; empty if unknown. The option is that of the
    /// instance that is recorded first.
    pub(super) fn clock(&self) -> &[u8] {
        if self.empty_count > 0 { &[] } else { self.options.clock(&self.stated) }
    }

    /// Returns what the kernel counted of the processors.
    pub(super) fn stats(&self) -> impl Iterator<Item = &Stats> {
        self.options.stats(&self.instance)
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

    /// Reads this instance, unless further ones have pages and this one has none.
    pub(super) fn take_instance(&mut self, name: Vec<u8>, clock: Vec<u8>, cpus: Vec<CpuPlace>) {
        self.empty_count += usize::from(!self.instance.is_empty());
        (self.instance, self.stated, self.cpus) = (name, clock, cpus);
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
            self.options.take(id, value.rest);
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
        let name = value.string().unwrap_or_default().to_vec();
        if !self.cpus.is_empty() {
            done.fault(Place::Offset(from), left_out(&name));
            return Ok(());
        }
        let head = part(source, from, 4)?;
        let mut head = Cursor::new(value.machine, &head);
        let is_compressed =
            head.u16().zip(head.u16()).is_some_and(|(_, flags)| flags & IS_COMPRESSED != 0);
        let is_big_endian = self.order == ByteOrder::Big;
        let (mut clock, mut cpus) = (Vec::new(), Vec::new());
        let mut read = || {
            clock = chosen(value.string()?);
            self.page_size = value.u32()? as usize;
            for _ in 0..value.u32()?.min(CPU_COUNT_MAX) {
                let cpu = value.u32()?;
                let (offset, size) = (value.u64()?, value.u64()?);
                cpus.push(CpuPlace { cpu, offset, size, is_compressed, is_big_endian });
            }
            Some(())
        };
        if read().is_none() {
            done.fault(Place::Offset(from), "the places of the pages are cut");
        }
        self.take_instance(name, clock, cpus);
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
pub(super) const TEXT_REFUSED: &str = "has the text of a latency tracer, which tells no switches; \
                                       record with trace-cmd record -e sched";

/// Says that an instance is not read.
pub(super) fn left_out(name: &[u8]) -> String {
    let name = name.escape_ascii();
    format!("instance \"{name}\" is left out: only the first one with events is read")
}

/// Returns the bytes of a part of a source, as far as the source has them.
pub(super) fn part(source: &dyn Source, from: u64, size: u64) -> Result<Vec<u8>, ImportError> {
    let end = from.saturating_add(size).min(source.size());
    let size = end.saturating_sub(from);
    let mut input = Input::new(source, from, end);
    let bytes = input.fill(size as usize).map_err(ImportError::Read)?;
    Ok(bytes.to_vec())
}
