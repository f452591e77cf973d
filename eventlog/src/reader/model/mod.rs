//! The contents of a log: streams, registries, events, labels, the wall time of ticks.
//!
//! This room knows faults. It knows no source and no block.

pub(crate) mod compare;
pub(crate) mod event;
pub(crate) mod label;
pub(crate) mod registry;
pub(crate) mod stream;
pub(crate) mod time;
