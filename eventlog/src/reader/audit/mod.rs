//! Facts about a whole log: its pieces, whether it is sound, its losses and their times.
//!
//! This room knows all rooms below.

pub(crate) mod holes;
pub(crate) mod losses;
pub(crate) mod verify;
