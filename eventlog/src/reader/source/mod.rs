//! Where bytes come from: files, memory, sources that are joined, rings that are written meanwhile. Knows
//! block headers; knows no event.

pub(crate) mod bytes;
pub(crate) mod headers;
pub(crate) mod ring;
