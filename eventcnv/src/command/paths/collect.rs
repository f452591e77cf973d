//! Collects the path of a program that stays as it is, by breakpoints.
//!
//! ```text
//!  PROGRAM ─ graph ─ plan ─▶ jobs ─┬ one process for each, machines at once ─▶ runs ─ walk ─▶ log
//!                                  └ --jobs DIR: for any scheduler; --job FILE runs one
//! ```
//!
//! Design: `design/collect.md`.

use super::said::told;
use super::{say_all, stop, walk};
use crate::command::output::Output;
use cli::Stop;
use lens_paths::plan::{Kind, Options, PlanError};
use lens_paths::walk::Collection;
use record_paths::{Choice, CollectError, Gathered, Hits, Job, Launch, Planned, Subject, gather};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;

pub(super) const ABOUT: &str = "\
Runs a program with breakpoints at few places, and finds the whole path that it took: each block, \
each call. The program needs no source and no symbols. With several machines, several runs share \
the breakpoints, and run at the same time.

The program needs one thread, and the same path for the same input; --check tells whether it has. \
Its standard input is a file (--input) or nothing. Calls from libraries back into the program, \
signal handlers and the program's children are left out; they are counted where a breakpoint lies \
in them.

With --jobs each run becomes a file that any scheduler can hand to another machine; --job runs one \
of them, and \"paths walk\" checks and merges what they wrote.";

pub(super) const EXAMPLES: &str = "\
Examples:
  eventcnv paths collect -o path.log -- gzip -c notes.txt
  eventcnv paths collect --machines 2 --check -o path.log -- ./shop orders.txt
  eventcnv paths collect --main shop::main --only shop:: -o path.log -- ./shop
  eventcnv paths collect --machines 3 --jobs jobs -- gzip -c notes.txt
  parallel eventcnv paths collect --job ::: jobs/*.json && eventcnv paths walk jobs -o path.log

Exit status:
  0  the path is whole
  1  part of it is unknown, or the runs differ: standard error says where
  2  the program cannot be run, traced or planned, or the log cannot be written";

/// Find the path of a program without its source, by breakpoints
#[derive(Debug, clap::Args)]
pub(crate) struct Collect {
    /// Machines that share the breakpoints; here they are processors
    #[arg(long, value_name = "M", default_value_t = 1,
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    machines: u16,

    /// Breakpoints of a run that witness the path, at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,

    /// Witness blocks alone, no outcomes of jumps
    #[arg(long)]
    blocks: bool,

    /// The function where the path begins and ends
    #[arg(long, value_name = "NAME")]
    main: Option<String>,

    /// Only functions whose names have this part; all others are code outside
    #[arg(long, value_name = "PART")]
    only: Vec<String>,

    /// The file that the program reads as its standard input
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,

    /// Run everything twice, and compare
    #[arg(long)]
    check: bool,

    /// Write a job for each run to this new folder, and run nothing
    #[arg(long, value_name = "DIR", conflicts_with_all = ["check", "job"])]
    jobs: Option<PathBuf>,

    /// Run this job, and write its log next to it, or to --output
    #[arg(long, value_name = "FILE", conflicts_with_all = ["check", "command"])]
    job: Option<PathBuf>,

    /// The log of the path, or of a job's run: default path.log, or the job's name with .log
    #[arg(short, long, value_name = "LOG")]
    output: Option<PathBuf>,

    /// Replace an existing log
    #[arg(long)]
    force: bool,

    /// The program and its arguments
    #[arg(
        value_name = "PROGRAM",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required_unless_present = "job"
    )]
    command: Vec<OsString>,
}

/// Becomes a program that is traced
#[derive(Debug, clap::Args)]
pub(crate) struct Start {
    /// The program and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    command: Vec<OsString>,
}

/// Becomes the program. Returns only if that fails.
pub(super) fn start(args: &Start) -> Result<bool, Stop> {
    let Some((program, arguments)) = args.command.split_first() else { return Ok(false) };
    Err(Stop::Message(record_paths::enter(program, arguments).to_string()))
}

/// Collects. Returns whether the path is whole.
pub(crate) fn run(args: &Collect) -> Result<bool, Stop> {
    if let Some(path) = &args.job {
        return run_job(path, args);
    }
    let (subject, jobs) = plan(args)?;
    if let Some(folder) = &args.jobs {
        return write_jobs(folder, &jobs);
    }
    let runs = run_all(&subject, &jobs, args)?;
    if args.check {
        let again = run_all(&subject, &jobs, args)?;
        compare(&subject, &runs, &again)?;
    }
    pass_on(runs.first().map(|(_, hits)| hits))?;
    let named = |(gathered, _): (Gathered, _)| (format!("run {}", gathered.run), gathered);
    let runs = runs.into_iter().map(named).collect();
    merge(&subject, &jobs, runs, &args.output("path.log".into()))
}

impl Collect {
    fn output(&self, default: PathBuf) -> Output {
        Output { path: self.output.clone().unwrap_or(default), force: self.force }
    }
}

/// Reads the program, and plans its runs.
fn plan(args: &Collect) -> Result<(Subject, Vec<Job>), Stop> {
    let (program, arguments) = args.command.split_first().ok_or_else(|| failed("no program"))?;
    let program = find(program)?;
    let choice = Choice { root: args.main.clone(), functions: args.only.clone() };
    let subject = Subject::read(&program, &choice).map_err(failed)?;
    note_left(&subject);
    let options = Options {
        machines: usize::from(args.machines),
        limit: args.limit.map(|limit| limit as usize),
        kind: if args.blocks { Kind::Blocks } else { Kind::Edges },
    };
    let planned = match subject.plan(&options) {
        Ok(planned) => planned,
        Err(error) => {
            if let PlanError::Open(clashes) = &error {
                let lines = say_all(subject.program(), clashes);
                lines.iter().for_each(|line| cli::complain(&format!("  {line}\n")));
            }
            return Err(stop(&program, &error));
        }
    };
    report_plan(&planned);
    let launch = Launch {
        program,
        arguments: arguments.to_vec(),
        input: args.input.clone(),
        ..Launch::default()
    };
    let jobs = record_paths::jobs(&subject, &choice, &planned, &launch).map_err(failed)?;
    Ok((subject, jobs))
}

fn report_plan(planned: &Planned) {
    let sizes: Vec<String> =
        planned.runs.iter().map(|run| run.profile.size().to_string()).collect();
    let kind = if planned.kind == Kind::Edges { "edges and blocks" } else { "blocks" };
    cli::complain(&format!(
        "eventcnv: plan: {}, {kind}: {} witnesses\n",
        planned.strategy,
        sizes.join(" + ")
    ));
}

fn note_left(subject: &Subject) {
    let left: Vec<_> = subject.chart.left.iter().filter(|own| !own.troubles.is_empty()).collect();
    if let Some(first) = left.first() {
        cli::complain(&format!(
            "eventcnv: note: {} of the program are code outside, as not all their edges are known: \
             {} at {:#x}\n",
            cli::units::counted(left.len() as u64, "function"),
            first.name,
            first.start
        ));
    }
}

fn failed(error: impl std::fmt::Display) -> Stop {
    Stop::Message(error.to_string())
}

/// Returns the path of a program, as a shell finds it.
fn find(program: &OsStr) -> Result<PathBuf, Stop> {
    if program.as_encoded_bytes().contains(&b'/') {
        return Ok(program.into());
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found =
        std::env::split_paths(&folders).map(|own| own.join(program)).find(|own| own.is_file());
    found.ok_or_else(|| Stop::Message(format!("{}: program not found", program.display())))
}

fn starter() -> Result<Vec<OsString>, Stop> {
    let own = std::env::current_exe().map_err(failed)?;
    Ok(vec![own.into(), "paths".into(), "start".into(), "--".into()])
}

fn write_jobs(folder: &Path, jobs: &[Job]) -> Result<bool, Stop> {
    fs::create_dir(folder).map_err(|error| stop(folder, &error))?;
    for job in jobs {
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

fn run_job(path: &Path, args: &Collect) -> Result<bool, Stop> {
    let job = Job::read(&super::text(path)?).map_err(|error| stop(path, &error))?;
    let subject = job.subject().map_err(|error| stop(path, &error))?;
    let (gathered, hits) =
        job.run(&subject, &starter()?, None).map_err(|error| stop(path, &error))?;
    note(&hits);
    let output = args.output(path.with_extension("log"));
    output.write(&[path.to_owned()], |out| {
        record_paths::log::write(&gathered, out)
            .map_err(|error| io::Error::other(error.to_string()))
    })?;
    Ok(true)
}

type Ran = Result<Vec<(Gathered, Hits)>, CollectError>;

/// Runs the jobs: each machine its own, one after the other, on a processor of its own.
fn run_all(subject: &Subject, jobs: &[Job], args: &Collect) -> Result<Vec<(Gathered, Hits)>, Stop> {
    let starter = starter()?;
    let machine = |number: usize| -> Ran {
        let own = jobs.iter().filter(|job| job.machine == number);
        own.map(|job| job.run(subject, &starter, Some(number))).collect()
    };
    let machine = &machine;
    let results: Vec<Ran> = thread::scope(|scope| {
        let count = usize::from(args.machines);
        let threads: Vec<_> = (0..count).map(|own| scope.spawn(move || machine(own))).collect();
        let ended = || Err(CollectError::Job("a machine failed".into()));
        threads.into_iter().map(|own| own.join().unwrap_or_else(|_| ended())).collect()
    });
    let mut all = Vec::new();
    for result in results {
        all.extend(result.map_err(failed)?);
    }
    all.sort_by_key(|(gathered, _)| gathered.run);
    all.iter().for_each(|(_, hits)| note(hits));
    Ok(all)
}

/// Reports what a run cost and left out.
fn note(hits: &Hits) {
    let seconds = hits.duration.as_secs_f64();
    let each = seconds * 1e6 / hits.traps.max(1) as f64;
    let mut line = format!(
        "eventcnv: run: {} in {seconds:.3} s, {each:.1} us each",
        cli::units::counted_in_groups(hits.traps, "stop")
    );
    for (count, what) in [(hits.callbacks, "calls from outside"), (hits.children, "children")] {
        if count > 0 {
            line += &format!("; left out: {count} {what}");
        }
    }
    cli::complain(&format!("{line}\n"));
}

/// Fails if two executions differ.
fn compare(
    subject: &Subject,
    one: &[(Gathered, Hits)],
    other: &[(Gathered, Hits)],
) -> Result<(), Stop> {
    for ((one, _), (other, _)) in one.iter().zip(other) {
        if one == other {
            continue;
        }
        let pairs = one.letters.iter().zip(&other.letters);
        let at = pairs.take_while(|(one, other)| one == other).count();
        let said = |letters: &[u32]| {
            let element = letters.get(at).map(|own| lens_paths::graph::ElementId(*own));
            let element = element.and_then(|own| subject.program().element(own));
            element.map_or("its end".into(), |own| subject.program().say(own))
        };
        return Err(Stop::Message(format!(
            "the program does not take one path: run {} differs from its repetition after {} \
             events: {}, then {}",
            one.run,
            at,
            said(&one.letters),
            said(&other.letters)
        )));
    }
    Ok(())
}

/// Writes what the program wrote.
fn pass_on(hits: Option<&Hits>) -> Result<(), Stop> {
    let Some(hits) = hits else { return Ok(()) };
    io::stdout().lock().write_all(&hits.output)?;
    io::stderr().lock().write_all(&hits.errors)?;
    Ok(())
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
    let profiles: Vec<_> = jobs.iter().map(Job::profile).collect();
    let collection =
        |run: Gathered| Collection { letters: run.letters, begins: true, ends: run.is_whole };
    let collections: Vec<Collection> = runs.into_iter().map(collection).collect();
    let (program, inputs) = (subject.program(), (output, &[][..]));
    let walked = walk::answer(program, &profiles, &collections, inputs, Path::new("plan"))?;
    cli::complain(&format!("eventcnv: {}: {}\n", output.path.display(), told(&walked)));
    Ok(walk::report(program, &walked))
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
        jobs.push(Job::read(&super::text(path)?).map_err(|error| stop(path, &error))?);
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
