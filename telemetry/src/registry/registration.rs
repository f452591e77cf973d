//! The places of registries: an index in the stream, and slots in every thread.
//!
//! ```text
//!  a registry ─▶ find_place ─▶ index in the stream, slots in every thread    no room: NOWHERE
//! ```
//!
//! Design: `.sol.registry`, `.control.env` in `design/telemetry.md`; `.registry.index` in
//! `design/format.md`.

use crate::os::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::os::entry::Entry;
use crate::os::link::Link;
use crate::os::sync::{Guard, Locked};
use crate::os::{pages, report};
use eventdef::{Control, KIND_COUNT_MAX, Kind};

/// The greatest number of registries in a process, registry 0 included.
pub const REGISTRY_COUNT_MAX: usize = 512;
/// The number of slots for rings in each thread: one for each registry and kind. A power of two.
pub(crate) const SLOT_COUNT: usize = 512;
/// The number of slots that stay empty for ever: those of an unregistered registry, whose slot is
/// 0.
pub(crate) const SLOT_FIRST: usize = KIND_COUNT_MAX;
const _: () = assert!(REGISTRY_COUNT_MAX <= u16::MAX as usize);
const _: () = assert!(SLOT_COUNT.is_power_of_two() && SLOT_FIRST < SLOT_COUNT);
/// The slot of a registry without room: its events are counted by the indexes of their kinds,
/// together with those of other such registries.
const NOWHERE: usize = SLOT_COUNT;

pub(crate) struct Registered {
    pub(crate) control: &'static Control,
    pub(crate) index: u16,
    /// The slot of its first kind; the others follow in the order of their indexes. 0 for registry
    /// 0, which has no rings.
    pub(crate) slot: usize,
    /// The number of its slots in each thread.
    pub(crate) slot_count: usize,
    /// The kinds that are output, as far as the stream knows, or is about to know.
    noted: AtomicU64,
    /// The kinds that are recorded only while they are output.
    following: AtomicU64,
}

impl Registered {
    fn kinds(&self) -> &'static [Kind] {
        self.control.registry.kinds
    }

    /// Notes the kinds that are output now; returns the ones noted before, and the new ones. Call
    /// it under the lock of the masks.
    pub(crate) fn note_output(&self) -> (u64, u64) {
        let now = self.control.output().load(Ordering::Relaxed);
        let before = self.noted.swap(now, Ordering::Relaxed);
        let changed = (before ^ now) & self.following.load(Ordering::Relaxed);
        self.control.recorded().fetch_or(changed & now, Ordering::Relaxed);
        self.control.recorded().fetch_and(!(changed & !now), Ordering::Relaxed);
        (before, now)
    }

    /// Records these kinds from now on only while they are output. Call it under the lock of the
    /// masks.
    pub(crate) fn follow_output(&self, kinds: u64) {
        self.following.fetch_or(kinds, Ordering::Relaxed);
        let output = self.control.output().load(Ordering::Relaxed);
        self.control.recorded().fetch_and(!(kinds & !output), Ordering::Relaxed);
    }

    /// Returns the kinds whose output changed since it was noted, and the kinds that are output.
    pub(crate) fn changed_output(&self) -> (u64, u64) {
        let now = self.control.output().load(Ordering::Relaxed);
        (self.noted.load(Ordering::Relaxed) ^ now, now)
    }

    pub(crate) fn slots_of(&self, kinds: u64) -> impl Iterator<Item = usize> {
        let places = self.kinds().iter().enumerate();
        let first = self.slot;
        places.filter(move |(_, kind)| kinds & 1 << kind.index != 0).map(move |(at, _)| first + at)
    }
}

pub(crate) struct Registrations {
    /// Whether the process did the work that precedes its first registry.
    pub(crate) prepared: bool,
    refusal_told: bool,
    slot_next: usize,
}

static STATE: Locked<Registrations> =
    Locked::new(Registrations { prepared: false, refusal_told: false, slot_next: SLOT_FIRST });
static REGISTERED: [Link<Registered>; REGISTRY_COUNT_MAX] =
    [const { Link::none() }; REGISTRY_COUNT_MAX];
static COUNT: AtomicUsize = AtomicUsize::new(0);

pub(crate) fn get(index: usize) -> Option<&'static Registered> {
    REGISTERED.get(index)?.get()
}

pub(crate) fn all() -> impl Iterator<Item = &'static Registered> {
    (0..COUNT.load(Ordering::Acquire)).filter_map(get)
}

pub(crate) fn find(control: &Control) -> Option<&'static Registered> {
    all().find(|found| core::ptr::eq(found.control, control))
}

pub(crate) fn is_something_output() -> bool {
    all().any(|each| each.control.output().load(Ordering::Relaxed) != 0)
}

pub(crate) fn output_kind_count() -> usize {
    let output = |control: &Control| control.output().load(Ordering::Relaxed);
    all().skip(1).map(|each| each.slots_of(output(each.control)).count()).sum()
}

pub(crate) fn owner(slot: usize) -> Option<(&'static Registered, u8)> {
    all().skip(1).find_map(|registered| {
        let place = slot.checked_sub(registered.slot)?;
        Some((registered, registered.kinds().get(place)?.index))
    })
}

pub(crate) fn slot_in(registry: u16, kind: u8) -> Option<usize> {
    get(usize::from(registry))?.slots_of(1 << kind).next()
}

/// Returns the slot that counts events without a ring, by the kind's index and place.
pub(crate) fn slot_of(control: &Control, kind: u8, place: u8) -> usize {
    match control.slot().load(Ordering::Acquire) as usize {
        first @ (0 | NOWHERE) => first + usize::from(kind),
        first => first + usize::from(place),
    }
}

/// Returns whether a registry has slots; `None` if it is not registered.
pub(crate) fn has_room(control: &Control) -> Option<bool> {
    match control.slot().load(Ordering::Acquire) as usize {
        0 => None,
        slot => Some(slot < SLOT_COUNT),
    }
}

pub(crate) fn lock(entry: &Entry) -> Option<Guard<'static, Registrations>> {
    STATE.lock(entry)
}

/// Gives a registry its index and its slots, and returns its first slot.
pub(crate) fn find_place(state: &mut Registrations, control: &'static Control) -> usize {
    // A thread may have got this far when this process was forked.
    if let Some(found) = find(control) {
        return found.slot;
    }
    let slot_count = control.registry.kinds.len();
    let slot = state.slot_next;
    let has_room =
        slot + slot_count <= SLOT_COUNT && COUNT.load(Ordering::Relaxed) < REGISTRY_COUNT_MAX;
    if has_room && add(control, slot, slot_count).is_some() {
        state.slot_next += slot_count;
        return slot;
    }
    if !core::mem::replace(&mut state.refusal_told, true) {
        refuse(control.registry.name, has_room);
    }
    NOWHERE
}

/// Reports that the events of a registry are not recorded, and why.
fn refuse(name: &str, has_room: bool) {
    let (kinds, registries) = (SLOT_COUNT - SLOT_FIRST, REGISTRY_COUNT_MAX - 1);
    match has_room {
        true => report::say(format_args!(
            "no memory for registry `{name}` (is the limit of addresses, ulimit -v, too small?); \
             its events are counted, not recorded"
        )),
        false => report::say(format_args!(
            "no room for registry `{name}`: a process has at most {kinds} kinds, in {registries} \
             registries; its events are counted, not recorded"
        )),
    }
}

/// Adds registry 0 unless it exists: the store alone records it, so it needs no slots.
pub(crate) fn add_store() {
    if get(0).is_none() {
        add(&eventdef::store::CONTROL, 0, 0);
    }
}

/// Adds a registry at the next index.
fn add(control: &'static Control, slot: usize, slot_count: usize) -> Option<()> {
    let index = COUNT.load(Ordering::Relaxed);
    let place = REGISTERED.get(index)?;
    let noted = AtomicU64::new(control.output().load(Ordering::Relaxed));
    let (index_in_stream, following) = (index as u16, AtomicU64::new(0));
    let registered =
        Registered { control, index: index_in_stream, slot, slot_count, noted, following };
    place.set(Some(pages::place(registered)?));
    COUNT.store(index + 1, Ordering::Release);
    Some(())
}

/// Repairs, in a forked child, what a missing thread may have left half done.
pub(crate) fn restart() {
    let (mut state, _) = STATE.take_over();
    let ends = all().map(|registered| registered.slot + registered.slot_count);
    state.slot_next = ends.fold(SLOT_FIRST, usize::max);
}
