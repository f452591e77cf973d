//! What the registry `malloc` says: the calls of any program, recorded by `interpose`.
//!
//! ```text
//!  Malloc, Calloc, … ─▶ allocate      ReallocBegin, Realloc ─▶ reallocate      Free ─▶ free
//! ```
//!
//! Design: `.rep.record`, `.rep.source` in `design/replay.md`.

use super::rows::{Spec, Verb};

/// The name of the registry.
pub(crate) const NAME: &str = "malloc";

/// What a process says at its end.
pub(crate) const PROCESS: &str = "Process";

const fn row(name: &'static str, verb: Verb) -> Spec {
    Spec { name, verb, address: &["address"] }
}

/// Its rows.
pub(crate) const SPECS: &[Spec] = &[
    row("Malloc", Verb::Allocate),
    row("MallocLarge", Verb::Allocate),
    row("Calloc", Verb::AllocateZeroed),
    row("AlignedAlloc", Verb::Allocate),
    row("PosixMemalign", Verb::Allocate),
    row("Memalign", Verb::Allocate),
    row("Valloc", Verb::Allocate),
    row("Pvalloc", Verb::Allocate),
    row("ReallocBegin", Verb::Begin),
    row("Realloc", Verb::Reallocate),
    row("ReallocLarge", Verb::Reallocate),
    row("Free", Verb::Free),
    Spec { name: "UsableSize", verb: Verb::Ask, address: &[] },
    row("Touched", Verb::Touched),
    row(PROCESS, Verb::Process),
    Spec { name: "Missed", verb: Verb::Miss, address: &[] },
];
