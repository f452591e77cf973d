//! Reports of the results, for people and for programs.
//!
//! ```text
//!              ┌─ table   text, in columns
//!  Measured ───┼─ json    all results, and their summary
//!              └─ page    one HTML file with charts
//! ```
//!
//! Design: `.rep.report` in `design/replay.md`.

mod chart;
mod curves;
mod histogram;
mod json;
mod machine;
mod page;
mod scale;
mod summary;
mod table;
mod tables;

pub use json::json;
pub use machine::machine;
pub use page::page;
pub use summary::{Spread, Summary};
pub(crate) use table::of_program;
pub use table::table;
