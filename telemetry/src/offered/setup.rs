//! How a program sets up its recording, before its first event.
//!
//! ```text
//!  setup() ─ settings ─▶ start() ─▶ checked ─▶ plinth, sizes, policy ─▶ the runtime is prepared
//! ```
//!
//! Design: `.sol.setup` in `design/telemetry/registry.md`.

use crate::offered::plinth::Plinth;
use crate::offered::{BLOCK_COUNT_MAX, Policy};
use core::fmt;

/// Returns a setup in which nothing is chosen: each setting has its default.
///
/// ```
/// use telemetry::{Kinds, MemoryPlinth, Policy, setup};
///
/// let log = MemoryPlinth::new();
/// setup()
///     .block_size_log2(14)
///     .block_count(4)
///     .policy(Policy::Overwrite)
///     .plinth(log.clone())
///     .output(Kinds::Pool | Kinds::Object)
///     .writer_thread(true)
///     .on_fatal_signals(true)
///     .start()?;
/// # Ok::<(), telemetry::SetupError>(())
/// ```
pub fn setup() -> Setup {
    Setup::default()
}

/// The settings of a program, which [`setup`] begins and [`start`](Setup::start) applies. Call it
/// at the start of `main`. Libraries leave it to the program.
///
/// The environment is read at the same time:
///
/// | setting | default | environment |
/// |---|---|---|
/// | `block_size_log2` | 16 | `MPS_TELEMETRY_BLOCK_SIZE` wins |
/// | `block_count` | 2, or 8 with a writer thread | |
/// | `writer_thread` | none | `MPS_TELEMETRY_WRITER` wins |
/// | `policy` | [`Policy::Write`] | `MPS_TELEMETRY_POLICY` wins for the kinds that it names |
/// | `output` | none | `MPS_TELEMETRY_CONTROL` adds kinds |
/// | `plinth` | the file `mpsio.log` | the plinth wins over `MPS_TELEMETRY_FILENAME` |
/// | `on_fatal_signals` | off | `MPS_TELEMETRY_CRASH=1` turns it on |
#[must_use = "a setup changes nothing until it is started"]
#[derive(Default)]
pub struct Setup {
    pub(crate) block_size_log2: Option<u8>,
    pub(crate) block_count: Option<usize>,
    pub(crate) writer_thread: Option<bool>,
    pub(crate) policy: Option<Policy>,
    pub(crate) output: Option<u64>,
    pub(crate) plinth: Option<Box<dyn Plinth>>,
    pub(crate) on_fatal_signals: bool,
}

impl Setup {
    /// Sets log2 of the block size, from 12 (4 KiB) to 20 (1 MiB).
    pub fn block_size_log2(mut self, log2: u8) -> Setup {
        self.block_size_log2 = Some(log2);
        self
    }

    /// Sets the number of blocks of each ring, from 2 to [`BLOCK_COUNT_MAX`]. More blocks hold more
    /// history, and give the writer thread more time.
    pub fn block_count(mut self, count: usize) -> Setup {
        self.block_count = Some(count);
        self
    }

    /// Sets whether a writer thread writes the full blocks, in place of the threads that record.
    pub fn writer_thread(mut self, wanted: bool) -> Setup {
        self.writer_thread = Some(wanted);
        self
    }

    /// Sets the policy of all kinds of all registries. `telemetry::control::of` changes the policy
    /// of single kinds later.
    pub fn policy(mut self, policy: Policy) -> Setup {
        self.policy = Some(policy);
        self
    }

    /// Sets the kinds that are output, of every registry, as
    /// `telemetry::control::set_output_everywhere` does later.
    pub fn output(mut self, kinds: impl Into<u64>) -> Setup {
        self.output = Some(kinds.into());
        self
    }

    /// Sets where the log goes. The stream begins when the output of a kind is switched on. If that
    /// never happens, the end of the program reports on standard error that nothing was output,
    /// unless the environment has `MPS_TELEMETRY_CONTROL`.
    pub fn plinth(mut self, plinth: impl Plinth + 'static) -> Setup {
        self.plinth = Some(Box::new(plinth));
        self
    }

    /// Sets whether a fatal signal first writes the buffered events of the kinds that are output.
    ///
    /// The signals are SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS and SIGABRT (`abort`, and
    /// panics that abort), and SIGTERM, SIGINT, SIGQUIT and SIGHUP unless the program ignores them.
    /// The handlers that are installed at the start are called afterwards. Without a handler the
    /// program ends as it would have.
    ///
    /// A stack overflow is one of these signals. Threads of Rust, and all threads from their first
    /// event on, have a stack for the handler.
    pub fn on_fatal_signals(mut self, wanted: bool) -> Setup {
        self.on_fatal_signals = wanted;
        self
    }

    /// Whether a setting is chosen that must come before the first event.
    #[cfg_attr(not(recording), expect(dead_code, reason = "nothing is recorded"))]
    pub(crate) fn has_early_setting(&self) -> bool {
        self.block_size_log2.is_some() || self.block_count.is_some() || self.writer_thread.is_some()
    }

    /// Checks what needs no look at the process.
    #[cfg_attr(not(recording), expect(dead_code, reason = "nothing is recorded"))]
    pub(crate) fn check(&self) -> Result<(), SetupError> {
        match (self.block_size_log2, self.block_count) {
            (Some(log2), _) if !(12..=20).contains(&log2) => Err(SetupError::BlockSize(log2)),
            (_, Some(count)) if !(2..=BLOCK_COUNT_MAX).contains(&count) => {
                Err(SetupError::BlockCount(count))
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has_plinth = self.plinth.is_some();
        f.debug_struct("Setup")
            .field("block_size_log2", &self.block_size_log2)
            .field("block_count", &self.block_count)
            .field("writer_thread", &self.writer_thread)
            .field("policy", &self.policy)
            .field("output", &self.output)
            .field("has_plinth", &has_plinth)
            .field("on_fatal_signals", &self.on_fatal_signals)
            .finish()
    }
}

/// Why [`Setup::start`] failed. It has changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetupError {
    /// The block size is out of range.
    BlockSize(u8),
    /// The number of blocks of a ring is out of range.
    BlockCount(usize),
    /// The block size, the block count or the writer thread was set after the first event, string
    /// or label.
    TooLate,
    /// A plinth was set after the log began, or after another plinth was set.
    PlinthTooLate,
    /// The setup was started in a signal handler that had interrupted the runtime.
    Interrupting,
    /// The system has no memory for the plinth.
    OutOfMemory,
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SetupError::BlockSize(log2) => write!(
                f,
                "block_size_log2: {log2} is out of range; choose 12 (4 KiB) to 20 (1 MiB)"
            ),
            SetupError::BlockCount(count) => {
                write!(f, "block_count: {count} is out of range; choose 2 to {BLOCK_COUNT_MAX}")
            }
            SetupError::TooLate => f.write_str(
                "block_size_log2, block_count, writer_thread: the runtime is already recording; \
                 start the setup before the first event",
            ),
            SetupError::PlinthTooLate => f.write_str(
                "plinth: the log has already begun, or has a plinth; start the setup before any \
                 kind is output",
            ),
            SetupError::Interrupting => f.write_str(
                "a signal handler interrupted the runtime; start the setup at the start of `main`",
            ),
            SetupError::OutOfMemory => f.write_str("plinth: out of memory"),
        }
    }
}

impl core::error::Error for SetupError {}
