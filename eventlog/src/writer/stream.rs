//! A stream that is being made: its registries, its buffers, and its waiting events.
//!
//! ```text
//!  Registry ─▶ index        buffer ─▶ the next number, counts        Packer: runs
//! ```
//!
//! Rules: 5, 7 and `.made` in `design/format.md`.

use super::error::MakeError;
use super::origin::Origin;
use super::out::Out;
use super::pack::{Counts, Packer, Place, STORE};
use crate::format::{
    BLOCK_HEADER_SIZE, EVENT_SIZE_MAX, EventHeader, NATIVE_FLAGS, StreamHeader, encode_registry,
    encoded_registry_size,
};
use eventdef::{Event, ParamSink, Registry, Sort, layout};
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::io;

/// Why events are not in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// Requested and not recorded: the buffer was full.
    Full,
    /// Requested and not recorded: while the thread recorded another event of the kind.
    Nested,
    /// Requested and not recorded: larger than a block holds.
    Large,
    /// Recorded, but the host failed to write them. They have numbers (`.made.loss`).
    Io,
    /// Recorded and overwritten. They have numbers too.
    Overwritten,
}

impl Counts {
    pub(super) fn of(&mut self, cause: Cause) -> &mut u64 {
        match cause {
            Cause::Full => &mut self.full,
            Cause::Nested => &mut self.nested,
            Cause::Large => &mut self.large,
            Cause::Io => &mut self.io,
            Cause::Overwritten => &mut self.overwritten,
        }
    }
}

/// A stream that is being made.
pub(super) struct OpenStream {
    pub(super) header: StreamHeader,
    log2: u8,
    registries: Vec<Known>,
    /// The index of each registry, by its address.
    indexes: HashMap<usize, u16, RandomState>,
    /// Number of registries after the header that was written last.
    registries_written: usize,
    pub(super) packer: Packer,
    pub(super) buffers: HashMap<u32, Buffer, RandomState>,
    /// The ticks of each interned string.
    pub(super) strings: Vec<u64>,
}

struct Known {
    registry: &'static Registry,
    /// The least size of an event of each event type.
    size_min: Vec<usize>,
}

#[derive(Default)]
pub(super) struct Buffer {
    /// The place of its next event.
    pub(super) place: Place,
    pub(super) counts: Counts,
}

impl OpenStream {
    pub(super) fn new(origin: &Origin) -> OpenStream {
        let log2 = origin.block_size_log2;
        OpenStream {
            header: origin.header(),
            log2,
            registries: Vec::new(),
            indexes: HashMap::default(),
            registries_written: 0,
            packer: Packer::new(&origin.uuid, log2, NATIVE_FLAGS, Vec::new()),
            buffers: HashMap::default(),
            strings: Vec::new(),
        }
    }

    /// Adds a registry, unless the stream has it, and returns its index. Its encoding takes some of
    /// `room`.
    pub(super) fn registry(
        &mut self,
        registry: &'static Registry,
        room: &mut usize,
    ) -> Result<u16, MakeError> {
        let address = std::ptr::from_ref(registry).addr();
        if let Some(index) = self.indexes.get(&address) {
            return Ok(*index);
        }
        let left = room.checked_sub(encoded_registry_size(registry));
        let index = u16::try_from(self.registries.len()).ok().filter(|index| *index < u16::MAX);
        let (Some(left), Some(index)) = (left, index) else {
            return Err(MakeError::Registries { name: registry.name });
        };
        *room = left;
        let size_min = registry.event_types.iter().map(|row| {
            let string = row.params.iter().any(|param| param.sort == Sort::S);
            layout::fixed_size(row.params, layout::WORD_SIZE) + usize::from(string)
        });
        self.registries.push(Known { registry, size_min: size_min.collect() });
        self.indexes.insert(address, index);
        Ok(index)
    }

    /// Returns the place of events of a type in a buffer, and their least size.
    pub(super) fn place<E: Event>(
        &mut self,
        buffer: u32,
        thread: u32,
        room: &mut usize,
    ) -> Result<(Place, usize), MakeError> {
        let registry = E::control().registry;
        let index = self.registry(registry, room)?;
        let row = registry.event_types.binary_search_by_key(&E::CODE, |row| row.code).ok();
        let row =
            row.filter(|at| registry.event_types.get(*at).is_some_and(|it| it.kind == E::KIND));
        let known = self.registries.get(usize::from(index));
        let size_min = row.zip(known).and_then(|(at, known)| known.size_min.get(at));
        let Some(&size_min) = size_min else {
            return Err(MakeError::EventType { registry: registry.name, code: E::CODE });
        };
        // `.made.names`: the store has one buffer, without a thread.
        if (index == 0) != (buffer == STORE.buffer) || index == 0 && thread != STORE.thread {
            return Err(MakeError::Store { event: E::TYPE.name, buffer, thread });
        }
        Ok((Place { registry: index, kind: E::KIND, thread, buffer, ..STORE }, size_min))
    }

    /// Encodes an event into `bytes`, without its delta.
    pub(super) fn encode<E: Event>(
        &self,
        event: &E,
        size_min: usize,
        bytes: &mut Vec<u8>,
    ) -> Result<(), MakeError> {
        let size = event.size();
        let max = ((1 << self.log2) - BLOCK_HEADER_SIZE).min(EVENT_SIZE_MAX);
        if !(size_min..=max).contains(&size) || !size.is_multiple_of(8) {
            return Err(MakeError::EventSize { event: E::TYPE.name, size, max });
        }
        bytes.clear();
        bytes.resize(size, 0);
        event.encode(&mut Bytes(bytes));
        let header = EventHeader { code: E::CODE, size: size as u16, delta: 0 };
        Bytes(bytes).put_bytes(0, bytemuck::bytes_of(&header));
        Ok(())
    }

    /// Writes what must precede the next blocks and parts: the header, if the previous ones are of
    /// another stream (`.made.turn`), and the new registries.
    pub(super) fn put_head(&mut self, is_next: bool, out: &mut Out<'_>) -> io::Result<()> {
        if !is_next {
            out.begin(&self.header, self.log2)?;
            self.registries_written = 0;
        }
        for (index, known) in (0..).zip(&self.registries).skip(self.registries_written) {
            let mut encoding = Vec::new();
            let mut put = |bytes: &[u8]| encoding.extend_from_slice(bytes);
            encode_registry(known.registry, u64::MAX, u64::MAX, &mut put);
            out.registry(NATIVE_FLAGS, index, &encoding)?;
        }
        self.registries_written = self.registries.len();
        Ok(())
    }

    /// Takes the buffers that lost events.
    pub(super) fn accounts(&mut self) -> Vec<Buffer> {
        let buffers = std::mem::take(&mut self.buffers).into_values();
        let mut lossy: Vec<_> = buffers.filter(|it| it.counts != Counts::default()).collect();
        lossy.sort_unstable_by_key(|buffer| buffer.place.buffer);
        lossy
    }

    /// Takes the next numbers of a buffer. Returns the buffer and the first number.
    pub(super) fn take(
        &mut self,
        place: Place,
        count: u64,
    ) -> Result<(&mut Buffer, u64), MakeError> {
        let buffer = self.buffers.entry(place.buffer).or_default();
        let number = buffer.place.number;
        let end = number.checked_add(count);
        let end = end.ok_or(MakeError::Numbers { buffer: place.buffer })?;
        buffer.place = Place { number: end, ..place };
        Ok((buffer, number))
    }
}

/// The bytes of an event. It ignores bytes beyond them.
struct Bytes<'b>(&'b mut [u8]);

impl ParamSink for Bytes<'_> {
    fn put_bytes(&mut self, offset: usize, value: &[u8]) {
        let to = self.0.get_mut(offset..).and_then(|rest| rest.get_mut(..value.len()));
        if let Some(to) = to {
            to.copy_from_slice(value);
        }
    }
}
