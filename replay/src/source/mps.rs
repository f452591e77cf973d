//! The events of logs of the MPS, and of memory managers whose events have the same names.
//!
//! ```text
//!  PoolInit ─▶ PoolAlloc, BufferCommit … PoolFree ─▶ PoolFinish ─▶ ArenaDestroy
//!  without events of objects:  ArenaAlloc … ArenaFree
//! ```
//!
//! An object in a buffer exists once it is committed: the program may reserve its memory again
//! elsewhere, which is counted. A buffer that does not log its objects is known by its fillings:
//! each filling is one object. Design: `.rep.source`, `.rep.pieces`, `.rep.fill` in
//! `design/replay.md`.

use super::output::Map;
use super::rows::{Spec, Verb};
use eventlog::reader::{Filter, Log, Order};

/// Events about objects, pools and arenas.
pub(crate) const SPECS: &[Spec] = &[
    Spec { name: "PoolAlloc", verb: Verb::Allocate, address: &["pReturn", "addr", "address"] },
    Spec { name: "PoolFree", verb: Verb::Free, address: &["old", "addr", "address"] },
    Spec { name: "BufferCommit", verb: Verb::Commit, address: &["p", "addr", "address"] },
    Spec { name: "BufferReserve", verb: Verb::Reserve, address: &["buffer"] },
    Spec { name: "BufferFill", verb: Verb::Fill, address: &["base"] },
    Spec { name: "BufferEmpty", verb: Verb::Empty, address: &["buffer"] },
    Spec { name: "ArenaAlloc", verb: Verb::ArenaAllocate, address: &["base"] },
    Spec { name: "ArenaFree", verb: Verb::ArenaFree, address: &["base"] },
    Spec { name: "BufferInit", verb: Verb::BeginBuffer, address: &["buffer"] },
    Spec { name: "PoolInit", verb: Verb::BeginPool, address: &["arena"] },
    Spec { name: "PoolFinish", verb: Verb::EndPool, address: &[] },
    Spec { name: "ArenaDestroy", verb: Verb::EndArena, address: &["arena"] },
];

/// A registry with any of these rows is read.
pub(crate) const MARKS: &[&str] = &["PoolAlloc", "BufferCommit", "ArenaAlloc"];

const OF_OBJECTS: &[&str] = &["PoolAlloc", "BufferCommit"];

pub(crate) fn only(names: &[&str]) -> Filter {
    Filter::new().events(names.iter().copied())
}

/// Returns the buffers of each stream that log their objects, so that their fillings count for
/// nothing. The result is empty if no buffer of the log was filled.
pub(crate) fn logged(log: &Log) -> Map<(u16, u64), ()> {
    let mut logged = Map::default();
    if log.events(Order::File, &only(&["BufferFill"])).next().is_some() {
        let mut events = log.events(Order::File, &only(&["BufferReserve", "BufferCommit"]));
        while let Some(event) = events.next() {
            if let Some(buffer) = event.param("buffer").and_then(|value| value.as_u64()) {
                logged.insert((event.stream, buffer), ());
            }
        }
    }
    logged
}

pub(crate) fn has_objects(log: &Log) -> bool {
    log.events(Order::File, &only(OF_OBJECTS)).next().is_some()
}
