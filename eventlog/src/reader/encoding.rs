//! The encoding of a registry, read: from pieces in a stream to a [`Registry`].
//!
//! ```text
//!  part │ part │ part ──▶ bytes ──▶ version, counts, masks, name, doc │ kinds … │ event types …
//! ```
//!
//! Encoding: section 5.1 of `design/format.md`; pieces: `.part.registry`.

use super::fault::{FaultKind, Faults};
use super::registry::{EventType, Kind, Param, Platform, Registry};
use crate::format::{BlockHeader, EVENT_TYPE_ALWAYS, EVENT_TYPE_RETIRED};
use eventdef::{Sort, Version};
use std::collections::BTreeMap;

/// Bytes of one registry's encoding that are kept; what is beyond is not read.
pub(crate) const ENCODING_SIZE_MAX: usize = 1 << 24;

/// The registries of the streams, as far as their pieces were met: by stream and index.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    encodings: BTreeMap<(u16, u16), Encoding>,
}

#[derive(Debug)]
struct Encoding {
    /// Of the last piece in the source, for faults.
    offset: u64,
    /// Size of the whole, as the first piece states.
    size: u64,
    bytes: Vec<u8>,
    /// A piece is missing: what comes after it cannot be used.
    broken: bool,
}

impl Pieces {
    /// Takes a piece (`.part.registry`), whose checksum is right.
    pub(crate) fn add(&mut self, stream: u16, offset: u64, header: &BlockHeader, piece: &[u8]) {
        let size = header.sequence.get();
        let fresh = || Encoding { offset, size, bytes: Vec::new(), broken: false };
        let key = (stream, header.registry.get());
        let encoding = self.encodings.entry(key).or_insert_with(fresh);
        let at = header.first.get();
        let end = encoding.bytes.len() as u64;
        if encoding.broken || at < end || end >= encoding.size {
            return; // Not the next piece, or a second copy.
        }
        encoding.offset = offset;
        let room = ENCODING_SIZE_MAX.saturating_sub(encoding.bytes.len());
        if at > end || piece.len() > room {
            encoding.broken = true;
        } else {
            encoding.bytes.extend_from_slice(piece);
        }
    }

    /// Reads them all: when every block was met, so that one that came too late is known too
    /// (`.part.registry-before`).
    pub(crate) fn finish(self, faults: &mut Faults) -> BTreeMap<(u16, u16), Registry> {
        let mut registries = BTreeMap::new();
        for ((stream, index), encoding) in self.encodings {
            let mut registry = Registry::unknown(stream, index, Platform::stream(false, 8));
            let is_short = (encoding.bytes.len() as u64) < encoding.size;
            let what = match parse(&encoding.bytes, &mut registry) {
                _ if encoding.broken || is_short => Some("a piece is missing"),
                Some(()) => None,
                None => Some("does not parse"),
            };
            if let Some(what) = what {
                faults.push(encoding.offset, FaultKind::Registry { index, what });
            }
            registries.insert((stream, index), registry);
        }
        registries
    }
}

/// Reads an encoding as far as it goes (`.registry.trust`); none if it ends before it should.
fn parse(bytes: &[u8], registry: &mut Registry) -> Option<()> {
    let mut rest = Rest(bytes);
    registry.version = Version { major: rest.u16()?, median: rest.u16()?, minor: rest.u16()? };
    let kind_count = rest.u16()?;
    let event_type_count = rest.u32()?;
    registry.recorded = rest.u64()?;
    registry.output = rest.u64()?;
    registry.name = rest.string()?;
    registry.doc = rest.string()?;
    // No room is made for a count: each step takes bytes, or ends.
    for _ in 0..kind_count {
        let kind = Kind { index: rest.u8()?, name: rest.string()?, doc: rest.string()? };
        if usize::from(kind.index) < eventdef::KIND_COUNT_MAX {
            registry.kinds.push(kind);
        }
    }
    for _ in 0..event_type_count {
        let event_type = parse_event_type(&mut rest)?;
        registry.event_types.push(event_type);
    }
    Some(()) // `.registry.more`: what follows is of a later version.
}

fn parse_event_type(rest: &mut Rest<'_>) -> Option<EventType> {
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
                event_type.params.push(Param { sort, offset: 0, name, doc });
                // Nothing can follow a string: where would it be?
                is_known = sort != Sort::S;
            }
            _ => is_known = false,
        }
    }
    Some(event_type)
}

/// The bytes that are left.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    /// A `str` of the encoding; what is not UTF-8 is replaced.
    fn string(&mut self) -> Option<Box<str>> {
        let size = usize::from(self.u16()?);
        let (head, rest) = self.0.split_at_checked(size)?;
        self.0 = rest;
        Some(String::from_utf8_lossy(head).into())
    }
}
