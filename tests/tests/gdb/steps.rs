//! A process that is stopped at every instruction of an annotation.
//!
//! ```text
//!  events shown:  n n n n n … n n+1 n+1 n+1      at every instruction one or the other, all right
//!                              └ the store that publishes
//! ```
//!
//! Rules: `.debug.buffer.reverse` in `design/telemetry.md`; `.write.publish` in `design/format.md`.

use super::session::{Session, shipped, text};
use tests::programs::root;

/// `.write.begin`, `.write.publish`, `.event.number`
#[test]
fn at_every_instruction_of_an_annotation_the_dump_shows_the_events_published_so_far() {
    let (_, program, _) = shipped();
    let mut session = Session::of_program(program, "steps 1000");
    session.environment.push(("MPS_TELEMETRY_BLOCK_SIZE", "4096".to_owned()));
    session.preparation.retain(|command| command.starts_with("source"));
    session.preparation.extend(["break *step_here", "run"].map(str::to_owned));
    let steps = format!("source {}", text(&root().join("tests/gdb/steps.py")));
    let said = session.run(&[steps]).remove(0);
    let calls = said.lines().filter(|line| line.starts_with("call "));
    let count = |line: &str| line.split(' ').nth(2).and_then(|word| word.parse::<usize>().ok());
    let instructions: Vec<usize> = calls.filter_map(count).collect();
    // Two in a block, two that go to the next one: those take longer.
    let [first, second, fresh, again] = instructions[..] else { panic!("{said}") };
    let fast = first.min(second);
    assert!(fast >= 20 && fresh >= 5 * fast && again >= 5 * fast, "{instructions:?}");
}
