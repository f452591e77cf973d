//! A program whose path is collected: its graph, and the plans of its runs.
//!
//! Design: `.collect.jobs` in `design/collect.md`.

use crate::error::CollectError;
use crate::witness::{stops, trappable};
use lens_paths::binary::{Binary, Chart, mangled};
use lens_paths::graph::{ElementId, Program};
use lens_paths::plan::{Kind, Options, PlanError, Run, Strategy, plan};
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
        let chart = Chart::new(&binary, is_chosen).map_err(|error| failed(error.to_string()))?;
        if chart.program.function(chart.program.main()).and_then(|own| own.address())
            != Some(binary.root)
        {
            let why = chart.left.iter().find(|own| own.start == binary.root);
            let why = why.map(|own| format!("{:x?}", own.troubles)).unwrap_or_default();
            return Err(failed(format!(
                "the edges of its first function are not all known: {why}"
            )));
        }
        Ok(Subject { binary, chart, sum: fingerprint([&bytes[..]]) })
    }

    /// Plans the runs. Where no edges that breakpoints can tell keep condition A, blocks are taken.
    ///
    /// # Errors
    ///
    /// Neither edges nor blocks tell the path within the limit.
    pub fn plan(&self, options: &Options) -> Result<Planned, PlanError> {
        match self.plan_of(options, options.kind) {
            Err(_) if options.kind == Kind::Edges => self.plan_of(options, Kind::Blocks),
            planned => planned,
        }
    }

    fn plan_of(&self, options: &Options, kind: Kind) -> Result<Planned, PlanError> {
        let program = &self.chart.program;
        let basic = Weights::basic(program);
        let cost = |element| stops(&self.chart, element, |own| basic.of(own));
        let weights = Weights::from_fn(program, cost);
        let plans = plan(program, &weights, &Options { kind, ..*options })?;
        let best = plans.best().ok_or(PlanError::Machines)?;
        let mut runs = best.runs.clone();
        for run in &mut runs {
            run.profile = trappable(&self.chart, &run.profile);
            run.cost = run.profile.letters().iter().map(|(own, _)| weights.of(*own)).sum();
        }
        let profiles: Vec<_> = runs.iter().map(|run| run.profile.clone()).collect();
        let open = clashes(program, &profiles)?;
        if !open.is_empty() {
            return Err(PlanError::Open(open));
        }
        if let Some(limit) = options.limit
            && let Some(over) = runs.iter().find(|run| run.profile.size() > limit)
            && kind == Kind::Edges
        {
            // Blocks that replace an element may be more than it.
            let _ = over;
            return Err(PlanError::Open(Vec::new()));
        }
        Ok(Planned { strategy: best.strategy, kind, runs })
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
