//! What is wrong in a log, where, and what it costs.
//!
//! This room knows the format. It reads nothing.

pub(crate) mod core;
pub(crate) mod kind;
pub(crate) mod list;
