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

use crate::parts::PartsBlock;
use crate::plinth::{FilePlinth, Operation, Plinth, PlinthError};
use crate::sync::{Entry, Guard, Locked};
use crate::{clock, control, flush, identity, memory, registration, report, writer};
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
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
    /// Registries that were put into parts: those with lower indexes; and how much of the next one.
    registry_count: usize,
    registry_offset: usize,
    /// A block's worth of bytes to copy into.
    copy: Option<&'static mut [u8]>,
}

static STATE: Locked<State> = Locked::new(State {
    parts: None,
    parts_count: 0,
    registry_count: 0,
    registry_offset: 0,
    copy: None,
});
/// Registries that the host has: those with lower indexes.
static REGISTRY_COUNT: AtomicUsize = AtomicUsize::new(0);
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

/// Whether somebody has its lock.
pub(crate) fn is_busy() -> bool {
    STATE.is_busy()
}

/// Leaves the stream to the parent process.
pub(crate) fn leave() {
    STANDING.store(Standing::Left as u8, Ordering::Release);
    if let Some(plinth) = PLINTH.get() {
        plinth.leave();
    }
}

/// Begins the stream if there is none. `None`: it must wait, for this is a nested entry, which may
/// have interrupted the plinth; or another thread exits the program.
pub(crate) fn ensure(entry: &Entry) -> Option<Standing> {
    if entry.is_nested() || flush::is_exit_elsewhere() {
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
            tell(&error);
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
    bring_registries(state, plinth)
}

/// The place of another block.
pub(crate) fn take_place() -> u64 {
    PLACE.fetch_add(1, Ordering::Relaxed)
}

/// Writes a whole block at its place, where nothing was before (`.write.torn`), or the same that
/// failed. False if the host did not take it (`.write.fail`): the place is a hole (`.stream.hole`).
pub(crate) fn write_block(place: u64, bytes: &[u8]) -> bool {
    let Some(plinth) = PLINTH.get().filter(|_| standing() == Standing::Open) else { return false };
    plinth.write_block(place * memory::block_size() as u64, bytes).inspect_err(tell).is_ok()
}

/// Sees to it that the host has a registry, before whole blocks of its events
/// (`.part.registry-before`). False: it did not take it.
pub(crate) fn has_registry(entry: &Entry, index: u16) -> bool {
    is_registry_written(index)
        || parts(entry).is_some_and(|mut parts| {
            parts.bring_registries();
            is_registry_written(index)
        })
}

fn is_registry_written(index: u16) -> bool {
    usize::from(index) < REGISTRY_COUNT.load(Ordering::Acquire)
}

/// The stream, for what is smaller than a block; `None` if it is in use by what this entry
/// interrupted.
pub(crate) struct Parts<'a> {
    state: Guard<'a, State>,
    plinth: &'static dyn Plinth,
}

/// Takes the parts block; `None` where there is none, or it must wait: in a nested entry, or where
/// another thread exits the program.
pub(crate) fn parts(entry: &Entry) -> Option<Parts<'static>> {
    if entry.is_nested() {
        return None;
    }
    let plinth = *PLINTH.get().filter(|_| standing() == Standing::Open)?;
    let state = STATE.lock(entry)?;
    if flush::is_exit_elsewhere() {
        return None;
    }
    Some(Parts { state, plinth })
}

impl Parts<'_> {
    /// Whether a payload of this size fits into a part.
    pub(crate) fn has_room_for_part(&self, size: usize) -> bool {
        size <= PartsBlock::payload_size_max(memory::block_size())
    }

    /// Puts a part. `fill` puts its payload, [last, top) of the header, and may complete that. It
    /// goes out at the next `write`, at the latest. False: there is no room, as the host does not
    /// take what is there; or it did not take the registry.
    pub(crate) fn push_events(
        &mut self,
        header: BlockHeader,
        fill: impl FnOnce(&mut BlockHeader, &mut [u8]),
    ) -> bool {
        if usize::from(header.registry.get()) >= self.state.registry_count {
            self.bring_registries();
        }
        usize::from(header.registry.get()) < self.state.registry_count
            && push(&mut self.state, self.plinth, header, fill).inspect_err(tell).is_ok()
    }

    /// Writes a copy of a block that is still being filled. `fill` puts what is at [last, top), and
    /// may complete the header. False: the host did not take it, or the registry.
    pub(crate) fn write_copy(
        &mut self,
        mut header: BlockHeader,
        fill: impl FnOnce(&mut BlockHeader, &mut [u8]),
    ) -> bool {
        if !is_registry_written(header.registry.get()) {
            self.bring_registries();
        }
        if !is_registry_written(header.registry.get()) {
            return false;
        }
        let Some(copy) = self.state.copy.as_deref_mut() else { return false };
        let (last, top) = (header.last.get() as usize, header.top.get() as usize);
        copy[..last].fill(0);
        fill(&mut header, &mut copy[last..top]);
        header.seal(&copy[last..top]);
        copy[..BLOCK_HEADER_SIZE].copy_from_slice(bytemuck::bytes_of(&header));
        write_block(take_place(), copy)
    }

    /// Writes the registries that the stream does not have yet (`.part.registry-before`). What the
    /// host does not take is written again the next time.
    pub(crate) fn bring_registries(&mut self) {
        let _ = bring_registries(&mut self.state, self.plinth).inspect_err(tell);
    }

    /// Writes what parts the host does not have yet; false if it did not take them.
    pub(crate) fn deliver(&mut self) -> bool {
        write_parts(&mut self.state, self.plinth).inspect_err(tell).is_ok()
    }

    /// The same, and has the host hand on what it holds back.
    pub(crate) fn write(&mut self) {
        self.deliver();
        self.plinth.flush();
    }

    /// Ends the stream (`.part.end`): the mark, and zeros to the end of its block.
    pub(crate) fn finish(&mut self) {
        let _ = self.try_finish().inspect_err(tell);
        self.plinth.flush();
        self.plinth.finish();
    }

    fn try_finish(&mut self) -> Result<(), PlinthError> {
        push(&mut self.state, self.plinth, part_header(BlockType::End), |header, _| {
            // Now, for the mark may have begun a block of its own.
            header.sequence = PLACE.load(Ordering::Relaxed).into();
        })?;
        if self.plinth.can_rewrite() {
            pad_parts(&mut self.state, self.plinth)
        } else {
            write_parts(&mut self.state, self.plinth)
        }
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
) -> Result<(), PlinthError> {
    make_room(state, plinth, header.payload_size())?;
    let put = state.parts.as_mut().is_some_and(|parts| parts.push(header, fill));
    if put { Ok(()) } else { Err(PlinthError { operation: Operation::Write, errno: libc::EFBIG }) }
}

/// Sees to it that a part with such a payload fits: writes the parts block and begins another one.
/// A block that the host does not take stays, with its place, until the host does: nothing that was
/// put is lost, and what is to be put is refused.
fn make_room(state: &mut State, plinth: &dyn Plinth, size: usize) -> Result<(), PlinthError> {
    if state.parts.as_ref().and_then(PartsBlock::room).is_some_and(|room| room >= size) {
        return Ok(());
    }
    write_parts(state, plinth)?;
    if let Some(parts) = state.parts.as_mut() {
        parts.begin(take_place(), state.parts_count, identity::id());
        state.parts_count += 1;
    }
    Ok(())
}

/// Writes what the host does not have of the parts block, which leaves the last block of the stream
/// short (`.stream.tail`): at its place (`.stream.grow`), or, where
/// the host can only append, padded, and the next parts go into another block.
fn write_parts(state: &mut State, plinth: &dyn Plinth) -> Result<(), PlinthError> {
    let Some(parts) = state.parts.as_mut() else { return Ok(()) };
    if !parts.unwritten().1.is_empty() {
        if plinth.can_rewrite() {
            let (offset, bytes) = parts.unwritten();
            plinth.write_block(offset, bytes)?;
            parts.mark_written();
        } else {
            let (offset, bytes) = parts.unwritten_padded();
            plinth.write_block(offset, bytes)?;
            parts.close();
        }
    }
    REGISTRY_COUNT.store(state.registry_count, Ordering::Release);
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

/// Writes the registries that the stream lacks, as parts, in pieces (`.part.registry`). After a
/// failure it goes on where it stopped.
fn bring_registries(state: &mut State, plinth: &dyn Plinth) -> Result<(), PlinthError> {
    while let Some(registered) = registration::get(state.registry_count) {
        let control = registered.control;
        let masks = [control.recorded(), control.output()].map(|mask| mask.load(Ordering::Relaxed));
        let size = encoded_registry_size(control.registry);
        while state.registry_offset < size {
            let offset = state.registry_offset;
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
            })?;
            state.registry_offset += piece;
        }
        state.registry_count += 1;
        state.registry_offset = 0;
    }
    write_parts(state, plinth)
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
fn tell(error: &PlinthError) {
    if !FAILURE_TOLD.swap(true, Ordering::Relaxed) {
        report::say_failure(error, PLINTH.get().copied());
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
