//! The lens on waits: recordings of real programs, imports of other tools, twins, and made rows.
//!
//! Design: `design/waits.md`.

mod bound;
mod common;
mod files;
mod fixtures;
mod format;
mod imports;
mod interrupts;
mod losses;
mod made;
mod names;
mod pages;
mod peers;
mod recorded;
mod rows;
mod same;
mod stacks;
mod timehist;
mod twin;
