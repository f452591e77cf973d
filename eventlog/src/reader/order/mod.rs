//! The events of a log, in order of time or of the file: filters, the merge, partitions.
//!
//! This room knows a log and its segments. It knows no format.

pub(crate) mod bulk;
pub(crate) mod cache;
pub(crate) mod filter;
pub(crate) mod merge;
pub(crate) mod partitions;
pub(crate) mod queue;
