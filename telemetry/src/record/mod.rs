//! What a program calls to record: annotations, the fast path behind them, what the first event
//! does, masks, strings, the global allocator that records. The topmost room: knows all others.

pub mod alloc;
mod annotation;
#[cfg(recording)]
pub mod control;
#[cfg(recording)]
pub(crate) mod fast_path;
#[cfg(not(recording))]
pub(crate) use crate::absent as fast_path;
#[cfg(recording)]
pub(crate) mod setup;
#[cfg(recording)]
pub(crate) mod strings;
pub(crate) mod variety;
