//! A registry of a stream, and the layout of its events on the stream's platform.
//!
//! ```text
//!  encoding (5.1) ─┐
//!                  ├──▶ Registry ── code ──▶ EventType ── params: sort, name, offset in the event
//!  eventdef's    ──┘       │
//!                       Platform: byte order, word size, event header, end of a string
//! ```
//!
//! Encoding: section 5.1 of `design/format.md`; layout: `.event.params`, `.mps.params`.

use crate::format::text::{OneLine, is_steering};
use byteorder::{BigEndian, ByteOrder, LittleEndian};
use eventdef::{Sort, Version};

/// In [`Registry::rows`]: no event type has this code.
const NO_ROW: u16 = u16::MAX;

pub(crate) const ROW_SIZE: usize = size_of::<Row>();

/// How a string parameter ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StringEnd {
    /// The event's last byte states the size of the padding (`.event.string`).
    Padding,
    /// The string ends at the first NUL, as in C.
    Nul,
}

/// The layout of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Platform {
    /// Whether integers in events are big-endian (`.event.order`).
    pub big_endian: bool,
    /// Bytes in a word, a pointer, an address: 4 or 8.
    pub word_size: u8,
    /// Bytes of an event before its parameters: 8 in our format. In the MPS 16, or 12 if 64-bit
    /// values are aligned to 4, or 8 if the clock has 32 bits.
    pub event_header_size: u8,
    /// How a string ends.
    pub string_end: StringEnd,
    /// The highest alignment of a parameter: 8; 4 for MPS on a 32-bit x86.
    pub align_max: u8,
    /// Whether a Boolean is one bit: in MPS streams before version 2.0 (`.mps.bool`).
    pub packed_booleans: bool,
}

impl Platform {
    /// Returns the number in the first 2 bytes.
    #[inline(always)]
    pub fn u16(&self, bytes: &[u8]) -> Option<u16> {
        let bytes = bytes.first_chunk::<2>()?;
        Some(if self.big_endian {
            BigEndian::read_u16(bytes)
        } else {
            LittleEndian::read_u16(bytes)
        })
    }

    /// Returns the number in the first 4 bytes.
    #[inline(always)]
    pub fn u32(&self, bytes: &[u8]) -> Option<u32> {
        let bytes = bytes.first_chunk::<4>()?;
        Some(if self.big_endian {
            BigEndian::read_u32(bytes)
        } else {
            LittleEndian::read_u32(bytes)
        })
    }

    /// Returns the number in the first 8 bytes.
    #[inline(always)]
    pub fn u64(&self, bytes: &[u8]) -> Option<u64> {
        let bytes = bytes.first_chunk::<8>()?;
        Some(if self.big_endian {
            BigEndian::read_u64(bytes)
        } else {
            LittleEndian::read_u64(bytes)
        })
    }

    /// Returns a platform of streams in our format.
    pub const fn stream(big_endian: bool, word_size: u8) -> Platform {
        Platform {
            big_endian,
            word_size,
            event_header_size: 8,
            string_end: StringEnd::Padding,
            align_max: 8,
            packed_booleans: false,
        }
    }
}

/// A registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registry {
    /// Index in its stream (`.registry.index`).
    pub index: u16,
    /// Index of the stream in the log.
    pub stream: u16,
    /// Its name.
    pub name: Box<str>,
    /// Its version (`.registry.version`, `.version.parts`).
    pub version: Version,
    /// Its description.
    pub doc: Box<str>,
    /// Kinds, in ascending order of index.
    pub kinds: Vec<Kind>,
    /// Event types, in ascending order of code.
    pub event_types: Vec<EventType>,
    /// The kinds that were recorded when the registry was written (`.registry.masks`).
    pub recorded: u64,
    /// The kinds that were output when the registry was written.
    pub output: u64,
    /// The layout of its events.
    pub platform: Platform,
    /// The row of each code, from `code_min` up.
    rows: Vec<Row>,
    code_min: u16,
}

/// The event type of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// Index in [`Registry::event_types`], or [`NO_ROW`].
    index: u16,
    /// The event type's [`EventType::size_min`], at most 65535.
    size_min: u16,
}

impl Row {
    const NONE: Row = Row { index: NO_ROW, size_min: 0 };

    /// Returns the index in [`Registry::event_types`]; beyond them if the code is unknown.
    pub(crate) fn index(self) -> u16 {
        self.index
    }

    pub(crate) fn is_unknown(self) -> bool {
        self.index == NO_ROW
    }

    /// Returns the least size of an event with all its parameters; 0 if the code is unknown.
    pub(crate) fn size_min(self) -> u16 {
        self.size_min
    }
}

/// A kind as the log declares it: event types of one kind are switched on and off together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its bit in the masks: 0 to 63.
    pub index: u8,
    /// Its name.
    pub name: Box<str>,
    /// Its description.
    pub doc: Box<str>,
}

/// An event type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventType {
    /// Its name.
    pub name: Box<str>,
    /// Its code.
    pub code: u16,
    /// The index of its kind.
    pub kind: u8,
    /// Whether it is in the hot variety.
    pub always: bool,
    /// Whether it is not recorded any more.
    pub retired: bool,
    /// Whether its events happened at or after their times (`.time.coarse`).
    pub coarse: bool,
    /// Its description.
    pub doc: Box<str>,
    /// Its parameters, in order.
    pub params: Vec<Param>,
    /// The least size in bytes of an event with all its parameters. A string may be empty.
    pub size_min: u32,
}

/// A parameter of an event type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its sort.
    pub sort: Sort,
    /// Offset from the start of the event.
    pub offset: u32,
    /// The bits of a Boolean in its byte: if any of them is set, the Boolean is true.
    pub mask: u8,
    /// Its name.
    pub name: Box<str>,
    /// Its description.
    pub doc: Box<str>,
}

impl EventType {
    /// Returns the parameter with this name, and its index.
    pub fn param(&self, name: &str) -> Option<(usize, &Param)> {
        self.params.iter().enumerate().find(|(_, param)| *param.name == *name)
    }

    /// Computes the offsets of the parameters (`.event.params`, `.mps.params`).
    fn lay_out(&mut self, platform: Platform) {
        let word_size = u32::from(platform.word_size);
        let mut end = u32::from(platform.event_header_size);
        // Bits of the last byte that hold Booleans (`.mps.bool`). 0: that byte holds none, or is
        // full.
        let mut bits = 0;
        for param in &mut self.params {
            if param.sort == Sort::B && platform.packed_booleans {
                end = end.saturating_add(u32::from(bits == 0));
                param.offset = end - 1;
                param.mask = if platform.big_endian { 0x80 >> bits } else { 1 << bits };
                bits = (bits + 1) % 8;
                continue;
            }
            (param.mask, bits) = (u8::MAX, 0);
            let size = param.sort.size(word_size as usize) as u32;
            let align = size.clamp(1, u32::from(platform.align_max).max(1));
            param.offset = end.checked_next_multiple_of(align).unwrap_or(u32::MAX);
            // A string takes at least one byte, its padding or its NUL.
            end = param.offset.saturating_add(if param.sort == Sort::S { 1 } else { size });
        }
        self.size_min = end;
    }
}

impl Registry {
    /// Returns a registry without contents: all its events have unknown types.
    pub(crate) fn unknown(stream: u16, index: u16, platform: Platform) -> Registry {
        Registry {
            index,
            stream,
            name: Box::default(),
            version: Version { major: 0, median: 0, minor: 0 },
            doc: Box::default(),
            kinds: Vec::new(),
            event_types: Vec::new(),
            recorded: 0,
            output: 0,
            platform,
            rows: Vec::new(),
            code_min: 0,
        }
    }

    /// Returns a registry of this library, laid out for a platform.
    pub fn new(registry: &eventdef::Registry, platform: Platform) -> Registry {
        let mut new = Registry::unknown(0, 0, platform);
        new.name = registry.name.into();
        new.version = registry.version;
        new.doc = registry.doc.into();
        let kind = |kind: &eventdef::Kind| Kind {
            index: kind.index,
            name: kind.name.into(),
            doc: kind.doc.into(),
        };
        new.kinds = registry.kinds.iter().map(kind).collect();
        new.event_types = registry.event_types.iter().map(EventType::from).collect();
        new.lay_out(platform);
        new
    }

    /// Computes the layout of all event types, and sorts them by code. Of two with one code or
    /// index, the first one counts (`.registry.trust`).
    pub fn lay_out(&mut self, platform: Platform) {
        self.platform = platform;
        self.kinds.sort_by_key(|kind| kind.index);
        self.kinds.dedup_by_key(|kind| kind.index);
        self.event_types.sort_by_key(|event_type| event_type.code);
        self.event_types.dedup_by_key(|event_type| event_type.code);
        self.event_types.truncate(usize::from(NO_ROW));
        let code_min = self.event_types.first().map_or(0, |first| first.code);
        let code_max = self.event_types.last().map_or(0, |last| last.code);
        self.code_min = code_min;
        self.rows.clear();
        self.rows.resize(usize::from(code_max.saturating_sub(code_min)) + 1, Row::NONE);
        for (index, event_type) in self.event_types.iter_mut().enumerate() {
            event_type.lay_out(platform);
            if let Some(row) = self.rows.get_mut(usize::from(event_type.code - code_min)) {
                let size_min = u16::try_from(event_type.size_min).unwrap_or(u16::MAX);
                *row = Row { index: index as u16, size_min };
            }
        }
    }

    #[inline(always)]
    pub(crate) fn row(&self, code: u16) -> Row {
        let index = code.wrapping_sub(self.code_min);
        self.rows.get(usize::from(index)).copied().unwrap_or(Row::NONE)
    }

    /// Returns the index in [`Registry::event_types`] of the event type with this code.
    #[inline]
    pub fn event_type_index(&self, code: u16) -> Option<usize> {
        Some(usize::from(self.row(code).index())).filter(|&place| place < self.event_types.len())
    }

    /// Returns the event type with this code.
    pub fn event_type(&self, code: u16) -> Option<&EventType> {
        self.event_types.get(usize::from(self.row(code).index()))
    }

    /// Returns the event type with this name.
    pub fn event_type_named(&self, name: &str) -> Option<&EventType> {
        self.event_types.iter().find(|event_type| *event_type.name == *name)
    }

    /// Returns the kind with this index.
    pub fn kind(&self, index: u8) -> Option<&Kind> {
        self.kinds.iter().find(|kind| kind.index == index)
    }
}

impl From<&eventdef::EventType> for EventType {
    fn from(event_type: &eventdef::EventType) -> EventType {
        let param = |param: &eventdef::Param| Param {
            sort: param.sort,
            offset: 0,
            mask: u8::MAX,
            name: param.name.into(),
            doc: param.doc.into(),
        };
        EventType {
            name: event_type.name.into(),
            code: event_type.code,
            kind: event_type.kind,
            always: event_type.always,
            retired: event_type.retired,
            coarse: event_type.coarse,
            doc: event_type.doc.into(),
            params: event_type.params.iter().map(param).collect(),
            size_min: 0,
        }
    }
}

/// Returns text as one line that cannot steer a terminal, so that no name can forge a line.
pub(crate) fn clean(bytes: &[u8]) -> Box<str> {
    match str::from_utf8(bytes) {
        Ok(text) if !text.contains(is_steering) => text.into(),
        _ => OneLine(bytes).to_string().into(),
    }
}

/// Returns a name that is padded with zeros (`.header.names`), cleaned.
pub(crate) fn padded_name(bytes: &[u8]) -> Box<str> {
    let size = memchr::memchr(0, bytes).unwrap_or(bytes.len());
    clean(bytes.get(..size).unwrap_or_default())
}
