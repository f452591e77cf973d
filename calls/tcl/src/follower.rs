//! The database of a log, which `eventcnv` makes in a process of its own.
//!
//! ```text
//!  turtles-PID.log ─ eventcnv follow ─▶ turtles-PID.db, also after this process was killed
//! ```
//!
//! Design: `.calls.tcl.database` in `design/calls.md`.

use crate::system;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// The environment variable with the path of the program.
const VARIABLE: &str = "EVENTCNV";
const PROGRAM: &str = "eventcnv";
/// The time that it may take to start.
const START_TIME_MAX: Duration = Duration::from_secs(10);
/// The time that it may take until it writes to the database, or ends.
const END_TIME_MAX: Duration = Duration::from_secs(30);
const STEP_TIME: Duration = Duration::from_millis(100);

/// The process that keeps the database of a log up to date.
pub(crate) struct Follower {
    /// Ends when the process ends.
    output: ChildStdout,
    number: u32,
    /// A file that exists while it works: SQLite's log of the database.
    sign: PathBuf,
    database: PathBuf,
    /// The process that started it.
    owner: u32,
}

impl Follower {
    /// Starts it, or tells in one line what to run.
    pub(crate) fn start(log: &Path) -> Option<Follower> {
        let Some(program) = program() else {
            let places = "$EVENTCNV, next to libturtles.so, or in PATH";
            tell(log, &format!("{PROGRAM} is not in {places}"));
            return None;
        };
        let failed = |error| tell(log, &format!("cannot start {}: {error}", program.display()));
        start(&program, log).map_err(failed).ok()
    }

    /// Ends it. Then the database has all that the log has.
    pub(crate) fn end(self) {
        if self.owner != std::process::id() {
            return;
        }
        // Before its first work it does not know signals yet.
        let begin = Instant::now();
        while !self.sign.exists()
            && !system::is_at_end_in(&self.output, Duration::ZERO)
            && begin.elapsed() < START_TIME_MAX
        {
            std::thread::sleep(Duration::from_millis(1));
        }
        // Another process may have the number of one that has ended.
        if !system::is_at_end_in(&self.output, Duration::ZERO) {
            system::terminate(self.number);
        }
        if !self.is_ended_in_time() {
            let database = self.database.display();
            // A program without standard error goes on.
            let _ = writeln!(
                std::io::stderr(),
                "turtles: {database}: {PROGRAM} has written nothing for {} s; the program goes on \
                 without it (process {})",
                END_TIME_MAX.as_secs(),
                self.number
            );
        }
    }

    /// Waits until it ends, or writes nothing more for a while.
    fn is_ended_in_time(&self) -> bool {
        let written = || {
            let facts = [&self.sign, &self.database].map(|path| std::fs::metadata(path).ok());
            facts.map(|facts| facts.map(|facts| (facts.len(), facts.modified().ok())))
        };
        let mut before = (written(), Instant::now());
        while !system::is_at_end_in(&self.output, STEP_TIME) {
            let now = written();
            if now != before.0 {
                before = (now, Instant::now());
            } else if before.1.elapsed() > END_TIME_MAX {
                return false;
            }
        }
        true
    }
}

fn start(program: &Path, log: &Path) -> std::io::Result<Follower> {
    // The shell ends at once, so the program has no child that it does not know. It prints the
    // number of the follower, which keeps the output open until its end.
    let mut command = Command::new("/bin/sh");
    command.args(["-c", r#""$0" "$@" </dev/null 3>&1 >/dev/null & echo $!"#]).arg(program);
    command.args(["follow", "--family"]).arg(log).arg("--sql").arg(database(log));
    // A key that ends the program does not end the follower.
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut shell = command.spawn()?;
    let mut output = shell.stdout.take().ok_or(std::io::ErrorKind::BrokenPipe)?;
    let mut line = Vec::new();
    let mut byte = [0];
    while output.read(&mut byte)? == 1 && byte != *b"\n" {
        line.extend(byte);
    }
    // A program that ignores SIGCHLD has no status to wait for.
    let _ = shell.wait();
    let number = std::str::from_utf8(&line).ok().and_then(|line| line.parse().ok());
    let number = number.ok_or(std::io::ErrorKind::InvalidData)?;
    let database = database(log);
    let mut sign = database.clone().into_os_string();
    sign.push("-wal");
    Ok(Follower { output, number, sign: sign.into(), database, owner: std::process::id() })
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
        "turtles: {shown}: no database follows the log ({what}); \
         run: {PROGRAM} sql {shown} -o {database}"
    );
}

/// Finds the program.
fn program() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
        return Some(named.into());
    }
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let folders = system::folder().into_iter().chain(std::env::split_paths(&paths));
    folders.map(|folder| folder.join(PROGRAM)).find(|path| path.is_file())
}
