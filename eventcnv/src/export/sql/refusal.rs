//! Why a database was not written, and the numbers of events in one that was.
//!
//! Design: `.cnv.sql` in `design/eventcnv.md`.

use crate::export::sql::keys::BUFFER_COUNT_MAX;
use rusqlite::Error;

/// The version of the tables: `PRAGMA user_version`.
pub(super) const TABLES_VERSION: i32 = 1;

/// Why a database was not written.
#[derive(Debug)]
pub(crate) struct Refusal(String);

impl Refusal {
    /// The database is not one of ours.
    pub(super) fn foreign() -> Refusal {
        Refusal("not a database of the event log; use --force to replace it".to_owned())
    }

    /// Its tables have a later version.
    pub(super) fn later(found: i32) -> Refusal {
        Refusal(format!(
            "its tables have version {found}, and this eventcnv knows {TABLES_VERSION}; use a \
             later eventcnv, or another database"
        ))
    }

    /// An event type of a log has a table of this name, which is ours in this version.
    pub(super) fn taken(name: &str) -> Refusal {
        Refusal(format!("its table {name} belongs to an event type; use a new database"))
    }

    /// The database has too many buffers.
    pub(super) fn full() -> Refusal {
        Refusal(format!("full: it has events of {BUFFER_COUNT_MAX} buffers"))
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal(match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::NotADatabase) => {
                "already exists and is not an SQLite database; use --force to replace it".to_owned()
            }
            _ => error.to_string(),
        })
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Numbers of events that were read, and that were new.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) read: u64,
    pub(crate) added: u64,
    /// Words of 2^63 or more.
    pub(crate) great: u64,
}

impl Counts {
    /// Returns a note about words that SQLite's integers lack.
    pub(crate) fn note(&self) -> Option<String> {
        (self.great > 0).then(|| {
            format!(
                "{} words of 2^63 or more are negative in SQLite, whose integers are signed; \
                 printf('%u', WORD) prints their values",
                self.great
            )
        })
    }
}
