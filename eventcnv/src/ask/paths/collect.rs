//! Collects the path of a program that stays as it is, by breakpoints.
//!
//! ```text
//!  PROGRAM ─ graph ─ plan ─▶ jobs ─ one process for each, machines at once ─▶ runs ─ walk ─▶ log
//!  --job FILE ─▶ one run ─▶ its log
//! ```
//!
//! Design: `design/collect.md`.

use crate::ask::paths::inputs::{stop, text};
use crate::ask::paths::program::{Chosen, failed, starter};
use crate::ask::paths::{jobs, program};
use crate::open::output::Output;
use cli::Stop;
use record_paths::{CollectError, Ended, Gathered, Hits, Job, Subject};
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;

pub(super) const ABOUT: &str = "\
Runs a program with breakpoints at few places, and finds the whole path that it took: each block, \
each call. The program needs no source and no symbols. With several machines, several runs share \
the breakpoints, and run at the same time.

The program needs one thread, and the same path for the same input; --check tells whether it has. \
Its standard input is a file (--input) or nothing. Calls from libraries back into the program, \
signal handlers and the program's children are left out, and counted: the calls by function.

\"paths plan --jobs\" writes each run as a job, a file that any scheduler can hand to another \
machine; --job runs one of them, and \"paths walk\" checks and merges what they wrote.";

pub(super) const EXAMPLES: &str = "\
Examples:
  eventcnv paths collect -o path.log -- gzip -c notes.txt
  eventcnv paths collect --machines 2 --check -o path.log -- ./shop orders.txt
  eventcnv paths collect --main shop::main --only shop:: -o path.log -- ./shop
  eventcnv paths plan --machines 3 --jobs jobs -- gzip -c notes.txt
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

    #[command(flatten)]
    chosen: Chosen,

    /// Run everything twice, and compare
    #[arg(long)]
    check: bool,

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
    let limit = args.limit.map(|limit| limit as usize);
    let options = program::options(args.machines, limit, args.blocks);
    let (subject, jobs) = program::plan(&args.command, &args.chosen, &options)?;
    let runs = run_all(&subject, &jobs, args)?;
    if args.check {
        let again = run_all(&subject, &jobs, args)?;
        compare(&subject, &runs, &again)?;
    }
    pass_on(runs.first().map(|(_, hits)| hits))?;
    let named = |(gathered, _): (Gathered, _)| (format!("run {}", gathered.run), gathered);
    let runs = runs.into_iter().map(named).collect();
    jobs::merge(&subject, &jobs, runs, &args.output("path.log".into()))
}

impl Collect {
    fn output(&self, default: PathBuf) -> Output {
        Output { path: self.output.clone().unwrap_or(default), force: self.force }
    }
}

fn run_job(path: &Path, args: &Collect) -> Result<bool, Stop> {
    let job = Job::read(&text(path)?).map_err(|error| stop(path, &error))?;
    let subject = job.subject().map_err(|error| stop(path, &error))?;
    let (gathered, hits) =
        job.run(&subject, &starter()?, Some(job.machine)).map_err(|error| stop(path, &error))?;
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
    if hits.children > 0 {
        line += &format!("; left out: {} children", hits.children);
    }
    if let Ended::Killed(signal) = hits.ended {
        line += &format!("; signal {signal} ended the program");
    }
    cli::complain(&format!("{line}\n"));
}

/// Fails if the paths of two executions differ, and says so if only their outputs do.
fn compare(
    subject: &Subject,
    one: &[(Gathered, Hits)],
    other: &[(Gathered, Hits)],
) -> Result<(), Stop> {
    for ((one, _), (other, _)) in one.iter().zip(other) {
        if (&one.letters, one.is_whole) == (&other.letters, other.is_whole) {
            if one.output != other.output {
                cli::complain(&format!(
                    "eventcnv: note: the output of run {} differs from that of its repetition, the \
                     path does not\n",
                    one.run
                ));
            }
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
            "the program does not take one path: run {} differs from its repetition after {}: \
             {}, then {}",
            one.run,
            cli::units::counted(at as u64, "event"),
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
