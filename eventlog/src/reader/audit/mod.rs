//! What a log as a whole tells: what is where, whether it is sound, how much was lost.
//!
//! Knows all rooms below.

pub(crate) mod losses;
pub(crate) mod survey;
pub(crate) mod verify;
