//! The bytes of a stream as `design/format.md` specifies them. No I/O, no allocation.
//!
//! ```text
//!  stream header (512) │ parts …  │ block header (128) │ gap │ events, newest first │ …
//!  header.rs           schema.rs    block.rs                   event.rs
//! ```
//!
//! `root.rs`: the root by which a debugger finds a stream in memory. `text.rs`: text that is safe
//! for a terminal. `roster.rs`: what the processes of a recording report.

mod block;
mod event;
mod header;
mod le;
mod root;
mod roster;
pub(crate) mod schema;
pub mod text;

pub use block::*;
pub use event::*;
pub use header::*;
pub use le::{U16le, U32le, U64le};
pub use root::*;
pub use roster::*;
pub use schema::*;
