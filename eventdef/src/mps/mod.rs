//! The registry of the Memory Pool System, telemetry version 2.0.0 (MPS 1.118): what decodes the
//! logs that it writes.
//!
//! ```text
//!  mps/arena.rs   Arena: arenas, their virtual memory, generations, messages; the log's own events
//!  mps/pool.rs    Pool, Object, User: pools, buffers, allocation, labels
//!  mps/trace.rs   Trace, Ref: collections and the references that they follow
//!  mps/seg.rs     Seg: segments, and what is scanned
//! ```
//!
//! Names, codes, kinds and parameters are the MPS's own. A code given twice in its history cannot
//! be told apart here: logs of other versions are read by that version's list. Rows are *sometimes*
//! where the MPS leaves them out of its hot variety (its annotation is "critical"). Design:
//! `.sol.relation` in `design/telemetry.md`.

crate::events! {
    /// The Memory Pool System, telemetry version 2.0.0.
    registry "mps" version(2, 0, 0);
    kinds standard;
    parts arena, pool, trace, seg;
}

pub mod arena;
pub mod pool;
pub mod seg;
pub mod trace;
