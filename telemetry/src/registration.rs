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

use crate::link::Link;
use crate::losses::Counts;
use crate::stream::{self, Standing};
use crate::sync::{Entry, Guard, Locked};
use crate::thread::{SLOT_COUNT, SLOT_FIRST};
use crate::{clock, config, control, flush, identity, intern, memory, report, sync, sys, thread};
use core::sync::atomic::{AtomicUsize, Ordering};
use eventdef::{Control, KIND_COUNT_MAX, Kind};

/// Registries in a process, registry 0 included, at most.
pub const REGISTRY_COUNT_MAX: usize = 512;
/// The slot of a registry that has no place at all, not even an index: its events are counted with
/// those of others of its sort.
const NOWHERE: usize = SLOT_COUNT;

/// A registry with its place.
pub(crate) struct Registered {
    pub(crate) control: &'static Control,
    /// Its index in the stream.
    pub(crate) index: u16,
    /// The slot of its first kind, which the others follow in the order of their indexes; 0 for
    /// registry 0, which has no rings. From `SLOT_COUNT` on it is no slot of a thread, but says
    /// where the events are counted: there was no room.
    pub(crate) slot: usize,
    /// Its slots in each thread.
    pub(crate) slot_count: usize,
    /// The counts of a registry for which there was no room, by the places of its kinds.
    refused: Option<&'static KindCounts>,
}

type KindCounts = [Counts; KIND_COUNT_MAX];

impl Registered {
    fn kinds(&self) -> &'static [Kind] {
        self.control.registry.kinds
    }

    /// The slots of these kinds.
    pub(crate) fn slots_of(&self, kinds: u64) -> impl Iterator<Item = usize> {
        let places = self.kinds().iter().enumerate();
        let first = self.slot;
        places.filter(move |(_, kind)| kinds & 1 << kind.index != 0).map(move |(at, _)| first + at)
    }
}

struct Registrations {
    prepared: bool,
    refusal_told: bool,
    slot_next: usize,
}

static STATE: Locked<Registrations> =
    Locked::new(Registrations { prepared: false, refusal_told: false, slot_next: SLOT_FIRST });
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
        let place = slot.checked_sub(registered.slot)?;
        Some((registered, registered.kinds().get(place)?.index))
    })
}

/// All slots that there may be counts of.
pub(crate) fn slots() -> impl Iterator<Item = usize> {
    let refused = all().filter(|registered| registered.refused.is_some());
    (0..SLOT_COUNT).chain(refused.flat_map(|registered| registered.slots_of(u64::MAX)))
}

/// The counts of a kind for which there was no room.
pub(crate) fn refused_counts(slot: usize) -> Option<&'static Counts> {
    let index = (slot / SLOT_COUNT).checked_sub(1)?;
    get(index)?.refused?.get(slot % SLOT_COUNT)
}

/// Where events of a kind are counted that have no ring, given also its place.
pub(crate) fn slot_of(control: &Control, kind: u8, place: u8) -> usize {
    match control.slot().load(Ordering::Acquire) as usize {
        first @ (0 | NOWHERE) => first + usize::from(kind),
        first => first + usize::from(place),
    }
}

/// Registers a registry unless it is; false if that must wait, or there was no room for it.
pub(crate) fn register(entry: &Entry, control: &'static Control) -> bool {
    let has_room = || match control.slot().load(Ordering::Acquire) as usize {
        0 => None,
        slot => Some(slot < SLOT_COUNT),
    };
    if let Some(has_room) = has_room() {
        return has_room;
    }
    // A nested entry may have interrupted a registration half done.
    let Some(mut state) = (if entry.is_nested() { None } else { STATE.lock(entry) }) else {
        return false;
    };
    if let Some(has_room) = has_room() {
        return has_room;
    }
    prepare(&mut state);
    let slot = find_place(&mut state, control);
    control::apply_environment(control);
    bring_out(entry);
    control.slot().store(slot as u32, Ordering::Release);
    slot < SLOT_COUNT
}

/// Gives a registry its index and its slots. Where there is no room its events are counted by
/// themselves, if there is memory for that.
fn find_place(state: &mut Registrations, control: &'static Control) -> usize {
    let slot_count = control.registry.kinds.len();
    let slot = state.slot_next;
    if slot + slot_count <= SLOT_COUNT && add(control, slot, slot_count).is_some() {
        state.slot_next += slot_count;
        return slot;
    }
    if !core::mem::replace(&mut state.refusal_told, true) {
        let name = control.registry.name;
        let kind_count = SLOT_COUNT - SLOT_FIRST;
        report::say(format_args!(
            "no room for registry `{name}`: a process has at most {kind_count} kinds, in {} \
             registries; its events are counted, not recorded",
            REGISTRY_COUNT_MAX - 1
        ));
    }
    add_refused(control).unwrap_or(NOWHERE)
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
    let registered = Registered { control, index: index as u16, slot, slot_count, refused: None };
    place.set(Some(memory::place(registered)?));
    COUNT.store(index + 1, Ordering::Release);
    Some(())
}

/// The same without slots: the numbers of its kinds are beyond those of all slots, and all that a
/// thread finds by them is the slots that stay empty.
fn add_refused(control: &'static Control) -> Option<usize> {
    let index = COUNT.load(Ordering::Relaxed);
    let place = REGISTERED.get(index)?;
    let slot = (index + 1) * SLOT_COUNT;
    let registered = memory::place_with(|counts: &'static mut KindCounts| {
        let refused = Some(&*counts);
        Registered { control, index: index as u16, slot, slot_count: 0, refused }
    });
    place.set(Some(registered?));
    COUNT.store(index + 1, Ordering::Release);
    Some(slot)
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

/// A forked child leaves the stream to its parent: nothing of it is output. Where there is none,
/// and nobody was at work on it, the child may have one of its own. Runs in the child alone, before
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
