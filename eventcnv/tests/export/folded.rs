//! Folded stacks equal sums that are counted from the dump.
//!
//! ```text
//!  dump ──▶ XBegin, XEnd, time ──▶ stack at each event ──▶ sums ── equal ── lines
//! ```
//!
//! Design: `.cnv.folded` in `design/eventcnv.md`.

use crate::{dumped, exported, logs};
use serde_json::Value;
use std::collections::BTreeMap;

type Sums = BTreeMap<String, u64>;

fn folded(args: &[&str]) -> Sums {
    let (bytes, _) = exported("stacks.folded", args);
    let text = String::from_utf8(bytes).unwrap();
    let line = |line: &str| {
        let (stack, weight) = line.rsplit_once(' ').unwrap();
        (stack.to_owned(), weight.parse().unwrap())
    };
    text.lines().map(line).collect()
}

/// Visits each event, and the ticks from it to the next, with the names of the open slices.
fn walked(events: &[Value], mut visit: impl FnMut(&str, &Value, u64)) {
    let mut open: Vec<&str> = Vec::new();
    for (index, event) in events.iter().enumerate() {
        let name = event["event"].as_str().unwrap();
        let ticks = |index: usize| events.get(index).map(|event| event["ticks"].as_u64().unwrap());
        if let Some(begun) = name.strip_suffix("Begin") {
            open.push(begun);
        }
        let before = open.join(";");
        if let Some(ended) = name.strip_suffix("End") {
            assert_eq!(open.pop(), Some(ended));
        }
        visit(&before, event, 0);
        let way = ticks(index + 1).map_or(0, |next| next - ticks(index).unwrap());
        visit(&open.join(";"), &Value::Null, way);
    }
}

/// `.cnv.folded`: a tick is a ns.
#[test]
fn a_slice_weighs_its_time_without_inner_slices() {
    let [.., log, _] = logs();
    let mut expected = Sums::new();
    walked(&dumped(&[&log]), |stack, _, ns| {
        if !stack.is_empty() && ns > 0 {
            let name = format!("stream 0;unknown thread;{stack}");
            *expected.entry(name).or_default() += ns;
        }
    });
    assert!(expected.len() >= 3, "{expected:?}");
    assert_eq!(folded(&["--clock-rate", "1GHz", &log]), expected);
}

#[test]
fn a_slice_weighs_the_sum_of_its_events() {
    let [log, ..] = logs();
    let mut expected = 0;
    walked(&dumped(&[&log]), |stack, event, _| {
        if stack == "File" {
            expected += event["params"]["size"].as_u64().unwrap_or(0);
        }
    });
    assert!(expected > 1000);
    let found = folded(&[&log, "--weight", "size"]);
    assert_eq!(found, Sums::from([("heap;heap;File".to_owned(), expected)]));
}

#[test]
fn a_string_is_a_stack_that_weighs_1_or_a_parameter() {
    let [_, log, ..] = logs();
    let mut expected = [Sums::new(), Sums::new()];
    for event in dumped(&[&log]).iter().filter(|event| event["event"] == "FileBegin") {
        let name = event["params"]["name"].as_str().unwrap();
        *expected[0].entry(name.to_owned()).or_default() += 1;
        *expected[1].entry(name.to_owned()).or_default() +=
            event["params"]["size"].as_u64().unwrap();
    }
    assert_eq!(expected[0].len(), 2);
    assert_eq!(folded(&[&log, "--stack=name", "--kinds=User"]), expected[0]);
    assert_eq!(folded(&[&log, "--stack=name", "--kinds=User", "--weight=size"]), expected[1]);
}

#[test]
fn a_log_without_stacks_is_reported() {
    let [log, ..] = logs();
    let (bytes, errors) = exported("stacks.folded", &[&log, "--no-names"]);
    assert!(bytes.is_empty() && errors.contains("has a stack or is in a slice"), "{errors}");
    let (_, code, errors) =
        crate::support::run(&["export", &log, "-o", "none.json", "--weight", "size"]);
    assert!(code == 2 && errors.contains("--format folded"), "{errors}");
    let (_, code, errors) =
        crate::support::run(&["export", &log, "-o", "none.folded", "--weight", "siz"]);
    assert!(code == 2 && errors.contains("did you mean size?"), "{errors}");
}
