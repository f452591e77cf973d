//! The events of a log, in order of time or of the file: filters, the merge, partitions.
//!
//! Knows a log and its segments. Knows no format.

pub(crate) mod each;
pub(crate) mod filter;
pub(crate) mod history;
pub(crate) mod merge;
pub(crate) mod open;
pub(crate) mod owned;
pub(crate) mod partitions;
