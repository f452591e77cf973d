//! Switches kinds on and off: from the environment, and for the program.
//!
//! The picture is in `record/control.rs`. Design: `.control` in `design/telemetry.md`;
//! `.store.control` in `design/format.md`.

use crate::offered::Moment;
use crate::os::entry::Entry;
use crate::os::report::Text;
use crate::os::sync::Locked;
use crate::os::{observers, ordinary, sys};
use crate::registry::defaults::{self, Defaults};
use crate::registry::names::{self, KindNames, Reported};
use crate::registry::policy::{self, Policy};
use crate::registry::registration::{self, Registered};
use crate::rings::thread;
use crate::service::mask_changes;
use crate::store::intern;
use crate::stream;
use core::ffi::CStr;
use core::marker::PhantomData;
use core::sync::atomic::Ordering;
use eventdef::{Control, Kind, KindSet, TypedControl};
use eventlog::control::Mask;

/// The environment variable with the kinds that are output.
pub const CONTROL_VARIABLE: &CStr = c"MPS_TELEMETRY_CONTROL";

/// Held while the defaults and the masks of registries change, and while a registry gets its masks.
/// So a registry that registers meanwhile gets either the old defaults and the change, or the new
/// defaults.
static CHANGING: Locked<()> = Locked::new(());
static REPORTED: Reported = Reported::new();

/// Switches the output of kinds on, in each registry, also in registries that register later. Bit k
/// is the kind with index k of each registry.
///
/// The next block or [flush](crate::flush()) also writes the events that the buffers of these kinds
/// still hold.
pub fn set_output_everywhere(kinds: impl Into<u64>) {
    set_output_in(&Entry::new(), kinds.into());
}

pub(crate) fn set_output_in(entry: &Entry, kinds: u64) {
    change_all(entry, Mask::Output, kinds, true);
}

/// Switches the output of kinds off, in each registry, after writing the recorded events.
pub fn reset_output_everywhere(kinds: impl Into<u64>) {
    observers::tell(Moment::Flush);
    reset_output_in(&Entry::new(), kinds.into());
}

pub(crate) fn reset_output_in(entry: &Entry, kinds: u64) {
    registration::all().skip(1).for_each(|each| thread::flush_kinds(entry, each, kinds));
    change_all(entry, Mask::Output, kinds, false);
}

/// Returns the kinds that later registries record. So do all registries, unless their own masks
/// were changed.
pub fn recorded_everywhere() -> u64 {
    !defaults::RECORDED.reset()
}

/// Switches the recording of kinds on, in each registry.
pub fn set_recorded_everywhere(kinds: impl Into<u64>) {
    change_all(&Entry::new(), Mask::Recorded, kinds.into(), true);
}

/// Switches the recording of kinds off, in each registry.
pub fn reset_recorded_everywhere(kinds: impl Into<u64>) {
    change_all(&Entry::new(), Mask::Recorded, kinds.into(), false);
}

/// The masks of one registry, whose kinds are `K`.
#[derive(Clone, Copy, Debug)]
pub struct RegistryControl<K: KindSet> {
    control: &'static Control,
    kinds: PhantomData<fn(K)>,
}

impl<K: KindSet> RegistryControl<K> {
    pub(crate) fn new(control: &'static TypedControl<K>) -> RegistryControl<K> {
        RegistryControl { control, kinds: PhantomData }
    }

    /// Returns the kinds that are output.
    pub fn output(self) -> K {
        K::from_bits_truncate(self.control.output().load(Ordering::Relaxed))
    }

    /// Switches the output of kinds on.
    pub fn set_output(self, kinds: K) {
        self.change(Mask::Output, kinds.bits(), true);
    }

    /// Switches the output of kinds off, after writing the recorded events.
    pub fn reset_output(self, kinds: K) {
        let kinds = kinds.bits();
        if let Some(registered) = registration::find(self.control) {
            observers::tell(Moment::Flush);
            thread::flush_kinds(&Entry::new(), registered, kinds);
        }
        self.change(Mask::Output, kinds, false);
    }

    /// Returns the kinds that are recorded in memory.
    pub fn recorded(self) -> K {
        K::from_bits_truncate(self.control.recorded().load(Ordering::Relaxed))
    }

    /// Switches the recording of kinds on.
    pub fn set_recorded(self, kinds: K) {
        self.change(Mask::Recorded, kinds.bits(), true);
    }

    /// Switches the recording of kinds off.
    pub fn reset_recorded(self, kinds: K) {
        self.change(Mask::Recorded, kinds.bits(), false);
    }

    /// Records these kinds from now on only while they are output: switching their output on or off
    /// also switches their recording. So annotations that nobody asked for cost a load, a test and
    /// a branch.
    pub fn record_while_output(self, kinds: K) {
        let Some(registered) = registration::find(self.control) else { return };
        let entry = Entry::new();
        let changing = CHANGING.lock(&entry);
        registered.follow_output(kinds.bits());
        drop(changing);
        settle(&entry, registered);
    }

    /// Sets the policy of these kinds: what a recording thread does when no block is free.
    pub fn set_policy(self, kinds: K, policy: Policy) {
        if let Some(registered) = registration::find(self.control) {
            policy::set(registered.slots_of(kinds.bits()), policy);
        }
    }

    fn change(self, mask: Mask, kinds: u64, on: bool) {
        let entry = Entry::new();
        let registered = registration::find(self.control);
        let changing = CHANGING.lock(&entry);
        switch(self.control, mask, kinds, on);
        registered.inspect(|each| _ = each.note_output());
        drop(changing);
        if let Some(registered) = registered {
            settle(&entry, registered);
        }
    }
}

pub(crate) fn switch(control: &Control, mask: Mask, kinds: u64, on: bool) {
    let mask = match mask {
        Mask::Output => control.output(),
        Mask::Recorded => control.recorded(),
    };
    if on {
        mask.fetch_or(kinds, Ordering::Relaxed);
    } else {
        mask.fetch_and(!kinds, Ordering::Relaxed);
    }
}

/// Switches kinds on or off in every registry, registered now or later.
fn change_all(entry: &Entry, mask: Mask, kinds: u64, on: bool) {
    change_chosen(entry, &|_| true, &|| defaults(mask).note_bits(kinds, on), &|control| {
        switch(control, mask, kinds, on);
    });
}

pub(crate) fn change_chosen(
    entry: &Entry,
    is_chosen: &dyn Fn(&Registered) -> bool,
    change_defaults: &dyn Fn(),
    change: &dyn Fn(&Control),
) {
    let chosen = || registration::all().skip(1).filter(|each| is_chosen(each));
    // A nested entry goes on without the lock.
    let changing = CHANGING.lock(entry);
    change_defaults();
    chosen().for_each(|each| {
        change(each.control);
        each.note_output();
    });
    drop(changing);
    chosen().for_each(|each| settle(entry, each));
}

pub(crate) fn defaults(mask: Mask) -> &'static Defaults {
    match mask {
        Mask::Output => &defaults::OUTPUT,
        Mask::Recorded => &defaults::RECORDED,
    }
}

/// Acts on masks that a debugger changed in memory, as if the program had changed them. On the cold
/// path, with no lock held.
pub(crate) fn follow_masks(entry: &Entry) {
    if mask_changes::is_some() && !entry.is_nested() {
        follow(entry);
    }
}

#[cold]
fn follow(entry: &Entry) {
    let (set, reset) = mask_changes::take(entry);
    if set != 0 {
        set_output_in(entry, set);
    }
    if reset != 0 {
        reset_output_in(entry, reset);
    }
    let changing = CHANGING.lock(entry);
    note_names();
    drop(changing);
    for registered in registration::all().skip(1) {
        let changing = CHANGING.lock(entry);
        let output = registered.control.output();
        let (old, new) = registered.note_output();
        let reset = old & !new;
        if reset != 0 {
            // Events recorded before this was noticed are output first, as always.
            output.fetch_or(reset, Ordering::Relaxed);
            thread::flush_kinds(entry, registered, reset);
            output.fetch_and(!reset, Ordering::Relaxed);
        }
        drop(changing);
        if old != new {
            settle(entry, registered);
        }
    }
    // A stream that a debugger started has no writer thread yet.
    if stream::standing() == stream::Standing::Open {
        ordinary::expect();
    }
}

/// Notes kinds whose masks were changed in memory. If all registries with a kind of this name
/// agree, the change also applies to later registries: a debugger with a name does so. Call it
/// under the lock of the masks.
fn note_names() {
    for registered in registration::all().skip(1) {
        let (changed, now) = registered.changed_output();
        let is_changed = |kind: &&Kind| changed & 1 << kind.index != 0;
        for kind in registered.control.registry.kinds.iter().filter(is_changed) {
            let is_on = now & 1 << kind.index != 0;
            let is_same = |other: &Registered| {
                let output = other.control.output().load(Ordering::Relaxed);
                let kinds = other.control.registry.kinds.iter();
                let mut named = kinds.filter(|other| other.name.eq_ignore_ascii_case(kind.name));
                named.all(|other| (output & 1 << other.index != 0) == is_on)
            };
            // If all names are in use, later registries keep their defaults.
            let _ =
                registration::all().skip(1).all(is_same) && defaults::OUTPUT.note_name(kind, is_on);
        }
    }
}

/// Completes a change of masks: waits for threads that still use the old ones, so that no later
/// event is output; records the masks in the store; ensures a stream if a kind is output.
fn settle(entry: &Entry, registered: &Registered) {
    mask_changes::put(entry);
    let output = registered.control.output().load(Ordering::Relaxed);
    thread::wait_for_kinds(entry, registered, !output);
    intern::record_control(entry, registered);
    if output != 0 {
        stream::ensure(entry);
        ordinary::catch_up(entry);
    }
}

/// Gives a new registry its masks. Reads the environment, which no thread may change meanwhile.
pub(crate) fn apply_environment(control: &Control) {
    sys::with_environment(CONTROL_VARIABLE, |value| {
        let value = value.unwrap_or_default();
        let named = |word| names::mask(word, control.registry).unwrap_or(0);
        let wanted = names::words(value).map(named).fold(0, |mask, word| mask | word);
        let changing = CHANGING.lock_waiting();
        let output = defaults::OUTPUT.mask(wanted, control.registry);
        control.output().fetch_or(output, Ordering::Relaxed);
        let recorded = defaults::RECORDED.mask(u64::MAX, control.registry);
        control.recorded().fetch_and(recorded, Ordering::Relaxed);
        let registered = registration::find(control);
        registered.inspect(|each| _ = each.note_output());
        drop(changing);
        report_unknown(value);
    });
}

/// Reports each word that no registered registry knows, once.
fn report_unknown(value: &[u8]) {
    for (index, word) in names::words(value).enumerate().take(Reported::WORD_COUNT_MAX) {
        if !names::is_known(word) {
            let word = Text(word);
            REPORTED.say(
                index,
                format_args!(
                    "MPS_TELEMETRY_CONTROL: unknown kind `{word}`; known so far: {}, all",
                    KindNames(&|_| true)
                ),
            );
        }
    }
}
