//! The standard kinds: coarse groups of events, by how often they happen.
//!
//! ```text
//!  bit   0      1     2      3    4    5       6
//!  kind  Arena  Pool  Trace  Seg  Ref  Object  User
//! ```
//!
//! Design: `.reg.kind` in `design/telemetry.md`.

crate::__kinds! {
    /// Per arena, or global: what happens a few times in the life of a program.
    Arena = 0,
    /// Per pool: pools and what belongs to them, made and unmade.
    Pool = 1,
    /// Per trace, that is, per collection.
    Trace = 2,
    /// Per segment: what happens to a piece of memory as a whole.
    Seg = 3,
    /// Per reference, the most frequent of all.
    Ref = 4,
    /// Per object: allocation and its like.
    Object = 5,
    /// Whatever the user of the library asks for, such as labels.
    User = 6,
}
