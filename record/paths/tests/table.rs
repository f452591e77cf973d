//! The table of ten programs: what their paths cost, by each way to plan them.
//!
//! ```text
//!  ten programs ─┬ single steps ─▶ path ────────────────────────────┐ equal
//!                └ weights × machines × strategies ─ runs ─▶ walk ──┘
//!                                                     └▶ logs, rows.tsv ─ recount.py ─▶ paths.tsv
//! ```
//!
//! Design: `.collect.table` in `design/collect.md`.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod common;

use common::{compile, launch};
use lens_paths::Weights;
use lens_paths::graph::ElementId;
use lens_paths::plan::{Kind, Options, Strategy};
use lens_paths::walk::{Collection, Elements, Step as Walked, Walker};
use record_paths::{Choice, Job, Launch, Planned, Step, Stepped, Subject, gather, step};
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Returns the programs with their arguments, and the parts of the names of their functions: of
/// programs in Rust those of their own crates, called from their `main`.
fn programs(folder: &Path) -> Vec<(&'static str, PathBuf, Vec<String>, &'static [&'static str])> {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let mut all = Vec::new();
    for source in ["maze.c", "queens.c"] {
        all.push((source, compile(folder, "cc", &["-O2"], source), words(&[]), &[][..]));
    }
    let examples = std::env::current_exe().unwrap().ancestors().nth(2).unwrap().join("examples");
    for (name, crates) in [
        ("lisp", &["lisp"][..]),
        ("digest", &["digest", "sha2"]),
        ("letters", &["letters", "base64"]),
        ("json", &["json"]),
        ("deflate", &["deflate", "flate2", "miniz_oxide"]),
        ("vocabulary", &["vocabulary"]),
    ] {
        all.push((name, examples.join(name), words(&[]), crates));
    }
    let input = folder.join("input");
    std::fs::write(&input, include_str!("common/mod.rs").get(..400).unwrap()).unwrap();
    let system = |name: &str| Path::new("/usr/bin").join(name);
    all.push(("gzip", system("gzip"), words(&["-c", input.to_str().unwrap()]), &[]));
    let sql = "create table a(b); insert into a values(1),(2); select sum(b) from a";
    all.push(("sqlite3", system("sqlite3"), words(&[":memory:", sql]), &[]));
    all
}

/// A program, its path by single steps, and where its rows and logs go.
struct Trial<'t> {
    name: &'static str,
    choice: Choice,
    subject: Subject,
    launch: Launch,
    stepped: Stepped,
    folder: &'t Path,
    rows: String,
}

/// How the events of a plan are counted.
struct Cell<'c> {
    weights: (&'c str, &'c Weights),
    machines: usize,
    limit: Option<usize>,
}

impl Trial<'_> {
    /// Runs a plan, compares its path with that of single steps, and adds its row. Returns the
    /// elements of the path.
    fn add(&mut self, cell: &Cell<'_>, planned: &Planned) -> Vec<ElementId> {
        let program = self.subject.program();
        let jobs = record_paths::jobs(&self.subject, &self.choice, planned, &self.launch).unwrap();
        let kind = if planned.kind == Kind::Edges { "edges" } else { "blocks" };
        let strategy = planned.strategy.to_string().replace(' ', "-");
        let limit = cell.limit.map_or("-".into(), |limit| limit.to_string());
        let name = [self.name, cell.weights.0, kind, &cell.machines.to_string(), &limit].join(",")
            + ","
            + &strategy;
        let mut costs = vec![(0, 0, 0, Duration::ZERO); cell.machines];
        let mut runs = Vec::new();
        for job in &jobs {
            let (run, hits) = job.run(&self.subject, &self.launch.starter, Some(0)).unwrap();
            let path = self.folder.join(format!("{name},{},{}.log", job.machine, job.run));
            record_paths::log::write(&run, &mut File::create(path).unwrap()).unwrap();
            let cost = &mut costs[job.machine];
            let profile = job.profile();
            cost.0 += cell.weights.1.cost(profile.letters().iter().map(|own| own.0));
            cost.1 += run.letters.len();
            cost.2 += hits.traps;
            cost.3 += hits.duration;
            runs.push((format!("run {}", job.run), run));
        }
        let (cost, hits) =
            (costs.iter().map(|own| own.0).max(), costs.iter().map(|own| own.1).max());
        let (stops, time) =
            (costs.iter().map(|own| own.2).max(), costs.iter().map(|own| own.3).max());
        let seconds = time.unwrap_or_default().as_secs_f64();
        let factor = self.stepped.duration.as_secs_f64() / seconds.max(1e-9);
        let size: usize = planned.runs.iter().map(|run| run.profile.size()).sum();
        let (cost, hits, stops) = (cost.unwrap_or(0), hits.unwrap_or(0), stops.unwrap_or(0));
        let runs_count = jobs.len();
        writeln!(
            self.rows,
            "{}\t{runs_count}\t{size}\t{cost}\t{hits}\t{stops}\t{seconds:.4}\t{factor:.1}",
            name.replace(',', "\t")
        )
        .unwrap();
        let profiles: Vec<_> = jobs.iter().map(Job::profile).collect();
        let collections = gather(&jobs, runs).unwrap().into_iter().map(|run| Collection {
            letters: run.letters,
            begins: true,
            ends: run.is_whole,
        });
        let collections: Vec<Collection> = collections.collect();
        let (mut path, mut elements) = (Vec::<Step>::new(), Elements::new(program));
        let walked = Walker::new(program, &profiles).unwrap().walk(&collections, &mut |step| {
            elements.add(step);
            if let Walked::Block(function, block) = step {
                path.push((function, block));
            }
        });
        assert!(walked.unwrap().is_whole, "{name}: the path is not whole");
        assert!(path == self.stepped.path, "{name}: the path is not that of single steps");
        elements.finish()
    }

    fn all(&mut self) {
        let program = self.subject.program();
        let basic = Weights::basic(program);
        let of = |machines, kind, limit| Options { machines, kind, limit };
        let plans = |weights: &Weights, options: &Options| {
            let plans = self.subject.plans(weights, options);
            plans.map_err(|error| format!("{}: {error}", self.name))
        };
        let one = plans(&basic, &of(1, Kind::Edges, None)).unwrap();
        let blocks = one[0].runs[0].profile.size();
        let cell = |weights, machines, limit| Cell { weights, machines, limit };
        let elements = self.add(&cell(("basic", &basic), 1, None), &one[0]);
        let counted = Weights::counted(self.subject.program(), elements);
        for weights in [("basic", &basic), ("trace", &counted)] {
            if let Ok(plans) = self.subject.plans(weights.1, &of(1, Kind::Blocks, None)) {
                self.add(&cell(weights, 1, None), &plans[0]);
            }
            for machines in 1..=6 {
                let plans =
                    self.subject.plans(weights.1, &of(machines, Kind::Edges, None)).unwrap();
                let is_new = |plan: &&Planned| {
                    (machines == 1 && weights.0 == "trace")
                        || (machines > 1 && plan.strategy != Strategy::Single)
                };
                for planned in plans.iter().filter(is_new) {
                    self.add(&cell(weights, machines, None), planned);
                }
            }
        }
        let mut limits = [16, 8, 4, 2].map(|part| (blocks / part).max(2)).to_vec();
        limits.dedup();
        for limit in limits.into_iter().map(Some) {
            let Ok(plans) = self.subject.plans(&basic, &of(3, Kind::Edges, limit)) else {
                continue;
            };
            for planned in plans.iter().filter(|own| own.strategy == Strategy::Functions) {
                self.add(&cell(("basic", &basic), 3, limit), planned);
            }
        }
    }

    /// Returns the row of all blocks, and of single steps.
    fn head(&self) -> String {
        let (program, path) = (self.subject.program(), &self.stepped.path);
        let blocks: usize = program.functions().iter().map(|own| own.blocks().len()).sum();
        let edges: usize = program.functions().iter().map(|own| own.edges().len()).sum();
        let mut covered = path.clone();
        covered.sort_unstable();
        covered.dedup();
        format!(
            "{}\t{}\t{blocks}\t{edges}\t{}\t{}\t{}\t{:.4}\n",
            self.name,
            program.functions().len(),
            covered.len(),
            path.len(),
            self.stepped.steps,
            self.stepped.duration.as_secs_f64()
        )
    }
}

#[test]
#[ignore = "takes minutes, and needs gzip and sqlite3: ./proofs paths-table runs it"]
fn ten_programs_are_walked_as_they_are_stepped_by_every_plan() {
    let folder = PathBuf::from(std::env::var_os("PATHS_TABLE").expect("PATHS_TABLE: a folder"));
    let only = std::env::var("PATHS_ONLY").unwrap_or_default();
    let mut heads = File::create(folder.join("programs.tsv")).unwrap();
    let mut rows = File::create(folder.join("rows.tsv")).unwrap();
    for (name, program, arguments, crates) in programs(&folder) {
        if !name.contains(&only) {
            continue;
        }
        let root = (!crates.is_empty()).then(|| format!("{name}::main"));
        let functions = crates.iter().map(|own| (*own).to_owned()).collect();
        let choice = Choice { root, functions };
        let subject = Subject::read(&program, &choice).unwrap();
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let launch = launch(&program, &words);
        let stepped = step(&launch, subject.binary.entry, &subject.chart, Some(0)).unwrap();
        assert!(stepped.is_whole, "{name}");
        let mut trial =
            Trial { name, choice, subject, launch, stepped, folder: &folder, rows: String::new() };
        print!("{}", trial.head());
        trial.all();
        heads.write_all(trial.head().as_bytes()).unwrap();
        rows.write_all(trial.rows.as_bytes()).unwrap();
    }
}
