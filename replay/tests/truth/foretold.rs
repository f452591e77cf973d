//! Predicted against real: programs under other allocators, and their recordings replayed.
//!
//! ```text
//!  program ─┬─ LD_PRELOAD of each allocator ─ wait4 ─▶ its real peak and processor time ─┐
//!           └─ record ─▶ LOG ─ play each allocator ─▶ what they should be ──────────────┴▶ a row
//! ```
//!
//! Design: `.rep.truth.foretold` in `design/replay.md`.
#![expect(unsafe_code, reason = "the call that says what a child took")]

#[path = "../../../telemetry/benches/recording/row.rs"]
#[expect(dead_code, reason = "its rows have other columns")]
mod row;

use super::{compiled, record, replay};
use replay::measured::Measured;
use replay::report::Summary;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// How often each is run, by turns: a replay of all allocators, then the program under each.
const ROUNDS: usize = 2;
/// Runs in each of these.
const RUNS: usize = 3;
/// How far from the real peak the predicted one may be, over that of the C library.
const PEAK: f64 = 0.10;
/// How far the foretold saving may be from that of the program, as a part of this.
const TIME: f64 = 0.30;
/// Where the program saves less than this part of its processor time, or less than the noise of its
/// runs, the foretold saving may be no further from that than this.
const TIME_LEAST: f64 = 0.05;

/// The program whose saved time no replay foretells: its collector reads all objects again and
/// again, and what that gains from denser memory is no operation of the allocator. It is judged by
/// its memory; the same program without the collector by both.
const UNTOLD: &str = "python";

/// What stands over the table.
const HEADING: [&str; 10] = [
    "# program",
    "allocator",
    "peak",
    "over malloc",
    "foretold",
    "cpu with malloc",
    "cpu saved",
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

/// The most memory of a process, in bytes, and its processor time, in ns.
fn real(folder: &Path, program: &[String], library: Option<&str>) -> (f64, f64) {
    let mut command = Command::new(&program[0]);
    command.args(&program[1..]).current_dir(folder).stdout(Stdio::null());
    command.env("PYTHONMALLOC", "malloc");
    if let Some(library) = library {
        command.env("LD_PRELOAD", library);
    }
    #[expect(clippy::zombie_processes, reason = "wait4 waits for it")]
    let child = command.spawn().expect("the program is there");
    let (mut status, pid) = (0, child.id() as i32);
    // SAFETY: all bits may be zero; the call fills both. Nobody else waits for this child.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::wait4(pid, &mut status, 0, &mut usage), pid);
        usage
    };
    assert_eq!(status, 0, "{program:?}");
    let ns = |time: libc::timeval| time.tv_sec as f64 * 1e9 + time.tv_usec as f64 * 1e3;
    (usage.ru_maxrss as f64 * 1024.0, ns(usage.ru_utime) + ns(usage.ru_stime))
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// The programs: each with a name.
fn programs(folder: &Path) -> Vec<(&'static str, Vec<String>)> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/truth");
    for file in ["rows.sql", "objects.py"] {
        fs::copy(source.join(file), folder.join(file)).expect("copied");
    }
    compiled(folder, "churn.c", &[]);
    let out = |command: &mut Command| {
        let output = command.output().expect("it is there");
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
        (UNTOLD, of("/usr/bin/python3 objects.py")),
        ("python-no-gc", of("/usr/bin/python3 objects.py -")),
    ]
}

/// Plays a log against all of them.
fn played(folder: &Path, log: &str) -> Measured {
    let heaps = format!("system,{}", LIBRARIES.map(|(_, path)| path).join(","));
    let runs = RUNS.to_string();
    let play = ["play", "--json", "--no-latency", "--settle", "0", "--runs", &runs];
    let (out, errors, code) = replay(folder, &[&play[..], &["--heap", &heaps, log]].concat());
    assert_eq!(code, 0, "{errors}");
    serde_json::from_str(&out).expect("it is what was measured")
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

/// Replays and programs by turns, so that what changes meanwhile changes them all: what was
/// measured, and of each run of the program, under each library, its peak and its processor time.
fn turns(
    folder: &Path,
    log: &str,
    program: &[String],
    libraries: &[Option<&str>],
) -> (Measured, Vec<Vec<(f64, f64)>>) {
    let (mut measured, mut runs) = (Measured::default(), Vec::new());
    for _ in 0..ROUNDS {
        add(&mut measured, played(folder, log));
        runs.extend((0..RUNS).map(|_| {
            let of = |library: &Option<&str>| real(folder, program, *library);
            libraries.iter().map(of).collect::<Vec<_>>()
        }));
    }
    (measured, runs)
}

/// Allocators whose real peaks differ, and whose foretold ones come in another order.
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
fn what_a_replay_foretells_of_other_allocators_is_what_they_really_take() {
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
        let libraries: Vec<Option<&str>> =
            [None].into_iter().chain(LIBRARIES.map(|(_, path)| Some(path))).collect();
        let (measured, runs) = turns(folder, &log, &program, &libraries);
        let foretold = Summary::of_all(&measured);
        let of = |heap: usize| {
            let peaks = sorted(runs.iter().map(|run| run[heap].0));
            let times = sorted(runs.iter().map(|run| run[heap].1));
            (peaks[peaks.len() / 2], times[0], times[times.len() / 2] - times[0])
        };
        let time = |heap: usize| {
            let runs = &measured.heaps[heap].runs;
            sorted(runs.iter().map(|run| run.processor_ns as f64))[0]
        };
        let (base, own) = (of(0), foretold[0].program_peak.expect("it was recorded"));
        let mut ranks = vec![(base.0, 1.0)];
        for (index, (library, _)) in LIBRARIES.iter().enumerate() {
            let (heap, (peak, least, noise)) = (index + 1, of(index + 1));
            let ratio = foretold[heap].program_peak.expect("it was played") / own;
            let is_peak = (ratio * base.0 / peak - 1.0).abs() <= PEAK;
            ranks.push((peak, ratio));
            let (saved, expected) = (base.1 - least, time(0) - time(heap));
            let noise = noise.max(base.2);
            let small = noise.max(TIME_LEAST * base.1);
            let is_small = saved.abs() <= small;
            let most = if is_small { small } else { TIME * saved.abs() };
            let is_time = (expected - saved).abs() <= most;
            let (is_told, is_lost) = (name != UNTOLD, is_small && small > TIME_LEAST * base.1);
            let verdict = match (is_peak, is_time, is_small) {
                (false, ..) => "peak wrong",
                (true, true, false) => "right",
                (true, true, true) if is_lost => "peak right, time lost in noise",
                (true, true, true) => "right: little is saved",
                (true, false, _) if is_told => "time wrong",
                (true, false, _) => "peak right, time not foretold",
            };
            let ms = |ns: f64| format!("{:.0} ms", ns / 1e6);
            let row = [
                name.to_owned(),
                (*library).to_owned(),
                format!("{:.1} MiB", peak / 1048576.0),
                format!("{:.2}×", peak / base.0),
                format!("{ratio:.2}×"),
                ms(base.1),
                ms(saved),
                ms(expected),
                ms(noise),
                verdict.to_owned(),
            ];
            print(&row);
            if !is_peak || (is_told && (!is_time || is_lost)) {
                wrong.push(row.join(" "));
            }
        }
        wrong.extend(misranked(name, &ranks));
    }
    row::record(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../telemetry/benches"), &table);
    assert!(wrong.is_empty(), "not as foretold:\n{}", wrong.join("\n"));
}
