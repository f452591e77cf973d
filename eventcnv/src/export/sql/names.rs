//! Names that a log declares, as names in a database: they come from anywhere.
//!
//! ```text
//!  PoolInit ──▶ "PoolInit", or if that is taken "mps_PoolInit", "mps_PoolInit_2", …
//! ```
//!
//! Design: `.cnv.sql.names` in `design/eventcnv.md`.

use std::collections::HashSet;

/// Names that are taken. SQLite tells no case apart, of ASCII letters.
#[derive(Default)]
pub(crate) struct Taken(HashSet<String>);

impl Taken {
    /// Takes these.
    pub(crate) fn new<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> Taken {
        Taken(names.into_iter().map(|name| name.as_ref().to_ascii_lowercase()).collect())
    }

    /// Takes the first of these names that is free, or the last of them with a number.
    pub(crate) fn take(&mut self, names: &[String]) -> String {
        let numbered = |n: u64| names.last().map(|name| format!("{name}_{n}"));
        let mut all = names.iter().cloned().chain((2..).filter_map(numbered));
        let free = all.find(|name| self.is_free(name)).unwrap_or_default();
        self.0.insert(free.to_ascii_lowercase());
        free
    }

    fn is_free(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        !name.is_empty() && !name.starts_with("sqlite_") && !self.0.contains(&name)
    }
}

/// A name in quotation marks.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('\0', "\u{FFFD}").replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_given_twice_in_any_case_nor_is_one_that_is_reserved() {
        let mut taken = Taken::new(["Logs"]);
        let mut take = |names: &[&str]| {
            taken.take(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(take(&["logs", "mps_logs"]), "mps_logs");
        assert_eq!(take(&["LOGS", "MPS_LOGS"]), "MPS_LOGS_2");
        assert_eq!(take(&["logs", "mps_logs"]), "mps_logs_3");
        assert_eq!(take(&["sqlite_stat", "mps_sqlite_stat"]), "mps_sqlite_stat");
        assert_eq!(take(&["", "_"]), "_");
    }

    #[test]
    fn a_name_does_not_end_its_quotation() {
        assert_eq!(quoted("a\" (b); --"), "\"a\"\" (b); --\"");
        assert_eq!(quoted("a\0b"), "\"a\u{FFFD}b\"");
    }
}
