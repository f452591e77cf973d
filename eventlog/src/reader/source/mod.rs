//! Where bytes come from: files, directories, memory, several sources as one, rings in use; workers
//! ahead.
//!
//! This room knows headers of blocks. It knows no event.

pub(crate) mod ahead;
pub(crate) mod bytes;
pub(crate) mod directory;
pub(crate) mod headers;
pub(crate) mod ring;
