//! Runs gdb in batch mode, and returns the output of each command.
//!
//! ```text
//!  Session::of("threads 8 1500") ── run(["telemetry dump"]) ──▶ gdb ──▶ [text]
//!                                          └ after DEADLINE: killed, and the test fails
//! ```
//!
//! Rules: `.debug.commands` in `design/telemetry.md`.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::iter;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tests::programs::{eventcnv, release, root, run, system};

/// The time limit of a session.
const DEADLINE: Duration = Duration::from_secs(150);
/// Marks the beginning of a command's output.
const MARK: char = '\u{1}';

/// A session of gdb: its target, its first commands, its environment.
pub(crate) struct Session {
    /// Arguments of gdb: the program and its arguments, or a core.
    pub(crate) arguments: Vec<String>,
    /// Commands at the beginning, whose output is ignored.
    pub(crate) preparation: Vec<String>,
    /// The environment of the program.
    pub(crate) environment: Vec<(&'static str, String)>,
    /// The working directory, which keeps the results.
    pub(crate) directory: TempDir,
}

impl Session {
    /// Returns a session without a program, with the commands of `telemetry`.
    pub(crate) fn empty() -> Session {
        Session {
            arguments: Vec::new(),
            preparation: vec![source()],
            environment: Vec::new(),
            directory: tempfile::tempdir().expect("a directory can be made"),
        }
    }

    /// Returns a session of a program that has run to the first `stop_here`, or until it died.
    pub(crate) fn of_program(program: &Path, words: &str) -> Session {
        let mut session = Session::empty();
        session.arguments = vec!["--args".to_owned(), text(program)];
        session.arguments.extend(words.split(' ').map(str::to_owned));
        session.preparation.extend(["break stopping::stop_here", "run"].map(str::to_owned));
        session
    }

    /// Returns a session of the program `stopping`.
    pub(crate) fn of(words: &str) -> Session {
        Session::of_program(Path::new(env!("CARGO_BIN_EXE_stopping")), words)
    }

    /// Returns a session of a core, without its program.
    pub(crate) fn of_core(core: &Path) -> Session {
        let mut session = Session::empty();
        session.arguments = vec!["-c".to_owned(), text(core)];
        session
    }

    /// Returns a path in the directory of the session.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Runs gdb. Returns the output of each command.
    pub(crate) fn run<C: AsRef<str>>(&self, commands: &[C]) -> Vec<String> {
        let commands = commands.iter().map(|command| command.as_ref().to_owned());
        let all: Vec<String> = self.preparation.iter().cloned().chain(commands).collect();
        let (list, output) = (self.path("session"), self.path("output"));
        fs::write(&list, all.join("\n")).expect("commands can be written");
        let mut gdb = system("gdb");
        gdb.args(["-nx", "-batch", "-iex", "set debuginfod enabled off"]);
        gdb.args(["-iex", "set auto-load safe-path /"]);
        gdb.args(["-ex", "set confirm off", "-ex", "set style enabled off"]);
        gdb.arg("-ex").arg(format!("source {}", text(&root().join("tests/gdb/session.py"))));
        gdb.args(&self.arguments).current_dir(self.directory.path());
        gdb.env("GDB_SESSION", &list).env("LC_ALL", "C.UTF-8").stdin(Stdio::null());
        gdb.env("PATH", path()).envs(self.environment.iter().map(|(name, value)| (name, value)));
        let out = File::create(&output).expect("a file can be made");
        gdb.stderr(out.try_clone().expect("a file has two names")).stdout(out);
        let said = within_deadline(&mut gdb, &output);
        let said: Vec<&str> = said.split(MARK).skip(1).collect();
        assert_eq!(said.len(), all.len(), "gdb skipped a command: {said:#?}");
        let pairs = all.iter().zip(&said).skip(self.preparation.len());
        pairs.map(|(command, said)| only_output(command, said)).collect()
    }
}

/// Returns the output of a command, which must never show that the command is written in Python.
fn only_output(command: &str, said: &str) -> String {
    let (first, output) = said.split_once('\n').unwrap_or((said, ""));
    assert_eq!(first, command);
    for mark in ["Traceback", "Python Exception", "occurred in Python"] {
        assert!(!output.contains(mark), "{command}: {output}");
    }
    output.to_owned()
}

/// Returns the output of a command, and kills it at the deadline.
fn within_deadline(command: &mut Command, output: &Path) -> String {
    let mut child = command.spawn().expect("gdb can be started");
    let begin = Instant::now();
    let is_late = loop {
        if child.try_wait().expect("a child can be waited for").is_some() {
            break false;
        }
        if begin.elapsed() > DEADLINE {
            child.kill().expect("a child can be killed");
            child.wait().expect("a child can be waited for");
            break true;
        }
        thread::sleep(Duration::from_millis(20));
    };
    let mut said = Vec::new();
    File::open(output).and_then(|mut file| file.read_to_end(&mut said)).expect("a file is read");
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(!is_late, "gdb took longer than {DEADLINE:?}: {said}");
    said
}

/// Returns the search path of programs, with the directory of `eventcnv` first.
pub(crate) fn path() -> OsString {
    let eventcnv = PathBuf::from(eventcnv().get_program());
    let directory = eventcnv.parent().expect("a program is in a directory").to_owned();
    let others = env::var_os("PATH").unwrap_or_default();
    let all = iter::once(directory).chain(env::split_paths(&others));
    env::join_paths(all).expect("directories without colons")
}

/// Returns the gdb command that loads the commands.
pub(crate) fn source() -> String {
    format!("source {}", text(&root().join("telemetry/gdb/telemetry.py")))
}

/// Returns the program as it is shipped, optimised, and the same program stripped.
pub(crate) fn shipped() -> &'static (TempDir, PathBuf, PathBuf) {
    static PROGRAMS: OnceLock<(TempDir, PathBuf, PathBuf)> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let [whole, stripped] = ["stopping", "stripped"].map(|name| directory.path().join(name));
        fs::copy(release("stopping", &[]), &whole).expect("a program can be copied");
        run(Command::new("strip").arg("-o").args([&stripped, &whole]));
        (directory, whole, stripped)
    })
}

/// Returns a path as text.
pub(crate) fn text(path: &Path) -> String {
    path.to_str().expect("a path of ours is text").to_owned()
}
