//! What the guide for the dead of the night says is so: its sessions, run word for word.
//!
//! ```text
//!  design/postmortem.md ─▶ sessions ─▶ bash, gdb, real cores ─▶ what they print ─ as is shown?
//! ```
//!
//! Rules: `design/postmortem.md`; `.req.pm` in `design/telemetry.md`.
#![forbid(unsafe_code)]

#[path = "postmortem/page.rs"]
mod page;
#[path = "postmortem/terminal.rs"]
mod terminal;

use std::fs;
use tests::programs::root;

/// The sessions of the guide, and before them what prepares each.
fn guide() -> Vec<(String, Vec<page::Step>)> {
    let text = fs::read_to_string(root().join("design/postmortem.md")).expect("there is a guide");
    let mut sessions = page::sessions(&text);
    sessions.retain(|(_, steps)| !steps.is_empty());
    sessions
}

/// Runs a session. The programs are built already, as the first commands would.
fn replay(title: &str) {
    let guide = guide();
    let (_, preparation) = guide.first().expect("there is a preparation");
    let found = guide.iter().find(|(found, _)| found == title);
    let (_, steps) = found.unwrap_or_else(|| panic!("the guide has no session {title:?}"));
    let mut terminal = terminal::Terminal::open();
    let is_building = |step: &&page::Step| step.command.starts_with("cargo build ");
    for step in preparation.iter().filter(|step| !is_building(step)).chain(steps) {
        terminal.run(step);
    }
}

/// `.debug.core`: the last events of a program that died, alone and with its log.
#[test]
fn the_session_of_a_crash_is_as_it_is_shown() {
    replay("1. A crash");
}

/// `.debug.dump`, `.debug.describe`, `.control.output`: a process that is stopped by gdb.
#[test]
fn the_session_of_a_hang_is_as_it_is_shown() {
    replay("2. A hang");
}

/// `.debug.core`, `.debug.commands`: neither symbols nor the program.
#[test]
fn the_session_of_a_stripped_program_is_as_it_is_shown() {
    replay("3. A stripped program, and only its core");
}

/// `.sol.mapped`: nothing is lost when the process is killed.
#[test]
fn the_session_of_a_ring_file_is_as_it_is_shown() {
    replay("4. A ring file after SIGKILL");
}

#[test]
fn every_session_of_the_guide_is_run() {
    let source = fs::read_to_string(root().join(file!())).expect("this file exists");
    let guide = guide();
    let (_, preparation) = &guide[0];
    assert!(preparation.iter().all(|step| step.shown.is_empty()), "a preparation prints nothing");
    for (title, _) in &guide[1..] {
        assert!(source.contains(&format!("replay({title:?})")), "{title:?} is not run");
    }
}
