//! Which few events tell the whole path of a program, and the path from these events.
//!
//! ```text
//!  text, dot, MIR, binaries ── graph ── plan ──▶ blocks and edges to witness, in each run
//!                                │        │
//!  the witnesses of each run ────┴────────┴── walk ──▶ every block and call, in order
//! ```
//!
//! Design: `design/paths.md`.
//!
//! - **Rust**: 1.91 or later. No unsafe code. Without the features `log` and `binary`, no
//!   dependency.
#![forbid(unsafe_code)]

#[cfg(feature = "log")]
pub mod answer;
#[cfg(feature = "binary")]
pub mod binary;
mod condition;
mod first;
pub mod graph;
#[cfg(feature = "log")]
pub mod marked;
pub mod plan;
mod points;
mod profile;
mod seen;
#[cfg(feature = "log")]
pub mod source;
pub mod walk;
mod weights;

#[cfg(feature = "log")]
pub use eventdef::path as events;

pub use condition::{Clash, clashes};
pub use first::TooLarge;
pub use points::{Fork, Way};
pub use profile::{END, Profile, UNWOUND};
pub use weights::Weights;
