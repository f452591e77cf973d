//! Types the guide line by line, and compares what is printed with what it shows.
//!
//! ```text
//!  docs/guide.md ─▶ files, commands ─▶ bash in an empty folder next to `event-log` ─▶ output
//!                                      cargo: from the cache alone  │  └─ BLESS=1: into the guide
//!                                      logs ─▶ every output, against Python: meaning/agree.rs
//! ```
//!
//! Design: `.first` in `design/telemetry.md`.
#![forbid(unsafe_code)]

#[path = "meaning/agree.rs"]
mod agree;
#[path = "sessions/page.rs"]
mod page;
#[path = "sessions/terminal.rs"]
mod terminal;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use tests::programs::{eventcnv, root, system};

const GUIDE: &str = "docs/guide.md";

/// The most lines that a user types up to a table of latencies.
const TYPED_COUNT_MAX: usize = 20;

/// Cargo fetches nothing, and prints nothing of its own.
const CARGO: &str = "cargo() { command cargo \"$1\" --quiet --offline \"${@:2}\"; }";

/// What the marks and names of the guide's registry state.
const RULES: [&str; 6] = [
    "counter JobQueued queue = length",
    "counter WorkBegin queue = length",
    "counter ResultKeep kept + size",
    "counter ResultDrop kept - size",
    "span JobQueued=JobDone Job job title",
    "slice WorkBegin=WorkEnd Work",
];

fn sessions() -> Vec<(String, Vec<page::Step>)> {
    page::sessions(&fs::read_to_string(root().join(GUIDE)).expect("a guide"))
}

#[test]
fn each_line_of_the_guide_prints_what_it_shows() {
    system("gdb");
    let link = |home: &Path| symlink(root(), home.join("event-log")).expect("a link can be made");
    let mut terminal = terminal::Terminal::open(GUIDE, true, link);
    let tools = eventcnv();
    let tools = Path::new(tools.get_program()).parent().expect("a folder").display();
    terminal.send(&format!("export PATH={tools}:$PATH; unset CARGO_TARGET_DIR; {CARGO}"));
    let mut printed = Vec::new();
    for step in sessions().into_iter().flat_map(|(_, steps)| steps) {
        if let Some(output) = terminal.run(&step) {
            printed.push((step, output));
        }
    }
    // `.cnv.counters`, `.slice.pair`: what the page measures is what its logs have.
    let folder = tempfile::tempdir().expect("a folder");
    let copy = page::Step {
        line: 0,
        prompt: page::Prompt::Shell,
        command: format!("cp old.log ring.log core {}", folder.path().display()),
        shown: Vec::new(),
    };
    assert_eq!(terminal.run(&copy), None);
    // The dead program did not finish its jobs.
    for (name, is_whole) in [("old.log", true), ("ring.log", true), ("core", false)] {
        let (path, clock) = (&*folder.path().join(name), &agree::TICKS);
        let computed = agree::agree(&agree::Log { path, clock, rules: &RULES }, &[]);
        let (changes, slices) = (computed.changes.len(), computed.slices.len());
        assert_eq!((changes, slices) == (1200, 600), is_whole, "{name}: {changes} {slices}");
        let is_open = |slice: &agree::Slice| slice.verdict == "unfinished";
        assert_eq!(computed.slices.iter().any(is_open), !is_whole, "{name}");
    }
    if !printed.is_empty() {
        let path = root().join(GUIDE);
        let text = fs::read_to_string(&path).expect("a guide");
        fs::write(path, page::corrected(&text, &printed)).expect("the guide can be written");
    }
}

#[test]
fn a_latency_table_needs_few_lines() {
    let sessions = sessions();
    let (_, steps) = sessions.iter().find(|(_, steps)| !steps.is_empty()).expect("a first part");
    assert_eq!(steps.last().expect("a step").command, "eventcnv pairs");
    let typed = |step: &page::Step| match step.prompt {
        page::Prompt::File => step.shown.len(),
        page::Prompt::Shell | page::Prompt::Gdb => 1,
    };
    let count: usize = steps.iter().map(typed).sum();
    assert!((10..=TYPED_COUNT_MAX).contains(&count), "{count} lines");
}
