//! The programs that the tests run: the tools, recording programs, and programs of the system.
//!
//! ```text
//!  eventcnv()   built once, by the same cargo
//!  replay()     the same, with the recording library
//!  release()    a program of a release build, in its own folder
//!  plugin()     a shared library
//!  system()     python3, strace, gdb, … ── missing? ──▶ the test fails with a message
//! ```
//!
//! Tests run what users run: `.dumper` in `design/telemetry.md`.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Once, OnceLock};
use std::time::{Duration, Instant};

/// Returns the dumper. Builds it if necessary: `cargo test -p tests` does not build it.
pub fn eventcnv() -> Command {
    built("eventcnv")
}

/// Returns the replayer, built if necessary, with the recording library in its directory.
pub fn replay() -> Command {
    built("replay")
}

/// Returns a program of the workspace, of the same profile.
fn built(name: &str) -> Command {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    let directory = DIRECTORY.get_or_init(|| {
        // …/target/debug/deps/test-0123: two up is where programs are.
        let this = env::current_exe().expect("a test has a path");
        let directory = this.ancestors().nth(2).expect("a test is in target/PROFILE/deps");
        build(if directory.ends_with("release") { "release" } else { "dev" });
        directory.to_path_buf()
    });
    Command::new(directory.join(format!("{name}{}", env::consts::EXE_SUFFIX)))
}

/// Returns an example of the workspace, built if necessary.
pub fn example(name: &str) -> PathBuf {
    built(&format!("examples/{name}")).get_program().into()
}

/// Builds the shared library of the tests. Returns its path.
pub fn plugin() -> PathBuf {
    static BUILT: Once = Once::new();
    BUILT.call_once(|| build("dev"));
    let name = format!("{}plugin{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    target().join("debug/examples").join(name)
}

/// Builds the programs and libraries exactly as `cargo test --workspace` does, so that neither
/// builds again. The features are those that the workspace, its tests and its examples request.
fn build(profile: &str) {
    let programs = [
        "--workspace",
        "--bin=eventcnv",
        "--bin=heap",
        "--bin=replay",
        "--bin=replay-interpose",
        "--lib",
    ];
    let examples = [
        "--example=plugin",
        "--example=matrix",
        "--example=shop",
        "--example=words",
        "--profile",
        profile,
    ];
    let what = [&programs, examples.as_slice()].concat();
    cargo("build", &target(), &what);
}

/// Builds a program of the tests in release form with these compiler options, and returns its path.
/// It is not next to this test's programs: other tests may run those while they are replaced.
pub fn release(name: &str, options: &[&str]) -> PathBuf {
    let target = target().join("shipped");
    let words = ["--release", "-p", "tests", "--bin", name, "--"];
    cargo("rustc", &target, &[&words, options].concat());
    target.join("release").join(format!("{name}{}", env::consts::EXE_SUFFIX))
}

/// Returns cargo's target directory, three levels above …/target/debug/deps/test-0123.
fn target() -> PathBuf {
    let this = env::current_exe().expect("a test has a path");
    this.ancestors().nth(3).expect("a test is in target/PROFILE/deps").to_path_buf()
}

fn cargo(command: &str, target: &Path, words: &[&str]) {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args([command, "--quiet", "--locked", "--target-dir"]).arg(target).args(words);
    run(cargo.current_dir(root()));
}

/// Returns the root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ is in the root").to_path_buf()
}

/// Returns a program of the system that `./test --install` installs.
pub fn system(name: &str) -> Command {
    let answers = Command::new(name).arg("--version").output().is_ok();
    assert!(answers, "{name}: not found; ./test --install installs it");
    Command::new(name)
}

/// Returns a command with the environment of a recording program: kinds, and the name of the log.
pub fn recording(mut command: Command, kinds: &str, log: &Path) -> Command {
    command.env("MPS_TELEMETRY_CONTROL", kinds).env("MPS_TELEMETRY_FILENAME", log);
    command
}

/// Returns whether the kernel writes a core into the directory of a program that dies.
pub fn kernel_writes_cores() -> bool {
    let pattern = std::fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    let pattern = pattern.trim();
    !pattern.is_empty() && pattern.starts_with("core") && !pattern.contains('/')
}

/// Runs a program that dies of a signal, in a folder. Returns the core there, by the kernel or gdb.
pub fn core_of(
    folder: &Path,
    program: &Path,
    words: &[&str],
    environment: &[(&str, &str)],
) -> PathBuf {
    let mut command = if kernel_writes_cores() {
        let mut command = Command::new("sh");
        // The shell lives on, and succeeds.
        command.args(["-c", "ulimit -c unlimited; \"$0\" \"$@\"; true"]);
        command
    } else {
        let mut gdb = system("gdb");
        gdb.args(["-q", "-batch", "-ex", "run", "-ex", "gcore core", "--args"]);
        gdb
    };
    command.arg(program).args(words).envs(environment.iter().copied()).current_dir(folder);
    run(&mut command);
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut paths = entries.map(|entry| entry.expect("an entry").path());
    let is_core = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("core"))
    };
    paths.find(is_core).expect("a core: neither the kernel nor gdb could write one")
}

/// Runs a command that must succeed. Returns its output.
pub fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{errors}", output.status);
    output
}

/// Runs a command that must succeed. Returns the lines that it prints.
pub fn lines(command: &mut Command) -> Vec<String> {
    let output = run(command);
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

/// Limits the wait for a condition; it is far longer than any machine needs.
pub const WAIT_MAX: Duration = Duration::from_secs(120);

/// Waits until a condition is true.
pub fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < WAIT_MAX, "{what}: not within {WAIT_MAX:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}
