//! Blocks and the events in them: pages, words, parts; clocks, counts, the identity of the stream,
//! and the root by which a debugger finds all of this. Knows os alone: no thread, registry or host.

pub(crate) mod chain;
pub(crate) mod checksum;
pub(crate) mod clock;
pub(crate) mod header_words;
pub(crate) mod identity;
pub(crate) mod losses;
pub(crate) mod memory;
pub(crate) mod parts;
pub(crate) mod registry_encoding;
pub(crate) mod root;
pub(crate) mod walk;

/// Gives a forked child's stream its identity. The root is not valid until the rooms above have
/// started again.
pub(crate) fn leave_parent() {
    root::leave();
    identity::fork();
}
