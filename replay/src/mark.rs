//! Marks in a recording of the replayer itself: what is between them is what it played.
//!
//! ```text
//!  its own calls │ BEGIN ─ the ops of a thread ─ END │ its own calls, frees of what is left
//! ```
//!
//! Design: `.rep.truth.mark` in `design/replay.md`.

use std::env;
use std::hint::black_box;

/// What is asked of malloc directly before a thread's first op: more than any machine has, so that
/// it fails, and no program asks for just that.
pub(crate) const BEGIN: u64 = isize::MAX as u64 - 0x5265_706C;
/// The same directly after its last op.
pub(crate) const END: u64 = BEGIN - 1;

/// What `replay record` says in the environment: that somebody reads the marks. A run that is
/// measured makes none.
pub(crate) const VARIABLE: &str = "REPLAY_MARKS";

/// A mark that was read: of which thread, after the operations so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) thread: u32,
    pub(crate) is_begin: bool,
}

impl Mark {
    /// The mark that a failed allocation of this size is, if it is one.
    pub(crate) fn of(size: u64, thread: u32) -> Option<Mark> {
        matches!(size, BEGIN | END).then_some(Mark { thread, is_begin: size == BEGIN })
    }
}

/// Whether marks are to be made.
pub(crate) fn is_wanted() -> bool {
    env::var_os(VARIABLE).is_some()
}

/// Asks the C library for so much, in vain.
pub(crate) fn make(size: u64) {
    let mut memory: Vec<u8> = Vec::new();
    let failed = black_box(&mut memory).try_reserve_exact(black_box(size as usize));
    // If it ever was there, it is given back.
    drop(black_box((failed, memory)));
}
