//! The parts block of the stream, under its lock: how it is filled and output, and how the stream
//! goes on in another volume.
//!
//! ```text
//!  registry ─ pieces ─┐
//!  events ─ parts ────┼─▶ put ─▶ │ parts block │ ─▶ plinth, when it is full or at a flush
//!  end ───────────────┘    └ no room: another place, or another volume
//! ```
//!
//! Design: `.sol.stream`, `.sol.outage` in `design/telemetry.md`; section 4 of `design/format.md`.

use crate::block::memory::{self, PartsMemory};
use crate::block::parts::{self, PartsBlock};
use crate::block::{identity, registry_encoding};
use crate::os::atomic::{AtomicUsize, Ordering};
use crate::os::sync::Locked;
use crate::os::{signals::Deferred, way_out::Crossing};
use crate::plinth::{Operation, Plinth, PlinthError, region};
use crate::registry::registration;
use crate::stream::reserved::Reserved;
use crate::stream::unacknowledged::Waiting;
use crate::stream::volume::Side;
use crate::stream::{account, lifecycle, pending, volume};
use eventlog::format::{BLOCK_HEADER_SIZE, BlockHeader, BlockType, StreamHeader};

/// The size of a count of blocks in an end part.
const COUNT_SIZE: usize = size_of::<u64>();

pub(crate) struct State {
    pub(crate) parts: Option<PartsBlock>,
    /// The number of registries that were put into parts, and how much of the next one.
    pub(crate) registry_count: usize,
    pub(crate) registry_offset: usize,
    /// A buffer for one block.
    pub(crate) copy: Option<&'static mut [u8]>,
    /// The beginning of the stream, for its headers.
    pub(crate) start: u64,
    /// The ticks of the clock sync in its header, and of the last one that a flush put.
    pub(crate) syncs: [u64; 2],
    /// A parts block of the previous volume, with parts that the host refused.
    pub(crate) carried: Option<PartsBlock>,
    /// Whether its parts are being put now.
    is_carrying: bool,
    /// The events in parts that the host lacks.
    pub(crate) waiting: Waiting,
    /// Memory for another parts block.
    pub(crate) spare: Option<PartsMemory>,
    /// Whether the volume has its end part, and the next one could not be made.
    pub(crate) is_ended: bool,
    /// Whether parts take places even in a full volume: it begins, or ends.
    pub(crate) is_forced: bool,
    /// Room for the last account.
    reserved: Reserved,
    /// Whether the last account is being put: what waits elsewhere is given up.
    pub(crate) is_last: bool,
}

pub(super) static STATE: Locked<State> = Locked::new(State::new());
/// The number of registries that the host has.
static REGISTRY_COUNT: AtomicUsize = AtomicUsize::new(0);

pub(crate) fn is_registry_written(index: u16) -> bool {
    usize::from(index) < written_registry_count()
}

pub(crate) fn written_registry_count() -> usize {
    REGISTRY_COUNT.load(Ordering::Acquire)
}

impl State {
    const fn new() -> State {
        State {
            parts: None,
            registry_count: 0,
            registry_offset: 0,
            copy: None,
            start: 0,
            syncs: [0; 2],
            carried: None,
            is_carrying: false,
            waiting: Waiting::NONE,
            spare: None,
            is_ended: false,
            is_forced: false,
            reserved: Reserved::NONE,
            is_last: false,
        }
    }

    /// Begins the parts of a volume, with its header.
    pub(crate) fn begin(&mut self, memory: PartsMemory, header: &StreamHeader, keeps: bool) {
        let mut parts = PartsBlock::begin_stream(memory, header);
        if keeps && !region::is_there() {
            parts.keep_room();
        }
        self.parts = Some(parts);
        self.syncs = [header.sync_ticks.get(); 2];
        (self.reserved, self.is_last) = (Reserved::NONE, false);
    }

    /// Resets the state in a forked child. `is_broken`: a missing thread was changing it, and its
    /// memory is unknown.
    pub(crate) fn restart(&mut self, is_broken: bool) {
        let old = core::mem::replace(self, State::new());
        self.waiting = old.waiting;
        self.waiting.restart(is_broken);
        if !is_broken {
            self.copy = old.copy;
            self.spare = old.spare.or(old.parts.map(PartsBlock::into_memory));
        }
        self.forget_registries();
    }

    /// Returns whether another part without payload fits, and the end after it.
    pub(super) fn has_room_for_account(&self) -> bool {
        let room = self.parts.as_ref().and_then(PartsBlock::room);
        let is_there = room.is_some_and(|room| room >= BLOCK_HEADER_SIZE);
        !self.is_last || is_there || self.reserved.place_count != 0
    }

    /// Begins the last account, where the host has room for it even if it refuses everything else.
    pub(super) fn begin_last(&mut self) {
        if let Some(parts) = self.parts.as_mut().filter(|parts| parts.place() != 0)
            && self.reserved.in_header != 0
        {
            pending::clear();
            parts.begin_last(0, self.reserved.in_header);
            // Other accounts were given up with the waiting parts.
            self.registry_count = written_registry_count();
            self.registry_offset = 0;
        } else if let Some(parts) = self.parts.as_mut() {
            parts.open_kept();
        }
        self.is_last = true;
    }

    /// Returns whether a registry is in this volume's parts, and the registries that the previous
    /// volume refused are too.
    pub(crate) fn has_registry(&self, index: u16) -> bool {
        usize::from(index) < self.registry_count && self.carried.is_none()
    }

    /// Makes all registries go out again.
    pub(crate) fn forget_registries(&mut self) {
        self.registry_count = 0;
        self.registry_offset = 0;
        pending::note_registries(0, 0);
        REGISTRY_COUNT.store(0, Ordering::Release);
    }
}

/// Reserves room for the last accounts of all buffers, as long as the host has room. A mapped file
/// has its room from the beginning, and its blocks belong to the rings.
pub(super) fn reserve(state: &mut State, plinth: &dyn Plinth) -> Result<(), PlinthError> {
    while state.reserved.is_short() && !region::is_there() {
        let Some(block) = state.copy.as_deref_mut() else { break };
        let Some(place) = volume::take_place(plinth, Side::First, false) else { break };
        PartsBlock::put_empty(block, pending::take_number());
        let crossing = Crossing::begin();
        let offset = place * memory::block_size() as u64;
        crossing.carry(offset, block);
        plinth.write_block(offset, block)?;
        account::add_bytes(block.len());
        volume::note_written(offset, block.len());
        state.reserved.add(place);
    }
    Ok(())
}

/// Puts an end part, and writes it: the stream goes on in the volume `next`; 0: it is closed
/// (`.part.end`, `.volume.end`).
pub(crate) fn put_end(
    state: &mut State,
    plinth: &dyn Plinth,
    next: u64,
) -> Result<(), PlinthError> {
    let mut header = parts::header(BlockType::End);
    volume::each_written(|_| header.top = (header.top.get() + COUNT_SIZE as u32).into());
    make_room(state, plinth, header.payload_size())?;
    // Counted now: the mark may have begun a block of its own.
    let place = state.parts.as_ref().map_or(0, PartsBlock::place);
    let count = region::block_count_or(volume::block_count_at_end(plinth, place));
    put(state, header, |header, out| {
        header.sequence = count.into();
        header.first = next.into();
        // `.directory.end`
        let mut places = out.chunks_exact_mut(COUNT_SIZE);
        volume::each_written(|count| {
            places.next().into_iter().for_each(|out| out.copy_from_slice(&count.to_le_bytes()));
        });
        out.iter_mut().zip(count.to_le_bytes()).for_each(|(out, byte)| *out = byte);
    })?;
    if plinth.can_rewrite() { pad_parts(state, plinth) } else { write_parts(state, plinth) }
}

/// Puts a part for which room was made.
pub(crate) fn put(
    state: &mut State,
    mut header: BlockHeader,
    fill: impl FnOnce(&mut BlockHeader, &mut [u8]),
) -> Result<(), PlinthError> {
    let copy = state.copy.as_deref_mut().and_then(|copy| copy.get_mut(..header.payload_size()));
    let put = state.parts.as_mut().zip(copy).is_some_and(|(parts, payload)| {
        fill(&mut header, payload);
        let put = parts.push(header, payload);
        // The memory of the last account lacks the earlier bytes of its block.
        if !state.is_last {
            pending::set(parts.place());
        }
        put
    });
    if put { Ok(()) } else { Err(PlinthError { operation: Operation::Write, errno: libc::EFBIG }) }
}

/// Makes room for a part with such a payload: writes the parts block and begins another one. A
/// block that the host refuses stays, with its place, until the host accepts it: no put part is
/// lost, and new ones are refused.
pub(crate) fn make_room(
    state: &mut State,
    plinth: &dyn Plinth,
    size: usize,
) -> Result<(), PlinthError> {
    let mut is_forced = state.is_forced;
    loop {
        if state.parts.as_ref().and_then(PartsBlock::room).is_some_and(|room| room >= size) {
            return Ok(());
        }
        write_parts(state, plinth)?;
        if state.is_last {
            let full = PlinthError { operation: Operation::Write, errno: libc::ENOSPC };
            let (place, parts) = state.reserved.take().zip(state.parts.as_mut()).ok_or(full)?;
            parts.begin_last(place, BLOCK_HEADER_SIZE);
            continue;
        }
        let crossing = Crossing::begin();
        let place = match region::is_there() {
            true => Some(region::take_parts_place()?),
            false => volume::take_place(plinth, Side::First, is_forced),
        };
        if let Some(place) = place {
            if let Some(parts) = state.parts.as_mut() {
                pending::clear();
                parts.begin(place, pending::take_number(), identity::id());
                pending::set(place);
            }
            return Ok(());
        }
        drop(crossing);
        change_volume(state, plinth)?;
        is_forced = true;
    }
}

/// Writes what the host lacks of the parts block, which leaves the last block of the stream short
/// (`.stream.tail`). It is written at its place (`.stream.grow`). If the host can only append, it
/// is padded, and the next parts go into another block.
pub(crate) fn write_parts(state: &mut State, plinth: &dyn Plinth) -> Result<(), PlinthError> {
    let Some(parts) = state.parts.as_mut() else { return Ok(()) };
    if parts.is_unwritten() {
        let crossing = Crossing::begin();
        // The header block is written to its end: a full disk then has room for the last account.
        let is_padded = !plinth.can_rewrite() || parts.is_header();
        let rest = if is_padded { parts.unwritten_padded() } else { parts.unwritten() };
        if let Err(error) = write_rest(plinth, &crossing, rest) {
            if plinth.can_rewrite() {
                write_first_parts(state, plinth, &crossing);
            }
            state.waiting.refuse();
            return Err(error);
        }
        let is_some_carried = state.is_carrying || state.carried.is_some() || state.is_last;
        note_written(&mut state.waiting, parts, is_some_carried);
        if plinth.can_rewrite() {
            if parts.place() == 0 && (is_padded || state.reserved.in_header != 0) {
                state.reserved.in_header = parts.used();
            }
            parts.mark_written();
        } else {
            volume::add_appended();
            parts.close();
        }
        pending::clear();
    }
    REGISTRY_COUNT.store(state.registry_count, Ordering::Release);
    Ok(())
}

/// Writes the parts one by one after the host refused them as a whole, as far as it accepts them.
/// So the runtime knows which of them are in the log of a full disk.
fn write_first_parts(state: &mut State, plinth: &dyn Plinth, crossing: &Crossing) {
    let Some(parts) = state.parts.as_mut() else { return };
    while let Some(end) = parts.end_of_first_unwritten() {
        if write_rest(plinth, crossing, parts.unwritten_to(end)).is_err() {
            return;
        }
        parts.first_unwritten(|header| state.waiting.take(header));
        parts.mark_written_to(end);
    }
}

/// Notes that the host has the parts block, and so all waiting events; or some of them, if others
/// are carried.
fn note_written(waiting: &mut Waiting, parts: &PartsBlock, is_some_carried: bool) {
    if !is_some_carried {
        return waiting.take_all();
    }
    let _ = parts.each_unwritten(|header, _| {
        waiting.take(header);
        Ok::<(), ()>(())
    });
}

/// Writes anything but whole blocks of events.
fn write_rest(
    plinth: &dyn Plinth,
    crossing: &Crossing,
    (offset, bytes): (u64, &[u8]),
) -> Result<(), PlinthError> {
    crossing.carry(offset, bytes);
    plinth.write_block(offset, bytes)?;
    account::add_bytes(bytes.len());
    volume::note_written(offset, bytes.len());
    Ok(())
}

/// Writes the parts block to its end. Later parts may replace the zeros.
fn pad_parts(state: &mut State, plinth: &dyn Plinth) -> Result<(), PlinthError> {
    let Some(parts) = state.parts.as_mut() else { return Ok(()) };
    let crossing = Crossing::begin();
    if write_rest(plinth, &crossing, parts.unwritten_padded()).is_err() {
        // A disk that became full may have room for the parts.
        drop(crossing);
        return write_parts(state, plinth);
    }
    let is_some_carried = state.is_carrying || state.carried.is_some() || state.is_last;
    note_written(&mut state.waiting, parts, is_some_carried);
    if parts.place() == 0 {
        state.reserved.in_header = parts.used();
    }
    parts.mark_written();
    pending::clear();
    Ok(())
}

/// Writes the registries that the volume lacks, as parts, in pieces (`.part.registry`), and then
/// the parts that the previous volume refused. After a failure it continues where it stopped.
pub(crate) fn bring_registries(state: &mut State, plinth: &dyn Plinth) -> Result<(), PlinthError> {
    let volume = volume::number();
    while let Some(registered) = registration::get(state.registry_count) {
        let control = registered.control;
        let room = state.parts.as_ref().and_then(PartsBlock::room).unwrap_or(0);
        let offset = state.registry_offset;
        let Some(piece) = registry_encoding::next(control, offset, room) else {
            state.registry_count += 1;
            state.registry_offset = 0;
            pending::note_registries(state.registry_count, 0);
            continue;
        };
        make_room(state, plinth, piece.size)?;
        if volume::number() != volume {
            // The new volume has them, as far as the host accepted them.
            break;
        }
        let header = parts::piece_header(registered.index, offset, &piece);
        put(state, header, |_, out| piece.encode(control, offset, out))?;
        state.registry_offset += piece.size;
        pending::note_registries(state.registry_count, state.registry_offset);
    }
    bring_carried(state, plinth)?;
    write_parts(state, plinth)
}

/// Puts the parts that the previous volume refused.
fn bring_carried(state: &mut State, plinth: &dyn Plinth) -> Result<(), PlinthError> {
    let Some(carried) = state.carried.take() else { return Ok(()) };
    let before = core::mem::replace(&mut state.is_forced, true);
    state.is_carrying = true;
    let brought = carried.each_unwritten(|header, payload| {
        make_room(state, plinth, payload.len())?;
        put(state, *header, |_, out| out.copy_from_slice(payload))
    });
    state.is_forced = before;
    state.is_carrying = false;
    match brought {
        Ok(()) => state.spare = Some(carried.into_memory()),
        Err(_) => state.carried = Some(carried),
    }
    brought
}

/// Goes on in another volume: ends this one (`.volume.end`), and begins the next with header and
/// registries (`.volume.header`). After an error no other volume exists, and nothing is output
/// until one does. Signals are deferred meanwhile: a handler's output would have no header in the
/// new volume, and a child forked by a handler would begin its parent's volume. But a plinth that
/// signal handlers cannot use may be slow, and the user's Ctrl-C must work: then signals are not
/// deferred.
pub(crate) fn change_volume(state: &mut State, plinth: &dyn Plinth) -> Result<(), PlinthError> {
    let _deferred = plinth.is_signal_safe().then(Deferred::begin);
    // Before the gate is shut: a thread on the way out is waited for while others can go on.
    let _crossing = Crossing::begin();
    let _shut = volume::gate().shut();
    let next = volume::number() + 1;
    let before = core::mem::replace(&mut state.is_forced, true);
    if !core::mem::replace(&mut state.is_ended, true) {
        // Without the end part the volume is not closed, which is not a fault.
        let _ = put_end(state, plinth, next).inspect_err(lifecycle::tell);
    }
    let begun = begin_volume(state, plinth, next);
    state.is_forced = before;
    begun
}

/// Returns a place for a block other than parts, in this volume or the next.
pub(super) fn take_place(state: &mut State, plinth: &dyn Plinth) -> Result<u64, PlinthError> {
    if let Some(place) = volume::take_place(plinth, Side::First, false) {
        return Ok(place);
    }
    change_volume(state, plinth)?;
    Ok(volume::take_place(plinth, Side::First, true).unwrap_or_default())
}

fn begin_volume(state: &mut State, plinth: &dyn Plinth, number: u64) -> Result<(), PlinthError> {
    let no_memory = PlinthError { operation: Operation::Create, errno: libc::ENOMEM };
    state.spare = Some(state.spare.take().or_else(PartsMemory::map).ok_or(no_memory)?);
    plinth.create(memory::block_size())?;
    let Some(memory) = state.spare.take() else { return Err(no_memory) };
    if let Some(old) = state.parts.take() {
        // Refused parts go into the new volume. Later parts wait for them, so that a second such
        // block has nothing else.
        if old.is_unwritten() && state.carried.is_none() {
            state.carried = Some(old);
        } else {
            state.spare = Some(old.into_memory());
        }
    }
    let mut header = identity::header(region::ring());
    header.volume = number.into();
    // Time of the stream, not of the volume.
    header.start = state.start.into();
    header.seal();
    pending::clear();
    pending::begin(&memory);
    // With volumes the oldest gives way on a full disk: no room is kept.
    state.begin(memory, &header, false);
    pending::set(0);
    state.is_ended = false;
    state.forget_registries();
    volume::begin(number);
    // Whatever the host refuses of it is written again before all else.
    let _ = bring_registries(state, plinth).inspect_err(lifecycle::tell);
    Ok(())
}
