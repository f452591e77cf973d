//! The programs that are measured, alone and recorded: what they are, and how they are recorded.
//!
//! ```text
//!  sort │ python3 │ python3, each object a call of malloc ─▶ Command ─ LD_PRELOAD ─▶ log
//! ```
//!
//! Shared with the benchmark of `replay`. Design: `.rep.record` in `design/replay.md`.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const LINE_COUNT: u64 = 500_000;

/// Lists, strings and dictionaries of all sizes, for a while.
const SCRIPT: &str = "
kept = {}
for i in range(300000):
    kept[i % 5000] = ('x' * (i % 1500 + 1), [i] * (i % 100), {'a': i})
";

/// What is run, and with what in its environment.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    command: Vec<String>,
    environment: &'static [(&'static str, &'static str)],
}

impl Program {
    /// It alone.
    pub(crate) fn command(&self) -> Command {
        let (name, arguments) = self.command.split_first().expect("a program");
        let mut command = Command::new(name);
        command.args(arguments).envs(self.environment.iter().copied()).stdout(Stdio::null());
        command
    }

    /// Has it recorded.
    pub(crate) fn record(&self, command: &mut Command, library: &Path, log: &Path) {
        // A new file, not one over the log of the last run.
        let _ = fs::remove_file(log);
        command.env("LD_PRELOAD", library).env("TELEMETRY_CONTROL", "Object");
        command.env("TELEMETRY_FILENAME", log);
    }
}

/// All of them; what they read is in a folder.
pub(crate) fn programs(folder: &Path) -> [Program; 3] {
    let text = folder.join("text").to_str().expect("UTF-8").to_owned();
    fs::write(&text, lines()).expect("room for a text");
    let python = answer("python3", &["-c", "import sys; print(sys.executable)"]);
    let script = || vec![python.clone(), "-c".to_owned(), SCRIPT.to_owned()];
    let sort = ["sort", "-o", "/dev/null", &text].map(str::to_owned).to_vec();
    [
        Program { name: "sort", command: sort, environment: &[] },
        Program { name: "python3", command: script(), environment: &[] },
        // Each object of Python is a call: beyond what is required.
        Program {
            name: "python3-malloc",
            command: script(),
            environment: &[("PYTHONMALLOC", "malloc")],
        },
    ]
}

/// Lines in no order.
fn lines() -> String {
    let mut text = String::new();
    let mut number = 1u64;
    for index in 0..LINE_COUNT {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(index);
        let _ = writeln!(text, "{number:x} line {index}");
    }
    text
}

/// The library, as it is shipped.
pub(crate) fn library() -> PathBuf {
    let this = std::env::current_exe().expect("a benchmark has a path");
    let folder = this.ancestors().nth(2).expect("it is in target/release/deps");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut cargo = Command::new(cargo);
    cargo.args([
        "build",
        "--quiet",
        "--locked",
        "--release",
        "-p",
        "mps-interpose",
        "--target-dir",
    ]);
    cargo.arg(folder.parent().expect("a profile's folder is in one"));
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    assert!(cargo.status().expect("cargo can be run").success());
    folder.join("libinterpose.so")
}

fn answer(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().expect("the program exists");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
