//! Collects what a program does at the places that a plan chose, without its source.
//!
//! ```text
//!  graph, witnesses ─ sites ─▶ breakpoints ─┐
//!  program ─ launch ─▶ stopped ─ stage ──────┴─ trap ─▶ letters
//!                                        └───── step ─▶ blocks: the truth
//!  program ─ lackey ────────────────────────── follow ─▶ blocks: the truth
//! ```
//!
//! Design: `design/collect.md`.
//!
//! - **Platforms**: Linux on x86-64; elsewhere the crate is empty.
//! - **Rust**: 1.91 or later. No unsafe code.
#![forbid(unsafe_code)]
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod displace;
mod error;
mod follow;
mod image;
mod job;
mod lackey;
mod launch;
pub mod log;
mod sites;
mod stage;
mod step;
mod subject;
mod trap;
mod witness;

pub use error::CollectError;
pub use follow::Step;
pub use job::{Gathered, Job, Known, gather, jobs};
pub use lackey::lackey;
pub use launch::{Launch, enter};
pub use sites::{Letter, Sites};
pub use stage::Ended;
pub use step::{Stepped, step};
pub use subject::{Choice, Planned, Subject, fingerprint};
pub use trap::{Hits, collect};
pub use witness::{stops, trappable};
