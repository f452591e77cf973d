//! The database of a log, which `eventcnv` makes in a process of its own.
//!
//! ```text
//!  turtles-PID.log ─ eventcnv follow ─▶ turtles-PID.db, also after this process was killed
//! ```
//!
//! Design: `.calls.tcl.database` in `design/calls.md`.

use crate::tcl;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The environment variable with the path of the program.
const VARIABLE: &str = "EVENTCNV";
const PROGRAM: &str = "eventcnv";

/// Starts a process that keeps the database of a log up to date, until this process has ended.
pub(crate) fn start(log: &Path) {
    let Some(program) = program() else {
        let said = "is not in $EVENTCNV, next to libturtles.so, or in PATH";
        return tell(log, &format!("no database follows the log ({PROGRAM} {said})"));
    };
    // The shell ends at once, so the program has no child that it does not know.
    let mut command = Command::new("/bin/sh");
    command.args(["-c", r#""$0" "$@" </dev/null >/dev/null &"#]).arg(program);
    command.arg("follow").arg(log).arg("--sql").arg(database(log));
    // A key that ends the program does not end the follower.
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null());
    if let Err(error) = command.status() {
        tell(log, &format!("no database follows the log (cannot start {PROGRAM}: {error})"));
    }
}

/// Completes the database of a log that has ended, before a program reads it.
pub(crate) fn complete(log: &Path) {
    let Some(program) = program() else { return };
    let mut command = Command::new(program);
    command.arg("sql").arg(log).arg("-o").arg(database(log));
    command.stdin(Stdio::null()).stdout(Stdio::null());
    if let Err(error) = command.status() {
        tell(log, &format!("the database may be incomplete (cannot start {PROGRAM}: {error})"));
    }
}

fn database(log: &Path) -> PathBuf {
    log.with_extension("db")
}

fn tell(log: &Path, what: &str) {
    let (shown, database) = (log.display(), database(log));
    let database = database.display();
    // A program without standard error goes on.
    let _ = writeln!(
        std::io::stderr(),
        "turtles: {shown}: {what}; run: {PROGRAM} sql {shown} -o {database}"
    );
}

/// Finds the program.
fn program() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
        return Some(named.into());
    }
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let folders = tcl::folder().into_iter().chain(std::env::split_paths(&paths));
    folders.map(|folder| folder.join(PROGRAM)).find(|path| path.is_file())
}
