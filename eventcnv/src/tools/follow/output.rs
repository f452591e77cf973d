//! The database that a follower keeps up to date: claimed, present, free.
//!
//! ```text
//!  open ── flock: another follower? ──▶ each look: same file? locked? ──▶ change ──▶ close
//! ```
//!
//! Design: `.cnv.follow.sql` in `design/eventcnv.md`.

use crate::export::sql::{PATIENCE, Refusal, begin_shared, end_shared};
use cli::{Stop, complain};
use rusqlite::{Connection, ErrorCode};
use std::fs::{self, File, Metadata, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The database, and what it is called.
pub(super) struct Database<'a> {
    path: &'a Path,
    /// `None` only while a thread inserts.
    connection: Option<Connection>,
    /// Whether another program was found to lock it.
    is_locked: bool,
    /// Whether a signal came: then the wait for another program ends.
    is_signalled: Arc<AtomicBool>,
    /// The open file. It has a lock, by which a second follower of the database is refused. It is
    /// closed last: with it, the locks of SQLite end.
    file: File,
}

impl Database<'_> {
    /// Opens a database, which it makes if it does not exist. It waits for another program that
    /// locks it, until a signal comes.
    pub(super) fn open(path: &Path, is_signalled: Arc<AtomicBool>) -> Result<Database<'_>, Stop> {
        let refused = |refusal: Refusal| Stop::Message(format!("{}: {refusal}", path.display()));
        let connection = Connection::open(path).map_err(Refusal::from).map_err(refused)?;
        connection.busy_timeout(PATIENCE).map_err(Refusal::from).map_err(refused)?;
        let (file, connection) = (claim(path)?, Some(connection));
        let mut database = Database { path, file, connection, is_locked: false, is_signalled };
        while !database.is_free()? {
            if database.is_signalled.load(Ordering::Relaxed) {
                return Err(Stop::Message(format!(
                    "{}: locked by another program; nothing was added",
                    path.display()
                )));
            }
        }
        if let Some(connection) = &database.connection {
            begin_shared(connection).map_err(refused)?;
        }
        Ok(database)
    }

    /// Ends the work: the database becomes one file, unless others use it.
    pub(super) fn close(mut self) -> Result<(), Stop> {
        self.check()?;
        let Some(connection) = self.connection.take() else { return Err(Stop::Closed) };
        end_shared(connection).map_err(|refusal| self.refused(refusal))
    }

    /// Checks that the file is where it was: rows in another one are lost.
    pub(super) fn check(&self) -> Result<(), Stop> {
        let place = |metadata: io::Result<Metadata>| metadata.ok().map(|at| (at.dev(), at.ino()));
        if place(fs::metadata(self.path)) == place(self.file.metadata()) {
            return Ok(());
        }
        let what = "was deleted or replaced; start the command again to make it from the logs";
        Err(Stop::Message(format!("{}: {what}", self.path.display())))
    }

    /// Returns whether the database can be changed now. A line tells it if it cannot, once.
    pub(super) fn is_free(&mut self) -> Result<bool, Stop> {
        let is_free = self.lock()?;
        if let Some(connection) = self.connection.as_ref().filter(|_| is_free) {
            connection.execute_batch("ROLLBACK").map_err(|error| self.refused(error.into()))?;
        }
        Ok(is_free)
    }

    /// Begins a transaction. Returns whether no other program hinders it.
    fn lock(&mut self) -> Result<bool, Stop> {
        let Some(connection) = &self.connection else { return Err(Stop::Closed) };
        let is_locked = match connection.execute_batch("BEGIN IMMEDIATE") {
            Ok(()) => false,
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => true,
            Err(error) => return Err(self.refused(error.into())),
        };
        if is_locked && !self.is_locked {
            let what = "locked by another program; waiting";
            complain(&format!("eventcnv: {}: {what}\n", self.path.display()));
        }
        self.is_locked = is_locked;
        Ok(!is_locked)
    }

    fn refused(&self, refusal: Refusal) -> Stop {
        Stop::Message(format!("{}: {refusal}", self.path.display()))
    }

    /// Changes the database, in a transaction that `work` ends. Another program may have locked it
    /// since a look: then this waits.
    pub(super) fn change<T>(
        &mut self,
        work: impl FnOnce(Connection) -> Result<(Connection, T), Refusal>,
    ) -> Result<T, Stop> {
        while !self.lock()? {
            if self.is_signalled.load(Ordering::Relaxed) {
                let what = "locked by another program; the last look is missing";
                return Err(Stop::Message(format!("{}: {what}", self.path.display())));
            }
        }
        let Some(connection) = self.connection.take() else { return Err(Stop::Closed) };
        let (connection, result) = work(connection).map_err(|refusal| self.refused(refusal))?;
        self.connection = Some(connection);
        Ok(result)
    }
}

/// Opens a database, and claims it. SQLite has locks of another kind on Linux, and the same kind
/// elsewhere: there a second follower is not noticed.
fn claim(path: &Path) -> Result<File, Stop> {
    let refused = |what| Stop::Message(format!("{}: {what}", path.display()));
    let file = File::open(path).map_err(|error| refused(error.to_string()))?;
    let is_noticed = cfg!(any(target_os = "linux", target_os = "android"));
    if is_noticed && matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
        let what = "another follower writes to it; name all logs in one command, or another \
                    database";
        return Err(refused(what.to_owned()));
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;
    use std::time::Duration;

    /// `.cnv.follow.sql`: a lock that another program takes between a look and a change, for longer
    /// than SQLite waits.
    #[test]
    fn a_change_waits_for_a_lock_that_came_after_the_look() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let is_signalled = Arc::new(AtomicBool::new(false));
        let mut database = Database::open(&path, is_signalled.clone()).unwrap();
        assert!(database.is_free().unwrap());
        let work = |connection: Connection| {
            connection.execute_batch("CREATE TABLE t (a); COMMIT")?;
            Ok((connection, 7))
        };
        let other = Connection::open(&path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let unlock = thread::spawn(move || {
            thread::sleep(Duration::from_millis(400));
            other.execute_batch("ROLLBACK").unwrap();
            other
        });
        assert_eq!(database.change(work).unwrap(), 7);
        // So does one that opens it.
        drop(database);
        let other = unlock.join().unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let unlock = thread::spawn(move || {
            thread::sleep(Duration::from_millis(400));
            other.execute_batch("ROLLBACK").unwrap();
            other
        });
        let mut database = Database::open(&path, is_signalled.clone()).unwrap();
        // A signal ends the wait.
        let other = unlock.join().unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        is_signalled.store(true, Ordering::Relaxed);
        assert!(
            matches!(database.change(work), Err(Stop::Message(text)) if text.contains("locked"))
        );
        assert!(!database.is_free().unwrap());
    }
}
