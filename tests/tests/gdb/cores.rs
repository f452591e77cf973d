//! Cores and stripped programs: the commands need no symbol, debug information or executable.
//!
//! ```text
//!  process ─ gcore ─▶ core ─ gdb, without the program ─▶ the same dump
//!  stripped program ─ contains its scripts ─▶ gdb loads them by itself
//! ```
//!
//! Rules: `.debug.core`, `.req.pm` in `design/telemetry.md`.

use super::commands::{agree, converted, count};
use super::session::{Session, shipped, text};

/// `.root.magic`: the commands find the root without its symbol.
#[test]
fn a_core_without_its_program_shows_the_same_events() {
    let session = Session::of("threads 8 700");
    let live = session.run(&["telemetry dump -vv", "telemetry status", "gcore process.core"]);
    let core = Session::of_core(&session.path("process.core"));
    let commands = ["telemetry dump -vv", "telemetry status", "telemetry save core.log"];
    let switches = ["telemetry set Pool", "telemetry reset Pool", "telemetry flush"];
    let said = core.run(&[commands, switches].concat());
    agree("of a core", &said[0], &live[0].lines().map(str::to_owned).collect::<Vec<_>>());
    assert_eq!(said[1], live[1]);
    agree("saved of a core", &said[0], &converted(&["-vv"], &core.path("core.log")));
    for said in &said[3..5] {
        assert_eq!(said, "error: a core cannot be changed: kinds are switched in a process\n");
    }
    assert_eq!(said[5], "error: a core cannot flush: telemetry save FILE makes a log of it\n");
}

/// `.root.stream`: also a program that records into a mapped file.
#[test]
fn a_stripped_program_loads_its_commands_and_shows_its_events() {
    let (_, _, stripped) = shipped();
    let mut session = Session::of_program(stripped, "abort 8 700");
    session.preparation = vec!["run".to_owned()];
    let commands = ["info symbol main", "telemetry save all.log", "telemetry dump", "gcore a.core"];
    let said = session.run(&commands);
    assert!(said[0].starts_with("error: No symbol"), "{}", said[0]);
    assert_eq!(count(&said[2], "Made"), 8 * 700);
    agree("stripped", &said[2], &converted(&["-v"], &session.path("all.log")));
    let core = Session::of_core(&session.path("a.core"));
    let said_of_core = core.run(&["telemetry dump"]);
    assert_eq!(said_of_core[0], said[2]);
}

#[test]
fn gdb_explains_how_to_allow_the_loading_of_commands() {
    let (_, whole, _) = shipped();
    let mut session = Session::empty();
    session.preparation = vec!["set auto-load safe-path /nowhere".to_owned()];
    let said = session.run(&[
        &format!("file {}", text(whole)),
        "telemetry dump",
        &super::session::source(),
        "telemetry dump",
    ]);
    assert!(said[0].contains("auto-loading has been declined"), "{}", said[0]);
    assert!(said[0].contains("add-auto-load-safe-path"), "{}", said[0]);
    assert!(said[1].starts_with("error: Undefined command: \"telemetry\""), "{}", said[1]);
    assert!(said[3].starts_with("error: there is no process and no core"), "{}", said[3]);
}
