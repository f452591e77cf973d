//! A stream in a core's memory, as a log that reads its blocks when they are needed.
//!
//! ```text
//!  extents ── there? of this stream? ──▶ [address] ── read_at ──▶ memory, headers as of the end
//!          └── not in the core ──▶ Missing, by kind
//! ```
//!
//! The reader keeps an address for each block, and the header of each buffer's newest block. Rules:
//! `.root.stream`, `.root.preamble`, `.root.loss`, `.root.counts` in `design/format.md`.

use super::memory::Memory;
use super::seal;
use super::{Image, Missing, root};
use crate::format::{
    BLOCK_MAGIC, BLOCK_SIZE_LOG2_MIN, BlockHeader, BlockType, ClockSync, EXTENT_COUNTS,
    ExtentEntry, ExtentType, Root,
};
use crate::reader::fault::core::CoreFault;
use crate::reader::source::bytes::Source;
use crate::reader::stream::block;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;

/// The block keeps its own header.
const OWN_HEADER: u32 = u32::MAX;
/// Blocks that are visited beyond those that memory has room for. Extents overlap only in a damaged
/// core.
const VISIT_COUNT_MIN: u64 = 1 << 10;

/// A block in the core.
#[derive(Clone, Copy, Debug)]
struct Place {
    address: u64,
    /// Index in `headers` of its updated header, or [`OWN_HEADER`].
    header: u32,
}

/// The stream of a root.
pub(super) struct Rescued {
    image: Arc<Image>,
    sync: Option<ClockSync>,
    pub(super) block_size: u64,
    /// Block 0.
    first: Vec<u8>,
    places: Vec<Place>,
    headers: Vec<BlockHeader>,
}

/// The stream of a root, and what is missing.
pub(super) struct Found {
    pub(super) stream: Rescued,
    pub(super) missing: Vec<Missing>,
    pub(super) faults: Vec<CoreFault>,
}

/// Returns the limit of blocks and memory ranges that are visited, for all streams: as many as
/// memory has room for, and two more for each extent.
pub(super) fn visit_count_max(memory: &Memory) -> u64 {
    let block_count = memory.size() >> BLOCK_SIZE_LOG2_MIN;
    block_count + 2 * memory.range_count() as u64 + VISIT_COUNT_MIN
}

/// Finds the blocks in the extents of a root.
pub(super) fn rescue(
    image: &Arc<Image>,
    root: &Root,
    extents: &[ExtentEntry],
    visits_left: &mut u64,
) -> io::Result<Found> {
    let block_size = 1 << root.block_size_log2;
    let memory = &image.memory;
    *visits_left += 2 * extents.len() as u64;
    let mut walk = Walk {
        image,
        root,
        block_size,
        places: Vec::new(),
        newest: HashMap::new(),
        missing: BTreeMap::new(),
        mapped: None,
        count: 0,
        beyond: 0,
        visits_left,
    };
    let mut extents = extents.iter().peekable();
    let mut faults = Vec::new();
    let mut first = Vec::new();
    let is_preamble =
        |extent: &&ExtentEntry| ExtentType::from_byte(extent.what) == Some(ExtentType::Preamble);
    if let Some(preamble) = extents.next_if(|extent| is_preamble(extent) && extent.count > 0) {
        first = walk.block(preamble.address)?;
        walk.count = 1;
        if !memory.holds(preamble.address, block_size) {
            walk.missing.insert((0, 0, 0), 1);
            walk.beyond += walk.beyond_end(preamble.address, 1);
        }
        let rest = ExtentEntry {
            address: preamble.address.saturating_add(block_size),
            count: preamble.count - 1,
            ..*preamble
        };
        walk.extent(&rest)?;
    }
    if !root::is_header(&first, root) {
        root::put_header(&mut first, image, root);
        faults.push(CoreFault::Preamble);
    }
    let mut counts = HashMap::new();
    for extent in extents {
        if extent.counts != 0 {
            counts.insert(extent.buffer, extent.counts);
        }
        walk.extent(extent)?;
    }
    let headers = walk.headers(&counts)?;
    faults.extend(walk.faults());
    let missing = walk.missing();
    let stream = Rescued {
        image: image.clone(),
        sync: root::sync(root),
        block_size,
        first,
        places: walk.places,
        headers,
    };
    Ok(Found { stream, missing, faults })
}

/// The newest block of a buffer.
struct Newest {
    order: (u64, u64),
    place: usize,
    thread: u32,
}

/// A walk over extents.
struct Walk<'a> {
    image: &'a Image,
    root: &'a Root,
    block_size: u64,
    places: Vec<Place>,
    newest: HashMap<u32, Newest>,
    /// By registry, kind and buffer.
    missing: BTreeMap<(u16, u8, u32), u64>,
    /// The file of a mapped ring that the core lacks.
    mapped: Option<Box<str>>,
    /// Blocks in the extents.
    count: u64,
    /// Missing blocks beyond the end of the core.
    beyond: u64,
    visits_left: &'a mut u64,
}

impl Walk<'_> {
    /// Reads a block. Bytes that the core lacks are zeros.
    fn block(&self, address: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; self.block_size as usize];
        self.image.memory.read(address, &mut bytes)?;
        Ok(bytes)
    }

    /// Finds the blocks of an extent that are in the core (`.root.extent`).
    fn extent(&mut self, extent: &ExtentEntry) -> io::Result<()> {
        let Some(what) = ExtentType::from_byte(extent.what) else { return Ok(()) };
        let memory: &Memory = &self.image.memory;
        let count = u64::from(extent.count);
        self.count = self.count.saturating_add(count);
        let (mut missing, mut beyond) = (0, 0);
        let mut index = 0;
        while index < count && *self.visits_left > 0 {
            *self.visits_left -= 1;
            let address = extent.address.checked_add(index * self.block_size);
            let next = address.and_then(|address| memory.next_address(address));
            let (Some(address), Some(next)) = (address, next) else {
                missing += count - index;
                beyond += address.map_or(0, |address| self.beyond_end(address, count - index));
                break;
            };
            if next > address {
                let passed = (next - address).div_ceil(self.block_size).min(count - index);
                missing += passed;
                beyond += self.beyond_end(address, passed);
                index += passed;
                continue;
            }
            index += 1;
            let pieces = memory.piece_count(address, self.block_size) as u64;
            *self.visits_left = self.visits_left.saturating_sub(pieces - 1);
            let mut header = BlockHeader::native(BlockType::Events, 0);
            let bytes = bytemuck::bytes_of_mut(&mut header);
            let is_whole = self.image.memory.read(address, bytes)? == bytes.len();
            let is_present = is_whole && header.magic == BLOCK_MAGIC && self.is_ours(&header);
            if !(is_whole && memory.holds(address, self.block_size)) {
                let lost = u64::from(is_present || !is_whole);
                missing += lost;
                beyond += self.beyond_end(address, lost);
            }
            if is_present {
                self.add(address, &header);
            }
        }
        if missing == 0 {
            return Ok(());
        }
        if what == ExtentType::Mapped {
            self.count = self.count.saturating_sub(missing);
            let path = || self.image.notes.file_at(extent.address).unwrap_or("whose name is not");
            self.mapped.get_or_insert_with(|| path().into());
            return Ok(());
        }
        self.beyond = self.beyond.saturating_add(beyond);
        let key = (extent.registry, extent.kind, extent.buffer);
        let key = if what == ExtentType::Ring { key } else { (0, 0, 0) };
        let sum = self.missing.entry(key).or_default();
        *sum = sum.saturating_add(missing);
        Ok(())
    }

    /// Returns how many of `count` blocks lay beyond the end of the core.
    fn beyond_end(&self, address: u64, count: u64) -> u64 {
        let size = count.saturating_mul(self.block_size);
        self.image.memory.cut_of(address, size).div_ceil(self.block_size).min(count)
    }

    /// Returns whether a block is of this stream (`.root.stream`).
    fn is_ours(&self, header: &BlockHeader) -> bool {
        self.root.uuid.starts_with(&header.stream)
    }

    fn add(&mut self, address: u64, header: &BlockHeader) {
        let place = self.places.len();
        self.places.push(Place { address, header: OWN_HEADER });
        if header.block_type != BlockType::Events as u8 {
            return;
        }
        let order = (header.sequence.get(), header.first.get());
        let newest = Newest { order, place, thread: header.thread.get() };
        match self.newest.get_mut(&header.buffer.get()) {
            Some(known) if known.order > order => {}
            Some(known) => *known = newest,
            None => {
                self.newest.insert(header.buffer.get(), newest);
            }
        }
    }

    /// Returns updated headers of the newest block of each buffer (`.root.loss`).
    fn headers(&mut self, counts: &HashMap<u32, u64>) -> io::Result<Vec<BlockHeader>> {
        let mut headers = Vec::new();
        for (buffer, newest) in &self.newest {
            let Some(place) = self.places.get(newest.place).copied() else { continue };
            let bytes = self.block(place.address)?;
            let Some(mut header) = BlockHeader::read(&bytes) else { continue };
            let is_sealed = header.is_sealed();
            // A damaged block stays unchanged: the reader reports it.
            if is_sealed && !block::is_intact(&header, &bytes, false) {
                continue;
            }
            let totals = match counts.get(buffer) {
                // `.root.counts`
                Some(&address) => self.image.memory.read_value::<[u64; EXTENT_COUNTS]>(address)?,
                None => None,
            };
            totals.iter().for_each(|totals| put_totals(&mut header, totals));
            if let Some(sync) = root::sync(self.root).filter(|_| header.sync_ticks.get() == 0) {
                header.set_sync(sync);
            }
            if is_sealed {
                header.seal(bytes.get(block::payload(&header, false)).unwrap_or_default());
            }
            if let Some(place) = self.places.get_mut(newest.place) {
                place.header = headers.len() as u32;
                headers.push(header);
            }
        }
        Ok(headers)
    }

    fn faults(&self) -> Vec<CoreFault> {
        let mut faults = Vec::new();
        if *self.visits_left == 0 {
            faults.push(CoreFault::Chain { what: "has the same memory more than once" });
        }
        let missing = self.missing.values().fold(0u64, |sum, count| sum.saturating_add(*count));
        if missing > 0 {
            let beyond = self.beyond.min(missing);
            faults.push(CoreFault::Blocks { missing, count: self.count, beyond });
        }
        faults.extend(self.mapped.clone().map(|path| CoreFault::Mapped { path }));
        faults
    }

    fn missing(&self) -> Vec<Missing> {
        let one = |(&(registry, kind, buffer), &count): (&(u16, u8, u32), &u64)| {
            let thread = self.newest.get(&buffer).map(|newest| newest.thread);
            Missing { registry, kind, thread: thread.filter(|&thread| thread != 0), count }
        };
        self.missing.iter().map(one).collect()
    }
}

/// Puts totals into a header. No count becomes smaller.
fn put_totals(header: &mut BlockHeader, totals: &[u64; EXTENT_COUNTS]) {
    let [full, nested, large, io, overwritten] = *totals;
    let most = |old: u32, new: u64| old.max(u32::try_from(new).unwrap_or(u32::MAX)).into();
    header.discarded_full = most(header.discarded_full.get(), full);
    header.discarded_nested = most(header.discarded_nested.get(), nested);
    header.discarded_large = most(header.discarded_large.get(), large);
    header.discarded_io = most(header.discarded_io.get(), io);
    header.overwritten = header.overwritten.get().max(overwritten).into();
}

impl Rescued {
    pub(super) fn block_count(&self) -> u64 {
        1 + self.places.len() as u64
    }

    /// Reads a part of a block, from `within` on, and returns how many bytes the core has. Missing
    /// bytes are zeros.
    fn read_block(&self, index: u64, within: usize, to: &mut [u8]) -> io::Result<usize> {
        to.fill(0);
        let Some(index) = index.checked_sub(1) else {
            let from = self.first.get(within..).unwrap_or_default();
            to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
            return Ok(to.len());
        };
        let place = usize::try_from(index).ok().and_then(|index| self.places.get(index));
        let Some(place) = place else { return Ok(0) };
        let address = place.address.saturating_add(within as u64);
        let present = self.image.memory.read(address, to)?;
        if let Some(header) = self.headers.get(place.header as usize) {
            let header = bytemuck::bytes_of(header).get(within..).unwrap_or_default();
            to.iter_mut().zip(header).for_each(|(to, from)| *to = *from);
        }
        Ok(present)
    }

    /// Returns a block for a log: sealed, if its chain is unbroken.
    pub(super) fn sealed_block(&self, index: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
        bytes.resize(self.block_size as usize, 0);
        let present = self.read_block(index, 0, bytes)?;
        if index > 0 {
            seal::seal(bytes, present, self.image.elf.big_endian, self.sync);
        }
        Ok(())
    }
}

impl Source for Rescued {
    fn size(&self) -> u64 {
        self.block_count() * self.block_size
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.size().saturating_sub(offset)).unwrap_or(usize::MAX);
        let size = left.min(buf.len());
        let mut done = 0;
        while let Some(rest) = buf.get_mut(done..size).filter(|rest| !rest.is_empty()) {
            let at = offset + done as u64;
            let within = at % self.block_size;
            let some = ((self.block_size - within) as usize).min(rest.len());
            let to = rest.get_mut(..some).unwrap_or_default();
            let present = self.read_block(at / self.block_size, within as usize, to)?;
            done += present;
            // The reader must not see made-up bytes of an event (`.read.chain`).
            if present < some {
                break;
            }
        }
        Ok(done)
    }

    fn is_still(&self) -> bool {
        true
    }
}
