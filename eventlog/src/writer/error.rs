//! Why a log cannot be made: an argument that the format has no place for, or a failed output.
//!
//! ```text
//!  Maker::add, begin, … ──▶ MakeError: nothing of that call is in the log; go on
//!                           Io: the log is not whole, and every later call fails too
//! ```

use std::fmt;
use std::io;

/// Why a log cannot be made, or why an argument has no place in it.
///
/// After [`MakeError::Io`] every call fails. After any other error the maker is as before the call.
#[derive(Debug)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the documentation of a variant tells its fields")]
pub enum MakeError {
    /// The output failed.
    Io(io::Error),
    /// The log has no stream yet, or no stream of that identity.
    NoStream,
    /// The log has a stream of that UUID.
    StreamTwice { uuid: [u8; 16] },
    /// The log has 65535 streams.
    Streams,
    /// The format has no blocks of 2^`log2` bytes.
    BlockSize { log2: u8 },
    /// A clock sync has ticks 0, which means none.
    SyncTicks,
    /// The log has no room for the registry with this name.
    Registries { name: &'static str },
    /// The registry with this name has no such event type.
    EventType { registry: &'static str, code: u16 },
    /// An event is larger than a block holds (`max` bytes), or too small for its parameters.
    EventSize { event: &'static str, size: usize, max: usize },
    /// An event of the store is not of buffer 0 and thread 0, or another one is of buffer 0.
    Store { event: &'static str, buffer: u32, thread: u32 },
    /// The string with this number was not interned, or is interned later.
    String { string: usize },
    /// A buffer has no numbers left.
    Numbers { buffer: u32 },
}

impl fmt::Display for MakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MakeError::Io(error) => write!(f, "cannot write the log ({error})"),
            MakeError::NoStream => write!(f, "no such stream in the log; begin one first"),
            MakeError::StreamTwice { uuid } => {
                write!(f, "stream {:032x} already exists in the log", u128::from_be_bytes(*uuid))
            }
            MakeError::Streams => write!(f, "a log has at most 65535 streams"),
            MakeError::BlockSize { log2 } => {
                write!(f, "blocks cannot have 2^{log2} bytes; use 2^12 to 2^20")
            }
            MakeError::SyncTicks => write!(f, "a clock sync cannot be at ticks 0"),
            MakeError::Registries { name } => {
                write!(f, "registry {name:?}: a log has at most 65535 of them, and 16 MiB in all")
            }
            MakeError::EventType { registry, code } => {
                write!(f, "registry {registry:?} has no such event type of code {code:04X}")
            }
            MakeError::EventSize { event, size, max } => {
                write!(f, "event {event} has {size} bytes; a block holds at most {max}")
            }
            MakeError::Store { event, buffer, thread } => write!(
                f,
                "event {event} cannot be in buffer {buffer} of thread {thread}; buffer 0 of thread \
                 0 has the events of the store, and no others"
            ),
            MakeError::String { string } => {
                write!(f, "string {string} is not interned at these ticks; intern it before")
            }
            MakeError::Numbers { buffer } => write!(f, "buffer {buffer} has no numbers left"),
        }
    }
}

impl std::error::Error for MakeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            MakeError::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for MakeError {
    fn from(error: io::Error) -> MakeError {
        MakeError::Io(error)
    }
}
