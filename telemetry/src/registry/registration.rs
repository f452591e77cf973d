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

use crate::block::losses::Counts;
use crate::block::{clock, identity, memory, root};
use crate::ends::{crash, fork};
use crate::inspect::{debug, traceback};
use crate::os::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::os::link::Link;
use crate::os::sync::{Entry, Guard, Locked};
use crate::os::{ordinary, report};
use crate::registry::policy;
use crate::rings::config;
use crate::rings::thread::{self, SLOT_COUNT, SLOT_FIRST};
use crate::service::{control, flush};
use crate::stream;
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
    /// The kinds that are output, as the stream was told, or is about to be.
    noted: AtomicU64,
}

type KindCounts = [Counts; KIND_COUNT_MAX];

impl Registered {
    fn kinds(&self) -> &'static [Kind] {
        self.control.registry.kinds
    }

    /// Notes the kinds that are output now; gives those that were noted, and these. Under the lock
    /// of the masks.
    pub(crate) fn note_output(&self) -> (u64, u64) {
        let now = self.control.output().load(Ordering::Relaxed);
        (self.noted.swap(now, Ordering::Relaxed), now)
    }

    /// The kinds of which it is not noted whether they are output, and those that are output.
    pub(crate) fn changed_output(&self) -> (u64, u64) {
        let now = self.control.output().load(Ordering::Relaxed);
        (self.noted.load(Ordering::Relaxed) ^ now, now)
    }

    /// Whether these are noted.
    pub(crate) fn is_output_noted(&self) -> bool {
        self.changed_output().0 == 0
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

/// Kinds that are output, of all registries.
pub(crate) fn output_kind_count() -> usize {
    let output = |control: &Control| control.output().load(Ordering::Relaxed);
    all().skip(1).map(|each| each.slots_of(output(each.control)).count()).sum()
}

/// The registry and the kind that have a slot.
pub(crate) fn owner(slot: usize) -> Option<(&'static Registered, u8)> {
    all().skip(1).find_map(|registered| {
        let place = slot.checked_sub(registered.slot)?;
        Some((registered, registered.kinds().get(place)?.index))
    })
}

/// The slot of a kind of the registry with this index.
pub(crate) fn slot_in(registry: u16, kind: u8) -> Option<usize> {
    get(usize::from(registry))?.slots_of(1 << kind).next()
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
    if entry.is_nested() || !fork::arrange(entry) {
        return false;
    }
    // What a debugger asked of the others by the names of kinds is asked of this one, too.
    if get(1).is_some() {
        debug::notice(entry);
    }
    let Some(mut state) = STATE.lock(entry) else { return false };
    if let Some(has_room) = has_room() {
        return has_room;
    }
    prepare(entry, &mut state);
    let slot = find_place(&mut state, control);
    control::apply_environment(control);
    policy::apply_environment(control, slot);
    root::bring_registries();
    bring_out(entry);
    control.slot().store(slot as u32, Ordering::Release);
    drop(state);
    debug::put(entry);
    debug::notice(entry);
    // A hook that waits for a thread that panics is looked at with each registry.
    ordinary::expect();
    ordinary::catch_up(entry);
    slot < SLOT_COUNT
}

/// Gives a registry its index and its slots. Where there is no room its events are counted by
/// themselves, if there is memory for that.
fn find_place(state: &mut Registrations, control: &'static Control) -> usize {
    // A thread that was registering it when this process was forked got so far.
    if let Some(found) = all().find(|found| core::ptr::eq(found.control, control)) {
        return found.slot;
    }
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
fn prepare(entry: &Entry, state: &mut Guard<'_, Registrations>) {
    if state.prepared {
        return;
    }
    clock::choose();
    identity::prepare();
    if !memory::is_block_size_fixed() {
        config::apply_environment();
        memory::fix_block_size();
    }
    thread::prepare();
    flush::expect_exit(entry);
    crash::apply_environment();
    traceback::prepare();
    // Registry 0 is recorded by the store alone: it needs no slots.
    if get(0).is_none() {
        add(&eventdef::store::CONTROL, 0, 0);
    }
    root::bring_registries();
    ordinary::expect();
    // Last: where a fork comes before, by another thread, the child does it all again.
    state.prepared = true;
}

/// Prepares without registering.
pub(crate) fn prepare_only(entry: &Entry) -> bool {
    if !fork::arrange(entry) {
        return false;
    }
    match STATE.lock(entry) {
        Some(mut state) => {
            prepare(entry, &mut state);
            true
        }
        None => false,
    }
}

fn add(control: &'static Control, slot: usize, slot_count: usize) -> Option<()> {
    let index = COUNT.load(Ordering::Relaxed);
    let place = REGISTERED.get(index)?;
    let (index_16, noted) = (index as u16, noted(control));
    let registered =
        Registered { control, index: index_16, slot, slot_count, refused: None, noted };
    place.set(Some(memory::place(registered)?));
    COUNT.store(index + 1, Ordering::Release);
    Some(())
}

/// What a registry has noted at first.
fn noted(control: &Control) -> AtomicU64 {
    AtomicU64::new(control.output().load(Ordering::Relaxed))
}

/// The same without slots: the numbers of its kinds are beyond those of all slots, and all that a
/// thread finds by them is the slots that stay empty.
fn add_refused(control: &'static Control) -> Option<usize> {
    let index = COUNT.load(Ordering::Relaxed);
    let place = REGISTERED.get(index)?;
    let slot = (index + 1) * SLOT_COUNT;
    let registered = memory::place_with(|counts: &'static mut KindCounts| {
        let refused = Some(&*counts);
        let noted = noted(control);
        Registered { control, index: index as u16, slot, slot_count: 0, refused, noted }
    });
    place.set(Some(registered?));
    COUNT.store(index + 1, Ordering::Release);
    Some(slot)
}

/// The registries go into the stream, which begins now if something is output.
fn bring_out(entry: &Entry) {
    if flush::is_something_output() {
        stream::ensure(entry);
    }
    if let Some(mut parts) = stream::parts(entry) {
        parts.bring_registries();
    }
}

/// Puts right, in a forked child, what a thread that is not there may have left half done.
pub(crate) fn restart() {
    let (mut state, _) = STATE.take_over();
    let ends = all().map(|registered| registered.slot + registered.slot_count);
    // A registry without room has no slots, and begins beyond those of all others.
    let end = ends.filter(|end| *end <= SLOT_COUNT).max();
    state.slot_next = end.unwrap_or(SLOT_FIRST).max(SLOT_FIRST);
}
