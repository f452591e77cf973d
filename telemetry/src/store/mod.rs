//! Strings, labels and threads: they go out before the events naming them. Knows the stream, and no
//! ring.

pub(crate) mod intern;
