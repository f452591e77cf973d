//! Rust's MIR, as `rustc --emit=mir` prints it, as the text of a graph.
//!
//! ```text
//!  fn kind(_1: u8) -> u32 {                     function "kind"
//!      bb0: { switchInt(_1) -> [0: bb1, otherwise: bb2]; }     0 > 1:case 2:case
//!      bb1: { _2 = f(_1) -> [return: bb3, unwind: bb4]; }      1 > 3 4:unwind, call 1 f
//!      bb2: { return; }                         exit 2
//! ```
//!
//! A call of a function without a body in the text is one of code outside. Design: `.paths.mir` in
//! `design/paths.md`.

use super::text::quoted;
use core::fmt::Write;
use std::collections::HashSet;

/// Returns the text of a graph for the functions of MIR. Lines that are not of a function are left
/// out.
pub(super) fn text(mir: &str) -> String {
    let names: HashSet<&str> = mir.lines().filter_map(name).collect();
    let (mut text, mut is_function, mut block) = (String::new(), false, None);
    let mut known: HashSet<&str> = HashSet::new();
    for line in mir.lines() {
        if let Some(name) = name(line) {
            // A name may have several bodies, as those of constants: the first one counts.
            is_function = known.insert(name);
            if is_function {
                let _ = writeln!(text, "function {}", quoted(name));
            }
            block = None;
        } else if line == "}" {
            (is_function, block) = (false, None);
        } else if let Some(number) = begun(line).filter(|_| is_function) {
            block = Some(number);
            // Blocks are numbered in order.
            let _ = writeln!(text, "block {number}");
        } else if let Some(number) = block {
            terminator(&mut text, number, line.trim(), &names);
        }
    }
    text
}

/// Returns the name of the function that a line begins.
fn name(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("fn ").filter(|rest| rest.ends_with('{'))?;
    rest.get(..callee_size(rest)?)
}

/// Returns the size of a path before its arguments: up to the first parenthesis outside of `<>`.
fn callee_size(text: &str) -> Option<usize> {
    let mut depth = 0u32;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if before != '-' => depth = depth.saturating_sub(1),
            '(' if depth == 0 => return Some(at),
            _ => {}
        }
        before = c;
    }
    None
}

/// Returns the number of the block that a line begins: `bb7: {`, `bb8 (cleanup): {`.
fn begun(line: &str) -> Option<u32> {
    let rest = line.strip_prefix("    bb")?.strip_suffix(": {")?;
    rest.split(' ').next()?.parse().ok()
}

/// Writes the ways on that the last line of a block states.
fn terminator(text: &mut String, block: u32, line: &str, names: &HashSet<&str>) {
    if line == "return;" {
        let _ = writeln!(text, "exit {block}");
        return;
    }
    let Some((statement, targets)) = line.strip_suffix(';').and_then(|own| own.rsplit_once(" -> "))
    else {
        return;
    };
    let inner = targets.strip_prefix('[').and_then(|own| own.strip_suffix(']')).unwrap_or(targets);
    let is_switch = statement.starts_with("switchInt(");
    let mut is_known = inner.starts_with("unwind");
    let mut edges = String::new();
    for target in inner.split(", ") {
        let (key, place) = target.rsplit_once([' ']).unwrap_or(("", target));
        let number = place.strip_prefix("bb").and_then(|number| number.parse::<u32>().ok());
        is_known |= number.is_some();
        let kind = match key.trim_end_matches(':') {
            "unwind" => ":unwind",
            _ if is_switch => ":case",
            _ => "",
        };
        if let Some(number) = number {
            let _ = write!(edges, " {number}{kind}");
        }
    }
    if !is_known {
        return;
    }
    if !edges.is_empty() {
        let _ = writeln!(text, "{block} >{edges}");
    }
    let is_drop = statement.starts_with("drop(");
    let call = statement.split_once(" = ").map_or(statement, |(_, call)| call);
    let callee = callee_size(call).and_then(|size| call.get(..size)).map(plain);
    let is_call = !["switchInt", "assert", "goto", "falseEdge", "falseUnwind"]
        .iter()
        .any(|word| statement.starts_with(word));
    match callee.filter(|own| names.contains(own.as_str())) {
        Some(own) if is_call => {
            let _ = writeln!(text, "call {block} {}", quoted(&own));
        }
        _ if is_call || is_drop => {
            let _ = writeln!(text, "call {block} ?");
        }
        _ => {}
    }
}

/// Returns a path without the types of a generic call at its end: `f::<u32>` is `f`.
fn plain(path: &str) -> String {
    match path.rfind("::<").filter(|_| path.ends_with('>')) {
        Some(at) => path.get(..at).unwrap_or(path).to_owned(),
        None => path.to_owned(),
    }
}
