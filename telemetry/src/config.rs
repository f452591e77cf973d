//! What is decided before the first event: sizes, and whether there is a writer thread.
//!
//! ```text
//!  configure(Config { … })    MPS_TELEMETRY_BLOCK_SIZE=16384    MPS_TELEMETRY_WRITER=thread
//! ```
//!
//! The environment wins over the program: it is there for whoever runs it. It is read at the first
//! event of the process, and the control variable at the first of each registry: `set_var` must not
//! run beside those.
//! Design: `.sol.block`, `.sol.writer` in `design/telemetry.md`.

use crate::memory::{self, BLOCK_SIZE_LOG2_DEFAULT, choose_block_size};
use crate::ring::BLOCK_COUNT_MAX;
use crate::{names, report, sys, writer};
use core::ffi::CStr;
use core::fmt;
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

/// What a program may choose before its first event.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// log2 of the block size, from 12 (4 KiB) to 20 (1 MiB).
    pub block_size_log2: u8,
    /// Blocks of each ring, from 2 to 64; more hold more history. `None`: as many as are needed, 2,
    /// or 8 with a writer thread.
    pub block_count: Option<usize>,
    /// Whether a thread writes the full blocks, so that the threads that record need not.
    pub writer_thread: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config { block_size_log2: BLOCK_SIZE_LOG2_DEFAULT, block_count: None, writer_thread: false }
    }
}

/// Why nothing was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// There was an event, an interned string or the like already.
    TooLate,
    /// There are no blocks of this size.
    BlockSize,
    /// There are no rings of so many blocks.
    BlockCount,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ConfigError::TooLate => "the first event was recorded already",
            ConfigError::BlockSize => "block_size_log2 is not from 12 to 20",
            ConfigError::BlockCount => "block_count is not from 2 to 64",
        })
    }
}

impl core::error::Error for ConfigError {}

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
                "MPS_TELEMETRY_BLOCK_SIZE: `{value}` is no power of two from 4096 to 1048576; \
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
