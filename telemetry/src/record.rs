//! Recording an event: the fast path, and what it falls back to.
//!
//! ```text
//!  take the ring out of its slot ─ room below *last*? ─ ticks fit in 32 bits? ─▶ five stores ─▶ ring back in its slot
//!         │ empty                    │ no                 │ no
//!         ▼                          ▼                    ▼
//!   make the ring, or it is taken:  next block        base record
//!   count "nested"                  or count "full", "large"
//! ```
//!
//! Design: `.sol.buffer`, `.sol.nested` in `design/telemetry.md`; `.write.publish`, `.event.base` in
//! `design/format.md`.

use crate::losses::{self, Cause};
use crate::memory::{Claim, block_size};
use crate::ring::Ring;
use crate::sync::Entry;
use crate::{clock, registration, thread};
use core::sync::atomic::Ordering;
use eventdef::{Control, Event, Sort};
use eventlog::format::{BASE_RECORD_SIZE, BLOCK_HEADER_SIZE, BaseRecord, EVENT_SIZE_MAX};

/// Whether events of this type are recorded now: compiled in, and their kind switched on. One load, one test.
#[inline(always)]
pub fn is_recorded<E: Event>() -> bool {
    crate::VARIETY.admits(E::ALWAYS) && E::control().is_recorded(1 << E::KIND)
}

/// Records an event, or counts it as discarded. Outlined, so that an annotation which is switched off costs its load,
/// test and branch, and little code.
#[inline(never)]
pub fn record<E: Event>(event: E) {
    let size = event.size();
    let slot = E::control().slot().load(Ordering::Relaxed) as usize + usize::from(E::KIND);
    let Some(ring) = thread::take(slot) else { return record_without_ring(&event) };
    // The room says enough of the size of an event without a string: it is less than any block.
    let is_small = !has_string::<E>() || size <= EVENT_SIZE_MAX;
    if is_small
        && let Some(mut claim) = ring.block().claim(size)
        && let Some(delta) = ring.delta()
    {
        claim.put_header(E::CODE, delta);
        event.encode(&mut claim);
        claim.publish();
        return thread::put(slot, ring);
    }
    record_into_taken_ring(&event, slot, ring);
}

const fn has_string<E: Event>() -> bool {
    match E::TYPE.params {
        [.., last] => matches!(last.sort, Sort::S),
        [] => false,
    }
}

/// What the slow path knows of an event.
struct Request {
    control: &'static Control,
    kind: u8,
    code: u16,
    size: usize,
}

impl Request {
    fn of<E: Event>(event: &E) -> Request {
        Request { control: E::control(), kind: E::KIND, code: E::CODE, size: event.size() }
    }
}

/// Lays the parameters of an event out.
type Encode<'a> = &'a dyn Fn(&mut Claim);

/// Records an event whose slot is empty.
#[cold]
#[inline(never)]
fn record_without_ring<E: Event>(event: &E) {
    find_ring_and_record(&Request::of(event), &|claim| event.encode(claim));
}

/// Records an event for which the block has no room, or whose ticks are too far from its base, or are no counter's.
#[cold]
#[inline(never)]
fn record_into_taken_ring<E: Event>(event: &E, slot: usize, ring: &'static Ring) {
    let entry = Entry::new();
    record_slowly(&entry, ring, &Request::of(event), &|claim| event.encode(claim));
    thread::put(slot, ring);
}

fn find_ring_and_record(request: &Request, encode: Encode<'_>) {
    let entry = Entry::new();
    let registered = registration::register(&entry, request.control);
    let slot = request.control.slot().load(Ordering::Acquire) as usize + usize::from(request.kind);
    if !registered {
        let cause = if entry.is_nested() { Cause::Nested } else { Cause::Full };
        losses::discard_unhoused(slot, cause, 1);
        return;
    }
    // A handler may have come since the slot was found empty, and have made the ring and put it there.
    let ring = thread::take(slot).or_else(|| thread::find_or_make(&entry, slot));
    if let Some(ring) = ring {
        record_slowly(&entry, ring, request, encode);
        thread::put(slot, ring);
    }
}

/// Records into a ring that is taken, going to its next block if need be.
fn record_slowly(entry: &Entry, ring: &Ring, request: &Request, encode: Encode<'_>) {
    let size = request.size;
    if size > EVENT_SIZE_MAX || size > block_size() - BLOCK_HEADER_SIZE {
        return ring.counts.discard(Cause::Large, 1);
    }
    if put_event(ring, request.code, size, encode) {
        return;
    }
    // The new block's base are these ticks, so that the event needs no base record there.
    if !(ring.advance(entry, clock::ticks(), thread::index())
        && put_event(ring, request.code, size, encode))
    {
        ring.counts.discard(Cause::Full, 1);
    }
}

/// Puts an event into the block that is being filled, after a base record if need be (`.event.base`). False: no room.
fn put_event(ring: &Ring, code: u16, size: usize, encode: Encode<'_>) -> bool {
    let block = ring.block();
    let ticks = clock::ticks();
    let mut delta = ticks.wrapping_sub(ring.base());
    if u32::try_from(delta).is_err() {
        if block.state().0 as usize - BLOCK_HEADER_SIZE < size + BASE_RECORD_SIZE {
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
