//! Jobs: each run of a plan on a machine of its own, and what tells a wrong one.
//!
//! ```text
//!  plan ─▶ jobs ─ text ─▶ other machines ─▶ logs ─ gather ─▶ collections │ what is wrong
//! ```
//!
//! Design: `.collect.jobs` in `design/collect.md`.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod common;

use common::{compile, jobs, launch};
use lens_paths::plan::Options;
use record_paths::{Choice, CollectError, Gathered, Job, Launch, Sites, Subject, collect, gather};
use std::fs::{self, File};
use std::path::Path;

fn two() -> Options {
    Options { machines: 2, ..Options::default() }
}

/// Runs jobs as other machines do: from their texts, to logs. Returns what the logs tell.
fn run(folder: &Path, jobs: &[Job], launch: &Launch) -> Vec<(String, Gathered)> {
    let all = jobs.iter().map(|job| {
        let job = Job::read(&job.write()).unwrap();
        let (run, _) = job.run(&job.subject().unwrap(), &launch.starter, None).unwrap();
        let name = format!("job-{}.log", job.run);
        let path = folder.join(&name);
        record_paths::log::write(&run, &mut File::create(&path).unwrap()).unwrap();
        let read = record_paths::log::read(&path).unwrap();
        assert_eq!(read, run);
        (name, read)
    });
    all.collect()
}

#[test]
fn a_lost_doubled_or_foreign_job_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), "gcc", &["-O1"], "maze.c");
    let subject = Subject::read(&program, &Choice::default()).unwrap();
    let plan = jobs(&subject, &launch(&program, &[]), &two());
    assert_eq!(plan.len(), 2);
    let runs = run(folder.path(), &plan, &launch(&program, &[]));
    assert_eq!(gather(&plan, runs.clone()).unwrap().len(), 2);

    let wrong = |runs| gather(&plan, runs).unwrap_err();
    assert_eq!(wrong(runs[..1].to_vec()), ["run 1 is lost: job 2 of 2"]);
    let doubled = [&runs[..], &[("copy.log".to_owned(), runs[0].1.clone())]].concat();
    assert_eq!(wrong(doubled), ["copy.log: is doubled: job-0.log has run 0 too"]);

    // Of other arguments; of another plan; of another execution.
    let leaves = launch(&program, &["leave"]);
    let other = run(folder.path(), &jobs(&subject, &leaves, &two()), &leaves);
    let mixed = wrong(vec![runs[0].clone(), ("leave.log".to_owned(), other[1].1.clone())]);
    assert_eq!(mixed[0], "leave.log: is foreign: of other arguments, environment or input");
    let one = run(folder.path(), &jobs(&subject, &leaves, &Options::default()), &leaves);
    let mixed = wrong([&runs[..], &[("one.log".to_owned(), one[0].1.clone())]].concat());
    assert_eq!(mixed, ["one.log: is foreign: a run of another plan"]);
    let mut differs = runs.clone();
    differs[1].1.output ^= 1;
    let mixed = wrong(differs);
    assert_eq!(mixed, ["job-1.log: is of another execution than job-0.log: its output differs"]);
}

#[test]
fn a_job_refuses_a_program_that_changed() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), "gcc", &["-O1"], "maze.c");
    let subject = Subject::read(&program, &Choice::default()).unwrap();
    let plan = jobs(&subject, &launch(&program, &[]), &two());
    compile(folder.path(), "gcc", &["-O2"], "maze.c");
    let error = plan[0].subject().unwrap_err().to_string();
    assert!(error.ends_with("maze_c: is not the file of the plan"), "{error}");
    let error = Job::read("{\"version\": 1}").unwrap_err().to_string();
    assert!(error.contains("missing field"), "{error}");
}

#[test]
fn a_damaged_log_of_a_run_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), "gcc", &["-O1"], "maze.c");
    let subject = Subject::read(&program, &Choice::default()).unwrap();
    let plan = jobs(&subject, &launch(&program, &[]), &Options::default());
    let (_, whole) = run(folder.path(), &plan, &launch(&program, &[])).remove(0);
    let path = folder.path().join("job-0.log");
    let bytes = fs::read(&path).unwrap();
    for size in (0..bytes.len()).step_by(bytes.len() / 9) {
        fs::write(&path, &bytes[..size]).unwrap();
        // The last bytes may be padding.
        let read = record_paths::log::read(&path);
        assert!(read.is_err() || read.is_ok_and(|own| own == whole), "{size} of {}", bytes.len());
    }
}

#[test]
fn a_program_that_begins_a_thread_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), "gcc", &["-O1", "-pthread"], "threads.c");
    let subject = Subject::read(&program, &Choice::default()).unwrap();
    let sites = Sites::new(&subject.chart, []).unwrap();
    let result = collect(&launch(&program, &[]), subject.binary.entry, &sites, Some(0));
    assert!(matches!(result, Err(CollectError::Thread)), "{result:?}");
}

#[test]
fn a_path_that_depends_on_the_process_differs_when_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), "gcc", &["-O0"], "differs.c");
    let subject = Subject::read(&program, &Choice::default()).unwrap();
    let plan = jobs(&subject, &launch(&program, &[]), &Options::default());
    let once = || run(folder.path(), &plan, &launch(&program, &[])).remove(0).1.letters;
    let first = once();
    assert!((0..8).any(|_| once() != first));
}
