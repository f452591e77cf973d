//! The bytes of a stream: what `design/format.md` says, as types. No I/O, no allocation.
//!
//! ```text
//!  stream header (512) │ parts …  │ block header (128) │ gap │ events, newest first │ …
//!  header.rs           schema.rs    block.rs                   event.rs
//! ```
//!
//! The root by which a stream is found in memory: `root.rs`; text as a terminal may have it:
//! `text.rs`; what the processes of a recording tell: `roster.rs`.

mod block;
mod checksum;
mod event;
mod header;
mod le;
mod root;
mod roster;
mod schema;
pub mod text;

pub use block::*;
pub use checksum::checksum;
pub use event::*;
pub use header::*;
pub use le::{U16le, U32le, U64le};
pub use root::*;
pub use roster::*;
pub use schema::*;
