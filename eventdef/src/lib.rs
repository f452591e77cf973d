//! The registry of the event log: event types declared in one list.
#![no_std]
#![forbid(unsafe_code)]

mod arg;
#[doc(hidden)]
pub mod check;
mod control;
#[doc(hidden)]
pub mod doc;
mod event;
pub mod field;
mod kind;
pub mod layout;
mod macros;
pub mod mps;
mod registry;
mod row;
mod sort;
pub mod store;
mod text;

pub use arg::*;
pub use control::Control;
pub use event::{Event, ParamSink};
pub use kind::Kinds;
pub use registry::*;
#[doc(hidden)]
pub use row::Row;
pub use sort::Sort;

#[doc(hidden)]
pub use bitflags as __bitflags;
