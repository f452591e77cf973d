//! What a thread records into: its rings of blocks, how they advance, wait and go out, and what
//! happens when the thread ends. Knows the store and the stream, and nothing of control or of how a
//! program ends.

pub(crate) mod config;
pub(crate) mod pools;
pub(crate) mod ring;
pub(crate) mod thread;
