//! Jobs: the runs of a plan as files for any scheduler, and the path from their logs.
//!
//! ```text
//!  PROGRAM ─ paths plan --jobs DIR ─▶ DIR/job-0.json … ─ paths collect --job ─▶ DIR/job-0.log …
//!  DIR ─ paths walk ─▶ log "path" │ which job is lost, doubled or foreign
//! ```
//!
//! Design: `.collect.jobs` in `design/collect.md`.

use crate::ask::paths::inputs::{stop, text};
use crate::ask::paths::program::{Chosen, failed};
use crate::ask::paths::said::told;
use crate::ask::paths::{program, walk};
use crate::open::output::Output;
use cli::Stop;
use lens_paths::plan::Options;
use lens_paths::walk::Collection;
use record_paths::{Gathered, Job, Subject, gather};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

/// A program to make jobs of.
#[derive(Debug, clap::Args)]
pub(super) struct Jobs {
    /// Write a job for each run of a program to this new folder; "paths collect --job" runs one
    #[arg(long, value_name = "DIR", requires = "command",
          conflicts_with_all = ["graph", "weights", "log", "svg", "output"])]
    jobs: Option<PathBuf>,

    #[command(flatten)]
    chosen: Chosen,

    /// The program and its arguments
    #[arg(value_name = "PROGRAM", last = true, requires = "jobs")]
    command: Vec<OsString>,
}

/// Plans the runs of a program, and writes their jobs. Returns whether that was asked for.
pub(super) fn write(args: &Jobs, options: &Options) -> Result<bool, Stop> {
    let Some(folder) = &args.jobs else {
        return match args.command.is_empty() {
            true => Ok(false),
            false => Err(failed("a program needs --jobs DIR; or run it: paths collect -- PROGRAM")),
        };
    };
    let (_, jobs) = program::plan(&args.command, &args.chosen, options)?;
    fs::create_dir(folder).map_err(|error| stop(folder, &error))?;
    for job in &jobs {
        let path = folder.join(format!("job-{}.json", job.run));
        fs::write(&path, job.write()).map_err(|error| stop(&path, &error))?;
    }
    cli::complain(&format!(
        "eventcnv: {}: {}; run each: eventcnv paths collect --job FILE\n",
        folder.display(),
        cli::units::counted(jobs.len() as u64, "job")
    ));
    Ok(true)
}

/// Checks that runs are those of the jobs, and walks. Returns whether the path is whole.
pub(super) fn merge(
    subject: &Subject,
    jobs: &[Job],
    runs: Vec<(String, Gathered)>,
    output: &Output,
) -> Result<bool, Stop> {
    let runs = match gather(jobs, runs) {
        Ok(runs) => runs,
        Err(wrong) => {
            wrong.iter().for_each(|line| cli::complain(&format!("eventcnv: {line}\n")));
            return Err(Stop::Message("the runs are not those of one execution".into()));
        }
    };
    report_left(&runs);
    let profiles: Vec<_> = jobs.iter().map(Job::profile).collect();
    let collection =
        |run: Gathered| Collection { letters: run.letters, begins: true, ends: run.is_whole };
    let collections: Vec<Collection> = runs.into_iter().map(collection).collect();
    let (program, inputs) = (subject.program(), (output, &[][..]));
    let walked = walk::answer(program, &profiles, &collections, inputs, Path::new("plan"))?;
    cli::complain(&format!("eventcnv: {}: {}\n", output.path.display(), told(&walked)));
    Ok(walk::report(program, &walked))
}

/// Says which calls from code outside are left out. Each run has seen them.
fn report_left(runs: &[Gathered]) {
    const SAID_COUNT_MAX: usize = 8;
    let Some(run) = runs.first().filter(|run| !run.callbacks.is_empty()) else { return };
    let count = run.callbacks.iter().map(|(_, count)| count).sum();
    let said = run.callbacks.iter().take(SAID_COUNT_MAX);
    let mut said: Vec<String> = said.map(|(name, count)| format!("{name} {count}")).collect();
    if let Some(more) = run.callbacks.len().checked_sub(SAID_COUNT_MAX + 1) {
        said.push(format!("and of {} more", cli::units::counted(more as u64 + 1, "function")));
    }
    cli::complain(&format!(
        "eventcnv: left out: {} from code outside: {}\n",
        cli::units::counted_in_groups(count, "call"),
        said.join(", ")
    ));
}

/// Reads a folder of jobs and of their logs, and merges.
pub(super) fn walk_jobs(folder: &Path, output: &Output) -> Result<bool, Stop> {
    let mut names: Vec<PathBuf> = fs::read_dir(folder)
        .and_then(|all| all.map(|own| own.map(|own| own.path())).collect())
        .map_err(|error| stop(folder, &error))?;
    names.sort();
    let of = |extension: &str| -> Vec<&PathBuf> {
        names.iter().filter(|own| own.extension() == Some(OsStr::new(extension))).collect()
    };
    let mut jobs = Vec::new();
    for path in of("json") {
        jobs.push(Job::read(&text(path)?).map_err(|error| stop(path, &error))?);
    }
    jobs.sort_by_key(|job| job.run);
    let first = jobs.first().ok_or_else(|| stop(folder, &"has no job"))?;
    let is_one = |job: &Job| (&job.plan, job.runs) == (&first.plan, first.runs);
    if let Some(other) = jobs.iter().find(|job| !is_one(job)) {
        return Err(stop(folder, &format!("job {} is foreign: of another plan", other.run)));
    }
    if let Some(lost) =
        (0..first.runs).find(|run| jobs.iter().filter(|job| job.run == *run).count() != 1)
    {
        return Err(stop(folder, &format!("job {lost} is lost or doubled")));
    }
    let subject = first.subject().map_err(failed)?;
    let read = |path: &&PathBuf| {
        let name = path.file_name().unwrap_or_default().display().to_string();
        record_paths::log::read(path).map(|run| (name, run)).map_err(failed)
    };
    let runs = of("log").iter().map(read).collect::<Result<Vec<_>, Stop>>()?;
    merge(&subject, &jobs, runs, output)
}
