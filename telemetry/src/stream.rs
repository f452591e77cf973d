//! The stream: its header, places for blocks, and the parts block in which everything small goes
//! out.
//!
//! ```text
//!  ring ── full block ─▶ place: one atomic addition ─▶ plinth    no lock: side by side
//!  flush ─ few events ─▶ parts block, under a lock ─ end of flush ─▶ plinth
//! ```
//!
//! Begun when the first registry is registered with a kind output, or the first time that a kind's
//! output is switched on. Design: `.sol.stream` in `design/telemetry.md`; sections 2 and 4 of
//! `design/format.md`.

use crate::losses::{self, Cause};
use crate::parts::PartsBlock;
use crate::plinth::{FilePlinth, Operation, Plinth, PlinthError};
use crate::sync::{Entry, Guard, Locked};
use crate::{clock, control, identity, intern, memory, registration, report, sys, writer};
use core::fmt;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use eventdef::Registry;
use eventlog::format::{
    BLOCK_HEADER_SIZE, BlockHeader, BlockType, encode_registry, encoded_registry_size,
};
use std::sync::OnceLock;

/// A piece of a registry smaller than this, in bytes, goes to the next parts block.
const PIECE_SIZE_MIN: usize = 64;

/// How the stream stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// There is none yet.
    None = 0,
    /// It takes blocks.
    Open = 1,
    /// The host could not create it: what goes out is counted as lost.
    Failed = 2,
    /// This is a forked child, which leaves its parent's stream alone.
    Left = 3,
}

struct State {
    parts: Option<PartsBlock>,
    /// Parts blocks so far.
    parts_count: u64,
    /// Registries that are in the stream: those with lower indexes.
    registry_count: usize,
    /// A block's worth of bytes to copy into.
    copy: Option<&'static mut [u8]>,
}

static STATE: Locked<State> =
    Locked::new(State { parts: None, parts_count: 0, registry_count: 0, copy: None });
static STANDING: AtomicU8 = AtomicU8::new(Standing::None as u8);
/// The number of the next block: its place (`.stream.blocks`); block 0 is the header's
/// (`.stream.first`).
static PLACE: AtomicU64 = AtomicU64::new(1);
static PLINTH: OnceLock<&'static dyn Plinth> = OnceLock::new();
static FAILURE_TOLD: AtomicBool = AtomicBool::new(false);

/// Says where the stream goes, instead of to a file. Before there is a stream; false if there is
/// one, or a plinth.
pub fn set_plinth(plinth: impl Plinth + 'static) -> bool {
    if standing() != Standing::None {
        return false;
    }
    let mut is_mine = false;
    // Not called where there is one: this one is dropped then, not leaked.
    PLINTH.get_or_init(|| {
        is_mine = true;
        Box::leak(Box::new(plinth))
    });
    is_mine
}

/// How the stream stands.
pub(crate) fn standing() -> Standing {
    match STANDING.load(Ordering::Acquire) {
        1 => Standing::Open,
        2 => Standing::Failed,
        3 => Standing::Left,
        _ => Standing::None,
    }
}

/// Leaves the stream to the parent process.
pub(crate) fn leave() {
    STANDING.store(Standing::Left as u8, Ordering::Release);
    if let Some(plinth) = PLINTH.get() {
        plinth.leave();
    }
}

/// Begins the stream if there is none. `None`: it must wait, for this is a nested entry, which may
/// have interrupted the plinth.
pub(crate) fn ensure(entry: &Entry) -> Option<Standing> {
    if entry.is_nested() {
        return None;
    }
    if standing() == Standing::None {
        let mut state = STATE.lock(entry)?;
        if standing() == Standing::None {
            let standing = create(&mut state);
            // A child that was forked meanwhile keeps what it is.
            let (old, new) = (Standing::None as u8, standing as u8);
            let _ = STANDING.compare_exchange(old, new, Ordering::Release, Ordering::Relaxed);
            if standing == Standing::Open {
                writer::start();
            }
        }
    }
    Some(standing())
}

fn create(state: &mut State) -> Standing {
    match try_create(state) {
        Ok(()) => Standing::Open,
        Err(error) => {
            tell(error);
            state.parts = None;
            Standing::Failed
        }
    }
}

fn try_create(state: &mut State) -> Result<(), PlinthError> {
    let no_memory = PlinthError { operation: Operation::Create, errno: libc::ENOMEM };
    let bytes = memory::map_bytes(memory::block_size()).ok_or(no_memory)?;
    state.copy = Some(memory::map_bytes(memory::block_size()).ok_or(no_memory)?);
    let plinth = match PLINTH.get() {
        Some(plinth) => *plinth,
        None => {
            let file: &'static FilePlinth =
                control::file_plinth().and_then(memory::place).ok_or(no_memory)?;
            *PLINTH.get_or_init(|| file)
        }
    };
    plinth.create(memory::block_size())?;
    state.parts = Some(PartsBlock::begin_stream(bytes, &identity::header()));
    // The header block goes first, as soon as there is something to go (a host that only appends).
    bring_registries(state, plinth);
    write_parts(state, plinth)
}

/// Writes a whole block at a place of its own, where nothing was before (`.write.torn`). False if
/// the host did not take it (`.write.fail`): the place stays a hole (`.stream.hole`).
pub(crate) fn write_block(bytes: &[u8]) -> bool {
    let Some(plinth) = PLINTH.get().filter(|_| standing() == Standing::Open) else { return false };
    let place = PLACE.fetch_add(1, Ordering::Relaxed);
    plinth
        .write_block(place * memory::block_size() as u64, bytes)
        .inspect_err(|error| tell(*error))
        .is_ok()
}

/// The stream, for what is smaller than a block; `None` if it is in use by what this entry
/// interrupted.
pub(crate) struct Parts<'a> {
    state: Guard<'a, State>,
    plinth: &'static dyn Plinth,
}

/// Takes the parts block; `None` where there is none, or it must wait: in a nested entry.
pub(crate) fn parts(entry: &Entry) -> Option<Parts<'static>> {
    if entry.is_nested() {
        return None;
    }
    let plinth = *PLINTH.get().filter(|_| standing() == Standing::Open)?;
    let state = STATE.lock(entry)?;
    Some(Parts { state, plinth })
}

impl Parts<'_> {
    /// Whether a payload of this size fits into a part.
    pub(crate) fn has_room_for_part(&self, size: usize) -> bool {
        size <= PartsBlock::payload_size_max(memory::block_size())
    }

    /// Puts a part. `fill` puts its payload, [last, top) of the header, and may complete that. It
    /// goes out at the next `write`, at the latest.
    pub(crate) fn push_events(
        &mut self,
        header: BlockHeader,
        fill: impl FnOnce(&mut BlockHeader, &mut [u8]),
    ) -> bool {
        push(&mut self.state, self.plinth, header, fill)
    }

    /// Writes a copy of a block that is still being filled. `fill` puts what is at [last, top), and
    /// may complete the header.
    pub(crate) fn write_copy(
        &mut self,
        mut header: BlockHeader,
        fill: impl FnOnce(&mut BlockHeader, &mut [u8]),
    ) -> bool {
        let Some(copy) = self.state.copy.as_deref_mut() else { return false };
        let (last, top) = (header.last.get() as usize, header.top.get() as usize);
        copy[..last].fill(0);
        fill(&mut header, &mut copy[last..top]);
        header.seal(&copy[last..top]);
        copy[..BLOCK_HEADER_SIZE].copy_from_slice(bytemuck::bytes_of(&header));
        write_block(copy)
    }

    /// Writes the registries that the stream does not have yet (`.part.registry-before`).
    pub(crate) fn bring_registries(&mut self) {
        bring_registries(&mut self.state, self.plinth);
        write_parts(&mut self.state, self.plinth).unwrap_or_else(tell);
    }

    /// Writes what parts the host does not have yet.
    pub(crate) fn write(&mut self) {
        write_parts(&mut self.state, self.plinth).unwrap_or_else(tell);
        self.plinth.flush();
    }

    /// Ends the stream (`.part.end`): the mark, and zeros to the end of its block.
    pub(crate) fn finish(&mut self) {
        // First, for the mark says how many blocks there are.
        make_room(&mut self.state, self.plinth, 0);
        let mut header = part_header(BlockType::End);
        header.sequence = PLACE.load(Ordering::Relaxed).into();
        push(&mut self.state, self.plinth, header, |_, _| ());
        let result = if self.plinth.can_rewrite() {
            pad_parts(&mut self.state, self.plinth)
        } else {
            write_parts(&mut self.state, self.plinth)
        };
        result.unwrap_or_else(tell);
        self.plinth.flush();
        self.plinth.finish();
    }
}

/// The header of a part that holds no events.
fn part_header(block_type: BlockType) -> BlockHeader {
    let mut header = BlockHeader::native(block_type, memory::block_size_log2());
    header.stream = identity::id();
    header.set_sync(clock::sync());
    header
}

fn push(
    state: &mut State,
    plinth: &dyn Plinth,
    header: BlockHeader,
    fill: impl FnOnce(&mut BlockHeader, &mut [u8]),
) -> bool {
    make_room(state, plinth, header.payload_size());
    state.parts.as_mut().is_some_and(|parts| parts.push(header, fill))
}

/// Sees to it that a part with such a payload fits.
fn make_room(state: &mut State, plinth: &dyn Plinth, size: usize) {
    let room = state.parts.as_ref().and_then(PartsBlock::room);
    if room.is_none_or(|room| room < size) {
        turn_over(state, plinth);
    }
}

/// Writes the parts block and begins another one. What the host did not take of it is counted.
fn turn_over(state: &mut State, plinth: &dyn Plinth) {
    if let Err(error) = write_parts(state, plinth) {
        tell(error);
        if let Some(parts) = state.parts.as_ref() {
            parts.each_unwritten(&mut count_lost);
        }
    }
    let sequence = state.parts_count;
    state.parts_count += 1;
    if let Some(parts) = state.parts.as_mut() {
        parts.begin(PLACE.fetch_add(1, Ordering::Relaxed), sequence, identity::id());
    }
}

fn count_lost(header: &BlockHeader) {
    let count = u64::from(header.count.get());
    match (header.block_type, header.registry.get()) {
        (block_type, _) if block_type != BlockType::Events as u8 => {}
        (_, 0) => intern::count_unwritten(count),
        (_, registry) => {
            let slot = registration::slot(registry, header.kind);
            losses::discard_unhoused(slot, Cause::Io, count);
        }
    }
}

/// Writes what the host does not have of the parts block, which leaves the last block of the stream
/// short (`.stream.tail`): at its place (`.stream.grow`), or, where
/// the host can only append, padded, and the next parts go into another block.
fn write_parts(state: &mut State, plinth: &dyn Plinth) -> Result<(), PlinthError> {
    let Some(parts) = state.parts.as_mut() else { return Ok(()) };
    if parts.unwritten().1.is_empty() {
        return Ok(());
    }
    if plinth.can_rewrite() {
        let (offset, bytes) = parts.unwritten();
        plinth.write_block(offset, bytes)?;
        parts.mark_written();
    } else {
        let (offset, bytes) = parts.unwritten_padded();
        plinth.write_block(offset, bytes)?;
        parts.close();
    }
    Ok(())
}

/// Writes the parts block to its end. Further parts may still come over the zeros.
fn pad_parts(state: &mut State, plinth: &dyn Plinth) -> Result<(), PlinthError> {
    let Some(parts) = state.parts.as_mut() else { return Ok(()) };
    let (offset, bytes) = parts.unwritten_padded();
    plinth.write_block(offset, bytes)?;
    parts.mark_written();
    Ok(())
}

/// Puts the registries that the stream lacks into parts, in pieces (`.part.registry`).
fn bring_registries(state: &mut State, plinth: &dyn Plinth) {
    while let Some(registered) = registration::get(state.registry_count) {
        let control = registered.control;
        let masks = [control.recorded(), control.output()].map(|mask| mask.load(Ordering::Relaxed));
        let size = encoded_registry_size(control.registry);
        let mut offset = 0;
        while offset < size {
            let room = state.parts.as_ref().and_then(PartsBlock::room).unwrap_or(0);
            let piece = if room < PIECE_SIZE_MIN.min(size - offset) {
                PartsBlock::payload_size_max(memory::block_size())
            } else {
                room
            };
            let piece = piece.min(size - offset);
            let mut header = part_header(BlockType::Registry);
            header.registry = registered.index.into();
            header.first = (offset as u64).into();
            header.sequence = (size as u64).into();
            header.top = (piece as u32).into();
            push(state, plinth, header, |_, out| {
                encode_piece(control.registry, masks, offset, out);
            });
            offset += piece;
        }
        state.registry_count += 1;
    }
}

/// The bytes of a registry's encoding from `offset` on.
fn encode_piece(registry: &Registry, [recorded, output]: [u64; 2], offset: usize, out: &mut [u8]) {
    let mut at = 0;
    encode_registry(registry, recorded, output, &mut |bytes| {
        let (from, to) = (at.max(offset), (at + bytes.len()).min(offset + out.len()));
        if from < to {
            out[from - offset..to - offset].copy_from_slice(&bytes[from - at..to - at]);
        }
        at += bytes.len();
    });
}

/// Says once for the process what failed.
fn tell(error: PlinthError) {
    if FAILURE_TOLD.swap(true, Ordering::Relaxed) {
        return;
    }
    let name = Name(PLINTH.get().copied());
    let mut text = [0; 128];
    let text = report::Text(sys::error_text(error.errno, &mut text));
    match error.operation {
        Operation::Create => report::say(format_args!(
            "cannot create {name}: {text}; nothing is output, the program goes on"
        )),
        Operation::Claim => report::say(format_args!(
            "{name} is in use by another process; nothing is output, the program goes on (%p in \
             MPS_TELEMETRY_FILENAME gives each process a log of its own)"
        )),
        Operation::Write => report::say(format_args!(
            "cannot write to {name}: {text}; what is not written is counted, the program goes on"
        )),
    }
}

struct Name(Option<&'static dyn Plinth>);

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(plinth) => plinth.describe(f),
            None => f.write_str("the log"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `.part.registry`
    #[test]
    fn the_pieces_of_a_registry_make_up_its_encoding() {
        let registry = &eventdef::store::REGISTRY;
        let mut whole = Vec::new();
        encode_registry(registry, 5, 6, &mut |bytes| whole.extend_from_slice(bytes));
        assert_eq!(whole.len(), encoded_registry_size(registry));
        for piece_size in [1, 7, 64, whole.len()] {
            let mut offset = 0;
            while offset < whole.len() {
                let mut piece = vec![0; piece_size.min(whole.len() - offset)];
                encode_piece(registry, [5, 6], offset, &mut piece);
                assert_eq!(piece, whole[offset..offset + piece.len()]);
                offset += piece.len();
            }
        }
    }
}
