//! Marks in a recording of the replayer itself: the operations between them are those that it
//! played.
//!
//! ```text
//!  its own calls │ BEGIN ─ the ops of a thread ─ END │ its own calls, frees of what is left
//! ```
//!
//! Design: `.rep.truth.mark` in `design/replay.md`.

use std::env;
use std::hint::black_box;

/// The size that a thread asks of malloc directly before its first op: no machine has it, so that
/// the call fails, and no program asks for it.
pub(crate) const BEGIN: u64 = isize::MAX as u64 - 0x5265_706C;
/// The size that it asks for directly after its last op.
pub(crate) const END: u64 = BEGIN - 1;

/// Returns whether `replay record` asks for marks. A run that is measured makes none.
pub(crate) fn is_wanted() -> bool {
    env::var_os(record_command::MARKS_VARIABLE).is_some()
}

/// Asks the C library for this size, in vain.
pub(crate) fn make(size: u64) {
    let mut memory: Vec<u8> = Vec::new();
    let failed = black_box(&mut memory).try_reserve_exact(black_box(size as usize));
    // If the allocation ever succeeds, it is freed.
    drop(black_box((failed, memory)));
}
