//! Where bytes come from: files, memory, several sources as one, rings that are written meanwhile.
//!
//! Knows headers of blocks. Knows no event.

pub(crate) mod ahead;
pub(crate) mod bytes;
pub(crate) mod headers;
pub(crate) mod ring;
