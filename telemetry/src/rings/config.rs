//! Block sizes, blocks of a ring, and whether there is a writer thread: fixed at the first event.
//!
//! ```text
//!  setup().block_count(4)    MPS_TELEMETRY_BLOCK_SIZE=16384    MPS_TELEMETRY_WRITER=thread
//! ```
//!
//! The environment wins over the program: it belongs to the user who runs the program. It is read
//! at the first event of the process, and the control variable at the first event of each registry:
//! `set_var` must not run at the same time.
//! Design: `.sol.block`, `.sol.writer` in `design/telemetry.md`.

use crate::block::memory::{self, choose_block_size};
use crate::os::{report, sys};
use crate::registry::names;
use crate::stream::writer;
use core::ffi::CStr;
use core::sync::atomic::{AtomicUsize, Ordering};
use eventlog::format::{BLOCK_SIZE_LOG2_MAX, BLOCK_SIZE_LOG2_MIN};

/// The environment variable with the block size in bytes.
const BLOCK_SIZE_VARIABLE: &CStr = c"MPS_TELEMETRY_BLOCK_SIZE";
const WRITER_VARIABLE: &CStr = c"MPS_TELEMETRY_WRITER";
/// Blocks of a ring: one to fill while the one before it is history.
const BLOCK_COUNT_DEFAULT: usize = 2;
/// The same with a writer thread, which is given time to write.
const BLOCK_COUNT_WITH_WRITER: usize = 8;

/// Blocks of a ring that were chosen; 0: none were.
static BLOCK_COUNT: AtomicUsize = AtomicUsize::new(0);

const _: () = assert!(BLOCK_SIZE_LOG2_MIN == 12 && BLOCK_SIZE_LOG2_MAX == 20);
pub(crate) fn set_block_count(count: usize) {
    BLOCK_COUNT.store(count, Ordering::Relaxed);
}

pub(crate) fn block_count(with_writer: bool) -> usize {
    match BLOCK_COUNT.load(Ordering::Relaxed) {
        0 if with_writer => BLOCK_COUNT_WITH_WRITER,
        0 => BLOCK_COUNT_DEFAULT,
        count => count,
    }
}

pub(crate) fn apply_environment() {
    sys::with_environment(BLOCK_SIZE_VARIABLE, |value| {
        let Some(value) = value else { return };
        let size = names::number(value).filter(|size| size.is_power_of_two());
        if !size.is_some_and(|size| choose_block_size(size.ilog2() as u8)) {
            let value = report::Text(value);
            report::say(format_args!(
                "MPS_TELEMETRY_BLOCK_SIZE: `{value}` is not a power of two from 4096 to 1048576; \
                 blocks have {} bytes",
                memory::block_size()
            ));
        }
    });
    sys::with_environment(WRITER_VARIABLE, |value| match value {
        None => {}
        Some(b"thread") => writer::want(true),
        Some(b"" | b"none") => writer::want(false),
        Some(value) => {
            let value = report::Text(value);
            report::say(format_args!(
                "MPS_TELEMETRY_WRITER: there is no writer `{value}`; there are: thread none"
            ));
        }
    });
}
