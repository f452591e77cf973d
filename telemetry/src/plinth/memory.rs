//! The plinth in memory: a stream as a vector of bytes, for tests and for programs that send it on
//! themselves.
//!
//! ```text
//!  blocks ──▶ Vec<u8> ──▶ bytes()
//! ```
//!
//! Allocates, and holds a lock of the standard library, which its thread cannot wait for: what is
//! recorded meanwhile by this thread, in its allocator or in a signal handler, is nested in the
//! runtime, and so never comes back to the plinth.
//! Design: `.sol.plinth` in `design/telemetry.md`.

use super::{Plinth, PlinthError};
use crate::os::entry::Entry;
use std::sync::{Arc, Mutex, PoisonError};

/// A stream in memory. Clones share it.
///
/// For tests, and for programs that send the stream on themselves. It allocates while it is
/// written to: what a program records of that, inside its allocator, is lost and counted where its
/// buffer is full.
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
        // In the runtime while the lock is held: what this thread records does not ask for it.
        let _entry = Entry::new();
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
