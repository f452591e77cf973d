//! The stream: places for blocks, parts, volumes, and how a block goes out.
//!
//! ```text
//!  ring ── full block ─▶ gate, place (volume.rs) ──▶ plinth      no lock: side by side
//!  flush ─ few events ─▶ parts block, under a lock ─ end of flush ─▶ plinth
//! ```
//!
//! It begins when the first registry with an output kind registers, or when a kind's output is
//! first switched on. Design: `.sol.stream` in `design/telemetry.md`; sections 2 and 4 of
//! `design/format.md`.
//!
//! Knows plinth and all below; no ring, thread or store.

use crate::block::identity;
use crate::block::memory::{self, PartsMemory};
use crate::block::parts::PartsBlock;
use crate::offered::setup::SetupError;
use crate::os::entry::Entry;
use crate::os::sync::Guard;
use crate::os::way_out::Crossing;
use crate::os::{exit, ordinary, pages, signals};
use crate::plinth::{Operation, Plinth, PlinthError, host, region};
use crate::registry::registration;
use crate::stream::parts::{
    STATE, State, bring_registries, is_registry_written, make_room, put, put_end, reserve,
    write_parts,
};
use eventlog::format::{BLOCK_HEADER_SIZE, BlockHeader};
use volume::{Outgoing, Side, Written};

pub(crate) mod account;
pub(crate) mod gate;
mod lifecycle;
pub(crate) mod outlet;
mod parts;
pub(crate) mod pending;
mod reserved;
pub(crate) mod unacknowledged;
pub(crate) mod volume;
pub(crate) mod writer;

pub use lifecycle::Standing;
pub(crate) use lifecycle::{is_file_lost, may_begin_again, open_plinth, plinth};
pub(crate) use lifecycle::{standing, tell, tell_no_output};

/// Takes the plinth for the stream, unless that has begun or has one.
pub(crate) fn set_plinth(
    entry: &Entry,
    new: &mut Option<Box<dyn Plinth>>,
) -> Result<(), SetupError> {
    let _state = STATE.lock(entry).ok_or(SetupError::Interrupting)?;
    if new.is_some() && (standing() != Standing::None || plinth().is_some()) {
        return Err(SetupError::PlinthTooLate);
    }
    let Some(host) = new.take() else { return Ok(()) };
    lifecycle::keep_of_setup(Box::leak(host)).ok_or(SetupError::OutOfMemory)
}

/// Begins the stream if none exists. Returns `None` if it must wait: a nested entry may have
/// interrupted the plinth, or another thread exits the program.
pub(crate) fn ensure(entry: &Entry) -> Option<Standing> {
    if entry.is_nested() || exit::is_elsewhere() {
        return None;
    }
    if standing() == Standing::None {
        if plinth().is_none() && host::asks_resolver() && !entry.is_ordinary() {
            ordinary::expect();
            return None;
        }
        let mut state = STATE.lock(entry)?;
        if standing() == Standing::None {
            let standing = create(&mut state);
            lifecycle::note_begun(standing);
            if standing == Standing::Open {
                exit::expect_for_stream(entry);
                ordinary::expect();
            }
        }
    }
    Some(standing())
}

/// Begins the stream, if it had to wait for the system's resolver.
pub(crate) fn ensure_resolved(entry: &Entry) {
    if plinth().is_none() && registration::is_something_output() && host::asks_resolver() {
        ensure(entry);
    }
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
    let parts = state.spare.take().or_else(PartsMemory::map).ok_or(no_memory)?;
    if state.copy.is_none() {
        state.copy = Some(pages::map_bytes(memory::block_size()).ok_or(no_memory)?);
    }
    if !state.waiting.prepare() {
        return Err(no_memory);
    }
    let plinth = match plinth() {
        Some(plinth) => plinth,
        None => {
            let plinth = match host::of_environment() {
                Ok(plinth) => plinth.ok_or(no_memory)?,
                Err(host::Refused) => {
                    return Err(PlinthError { operation: Operation::Refuse, errno: libc::EINVAL });
                }
            };
            lifecycle::keep(plinth).ok_or(no_memory)?
        }
    };
    plinth.create(memory::block_size())?;
    volume::begin_files(plinth);
    pending::begin(&parts);
    let header = identity::header(region::ring());
    state.start = header.start.get();
    state.begin(parts, &header, plinth.can_rewrite());
    pending::set(0);
    // A host that only appends gets the header block with the first output.
    match bring_registries(state, plinth) {
        // A receiver may appear later: it is tried again (`.sol.outage`).
        Err(error) if !plinth.can_rewrite() => tell(&error),
        result => result?,
    }
    if plinth.can_rewrite() {
        let _ = reserve(state, plinth).inspect_err(tell);
    }
    Ok(())
}

/// Writes a whole block at a place.
fn write_at(plinth: &dyn Plinth, place: u64, bytes: &[u8]) -> Result<(), PlinthError> {
    plinth.write_block(place * memory::block_size() as u64, bytes)?;
    account::add_block();
    match plinth.can_rewrite() {
        true => volume::note_written(place * memory::block_size() as u64, bytes.len()),
        false => volume::add_appended(),
    }
    Ok(())
}

/// Writes a whole block at its place, the first time (`.write.torn`), or the same block again after
/// a failure.
pub(crate) fn write_block(entry: &Entry, block: &Outgoing, bytes: &[u8]) -> Written {
    let failed = Written::No { place: block.place, volume: block.volume };
    let Some(plinth) = open_plinth() else { return failed };
    let crossing = Crossing::begin();
    let Some(pass) = volume::gate().enter() else { return failed };
    let number = volume::number();
    let is_old = block.place != 0 && block.volume != number;
    let is_early = !(block.is_first || volume::has_store(number));
    if is_old || is_early {
        return Written::Elsewhere;
    }
    if !is_registry_written(block.registry) {
        return failed;
    }
    let place = match block.place {
        0 => {
            // Registry 0 is the store's.
            let side = if block.registry == 0 { Side::First } else { Side::Own };
            volume::take_place(plinth, side, block.is_forced)
        }
        place => Some(place),
    };
    if let Some(place) = place {
        crossing.carry(place * memory::block_size() as u64, bytes);
        match write_at(plinth, place, bytes).inspect_err(tell) {
            Ok(()) => return Written::Yes,
            Err(PlinthError { operation: Operation::Renew, .. }) => {}
            Err(_) => return Written::No { place, volume: number },
        }
    }
    drop((pass, crossing));
    if change_volume(entry) { Written::Elsewhere } else { failed }
}

/// Goes on in another volume, unless another thread did so meanwhile. Returns false if none could
/// begin.
pub(crate) fn change_volume(entry: &Entry) -> bool {
    let Some(plinth) = open_plinth() else { return false };
    let Some(mut state) = STATE.lock(entry) else { return false };
    state.is_forced = false;
    !volume::is_full_with(plinth, 1)
        || parts::change_volume(&mut state, plinth).inspect_err(tell).is_ok()
}

/// Returns the plinth for a signal handler; `None` if nothing can be output.
pub(crate) fn plinth_in_signal() -> Option<&'static dyn Plinth> {
    // The signal came while this thread wrote the first block: the stream has begun.
    let is_begun = signals::is_crossing() && pending::has_begun();
    if standing() == Standing::None && is_begun {
        return plinth();
    }
    let can_begin = plinth().is_some() || !host::asks_resolver();
    if standing() == Standing::None && registration::is_something_output() && can_begin {
        // The interrupted code may hold the lock: the handler waits only a short time.
        let mut state = STATE.lock_waiting()?;
        if standing() == Standing::None {
            lifecycle::note_begun(create(&mut state));
        }
    }
    open_plinth()
}

/// Sends a registry to the host before whole blocks of its events (`.part.registry-before`).
/// Returns false if the host refuses it.
pub(crate) fn has_registry(entry: &Entry, index: u16) -> bool {
    is_registry_written(index)
        || parts(entry).is_some_and(|mut parts| {
            parts.bring_registries();
            is_registry_written(index)
        })
}

/// Access to the stream for output smaller than a block.
pub(crate) struct Parts<'a> {
    state: Guard<'a, State>,
    plinth: &'static dyn Plinth,
}

/// Takes the parts block. Returns `None` if none exists, or if this must wait: in a nested entry,
/// or while another thread exits the program.
pub(crate) fn parts(entry: &Entry) -> Option<Parts<'static>> {
    if entry.is_nested() {
        return None;
    }
    let plinth = open_plinth()?;
    let mut state = STATE.lock(entry)?;
    if exit::is_elsewhere() {
        return None;
    }
    // A plinth that panicked may have left it set.
    state.is_forced = false;
    Some(Parts { state, plinth })
}

pub(crate) fn write_out(entry: &Entry) {
    if let Some(mut parts) = parts(entry) {
        parts.write();
    }
}

impl Parts<'_> {
    pub(crate) fn has_room_for_part(&self, size: usize) -> bool {
        size <= PartsBlock::payload_size_max(memory::block_size())
    }

    /// Puts a part. `fill` puts its payload, [last, top) of the header, and may complete the
    /// header. The part goes out at the next `write` at the latest. Returns false if the host
    /// refuses the waiting parts, so that no room is left, or refuses the registry.
    pub(crate) fn push_events(
        &mut self,
        header: BlockHeader,
        fill: impl FnOnce(&mut BlockHeader, &mut [u8]),
    ) -> bool {
        if !self.state.has_registry(header.registry.get()) {
            self.bring_registries();
        }
        let size = header.payload_size();
        let made = self.bring(|state, plinth| make_room(state, plinth, size));
        // The volume may have changed to make room.
        let put = made
            && self.state.has_registry(header.registry.get())
            && put(&mut self.state, header, fill).inspect_err(tell).is_ok();
        if put {
            self.state.waiting.put(&header);
        }
        put
    }

    /// Puts a clock sync, in a part without events, if a file that is mapped has room for it, and
    /// the last one is from the first half of the time since the file began (`.ring.sync`).
    pub(crate) fn put_sync(&mut self, header: BlockHeader) {
        let [first, last] =
            self.state.syncs.map(|ticks| header.sync_ticks.get().wrapping_sub(ticks));
        let is_due = last >= first / 2 && region::has_room_to_tell();
        if is_due && self.push_events(header, |_, _| {}) {
            self.state.syncs[1] = header.sync_ticks.get();
        }
    }

    /// Writes a copy of a block that is still being filled. `fill` puts the bytes of [last, top),
    /// and may complete the header. Returns false if the host refuses it, or the registry.
    pub(crate) fn write_copy(
        &mut self,
        header: BlockHeader,
        mut fill: impl FnMut(&mut BlockHeader, &mut [u8]),
    ) -> bool {
        let mut written = false;
        self.bring(|state, plinth| {
            let place = parts::take_place(state, plinth)?;
            if !is_registry_written(header.registry.get()) {
                bring_registries(state, plinth)?;
            }
            let is_ready = is_registry_written(header.registry.get());
            let copy = state.copy.as_deref_mut().filter(|_| is_ready);
            let (mut header, Some(copy)) = (header, copy) else { return Ok(()) };
            let (last, top) = (header.last.get() as usize, header.top.get() as usize);
            copy[..last].fill(0);
            fill(&mut header, &mut copy[last..top]);
            header.seal(&copy[last..top]);
            copy[..BLOCK_HEADER_SIZE].copy_from_slice(bytemuck::bytes_of(&header));
            let crossing = Crossing::begin();
            crossing.carry(place * memory::block_size() as u64, copy);
            write_at(plinth, place, copy)?;
            state.waiting.take(&header);
            written = true;
            Ok(())
        }) && written
    }

    /// Writes the registries that the stream lacks (`.part.registry-before`). Registries that the
    /// host refuses are written again the next time.
    pub(crate) fn bring_registries(&mut self) {
        self.bring(bring_registries);
    }

    /// Writes the parts that the host lacks; returns false if the host refuses them.
    pub(crate) fn deliver(&mut self) -> bool {
        self.renew();
        self.bring(write_parts)
    }

    /// Calls an operation; once more in another volume, if the file turns out to be lost. Returns
    /// false if the host refuses it.
    fn bring(
        &mut self,
        mut operation: impl FnMut(&mut State, &dyn Plinth) -> Result<(), PlinthError>,
    ) -> bool {
        let result = match operation(&mut self.state, self.plinth) {
            Err(PlinthError { operation: Operation::Renew, .. }) => {
                self.renew();
                operation(&mut self.state, self.plinth)
            }
            result => result,
        };
        result.inspect_err(tell).is_ok()
    }

    /// Goes on in another volume if the plinth asks for one although this one has room: it lost its
    /// receiver.
    fn renew(&mut self) {
        let size = volume::block_count() * memory::block_size() as u64;
        if self.plinth.wants_volume(size) {
            let _ = parts::change_volume(&mut self.state, self.plinth).inspect_err(tell);
        }
    }

    /// Writes the parts that the host lacks, and makes the host pass on what it holds back.
    pub(crate) fn write(&mut self) {
        self.deliver();
        self.plinth.flush();
    }

    /// Returns whether written bytes may be lost at a host that only appends: it refused some
    /// before, or holds them back.
    pub(crate) fn may_be_lost(&self) -> bool {
        !self.plinth.can_rewrite() && (account::errors().0 > 0 || self.plinth.is_behind())
    }

    /// Returns whether a host that can be written anywhere refused something before.
    pub(crate) fn was_refused(&self) -> bool {
        self.plinth.can_rewrite() && !region::is_there() && account::errors().0 > 0
    }

    /// Ends the stream (`.part.end`): the mark, and zeros to the end of its block. Returns false if
    /// the host refuses it.
    pub(crate) fn end(&mut self) -> bool {
        self.renew();
        let before = core::mem::replace(&mut self.state.is_forced, true);
        let ended = self.bring(|state, plinth| put_end(state, plinth, 0));
        self.state.is_forced = before;
        ended
    }

    /// Begins the last account (`.part.account`), for which even a full disk has room.
    pub(crate) fn begin_last(&mut self) {
        self.deliver();
        self.state.begin_last();
    }

    /// Puts an account; a last one includes the waiting events of its buffer. Returns false if no
    /// room is left.
    pub(crate) fn put_account(&mut self, mut header: BlockHeader) -> bool {
        if self.state.is_last {
            let waiting = self.state.waiting.count_of(header.buffer.get());
            header.discarded_io = header.discarded_io.get().saturating_add(waiting).into();
            if !header.has_losses() {
                return true;
            }
        }
        self.state.has_room_for_account() && self.push_events(header, |_, _| {})
    }

    pub(crate) fn finish(&mut self) {
        self.plinth.flush();
        self.plinth.finish();
    }
}

/// Notes that the log has a whole block: parts of it that the host refused before are not lost.
pub(crate) fn note_whole(entry: &Entry, header: &BlockHeader) {
    if unacknowledged::is_some()
        && let Some(mut state) = STATE.lock(entry)
    {
        state.waiting.take(header);
    }
}

/// Notes that another buffer was made, and reserves room for the last accounts.
pub(crate) fn expect_buffer(entry: &Entry) {
    let is_much = reserved::note_buffer();
    let Some(plinth) = open_plinth().filter(|plinth| plinth.can_rewrite()) else { return };
    // No thread waits for a slow host here without need.
    if is_much && let Some(mut state) = STATE.lock(entry) {
        let _ = reserve(&mut state, plinth).inspect_err(tell);
    }
}

/// Leaves the stream to the parent process, in a forked child.
pub(crate) fn leave_parent() {
    lifecycle::leave_parent(STATE.is_taken());
}

/// Starts again in a forked child, when all else has started again: a stream may begin now.
pub(crate) fn restart() {
    writer::forget();
    let (mut state, is_broken) = STATE.take_over();
    state.restart(is_broken);
    drop(state);
    volume::restart();
    pending::restart();
    account::restart();
    lifecycle::restart();
}
