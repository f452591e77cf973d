//! What is wrong in a log, where, and what it costs.
//!
//! Knows the format. Reads nothing.

pub(crate) mod core;
pub(crate) mod kind;
pub(crate) mod list;
pub(crate) mod releases;
pub(crate) mod text;
