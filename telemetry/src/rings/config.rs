//! Settings before the first event: sizes, and whether a writer thread runs.
//!
//! ```text
//!  configure(Config { … })    MPS_TELEMETRY_BLOCK_SIZE=16384    MPS_TELEMETRY_WRITER=thread
//! ```
//!
//! The environment wins over the program, since the user sets it. The runtime reads it at the first
//! event of the process, and the control variable at the first event of each registry: the program
//! may not call `set_var` at the same time. Design: `.sol.block`, `.sol.writer` in
//! `design/telemetry.md`.

use crate::block::memory::{self, choose_block_size};
use crate::offered::{Config, ConfigError};
use crate::os::{report, sys};
use crate::registry::names;
use crate::rings::ring::BLOCK_COUNT_MAX;
use crate::stream::writer;
use core::ffi::CStr;
use core::sync::atomic::{AtomicUsize, Ordering};
use eventlog::format::{BLOCK_SIZE_LOG2_MAX, BLOCK_SIZE_LOG2_MIN};

/// The environment variable with the block size in bytes.
const BLOCK_SIZE_VARIABLE: &CStr = c"MPS_TELEMETRY_BLOCK_SIZE";
/// The environment variable that asks for a writer thread.
const WRITER_VARIABLE: &CStr = c"MPS_TELEMETRY_WRITER";
/// Blocks of a ring: one to fill while the one before it is history.
const BLOCK_COUNT_DEFAULT: usize = 2;
/// The same with a writer thread, which is given time to write.
const BLOCK_COUNT_WITH_WRITER: usize = 8;

/// Blocks of a ring that were chosen; 0: none were.
static BLOCK_COUNT: AtomicUsize = AtomicUsize::new(0);

const _: () = assert!(BLOCK_SIZE_LOG2_MIN == 12 && BLOCK_SIZE_LOG2_MAX == 20);
const _: () = assert!(BLOCK_COUNT_MAX == 64);

/// Chooses, before the first event. With an error nothing is changed.
///
/// ```
/// use telemetry::{Config, ConfigError, configure};
///
/// configure(Config { block_count: Some(16), ..Config::default() })?;
/// let none = Config { block_size_log2: 30, ..Config::default() };
/// assert_eq!(configure(none), Err(ConfigError::BlockSize));
/// # Ok::<(), ConfigError>(())
/// ```
pub fn configure(config: Config) -> Result<(), ConfigError> {
    if !(BLOCK_SIZE_LOG2_MIN..=BLOCK_SIZE_LOG2_MAX).contains(&config.block_size_log2) {
        return Err(ConfigError::BlockSize);
    }
    if config.block_count.is_some_and(|count| !(2..=BLOCK_COUNT_MAX).contains(&count)) {
        return Err(ConfigError::BlockCount);
    }
    if !choose_block_size(config.block_size_log2) {
        return Err(ConfigError::TooLate);
    }
    BLOCK_COUNT.store(config.block_count.unwrap_or(0), Ordering::Relaxed);
    writer::want(config.writer_thread);
    Ok(())
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
