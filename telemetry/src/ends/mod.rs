//! How a process ends or begins again: fatal signals, and forked children. Knows all that records
//! and outputs, and nothing of what looks into memory.

pub(crate) mod crash;
pub(crate) mod fork;
pub(crate) mod signal;
