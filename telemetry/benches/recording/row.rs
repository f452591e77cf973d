//! A row of results, and the record of all that were ever published.
//!
//! ```text
//!  name ⇥ value ⇥ unit ⇥ ratio to floor        standard output
//!  RECORD=name ─▶ telemetry/benches/record/DATE-name.tsv, with the facts of the machine
//! ```
//!
//! Shared by the benchmarks of `telemetry` and `eventcnv`. Names: `docs/benchmarks.md`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Prints a row, and gives it back with its newline. A floor has no ratio.
pub(crate) fn print(name: &str, value: f64, unit: &str, ratio: Option<f64>) -> String {
    let row = line(name, value, unit, ratio) + "\n";
    print!("{row}");
    row
}

fn line(name: &str, value: f64, unit: &str, ratio: Option<f64>) -> String {
    let ratio = ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.3}"));
    let digits = if value < 10.0 { 3 } else { 1 };
    format!("{name}\t{value:.digits$}\t{unit}\t{ratio}")
}

/// Appends lines to the record, where `RECORD` says what they are of; `benches` is the directory of
/// the record.
pub(crate) fn record(benches: &Path, lines: &str) {
    let Some(name) = env::var_os("RECORD") else { return };
    let name = name.to_string_lossy().into_owned();
    let path = benches.join(format!("record/{}-{name}.tsv", answer("date", &["-u", "+%F"])));
    let mut text = String::new();
    for (fact, value) in facts() {
        let _ = writeln!(text, "# {fact}: {value}");
    }
    text.push_str(lines);
    let appended = append(&path, &text);
    appended.unwrap_or_else(|error| panic!("cannot append to {}: {error}", path.display()));
    eprintln!("appended to {}", path.display());
}

fn append(path: &PathBuf, text: &str) -> std::io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    fs::OpenOptions::new().create(true).append(true).open(path)?.write_all(text.as_bytes())
}

/// What the numbers depend on.
fn facts() -> [(&'static str, String); 6] {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    [
        ("time", answer("date", &["-u", "+%FT%TZ"])),
        ("processor", format!("{} × {cores}", model.trim_start_matches([' ', '\t', ':']))),
        ("system", answer("uname", &["-srm"])),
        ("load", fs::read_to_string("/proc/loadavg").unwrap_or_default().trim().to_owned()),
        ("compiler", answer("rustc", &["--version"])),
        ("commit", answer("git", &["describe", "--always", "--dirty"])),
    ]
}

/// What a program prints; nothing if it is not there.
fn answer(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    output.map_or(String::new(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
