//! The rings of blocks of each thread: how they advance, wait and go out; and the end of a thread.
//! Knows store and all below; neither control nor how a program ends.

pub(crate) mod config;
pub(crate) mod pools;
pub(crate) mod ring;
pub(crate) mod thread;
