//! The writer: events to logs. The runtime has nothing of it.
//!
//! ```text
//!  copy/  Writer: events of a log that was read ─┐ origin.rs  ─▶ stream header
//!  maker.rs  Maker: events that a tool has ──────┴─▶ pack.rs: runs ─▶ out.rs: blocks, parts
//! ```
//!
//! This room knows the format; only `copy/` knows the reader too. A [`Maker`] makes a log with a
//! new identity. A [`Writer`] copies events of another log, which keep their identity
//! (`.event.identity`). So never add events to a `Maker` that were read. Rules: section 11 of
//! `design/format.md`.

mod copy;
mod error;
mod maker;
mod origin;
mod out;
mod pack;
mod run;
mod stream;
#[cfg(test)]
mod tests;

pub use copy::{Purpose, Writer, Written};
pub use error::MakeError;
pub use maker::{Made, Maker, StreamId};
pub use origin::{Origin, uuid_of};
pub use stream::Cause;
