//! Graphs of programs: the fuzzer's bytes as text. A graph that is read is written and planned.
#![no_main]

use lens_paths::graph::text;
use lens_paths::plan::{Kind, Options, plan};
use lens_paths::{Weights, clashes};
use libfuzzer_sys::fuzz_target;

/// Elements of a graph that is planned, at most.
const ELEMENT_COUNT_MAX: usize = 400;

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let Ok(program) = text::read(&String::from_utf8_lossy(rest)) else { return };
    let written = text::write(&program);
    let again = text::read(&written).expect("a written graph reads");
    assert_eq!(again.functions(), program.functions());
    if program.element_count() > ELEMENT_COUNT_MAX {
        return;
    }
    let weights = Weights::written(&program).unwrap_or_else(|| Weights::basic(&program));
    let kind = if first & 1 == 0 { Kind::Edges } else { Kind::Blocks };
    let limit = (first & 2 != 0).then_some(usize::from(first >> 4));
    let options = Options { machines: usize::from(first >> 2 & 3) + 1, limit, kind };
    if let Ok(plans) = plan(&program, &weights, &options) {
        for own in &plans.all {
            assert_eq!(clashes(&program, &own.profiles()), Ok(Vec::new()));
        }
    }
});
