//! A stream that is read while it arrives: blocks in, events out.
//!
//! Knows our format and the model. Keeps no log.

pub(crate) mod arriving;
mod events;
