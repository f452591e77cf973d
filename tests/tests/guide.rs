//! Types the guide line by line, and compares what is printed with what it shows.
//!
//! ```text
//!  docs/guide.md ─▶ files, commands ─▶ bash in an empty folder next to `event-log` ─▶ output
//!                                      cargo: from the cache alone     └─ BLESS=1: into the guide
//! ```
//!
//! Design: `.first` in `design/telemetry.md`.
#![forbid(unsafe_code)]

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

/// The counter of kept bytes as `query` has it, and as the sums of the events themselves.
const SUMS: &str = r#"diff \
    <(eventcnv query --csv mpsio.log "SELECT count(*), sum(value), max(value) FROM counters
        WHERE name = 'kept'" | tail -n 1) \
    <(eventcnv --style csv --events 'Result*' mpsio.log | awk -F, 'NR > 1 {
        kept += $2 == "ResultKeep" ? $6 : -$6; sum += kept; count++; if (kept > max) max = kept
    } END { print count "," sum "," max }')"#;

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
    let checked = terminal.run(&page::Step {
        line: 0,
        prompt: page::Prompt::Shell,
        command: SUMS.to_owned(),
        shown: Vec::new(),
    });
    assert_eq!(checked, None, "the counter in SQL and the sums of the events differ");
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
