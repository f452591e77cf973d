//! Why nothing was written to a database, and how many events were.
//!
//! Design: `.cnv.sql` in `design/eventcnv.md`.

use super::keys::BUFFER_COUNT_MAX;
use rusqlite::Error;

/// How the tables are arranged: `PRAGMA user_version`.
pub(super) const ARRANGEMENT: i32 = 1;

/// Why nothing was written.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// It is a file of another kind.
    NoDatabase,
    /// It is a database of something else.
    Foreign,
    /// It is arranged in a later way than is known here.
    Later(i32),
    /// So many buffers cannot be told apart.
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
                "is there and no database of SQLite: give another name, or --force to replace it",
            ),
            Refusal::Foreign => f.write_str(
                "is a database of something else: give another name, or --force to replace it",
            ),
            Refusal::Later(found) => write!(
                f,
                "its tables are arranged in way {found}, and this eventcnv knows {ARRANGEMENT}: \
                 give another name, or use a later eventcnv"
            ),
            Refusal::BufferLimit => {
                write!(f, "has events of {} buffers, and takes no more", BUFFER_COUNT_MAX)
            }
            Refusal::Sqlite(error) => write!(f, "{error}"),
        }
    }
}

/// How many events there were, and how many of them are new.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) read: u64,
    pub(crate) added: u64,
}
