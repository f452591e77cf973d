//! Recording an event: the fast path, and the slow path behind it.
//!
//! ```text
//!  take the ring out of its slot ─▶ ticks ─▶ room? ─▶ do they fit? ─▶ five stores ─▶ put it back
//!         │ empty                            │ no       │ no
//!         ▼                                  ▼          ▼
//!   make the ring, or it is taken:  next block          base record
//!   count "nested"                  or count "full", "large"
//! ```
//!
//! Design: `.sol.buffer`, `.sol.nested` in `design/telemetry.md`; `.write.publish`, `.event.base`
//! in `design/format.md`.

use crate::block::clock;
use crate::block::losses::Cause;
use crate::block::memory::{Claim, block_size};
use crate::os::entry::Entry;
use crate::os::ordinary;
use crate::record::annotation::VARIETY;
use crate::record::setup;
use crate::registry::{registration, unhoused};
use crate::rings::ring::{Own, Slot};
use crate::rings::thread;
use crate::service::control;
use crate::store::intern;
use core::sync::atomic::Ordering;
use eventdef::{Control, Event, Sort};
use eventlog::format::{BASE_RECORD_SIZE, BLOCK_HEADER_SIZE, BaseRecord, EVENT_SIZE_MAX};

/// Returns whether the program records events of this type now: they are compiled in, and their
/// kind is switched on. One load, one test.
#[inline(always)]
pub fn is_recorded<E: Event>() -> bool {
    VARIETY.admits(E::ALWAYS) && E::control().is_recorded(1 << E::KIND)
}

/// Records an event, or counts it as discarded. Never inlined: so an annotation that is switched
/// off costs a load, a test and a branch, and little code.
#[inline(never)]
pub fn record<E: Event>(event: E) {
    record_here(event);
}

/// Records an event, in the code of its caller: for a function that does little else.
#[inline(always)]
pub fn record_here<E: Event>(event: E) {
    let size = event.size();
    let first = E::control().slot().load(Ordering::Relaxed) as usize;
    let slot = thread::tables().slot(first, E::KIND_PLACE);
    let Some(ring) = slot.take() else { return record_without_ring(&event) };
    // The counter is read between two chains of loads: that of the slot and that of the block.
    // Where the read waits for all loads before it and delays all loads after it, the second chain
    // of this event overlaps with the first chain of the next event.
    let repeatable = if E::TYPE.coarse { ring.block().repeatable_delta() } else { None };
    let counter = if repeatable.is_some() { thread::last_read() } else { thread::read_counter() };
    let (delta, fits) = ring.delta(counter);
    // An event without a string is smaller than any block: then only the room in the block counts.
    let is_small = !has_string::<E>() || size <= EVENT_SIZE_MAX;
    if is_small
        && let Some(mut claim) = ring.block().claim(size)
        && fits
    {
        claim.put_header(E::CODE, delta.max(repeatable.unwrap_or(0)));
        let taken = encode_within(&event, &mut claim, slot, ring);
        claim.publish();
        return taken.put_back();
    }
    record_into_taken_ring(&event, slot, ring);
}

/// Counts an event as discarded for want of room: its recorder had no room for what it needs of the
/// past.
#[cold]
pub fn discard<E: Event>() {
    let slot = registration::slot_of(E::control(), E::KIND, E::KIND_PLACE);
    unhoused::discard_unhoused(slot, Cause::Full, 1);
}

const fn has_string<E: Event>() -> bool {
    match E::TYPE.params {
        [.., last] => matches!(last.sort, Sort::S),
        [] => false,
    }
}

/// The facts of an event that the slow path needs.
struct Request {
    control: &'static Control,
    kind: u8,
    /// The position of the kind in the registry's list.
    place: u8,
    code: u16,
    size: usize,
}

impl Request {
    fn of<E: Event>(event: &E) -> Request {
        Request {
            control: E::control(),
            kind: E::KIND,
            place: E::KIND_PLACE,
            code: E::CODE,
            size: event.size(),
        }
    }
}

type Encode<'a> = &'a dyn Fn(&mut Claim);

/// Records an event whose slot is empty.
#[cold]
#[inline(never)]
fn record_without_ring<E: Event>(event: &E) {
    find_ring_and_record(&Request::of(event), &|claim| event.encode(claim));
}

/// Records an event where the fast path cannot: the block has no room, the ticks are too far from
/// its base, or they come from the system's clock. Events of the system's clock need no entry.
#[cold]
#[inline(never)]
fn record_into_taken_ring<E: Event>(event: &E, slot: &'static Slot, ring: Own) {
    let mut taken = Taken { slot, ring: Some(ring), settled: false };
    let size = event.size();
    if size <= EVENT_SIZE_MAX
        && let Some(ring) = &taken.ring
        && let Some(mut claim) = ring.block().claim(size)
        && let Some(delta) = ring.delta_by_system()
    {
        claim.put_header(E::CODE, delta);
        event.encode(&mut claim);
        claim.publish();
        taken.settled = true;
        return;
    }
    let entry = Entry::new();
    control::follow_masks(&entry);
    ordinary::catch_up(&entry);
    record_and_put_back(&entry, taken, &Request::of(event), &|claim| event.encode(claim));
}

/// A ring that is out of its slot. Dropping it puts the ring back, since an event or a plinth may
/// panic.
struct Taken {
    slot: &'static Slot,
    /// There until it is put back.
    ring: Option<Own>,
    /// Whether the event is recorded or counted.
    settled: bool,
}

impl Taken {
    /// Puts it back: the event was recorded.
    #[inline(always)]
    fn put_back(mut self) {
        if let Some(ring) = self.ring.take() {
            self.slot.put(ring);
        }
    }
}

impl Drop for Taken {
    #[inline]
    fn drop(&mut self) {
        if let Some(ring) = self.ring.take() {
            if !self.settled {
                ring.discard(Cause::Full);
            }
            self.slot.put(ring);
        }
    }
}

/// Encodes the parameters of an event. The code may be the program's own: if it panics, the ring is
/// put back, and the event is counted.
#[inline(always)]
fn encode_within<E: Event>(event: &E, claim: &mut Claim, slot: &'static Slot, ring: Own) -> Taken {
    let taken = Taken { slot, ring: Some(ring), settled: false };
    event.encode(claim);
    taken
}

fn find_ring_and_record(request: &Request, encode: Encode<'_>) {
    let entry = Entry::new();
    let is_first = request.control.slot().load(Ordering::Acquire) == 0;
    let registered = setup::register(&entry, request.control);
    // The masks that the registry now has may exclude this kind.
    if is_first && !request.control.is_recorded(1 << request.kind) {
        return;
    }
    let slot = registration::slot_of(request.control, request.kind, request.place);
    if !registered {
        let cause = if entry.is_nested() { Cause::Nested } else { Cause::Full };
        unhoused::discard_unhoused(slot, cause, 1);
        return;
    }
    // Since the slot was found empty, a signal handler may have made the ring and put it there.
    let ring = thread::slot(slot).take().or_else(|| thread::find_or_make(&entry, slot));
    if let Some(ring) = ring {
        let taken = Taken { slot: thread::slot(slot), ring: Some(ring), settled: false };
        record_and_put_back(&entry, taken, request, encode);
    }
}

fn record_and_put_back(entry: &Entry, mut taken: Taken, request: &Request, encode: Encode<'_>) {
    // A forked child records its labels before its first event.
    intern::tell_inherited(entry);
    if let Some(ring) = &taken.ring {
        record_slowly(entry, ring, request, encode);
        taken.settled = true;
    }
}

/// Records into a taken ring, in its next block if necessary.
fn record_slowly(entry: &Entry, ring: &Own, request: &Request, encode: Encode<'_>) {
    let size = request.size;
    if size > EVENT_SIZE_MAX || size > block_size() - BLOCK_HEADER_SIZE {
        ring.discard(Cause::Large);
    } else if !(put_event(ring, request.code, size, encode)
        // These ticks are the base of the new block: the event needs no base record there.
        || ring.advance(entry, clock::ticks(), thread::index())
            && put_event(ring, request.code, size, encode))
    {
        ring.discard(Cause::Full);
    }
}

/// Puts an event into the block that is being filled, after a base record if necessary
/// (`.event.base`). Returns false if there is no room.
fn put_event(ring: &Own, code: u16, size: usize, encode: Encode<'_>) -> bool {
    let mut block = ring.block();
    let ticks = thread::read_clock();
    let mut delta = ticks.wrapping_sub(ring.base());
    if u32::try_from(delta).is_err() {
        if (block.state().0 as usize) < BLOCK_HEADER_SIZE + size + BASE_RECORD_SIZE {
            return false;
        }
        let Some(claim) = block.claim(BASE_RECORD_SIZE) else { return false };
        claim.publish_base(&BaseRecord::new(ticks, ring.base()));
        ring.set_base(ticks);
        delta = 0;
    }
    let Some(mut claim) = block.claim(size) else { return false };
    claim.put_header(code, delta as u32);
    encode(&mut claim);
    claim.publish();
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rings::ring::{Identity, Ring};
    use eventdef::{ParamSink, store};

    const CODE: u16 = 0x1234;
    const SIZE: usize = 16;

    fn ring(ticks: u64) -> Own {
        clock::choose();
        let identity = Identity { registry: 1, kind: 0, buffer: 9 };
        Ring::create(&store::CONTROL, identity, 1, 2, ticks).expect("memory")
    }

    fn put(ring: &Own, value: u64) -> bool {
        put_event(ring, CODE, SIZE, &|claim| claim.put_u64(8, value))
    }

    /// The words of the recorded events, newest event first.
    fn words(ring: &Ring) -> Vec<u64> {
        let last = ring.block().state().0 as usize;
        let mut bytes = vec![0; block_size() - last];
        ring.block().copy(last, block_size(), &mut bytes);
        bytes.chunks(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap())).collect()
    }

    /// The header of an event whose ticks are those of its base (`.event.code`).
    fn header(code: u16, size: usize) -> u64 {
        let [code, size] = [code, size as u16].map(u16::to_ne_bytes);
        u64::from_ne_bytes([code[0], code[1], size[0], size[1], 0, 0, 0, 0])
    }

    /// `.event.base`, `.write.publish`: more than an hour after the base of the block.
    #[test]
    fn ticks_too_far_from_the_base_take_a_base_record() {
        let long_ago = clock::ticks().wrapping_sub(1 << 40);
        let ring = ring(long_ago);
        assert!(put(&ring, 7) && put(&ring, 8));
        let words = words(&ring);
        assert_eq!(words.len(), 2 + 2 + 3, "two events and one base record");
        let [base_record, new, old] = [words[4], words[5], words[6]];
        assert_eq!(base_record, header(0, 24));
        assert_eq!((old, ring.base()), (long_ago, new));
        assert_eq!((words[2], words[3]), (header(CODE, SIZE), 7));
        assert_eq!(words[1], 8);
        let header = ring.block().header();
        assert_eq!((header.base.get(), header.base_last.get()), (long_ago, new));
        assert_eq!(header.count.get(), 2, "a base record does not count");
    }

    /// `.event.monotone`: a clock that went back.
    #[test]
    fn ticks_before_the_base_take_a_base_record() {
        let future = clock::ticks().wrapping_add(1 << 40);
        let ring = ring(future);
        assert!(put(&ring, 7));
        let words = words(&ring);
        assert_eq!((words.len(), words[4]), (5, future));
        assert!(ring.base() < future);
    }

    /// A base record goes into a block only together with its event: the next block needs none.
    #[test]
    fn a_base_record_goes_into_a_block_only_with_its_event() {
        let ring = ring(clock::ticks());
        let mut room = block_size() - BLOCK_HEADER_SIZE;
        while room > SIZE + BASE_RECORD_SIZE {
            assert!(put(&ring, 0));
            room -= SIZE;
        }
        ring.set_base(ring.base().wrapping_sub(1 << 40));
        let before = ring.block().state();
        assert_eq!(put(&ring, 1), room >= SIZE + BASE_RECORD_SIZE);
        while put(&ring, 2) {}
        assert!(ring.block().state().0 <= before.0);
        assert!((ring.block().state().0 as usize) < BLOCK_HEADER_SIZE + SIZE + BASE_RECORD_SIZE);
    }
}
