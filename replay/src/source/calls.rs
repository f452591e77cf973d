//! The events of the registries "malloc" (`interpose`: the calls of any program) and "alloc"
//! (`telemetry::alloc`: the global allocator of a Rust program).
//!
//! ```text
//!  Malloc, Calloc, … ─▶ allocate      ReallocBegin, Realloc ─▶ reallocate      Free ─▶ free
//! ```
//!
//! Design: `.rep.record`, `.rep.source` in `design/replay.md`; `.sol.alloc` in
//! `design/telemetry.md`.

use super::rows::{Spec, Verb};

/// The name of the registry of the C library's calls.
pub(crate) const MALLOC: &str = "malloc";
/// The name of the registry of a Rust program's allocator.
pub(crate) const ALLOC: &str = "alloc";
/// The event that a process records at its end.
pub(crate) const PROCESS: &str = "Process";

const fn row(name: &'static str, verb: Verb) -> Spec {
    Spec { name, verb, address: &["address"] }
}

pub(crate) const MALLOC_SPECS: &[Spec] = &[
    row("Malloc", Verb::Allocate),
    row("MallocLarge", Verb::Allocate),
    row("Calloc", Verb::AllocateZeroed),
    row("AlignedAlloc", Verb::Allocate),
    row("PosixMemalign", Verb::Allocate),
    row("Memalign", Verb::Allocate),
    row("Valloc", Verb::Allocate),
    row("Pvalloc", Verb::Allocate),
    row("ReallocBegin", Verb::BeginReallocate),
    row("Realloc", Verb::Reallocate),
    row("ReallocLarge", Verb::Reallocate),
    row("Free", Verb::Free),
    row("UsableSize", Verb::UsableSize),
    row("Touched", Verb::Touched),
    row(PROCESS, Verb::Process),
    row("Missed", Verb::Missed),
];

pub(crate) const ALLOC_SPECS: &[Spec] = &[
    row("Allocate", Verb::Allocate),
    row("AllocateZeroed", Verb::AllocateZeroed),
    row("ReallocateBegin", Verb::BeginReallocate),
    row("Reallocate", Verb::Reallocate),
    row("Free", Verb::Free),
];
