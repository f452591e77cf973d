//! A program whose path is collected: its graph, and the plans of its runs.
//!
//! Design: `.collect.jobs` in `design/collect.md`.

use crate::error::CollectError;
use crate::witness::{stops, trappable};
use lens_paths::binary::{Binary, Chart, mangled};
use lens_paths::graph::{ElementId, Program};
use lens_paths::plan::{Kind, Options, Plan, PlanError, Run, Strategy, plan};
use lens_paths::{Weights, clashes};
use std::fs;
use std::path::Path;

/// A program and its graph.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The control flow of the file.
    pub binary: Binary,
    /// The graph of the chosen functions.
    pub chart: Chart,
    /// The fingerprint of the file.
    pub sum: u64,
}

/// What a path is of: the first function, and the functions of the graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// The name of the first function; `main` by default.
    pub root: Option<String>,
    /// Parts of the names of functions; all by default.
    pub functions: Vec<String>,
}

/// A plan whose witnesses breakpoints can tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// How the forks became jobs.
    pub strategy: Strategy,
    /// Edges or blocks.
    pub kind: Kind,
    /// The runs.
    pub runs: Vec<Run>,
}

impl Planned {
    /// Returns the cost of the machine with the greatest load.
    pub fn cost(&self) -> u64 {
        Plan { strategy: self.strategy, runs: self.runs.clone() }.cost()
    }
}

impl Subject {
    /// Reads a program.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is not a program for x86-64 with that function.
    pub fn read(program: &Path, choice: &Choice) -> Result<Subject, CollectError> {
        let failed = |cause: String| CollectError::Program { program: program.to_owned(), cause };
        let bytes = fs::read(program).map_err(|error| failed(error.to_string()))?;
        if let Some(line) = bytes.strip_prefix(b"#!") {
            let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
            let interpreter = String::from_utf8_lossy(line);
            let interpreter = interpreter.trim();
            let program = program.display();
            return Err(failed(format!(
                "is a script; the path is that of its interpreter: {interpreter} {program}"
            )));
        }
        let binary = Binary::read(&bytes, choice.root.as_deref())
            .map_err(|error| failed(error.to_string()))?;
        let is_part = |name: &str, part: &str| {
            name.contains(part) || part.contains("::") && name.contains(&mangled(part))
        };
        let is_chosen = |name: &str| {
            choice.functions.is_empty() || choice.functions.iter().any(|part| is_part(name, part))
        };
        let root = binary.functions.get(&binary.root);
        if let Some((root, why)) = root.and_then(|own| Some((own, own.troubles.first()?))) {
            let advice = match binary.functions.len() {
                1 => "no other function is known, so the program has no path to collect",
                _ => "choose another first function by --main",
            };
            let name = &root.name;
            return Err(failed(format!("{why}, so the path cannot begin in {name}: {advice}")));
        }
        let chart = Chart::new(&binary, is_chosen).map_err(|error| failed(error.to_string()))?;
        Ok(Subject { binary, chart, sum: fingerprint([&bytes[..]]) })
    }

    /// Plans the runs: the cheapest of [`plans`](Subject::plans), with basic weights.
    ///
    /// # Errors
    ///
    /// Neither edges nor blocks tell the path within the limit.
    pub fn plan(&self, options: &Options) -> Result<Planned, PlanError> {
        let plans = self.plans(&Weights::basic(self.program()), options)?;
        plans.into_iter().min_by_key(Planned::cost).ok_or(PlanError::Machines)
    }

    /// Plans the runs by each strategy, for weights of the elements. Where no edges that
    /// breakpoints can tell keep condition A within the limit, blocks are taken.
    ///
    /// # Errors
    ///
    /// Neither edges nor blocks tell the path within the limit.
    pub fn plans(&self, weights: &Weights, options: &Options) -> Result<Vec<Planned>, PlanError> {
        match self.plans_of(weights, options, options.kind) {
            Err(_) if options.kind == Kind::Edges => self.plans_of(weights, options, Kind::Blocks),
            planned => planned,
        }
    }

    fn plans_of(
        &self,
        weights: &Weights,
        options: &Options,
        kind: Kind,
    ) -> Result<Vec<Planned>, PlanError> {
        let program = &self.chart.program;
        let cost = |element| stops(&self.chart, element, |own| weights.of(own));
        let weights = Weights::from_fn(program, cost);
        let plans = plan(program, &weights, &Options { kind, ..*options })?;
        let (mut all, mut open) = (Vec::new(), Vec::new());
        for own in plans.all {
            let mut runs = own.runs;
            for run in &mut runs {
                run.profile = trappable(&self.chart, &run.profile);
                run.cost = weights.cost(run.profile.letters().iter().map(|(own, _)| *own));
            }
            let profiles: Vec<_> = runs.iter().map(|run| run.profile.clone()).collect();
            let clashes = clashes(program, &profiles)?;
            // Blocks that replace an element may be more than it.
            let limit = options.limit.unwrap_or(usize::MAX);
            if clashes.is_empty() && runs.iter().all(|run| run.profile.size() <= limit) {
                all.push(Planned { strategy: own.strategy, kind, runs });
            } else {
                open = clashes;
            }
        }
        if all.is_empty() { Err(PlanError::Open(open)) } else { Ok(all) }
    }

    /// Returns the number of a block, as letters have it.
    pub fn element(&self, step: crate::Step) -> Option<ElementId> {
        self.program().id(lens_paths::graph::Element::Block(step.0, step.1))
    }

    /// Returns the graph.
    pub fn program(&self) -> &Program {
        &self.chart.program
    }
}

/// Returns a fingerprint of some bytes: FNV-1a, each part with its size.
pub fn fingerprint<'b>(parts: impl IntoIterator<Item = &'b [u8]>) -> u64 {
    let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3);
    parts.into_iter().fold(0xCBF2_9CE4_8422_2325, |hash, part| {
        let size = (part.len() as u64).to_le_bytes();
        part.iter().fold(size.iter().fold(hash, fold), fold)
    })
}
