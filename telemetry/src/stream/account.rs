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

/// The whole blocks that the host accepted, and the other bytes.
static WHOLE_COUNT: AtomicU64 = AtomicU64::new(0);
static PARTS_SIZE: AtomicU64 = AtomicU64::new(0);
/// The failures of the host; the last one, its operation above its error number; and its time.
static ERROR_COUNT: AtomicU64 = AtomicU64::new(0);
static ERROR: AtomicU64 = AtomicU64::new(0);
static ERROR_TIME: AtomicU64 = AtomicU64::new(0);

/// Counts a whole block that the host accepted.
pub(crate) fn add_block() {
    WHOLE_COUNT.fetch_add(1, Ordering::Relaxed);
}

/// Counts bytes of a growing block that the host accepted.
pub(crate) fn add_bytes(size: usize) {
    PARTS_SIZE.fetch_add(size as u64, Ordering::Relaxed);
}

pub(crate) fn note(error: &PlinthError) {
    let operation = error.operation as u64;
    ERROR.store(operation << 32 | u64::from(error.errno.cast_unsigned()), Ordering::Relaxed);
    ERROR_TIME.store(clock::realtime(), Ordering::Relaxed);
    ERROR_COUNT.fetch_add(1, Ordering::Release);
}

/// Returns what the host accepted: whole blocks of events, and all bytes.
pub(crate) fn written() -> (u64, u64) {
    let count = WHOLE_COUNT.load(Ordering::Relaxed);
    let size = PARTS_SIZE.load(Ordering::Relaxed) + count * memory::block_size() as u64;
    (count, size)
}

/// Returns the number of failures, and the last one with its time, in ns since 1970.
pub(crate) fn errors() -> (u64, PlinthError, u64) {
    let count = ERROR_COUNT.load(Ordering::Acquire);
    let error = ERROR.load(Ordering::Relaxed);
    let operations = [Operation::Create, Operation::Claim, Operation::Write, Operation::Keep];
    let is_it = |operation: &Operation| *operation as u64 == error >> 32;
    let operation = operations.into_iter().find(is_it).unwrap_or(Operation::Write);
    let errno = (error as u32).cast_signed();
    (count, PlinthError { operation, errno }, ERROR_TIME.load(Ordering::Relaxed))
}
