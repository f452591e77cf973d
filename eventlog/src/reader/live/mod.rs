//! A stream that is read while it arrives: blocks in, events out. Keeps no log.

pub(crate) mod arriving;
pub(crate) mod given;
