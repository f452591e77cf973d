//! Models of the threads that use a ring, or the sums of statements. Loom explores every order of
//! their steps, and every value that a load may return.
//!
//! ```text
//!  src/  os: link, observers, sync · block: header_words, chain, losses · registry: unhoused
//!        plinth: region · stream: gate, outlet · rings: pools, ring     the source itself
//!  store/intern: names · calls/src/  list, row, word                    the source itself
//!  here  atomic: loom's · memory: cells that loom watches · surroundings: stream, clock, …
//!        models, sums ─▶ scenarios ─▶ weakenings: relaxes each ordering; some model must fail
//! ```
//!
//! The models replace the memory of the product, which Miri checks: `src/block/memory/mod.rs` lays
//! the same words and bytes in pages. Design: `.sol.ordering` in `design/telemetry.md`.

#![cfg(test)]

mod atomic;
mod memory;
mod models;
mod naming;
mod sums;
#[allow(dead_code, reason = "the files below use some of it")]
mod surroundings;
mod weakenings;

#[path = "../../../calls/src/list.rs"]
mod list;
#[allow(dead_code, reason = "the models use some of it")]
#[path = "../../../calls/src/row.rs"]
mod row;
#[allow(dead_code, unreachable_pub, reason = "the models use some of it")]
#[path = "../../../calls/src/word.rs"]
mod word;

#[path = "../../src/offered/mod.rs"]
#[allow(dead_code, unreachable_pub, reason = "the models use some of it")]
mod offered;

#[allow(dead_code, reason = "the models use some of it")]
#[allow(unused_imports, reason = "each is used by one of the files here")]
#[path = "../../src/os"]
mod os {
    pub(crate) use crate::atomic;
    pub(crate) mod link;
    #[allow(unreachable_pub, reason = "the product exports it")]
    pub(crate) mod observers;
    pub(crate) use crate::memory as pages;
    pub(crate) use crate::surroundings::{depth, entry, forked, report, sys, way_out};
    pub(crate) mod sync;
}

#[allow(dead_code, reason = "the models use some of it")]
#[path = "../../src/block"]
mod block {
    pub(crate) mod chain;
    pub(crate) mod checksum;
    pub(crate) mod header_words;
    pub(crate) mod losses;
    pub(crate) use crate::memory;
    pub(crate) use crate::surroundings::{clock, identity, parts, root};
}

#[allow(dead_code, reason = "the models use some of it")]
#[path = "../../src/registry"]
mod registry {
    pub(crate) mod unhoused;
    pub(crate) use crate::surroundings::{policy, registration};
}

#[allow(dead_code, reason = "the models use some of it")]
#[path = "../../src/plinth"]
mod plinth {
    pub(crate) mod region;
    pub(crate) use crate::surroundings::plinth::*;
}

#[allow(dead_code, reason = "the models use some of it")]
#[path = "../../src/stream"]
mod stream {
    pub(crate) mod gate;
    pub(crate) mod outlet;
    pub(crate) use crate::surroundings::stream::*;
    pub(crate) use crate::surroundings::volume::{self, write_block};
    pub(crate) use crate::surroundings::writer;
}

#[path = "../../src/store"]
mod store {
    #[allow(dead_code, reason = "the models use some of it")]
    pub(crate) mod intern {
        pub(crate) use crate::naming::{locked, record};
        pub(crate) use crate::surroundings::intern::*;
        pub(crate) mod names;
    }
}

#[allow(dead_code, unreachable_pub, unused_imports, reason = "the models use some of it")]
#[path = "../../src/rings"]
mod rings {
    pub(crate) mod pools;
    pub(crate) mod ring;
}
