//! Plans and collections as text: the fuzzer's bytes, for a graph with calls and a loop.
#![no_main]

use lens_paths::graph::text as graph;
use lens_paths::plan::text::{fingerprint, read};
use lens_paths::walk::text as collection;
use libfuzzer_sys::fuzz_target;

const GRAPH: &str = "function main\n0 > 1 2\ncall 0 f\n1 > 0\nexit 2\n\
                     function f\n0 > 1 2\nexit 1 2\n";

fuzz_target!(|bytes: &[u8]| {
    let program = graph::read(GRAPH).expect("a graph");
    let text = String::from_utf8_lossy(bytes);
    let _ = collection::read(&text);
    let print = fingerprint(&program);
    for plan in [text.to_string(), format!("plan {print:016x}\nrun 0 machine 0 cost 1\n{text}")] {
        if let Ok(runs) = read(&program, &plan) {
            let profiles: Vec<_> = runs.into_iter().map(|run| run.profile).collect();
            let _ = lens_paths::clashes(&program, &profiles);
        }
    }
});
