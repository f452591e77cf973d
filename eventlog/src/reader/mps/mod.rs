//! Raw streams of the Memory Pool System, which have no header.
//!
//! ```text
//!  first bytes ── recognise.rs ──▶ platform, version
//!  all bytes ──── walk.rs: from event to event, in parts (ahead.rs) or stretches (increments.rs)
//!                  └──▶ index.rs: segments of about 64 KiB, faults
//!  a segment ──── plain.rs ──▶ located events
//!
//!  file order:   │ EventInit Intern │ sync │ Pool: newest … oldest │ Seg: newest … │ sync │ …
//!                                           └── one flush: the new events of each kind ──┘
//!  time order:   a stable sort of that by clock
//! ```
//!
//! Design: `.req.port`, `.req.back` in `design/telemetry.md`.

mod ahead;
mod header;
mod increments;
mod index;
mod plain;
mod platform;
mod recognise;
mod resume;
#[cfg(test)]
mod tests;
mod walk;
mod window;

pub use header::HeaderError;
pub(crate) use increments::Increments;
pub(crate) use index::{index, is_stream};
