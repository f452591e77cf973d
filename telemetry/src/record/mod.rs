//! What a program calls to record: annotations, the fast path behind them, the global allocator
//! that records. The topmost room: knows all others.

pub mod alloc;
mod annotation;
#[cfg(recording)]
pub(crate) mod fast_path;
pub(crate) mod variety;
