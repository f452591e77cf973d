//! The text of a plan.
//!
//! ```text
//!  plan 9f3c2a…              the fingerprint of the graph
//!  run 0 machine 1 cost 42   a profile; its witnesses follow
//!  17                        a witness, by the number of its element; its letter, if it is another
//!  23 17                     # a comment
//! ```
//!
//! Design: `.paths.files` in `design/paths.md`.

use super::{MACHINE_COUNT_MAX, Plan, Run};
use crate::graph::{ElementId, Program, text};
use crate::profile::Profile;
use core::fmt::Write;

/// Returns the fingerprint of a graph: equal graphs have equal ones (FNV-1a of its text).
pub fn fingerprint(program: &Program) -> u64 {
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3);
    text::write(program).bytes().fold(0xCBF2_9CE4_8422_2325, fold)
}

/// Returns the text of a plan.
pub fn write(program: &Program, plan: &Plan) -> String {
    let mut text = format!("plan {:016x} # {}\n", fingerprint(program), plan.strategy);
    for (number, run) in plan.runs.iter().enumerate() {
        let _ = writeln!(text, "run {number} machine {} cost {}", run.machine, run.cost);
        for (element, letter) in run.profile.letters() {
            let _ = write!(text, "{}", element.0);
            if *letter != element.0 {
                let _ = write!(text, " {letter}");
            }
            let name = program.element(*element).map_or("?".into(), |own| program.say(own));
            let _ = writeln!(text, " # {}", name.replace(['\n', '\r'], " "));
        }
    }
    text
}

/// Reads a plan of a program.
///
/// # Errors
///
/// Fails at a line that is not such text; if the plan is of another graph.
pub fn read(program: &Program, text: &str) -> Result<Vec<Run>, String> {
    let mut runs: Vec<(Run, Vec<(ElementId, u32)>)> = Vec::new();
    let mut is_of_graph = false;
    for (line, words) in (1..).zip(text.lines()).map(|(line, text)| (line, words(text))) {
        let wrong = || format!("line {line}: is not a line of a plan");
        match words[..] {
            [] => {}
            ["plan", print] => {
                is_of_graph = u64::from_str_radix(print, 16) == Ok(fingerprint(program));
                if !is_of_graph {
                    return Err(format!("line {line}: the plan is of another graph"));
                }
            }
            ["run", number, "machine", machine, "cost", cost] => {
                let numbers = (number.parse(), machine.parse(), cost.parse());
                let (Ok(number), Ok(machine), Ok(cost)) = numbers else { return Err(wrong()) };
                if machine >= MACHINE_COUNT_MAX {
                    let count = MACHINE_COUNT_MAX;
                    return Err(format!("line {line}: a plan has at most {count} machines"));
                }
                if runs.len() != number {
                    return Err(format!("line {line}: is not run {}", runs.len()));
                }
                runs.push((Run { profile: Profile::default(), machine, cost }, Vec::new()));
            }
            [element] | [element, _] => {
                let letter = words.get(1).unwrap_or(&element).parse();
                let (Ok(element), Ok(letter)) = (element.parse(), letter) else {
                    return Err(wrong());
                };
                if program.element(ElementId(element)).is_none() {
                    return Err(format!("line {line}: the graph has no element {element}"));
                }
                let (_, letters) = runs.last_mut().ok_or_else(wrong)?;
                letters.push((ElementId(element), letter));
            }
            _ => return Err(wrong()),
        }
    }
    if !is_of_graph {
        return Err("lacks its first line, plan FINGERPRINT".into());
    }
    let run = |(run, letters)| Run { profile: Profile::lettered(letters), ..run };
    Ok(runs.into_iter().map(run).collect())
}

fn words(line: &str) -> Vec<&str> {
    line.split('#').next().unwrap_or_default().split_whitespace().collect()
}
