//! Makes unique names for a database or a table from the names that a log declares.
//!
//! ```text
//!  PoolInit ──▶ "PoolInit", or if that is taken "mps_PoolInit", "mps_PoolInit_2", …
//! ```
//!
//! Design: `.cnv.sql.names` in `design/eventcnv.md`.

use std::collections::HashMap;

/// Bytes of a name, at most. The laws of a registry allow 31, but a stream may declare longer
/// names.
const NAME_SIZE_MAX: usize = 200;

/// Taken names, each with the last number that was tried after it, so that each search takes one
/// step. SQLite and DuckDB ignore the case of ASCII letters, Spark that of all letters.
#[derive(Default)]
pub(crate) struct Taken(HashMap<String, u64>);

impl Taken {
    pub(crate) fn new<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> Taken {
        Taken(names.into_iter().map(|name| (name.as_ref().to_lowercase(), 1)).collect())
    }

    /// Takes a name for a column, with an underscore after it if it is taken.
    pub(crate) fn column(&mut self, name: &str) -> String {
        self.take([name, &format!("{name}_")])
    }

    /// Takes the first free one of these names, or the last with a number. Puts an x before a name
    /// that SQLite reserves.
    pub(crate) fn take<const N: usize>(&mut self, names: [&str; N]) -> String {
        let names = names.map(allowed);
        if let Some(free) = names.iter().find(|name| self.is_new(name)) {
            return free.clone();
        }
        let last = names.last().map_or("_", |name| name);
        let key = last.to_lowercase();
        loop {
            let tried = self.0.entry(key.clone()).or_insert(1);
            *tried += 1;
            let numbered = format!("{last}_{tried}");
            if self.is_new(&numbered) {
                return numbered;
            }
        }
    }

    /// Takes a name. Returns whether it was free.
    fn is_new(&mut self, name: &str) -> bool {
        let name = name.to_lowercase();
        let is_new = !self.0.contains_key(&name);
        self.0.entry(name).or_insert(1);
        is_new
    }
}

/// Returns the beginning of a name, up to the size limit.
pub(crate) fn clipped(name: &str) -> &str {
    name.get(..name.floor_char_boundary(NAME_SIZE_MAX)).unwrap_or_default()
}

/// Returns a name that SQLite allows for a table.
fn allowed(name: &str) -> String {
    let is_reserved = name.get(..7).is_some_and(|head| head.eq_ignore_ascii_case("sqlite_"));
    let name = clipped(name);
    match is_reserved {
        true => format!("x_{name}"),
        false if name.is_empty() => "unnamed".to_owned(),
        false => name.to_owned(),
    }
}

/// Columns for parameters of an event type, at most. The view of its table has twice as many
/// columns, and SQLite allows 2000.
#[cfg(any(feature = "parquet", feature = "sql"))]
pub(crate) const PARAM_COUNT_MAX: usize = 900;

/// Returns a note about event types with more parameters than columns, by name and number of
/// parameters.
#[cfg(any(feature = "parquet", feature = "sql"))]
pub(crate) fn note_of_cut<'a>(mut cut: impl Iterator<Item = (&'a str, usize)>) -> Option<String> {
    let (name, count) = cut.next()?;
    let others = match cut.count() {
        0 => String::new(),
        others => format!("; {others} more event types have too many"),
    };
    Some(format!(
        "{name} has {count} parameters, more than the {PARAM_COUNT_MAX} of a table; --style \
         json prints the others{others}"
    ))
}

/// Returns a name in quotation marks.
#[cfg(feature = "sql")]
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('\0', "\u{FFFD}").replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_in_any_case_and_never_reserved() {
        let mut taken = Taken::new(["Logs"]);
        assert_eq!(taken.take(["logs", "mps_logs"]), "mps_logs");
        assert_eq!(taken.take(["LOGS", "MPS_LOGS"]), "MPS_LOGS_2");
        assert_eq!(taken.take(["logs", "mps_logs"]), "mps_logs_3");
        assert_eq!(taken.take(["sqlite_stat", "sqlite_mps"]), "x_sqlite_stat");
        assert_eq!(taken.take(["SQLite_Stat"]), "x_SQLite_Stat_2");
        assert_eq!(taken.take(["", "_"]), "unnamed");
        assert_eq!(taken.take(["", "_"]), "_");
        assert_eq!(taken.take(["é".repeat(300).as_str()]), "é".repeat(100));
    }

    /// `.cnv.sql.names`: a naive search would take 5,000,000,000 steps.
    #[test]
    fn names_are_found_in_a_bounded_number_of_steps() {
        let mut taken = Taken::new((2..100_000).step_by(2).map(|n| format!("a_{n}")));
        let names: Vec<String> = (0..100_000).map(|_| taken.take(["a", "A"])).collect();
        assert_eq!(names.last().map(|name| &**name), Some("A_149999"));
    }

    #[cfg(feature = "sql")]
    #[test]
    fn a_name_cannot_end_its_quotation() {
        assert_eq!(quoted("a\" (b); --"), "\"a\"\" (b); --\"");
        assert_eq!(quoted("a\0b"), "\"a\u{FFFD}b\"");
    }
}
