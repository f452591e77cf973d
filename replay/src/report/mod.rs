//! Reports of the results, for people and for programs.
//!
//! ```text
//!              ┌─ answer  tables as text, CSV, JSON
//!  Measured ───┴─ page    one HTML file with charts
//! ```
//!
//! Design: `.rep.report` in `design/replay.md`.

mod answer;
mod curves;
mod histogram;
mod machine;
mod page;
mod summary;
mod tables;

pub use answer::answer;
pub(crate) use answer::of_program;
pub use machine::machine;
pub use page::page;
pub use summary::{Spread, Summary};
