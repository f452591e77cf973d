//! Why a database was not written, and the numbers of events in one that was.
//!
//! Design: `.cnv.sql` in `design/eventcnv.md`.

use super::keys::BUFFER_COUNT_MAX;
use rusqlite::Error;

/// The version of the tables: `PRAGMA user_version`.
pub(super) const TABLES_VERSION: i32 = 1;

/// Why a database was not written.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The file is not an SQLite database.
    NoDatabase,
    /// The database is not one of ours.
    Foreign,
    /// Its tables have a later version.
    Later(i32),
    /// The database has too many buffers.
    BufferLimit,
    Sqlite(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::NotADatabase) => Refusal::NoDatabase,
            _ => Refusal::Sqlite(error),
        }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refusal::NoDatabase => f.write_str(
                "already exists and is not an SQLite database; use --force to replace it",
            ),
            Refusal::Foreign => {
                f.write_str("not a database of the event log; use --force to replace it")
            }
            Refusal::Later(found) => write!(
                f,
                "its tables have version {found}, and this eventcnv knows {TABLES_VERSION}; use a \
                 later eventcnv, or another database"
            ),
            Refusal::BufferLimit => {
                write!(f, "full: it has events of {BUFFER_COUNT_MAX} buffers")
            }
            Refusal::Sqlite(error) => write!(f, "{error}"),
        }
    }
}

/// Numbers of events that were read, and that were new.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) read: u64,
    pub(crate) added: u64,
}
