//! How far the times of statements are from the truth: by depth, and of the seed's `multiply`.
//!
//! ```text
//!  a process for each subject ─▶ rounds: profiled ∥ the same without the attribute, in turn
//!      └─▶ log in memory ─▶ lens-calls, by each method ─▶ ratio to the truth ─▶ median
//! ```
//!
//! `cargo run --release` prints a table; `-- 21` takes 21 processes for each row instead of 5.
//! Design: `.statements.correct` in `design/statements.md`.
#![forbid(unsafe_code)]

mod multiply;
mod nested;

use calls::profile::{self, Mode};
use eventlog::reader::{Clock, Log};
use lens_calls::statements::{Method, Statements, Value, read};
use std::process::Command;
use std::time::Instant;
use telemetry::MemoryPlinth;

/// The methods; a trace alone has the last one.
const METHODS: [(&str, Method); 4] = [
    ("raw", Method::Raw),
    ("outer", Method::Outer),
    ("calibrated", Method::Calibrated),
    ("leaves", Method::Leaves),
];
const CALIBRATED: usize = 2;
const LEAVES: usize = 3;
/// What a process measures: a ratio to the truth for each method, the error bar of the calibrated
/// one as a part of the truth, and the truth in ns.
const VALUE_COUNT: usize = METHODS.len() + 2;
type Values = [f64; VALUE_COUNT];

/// Processes for each subject, unless told: a process measures its own cost once.
const PROCESS_COUNT: usize = 5;
/// Rounds of a process. Many and short: most have no interruption.
const ROUND_COUNT: usize = 101;
/// The time of a round, in ns, about.
const ROUND_TIME: f64 = 200_000.0;

/// Something to measure: the same work with and without the attribute.
struct Subject {
    name: String,
    /// The function whose one statement is measured.
    function: &'static str,
    profiled: Box<dyn Fn()>,
    plain: Box<dyn Fn()>,
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn medians(all: &[Values]) -> Values {
    std::array::from_fn(|at| median(all.iter().map(|values| values[at]).collect()))
}

/// Executions in turn: reading the clock around them takes less than a hundredth of them.
const TURN_COUNT: u32 = 8;

/// Runs the work with and without the attribute in turn, so that both see the same machine, for
/// `count` turns. Returns the truth: the mean time without it, in ns.
fn run(subject: &Subject, count: u32) -> f64 {
    let mut truth = 0.0;
    for _ in 0..count {
        let begin = Instant::now();
        (0..TURN_COUNT).for_each(|_| (subject.plain)());
        truth += begin.elapsed().as_nanos() as f64;
        (0..TURN_COUNT).for_each(|_| (subject.profiled)());
    }
    truth / f64::from(count * TURN_COUNT)
}

/// Returns the mean time of the subject's statement, as the log tells it.
fn mean(log: &Log, function: &str, method: Method) -> Value {
    let found: Statements = read(log, &Clock::new(log), Some(method));
    let is_it = |at: &u32| found.function_name(*at).ends_with(function);
    let at = found.iter().map(|(at, _)| at).find(is_it).expect("the statement is in the log");
    found.times(at).expect("it was timed").mean
}

/// Measures a subject: rounds with times, and then a trace, whose costs differ.
fn measure(subject: &Subject) -> Values {
    let plinth = MemoryPlinth::new();
    let setup = telemetry::setup().block_size_log2(12).plinth(plinth.clone());
    setup.start().expect("no log has begun");
    let log = || {
        telemetry::flush();
        Log::from_source(plinth.bytes()).expect("the log of this process")
    };
    profile::set(Mode::Time);
    let count = (ROUND_TIME / run(subject, 10) / f64::from(TURN_COUNT)).clamp(1.0, 1000.0) as u32;
    let round = |_| {
        profile::reset();
        let truth = run(subject, count);
        let log = log();
        let mut values = [f64::NAN; VALUE_COUNT];
        for (at, (_, method)) in METHODS.iter().enumerate().take(LEAVES) {
            let value = mean(&log, subject.function, *method);
            values[at] = value.bound() / truth;
            if at == CALIBRATED {
                values[METHODS.len()] = value.error / truth;
            }
        }
        values[METHODS.len() + 1] = truth;
        values
    };
    let mut values = medians(&(0..ROUND_COUNT).map(round).collect::<Vec<_>>());
    profile::set(Mode::Trace);
    run(subject, count.min(100));
    let log = log();
    values[LEAVES] = mean(&log, subject.function, Method::Leaves).ns / values[METHODS.len() + 1];
    values
}

fn subjects() -> Vec<Subject> {
    nested::subjects().into_iter().chain(multiply::subjects()).collect()
}

/// Runs this program again for a subject, and returns what it printed.
fn run_process(subject: usize) -> Values {
    let program = std::env::current_exe().expect("a path");
    let output = Command::new(program).args(["measure", &subject.to_string()]).output();
    let output = output.expect("a process");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    let mut values = text.split_whitespace().map(|value| value.parse().expect("a number"));
    std::array::from_fn(|_| values.next().expect("a value"))
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let subjects = subjects();
    if let [word, number] = &words[..]
        && word == "measure"
    {
        let number: usize = number.parse().expect("a number");
        let values = measure(&subjects[number]).map(|value| value.to_string());
        return println!("{}", values.join(" "));
    }
    let count = words.first().map_or(PROCESS_COUNT, |count| count.parse().expect("a number"));
    println!("The ratio to the truth: the median of {count} processes.");
    let names = METHODS.map(|(name, _)| format!("{name:>11}")).join("");
    println!("{:<24}{:>12}{names}{:>11}", "", "truth in ns", "error bar");
    for (number, subject) in subjects.iter().enumerate() {
        let all: Vec<Values> = (0..count).map(|_| run_process(number)).collect();
        let [ratios @ .., truth] = medians(&all);
        let ratios = ratios.map(|ratio| format!("{ratio:>11.3}"));
        let (bar, ratios) = ratios.split_last().expect("five");
        println!("{:<24}{truth:>12.0}{}{bar}", subject.name, ratios.join(""));
    }
}
