//! The registry of the event log: event types declared in one list.
#![no_std]
#![forbid(unsafe_code)]

mod control;
mod event;
mod registry;
mod sort;

pub use control::Control;
pub use event::{Event, ParamSink};
pub use registry::*;
pub use sort::Sort;
