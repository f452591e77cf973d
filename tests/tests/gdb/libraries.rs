//! Two shared libraries with the runtime in one process: each has its root, and its stream.
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

/// All symbols are global: the second library would use those of the first if it could.
const SCRIPT: &str = "import ctypes, os
left = ctypes.CDLL('./left.so', mode=ctypes.RTLD_GLOBAL)
right = ctypes.CDLL('./right.so', mode=ctypes.RTLD_GLOBAL)
left.plugin_record(1, 50)
right.plugin_record(2, 300)
left.plugin_record(1, 100)
os.abort()
";

/// Returns thread and index of the events, in order.
fn values(text: &str) -> Vec<(u64, u64)> {
    let number = |word: &str| u64::from_str_radix(word, 16).expect("a number");
    let lines = text.lines().filter(|line| line.split(' ').nth(1) == Some("Done"));
    let words = lines.map(|line| line.split_whitespace().skip(2).map(number).collect::<Vec<_>>());
    words.map(|words| (words[0], words[1])).collect()
}

/// `.root.magic`, `.root.self`, `.root.stream`
#[test]
fn gdb_and_a_core_show_a_stream_of_each_library() {
    let mut session = Session::empty();
    for name in ["left.so", "right.so"] {
        fs::copy(plugin(), session.path(name)).expect("a library can be copied");
    }
    fs::write(session.path("load.py"), SCRIPT).expect("a script can be written");
    // `python3` may be a script that starts the real program.
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
    // The stream of each library has its own thread.
    assert_eq!(count(&said[0], "Thread"), 2, "{}", said[0]);
    agree("core", &said[0], &converted(&["-v"], &session.path("both.core")));
    agree("saved", &said[0], &converted(&["-v"], &session.path("both.log")));
    // Each mask is switched once: the two masks differ.
    for (what, said) in [("set", &said[3]), ("get", &said[5])] {
        let output = said.lines().filter(|line| line.ends_with(".output: Object"));
        assert_eq!(output.count(), 2, "{what}: {said}");
    }
    let pid = said[4].lines().filter(|line| line.starts_with("pid: ")).count();
    assert_eq!(pid, 2, "one process with two streams: {}", said[4]);
    // The core alone, without the program and the libraries.
    let core = Session::of_core(&session.path("both.core"));
    for name in ["left.so", "right.so"] {
        fs::remove_file(session.path(name)).expect("a file");
    }
    assert_eq!(core.run(&["telemetry dump"]).remove(0), said[0]);
}
