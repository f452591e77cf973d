//! Shared libraries in a process that each carry the runtime: each has its root, and its stream.
//!
//! ```text
//!  python3 ─ dlopen ─▶ left.so   ─▶ EventRoot ─▶ stream ─┐
//!          └ dlopen ─▶ right.so  ─▶ EventRoot ─▶ stream ─┴─▶ gdb, core: both, in time order
//! ```
//!
//! Rules: `.sol.root`, `.debug.commands`, `.debug.core` in `design/telemetry.md`.

use super::commands::{agree, converted, count};
use super::session::Session;
use std::fs;
use tests::programs::{plugin, run, system};

/// All symbols are global, so that the second library would use those of the first if it could.
const SCRIPT: &str = "import ctypes, os
left = ctypes.CDLL('./left.so', mode=ctypes.RTLD_GLOBAL)
right = ctypes.CDLL('./right.so', mode=ctypes.RTLD_GLOBAL)
left.plugin_record(1, 50)
right.plugin_record(2, 300)
left.plugin_record(1, 100)
os.abort()
";

/// The values of the events, in order: thread, index.
fn values(text: &str) -> Vec<(u64, u64)> {
    let number = |word: &str| u64::from_str_radix(word, 16).expect("a number");
    let lines = text.lines().filter(|line| line.split(' ').nth(1) == Some("Done"));
    let words = lines.map(|line| line.split_whitespace().skip(2).map(number).collect::<Vec<_>>());
    words.map(|words| (words[0], words[1])).collect()
}

/// `.root.magic`, `.root.self`, `.root.stream`
#[test]
fn two_libraries_that_carry_the_runtime_have_a_stream_each_in_gdb_and_in_a_core() {
    let mut session = Session::empty();
    for name in ["left.so", "right.so"] {
        fs::copy(plugin(), session.path(name)).expect("a library can be copied");
    }
    fs::write(session.path("load.py"), SCRIPT).expect("a script can be written");
    // What is called python3 may be a script that finds it.
    let asked = run(system("python3").args(["-c", "import sys; print(sys.executable, end='')"]));
    let python = String::from_utf8_lossy(&asked.stdout).into_owned();
    session.arguments = ["--args", &python, "load.py"].map(str::to_owned).to_vec();
    session.preparation.push("run".to_owned());
    let switches = ["telemetry set Object", "telemetry status", "telemetry get"];
    let commands = ["telemetry dump", "gcore both.core", "telemetry save both.log"];
    let said = session.run(&[&commands[..], &switches].concat());
    let expected: Vec<(u64, u64)> = [(1, 50), (2, 300), (1, 100)]
        .iter()
        .flat_map(|&(who, count)| (0..count).map(move |index| (who, index)))
        .collect();
    assert!(values(&said[0]) == expected, "{}", said[0]);
    // Each has told of itself what a stream needs.
    assert_eq!(count(&said[0], "Thread"), 2, "{}", said[0]);
    agree("core", &said[0], &converted(&["-v"], &session.path("both.core")));
    agree("saved", &said[0], &converted(&["-v"], &session.path("both.log")));
    // Both masks are switched, each once: they are not the same one.
    for (what, said) in [("set", &said[3]), ("get", &said[5])] {
        let output = said.lines().filter(|line| line.ends_with(".output: Object"));
        assert_eq!(output.count(), 2, "{what}: {said}");
    }
    let pid = said[4].lines().filter(|line| line.starts_with("pid: ")).count();
    assert_eq!(pid, 2, "a process, and two streams: {}", said[4]);
    // And a core alone, with neither program nor library.
    let core = Session::of_core(&session.path("both.core"));
    for name in ["left.so", "right.so"] {
        fs::remove_file(session.path(name)).expect("it exists");
    }
    assert_eq!(core.run(&["telemetry dump"]).remove(0), said[0]);
}
