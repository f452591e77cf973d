//! Runs the sessions of `design/postmortem.md` word for word.
//!
//! ```text
//!  design/postmortem.md ─▶ sessions ─▶ bash, gdb, real cores ─▶ output ─ equal to the page?
//! ```
//!
//! Rules: `design/postmortem.md`; `.req.pm` in `design/telemetry.md`.
#![forbid(unsafe_code)]

#[path = "sessions/page.rs"]
mod page;
#[path = "sessions/terminal.rs"]
mod terminal;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use tests::programs::{eventcnv, release, root, system};

/// Makes a directory look like the root of the repository with all programs built.
fn lay_out(home: &Path) {
    let bank = Path::new(env!("CARGO_BIN_EXE_bank"));
    let target = home.join("target");
    fs::create_dir(&target).expect("a directory can be made");
    let eventcnv = Path::new(eventcnv().get_program()).parent().expect("a folder").to_owned();
    assert_eq!(bank.parent(), Some(&*eventcnv), "all programs in one folder");
    let shipped = release("bank", &[]).parent().expect("a folder").to_owned();
    let links = [
        (eventcnv, target.join("debug")),
        (shipped, target.join("release")),
        (root().join("telemetry"), home.join("telemetry")),
    ];
    for (from, to) in links {
        symlink(from, to).expect("a link can be made");
    }
}

/// Returns the sessions of the guide; the first prepares the others.
fn guide() -> Vec<(String, Vec<page::Step>)> {
    let text = fs::read_to_string(root().join("design/postmortem.md")).expect("a guide");
    let mut sessions = page::sessions(&text);
    sessions.retain(|(_, steps)| !steps.is_empty());
    sessions
}

/// Runs a session. The programs are already built, as the first commands would build them.
fn replay(title: &str) {
    let guide = guide();
    let (_, preparation) = guide.first().expect("a preparation");
    let found = guide.iter().find(|(found, _)| found == title);
    let (_, steps) = found.unwrap_or_else(|| panic!("the guide has no session {title:?}"));
    system("gdb");
    let mut terminal = terminal::Terminal::open("design/postmortem.md", false, lay_out);
    let is_building = |step: &&page::Step| step.command.starts_with("cargo build ");
    for step in preparation.iter().filter(|step| !is_building(step)).chain(steps) {
        let printed = terminal.run(step);
        assert_eq!(printed, None, "{step}: this page has text in place of output");
    }
}

/// `.debug.core`: the last events of a program that died, from the core alone and with its log.
#[test]
fn the_session_of_a_crash_prints_what_the_guide_shows() {
    replay("1. A crash");
}

/// `.debug.dump`, `.debug.describe`, `.control.output`: gdb stops a process.
#[test]
fn the_session_of_a_hang_prints_what_the_guide_shows() {
    replay("2. A hang");
}

/// `.debug.core`, `.debug.commands`: without symbols and without the program.
#[test]
fn the_session_of_a_stripped_program_prints_what_is_shown() {
    replay("3. A stripped program, and only its core");
}

/// `.sol.mapped`: a killed process loses no event.
#[test]
fn the_session_of_a_ring_file_prints_what_the_guide_shows() {
    replay("4. A ring file after SIGKILL");
}

#[test]
fn a_test_runs_every_session_of_the_guide() {
    let source = fs::read_to_string(root().join(file!())).expect("this file");
    let guide = guide();
    let (_, preparation) = &guide[0];
    assert!(preparation.iter().all(|step| step.shown.is_empty()), "a preparation prints nothing");
    for (title, _) in &guide[1..] {
        assert!(source.contains(&format!("replay({title:?})")), "{title:?} is not run");
    }
}
