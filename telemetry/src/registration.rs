//! Registries get their places: an index in the stream, slots in every thread, masks from the
//! environment.
//!
//! ```text
//!  first event of a registry ─▶ register: masks ─ index ─ slots ─ into the stream ─▶ Control.slot
//!  first of the process      ─▶ prepare:  clock, UUID, exit, fork, thread ends, registry 0
//! ```
//!
//! Design: `.sol.registry`, `.control.env` in `design/telemetry.md`; `.registry.index` in
//! `design/format.md`.

use crate::memory::{self, Link};
use crate::stream::{self, Standing};
use crate::sync::{Entry, Guard, Locked};
use crate::thread::{SLOT_COUNT, SLOT_FIRST};
use crate::{clock, config, control, flush, identity, intern, sync, sys, thread};
use core::sync::atomic::{AtomicUsize, Ordering};
use eventdef::Control;

/// Registries in a process, registry 0 included, at most.
pub const REGISTRY_COUNT_MAX: usize = 128;

/// A registry with its place.
pub(crate) struct Registered {
    pub(crate) control: &'static Control,
    /// Its index in the stream.
    pub(crate) index: u16,
    /// The slot of its kind 0; 0 for registry 0, which has no rings.
    pub(crate) slot: usize,
    /// Its slots.
    pub(crate) slot_count: usize,
}

struct Registrations {
    prepared: bool,
    slot_next: usize,
}

static STATE: Locked<Registrations> =
    Locked::new(Registrations { prepared: false, slot_next: SLOT_FIRST });
static REGISTERED: [Link<Registered>; REGISTRY_COUNT_MAX] =
    [const { Link::none() }; REGISTRY_COUNT_MAX];
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// The registry with this index.
pub(crate) fn get(index: usize) -> Option<&'static Registered> {
    REGISTERED.get(index)?.get()
}

/// All registries.
pub(crate) fn all() -> impl Iterator<Item = &'static Registered> {
    (0..COUNT.load(Ordering::Acquire)).filter_map(get)
}

/// The registry and the kind that have a slot.
pub(crate) fn owner(slot: usize) -> Option<(&'static Registered, u8)> {
    all().skip(1).find_map(|registered| {
        let kind = slot.checked_sub(registered.slot)?;
        (kind < registered.slot_count).then_some((registered, kind as u8))
    })
}

/// Registers a registry unless it is; false if that must wait, or there are too many.
pub(crate) fn register(entry: &Entry, control: &'static Control) -> bool {
    if control.slot().load(Ordering::Acquire) != 0 {
        return true;
    }
    // A nested entry may have interrupted a registration half done.
    let Some(mut state) = (if entry.is_nested() { None } else { STATE.lock(entry) }) else {
        return false;
    };
    if control.slot().load(Ordering::Acquire) != 0 {
        return true;
    }
    prepare(&mut state);
    let kinds = control.registry.kinds;
    let slot_count = kinds.iter().map(|kind| usize::from(kind.index) + 1).max().unwrap_or(1);
    let slot = state.slot_next;
    if slot + slot_count > SLOT_COUNT || add(control, slot, slot_count).is_none() {
        return false;
    }
    state.slot_next += slot_count;
    control::apply_environment(control);
    bring_out(entry);
    control.slot().store(slot as u32, Ordering::Release);
    true
}

/// Once in the process, before anything else.
fn prepare(state: &mut Guard<'_, Registrations>) {
    if core::mem::replace(&mut state.prepared, true) {
        return;
    }
    clock::choose();
    identity::prepare();
    config::apply_environment();
    memory::fix_block_size();
    thread::prepare();
    flush::expect_exit();
    sys::at_fork_in_child(leave_parent);
    // Registry 0 is recorded by the store alone: it needs no slots.
    add(&eventdef::store::CONTROL, 0, 0);
}

/// Prepares without registering.
pub(crate) fn prepare_only(entry: &Entry) -> bool {
    match STATE.lock(entry) {
        Some(mut state) => {
            prepare(&mut state);
            true
        }
        None => false,
    }
}

fn add(control: &'static Control, slot: usize, slot_count: usize) -> Option<()> {
    let index = COUNT.load(Ordering::Relaxed);
    let place = REGISTERED.get(index)?;
    let registered = Registered { control, index: index as u16, slot, slot_count };
    place.set(Some(memory::place(registered)?));
    COUNT.store(index + 1, Ordering::Release);
    Some(())
}

/// The registries go into the stream, which begins now if something is output.
fn bring_out(entry: &Entry) {
    if all().any(|registered| registered.control.output().load(Ordering::Relaxed) != 0) {
        stream::ensure(entry);
    }
    if let Some(mut parts) = stream::parts(entry) {
        parts.bring_registries();
    }
}

/// Whether a thread has a lock of the runtime.
fn is_busy() -> bool {
    let in_ring = |slot| thread::each_ring(slot, |ring| ring.is_busy()).is_some();
    STATE.is_busy()
        || control::is_busy()
        || (0..SLOT_COUNT).any(in_ring)
        || intern::is_busy()
        || stream::is_busy()
}

/// A forked child leaves the stream to its parent: nothing of it is output. Where there is none, and
/// nobody was at work on it, the child may have one of its own. Runs in the child alone, before
/// `fork` returns there.
extern "C" fn leave_parent() {
    if stream::standing() == Standing::None && !is_busy() {
        identity::prepare();
        return;
    }
    sync::wait_no_more();
    stream::leave();
    for registered in all() {
        registered.control.output().store(0, Ordering::Relaxed);
    }
}
