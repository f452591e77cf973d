//! Why a log cannot be made: an argument that the format has no place for, or a failed output.
//!
//! ```text
//!  Maker::add, begin, … ──▶ MakeError: nothing of that call is in the log; go on
//!                           Io: the log is not whole, and every later call fails too
//! ```

use std::io;
use thiserror::Error;

/// Why a log cannot be made, or why an argument has no place in it.
///
/// After [`MakeError::Io`] every call fails. After any other error the maker is as before the call.
#[derive(Debug, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the documentation of a variant tells its fields")]
pub enum MakeError {
    /// The output failed.
    #[error("cannot write the log ({0})")]
    Io(#[from] io::Error),
    /// The log has no stream yet, or no stream of that identity.
    #[error("no such stream in the log; begin one first")]
    NoStream,
    /// The log has a stream of that UUID.
    #[error("stream {:032x} already exists in the log", u128::from_be_bytes(*.uuid))]
    StreamTwice { uuid: [u8; 16] },
    /// The log has 65535 streams.
    #[error("a log has at most 65535 streams")]
    Streams,
    /// The format has no blocks of 2^`log2` bytes.
    #[error("blocks cannot have 2^{log2} bytes; use 2^12 to 2^20")]
    BlockSize { log2: u8 },
    /// A clock sync has ticks 0, which means none.
    #[error("a clock sync cannot be at ticks 0")]
    SyncTicks,
    /// The log has no room for the registry with this name.
    #[error("registry {name:?}: a log has at most 65535 of them, and 16 MiB in all")]
    Registries { name: &'static str },
    /// The registry with this name has no such event type.
    #[error("registry {registry:?} has no such event type of code {code:04X}")]
    EventType { registry: &'static str, code: u16 },
    /// An event is larger than a block holds (`max` bytes), or too small for its parameters.
    #[error("event {event} has {size} bytes; a block holds at most {max}")]
    EventSize { event: &'static str, size: usize, max: usize },
    /// An event of the store is not of buffer 0 and thread 0, or another one is of buffer 0.
    #[error(
        "event {event} cannot be in buffer {buffer} of thread {thread}; buffer 0 of thread 0 has \
         the events of the store, and no others"
    )]
    Store { event: &'static str, buffer: u32, thread: u32 },
    /// The string with this number was not interned, or is interned later.
    #[error("string {string} is not interned at these ticks; intern it before")]
    String { string: usize },
    /// A buffer has no numbers left.
    #[error("buffer {buffer} has no numbers left")]
    Numbers { buffer: u32 },
}
