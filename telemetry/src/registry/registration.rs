//! Registries get their places: an index in the stream, slots in every thread.
//!
//! ```text
//!  a registry ─▶ find_place ─▶ index in the stream, slots in every thread    no room: counts alone
//! ```
//!
//! Design: `.sol.registry`, `.control.env` in `design/telemetry.md`; `.registry.index` in
//! `design/format.md`.

use crate::block::losses::Counts;
use crate::os::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::os::link::Link;
use crate::os::sync::{Entry, Guard, Locked};
use crate::os::{pages, report};
use eventdef::{Control, KIND_COUNT_MAX, Kind};

/// Registries in a process, registry 0 included, at most.
pub const REGISTRY_COUNT_MAX: usize = 512;
/// Slots for rings in each thread: one for each registry and kind. A power of two.
pub(crate) const SLOT_COUNT: usize = 512;
/// Slots that stay empty for ever: those of a registry that is not registered, whose slot is 0.
pub(crate) const SLOT_FIRST: usize = KIND_COUNT_MAX;
const _: () = assert!(SLOT_COUNT.is_power_of_two() && SLOT_FIRST < SLOT_COUNT);
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

pub(crate) struct Registrations {
    /// Whether the process did what comes before its first registry.
    pub(crate) prepared: bool,
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

/// Whether some kind of some registry is output.
pub(crate) fn is_something_output() -> bool {
    all().any(|each| each.control.output().load(Ordering::Relaxed) != 0)
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

/// Whether a registry has slots; `None` where it is not registered.
pub(crate) fn has_room(control: &Control) -> Option<bool> {
    match control.slot().load(Ordering::Acquire) as usize {
        0 => None,
        slot => Some(slot < SLOT_COUNT),
    }
}

/// Takes the lock of the registrations.
pub(crate) fn lock(entry: &Entry) -> Option<Guard<'static, Registrations>> {
    STATE.lock(entry)
}

/// Gives a registry its index and its slots. Where there is no room its events are counted by
/// themselves, if there is memory for that.
pub(crate) fn find_place(state: &mut Registrations, control: &'static Control) -> usize {
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

/// Adds registry 0 unless it is there: it is recorded by the store alone, and needs no slots.
pub(crate) fn add_store() {
    if get(0).is_none() {
        add(&eventdef::store::CONTROL, 0, 0);
    }
}

fn add(control: &'static Control, slot: usize, slot_count: usize) -> Option<()> {
    let index = COUNT.load(Ordering::Relaxed);
    let place = REGISTERED.get(index)?;
    let (index_16, noted) = (index as u16, noted(control));
    let registered =
        Registered { control, index: index_16, slot, slot_count, refused: None, noted };
    place.set(Some(pages::place(registered)?));
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
    let registered = pages::place_with(|counts: &'static mut KindCounts| {
        let refused = Some(&*counts);
        let noted = noted(control);
        Registered { control, index: index as u16, slot, slot_count: 0, refused, noted }
    });
    place.set(Some(registered?));
    COUNT.store(index + 1, Ordering::Release);
    Some(slot)
}

/// Puts right, in a forked child, what a thread that is not there may have left half done.
pub(crate) fn restart() {
    let (mut state, _) = STATE.take_over();
    let ends = all().map(|registered| registered.slot + registered.slot_count);
    // A registry without room has no slots, and begins beyond those of all others.
    let end = ends.filter(|end| *end <= SLOT_COUNT).max();
    state.slot_next = end.unwrap_or(SLOT_FIRST).max(SLOT_FIRST);
}
