//! Streams in our format: from blocks and parts to an index and to located events.
//!
//! This room knows sources, the model and the index. It knows no other format.

pub(crate) mod block;
pub(crate) mod encoding;
pub(crate) mod entry;
pub(crate) mod gaps;
pub(crate) mod head;
pub(crate) mod identity;
pub(crate) mod indexer;
pub(crate) mod numbers;
pub(crate) mod parts;
pub(crate) mod piece;
pub(crate) mod volume;
