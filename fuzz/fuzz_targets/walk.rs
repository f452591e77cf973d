//! Walks: a graph with calls, a loop and an unwinding; the fuzzer's bytes are the letters of a run.
//! What the walk gives out as whole has used all letters.
#![no_main]

use lens_paths::Weights;
use lens_paths::graph::text;
use lens_paths::plan::{Options, plan};
use lens_paths::walk::{Collection, Step, Walker};
use libfuzzer_sys::fuzz_target;

const GRAPH: &str = "function main\n0 > 1 2:unwind\ncall 0 f\n1 > 0 3\n2 > 3\nexit 3\n\
                     function f\n0 > 1 2 3\n1 > 0\ncall 2 f\n2 > 3\nexit 3\nstop 1\n";

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let program = text::read(GRAPH).expect("a graph");
    let options = Options { machines: usize::from(first >> 2 & 1) + 1, ..Options::default() };
    let plans = plan(&program, &Weights::basic(&program), &options).expect("a plan");
    let best = plans.best().expect("a plan");
    let walker = Walker::new(&program, &best.profiles()).expect("a walk");
    let parts = rest.chunks(rest.len().div_ceil(best.runs.len()).max(1));
    let letters = |part: &[u8]| part.iter().map(|byte| u32::from(*byte) % 32).collect();
    let mut collections: Vec<Collection> = parts
        .map(|part| Collection {
            letters: letters(part),
            begins: first & 1 == 0 || best.runs.len() > 1,
            ends: first & 2 == 0,
        })
        .collect();
    collections.resize_with(best.runs.len(), Collection::default);
    collections.iter_mut().for_each(|own| own.begins |= best.runs.len() > 1);
    let total: usize = collections.iter().map(|own| own.letters.len()).sum();
    let mut unknown = 0;
    let walked = walker
        .walk(&collections, &mut |step| unknown += u64::from(matches!(step, Step::Unknown(_))))
        .expect("collections of the plan");
    assert_eq!(unknown, walked.unknown);
    assert_eq!(walked.is_whole, unknown == 0);
    if walked.is_whole {
        assert_eq!(walked.letters, total as u64);
    }
});
