//! Switches kinds on and off: from the environment, and for the program.
//!
//! ```text
//!  MPS_TELEMETRY_CONTROL ─▶ output of every registry, when it is registered
//!  control::of(&CONTROL) ─▶ masks of one registry: set_output, reset_output, …
//!  …_everywhere          ─▶ masks of every registry, now and later, by the index of the kind
//! ```
//!
//! Design: `.control` in `design/telemetry.md`; `.store.control` in `design/format.md`.

use crate::os::report::{self, Text};
use crate::os::sync::{Entry, Locked};
use crate::os::{ordinary, sys};
use crate::registry::defaults::Defaults;
use crate::registry::names::{self, KindNames};
use crate::registry::policy::{self, Policy};
use crate::registry::registration::{self, REGISTRY_COUNT_MAX, Registered};
use crate::service::{flush, mask_changes};
use crate::store::intern;
use crate::stream;
use core::ffi::CStr;
use core::marker::PhantomData;
use core::sync::atomic::Ordering;
use eventdef::{Control, Kind, KindSet, TypedControl};
use eventlog::control::Mask;

/// The environment variable that says which kinds are output.
pub const CONTROL_VARIABLE: &CStr = c"MPS_TELEMETRY_CONTROL";
/// Words of the control variable of which it is remembered that they were reported, at most.
const WORD_COUNT_MAX: usize = 64;

/// What was set and reset for all registries.
static DEFAULT_OUTPUT: Defaults = Defaults::new();
static DEFAULT_RECORDED: Defaults = Defaults::new();
/// Held while these and the masks that follow from them are changed, and while a registry gets its
/// masks: so a registry that comes meanwhile has either what was before and is changed with the
/// others, or what is after.
static CHANGING: Locked<()> = Locked::new(());
/// The words that were reported as unknown, a bit each.
static REPORTED: Locked<u64> = Locked::new(0);
const _: () = assert!(WORD_COUNT_MAX <= u64::BITS as usize);

/// Returns the kinds that any registry outputs, by their index.
pub fn output_everywhere() -> u64 {
    registration::all().fold(DEFAULT_OUTPUT.set(), |mask, registered| {
        mask | registered.control.output().load(Ordering::Relaxed)
    })
}

/// Switches the output of kinds on, in each registry, also in registries that register later. Bit k
/// is the kind with index k of each registry.
///
/// The next block or [flush](crate::flush()) also writes the events that the buffers of these kinds
/// still hold.
pub fn set_output_everywhere(kinds: impl Into<u64>) {
    set_output_in(&Entry::new(), kinds.into());
}

pub(crate) fn set_output_in(entry: &Entry, kinds: u64) {
    change_all(entry, &|| DEFAULT_OUTPUT.note_bits(kinds, true), &|control| {
        control.output().fetch_or(kinds, Ordering::Relaxed)
    });
}

/// Switches the output of kinds off, in each registry, after writing the recorded events.
pub fn reset_output_everywhere(kinds: impl Into<u64>) {
    reset_output_in(&Entry::new(), kinds.into());
}

pub(crate) fn reset_output_in(entry: &Entry, kinds: u64) {
    registration::all().skip(1).for_each(|each| flush::flush_kinds(entry, each, kinds));
    change_all(entry, &|| DEFAULT_OUTPUT.note_bits(kinds, false), &|control| {
        control.output().fetch_and(!kinds, Ordering::Relaxed)
    });
}

/// Returns the kinds that later registries record. So do all registries, unless their own masks
/// were changed.
pub fn recorded_everywhere() -> u64 {
    !DEFAULT_RECORDED.reset()
}

/// Switches the recording of kinds on, in each registry.
pub fn set_recorded_everywhere(kinds: impl Into<u64>) {
    let kinds = kinds.into();
    change_all(&Entry::new(), &|| DEFAULT_RECORDED.note_bits(kinds, true), &|control| {
        control.recorded().fetch_or(kinds, Ordering::Relaxed)
    });
}

/// Switches the recording of kinds off, in each registry.
pub fn reset_recorded_everywhere(kinds: impl Into<u64>) {
    let kinds = kinds.into();
    change_all(&Entry::new(), &|| DEFAULT_RECORDED.note_bits(kinds, false), &|control| {
        control.recorded().fetch_and(!kinds, Ordering::Relaxed)
    });
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
        let kinds = kinds.bits();
        self.change(&|control| control.output().fetch_or(kinds, Ordering::Relaxed));
    }

    /// Switches the output of kinds off, after writing the recorded events.
    pub fn reset_output(self, kinds: K) {
        let kinds = kinds.bits();
        let entry = Entry::new();
        if let Some(registered) = self.registered() {
            flush::flush_kinds(&entry, registered, kinds);
        }
        drop(entry);
        self.change(&|control| control.output().fetch_and(!kinds, Ordering::Relaxed));
    }

    /// Returns the kinds that are recorded in memory.
    pub fn recorded(self) -> K {
        K::from_bits_truncate(self.control.recorded().load(Ordering::Relaxed))
    }

    /// Switches the recording of kinds on.
    pub fn set_recorded(self, kinds: K) {
        let kinds = kinds.bits();
        self.change(&|control| control.recorded().fetch_or(kinds, Ordering::Relaxed));
    }

    /// Switches the recording of kinds off.
    pub fn reset_recorded(self, kinds: K) {
        let kinds = kinds.bits();
        self.change(&|control| control.recorded().fetch_and(!kinds, Ordering::Relaxed));
    }

    /// Sets the policy of these kinds: what a recording thread does when no block is free.
    pub fn set_policy(self, kinds: K, policy: Policy) {
        if let Some(registered) = self.registered() {
            policy::set(registered.slots_of(kinds.bits()), policy);
        }
    }

    fn change(self, change: &dyn Fn(&Control) -> u64) {
        let entry = Entry::new();
        let registered = self.registered();
        let changing = CHANGING.lock(&entry);
        change(self.control);
        registered.inspect(|each| _ = each.note_output());
        drop(changing);
        if let Some(registered) = registered {
            settle(&entry, registered);
        }
    }

    fn registered(self) -> Option<&'static Registered> {
        registration::all().find(|found| core::ptr::eq(found.control, self.control))
    }
}

/// Changes what registries to come begin with, and the masks of those that there are.
fn change_all(entry: &Entry, change_defaults: &dyn Fn(), change: &dyn Fn(&Control) -> u64) {
    change_chosen(entry, &|_| true, change_defaults, change);
}

/// The same of chosen ones.
pub(crate) fn change_chosen(
    entry: &Entry,
    is_chosen: &dyn Fn(&Registered) -> bool,
    change_defaults: &dyn Fn(),
    change: &dyn Fn(&Control) -> u64,
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

/// What one of the masks of registries to come begins with.
pub(crate) fn defaults(mask: Mask) -> &'static Defaults {
    match mask {
        Mask::Output => &DEFAULT_OUTPUT,
        Mask::Recorded => &DEFAULT_RECORDED,
    }
}

/// Masks may have been changed in memory, by a debugger: what was changed is as if it had been
/// here. In an entry that is not nested.
pub(crate) fn follow_masks(entry: &Entry) {
    let changing = CHANGING.lock(entry);
    note_names();
    drop(changing);
    for registered in registration::all().skip(1) {
        let changing = CHANGING.lock(entry);
        let output = registered.control.output();
        let (old, new) = registered.note_output();
        let reset = old & !new;
        if reset != 0 {
            // What was recorded until it was noticed goes out, as it would have before.
            output.fetch_or(reset, Ordering::Relaxed);
            flush::flush_kinds(entry, registered, reset);
            output.fetch_and(!reset, Ordering::Relaxed);
        }
        drop(changing);
        if old != new {
            settle(entry, registered);
        }
    }
}

/// Kinds that were changed in memory: by name for registries to come, too, if it was done in all
/// registries that have a kind of the name, as a debugger does that was given the name. Under the
/// lock of the masks.
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
            // Where there is no room to remember it, registries to come begin as they would have.
            let _ =
                registration::all().skip(1).all(is_same) && DEFAULT_OUTPUT.note_name(kind, is_on);
        }
    }
}

/// The masks were changed: whoever goes by what they were is waited for, so that nothing goes out
/// that is recorded from now on; the store says so; and where something is output there is a
/// stream.
fn settle(entry: &Entry, registered: &Registered) {
    mask_changes::put(entry);
    let output = registered.control.output().load(Ordering::Relaxed);
    flush::wait_for_kinds(entry, registered, !output);
    intern::record_control(entry, registered);
    if output != 0 {
        stream::ensure(entry);
        ordinary::catch_up(entry);
    }
}

/// Gives a registry the masks that it begins with. Reads the environment, beside which nobody may
/// change it.
pub(crate) fn apply_environment(control: &Control) {
    sys::with_environment(CONTROL_VARIABLE, |value| {
        let value = value.unwrap_or_default();
        let named = |word| names::mask(word, control.registry).unwrap_or(0);
        let wanted = names::words(value).map(named).fold(0, |mask, word| mask | word);
        let changing = CHANGING.lock_waiting();
        let output = DEFAULT_OUTPUT.mask(wanted, control.registry);
        control.output().fetch_or(output, Ordering::Relaxed);
        let recorded = DEFAULT_RECORDED.mask(u64::MAX, control.registry);
        control.recorded().fetch_and(recorded, Ordering::Relaxed);
        let registered = registration::all().find(|each| core::ptr::eq(each.control, control));
        registered.inspect(|each| _ = each.note_output());
        drop(changing);
        report_unknown(value);
    });
}

/// Reports, once each, words that are the name of no kind of the registries so far.
fn report_unknown(value: &[u8]) {
    let Some(mut reported) = REPORTED.lock_waiting() else { return };
    for (index, word) in names::words(value).enumerate().take(WORD_COUNT_MAX) {
        let known = registration::all()
            .skip(1)
            .any(|each| names::mask(word, each.control.registry).is_some());
        if !known && *reported & 1 << index == 0 {
            *reported |= 1 << index;
            let word = Text(word);
            report::say(format_args!(
                "MPS_TELEMETRY_CONTROL: there is no kind `{word}` so far; there are: {}, or `all`",
                KindNames(&|_| true)
            ));
        }
    }
}

const _: () = assert!(REGISTRY_COUNT_MAX <= u16::MAX as usize);
