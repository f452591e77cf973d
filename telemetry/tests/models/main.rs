//! Models of what threads do to a ring, explored by loom: every order of their steps, every value
//! that a load may see.
//!
//! ```text
//!  src/  words · ring · outlet · chain · sync · link · losses
//!        region · pools · gate                                     the source itself
//!  here  atomic: loom's · memory: cells that loom watches · surroundings: stream, clock, …
//!        models ─▶ scenarios ─▶ weakenings: each ordering made relaxed, some model must fail
//! ```
//!
//! What is left out: the memory of the product (`src/memory.rs` lays the same words and bytes in
//! pages), where Miri looks. Design: `.sol.ordering` in `design/telemetry.md`.

mod atomic;
mod memory;
mod models;
#[allow(dead_code, reason = "as large as the files below demand")]
mod surroundings;
mod weakenings;

#[allow(dead_code, unreachable_pub, reason = "the models use some of it")]
#[path = "../../src"]
mod source {
    pub(crate) mod chain;
    pub(crate) mod gate;
    pub(crate) mod link;
    pub(crate) mod losses;
    pub(crate) mod offered;
    pub(crate) mod outlet;
    pub(crate) mod pools;
    pub(crate) mod region;
    pub(crate) mod ring;
    pub(crate) mod sync;
    pub(crate) mod words;
}

use source::{chain, gate, link, losses, offered, outlet, pools, region, ring, sync, words};
#[allow(unused_imports, reason = "each is used by one of the files above")]
use surroundings::{
    clock, crash, fork, identity, intern, parts, plinth, policy, registration, report, root,
    stream, sys, thread, volume, writer,
};
