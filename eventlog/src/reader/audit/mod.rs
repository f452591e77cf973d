//! Facts about a whole log: its pieces, whether it is sound, its losses.
//!
//! This room knows all rooms below.

pub(crate) mod losses;
pub(crate) mod verify;
