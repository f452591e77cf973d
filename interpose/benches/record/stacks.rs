//! What it costs a program that its stacks are recorded: over itself alone, over recording without
//! stacks, and next to heaptrack, which records the same.
//!
//! ```text
//!  program ─┬─ alone ─ recorded ─ with stacks ─ under heaptrack ─┐ by turns: processor time
//!           └────────────────────────────────────────────────────┴▶ the median of the ratios
//! ```
//!
//! Design: `.rep.stack.walk` in `design/replay.md`.

use super::{processor_time, row};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const ROUND_COUNT: usize = 3;
/// How many times its own time a program may take.
const RATIO_MAX: f64 = 3.0;

/// The ways in which a program is run.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Alone,
    Recorded,
    Stacks,
    Heaptrack,
}

/// The rows of all programs.
pub(super) fn measure(folder: &Path, library: &Path) -> String {
    let mut lines = String::new();
    let ways = [Way::Alone, Way::Recorded, Way::Stacks, Way::Heaptrack];
    for (name, command) in programs(folder) {
        let rounds: Vec<_> =
            (0..ROUND_COUNT).map(|_| ways.map(|way| run(&command, way, folder, library))).collect();
        let ratio = |above: usize, below: usize| {
            let mut ratios: Vec<_> =
                rounds.iter().filter_map(|round| Some(round[above]? / round[below]?)).collect();
            ratios.sort_by(f64::total_cmp);
            ratios.get(ratios.len() / 2).copied()
        };
        let mut tell = |what: &str, ratio: Option<f64>, max: Option<f64>| {
            if let Some(ratio) = ratio {
                let over = max.map(|max| ratio / max);
                lines += &row::print(&format!("{name}-{what}"), ratio, "x", over);
            }
        };
        tell("recorded-over-alone", ratio(1, 0), None);
        tell("stacks-over-alone", ratio(2, 0), Some(RATIO_MAX));
        tell("stacks-over-recorded", ratio(2, 1), None);
        tell("heaptrack-over-alone", ratio(3, 0), None);
    }
    lines
}

/// The processor time of a run, in seconds; `None`: heaptrack is not installed, or it died. Its
/// file is not interpreted, which takes 13 GB for the stacks that branch.
fn run(words: &[String], way: Way, folder: &Path, library: &Path) -> Option<f64> {
    let log = folder.join("log");
    let _ = fs::remove_file(&log);
    let mut command = Command::new(if way == Way::Heaptrack { "heaptrack" } else { &words[0] });
    match way {
        Way::Alone => {}
        Way::Heaptrack => {
            command.args(["--raw", "-o"]).arg(folder.join("heaptrack")).args(&words[..1]);
        }
        Way::Recorded | Way::Stacks => {
            command.env("LD_PRELOAD", library).env("TELEMETRY_CONTROL", "Object");
            command.env("TELEMETRY_FILENAME", &log);
        }
    }
    if way == Way::Stacks {
        command.env("TELEMETRY_STACKS", "32");
    }
    command.args(&words[1..]).env("PYTHONMALLOC", "malloc").current_dir(folder);
    let before = processor_time();
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    match status {
        Err(_) if way == Way::Heaptrack => return None,
        Ok(status) if way == Way::Heaptrack && !status.success() => {
            eprintln!("{words:?} under heaptrack: heaptrack died ({status})");
            return None;
        }
        status => assert!(status.expect("the program exists").success(), "{words:?}"),
    }
    Some(processor_time() - before)
}

/// The programs: each with a name.
fn programs(folder: &Path) -> Vec<(&'static str, Vec<String>)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let truth = here.join("../replay/tests/truth");
    let truth = |file: &str| truth.join(file).to_str().expect("UTF-8").to_owned();
    let of = |words: &str| words.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let make = |words: &str, file: &str| {
        let words = of(words);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).arg(file).current_dir(folder);
        let output = command.output().expect("a compiler");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text").trim().to_owned()
    };
    let branches = here.join("benches/record/branches.cc");
    make("g++ -O2 -g -o branches", branches.to_str().expect("UTF-8"));
    make("cc -O2 -g -pthread -o churn", &truth("churn.c"));
    make("g++ -E -o many.ii", &truth("many.cc"));
    let compiler = make("g++", "-print-prog-name=cc1plus");
    let sqlite = vec!["sqlite3".into(), ":memory:".into(), format!(".read {}", truth("rows.sql"))];
    let compile = of("-quiet -fpreprocessed -O1 many.ii -o /dev/null");
    vec![
        ("branches", of("./branches 200")),
        ("sqlite", sqlite),
        ("python", vec!["/usr/bin/python3".into(), truth("objects.py")]),
        ("cc1plus", [vec![compiler], compile].concat()),
        ("threads", of("./churn 4 200000")),
    ]
}
