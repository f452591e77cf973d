//! The progress bar on a real terminal: it tells the truth over all passes.
//!
//! ```text
//!  recorder ── log, ever longer ──▶ eventcnv in a pseudo-terminal ──▶ drawings of the bar
//! ```
//!
//! Rules: `.dumper` in `design/telemetry.md`.

use std::path::Path;
use std::process::Command;
use tests::programs::{eventcnv, recording, run, system};

/// Runs a command in a terminal, and prints what it draws.
const TERMINAL: &str = include_str!("../../eventcnv/tests/support/terminal.py");
/// A bar is drawn this often, at least, before its drawings are compared.
const DRAWING_COUNT_MIN: usize = 10;
/// The bar appears after a second: a log is made longer until it does.
const EVENT_COUNT_MAX: u64 = 50_000_000;

/// Returns the percentage and the rest of each drawing.
fn drawings(words: &[&str], log: &Path, output: &Path) -> Vec<(u64, String)> {
    let program = eventcnv();
    let mut terminal = system("python3");
    terminal.args(["-c", TERMINAL]).arg(program.get_program()).args(words);
    terminal.arg(log).arg("--force").arg("-o").arg(output).env("COLUMNS", "80");
    let text = String::from_utf8_lossy(&run(&mut terminal).stdout).into_owned();
    let drawn = text.split(['\r', '\n']).filter_map(|line| {
        let (before, rest) = line.split_once("% ")?;
        let percent = before.rsplit(' ').next()?.parse().ok()?;
        Some((percent, rest.trim_end().to_owned()))
    });
    drawn.collect()
}

#[test]
fn a_bar_on_a_terminal_only_grows_and_never_ends_early() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let [log, output] = ["long.log", "output"].map(|name| directory.path().join(name));
    for words in [&["sql"][..], &["report"]] {
        let mut count = 50_000;
        let drawn = loop {
            let mut recorder = Command::new(env!("CARGO_BIN_EXE_recorder"));
            recorder.args(["threads", "2", &count.to_string()]);
            run(&mut recording(recorder, "all", &log));
            let drawn = drawings(words, &log, &output);
            if drawn.len() >= DRAWING_COUNT_MIN {
                break drawn;
            }
            count *= 4;
            assert!(count < EVENT_COUNT_MAX, "no bar appears: {drawn:?}");
        };
        assert!(drawn.iter().map(|(percent, _)| percent).is_sorted(), "{words:?}: {drawn:?}");
        let is_untrue = |(percent, rest): &(u64, String)| {
            let promises = [", 0 s left", "almost", "GiB/s"];
            *percent > 100 || promises.iter().any(|promise| rest.contains(promise))
        };
        assert!(!drawn.iter().any(is_untrue), "{words:?}: {drawn:?}");
    }
}
