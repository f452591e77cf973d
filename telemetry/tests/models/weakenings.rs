//! Relaxes every ordering that a model passes, one at a time: some model must fail, or `UNSEEN`
//! gives the reason why none does.
//!
//! ```text
//!  models ─▶ sites: file, line ─▶ each weakened ─▶ a model fails │ UNSEEN has the reason
//! ```
//!
//! Design: `.sol.ordering` in `design/telemetry.md`, which has the table that this test prints.

use crate::block::memory;
use crate::models::{MODELS, Model};
use crate::os::atomic::{self, Site};
use crate::registry::policy::{self, Policy};
use crate::stream::{self, writer};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, OnceLock};

/// The greatest number of steps in an execution.
const BRANCH_COUNT_MAX: usize = 10_000;

/// The greatest number of preemptions with a weakened ordering: more find the same failures.
const PREEMPTION_COUNT_MAX: usize = 1;

/// The explored models: the number of executions, and the sites that they passed. Each is explored
/// once.
static EXPLORED: [OnceLock<Explored>; MODELS.len()] = [const { OnceLock::new() }; MODELS.len()];

type Explored = Result<(u64, BTreeSet<Site>), String>;

/// The greatest number of executions of a model with the orderings of the source: the deep models
/// have up to 31,000. The variable lifts this limit, and adds preemptions.
const EXECUTION_COUNT_MAX: usize = 4_000;
/// The first executions with a weakened ordering: most models that fail, fail early.
const SHALLOW_COUNT: usize = 500;
const MORE_VARIABLE: &str = "TELEMETRY_MODEL_PREEMPTIONS";

/// Orderings that no model needs: the end of the line, after the line before, and the reason.
const UNSEEN: [(&str, &str); 5] = [
    (
        "self.first.store(first, Ordering::Release);",
        "the fence of the block that begins just before carries the same",
    ),
    (
        "self.forgive(hand_over.progress(self, oldest)); \
         self.done.store(oldest + 1, Ordering::Release);",
        "the owner itself gives the block up; other readers hold the lock",
    ),
    (
        "self.begin_at(own::taken_block(&mut taken), sequence, first, ticks, thread); \
         self.done.store(sequence, Ordering::Release);",
        "the owner itself gives the block up, and holds the lock",
    ),
    (
        "self.holder.load(Ordering::Acquire) == forked::generation()",
        "a forked child asks, where no other thread runs",
    ),
    (
        "words[0].store(values[0], Ordering::Release);",
        "for readers of raw memory: a core dump, a mapped file",
    ),
];

thread_local! {
    static EXECUTION_COUNT: Cell<u64> = const { Cell::new(0) };
    static IS_SILENT: Cell<bool> = const { Cell::new(false) };
}

/// Explores a model with a number of preemptions, up to a number of executions, with a site
/// relaxed. Returns the number of executions, or the failure.
fn explore(
    model: &Model,
    bound: usize,
    most: Option<usize>,
    weakened: Option<Site>,
) -> Result<u64, String> {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(bound);
    builder.max_permutations = most;
    // Loom looks at that limit once in this number of executions.
    builder.checkpoint_interval = SHALLOW_COUNT;
    builder.max_branches = BRANCH_COUNT_MAX;
    builder.max_threads = 4;
    let run = model.run;
    EXECUTION_COUNT.set(0);
    let explored = atomic::with_weakened(weakened, || {
        catch_unwind(AssertUnwindSafe(|| {
            builder.check(move || {
                EXECUTION_COUNT.set(EXECUTION_COUNT.get() + 1);
                memory::forget();
                stream::take_log();
                writer::set(false);
                policy::set(Policy::Write);
                atomic::begin();
                run();
            });
        }))
    });
    let text = |panic: Box<dyn std::any::Any + Send>| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
            .unwrap_or_default()
    };
    explored.map(|()| EXECUTION_COUNT.get()).map_err(text)
}

/// Explores a model with the orderings of the source, once.
fn explored(index: usize) -> &'static Explored {
    EXPLORED[index].get_or_init(|| {
        let more = std::env::var(MORE_VARIABLE).ok().map(|more| more.parse::<usize>().unwrap());
        let most = if more.is_none() { Some(EXECUTION_COUNT_MAX) } else { None };
        let model = &MODELS[index];
        let bound = model.preemption_count_max + more.unwrap_or(0);
        let (explored, sites) = atomic::with_sites(|| explore(model, bound, most, None));
        explored.map(|count| (count, sites))
    })
}

/// Checks that a model holds with the orderings of the source.
pub(crate) fn holds(model: &Model) {
    let begin = std::time::Instant::now();
    let index = MODELS.iter().position(|other| other.name == model.name).unwrap();
    match explored(index) {
        Ok((count, _)) => println!("{}: {count} executions in {:?}", model.name, begin.elapsed()),
        Err(text) => panic!("{}: {text}", model.name),
    }
}

/// Returns the line of the source at a site, and the one before it.
fn lines((file, line): Site) -> [String; 2] {
    // The compiler's paths begin at the root of the workspace, or of the package.
    let crate_root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let paths = [crate_root.join("../../..").join(file), crate_root.join(file)];
    let path = paths.iter().find(|path| path.exists()).expect("the source of the site");
    let text = std::fs::read_to_string(path).unwrap();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    [lines[line as usize - 1].to_owned(), lines[line as usize - 2].to_owned()]
}

/// Silences the panics of models that must fail.
fn silence() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !IS_SILENT.get() {
            before(info);
        }
    }));
}

/// Returns why no model needs the ordering at a site, or the first model that fails without it.
fn who_needs(site: Site, models: &[&Model]) -> Option<&'static str> {
    let [line, before] = lines(site);
    let is_meant = |unseen: &str| format!("{before} {line}").ends_with(unseen);
    let unseen = UNSEEN.iter().find(|(unseen, _)| is_meant(unseen)).map(|(_, reason)| *reason);
    unseen.or_else(|| {
        IS_SILENT.set(true);
        let fails = |most| {
            move |model: &&&Model| explore(model, PREEMPTION_COUNT_MAX, most, Some(site)).is_err()
        };
        let needs = |most| models.iter().find(fails(most)).map(|model| model.name);
        needs(Some(SHALLOW_COUNT)).or_else(|| needs(None))
    })
}

/// `.sol.ordering`
#[test]
fn each_weakened_ordering_fails_a_model() {
    let mut sites = BTreeMap::<Site, Vec<(u64, &Model)>>::new();
    for (index, model) in MODELS.iter().enumerate() {
        let (count, passed) = explored(index).as_ref().unwrap();
        for site in passed {
            sites.entry(*site).or_default().push((*count, model));
        }
    }
    silence();
    let rest = Mutex::new(sites.into_iter());
    let breaches = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let next = rest.lock().unwrap().next();
                    let Some((site, mut models)) = next else { return };
                    // The quick models first.
                    models.sort_by_key(|(count, _)| *count);
                    let models: Vec<&Model> = models.iter().map(|(_, model)| *model).collect();
                    let begin = std::time::Instant::now();
                    let who = who_needs(site, &models);
                    let line = format!("{}:{}: {}", site.0, site.1, lines(site)[0]);
                    println!("{line}\n    {} in {:?}", who.unwrap_or("NO MODEL"), begin.elapsed());
                    if who.is_none() {
                        breaches.lock().unwrap().push(line);
                    }
                }
            });
        }
    });
    let breaches = breaches.into_inner().unwrap();
    assert!(breaches.is_empty(), "no model needs these orderings:\n{}", breaches.join("\n"));
}
