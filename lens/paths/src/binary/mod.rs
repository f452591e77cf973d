//! The control flow of x86-64 programs, from the bytes of their ELF files.
//!
//! ```text
//!  bytes ─ image ─ explore ⇄ tables, by shape and values
//!              └─ code ─▶ Binary: functions, blocks, ends
//!                           └─ chart ─▶ Chart: a graph, and the address of each block
//! ```
//!
//! No byte is trusted. An edge that cannot be found is a [`Trouble`] of its function, which then
//! lies outside the graph.
//! Design: `.collect.binary` in `design/collect.md`.

mod chart;
mod code;
mod draft;
mod error;
mod explore;
mod flow;
mod image;
mod landing;
mod named;
mod shape;
mod tables;
mod values;

pub use chart::{Chart, Left};
pub use code::{Binary, Block, Ends, Function, mangled};
pub use draft::Trouble;
pub use error::BinaryError;
pub use flow::{Callee, returns_twice, unwinds};
