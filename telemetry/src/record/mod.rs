//! The topmost room, which knows all others: annotations, the fast path behind them, the setup,
//! masks, strings, and the global allocator that records.

pub mod alloc;
pub(crate) mod annotation;
#[cfg(recording)]
pub(crate) mod around;
#[cfg(recording)]
pub mod control;
#[cfg(recording)]
pub(crate) mod fast_path;
#[cfg(not(recording))]
pub(crate) use crate::absent::{self as around, self as fast_path};
#[cfg(recording)]
pub(crate) mod setup;
#[cfg(recording)]
pub(crate) mod strings;
