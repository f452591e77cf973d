//! Runs the tool and compares golden files, for all tests.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Returns the tool, without the environment of the user.
pub(crate) fn eventcnv(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_eventcnv"));
    command.args(args).stdin(Stdio::null());
    command.env_remove("MPS_TELEMETRY_FILENAME").env_remove("MPS_TELEMETRY_SOCKET");
    command
}

/// Runs the tool. Returns standard output, the exit code, and standard error.
pub(crate) fn run(args: &[&str]) -> (Vec<u8>, i32, String) {
    told(eventcnv(args).output().unwrap())
}

/// Returns the parts of an output. A panic would be exit code 101; a signal would leave none.
pub(crate) fn told(output: Output) -> (Vec<u8>, i32, String) {
    let code = output.status.code().expect("no signal ends the tool");
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!([0, 1, 2, 3].contains(&code), "exit code {code}: {errors}");
    (output.stdout, code, errors)
}

/// Returns the path of a golden file.
pub(crate) fn golden_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// Returns the path of a golden log of the MPS, as an argument.
#[allow(dead_code, reason = "not every test file reads a log of the MPS")]
pub(crate) fn mps(name: &str) -> String {
    golden_path("mps").join(name).to_str().unwrap().to_owned()
}

/// Compares with a golden file, or rewrites it if `BLESS` is set.
#[allow(dead_code, reason = "not every test file has golden files that may be rewritten")]
pub(crate) fn assert_golden(name: &str, found: &[u8]) {
    let path = golden_path(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, found).unwrap();
    }
    let expected = std::fs::read(&path).unwrap_or_default();
    assert!(
        found == expected,
        "{name} differs; BLESS=1 rewrites it. Found:\n{}",
        String::from_utf8_lossy(found)
    );
}
