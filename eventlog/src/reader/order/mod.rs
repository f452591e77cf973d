//! The events of an opened log, in order of time or of the file: filters, the merge, partitions that are read
//! side by side.

pub(crate) mod each;
pub(crate) mod filter;
pub(crate) mod history;
pub(crate) mod merge;
pub(crate) mod open;
pub(crate) mod partitions;
