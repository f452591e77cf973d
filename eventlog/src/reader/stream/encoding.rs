//! Decodes registries from the pieces in a stream.
//!
//! ```text
//!  part │ part │ part ──▶ bytes ──▶ version, counts, masks, name, doc │ kinds … │ event types …
//! ```
//!
//! Encoding: section 5.1 of `design/format.md`; pieces: `.part.registry`.

use crate::format::{BlockHeader, EVENT_TYPE_ALWAYS, EVENT_TYPE_COARSE, EVENT_TYPE_RETIRED};
use crate::reader::fault::kind::FaultKind;
use crate::reader::fault::list::Faults;
use crate::reader::model::registry::clean;
use crate::reader::model::registry::{EventType, Kind, Param, Platform, ROW_SIZE, Registry};
use eventdef::{Sort, Version};
use std::collections::HashSet;
use std::collections::btree_map::{BTreeMap, Entry};

/// Bytes of the encodings of all registries that are kept, at most. Further pieces are not read.
const ENCODING_SIZE_MAX: usize = 1 << 24;
/// Memory of the decoded registries in bytes, at most.
pub(crate) const REGISTRY_MEMORY_MAX: usize = 1 << 24;
/// Memory of an encoding in addition to its bytes, about.
const ENTRY_SIZE: usize = 128;

const SHORT: &str = "does not parse";
const TOO_LARGE: &str = "the registries are too large";

/// The pieces of registries found so far, by stream and index.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    encodings: BTreeMap<(u16, u16), Encoding>,
    /// Their memory in bytes.
    size: usize,
}

#[derive(Debug)]
struct Encoding {
    /// Of the last piece in the source, for faults.
    offset: u64,
    /// Size of the whole encoding, as the first piece states.
    size: u64,
    bytes: Vec<u8>,
    /// Why later pieces cannot be used: a piece is missing, or the memory limit is reached.
    broken: Option<&'static str>,
}

impl Pieces {
    /// Adds a piece (`.part.registry`) whose checksum is right.
    pub(crate) fn add(
        &mut self,
        stream: u16,
        offset: u64,
        header: &BlockHeader,
        piece: &[u8],
        faults: &mut Faults,
    ) {
        let (index, size) = (header.registry.get(), header.sequence.get());
        let room = ENCODING_SIZE_MAX.saturating_sub(self.size);
        let encoding = match self.encodings.entry((stream, index)) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(_) if room < ENTRY_SIZE + piece.len() => {
                return faults.push(offset, FaultKind::Registry { index, what: TOO_LARGE });
            }
            Entry::Vacant(entry) => {
                self.size += ENTRY_SIZE;
                entry.insert(Encoding { offset, size, bytes: Vec::new(), broken: None })
            }
        };
        let at = header.first.get();
        if at == 0 && encoding.broken.is_some() {
            // A second copy, or another volume's copy: this one may be whole.
            self.size -= encoding.bytes.len();
            encoding.bytes.clear();
            encoding.broken = None;
        }
        let end = encoding.bytes.len() as u64;
        if encoding.broken.is_some() || at < end || end >= encoding.size {
            return; // Not the next piece, or a second copy.
        }
        encoding.offset = offset;
        if at > end {
            encoding.broken = Some("a piece is missing");
        } else if piece.len() > room {
            encoding.broken = Some(TOO_LARGE);
        } else {
            encoding.bytes.extend_from_slice(piece);
            self.size += piece.len();
        }
    }

    /// Decodes all registries after the last block, so that late registries are known too
    /// (`.part.registry-before`). It takes their memory off `left`.
    pub(crate) fn finish(
        self,
        left: &mut usize,
        faults: &mut Faults,
    ) -> BTreeMap<(u16, u16), Registry> {
        let mut registries = BTreeMap::new();
        for ((stream, index), encoding) in self.encodings {
            registries.insert((stream, index), encoding.finish(stream, index, left, faults));
        }
        registries
    }
}

impl Encoding {
    /// Decodes as much as possible, and takes the memory off `left`.
    fn finish(self, stream: u16, index: u16, left: &mut usize, faults: &mut Faults) -> Registry {
        let mut registry = Registry::unknown(stream, index, Platform::stream(false, 8));
        let parsed = parse(&self.bytes, &mut registry, left);
        let is_short = (self.bytes.len() as u64) < self.size;
        let what = match self.broken {
            Some(what) => Some(what),
            None if is_short => Some("a piece is missing"),
            None => parsed.err(),
        };
        if let Some(what) = what {
            faults.push(self.offset, FaultKind::Registry { index, what });
        }
        registry
    }
}

/// A decoded value, or why decoding failed.
type Parsed<T> = Result<T, &'static str>;

/// Takes memory off `left`.
fn charge(left: &mut usize, size: usize) -> Parsed<()> {
    *left = left.checked_sub(size).ok_or(TOO_LARGE)?;
    Ok(())
}

/// Decodes a registry as far as possible (`.registry.trust`), and returns why it stopped.
fn parse(bytes: &[u8], registry: &mut Registry, left: &mut usize) -> Parsed<()> {
    let mut rest = Rest(bytes);
    registry.version = Version { major: rest.u16()?, median: rest.u16()?, minor: rest.u16()? };
    let kind_count = rest.u16()?;
    let event_type_count = rest.u32()?;
    registry.recorded = rest.u64()?;
    registry.output = rest.u64()?;
    registry.name = rest.string()?;
    registry.doc = rest.string()?;
    charge(left, size_of::<Registry>() + registry.name.len() + registry.doc.len())?;
    // Counts reserve no memory: each step consumes bytes, or ends. Of two with one code or index,
    // only the first one is kept.
    let mut seen = 0u64;
    for _ in 0..kind_count {
        let kind = Kind { index: rest.u8()?, name: rest.string()?, doc: rest.string()? };
        let bit = 1u64.checked_shl(u32::from(kind.index)).unwrap_or(0);
        if bit & !seen != 0 {
            charge(left, size_of::<Kind>() + kind.name.len() + kind.doc.len())?;
            registry.kinds.push(kind);
        }
        seen |= bit;
    }
    let mut codes = Codes::default();
    for _ in 0..event_type_count {
        let event_type = parse_event_type(&mut rest)?;
        if let Some(rows) = codes.add(event_type.code) {
            charge(left, memory_of(&event_type) + rows * ROW_SIZE)?;
            registry.event_types.push(event_type);
        }
    }
    Ok(()) // `.registry.more`: what follows is of a later version.
}

/// Returns the memory of a registry in bytes, about.
pub(crate) fn memory(registry: &Registry) -> usize {
    let kinds = registry.kinds.iter().map(|at| size_of::<Kind>() + at.name.len() + at.doc.len());
    let mut codes = Codes::default();
    let rows = |event_type: &EventType| codes.add(event_type.code).unwrap_or(0) * ROW_SIZE;
    size_of::<Registry>()
        + registry.name.len()
        + registry.doc.len()
        + kinds.sum::<usize>()
        + registry.event_types.iter().map(memory_of).sum::<usize>()
        + registry.event_types.iter().map(rows).sum::<usize>()
}

fn memory_of(event_type: &EventType) -> usize {
    let params = event_type.params.iter();
    let params = params.map(|at| size_of::<Param>() + at.name.len() + at.doc.len());
    size_of::<EventType>() + event_type.name.len() + event_type.doc.len() + params.sum::<usize>()
}

#[derive(Default)]
struct Codes {
    seen: HashSet<u16>,
    range: Option<(u16, u16)>,
}

impl Codes {
    /// Adds a code. Returns how many rows this adds to the table of codes; `None` if the code is
    /// known.
    fn add(&mut self, code: u16) -> Option<usize> {
        if !self.seen.insert(code) {
            return None;
        }
        let Some((min, max)) = self.range else {
            self.range = Some((code, code));
            return Some(1);
        };
        self.range = Some((min.min(code), max.max(code)));
        Some(usize::from(min.saturating_sub(code)) + usize::from(code.saturating_sub(max)))
    }
}

fn parse_event_type(rest: &mut Rest<'_>) -> Parsed<EventType> {
    let code = rest.u16()?;
    let kind = rest.u8()?;
    let flags = rest.u8()?;
    let param_count = rest.u16()?;
    let mut event_type = EventType {
        name: rest.string()?,
        code,
        kind,
        always: flags & EVENT_TYPE_ALWAYS != 0,
        retired: flags & EVENT_TYPE_RETIRED != 0,
        coarse: flags & EVENT_TYPE_COARSE != 0,
        doc: rest.string()?,
        params: Vec::new(),
        size_min: 0,
    };
    let mut is_known = true;
    for _ in 0..param_count {
        let sort = Sort::from_letter(rest.u8()?);
        let (name, doc) = (rest.string()?, rest.string()?);
        match sort {
            Some(sort) if is_known => {
                event_type.params.push(Param { sort, offset: 0, mask: u8::MAX, name, doc });
                // A parameter after a string would have no fixed offset.
                is_known = sort != Sort::S;
            }
            _ => is_known = false,
        }
    }
    event_type.params.shrink_to_fit();
    Ok(event_type)
}

/// The bytes that are not decoded yet.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn take<const N: usize>(&mut self) -> Parsed<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>().ok_or(SHORT)?;
        self.0 = rest;
        Ok(*head)
    }

    fn u8(&mut self) -> Parsed<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn u16(&mut self) -> Parsed<u16> {
        self.take().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Parsed<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Parsed<u64> {
        self.take().map(u64::from_le_bytes)
    }

    /// Decodes a `str` of the encoding.
    fn string(&mut self) -> Parsed<Box<str>> {
        let size = usize::from(self.u16()?);
        let (head, rest) = self.0.split_at_checked(size).ok_or(SHORT)?;
        self.0 = rest;
        Ok(clean(head))
    }
}
