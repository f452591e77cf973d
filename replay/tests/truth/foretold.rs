//! Compares predictions with reality: programs under other allocators, and replays of their
//! recordings.
//!
//! ```text
//!  program ─┬─ LD_PRELOAD of each allocator ─ wait4 ─▶ its real peak and processor time ─┐
//!           └─ record ─▶ LOG ─ play each allocator ─▶ predicted peak and time ───────────┴▶ a row
//! ```
//!
//! Design: `.rep.truth.foretold` in `design/replay.md`.
#![expect(unsafe_code, reason = "the call that returns the resources of a child")]

#[expect(dead_code, reason = "its rows have other columns")]
mod row;

use super::{compiled, record, replay};
use replay::measured::Measured;
use replay::report::Summary;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The numbers of rounds: a round is a replay of all allocators, then the program under each. More
/// rounds follow until the noise is small.
const ROUNDS: [usize; 2] = [4, 16];
/// The number of runs in each round.
const RUNS: usize = 3;
/// No round begins after this time.
const TIME_MAX: Duration = Duration::from_secs(75);
/// The tolerance of the predicted peak, relative to the real peak over that of the C library.
const PEAK: f64 = 0.10;
/// The tolerance of the foretold saving, as a part of the program's saving.
const TIME: f64 = 0.30;
/// If the program saves less than this part of its processor time, or less than the noise of its
/// runs, this is the tolerance.
const TIME_LEAST: f64 = 0.05;

/// The program that saves more time in its own code than in the allocator. It reads its objects
/// again and again, and gains from denser memory, which a log of operations cannot show. The test
/// compares its saving inside the allocator's calls.
const INSIDE: &str = "python";

/// The heading of the table.
const HEADING: [&str; 11] = [
    "# program",
    "allocator",
    "peak",
    "over malloc",
    "foretold",
    "cpu with malloc",
    "cpu saved",
    "saved inside malloc",
    "foretold",
    "noise",
    "verdict",
];

/// The allocators: packages of Debian.
const LIBRARIES: [(&str, &str); 3] = [
    ("tcmalloc", "/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4"),
    ("jemalloc", "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"),
    ("mimalloc", "/usr/lib/x86_64-linux-gnu/libmimalloc.so.2"),
];

/// Runs a program with preloaded libraries. Returns the peak of its memory, in bytes, and its
/// processor time, in ns.
fn real(folder: &Path, program: &[String], libraries: &[&str]) -> (f64, f64) {
    let mut command = Command::new(&program[0]);
    command.args(&program[1..]).current_dir(folder).stdout(Stdio::null());
    command.env("PYTHONMALLOC", "malloc").env("INSIDE", folder.join("inside.ns"));
    if !libraries.is_empty() {
        command.env("LD_PRELOAD", libraries.join(" "));
    }
    #[expect(clippy::zombie_processes, reason = "wait4 waits for it")]
    let child = command.spawn().expect("the program exists");
    let (mut status, pid) = (0, child.id() as i32);
    // SAFETY: all bits may be zero; the call fills both. Nothing else waits for this child.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::wait4(pid, &mut status, 0, &mut usage), pid);
        usage
    };
    assert_eq!(status, 0, "{program:?}");
    let ns = |time: libc::timeval| time.tv_sec as f64 * 1e9 + time.tv_usec as f64 * 1e3;
    (usage.ru_maxrss as f64 * 1024.0, ns(usage.ru_utime) + ns(usage.ru_stime))
}

/// Returns the time of a program inside malloc and the like, in ns, measured by a preloaded
/// library.
fn inside(folder: &Path, program: &[String], library: Option<&str>) -> f64 {
    let measure = folder.join("inside.so");
    let libraries: Vec<&str> = measure.to_str().into_iter().chain(library).collect();
    real(folder, program, &libraries);
    let text = fs::read_to_string(folder.join("inside.ns")).expect("the library wrote it");
    text.trim().parse().expect("a number")
}

/// Returns the programs with their names.
fn programs(folder: &Path) -> Vec<(&'static str, Vec<String>)> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/truth");
    for file in ["rows.sql", "objects.py"] {
        fs::copy(source.join(file), folder.join(file)).expect("copied");
    }
    compiled(folder, "churn.c", &[]);
    let measure = compiled(folder, "inside.c", &["-O2", "-shared", "-fPIC"]);
    fs::rename(measure, folder.join("inside.so")).expect("renamed");
    let out = |command: &mut Command| {
        let output = command.output().expect("the program runs");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text").trim().to_owned()
    };
    let compiler = out(Command::new("g++").arg("-print-prog-name=cc1plus"));
    out(Command::new("g++")
        .arg("-E")
        .arg(source.join("many.cc"))
        .args(["-o", "many.ii"])
        .current_dir(folder));
    let of = |words: &str| words.split(' ').map(str::to_owned).collect::<Vec<_>>();
    vec![
        ("churn", of("./churn 1 2000000")),
        (
            "sqlite",
            of("sqlite3 :memory: .read\u{a0}rows.sql")
                .into_iter()
                .map(|word| word.replace('\u{a0}', " "))
                .collect(),
        ),
        ("threads", of("./churn 4 400000")),
        (
            "cc1plus",
            [&[compiler][..], &of("-quiet -fpreprocessed -O1 many.ii -o /dev/null")].concat(),
        ),
        (INSIDE, of("/usr/bin/python3 objects.py")),
    ]
}

/// Plays a log against all allocators.
fn played(folder: &Path, log: &str) -> Measured {
    let heaps = format!("system,{}", LIBRARIES.map(|(_, path)| path).join(","));
    let runs = RUNS.to_string();
    let play = ["play", "--json", "--no-latency", "--settle", "0", "--runs", &runs];
    let (out, errors, code) = replay(folder, &[&play[..], &["--heap", &heaps, log]].concat());
    assert_eq!(code, 0, "{errors}");
    serde_json::from_str(&out).expect("JSON of Measured")
}

/// Adds runs of the same heaps.
fn add(all: &mut Measured, more: Measured) {
    if all.heaps.is_empty() {
        *all = more;
        return;
    }
    for (heap, more) in all.heaps.iter_mut().zip(more.heaps) {
        heap.runs.extend(more.runs);
    }
}

/// The resources of the runs of a program under one library, in the order of the runs.
#[derive(Default)]
struct Taken {
    /// The most memory, in bytes.
    peaks: Vec<f64>,
    /// The processor time, in ns.
    times: Vec<f64>,
    /// The time inside malloc, in ns: only of `INSIDE`.
    inside: Vec<f64>,
}

impl Taken {
    /// Returns the times to compare: for `INSIDE` those inside malloc.
    fn judged(&self) -> &[f64] {
        if self.inside.is_empty() { &self.times } else { &self.inside }
    }
}

/// Returns the median: a slow phase of the machine makes all of a round slow.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn median_of(values: &[f64]) -> f64 {
    median(values.iter().copied())
}

/// Returns the saving of one against the other, and how far the savings of two halves of the rounds
/// differ.
fn saved(base: &[f64], other: &[f64]) -> (f64, f64) {
    let of = |half: usize| {
        let rounds = |all: &[f64]| {
            let runs = all.chunks(RUNS).skip(half).step_by(2).flatten().copied();
            median(runs.collect::<Vec<_>>().into_iter())
        };
        rounds(base) - rounds(other)
    };
    (median_of(base) - median_of(other), (of(0) - of(1)).abs())
}

/// Runs replays and programs by turns, so that changes of the machine affect all of them, until the
/// noise is a third of the tolerance. Returns the results, and the resources under malloc and each
/// library.
fn turns(folder: &Path, log: &str, name: &str, program: &[String]) -> (Measured, Vec<Taken>) {
    let libraries: Vec<Option<&str>> =
        [None].into_iter().chain(LIBRARIES.map(|(_, path)| Some(path))).collect();
    let mut measured = Measured::default();
    let mut all: Vec<Taken> = libraries.iter().map(|_| Taken::default()).collect();
    let begun = Instant::now();
    for round in 1..=ROUNDS[1] {
        add(&mut measured, played(folder, log));
        for _ in 0..RUNS {
            for (taken, library) in all.iter_mut().zip(&libraries) {
                let words: Vec<&str> = library.iter().copied().collect();
                let (peak, time) = real(folder, program, &words);
                taken.peaks.push(peak);
                taken.times.push(time);
                if name == INSIDE {
                    taken.inside.push(inside(folder, program, *library));
                }
            }
        }
        let base = all[0].judged();
        let is_quiet = round >= 2
            && all.iter().all(|taken| {
                let (saved, noise) = saved(base, taken.judged());
                noise < (TIME * saved.abs()).max(TIME_LEAST * median_of(base)) / 3.0
            });
        if round >= ROUNDS[0] && (is_quiet || begun.elapsed() > TIME_MAX) {
            break;
        }
    }
    (measured, all)
}

/// Returns pairs of allocators whose real peaks differ, but whose foretold peaks come in another
/// order.
fn misranked(name: &str, ranks: &[(f64, f64)]) -> Vec<String> {
    let pairs = ranks.iter().flat_map(|one| ranks.iter().map(move |other| (one, other)));
    let is_wrong = |(one, other): &(&(f64, f64), &(f64, f64))| {
        one.0 > other.0 * (1.0 + PEAK) && one.1 <= other.1
    };
    pairs
        .filter(is_wrong)
        .map(|(one, other)| format!("{name}: the ranking of {one:?} and {other:?}"))
        .collect()
}

/// `.rep.truth.foretold`
#[test]
#[ignore = "minutes; needs other allocators, sqlite3, g++, python3: ./proofs replay-truth"]
fn a_replay_foretells_the_cost_of_other_allocators() {
    let temporary = tempfile::tempdir().expect("a folder");
    let (folder, mut wrong, mut table) = (temporary.path(), Vec::new(), String::new());
    let mut print = |cells: &[String]| {
        println!("{}", cells.join("\t"));
        table += &(cells.join("\t") + "\n");
    };
    print(&HEADING.map(str::to_owned));
    for (name, program) in programs(folder) {
        let log = format!("{name}.log");
        let words: Vec<&str> = program.iter().map(String::as_str).collect();
        record(folder, &log, &[&["env", "PYTHONMALLOC=malloc"], &words[..]].concat());
        let (measured, taken) = turns(folder, &log, name, &program);
        let foretold = Summary::of_all(&measured);
        let time = |heap: usize| {
            median(measured.heaps[heap].runs.iter().map(|run| run.processor_ns as f64))
        };
        let own = foretold[0].program_peak.expect("a recorded peak");
        let (base_peak, base_time) = (median_of(&taken[0].peaks), median_of(taken[0].judged()));
        let mut ranks = vec![(base_peak, 1.0)];
        for (index, (library, _)) in LIBRARIES.iter().enumerate() {
            let heap = index + 1;
            let peak = median_of(&taken[heap].peaks);
            let ratio = foretold[heap].program_peak.expect("a peak of the heap") / own;
            let is_peak = (ratio * base_peak / peak - 1.0).abs() <= PEAK;
            ranks.push((peak, ratio));
            let (whole, _) = saved(&taken[0].times, &taken[heap].times);
            let (saved, noise) = saved(taken[0].judged(), taken[heap].judged());
            let expected = time(0) - time(heap);
            let small = noise.max(TIME_LEAST * base_time);
            let is_small = saved.abs() <= small;
            let most = if is_small { small } else { TIME * saved.abs() };
            let is_time = (expected - saved).abs() <= most;
            let is_lost = is_small && small > TIME_LEAST * base_time;
            let verdict = match (is_peak, is_time, is_small) {
                (false, ..) => "peak wrong",
                (true, true, false) => "right",
                (true, true, true) if is_lost => "peak right, time lost in noise",
                (true, true, true) => "right: little is saved",
                (true, false, _) => "time wrong",
            };
            let ms = |ns: f64| format!("{:.0} ms", ns / 1e6);
            let row = [
                name.to_owned(),
                (*library).to_owned(),
                format!("{:.1} MiB", peak / 1048576.0),
                format!("{:.2}×", peak / base_peak),
                format!("{ratio:.2}×"),
                ms(median_of(&taken[0].times)),
                ms(whole),
                if name == INSIDE { ms(saved) } else { "-".to_owned() },
                ms(expected),
                ms(noise),
                verdict.to_owned(),
            ];
            print(&row);
            if !is_peak || !is_time || is_lost {
                wrong.push(row.join(" "));
            }
        }
        wrong.extend(misranked(name, &ranks));
    }
    row::record(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../telemetry/benches"), &table);
    assert!(wrong.is_empty(), "not as foretold:\n{}", wrong.join("\n"));
}
