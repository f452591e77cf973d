//! The store: strings, labels, threads, losses, masks. It is buffer 0: never overwritten, and
//! output whatever the masks are.
//!
//! ```text
//!  intern("word counter") ─▶ 7        label(pool, 7)
//!        └─ Intern 7 "word counter" ─▶ │ block 0 │ block 1 │ …   up to a maximum, all kept
//! ```
//!
//! A mapped file holds its first blocks, while the file has room; the last of these counts the
//! events in the others. Design: `.req.intern`, `.sol.client`, `.sol.mapped` in
//! `design/telemetry.md`; `.store`, `.ring.store` in `design/format.md`.

use crate::block::losses::{Cause, Counts};
use crate::block::memory::{self, Block, BlockLink, Blocks, Claim};
use crate::block::{identity, root};
use crate::offered::Losses;
use crate::os::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::os::entry::Entry;
use crate::os::sync::{Guard, Locked};
use crate::os::{exit, report};
use crate::plinth::region;
use crate::registry::{registration, unhoused};
use crate::stream::outlet::{News, Outlet, Progress, Sent};
use crate::stream::{self, Standing, volume};
use eventdef::Event;
use eventlog::format::{
    BASE_RECORD_SIZE, BLOCK_HEADER_SIZE, BaseRecord, BlockHeader, BlockType, EVENT_SIZE_MAX,
};

mod after_fork;
mod names;
mod own;

use after_fork::Inherited;
pub(crate) use after_fork::{leave_parent, restart, tell_inherited, tell_inherited_in_signal};
pub(crate) use names::{intern, label, naming, record_control, record_thread, source};

/// The greatest number of store blocks: 64 MiB of the usual size.
pub const STORE_BLOCK_COUNT_MAX: usize = 1024;

struct Store {
    /// The parent's blocks that a forked child has not recorded again yet.
    inherited: Inherited,
    blocks: [Option<Block>; STORE_BLOCK_COUNT_MAX],
    block_count: usize,
    /// The number of blocks that were output whole.
    done: usize,
    progress: Progress,
    base: u64,
    /// The ticks of the newest event: no event precedes it, so that an Intern precedes its Labels
    /// (`.store.before`).
    ticks: u64,
    told: u64,
    /// The volume that `done` and `progress` are about.
    volume: u64,
    /// The number of blocks in a mapped file: the first ones.
    mapped_count: usize,
    /// The events in the other blocks that were counted as missing from the file.
    left_out: u64,
    /// Whether the warning that the store is too large for the volumes was given.
    is_size_told: bool,
}

static STORE: Locked<Store> = Locked::new(Store {
    inherited: Inherited::NONE,
    blocks: [None; STORE_BLOCK_COUNT_MAX],
    block_count: 0,
    done: 0,
    progress: Progress::NONE,
    base: 0,
    ticks: 0,
    told: 0,
    volume: 0,
    mapped_count: 0,
    left_out: 0,
    is_size_told: false,
});
/// What threads know of the store without the lock, a signal handler and a traceback among them.
struct Shared {
    /// The blocks again, newest last.
    blocks: [BlockLink; STORE_BLOCK_COUNT_MAX],
    /// The number of blocks, and how many of them were output whole.
    count: AtomicUsize,
    done: AtomicUsize,
    counts: Counts,
    /// Whether the store may hold something that the host lacks. Relaxed: set before the program
    /// goes on, and so before a block refers to it; cleared under the lock.
    has_news: AtomicBool,
    /// Whether inherited events must be recorded again.
    inherits: AtomicBool,
}

static SHARED: Shared = Shared {
    blocks: [const { BlockLink::none() }; STORE_BLOCK_COUNT_MAX],
    count: AtomicUsize::new(0),
    done: AtomicUsize::new(0),
    counts: Counts::new(),
    has_news: AtomicBool::new(false),
    inherits: AtomicBool::new(false),
};
/// The attempts to send the store while volumes change.
const VOLUME_ATTEMPTS: u32 = 3;

/// Counts an event that could not wait for the store.
pub(crate) fn discard_nested() {
    SHARED.counts.discard(Cause::Nested, 1);
}

/// Records an event of registry 0; returns false if it was discarded, and counted.
fn record<E: Event>(entry: &Entry, event: E) -> bool {
    locked(entry, |store| store.record(entry, &event)).unwrap_or(false)
}

/// Does work with the lock of the store, or counts an event that could not wait for it.
fn locked<T>(entry: &Entry, work: impl FnOnce(&mut Store) -> T) -> Option<T> {
    let Some(mut store) = STORE.lock(entry) else {
        discard_nested();
        return None;
    };
    Some(work(&mut store))
}

/// Sends what the stream lacks, if a stream exists.
pub(crate) fn flush(entry: &Entry) {
    record_discarded(entry);
    if let Some(mut store) = STORE.lock(entry) {
        store.send_news(entry);
    }
}

/// Records the losses that no buffer could count (`.store.discarded`).
fn record_discarded(entry: &Entry) {
    unhoused::tell(&mut |slot, cause, count| {
        let owner = registration::owner(slot);
        let registry = owner.map_or(u32::from(u16::MAX), |(found, _)| u32::from(found.index));
        let kind = owner.map_or(slot as u32 % 64, |(_, kind)| u32::from(kind));
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        record(entry, eventdef::store::Discarded::new(registry, kind, cause as u32, count))
    });
}

/// How it precedes events, for the outlets of rings.
pub(crate) const ALL_NEWS: News = News { put: put_news, bring: bring_news };

/// Puts what the stream lacks among the waiting parts, if a stream exists. Called with the lock of
/// a ring held.
fn put_news(entry: &Entry) {
    if SHARED.has_news.load(Ordering::Relaxed)
        && !entry.is_nested()
        && let Some(mut store) = STORE.lock(entry)
    {
        store.send_news(entry);
    }
}

/// Sends the store to the host before a block of events that may refer to it: so a program may be
/// killed at any time. Called with the lock of a ring held. Returns false if the host does not
/// accept it now.
pub(crate) fn bring_news(entry: &Entry) -> bool {
    let is_known = !SHARED.has_news.load(Ordering::Relaxed) && volume::has_store(volume::number());
    if is_known || entry.is_nested() || stream::standing() != Standing::Open {
        return is_known;
    }
    let Some(mut store) = STORE.lock(entry) else { return false };
    let brought =
        store.send_news(entry) && stream::parts(entry).is_some_and(|mut parts| parts.deliver());
    if brought {
        SHARED.has_news.store(false, Ordering::Relaxed);
        // The store knows which volume has it; another volume may have begun just now.
        volume::set_with_store(store.volume);
    }
    brought
}

pub(crate) fn losses(entry: &Entry) -> Losses {
    losses_in(STORE.lock(entry))
}

/// Returns the store's counts without waiting for its lock. If a thread holds the lock, no recorded
/// event counts.
pub(crate) fn losses_so_far() -> Losses {
    losses_in(STORE.try_lock())
}

fn losses_in(store: Option<Guard<'_, Store>>) -> Losses {
    let recorded = store.as_ref().and_then(|store| store.newest());
    let recorded = recorded.map_or(0, |newest| newest.event_end());
    Losses::of(recorded, &SHARED.counts)
}

/// Returns the blocks, newest first, without the lock. No block is ever reused.
pub(crate) fn kept() -> impl Iterator<Item = (u64, Block)> {
    let count = SHARED.count.load(Ordering::Acquire);
    (0..count).rev().filter_map(|index| Some((index as u64, SHARED.blocks.get(index)?.find()?)))
}

pub(crate) fn block_of(sequence: u64) -> Option<Block> {
    SHARED.blocks.get(usize::try_from(sequence).ok()?)?.find()
}

/// Returns the blocks that were not output whole, newest first, and the counts for their headers.
pub(crate) fn held() -> (impl Iterator<Item = (u64, Block)>, &'static Counts) {
    let done = SHARED.done.load(Ordering::Acquire) as u64;
    (kept().take_while(move |(sequence, _)| *sequence >= done), &SHARED.counts)
}

/// Returns the outlet for the store's blocks. They never leave memory: what the host refuses is
/// written again.
fn outlet(entry: &Entry) -> Outlet<'_> {
    Outlet { entry, counts: &SHARED.counts, news: None }
}

impl Store {
    fn newest(&self) -> Option<Block> {
        *self.blocks.get(self.block_count.checked_sub(1)?)?
    }

    fn record<E: Event>(&mut self, entry: &Entry, event: &E) -> bool {
        let size = event.size();
        if size > EVENT_SIZE_MAX || size > memory::block_size() - BLOCK_HEADER_SIZE {
            SHARED.counts.discard(Cause::Large, 1);
            return false;
        }
        let encode = |claim: &mut Claim| event.encode(claim);
        exit::expect_again(entry);
        SHARED.has_news.store(true, Ordering::Relaxed);
        self.tell_inherited(entry);
        if region::is_open() {
            self.enter_file();
        }
        let has_room = self.put(E::CODE, size, &encode);
        if !(has_room || self.begin(entry) && self.put(E::CODE, size, &encode)) {
            SHARED.counts.discard(Cause::Full, 1);
            return false;
        }
        self.count_left_out();
        if !has_room {
            // The full block before goes out, if a stream exists.
            self.send_full(entry);
        }
        true
    }

    /// Begins the next block; returns false if no block is available.
    fn begin(&mut self, entry: &Entry) -> bool {
        let Some(place) = self.blocks.get(self.block_count) else { return false };
        debug_assert!(place.is_none());
        // The blocks in the file are the first ones.
        let mapped = Some(entry).filter(|_| self.mapped_count == self.block_count);
        let mapped = mapped.and_then(|_| region::take_store_block());
        let known = mapped.or_else(|| self.inherited.take_spare());
        let new = known.map_or_else(|| Blocks::for_store().or_else(|| Blocks::map(1)), |_| None);
        let Some(block) = known.or_else(|| Some(new?.get(0))) else { return false };
        let before = self.newest();
        let first = before.map_or(0, |newest| newest.event_end());
        let ticks = self.inherited.now().max(self.ticks);
        let mut header = BlockHeader::native(BlockType::Events, memory::block_size_log2());
        // Buffer 0, thread 0 (`.store.thread0`), and the one kind of registry 0.
        header.stream = identity::id();
        header.sequence = (self.block_count as u64).into();
        header.first = first.into();
        header.base = ticks.into();
        header.base_last = ticks.into();
        SHARED.counts.put(&mut header);
        self.own(block).begin(&header);
        if let Some(new) = new {
            root::add_store(&new, &SHARED.counts);
        }
        // Set now: at every instant a block in a mapped file must have the counts.
        if let Some(before) = before {
            self.own(before).put_sync(root::sync());
        }
        self.mapped_count += usize::from(mapped.is_some());
        self.blocks[self.block_count] = Some(block);
        SHARED.blocks[self.block_count].set(block);
        self.block_count += 1;
        SHARED.count.store(self.block_count, Ordering::Release);
        self.base = ticks;
        true
    }

    /// Puts an event into the newest block; returns false if the block has no room.
    fn put(&mut self, code: u16, size: usize, encode: &dyn Fn(&mut Claim)) -> bool {
        let Some(block) = self.newest() else { return false };
        let mut block = self.own(block);
        let ticks = self.inherited.now().max(self.ticks);
        if u32::try_from(ticks - self.base).is_err() {
            if block.state().0 as usize - BLOCK_HEADER_SIZE < size + BASE_RECORD_SIZE {
                return false;
            }
            let Some(claim) = block.claim(BASE_RECORD_SIZE) else { return false };
            claim.publish_base(&BaseRecord::new(ticks, self.base));
            self.base = ticks;
        }
        let Some(mut claim) = block.claim(size) else { return false };
        claim.put_header(code, (ticks - self.base) as u32);
        encode(&mut claim);
        claim.publish();
        self.ticks = ticks;
        true
    }

    /// Sends what the stream lacks, if a stream exists; returns false if that must wait.
    fn send_news(&mut self, entry: &Entry) -> bool {
        if region::is_open() {
            self.tell_inherited(entry);
            self.enter_file();
            return true;
        }
        for _ in 0..VOLUME_ATTEMPTS {
            let is_sent = self.send_full(entry) && self.send_open(entry);
            if self.volume == volume::number() {
                return is_sent;
            }
        }
        false
    }

    /// Sends the full blocks that were not output yet, if a stream exists; returns false if that
    /// must wait.
    fn send_full(&mut self, entry: &Entry) -> bool {
        if stream::standing() != Standing::Open || region::is_open() {
            return false;
        }
        self.tell_inherited(entry);
        self.begin_again();
        while self.done + 1 < self.block_count {
            let Some(block) = self.blocks[self.done] else { return false };
            let outlet = outlet(entry);
            if !outlet.send(self.own(block), &mut self.progress) {
                return false;
            }
            self.done += 1;
            SHARED.done.store(self.done, Ordering::Release);
        }
        true
    }

    /// Begins with the first block if the stream goes on in another volume; or with a later one, if
    /// the store would fill more than half of the volume (`.volume.store`).
    fn begin_again(&mut self) {
        let number = volume::number();
        let Some(plinth) = stream::open_plinth().filter(|_| self.volume != number) else { return };
        let mut count = self.block_count;
        while count > 1 && volume::is_full_with(plinth, 2 * count as u64) {
            count -= 1;
        }
        if count < self.block_count && !core::mem::replace(&mut self.is_size_told, true) {
            let size = self.block_count * memory::block_size() / 1024;
            report::say(format_args!(
                "strings and labels take {size} KiB, too much for volumes of this size: from now \
                 on only the newest are in each volume (a larger `size` keeps them all)"
            ));
        }
        self.volume = number;
        self.progress = Progress::NONE;
        self.done = self.block_count - count;
    }

    /// Sends what is new in the newest block; returns false if that must wait.
    fn send_open(&mut self, entry: &Entry) -> bool {
        let Some(block) = self.newest() else { return true };
        let told = SHARED.counts.sum();
        if self.progress.missing_of(block) == 0 && told == self.told {
            return true;
        }
        let outlet = outlet(entry);
        let sent = outlet.send_part(block, &mut self.progress) == Sent::Yes;
        if sent {
            self.told = told;
        }
        sent
    }

    /// Moves private blocks into the mapped file, in their order, while the file has room
    /// (`.ring.store`).
    fn enter_file(&mut self) {
        while self.mapped_count < self.block_count && self.left_out == 0 {
            let Some(block) = self.blocks[self.mapped_count] else { return };
            let Some(to) = region::take_store_block() else { break };
            let last = block.state().0;
            let mut own = self.own(to);
            own.take_over(block, last, memory::block_size() as u32);
            own.put_header(&block.header());
            self.blocks[self.mapped_count] = Some(to);
            SHARED.blocks[self.mapped_count].set(to);
            self.mapped_count += 1;
        }
        self.count_left_out();
    }

    /// Counts the events that are in memory alone because the file had no room. The last block in
    /// the file has this count.
    fn count_left_out(&mut self) {
        let Some(last) = self.mapped_count.checked_sub(1).and_then(|at| self.blocks[at]) else {
            return;
        };
        let in_file = last.event_end();
        let Some(recorded) = self.newest().map(|newest| newest.event_end()) else { return };
        let new = recorded.saturating_sub(in_file).saturating_sub(self.left_out);
        if new != 0 {
            self.left_out += new;
            SHARED.counts.discard(Cause::Io, new);
            last.put_discarded_io(u32::try_from(self.left_out).unwrap_or(u32::MAX));
        }
    }
}
