//! Runs a test in a process of its own, and reads the log that the process leaves.
//!
//! ```text
//!  ran(test, environment, what) ─▶ the process ─▶ mpsio.log ─ reader ─▶ lines of each thread
//! ```
#![allow(dead_code, missing_docs, unreachable_pub, reason = "each test uses some of it")]

use eventlog::reader::{Event, Filter, Log, Order, Value};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Set in a test process.
pub const PROCESS_VARIABLE: &str = "CALLS_TEST_PROCESS";
/// Switches the recording of calls on.
pub const ON: (&str, &str) = ("MPS_TELEMETRY_CONTROL", "Call");

/// The folder and the messages that a test process left.
pub struct Ran {
    pub folder: tempfile::TempDir,
    pub stderr: String,
}

impl Ran {
    /// Returns the log under its usual name.
    pub fn log(&self) -> Log {
        self.log_named("mpsio.log")
    }

    pub fn log_named(&self, name: &str) -> Log {
        open(&self.folder.path().join(name))
    }

    /// Returns the names of the files in the folder.
    pub fn files(&self) -> Vec<String> {
        let files = self.folder.path().read_dir().unwrap();
        let mut names: Vec<String> =
            files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Returns the messages of the runtime.
    pub fn said(&self) -> Vec<&str> {
        self.stderr.lines().filter(|line| line.starts_with("telemetry: ")).collect()
    }
}

pub fn open(path: &Path) -> Log {
    let log = Log::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(log.faults().iter().map(ToString::to_string).collect::<Vec<_>>(), [""; 0]);
    log
}

/// Runs `what` in a separate process with this environment, in an empty folder. The process runs
/// the named test again; there the function returns `None`.
pub fn ran(test: &str, environment: &[(&str, &str)], what: impl FnOnce()) -> Option<Ran> {
    if std::env::var_os(PROCESS_VARIABLE).is_some() {
        what();
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let output = command(test, environment).current_dir(folder.path()).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}\n{stdout}\n{stderr}", output.status);
    assert!(stdout.contains("1 passed"), "there is no test {test}");
    Some(Ran { folder, stderr })
}

/// Returns the command that runs a test of this program in a separate process.
pub fn command(test: &str, environment: &[(&str, &str)]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    command.env(PROCESS_VARIABLE, "1");
    for name in
        ["CONTROL", "FILENAME", "BLOCK_SIZE", "WRITER", "SOCKET", "POLICY", "CALLS", "PROFILE"]
    {
        command.env_remove(format!("MPS_TELEMETRY_{name}"));
    }
    command.envs(environment.iter().copied());
    command
}

/// Calls a function with each event of a log, in order of time.
pub fn each(log: &Log, mut what: impl FnMut(&Event<'_, '_>)) {
    let filter = Filter::new().labels(true);
    let mut events = log.events(Order::Time, &filter);
    while let Some(event) = events.next() {
        what(&event);
    }
    assert_eq!(events.faults().iter().map(ToString::to_string).collect::<Vec<_>>(), [""; 0]);
}

/// Returns the events of the registry `calls`, of each thread: the name, then the parameters, with
/// labels where they have one. A path lacks the name of its crate.
pub fn lines(log: &Log) -> BTreeMap<u32, Vec<String>> {
    let mut threads = BTreeMap::<u32, Vec<String>>::new();
    each(log, |event| {
        if &*event.registry.name == "calls" {
            threads.entry(event.thread).or_default().push(line(event));
        }
    });
    threads
}

/// Returns the lines of a log with one thread, and after them the counts that the thread which
/// exits tells.
pub fn lines_of_one(log: &Log) -> Vec<String> {
    let threads = lines(log);
    let is_count = |line: &String| line.starts_with("CallsMuted");
    let (told, threads): (Vec<_>, Vec<_>) =
        threads.into_values().partition(|lines| lines.iter().all(is_count));
    assert!(threads.len() <= 1, "{threads:?}");
    [threads, told].concat().concat()
}

fn line(event: &Event<'_, '_>) -> String {
    let mut line = event.name().to_owned();
    for (_, value) in event.params() {
        line.push(' ');
        let label = event.labels.label_id_of(value).and_then(|id| event.labels.string(id));
        match (label, value) {
            (Some(label), _) => line.push_str(&without_crate(&String::from_utf8_lossy(label))),
            (None, Value::P(0)) => line.push('-'),
            (None, value) => line.push_str(&value.to_string()),
        }
    }
    line
}

/// Returns a path without the name of the test's crate.
pub fn without_crate(path: &str) -> String {
    path.replace(concat!(env!("CARGO_CRATE_NAME"), "::"), "")
}

/// Returns the labels of the functions that a log knows, called or not, each with its place.
pub fn sources(log: &Log) -> BTreeMap<String, (String, [u64; 4])> {
    let mut found = BTreeMap::new();
    each(log, |event| {
        if event.name() == "Source" {
            let number = |name: &str| event.param(name).unwrap().as_u64().unwrap();
            let label = event.labels.label(number("address")).expect("the site has a label");
            let file = event.param("file").unwrap().as_str().unwrap().to_owned();
            let place = ["line", "column", "offset", "size"].map(number);
            found.insert(without_crate(&String::from_utf8_lossy(label)), (file, place));
        }
    });
    found
}
