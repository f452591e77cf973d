//! The writer: events to logs. The recording side has nothing of it.
//!
//! ```text
//!  copy/  Writer: events of a log that was read ─┐ origin.rs  ─▶ stream header
//!  maker.rs  Maker: events that a tool has ──────┴─▶ pack.rs: runs ─▶ out.rs: blocks, parts
//! ```
//!
//! This room knows the format; `copy/` alone knows the reader too. A [`Maker`] makes a log from
//! nothing: what it writes has an identity of its own. A [`Writer`] copies events of another log,
//! which keep theirs (`.event.identity`); so events that were read are never given to a `Maker`.
//! Rules: section 11 of `design/format.md`.

mod copy;
mod error;
mod maker;
mod making;
mod origin;
mod out;
mod pack;
mod run;
#[cfg(test)]
mod tests;

pub use copy::{Purpose, Writer, Written};
pub use error::MakeError;
pub use maker::{Made, Maker, StreamId};
pub use making::Cause;
pub use origin::{Origin, uuid_of};

impl std::fmt::Debug for Maker<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Maker").finish_non_exhaustive()
    }
}
