//! Programs that tests compile, and how they are run.
#![allow(dead_code, reason = "each file of tests uses a part")]

use lens_paths::plan::Options;
use lens_paths::walk::{Collection, Step as Walked, Walker};
use record_paths::{Choice, Gathered, Hits, Job, Launch, Step, Subject, gather};
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

/// Runs a program by the breakpoints of a plan for one machine.
pub(crate) fn collected(subject: &Subject, choice: &Choice, launch: &Launch) -> (Gathered, Hits) {
    let planned = subject.plan(&Options::default()).unwrap();
    let jobs = record_paths::jobs(subject, choice, &planned, launch).unwrap();
    jobs[0].run(subject, &launch.starter, Some(0)).unwrap()
}

/// A walked path.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Its blocks.
    pub(crate) path: Vec<Step>,
    /// Blocks before the first unknown part.
    pub(crate) sure: usize,
    /// Unknown parts.
    pub(crate) unknown: u64,
    /// Whether nothing is unknown.
    pub(crate) is_whole: bool,
}

/// Plans, runs all jobs, and walks.
pub(crate) fn walk(
    subject: &Subject,
    choice: &Choice,
    launch: &Launch,
    options: &Options,
) -> Found {
    let planned = subject.plan(options).unwrap();
    let jobs = record_paths::jobs(subject, choice, &planned, launch).unwrap();
    let run = |job: &Job| {
        let (run, _) = job.run(subject, &launch.starter, Some(0)).unwrap();
        (format!("run {}", job.run), run)
    };
    let runs = gather(&jobs, jobs.iter().map(run).collect()).unwrap();
    let profiles: Vec<_> = jobs.iter().map(Job::profile).collect();
    let collections = runs.into_iter().map(|run| Collection {
        letters: run.letters,
        begins: true,
        ends: run.is_whole,
    });
    let collections: Vec<Collection> = collections.collect();
    let mut found = Found::default();
    let mut sure = None;
    let walker = Walker::new(subject.program(), &profiles).unwrap();
    let walked = walker.walk(&collections, &mut |step| match step {
        Walked::Block(function, block) => found.path.push((function, block)),
        Walked::Unknown(_) | Walked::Unwound(_) => {
            sure.get_or_insert(found.path.len());
        }
        _ => {}
    });
    let walked = walked.unwrap();
    found.sure = sure.unwrap_or(found.path.len());
    found.unknown = walked.unknown;
    found.is_whole = walked.is_whole;
    found
}
