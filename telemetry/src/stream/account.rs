//! What the host accepted of the stream, and its failures: for the status.
//!
//! ```text
//!  a block ─▶ one addition        a failure ─▶ count, operation, error number, time
//! ```
//!
//! Relaxed counts, without waiting. Design: `.control.tool` in `design/telemetry.md`.

use crate::block::{clock, memory};
use crate::os::atomic::{AtomicU64, Ordering};
use crate::plinth::{Operation, PlinthError};

struct Account {
    /// The whole blocks that the host accepted, and the other bytes.
    whole_count: AtomicU64,
    parts_size: AtomicU64,
    /// The failures of the host; the last one, its operation above its error number; and its time.
    error_count: AtomicU64,
    error: AtomicU64,
    error_time: AtomicU64,
}

static ACCOUNT: Account = Account {
    whole_count: AtomicU64::new(0),
    parts_size: AtomicU64::new(0),
    error_count: AtomicU64::new(0),
    error: AtomicU64::new(0),
    error_time: AtomicU64::new(0),
};

/// Forgets what the host took from the parent, in a forked child.
pub(super) fn restart() {
    for count in [&ACCOUNT.whole_count, &ACCOUNT.parts_size, &ACCOUNT.error_count] {
        count.store(0, Ordering::Relaxed);
    }
}

/// Counts a whole block that the host accepted.
pub(crate) fn add_block() {
    ACCOUNT.whole_count.fetch_add(1, Ordering::Relaxed);
}

/// Counts bytes of a growing block that the host accepted.
pub(crate) fn add_bytes(size: usize) {
    ACCOUNT.parts_size.fetch_add(size as u64, Ordering::Relaxed);
}

pub(crate) fn note(error: &PlinthError) {
    let operation = error.operation as u64;
    ACCOUNT
        .error
        .store(operation << 32 | u64::from(error.errno.cast_unsigned()), Ordering::Relaxed);
    ACCOUNT.error_time.store(clock::realtime(), Ordering::Relaxed);
    ACCOUNT.error_count.fetch_add(1, Ordering::Release);
}

/// Returns what the host accepted: whole blocks of events, and all bytes.
pub(crate) fn written() -> (u64, u64) {
    let count = ACCOUNT.whole_count.load(Ordering::Relaxed);
    let size = ACCOUNT.parts_size.load(Ordering::Relaxed) + count * memory::block_size() as u64;
    (count, size)
}

/// Returns the number of failures, and the last one with its time, in ns since 1970.
pub(crate) fn errors() -> (u64, PlinthError, u64) {
    let count = ACCOUNT.error_count.load(Ordering::Acquire);
    let error = ACCOUNT.error.load(Ordering::Relaxed);
    let operations = [Operation::Create, Operation::Claim, Operation::Write, Operation::Keep];
    let is_it = |operation: &Operation| *operation as u64 == error >> 32;
    let operation = operations.into_iter().find(is_it).unwrap_or(Operation::Write);
    let errno = (error as u32).cast_signed();
    (count, PlinthError { operation, errno }, ACCOUNT.error_time.load(Ordering::Relaxed))
}
