//! A process stopped at every instruction of an annotation.
//!
//! ```text
//!  events shown:  n n n n n … n n+1 n+1 n+1      at every instruction one or the other, all sound
//!                              └ the store that publishes
//!  some of these stops:  core ─ eventcnv ─▶ the same lines
//! ```
//!
//! Rules: `.debug.buffer.reverse` in `design/telemetry.md`; `.write.publish` in `design/format.md`.

use super::commands::{agree, converted};
use super::session::{Session, shipped, text};
use std::fs;
use tests::programs::{eventcnv, root};

/// Returns a session of a program that is stopped before its first event.
fn session() -> Session {
    let (_, program, _) = shipped();
    let mut session = Session::of_program(program, "steps 1000");
    session.environment.push(("MPS_TELEMETRY_BLOCK_SIZE", "4096".to_owned()));
    session.preparation.retain(|command| command.starts_with("source"));
    let steps = format!("source {}", text(&root().join("tests/gdb/steps.py")));
    session.preparation.extend(["break *step_here".to_owned(), "run".to_owned(), steps]);
    session
}

/// Checks that eventcnv prints of each core what gdb showed. Returns the number of cores from
/// before the first event, and of all cores.
fn judge_cores(session: &Session) -> (usize, usize) {
    let (mut early, mut count) = (0, 0);
    for entry in fs::read_dir(session.directory.path()).expect("a folder") {
        let core = entry.expect("an entry").path();
        if core.extension().is_none_or(|extension| extension != "core") {
            continue;
        }
        let shown = fs::read_to_string(core.with_extension("text")).expect("a text");
        count += 1;
        if shown != "none\n" {
            agree(&text(&core), &shown, &converted(&["-v"], &core));
            continue;
        }
        early += 1;
        let output = eventcnv().arg(&core).output().expect("a process");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.stdout.is_empty() && output.status.code() == Some(2), "{said}");
        assert!(said.lines().count() == 1 && said.contains("recorded nothing"), "{said}");
    }
    (early, count)
}

/// `.write.begin`, `.write.publish`, `.event.number`
#[test]
fn dump_shows_published_events_at_every_instruction() {
    let session = session();
    let said = session.run(&["python step_calls()"]).remove(0);
    let calls = said.lines().filter(|line| line.starts_with("call "));
    let count = |line: &str| line.split(' ').nth(2).and_then(|word| word.parse::<usize>().ok());
    let instructions: Vec<usize> = calls.filter_map(count).collect();
    // Two events fit in a block, and two need the next block: those take longer.
    let [first, second, fresh, again] = instructions[..] else { panic!("{said}") };
    let fast = first.min(second);
    assert!(fast >= 20 && fresh >= 5 * fast && again >= 5 * fast, "{instructions:?}");
    let (early, count) = judge_cores(&session);
    println!("{instructions:?} instructions, {count} cores");
    // At least two cores for each call, and one for 97 instructions.
    assert!(early == 0 && count >= 8.max((fresh + again) / 97), "{early} {count}");
}

/// `.root.self`, `.root.node`, `.root.preamble`: the process creates registries, root and rings.
#[test]
fn dump_is_sound_at_every_instruction_of_the_first_event() {
    let session = session();
    let said = session.run(&["python step_first()"]).remove(0);
    let stops = said.lines().find_map(|line| line.strip_prefix("first: ")?.split(' ').next());
    let stops: usize = stops.and_then(|stops| stops.parse().ok()).expect("a number of stops");
    let (early, count) = judge_cores(&session);
    println!("{stops} stops, {early} of {count} cores are from before there is a root");
    assert!(stops > 100 && early > 0 && count >= early + 2 && count >= stops / 12, "{said}");
}
