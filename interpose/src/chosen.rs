//! Calls of functions on which the filter decides one by one, `MPS_TELEMETRY_CALLS`.
//!
//! ```text
//!  enter ─▶ excluded: no frame
//!        ├▶ selected, or in a selected call ─▶ CallEnter … CallLeave
//!        ├▶ not selected, or in such a call ─▶ a frame that mutes the calls in it; counted
//!        └▶ above a threshold? ──────────────▶ a frame with the time … CallSlow, or counted
//! ```
//!
//! It does for functions of C what the crate `calls` does for those of Rust. Design:
//! `.calls.filter` in `design/calls.md`.
#![expect(unsafe_code, reason = "a table of zeros")]

use crate::frames::{self, Frame, PLAIN};
use crate::functions::{ADDRESS, FUNCTION};
use crate::mapped::Table;
use crate::tree::{self, ADDRESS_COUNT, Place};
use calls::__private::{Decision, TIME_UNIT, word};
use calls::events::{CallEnter, CallLeave, CallSlow, CallUnwind};
use core::sync::atomic::{AtomicBool, Ordering};
use eventdef::field::P;
use telemetry::__private::{discard, is_recorded, monotonic, record};

/// The values of `Frame::how` besides `PLAIN`; others have a time in ns above these bits.
const SELECTED: usize = 1;
/// The call is not recorded, and no call in it.
const MUTED: usize = 2;
const TIME_SHIFT: u32 = 2;

/// The bit of a function's rule that tells that the filter decides on each call.
pub(crate) const CHOSEN: usize = 1 << (usize::BITS - 1);

/// The decision for each place of an address.
// SAFETY: zeros are a decision for which the filter has not been asked.
static DECISIONS: Table<Decision, ADDRESS_COUNT> = unsafe { Table::new() };
/// The decision where the table has no memory: never set, so that all calls are recorded.
static NO_DECISION: Decision = Decision::new();
/// Whether any call was muted.
static HAS_MUTED: AtomicBool = AtomicBool::new(false);

fn function_of(rule: u64) -> P {
    P(rule as usize & !CHOSEN)
}

fn decision(place: Place) -> &'static Decision {
    DECISIONS.get().map_or(&NO_DECISION, |all| &all[place.index()])
}

/// Keeps the filter's decision for a function. Returns its rule.
pub(crate) fn decide(place: Place, function: usize, decided: usize) -> usize {
    let rule = if DECISIONS.get().is_some() {
        decision(place).set(decided);
        // The function may be recorded without a decision once its label is not fresh.
        function | CHOSEN
    } else {
        function
    };
    place.set_rule(rule as u64);
    rule
}

/// The function at a place was unloaded.
pub(crate) fn forget(place: Place) {
    decision(place).tell_muted(function_of(place.rule()));
    decision(place).clear();
}

/// Returns whether the filter excludes the function at an address.
pub(crate) fn is_excluded(address: usize) -> bool {
    let place = tree::place(address | FUNCTION);
    place.is_some_and(|place| decision(place).word() & word::CHOICE == word::NONE)
}

/// Begins a call whose function the filter decides on, or that is in such a call.
#[cold]
#[inline(never)]
pub(crate) fn enter(rule: usize, place: Option<Place>, site: usize, stack: usize) {
    let function = rule & !CHOSEN;
    let decided = place.map_or(word::ALL, |place| decision(place).settle());
    // A function that is excluded shows, too, which frames have ended.
    let around = frames::around(function, site, stack);
    if decided & word::CHOICE == word::NONE {
        return;
    }
    let selected = around.how & SELECTED;
    let number = decided >> word::NUMBER_SHIFT;
    let how = match decided & word::CHOICE {
        _ if around.how == MUTED => MUTED,
        word::SOME if selected != 0 => SELECTED,
        word::SOME => match place.is_some_and(|place| decision(place).is_selected(number)) {
            true => SELECTED,
            false => MUTED,
        },
        word::SLOW => (monotonic() as usize) << TIME_SHIFT | selected,
        _ => selected,
    };
    if !frames::push(Frame { function, site, stack, how }) {
        return discard::<CallEnter>();
    }
    match (how, place) {
        (MUTED, Some(place)) => count_muted(place, function),
        (PLAIN | SELECTED, place) => {
            if let Some(place) = place {
                tell_muted(place, function);
            }
            record(CallEnter { function: P(function), caller: P(around.function) });
        }
        _ => {}
    }
}

/// Ends a call that is not plain.
#[cold]
#[inline(never)]
pub(crate) fn exit(frame: &Frame) {
    let Frame { function, how, .. } = *frame;
    match how {
        MUTED => {}
        PLAIN | SELECTED => record(CallLeave { function: P(function) }),
        begin => {
            let Some(place) = tree::place(function & ADDRESS | FUNCTION) else { return };
            let elapsed = monotonic().saturating_sub((begin >> TIME_SHIFT) as u64);
            let least = decision(place).word() >> word::NUMBER_SHIFT;
            if elapsed / TIME_UNIT < least as u64 {
                return count_muted(place, function);
            }
            tell_muted(place, function);
            let elapsed = usize::try_from(elapsed).unwrap_or(usize::MAX);
            let caller = P(frames::caller());
            record(CallSlow { function: P(function), caller, elapsed });
        }
    }
}

/// Ends a call that a jump leaves.
pub(crate) fn leave(frame: &Frame) {
    if !is_recorded::<CallUnwind>() {
        return;
    }
    if matches!(frame.how, PLAIN | SELECTED) {
        record(CallUnwind { function: P(frame.function) });
    }
    exit(frame);
}

fn count_muted(place: Place, function: usize) {
    HAS_MUTED.store(true, Ordering::Relaxed);
    decision(place).count_muted(P(function));
    // The next call tells the number.
    place.set_rule((function | CHOSEN) as u64);
}

/// Tells the number of muted calls. Then the function may be recorded without a decision.
fn tell_muted(place: Place, function: usize) {
    decision(place).tell_muted(P(function));
    if decision(place).word() == word::ALL {
        place.set_rule(function as u64);
    }
}

/// Records the numbers of muted calls that are new.
pub(crate) fn tell_all_muted() {
    if HAS_MUTED.load(Ordering::Relaxed) {
        tree::each_rule(|place, rule| decision(place).tell_muted(function_of(rule)));
    }
}
