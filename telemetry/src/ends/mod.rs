//! How a process ends or begins again: fatal signals, and forked children. Knows all that records
//! and outputs, and nothing that reads memory.

pub(crate) mod crash;
pub(crate) mod fork;
pub(crate) mod signal;
