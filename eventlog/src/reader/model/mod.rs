//! What a log is made of: streams, registries, events, labels, the wall time of ticks.
//!
//! Knows faults. Knows no source and no block.

pub(crate) mod compare;
pub(crate) mod event;
pub(crate) mod label;
pub(crate) mod name;
pub(crate) mod registry;
pub(crate) mod stream;
pub(crate) mod time;
