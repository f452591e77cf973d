//! The preamble: the beginning of the stream as it is in memory, whatever is output.
//!
//! ```text
//!  block 0: │ stream header │ registry 0 │ registry 1 … │     another block: │ header │ registry …
//! ```
//!
//! It has blocks of its own, which are never written, only read in memory. They lie near the root
//! while it has room. Design: `.sol.root` in `design/telemetry.md`; `.root.preamble` in
//! `design/format.md`.

use crate::block::memory::{self, Block, BlockLink, Blocks};
use crate::block::registry_encoding::{self, Piece};
use crate::block::root::{self, BEGUN, EXTENTS, REGISTRIES};
use crate::block::{identity, parts};
use crate::os::report;
use crate::os::sync::Locked;
use crate::registry::registration::{self, Registered};
use core::sync::atomic::Ordering;
use eventlog::format::{
    BLOCK_HEADER_SIZE, ExtentEntry, ExtentType, RegistryEntry, STREAM_HEADER_SIZE,
};

const BLOCK_COUNT_MAX: usize = 1024;
const PART_ALIGNMENT: usize = 8;

/// How far the preamble is built. Only a registration and a forked child change it.
struct Preamble {
    stream: [u8; 16],
    /// The block that is being filled, and its used bytes.
    index: usize,
    used: usize,
    /// The number of registries in it, and the encoded bytes of the next one.
    registry_count: usize,
    registry_offset: usize,
    failure_told: bool,
}

const NONE: Preamble = Preamble {
    stream: [0; 16],
    index: 0,
    used: 0,
    registry_count: 0,
    registry_offset: 0,
    failure_told: false,
};

static PREAMBLE: Locked<Preamble> = Locked::new(NONE);
static BLOCKS: [BlockLink; BLOCK_COUNT_MAX] = [const { BlockLink::none() }; BLOCK_COUNT_MAX];

/// Adds the registries that exist by now to the preamble, and then to their chain. Starts the root
/// itself if it is missing.
pub(crate) fn bring_registries() {
    // A thread that builds it now has the lock of the registrations too.
    if let Some(mut preamble) = PREAMBLE.try_lock() {
        preamble.bring();
    }
}

/// Starts the preamble again in a forked child, whose blocks start again too.
pub(crate) fn restart() {
    let (mut preamble, _) = PREAMBLE.take_over();
    *preamble = NONE;
    if BEGUN.load(Ordering::Relaxed) {
        preamble.bring();
    } else {
        // A missing thread was just building it.
        EXTENTS.forget();
        REGISTRIES.forget();
        BLOCKS.iter().for_each(BlockLink::clear);
    }
}

impl Preamble {
    fn bring(&mut self) {
        let brought = self.bring_all();
        if brought.is_none() && !core::mem::replace(&mut self.failure_told, true) {
            report::say(format_args!(
                "no memory to describe more registries to a debugger: their events are recorded, \
                 but have no names in a core dump"
            ));
        }
        if !root::is_there() && self.stream == identity::uuid() {
            root::begin(self.stream);
        }
    }

    fn bring_all(&mut self) -> Option<()> {
        if self.stream != identity::uuid() {
            self.begin_stream()?;
        }
        while let Some(registered) = registration::get(self.registry_count) {
            while let Some(piece) =
                registry_encoding::next(registered.control, self.registry_offset, self.room())
            {
                self.put(registered, &piece)?;
            }
            if REGISTRIES.count() == self.registry_count {
                REGISTRIES.append(entry_of(registered))?;
            }
            self.registry_count += 1;
            self.registry_offset = 0;
        }
        Some(())
    }

    /// Starts again with block 0.
    fn begin_stream(&mut self) -> Option<()> {
        root::leave();
        *self = Preamble { failure_told: self.failure_told, ..NONE };
        let block = block_at(0)?;
        block.put_bytes(0, bytemuck::bytes_of(&identity::header(Some(0))));
        self.used = STREAM_HEADER_SIZE;
        self.stream = identity::uuid();
        Some(())
    }

    /// Returns the greatest payload of the next part in the current block, in bytes.
    fn room(&self) -> usize {
        (memory::block_size() - self.used).saturating_sub(BLOCK_HEADER_SIZE)
    }

    /// Puts a piece of a registry (`.part.registry`); returns `None` if the system has no memory.
    fn put(&mut self, registered: &Registered, piece: &Piece) -> Option<()> {
        if piece.size > self.room() {
            self.begin_block()?;
        }
        let (control, offset) = (registered.control, self.registry_offset);
        let header = parts::piece_header(registered.index, offset, piece);
        let block = block_at(self.index)?;
        block.put_part(self.used, header, |out| piece.encode(control, offset, out))?;
        let end = self.used + BLOCK_HEADER_SIZE + piece.size;
        self.used = end.next_multiple_of(PART_ALIGNMENT).min(memory::block_size());
        self.registry_offset += piece.size;
        Some(())
    }

    /// Begins another block (`.parts.header`).
    fn begin_block(&mut self) -> Option<()> {
        let block = block_at(self.index + 1)?;
        let header = parts::block_header(self.index as u64, identity::id());
        block.put_bytes(0, bytemuck::bytes_of(&header));
        self.index += 1;
        self.used = BLOCK_HEADER_SIZE;
        Some(())
    }
}

/// Returns a block of the preamble. In a forked child it is the parent's block, and the same bytes
/// go to the same places.
fn block_at(index: usize) -> Option<Block> {
    let link = BLOCKS.get(index)?;
    if let Some(block) = link.find() {
        return Some(block);
    }
    let block = Blocks::of_preamble(index).or_else(|| Blocks::map_lazily(1))?.get(0);
    root::add_extent(ExtentEntry {
        address: block.address() as u64,
        count: 1,
        what: ExtentType::Preamble as u8,
        ..bytemuck::Zeroable::zeroed()
    })?;
    link.set(block);
    Some(block)
}

fn entry_of(registered: &Registered) -> [u64; size_of::<RegistryEntry>() / 8] {
    let control = registered.control;
    let [recorded, output] =
        [control.recorded(), control.output()].map(|mask| core::ptr::from_ref(mask).addr() as u64);
    let index = registered.index.into();
    bytemuck::cast(RegistryEntry { index, reserved_4: 0, recorded, output })
}
