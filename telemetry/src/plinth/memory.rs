//! The plinth in memory: a stream as a vector of bytes, for tests and for programs that send it on
//! themselves.
//!
//! ```text
//!  blocks ──▶ Vec<u8> ──▶ bytes()
//! ```
//!
//! Allocates, so it is not for programs that record inside their allocator; and holds a lock of the
//! standard library, so it is not for those whose signal handlers record.
//! Design: `.sol.plinth` in `design/telemetry.md`.

use super::{Plinth, PlinthError};
use std::sync::{Arc, Mutex, PoisonError};

/// A stream in memory. Clones share it.
///
/// For tests, and for programs that record neither in their allocator nor in signal handlers: it
/// allocates, and a lock is held while a block is put or [`bytes`](MemoryPlinth::bytes) copies. A
/// handler that records a full block meanwhile, on the same thread, would wait for ever.
#[derive(Clone, Debug, Default)]
pub struct MemoryPlinth {
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl MemoryPlinth {
    /// An empty one.
    pub fn new() -> MemoryPlinth {
        MemoryPlinth::default()
    }

    /// A copy of the stream so far.
    pub fn bytes(&self) -> Vec<u8> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Plinth for MemoryPlinth {
    fn create(&self, _: usize) -> Result<(), PlinthError> {
        Ok(())
    }

    fn write_block(&self, offset: u64, bytes: &[u8]) -> Result<(), PlinthError> {
        let mut stream = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let from = offset as usize;
        let to = from + bytes.len();
        if stream.len() < to {
            stream.resize(to, 0);
        }
        stream[from..to].copy_from_slice(bytes);
        Ok(())
    }

    fn can_rewrite(&self) -> bool {
        true
    }

    fn describe(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the log in memory")
    }
}
