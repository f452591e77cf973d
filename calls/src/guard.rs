//! One call: begins, ends, unwinds.
//!
//! ```text
//!  recorded? ─ no ─▶ load, test, branch
//!     └ yes ─▶ CURRENT: caller ─▶ this function; CallEnter ── body ── CallLeave; CURRENT: caller
//! ```
//!
//! A thread's current function is one thread-local word. The frame of a call keeps the old
//! word. So callers need no stack, and a signal handler's calls have the interrupted
//! function as their caller. Design: `.calls.record` in `design/calls.md`.

use crate::decision::word;
use crate::events::{CallEnter, CallLeave, CallSlow, CallUnwind, PollEnter, PollLeave, Switch};
use crate::filter::TIME_UNIT;
use crate::site::{self, Site};
use crate::table::{self, Left};
use core::cell::Cell;
use eventdef::field::P;
use std::thread::panicking;
use telemetry::__private::{is_recorded, record, record_here, say};
use telemetry::{Event, event};

thread_local! {
    /// The address of the site of the function that runs in this thread, of those that are
    /// recorded; 0: none. With `SELECTED`: the filter records all calls in this one. `MUTED`: the
    /// filter selected another call, and all calls in this one are muted.
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

/// The bytes that a call takes in a log of 64-bit words.
const _: () = assert!(usize::BITS != 64 || CallEnter::FIXED_SIZE + CallLeave::FIXED_SIZE == 40);

/// No address of a site, which is a multiple of 16.
const MUTED: usize = 8 - 1;
/// Next to a function: this call, or one that it is in, was selected by the filter.
const SELECTED: usize = 8;
const _: () = assert!(align_of::<Site>() > MUTED + SELECTED);

/// Returns the address of the function that a value of `CURRENT` stands for.
fn function_of(current: usize) -> P {
    P(current & !SELECTED)
}

/// The low bits of a frame's word; the rest is that of the value that `CURRENT` had.
mod frame {
    /// The frame's end has something to do.
    pub(super) const ON: usize = 1;
    /// The thread was unwinding at the beginning.
    pub(super) const UNWINDING: usize = 2;
    /// The call is not simply recorded: `begin` tells how.
    pub(super) const SPECIAL: usize = 4;
    pub(super) const BITS: usize = 7;
}

/// What the end of a call needs of its beginning.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    /// 0: the call is not recorded.
    word: usize,
    /// Of a special call: `MUTES`, `PRINTED`, or the beginning in ns, if the call has a threshold.
    begin: u64,
}

/// The call is not recorded, and mutes all calls in it.
const MUTES: u64 = 0;
/// The call is recorded and printed.
const PRINTED: u64 = u64::MAX;

impl Frame {
    const OFF: Frame = Frame { word: 0, begin: 0 };

    fn special(before: usize, begin: u64) -> Frame {
        Frame { word: before | unwinding() | frame::SPECIAL | frame::ON, begin }
    }
}

/// A call in progress. Its drop ends it.
#[derive(Debug)]
#[must_use]
pub struct Call {
    site: &'static Site,
    word: usize,
    begin: u64,
}

/// Begins a call. If calls are not recorded, this costs a load, a test and a branch.
#[inline(always)]
pub fn call(site: &'static Site) -> Call {
    let frame = if is_recorded::<CallEnter>() { begin(site) } else { Frame::OFF };
    Call { site, word: frame.word, begin: frame.begin }
}

impl Drop for Call {
    #[inline(always)]
    fn drop(&mut self) {
        if self.word != 0 {
            end(self.site, self.word, self.begin);
        }
    }
}

/// Cold for the code of the function, which is laid out for calls that are off. What is rare leaves
/// by a jump, so that few registers are saved.
#[cold]
#[inline(never)]
fn begin(site: &'static Site) -> Frame {
    let word = site.word();
    if word != word::ALL {
        // A filter excludes most functions: they leave soon.
        let is_excluded = word & word::CHOICE == word::NONE;
        return if is_excluded { Frame::OFF } else { begin_as_decided(site, 0) };
    }
    let before = CURRENT.get();
    if before & (MUTED | SELECTED) != 0 || panicking() {
        return begin_as_decided(site, 0);
    }
    let function = site.pointer();
    CURRENT.set(function.0);
    record_here(CallEnter { function, caller: P(before) });
    Frame { word: before | frame::ON, begin: 0 }
}

/// Begins the poll of a task, whose number is not 0.
pub(crate) fn begin_poll(site: &'static Site, task: usize) -> Frame {
    begin_as_decided(site, task)
}

/// Makes a function current, and records that it was called, or that its task is polled. `selected`
/// is 0 or `SELECTED`.
fn enter(site: &'static Site, task: usize, selected: usize) -> Frame {
    let before = CURRENT.get();
    if before == MUTED {
        site.count_muted();
        return Frame::OFF;
    }
    let function = site.pointer();
    CURRENT.set(function.0 | selected);
    let caller = function_of(before);
    if task == 0 {
        record(CallEnter { function, caller });
    } else {
        record(PollEnter { function, caller, task });
    }
    Frame { word: before | unwinding() | frame::ON, begin: 0 }
}

fn unwinding() -> usize {
    usize::from(panicking()) * frame::UNWINDING
}

/// Begins a call of a site that is new, or whose calls are not all recorded.
#[cold]
#[inline(never)]
fn begin_as_decided(site: &'static Site, task: usize) -> Frame {
    let Some(decided) = decided(site) else { return Frame::OFF };
    let before = CURRENT.get();
    let selected = before & SELECTED;
    match decided & word::CHOICE {
        word::NONE => Frame::OFF,
        word::SOME if task == 0 && before != MUTED && !is_selected(site, decided) => {
            site.count_muted();
            mute()
        }
        word::SLOW if before != MUTED => {
            CURRENT.set(site.pointer().0 | selected);
            Frame::special(before, table::unpaused().clamp(MUTES + 1, PRINTED - 1))
        }
        _ if before == MUTED => enter(site, task, 0),
        choice => {
            site.tell_muted();
            let selected = if choice == word::SOME { SELECTED } else { selected };
            let frame = enter(site, task, selected);
            if decided & word::PRINTED == 0 {
                return frame;
            }
            say(format_args!(
                "{} {}",
                if task == 0 { "CallEnter" } else { "PollEnter" },
                site.path()
            ));
            Frame::special(before, PRINTED)
        }
    }
}

/// Returns the word of a site, decided now if it is new; `None` if calls are not recorded.
pub(crate) fn decided(site: &'static Site) -> Option<usize> {
    if !site::register() {
        // This call interrupted the registration: the runtime counts its events.
        return Some(word::ALL);
    }
    if !is_recorded::<CallEnter>() {
        return None;
    }
    if site.word() == word::NEW {
        site::tell_all();
    }
    Some(site.decided_word())
}

/// Returns whether a selection records a call: each n-th, and all that are in a selected one.
pub(crate) fn is_selected(site: &Site, decided: usize) -> bool {
    CURRENT.get() & SELECTED != 0 || site.is_selected(decided >> word::NUMBER_SHIFT)
}

#[cold]
#[inline(never)]
fn end(site: &'static Site, word: usize, begin: u64) {
    CURRENT.set(word & !frame::BITS);
    if word & frame::SPECIAL != 0 || panicking() {
        return end_special(site, Frame { word, begin }, 0);
    }
    if is_recorded::<CallLeave>() {
        record_here(CallLeave { function: site.pointer() });
    }
}

/// Ends the poll of a task.
pub(crate) fn end_poll(site: &'static Site, frame: Frame, task: usize) {
    if frame.word != 0 {
        CURRENT.set(frame.word & !frame::BITS);
        end_special(site, frame, task);
    }
}

fn tell_unwind(site: &'static Site, word: usize) {
    if panicking() && word & frame::UNWINDING == 0 {
        event!(CallUnwind { function: site.pointer() });
    }
}

/// Ends the poll of a task, a call that is not simply recorded, or one that a panic unwinds.
#[cold]
fn end_special(site: &'static Site, frame: Frame, task: usize) {
    let function = site.pointer();
    match frame.begin {
        begin if frame.word & frame::SPECIAL == 0 || begin == PRINTED => {
            tell_unwind(site, frame.word);
            if begin == PRINTED {
                let name = if task == 0 { "CallLeave" } else { "PollLeave" };
                say(format_args!("{name} {}", site.path()));
            }
            if task == 0 {
                event!(CallLeave { function });
            } else {
                event!(PollLeave { function, task });
            }
        }
        MUTES => {}
        begin => {
            let elapsed = table::unpaused().saturating_sub(begin);
            if elapsed / TIME_UNIT >= (site.word() >> word::NUMBER_SHIFT) as u64 {
                let caller = function_of(frame.word & !frame::BITS);
                let elapsed = usize::try_from(elapsed).unwrap_or(usize::MAX);
                site.tell_muted();
                event!(CallSlow { function, caller, elapsed });
            } else {
                site.count_muted();
            }
        }
    }
}

/// Mutes the calls in a call or poll that is not recorded.
pub(crate) fn mute() -> Frame {
    match CURRENT.replace(MUTED) {
        MUTED => Frame::OFF,
        before => Frame::special(before, MUTES),
    }
}

/// Returns whether the calls of this thread are muted now.
pub(crate) fn is_muted() -> bool {
    CURRENT.get() == MUTED
}

/// The function that a stack is in, and its clock: what [`switch`] keeps of a coroutine that waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Current {
    function: usize,
    left: Left,
}

/// Tells that the thread goes on in another coroutine, one with a stack of its own. A coroutine
/// library, or its user, calls it at each change of stacks; for futures there is no need.
///
/// `context` is an address that stands for the coroutine; null: the thread's own stack. `current`
/// is what the coroutine had when the thread left it, and `Current::default()` at its beginning.
/// The result is that of the coroutine that the thread leaves. So a call in the coroutine has its
/// caller there, even if the coroutine goes on in another thread. The clock of a coroutine that
/// waits stands: its open statements and calls are not longer for it. A statement that was open in
/// another thread is not timed.
///
/// ```
/// # struct Coroutine { current: calls::Current }
/// # fn jump(_: &Coroutine) {}
/// fn resume(coroutine: &mut Coroutine) {
///     let mine = calls::switch(&raw const *coroutine, coroutine.current);
///     jump(coroutine);
///     coroutine.current = calls::switch(std::ptr::null::<Coroutine>(), mine);
/// }
/// # resume(&mut Coroutine { current: calls::Current::default() });
/// ```
pub fn switch<T>(context: *const T, current: Current) -> Current {
    // The kinds are off by default, which the registration makes so.
    let is_traced = is_recorded::<Switch>() && site::register();
    if is_traced {
        event!(Switch { context: context });
    }
    let left = table::switch(current.left, is_traced);
    Current { function: CURRENT.replace(current.function), left }
}
