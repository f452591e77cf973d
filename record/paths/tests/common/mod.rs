//! Programs that tests compile, and how they are run.

use lens_paths::plan::Options;
use record_paths::{Choice, Job, Launch, Subject};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles a program of `tests/programs`.
pub(crate) fn compile(folder: &Path, compiler: &str, flags: &[&str], source: &str) -> PathBuf {
    let program = folder.join(source.replace('.', "_"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(source);
    let mut command = Command::new(compiler);
    command.args(flags).arg("-o").arg(&program).arg(&source);
    let output = command.output().unwrap_or_else(|error| panic!("{compiler}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{compiler} {flags:?}: {errors}");
    program
}

/// Returns the command that becomes a traced program.
pub(crate) fn starter() -> Vec<OsString> {
    vec![env!("CARGO_BIN_EXE_record-paths-start").into()]
}

/// Returns how a program is run.
pub(crate) fn launch(program: &Path, arguments: &[&str]) -> Launch {
    Launch {
        starter: starter(),
        program: program.to_owned(),
        arguments: arguments.iter().map(OsString::from).collect(),
        ..Launch::default()
    }
}

/// Returns the jobs of a program.
pub(crate) fn jobs(subject: &Subject, launch: &Launch, options: &Options) -> Vec<Job> {
    let planned = subject.plan(options).unwrap();
    record_paths::jobs(subject, &Choice::default(), &planned, launch).unwrap()
}
