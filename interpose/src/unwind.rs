//! The frames of this thread's stack, without asking the unwinder twice for the same.
//!
//! ```text
//!  a return address ─▶ Rule: where its function keeps what it returns to     (rule.rs, tree.rs)
//!  the stack last time   main ─ load ─ parse ─ node ─ malloc
//!  now                   main ─ load ─ parse ─ text ─ malloc
//!                        └ the same words: compared ┘  └ walked ┘
//! ```
//!
//! What a frame's caller is follows from the frame's address, its stack pointer, its frame
//! pointer if any rule further out counts from it, and the words that its rule reads. So where
//! a walk comes to a frame that it came to last time, and all words that were read from there
//! on are the same, so is the rest. Design: `.rep.stack` in `design/replay.md`.
#![expect(unsafe_code, reason = "words of the stack are read")]

// U1: a word that a rule names is on this thread's stack, in a frame that has not returned: so says
//     the table that the compiler made for the unwinder, which would read the same word. A word
//     that was read last time is read again only above a frame that is known to be there.

use crate::mappings::is_unwinders;
use crate::rule::{BY_FRAME_POINTER, BY_STACK_POINTER, OUTERMOST, Rule};
use crate::tree::{self, Place};
use core::cell::Cell;
use core::ptr::with_exposed_provenance;
use core::sync::atomic::{AtomicU16, Ordering};

/// Frames that are looked at, at most.
pub(crate) const STEP_COUNT_MAX: usize = 160;
const WORD: usize = size_of::<usize>();

/// Rules of an older number are of files that may be mapped no longer.
static GENERATION: AtomicU16 = AtomicU16::new(1);

/// That of the rules of this library.
const OWN_GENERATION: u16 = 0;

/// A frame: where it goes on, and its registers then.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct State {
    address: usize,
    stack_pointer: usize,
    frame_pointer: usize,
}

/// A frame that this walk found: the words below it that said so are at its stack pointer less one
/// word, and at `saved`.
#[derive(Clone, Copy)]
struct Step {
    state: State,
    /// Where the frame pointer was read; 0: it stayed as it was.
    saved: usize,
    place: Place,
}

/// A frame that is known.
#[derive(Clone, Copy)]
struct Known {
    state: State,
    /// Where the frame pointer was read; 0: it stayed as it was, or is not needed.
    saved: usize,
    /// Its number in the tree.
    frame: u32,
    /// Whether a frame further out is found by the frame pointer that this one has. Elsewhere it is
    /// any number of the program's, and does not say which frames there are.
    is_pointer_needed: bool,
}

const NO_STATE: State = State { address: 0, stack_pointer: 0, frame_pointer: 0 };
const NO_STEP: Step = Step { state: NO_STATE, saved: 0, place: Place::NONE };
const NOT_KNOWN: Known = Known { state: NO_STATE, saved: 0, frame: 0, is_pointer_needed: false };

/// What a thread knows of its stack.
struct Walk {
    generation: Cell<u16>,
    /// The outermost first.
    known: [Cell<Known>; STEP_COUNT_MAX],
    known_count: Cell<usize>,
    /// Whether the first of them is the outermost there is.
    is_whole: Cell<bool>,
    /// What this walk found, the innermost first.
    found: [Cell<Step>; STEP_COUNT_MAX],
}

// Without a destructor: nothing is allocated for it.
thread_local! {
    static WALK: Walk = const {
        Walk {
            generation: Cell::new(0),
            known: [const { Cell::new(NOT_KNOWN) }; STEP_COUNT_MAX],
            known_count: Cell::new(0),
            is_whole: Cell::new(false),
            found: [const { Cell::new(NO_STEP) }; STEP_COUNT_MAX],
        }
    };
}

/// A frame that the walk cannot go on from: the unwinder must do it.
pub(crate) struct Strange;

/// How a walk came to its end.
struct Way {
    /// Frames that it found.
    found: usize,
    /// Frames that are known, and the same.
    kept: usize,
    /// Where the frame pointer of the innermost of these was read; 0: it stayed as it was.
    saved: usize,
    is_whole: bool,
}

/// The number of the stack of whoever called this library, of at least `depth` of its frames, if it
/// has so many, and at most twice as many. `start` is a frame of this library which has not
/// returned. `is_own` is asked for the innermost frames whether they
/// are this library's; `tell` is told of each that the tree did not have.
#[inline(always)]
pub(crate) fn stack(
    start: State,
    depth: usize,
    is_own: impl Fn(usize) -> bool,
    tell: impl Fn(u32, u32, usize),
) -> Result<u32, Strange> {
    // Found first: work that is done within `LocalKey::with` is outlined.
    const { assert!(!core::mem::needs_drop::<Walk>()) };
    let walk = WALK.with(core::ptr::from_ref);
    // SAFETY: it is this thread's, and has no destructor: it is there as long as the thread runs.
    let walk = unsafe { &*walk };
    walk.stack(start, depth, is_own, tell)
}

/// What was known of files that are mapped no longer counts no more.
pub(crate) fn forget() {
    GENERATION.fetch_add(1, Ordering::Release);
}

/// Registers in a function that this is made a part of.
#[inline(always)]
pub(crate) fn here() -> State {
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

/// A word of the stack.
///
/// # Safety
///
/// U1.
#[inline(always)]
unsafe fn read(address: usize) -> usize {
    // SAFETY: U1: the caller names a word on this thread's stack, in a frame that has not returned.
    // Volatile: the compiler must not guess what another function put there.
    unsafe { with_exposed_provenance::<usize>(address).read_volatile() }
}

impl Walk {
    #[inline(always)]
    fn stack(
        &self,
        start: State,
        depth: usize,
        is_own: impl Fn(usize) -> bool,
        tell: impl Fn(u32, u32, usize),
    ) -> Result<u32, Strange> {
        let generation = GENERATION.load(Ordering::Acquire);
        if self.generation.replace(generation) != generation {
            self.known_count.set(0);
        }
        let count_max = (2 * depth).min(STEP_COUNT_MAX);
        let mut way = self.go(start, generation, count_max, &is_own)?;
        let count = way.found + way.kept;
        if count > count_max || (way.kept > 0 && count < depth && !self.is_whole.get()) {
            // The part that is known is too long by now, or too short: another part is.
            self.known_count.set(0);
            way = self.go(start, generation, depth + depth / 2, &is_own)?;
        }
        let mut count = way.kept;
        let (mut parent, mut is_pointer_needed) = match self.known_at(count) {
            Some(last) => {
                // It may be another function than last time that it calls from there.
                let known = last.get();
                let saved = if known.is_pointer_needed { way.saved } else { 0 };
                last.set(Known { saved, ..known });
                (known.frame, known.is_pointer_needed)
            }
            None => {
                self.is_whole.set(way.is_whole);
                (0, false)
            }
        };
        let mut was_saved = way.saved != 0;
        // What is known is what is whole, if somebody jumps out of here.
        self.known_count.set(count);
        for step in self.found.iter().take(way.found).rev() {
            let Step { state, saved, place } = step.get();
            // The tree is full: the stack is that of the outer frames.
            let Some((frame, is_new)) = tree::frame(parent, place) else { break };
            if is_new {
                tell(frame, parent, state.address);
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

    /// Walks from the innermost frame to one that is known.
    #[inline(always)]
    fn go(
        &self,
        start: State,
        generation: u16,
        count_max: usize,
        is_own: &impl Fn(usize) -> bool,
    ) -> Result<Way, Strange> {
        let (mut state, mut found) = (start, 0);
        let mut kept = self.known_count.get();
        let mut place = tree::place(state.address).ok_or(Strange)?;
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
                OUTERMOST => return Ok(Way { found, kept: 0, saved: 0, is_whole: true }),
                _ => return Err(Strange),
            };
            // A stack grows down, and is made of words.
            if end <= state.stack_pointer || !end.is_multiple_of(WORD) {
                return Err(Strange);
            }
            let saved = match rule.saved() {
                0 => 0,
                words => end - words * WORD,
            };
            // SAFETY: U1: the rule names a word on this thread's stack, in a frame that has not
            // returned.
            let address = unsafe { read(end - WORD) };
            if address == 0 {
                return Ok(Way { found, kept: 0, saved: 0, is_whole: true });
            }
            let frame_pointer = match saved {
                0 => state.frame_pointer,
                // SAFETY: U1: the rule names a word on this thread's stack, in a frame that has not
                // returned.
                saved => unsafe { read(saved) },
            };
            state = State { address, stack_pointer: end, frame_pointer };
            if found != 0 || !is_own(address) {
                kept = self.same(kept, state);
                if kept != 0 && self.is_at(kept, state) {
                    return Ok(Way { found, kept, saved, is_whole: false });
                }
                if found == count_max {
                    return Ok(Way { found, kept: 0, saved: 0, is_whole: false });
                }
                place = tree::place(address).ok_or(Strange)?;
                let Some(step) = self.found.get(found) else { return Err(Strange) };
                step.set(Step { state, saved, place });
                found += 1;
            } else {
                place = tree::place(address).ok_or(Strange)?;
            }
        }
    }

    /// Whether the innermost of so many known frames is this one.
    #[inline(always)]
    fn is_at(&self, kept: usize, state: State) -> bool {
        self.known_at(kept).is_some_and(|known| {
            let known = known.get();
            let State { address, stack_pointer, frame_pointer } = known.state;
            (address, stack_pointer) == (state.address, state.stack_pointer)
                && (!known.is_pointer_needed || frame_pointer == state.frame_pointer)
        })
    }

    /// The innermost of so many known frames.
    #[inline(always)]
    fn known_at(&self, count: usize) -> Option<&Cell<Known>> {
        self.known.get(count.checked_sub(1)?)
    }

    /// How many of the known frames may still be there: if the innermost of them is this one, they
    /// all are.
    #[inline(always)]
    fn same(&self, mut kept: usize, state: State) -> usize {
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
            // SAFETY: U1: all frames further in are as they were, and so the words that say of
            // this one are where they were.
            let is_same = unsafe {
                read(state.stack_pointer - WORD) == state.address
                    && (saved == 0 || read(saved) == state.frame_pointer)
            };
            if !is_same {
                return index;
            }
        }
        kept
    }
}
