//! The store: strings, labels and threads, which the stream has before the events that name them.
//! Knows the stream, and no ring.

pub(crate) mod inheritance;
pub(crate) mod intern;
