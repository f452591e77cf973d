//! A stream that is read while it arrives: blocks in, events out.
//!
//! This room knows our format and the model. It keeps no log.

pub(crate) mod blocks;
mod events;
