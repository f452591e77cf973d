//! The text of `perf script`: the fuzzer's bytes as lines, and after an event whose fields are cut.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lens::waits::source::script;

fuzz_target!(|bytes: &[u8]| {
    let begin = b"a 7 [000] 1.000002: sched:sched_switch: prev_comm=a prev_pid=7 ".as_slice();
    for text in [bytes.to_vec(), [begin, bytes].concat()] {
        let _ = script::import(&text, [7; 16].into(), &mut std::io::sink());
    }
});
