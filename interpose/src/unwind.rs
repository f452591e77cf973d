//! The frames of this thread's stack, walked without reading again what the last walk found.
//!
//! ```text
//!  a return address ─▶ Rule: where its function keeps its own return address  (rule.rs, tree.rs)
//!  the last stack        main ─ load ─ parse ─ node ─ malloc
//!  the stack now         main ─ load ─ parse ─ text ─ malloc
//!                        └ equal words: compared ┘   └ walked ┘
//! ```
//!
//! A frame's caller follows from the frame's address, its stack pointer, and the words that its
//! rule reads. It also follows from the frame pointer, if a rule further out counts from that. So
//! once a walk comes to a frame of the last walk, and all words that were read from there on are
//! equal, the rest of the stack is equal too. Design: `.rep.stack` in `design/replay.md`.
#![expect(unsafe_code, reason = "words of the stack are read")]

// U1: a word that a rule names is on this thread's stack, in a frame that has not returned: the
// compiler's table for the unwinder says so, and the unwinder would read the same word. A word of
// the last walk is read again only above a frame that is known to exist.

use crate::mappings::is_unwinders;
use crate::rule::{BY_FRAME_POINTER, BY_STACK_POINTER, OUTERMOST, Rule};
use crate::tree::{self, Place};
use core::cell::Cell;
use core::ptr::with_exposed_provenance;
use core::sync::atomic::{AtomicU16, Ordering};

pub(crate) const STEP_COUNT_MAX: usize = 160;
const WORD: usize = size_of::<usize>();

/// The current generation: older rules are of files that may no longer be mapped.
static GENERATION: AtomicU16 = AtomicU16::new(1);

/// The generation of the rules of this library.
const OWN_GENERATION: u16 = 0;

/// A frame: its return address, and the registers after the return.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct State {
    address: usize,
    stack_pointer: usize,
    frame_pointer: usize,
}

/// A frame that this walk found. Its return address was read one word below its stack pointer, and
/// its frame pointer at `saved`.
#[derive(Clone, Copy)]
struct Step {
    state: State,
    /// Where the frame pointer was read; 0: it is unchanged.
    saved: usize,
    place: Place,
}

/// A frame of the last walk.
#[derive(Clone, Copy)]
struct Known {
    state: State,
    /// Where the frame pointer was read; 0: it is unchanged, or not needed.
    saved: usize,
    frame: u32,
    /// Whether a frame further out is found by this frame's frame pointer. Otherwise the register
    /// holds any number of the program, which says nothing about frames.
    is_pointer_needed: bool,
}

/// The last walk of a thread; all zeros: none yet.
pub(crate) struct Walk {
    generation: Cell<u16>,
    /// Frames of the last walk, the outermost first.
    known: [Cell<Known>; STEP_COUNT_MAX],
    known_count: Cell<usize>,
    /// Whether the first of them is the outermost frame of the stack.
    is_whole: Cell<bool>,
    /// New frames of this walk, the innermost first.
    found: [Cell<Step>; STEP_COUNT_MAX],
}

/// A frame that the walk cannot pass: the unwinder must walk this stack.
pub(crate) struct NoRule;

/// The end of a walk.
struct Walked {
    /// New frames.
    found: usize,
    /// Frames of the last walk that are unchanged.
    kept: usize,
    /// Where the frame pointer of the innermost unchanged frame was read; 0: it is unchanged.
    saved: usize,
    is_whole: bool,
}

/// Makes all rules so far invalid: their files may no longer be mapped.
pub(crate) fn invalidate() {
    GENERATION.fetch_add(1, Ordering::Release);
}

/// Returns the registers of the function into which this one is inlined.
#[inline(always)]
pub(crate) fn registers() -> State {
    let (address, stack_pointer, frame_pointer): (usize, usize, usize);
    // SAFETY: registers are read.
    unsafe {
        core::arch::asm!(
            "lea {address}, [rip]",
            "mov {stack_pointer}, rsp",
            "mov {frame_pointer}, rbp",
            address = out(reg) address,
            stack_pointer = out(reg) stack_pointer,
            frame_pointer = out(reg) frame_pointer,
            options(nomem, nostack, preserves_flags),
        );
    }
    State { address, stack_pointer, frame_pointer }
}

/// Reads a word of the stack.
///
/// # Safety
///
/// U1.
#[inline(always)]
unsafe fn read(address: usize) -> usize {
    // SAFETY: U1. The read is volatile, because another function may have changed the word.
    unsafe { with_exposed_provenance::<usize>(address).read_volatile() }
}

impl Walk {
    /// Returns the number of the stack that called this library. The stack has at least `depth`
    /// frames, if that many exist, and at most twice as many. `start` is a frame of this library
    /// that has not returned. `is_own` says whether one of the innermost frames is this library's;
    /// `record` gets each frame that the tree did not have.
    #[inline(always)]
    pub(crate) fn stack(
        &self,
        start: State,
        depth: usize,
        is_own: impl Fn(usize) -> bool,
        record: impl Fn(u32, u32, usize),
    ) -> Result<u32, NoRule> {
        let generation = GENERATION.load(Ordering::Acquire);
        if self.generation.replace(generation) != generation {
            self.known_count.set(0);
        }
        let count_max = (2 * depth).min(STEP_COUNT_MAX);
        let mut walked = self.walk(start, generation, count_max, &is_own)?;
        let count = walked.found + walked.kept;
        if count > count_max || (walked.kept > 0 && count < depth && !self.is_whole.get()) {
            // The unchanged part has become too long, or too short: walk again to find another
            // part.
            self.known_count.set(0);
            walked = self.walk(start, generation, depth + depth / 2, &is_own)?;
        }
        let mut count = walked.kept;
        let (mut parent, mut is_pointer_needed) = match self.known_at(count) {
            Some(last) => {
                // The frame may call another function from there than it did last time.
                let known = last.get();
                let saved = if known.is_pointer_needed { walked.saved } else { 0 };
                last.set(Known { saved, ..known });
                (known.frame, known.is_pointer_needed)
            }
            None => {
                self.is_whole.set(walked.is_whole);
                (0, false)
            }
        };
        let mut was_saved = walked.saved != 0;
        // Until the loop ends, only the unchanged frames count: code may jump out of it.
        self.known_count.set(count);
        for step in self.found.iter().take(walked.found).rev() {
            let Step { state, saved, place } = step.get();
            // The tree is full: the number stands for the outer frames only.
            let Some((frame, is_new)) = tree::frame(parent, place) else { break };
            if is_new {
                record(frame, parent, state.address);
            }
            is_pointer_needed =
                Rule::known(place).kind() == BY_FRAME_POINTER || (is_pointer_needed && !was_saved);
            was_saved = saved != 0;
            if let Some(known) = self.known.get(count) {
                let saved = if is_pointer_needed { saved } else { 0 };
                known.set(Known { state, saved, frame, is_pointer_needed });
                count += 1;
            }
            parent = frame;
        }
        self.known_count.set(count);
        Ok(parent)
    }

    /// Walks from the innermost frame to one of the last walk.
    #[inline(always)]
    fn walk(
        &self,
        start: State,
        generation: u16,
        count_max: usize,
        is_own: &impl Fn(usize) -> bool,
    ) -> Result<Walked, NoRule> {
        let (mut state, mut found) = (start, 0);
        let mut kept = self.known_count.get();
        let mut place = tree::place(state.address).ok_or(NoRule)?;
        loop {
            let rule = match found {
                // This library stays, and its rules are known for ever: the unwinder may have
                // called malloc while it has its own lock.
                0 => Rule::at(place, state.address, OWN_GENERATION, &|_| false),
                1 => Rule::at(place, state.address, generation, &is_unwinders),
                _ => Rule::at(place, state.address, generation, &|_| false),
            };
            let end = match rule.kind() {
                BY_STACK_POINTER => state.stack_pointer.wrapping_add_signed(rule.offset()),
                BY_FRAME_POINTER => state.frame_pointer.wrapping_add_signed(rule.offset()),
                OUTERMOST => return Ok(Walked { found, kept: 0, saved: 0, is_whole: true }),
                _ => return Err(NoRule),
            };
            // A stack grows down, and consists of words.
            if end <= state.stack_pointer || !end.is_multiple_of(WORD) {
                return Err(NoRule);
            }
            let saved = match rule.saved() {
                0 => 0,
                words => end - words * WORD,
            };
            // SAFETY: U1: the rule names a word on this thread's stack, in a frame that has not
            // returned.
            let address = unsafe { read(end - WORD) };
            if address == 0 {
                return Ok(Walked { found, kept: 0, saved: 0, is_whole: true });
            }
            let frame_pointer = match saved {
                0 => state.frame_pointer,
                // SAFETY: U1: the rule names a word on this thread's stack, in a frame that has not
                // returned.
                saved => unsafe { read(saved) },
            };
            state = State { address, stack_pointer: end, frame_pointer };
            if found != 0 || !is_own(address) {
                kept = self.unchanged(kept, state);
                if kept != 0 && self.is_at(kept, state) {
                    return Ok(Walked { found, kept, saved, is_whole: false });
                }
                if found == count_max {
                    return Ok(Walked { found, kept: 0, saved: 0, is_whole: false });
                }
                place = tree::place(address).ok_or(NoRule)?;
                let Some(step) = self.found.get(found) else { return Err(NoRule) };
                step.set(Step { state, saved, place });
                found += 1;
            } else {
                place = tree::place(address).ok_or(NoRule)?;
            }
        }
    }

    /// Returns whether the innermost of the first `kept` frames of the last walk is this one.
    #[inline(always)]
    fn is_at(&self, kept: usize, state: State) -> bool {
        self.known_at(kept).is_some_and(|known| {
            let known = known.get();
            let State { address, stack_pointer, frame_pointer } = known.state;
            (address, stack_pointer) == (state.address, state.stack_pointer)
                && (!known.is_pointer_needed || frame_pointer == state.frame_pointer)
        })
    }

    /// Returns the innermost of the first `count` frames of the last walk.
    #[inline(always)]
    fn known_at(&self, count: usize) -> Option<&Cell<Known>> {
        self.known.get(count.checked_sub(1)?)
    }

    /// Returns how many frames of the last walk may still exist: if the innermost of them is this
    /// frame, all of them do.
    #[inline(always)]
    fn unchanged(&self, mut kept: usize, state: State) -> usize {
        while let Some(last) = kept.checked_sub(1)
            && self.known[last].get().state.stack_pointer < state.stack_pointer
        {
            kept = last;
        }
        if kept == 0 || !self.is_at(kept, state) {
            return kept;
        }
        for (index, known) in self.known.iter().enumerate().take(kept - 1).rev() {
            let Known { state, saved, .. } = known.get();
            // SAFETY: U1: all frames further in are unchanged, and so the words that describe this
            // frame are where they were.
            let is_unchanged = unsafe {
                read(state.stack_pointer - WORD) == state.address
                    && (saved == 0 || read(saved) == state.frame_pointer)
            };
            if !is_unchanged {
                return index;
            }
        }
        kept
    }
}
