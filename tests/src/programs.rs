//! The programs that the tests run: the dumper, the program that records, and those of the system.
//!
//! ```text
//!  eventcnv()   built once, by the same cargo
//!  replay()     the same, with the library that records
//!  release()    a program as it is shipped
//!  plugin()     a shared library
//!  system()     python3, strace, gdb, … ── missing? ──▶ the test fails and says so
//! ```
//!
//! Tests run what users run: `.dumper` in `design/telemetry.md`.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The dumper, built if it was not: `cargo test -p tests` alone does not build it.
pub fn eventcnv() -> Command {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    Command::new(PROGRAM.get_or_init(|| build("eventcnv")))
}

/// The replayer, built if it was not, and beside it the library that records.
pub fn replay() -> Command {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    Command::new(PROGRAM.get_or_init(|| {
        let program = build("replay");
        let directory = program.parent().expect("a program is in a directory");
        let target = directory.parent().expect("a profile's directory is in one");
        let profile = if directory.ends_with("release") { "release" } else { "dev" };
        build_as("interpose", ["--lib", "--offline"], profile, target);
        program
    }))
}

/// Builds a program of the workspace as this one was built, and says where it is.
fn build(name: &str) -> PathBuf {
    let this = env::current_exe().expect("a test has a path");
    // …/target/debug/deps/test-0123: two up is where programs are.
    let directory = this.ancestors().nth(2).expect("a test is in target/PROFILE/deps");
    let target = directory.parent().expect("a profile's directory is in one");
    let profile = if directory.ends_with("release") { "release" } else { "dev" };
    build_as(name, ["--bin", name], profile, target);
    directory.join(format!("{name}{}", env::consts::EXE_SUFFIX))
}

/// Builds a program of a member of the workspace as it is shipped, and says where it is.
pub fn release(member: &str, name: &str) -> PathBuf {
    let this = env::current_exe().expect("a test has a path");
    let target = this.ancestors().nth(3).expect("a test is in target/PROFILE/deps");
    build_as(member, ["--bin", name], "release", target);
    target.join("release").join(format!("{name}{}", env::consts::EXE_SUFFIX))
}

/// Builds the shared library of the tests, and says where it is.
pub fn plugin() -> PathBuf {
    let this = env::current_exe().expect("a test has a path");
    let target = this.ancestors().nth(3).expect("a test is in target/PROFILE/deps");
    build_as("tests", ["--example", "plugin"], "dev", target);
    let name = format!("{}plugin{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    target.join("debug/examples").join(name)
}

fn build_as(member: &str, what: [&str; 2], profile: &str, target: &Path) {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--locked", "-p", member]).args(what);
    cargo.args(["--profile", profile, "--target-dir"]).arg(target);
    let status = cargo.current_dir(root()).status().expect("cargo can be run");
    assert!(status.success(), "cargo cannot build {what:?}");
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ is in the root").to_path_buf()
}

/// A program of the system that `./test` installs.
pub fn system(name: &str) -> Command {
    let answers = Command::new(name).arg("--version").output().is_ok();
    assert!(answers, "this test runs {name}, which is not installed; ./test installs it");
    Command::new(name)
}

/// A command with the environment of a recording program: kinds, and the name of the log.
pub fn recording(mut command: Command, kinds: &str, log: &Path) -> Command {
    command.env("MPS_TELEMETRY_CONTROL", kinds).env("MPS_TELEMETRY_FILENAME", log);
    command
}

/// Runs a command that must succeed; what it printed.
pub fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{errors}", output.status);
    output
}

/// The lines that a command prints, which must succeed.
pub fn lines(command: &mut Command) -> Vec<String> {
    let output = run(command);
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

/// How long what must come may take: far longer than on any machine.
const WAIT_MAX: Duration = Duration::from_secs(120);

/// Waits until it is so.
pub fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < WAIT_MAX, "{what}: {WAIT_MAX:?} are over");
        std::thread::sleep(Duration::from_millis(1));
    }
}
