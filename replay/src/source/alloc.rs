//! What the registry `alloc` says: the global allocator of a Rust program, recorded by
//! `telemetry::alloc`.
//!
//! ```text
//!  Allocate, AllocateZeroed      ReallocateBegin, Reallocate      Free
//! ```
//!
//! Design: `.rep.source` in `design/replay.md`; `.sol.alloc` in `design/telemetry.md`.

use super::rows::{Spec, Verb};

/// The name of the registry.
pub(crate) const NAME: &str = "alloc";

const fn row(name: &'static str, verb: Verb) -> Spec {
    Spec { name, verb, address: &["address"] }
}

/// Its rows.
pub(crate) const SPECS: &[Spec] = &[
    row("Allocate", Verb::Allocate),
    row("AllocateZeroed", Verb::AllocateZeroed),
    row("ReallocateBegin", Verb::Begin),
    row("Reallocate", Verb::Reallocate),
    row("Free", Verb::Free),
];
