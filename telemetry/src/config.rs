//! What is decided before the first event: sizes, and whether there is a writer thread.
//!
//! ```text
//!  configure(Config { … })    MPS_TELEMETRY_BLOCK_SIZE=16384    MPS_TELEMETRY_WRITER=thread
//! ```
//!
//! The environment wins over the program: it is there for whoever runs it.
//! Design: `.sol.block`, `.sol.writer` in `design/telemetry.md`.

use crate::memory::{BLOCK_SIZE_LOG2_DEFAULT, choose_block_size};
use crate::ring::BLOCK_COUNT_MAX;
use crate::{names, report, sys, writer};
use core::ffi::CStr;
use core::sync::atomic::{AtomicUsize, Ordering};

/// The environment variable with the block size in bytes.
const BLOCK_SIZE_VARIABLE: &CStr = c"MPS_TELEMETRY_BLOCK_SIZE";
/// The environment variable that asks for a writer thread.
const WRITER_VARIABLE: &CStr = c"MPS_TELEMETRY_WRITER";
/// Blocks of a ring: one to fill while the one before it is history.
const BLOCK_COUNT_DEFAULT: usize = 2;
/// The same with a writer thread, which is given time to write.
const BLOCK_COUNT_WITH_WRITER: usize = 8;

static BLOCK_COUNT: AtomicUsize = AtomicUsize::new(0);

/// What a program may choose before its first event.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// log2 of the block size, from 12 (4 KiB) to 20 (1 MiB).
    pub block_size_log2: u8,
    /// Blocks of each ring, from 2 to 64; more hold more history. 0: as many as are needed, 2, or 8
    /// with a writer thread.
    pub block_count: usize,
    /// Whether a thread writes the full blocks, so that the threads that record need not.
    pub writer_thread: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config { block_size_log2: BLOCK_SIZE_LOG2_DEFAULT, block_count: 0, writer_thread: false }
    }
}

/// Chooses; false where an event was recorded already, or a size is none that there can be. Nothing
/// is changed then.
pub fn configure(config: Config) -> bool {
    let counts = 2..=BLOCK_COUNT_MAX;
    if config.block_count != 0 && !counts.contains(&config.block_count) {
        return false;
    }
    let chosen = choose_block_size(config.block_size_log2);
    if chosen {
        BLOCK_COUNT.store(config.block_count, Ordering::Relaxed);
        writer::want(config.writer_thread);
    }
    chosen
}

/// Blocks of a new ring.
pub(crate) fn block_count(with_writer: bool) -> usize {
    match BLOCK_COUNT.load(Ordering::Relaxed) {
        0 if with_writer => BLOCK_COUNT_WITH_WRITER,
        0 => BLOCK_COUNT_DEFAULT,
        count => count,
    }
}

/// Does what the environment says.
pub(crate) fn apply_environment() {
    sys::with_environment(BLOCK_SIZE_VARIABLE, |value| {
        let Some(value) = value else { return };
        let size = names::number(value).filter(|size| size.is_power_of_two());
        if !size.is_some_and(|size| choose_block_size(size.ilog2() as u8)) {
            let value = report::Text(value);
            report::say(format_args!(
                "MPS_TELEMETRY_BLOCK_SIZE: `{value}` is no power of two from 4096 to 1048576"
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
