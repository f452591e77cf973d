//! Blocks in memory: their pages, their words, the chain of events in them, parts; clocks, counts,
//! the identity of the stream, and the root by which a debugger finds all of it. Knows the
//! operating system, and no thread, registry or host.

pub(crate) mod chain;
pub(crate) mod clock;
pub(crate) mod header_words;
pub(crate) mod identity;
pub(crate) mod losses;
pub(crate) mod memory;
pub(crate) mod parts;
pub(crate) mod registry_encoding;
pub(crate) mod root;
