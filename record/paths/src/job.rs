//! Jobs: the runs of a plan, for any scheduler and any machine.
//!
//! ```text
//!  plan ─▶ job-0.json job-1.json … ── run ─▶ job-0.log job-1.log … ── gather ─▶ collections
//! ```
//!
//! A job has all that its run needs; files are known by their fingerprints.
//!
//! Design: `.collect.jobs` in `design/collect.md`.

use crate::error::CollectError;
use crate::launch::Launch;
use crate::sites::Sites;
use crate::stage::Ended;
use crate::subject::{Choice, Planned, Subject, fingerprint};
use crate::trap::{Hits, collect};
use lens_paths::Profile;
use lens_paths::graph::ElementId;
use lens_paths::plan::{Plan, text};
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

/// The version of the form of jobs.
const VERSION: u32 = 1;

/// A file that a run reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// Its path.
    pub path: PathBuf,
    /// The fingerprint of its bytes.
    pub sum: String,
}

/// A run of a plan, and all that it needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The version of this form.
    pub version: u32,
    /// The fingerprint of the plan.
    pub plan: String,
    /// The fingerprint of the graph.
    pub graph: String,
    /// The number of the run in the plan.
    pub run: usize,
    /// The runs of the plan.
    pub runs: usize,
    /// The machine that the plan gives the run to.
    pub machine: usize,
    /// The program.
    pub program: Known,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its environment.
    pub environment: Vec<(String, String)>,
    /// The folder that it runs in.
    pub folder: PathBuf,
    /// Its standard input; nothing by default.
    pub input: Option<Known>,
    /// The first function; `main` by default.
    pub root: Option<String>,
    /// Parts of the names of the functions of the graph; all by default.
    pub functions: Vec<String>,
    /// The witnesses: numbers of elements, and their letters.
    pub witnesses: Vec<(u32, u32)>,
}

/// What a run gave, and what it was of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gathered {
    /// The number of the run.
    pub run: usize,
    /// The fingerprint of the graph.
    pub graph: u64,
    /// The fingerprint of the plan.
    pub plan: u64,
    /// The fingerprint of the program, its arguments, environment, folder and input.
    pub source: u64,
    /// The fingerprint of its output and its end.
    pub output: u64,
    /// The functions that code outside called, and how often: these calls are left out.
    pub callbacks: Vec<(String, u64)>,
    /// Whether it ended by itself.
    pub is_whole: bool,
    /// Its letters.
    pub letters: Vec<u32>,
}

fn hex(value: u64) -> String {
    format!("{value:016x}")
}

fn number(text: &str) -> u64 {
    u64::from_str_radix(text, 16).unwrap_or_default()
}

fn words(text: &OsStr) -> Result<String, CollectError> {
    let text = text.to_str().map(str::to_owned);
    text.ok_or_else(|| CollectError::Job("an argument or variable is not UTF-8".into()))
}

fn known(path: &Path) -> Result<Known, CollectError> {
    let failed = |error| CollectError::Job(format!("{}: {error}", path.display()));
    let path = fs::canonicalize(path).map_err(failed)?;
    let bytes = fs::read(&path).map_err(failed)?;
    Ok(Known { path, sum: hex(fingerprint([&bytes[..]])) })
}

/// Returns the jobs of a plan.
///
/// # Errors
///
/// A file cannot be read; an argument or a variable of the environment is not UTF-8.
pub fn jobs(
    subject: &Subject,
    choice: &Choice,
    planned: &Planned,
    launch: &Launch,
) -> Result<Vec<Job>, CollectError> {
    let plan = Plan { strategy: planned.strategy, runs: planned.runs.clone() };
    let plan = fingerprint([text::write(subject.program(), &plan).as_bytes()]);
    let variables: Vec<(OsString, OsString)> = match &launch.environment {
        Some(all) => all.clone(),
        None => std::env::vars_os().collect(),
    };
    let environment = variables.iter().map(|(name, value)| Ok((words(name)?, words(value)?)));
    let folder = match &launch.folder {
        Some(folder) => folder.clone(),
        None => std::env::current_dir().map_err(CollectError::Memory)?,
    };
    let first = Job {
        version: VERSION,
        plan: hex(plan),
        graph: hex(text::fingerprint(subject.program())),
        run: 0,
        runs: planned.runs.len(),
        machine: 0,
        program: known(&launch.program)?,
        arguments: launch.arguments.iter().map(|own| words(own)).collect::<Result<_, _>>()?,
        environment: environment.collect::<Result<_, CollectError>>()?,
        folder,
        input: launch.input.as_deref().map(known).transpose()?,
        root: choice.root.clone(),
        functions: choice.functions.clone(),
        witnesses: Vec::new(),
    };
    let runs = planned.runs.iter().enumerate();
    Ok(runs
        .map(|(number, run)| Job {
            run: number,
            machine: run.machine,
            witnesses: run.profile.letters().iter().map(|(own, letter)| (own.0, *letter)).collect(),
            ..first.clone()
        })
        .collect())
}

impl Job {
    /// Reads a job from its text.
    ///
    /// # Errors
    ///
    /// The text is not a job of this version.
    pub fn read(text: &str) -> Result<Job, CollectError> {
        let job: Job =
            serde_json::from_str(text).map_err(|error| CollectError::Job(error.to_string()))?;
        if job.version != VERSION {
            let why = format!("is of version {}; this program knows {VERSION}", job.version);
            return Err(CollectError::Job(why));
        }
        Ok(job)
    }

    /// Returns its text.
    pub fn write(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Returns its witnesses.
    pub fn profile(&self) -> Profile {
        Profile::lettered(self.witnesses.iter().map(|(own, letter)| (ElementId(*own), *letter)))
    }

    /// Returns the fingerprint of what it runs: all runs of one execution have the same.
    pub fn source(&self) -> u64 {
        let pairs = self.environment.iter().flat_map(|(name, value)| [name, value]);
        let input = self.input.as_ref().map_or("", |input| &input.sum);
        let texts = [&self.program.sum[..], input]
            .into_iter()
            .chain(self.arguments.iter().map(String::as_str))
            .chain(pairs.map(String::as_str));
        fingerprint(texts.map(str::as_bytes).chain([self.folder.as_os_str().as_encoded_bytes()]))
    }

    /// Reads the program of the job again, and checks that it and the input are the planned ones.
    ///
    /// # Errors
    ///
    /// A file is another one, or gives another graph.
    pub fn subject(&self) -> Result<Subject, CollectError> {
        for file in [Some(&self.program), self.input.as_ref()].into_iter().flatten() {
            if known(&file.path)?.sum != file.sum {
                let path = file.path.display();
                return Err(CollectError::Job(format!("{path}: is not the file of the plan")));
            }
        }
        let choice = Choice { root: self.root.clone(), functions: self.functions.clone() };
        let subject = Subject::read(&self.program.path, &choice)?;
        if hex(text::fingerprint(subject.program())) != self.graph {
            return Err(CollectError::Job("the program gives another graph than planned".into()));
        }
        Ok(subject)
    }

    /// Runs the job.
    ///
    /// # Errors
    ///
    /// As [`collect`]; breakpoints cannot tell a witness.
    pub fn run(
        &self,
        subject: &Subject,
        starter: &[OsString],
        processor: Option<usize>,
    ) -> Result<(Gathered, Hits), CollectError> {
        let sites = Sites::new(&subject.chart, self.profile().letters().iter().copied());
        let sites = sites.map_err(|own| {
            CollectError::Job(format!("breakpoints cannot tell element {}", own.0))
        })?;
        let launch = Launch {
            starter: starter.to_vec(),
            program: self.program.path.clone(),
            arguments: self.arguments.iter().map(OsString::from).collect(),
            input: self.input.as_ref().map(|input| input.path.clone()),
            environment: Some(
                self.environment.iter().map(|(name, value)| (name.into(), value.into())).collect(),
            ),
            folder: Some(self.folder.clone()),
        };
        let mut hits = collect(&launch, subject.binary.entry, &sites, processor)?;
        let end = format!("{:?}", hits.ended);
        let gathered = Gathered {
            run: self.run,
            graph: number(&self.graph),
            plan: number(&self.plan),
            source: self.source(),
            output: fingerprint([&hits.output[..], &hits.errors, end.as_bytes()]),
            callbacks: named(subject, &hits),
            is_whole: !matches!(hits.ended, Ended::Killed(_)),
            letters: core::mem::take(&mut hits.letters),
        };
        Ok((gathered, hits))
    }
}

/// Returns the names of the functions that code outside called, the most often called first.
fn named(subject: &Subject, hits: &Hits) -> Vec<(String, u64)> {
    let name = |at: &u64| subject.chart.callable.get(at).cloned().unwrap_or_default();
    let mut all: Vec<_> = hits.callbacks.iter().map(|(at, count)| (name(at), *count)).collect();
    all.sort_by(|one, other| (other.1, &one.0).cmp(&(one.1, &other.0)));
    all
}

/// Checks that some runs are all runs of the jobs, each once, and of one execution. Returns them in
/// the order of the jobs, or what is wrong with each.
///
/// # Errors
///
/// A run is lost, doubled, of another plan or of another execution.
pub fn gather(jobs: &[Job], runs: Vec<(String, Gathered)>) -> Result<Vec<Gathered>, Vec<String>> {
    let mut wrong = Vec::new();
    let mut found: Vec<Option<(String, Gathered)>> = jobs.iter().map(|_| None).collect();
    for (name, run) in runs {
        let is_planned = |job: &&Job| {
            (number(&job.plan), number(&job.graph), job.run) == (run.plan, run.graph, run.run)
        };
        let place = jobs.iter().position(|job| is_planned(&job));
        let (Some(job), Some(slot)) =
            (place.and_then(|at| jobs.get(at)), place.and_then(|at| found.get_mut(at)))
        else {
            wrong.push(format!("{name}: is foreign: a run of another plan"));
            continue;
        };
        if job.source() != run.source {
            wrong.push(format!("{name}: is foreign: of other arguments, environment or input"));
        } else if let Some((other, _)) = slot {
            wrong.push(format!("{name}: is doubled: {other} has run {} too", run.run));
        } else {
            *slot = Some((name, run));
        }
    }
    for (job, slot) in jobs.iter().zip(&found) {
        if slot.is_none() {
            wrong.push(format!("run {} is lost: job {} of {}", job.run, job.run + 1, job.runs));
        }
    }
    let first = found.iter().flatten().next().map(|(name, run)| (name.clone(), run.output));
    for (name, run) in found.iter().flatten() {
        if let Some((other, output)) = &first
            && *output != run.output
        {
            wrong.push(format!("{name}: is of another execution than {other}: its output differs"));
        }
    }
    if wrong.is_empty() {
        Ok(found.into_iter().flatten().map(|(_, run)| run).collect())
    } else {
        Err(wrong)
    }
}
