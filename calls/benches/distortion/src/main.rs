//! How far the times of statements are from the truth: by depth, and of `multiply` of TDK.
//!
//! ```text
//!  a process for each subject ─▶ rounds: profiled ∥ the same without the attribute, in turn
//!      └─▶ log in memory ─▶ lens::calls, by each method ─▶ ratio to the truth ─▶ median
//! ```
//!
//! `cargo run --release` prints a table; `-- 21` takes 21 processes for each row instead of 5. The
//! program fails if the calibrated times miss their targets.
//! Design: `.statements.correct` in `design/statements.md`.
#![forbid(unsafe_code)]

mod multiply;
mod nested;

use calls::profile::{self, Mode};
use eventlog::reader::{Clock, Log};
use lens::statements::{Method, Statements, Value, read};
use std::hint::black_box;
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
const BAR: usize = METHODS.len();
const TRUTH: usize = BAR + 1;
type Values = [f64; VALUE_COUNT];

/// Processes for each subject, unless told.
const PROCESS_COUNT: usize = 5;
/// Rounds of a process. Many and short: some have no interruption. The least disturbed quarter
/// counts.
const ROUND_COUNT: usize = 100;
/// The time of a round, in ns, about.
const ROUND_TIME: f64 = 300_000.0;

/// How far the median of the calibrated ratios may be from 1.
const DISTANCE_MAX: f64 = 0.1;
/// The part of the processes whose error bar contains the truth.
const HELD_MIN: f64 = 0.95;

/// Something to measure: the same work with and without the attribute.
struct Subject {
    name: String,
    /// The function whose one statement is measured.
    function: &'static str,
    profiled: Box<dyn Fn()>,
    plain: Box<dyn Fn()>,
    /// Whether the targets hold for it.
    has_target: bool,
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
/// `count` turns. Returns the truth, the mean time without it, and the time in all, in ns.
fn run(subject: &Subject, count: u32) -> (f64, f64) {
    let nothing: &dyn Fn() = black_box(&|| ());
    let time = |code: &dyn Fn()| {
        let begin = Instant::now();
        (0..TURN_COUNT).for_each(|_| code());
        begin.elapsed().as_nanos() as f64
    };
    let (mut truth, all) = (0.0, Instant::now());
    for _ in 0..count {
        // The statement does not contain the call, nor the readings of the clock.
        truth += time(&*subject.plain) - time(nothing);
        (0..TURN_COUNT).for_each(|_| (subject.profiled)());
    }
    (truth / f64::from(count * TURN_COUNT), all.elapsed().as_nanos() as f64)
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
    let (_, time) = (0..10)
        .map(|_| run(subject, 1))
        .fold((0.0, f64::INFINITY), |least, run| if run.1 < least.1 { run } else { least });
    let count = (ROUND_TIME / time).clamp(1.0, 1000.0) as u32;
    // Each round measures the cost of the recorder again, next to what it corrects: another program
    // on the same core changes both.
    let round = |_| {
        profile::set(Mode::Off);
        profile::set(Mode::Time);
        run(subject, 1);
        profile::reset();
        let (truth, time) = run(subject, count);
        let log = log();
        let mut values = [f64::NAN; VALUE_COUNT];
        for (at, (_, method)) in METHODS.iter().enumerate().take(LEAVES) {
            let value = mean(&log, subject.function, *method);
            values[at] = value.ns / truth;
            if at == CALIBRATED {
                values[BAR] = value.error / truth;
            }
        }
        values[TRUTH] = truth;
        (time, values)
    };
    let mut rounds: Vec<(f64, Values)> = (0..ROUND_COUNT).map(round).collect();
    rounds.sort_by(|(one, _), (two, _)| one.total_cmp(two));
    let least: Vec<Values> = rounds[..ROUND_COUNT / 4].iter().map(|(_, values)| *values).collect();
    let mut values = medians(&least);
    profile::set(Mode::Trace);
    run(subject, count.min(100));
    let log = log();
    values[LEAVES] = mean(&log, subject.function, Method::Leaves).ns / values[TRUTH];
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
    println!("held: those whose error bar contains the truth.");
    let names = METHODS.map(|(name, _)| format!("{name:>11}")).join("");
    println!("{:<24}{:>12}{names}{:>11}{:>9}", "", "truth in ns", "error bar", "held");
    let (mut far, mut held_count, mut all_count) = (Vec::new(), 0, 0);
    for (number, subject) in subjects.iter().enumerate() {
        let all: Vec<Values> = (0..count).map(|_| run_process(number)).collect();
        let holds = |values: &&Values| (values[CALIBRATED] - 1.0).abs() <= values[BAR];
        let held = all.iter().filter(holds).count();
        let [ratios @ .., truth] = medians(&all);
        if subject.has_target {
            (held_count, all_count) = (held_count + held, all_count + count);
            if (ratios[CALIBRATED] - 1.0).abs() > DISTANCE_MAX {
                far.push(&*subject.name);
            }
        }
        let ratios = ratios.map(|ratio| format!("{ratio:>11.3}")).join("");
        println!("{:<24}{truth:>12.0}{ratios}{held:>6}/{count}", subject.name);
    }
    println!("The error bar contains the truth in {held_count} of {all_count} processes.");
    assert!(far.is_empty(), "further than {DISTANCE_MAX} from the truth: {far:?}");
    assert!(held_count as f64 >= HELD_MIN * all_count as f64, "the error bar is too short");
}
