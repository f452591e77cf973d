//! Families of forked processes: what `--family` joins is what each process counted itself.
//!
//! ```text
//!  caller tree ─┬─ truth-PID: its calls, by its own account ────────────────────────┐
//!               └─ log, log-PID, … ── eventcnv calls --family --by edge ── edges ───┴─ the same
//! ```
//!
//! Design: `.calls.family` in `design/calls.md`.

use calls::events::{CallEnter, CallLeave, CallsMuted};
use eventdef::field::P;
use eventlog::format::ClockSync;
use eventlog::reader::Log;
use eventlog::writer::{Maker, Origin};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tests::programs::{eventcnv, recording, run};

/// The number of calls by caller and callee; the caller is empty if there is none.
type Edges = BTreeMap<(String, String), u64>;

/// What `eventcnv calls --family` tells.
#[derive(Debug, Default, PartialEq)]
struct View {
    edges: Edges,
    unfinished: u64,
    /// Calls without a time, ends without a beginning, muted calls.
    rest: [u64; 3],
    notes: String,
}

/// Returns the view of the process that wrote the first log.
fn view(folder: &Path, logs: &[&str]) -> View {
    let mut command = eventcnv();
    command.arg("calls").args(logs).args(["--family", "--by", "edge", "--csv"]);
    let output = run(command.current_dir(folder).env_remove("MPS_TELEMETRY_FILENAME"));
    let text = String::from_utf8(output.stdout).expect("text");
    let mut rows = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = rows.next().expect("names of columns");
    let mut view =
        View { notes: String::from_utf8(output.stderr).expect("text"), ..View::default() };
    for row in rows {
        let cell = |name: &str| {
            let at = names.iter().position(|other| *other == name);
            at.map_or("0", |at| row[at]).trim_start_matches("caller::").to_owned()
        };
        let number = |name| cell(name).parse::<u64>().unwrap_or(0);
        if number("calls") > 0 {
            view.edges.insert((cell("caller"), cell("function")), number("calls"));
        }
        view.unfinished += number("unfinished");
        let rest = ["doubtful", "without beginning", "muted"];
        view.rest.iter_mut().zip(rest).for_each(|(sum, name)| *sum += number(name));
    }
    view
}

/// Returns what a process told of itself: its calls, and how many were in progress.
fn truth(path: &Path) -> (Edges, u64) {
    let text = fs::read_to_string(path).expect("a text");
    let (lines, open) =
        text.strip_suffix('\n').and_then(|text| text.rsplit_once('\n')).expect("lines");
    let edge = |line: &str| {
        let [caller, function, count] = line.split(',').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        ((caller.to_owned(), function.to_owned()), count.parse().expect("a number"))
    };
    (
        lines.lines().map(edge).collect(),
        open.split(' ').filter(|name| !name.is_empty()).count() as u64,
    )
}

/// Runs the tree of a seed in a folder. Returns the logs by process, without those of the programs
/// that processes executed.
fn grow(folder: &Path, seed: u64) -> BTreeMap<u64, String> {
    let mut caller = Command::new(env!("CARGO_BIN_EXE_caller"));
    caller.args(["tree", &seed.to_string()]).env("MPS_TELEMETRY_BLOCK_SIZE", "4096");
    let mut caller = recording(caller, "all", Path::new("ring:log?size=1M"));
    run(caller.current_dir(folder).stdout(Stdio::null()));
    let mut logs = BTreeMap::new();
    for file in fs::read_dir(folder).expect("a folder") {
        let name = file.expect("a file").file_name().into_string().expect("text");
        if !name.starts_with("log") {
            continue;
        }
        let log = Log::open(folder.join(&name)).expect("a log");
        let stream = &log.streams()[0];
        if name == "log" || stream.parent != [0; 16] {
            logs.insert(stream.pid, name);
        }
    }
    logs
}

/// Children, grandchildren and theirs, forked in calls that go on in both; some sleep first, some
/// are killed, some execute another program. No process waits for another one.
#[test]
fn each_process_of_a_random_tree_has_its_own_view() {
    let (mut processes, mut killed) = (0, 0);
    for seed in 1..=4 {
        let folder = tempfile::tempdir().expect("a folder");
        for (process, log) in grow(folder.path(), seed) {
            let (edges, open) = truth(&folder.path().join(format!("truth-{process}")));
            let expected = View { edges, unfinished: open, ..View::default() };
            assert_eq!(view(folder.path(), &[&log]), expected, "seed {seed}: {log}");
            processes += 1;
            killed += u64::from(open > 0);
        }
    }
    assert!(processes > 40 && killed > 4, "{killed} of {processes}");
}

const UUIDS: [[u8; 16]; 4] = [[1; 16], [2; 16], [3; 16], [4; 16]];
const MAIN: usize = 0x5610;
const SELL: usize = 0x5620;

/// A process to be made: its number in `UUIDS`, its parent's, its process number, its first ticks,
/// and its events: ticks, thread, function; negative functions end.
struct Process<'a> {
    index: usize,
    parent: Option<usize>,
    pid: u64,
    events: &'a [(u64, u32, isize)],
}

/// Makes a log of processes. Each has a name at its first ticks, as a forked child has.
fn make(path: &Path, processes: &[Process<'_>]) {
    let mut file = fs::File::create(path).expect("a file can be made");
    let mut maker = Maker::new(&mut file);
    for Process { index, parent, pid, events } in processes {
        let mut origin = Origin::new();
        (origin.uuid, origin.pid) = (UUIDS[*index], *pid);
        origin.parent = parent.map_or([0; 16], |parent| UUIDS[parent]);
        origin.boot_id = [9; 16];
        maker.begin(&origin).expect("a stream");
        let first = events[0].0 - 1;
        maker.thread(first, 1, *pid as usize, "main").expect("a thread");
        for (function, name) in [(MAIN, "main"), (SELL, "sell")] {
            let string = maker.intern(first, name.as_bytes()).expect("a string");
            maker.label(first, function, string).expect("a label");
        }
        for (ticks, thread, what) in *events {
            let function = P(what.unsigned_abs());
            let caller = P(if function.0 == SELL { MAIN } else { 0 });
            let added = match *what {
                0 => maker.add(
                    *thread,
                    *thread,
                    *ticks,
                    &CallsMuted { function: P(MAIN), count: *ticks as usize },
                ),
                1.. => maker.add(*thread, *thread, *ticks, &CallEnter { function, caller }),
                _ => maker.add(*thread, *thread, *ticks, &CallLeave { function }),
            };
            added.expect("an event");
        }
        for ticks in [first, 9000] {
            let realtime = 1_700_000_000_000_000_000 + ticks;
            maker
                .sync(ClockSync { ticks, monotonic: ticks, realtime, uncertainty: 0 })
                .expect("room");
        }
    }
    maker.finish().expect("a log");
}

const IN_MAIN: isize = MAIN as isize;
const IN_SELL: isize = SELL as isize;
/// A process that sells twice in `main`, at 20 and 50; another thread begins a call at 25.
const PARENT: &[(u64, u32, isize)] = &[
    (10, 1, IN_MAIN),
    (15, 1, 0),
    (20, 1, IN_SELL),
    (22, 1, -IN_SELL),
    (25, 2, IN_MAIN),
    (50, 1, IN_SELL),
    (52, 1, -IN_SELL),
    (55, 2, -IN_MAIN),
    (60, 1, -IN_MAIN),
];
/// Its child, forked at 30, sells at 40, and ends `main` at 70.
const CHILD: &[(u64, u32, isize)] =
    &[(31, 1, 0), (40, 1, IN_SELL), (42, 1, -IN_SELL), (70, 1, -IN_MAIN)];

fn edges(list: &[(&str, &str, u64)]) -> Edges {
    let edge = |(caller, function, count): &(&str, &str, u64)| {
        ((str::to_owned(caller), str::to_owned(function)), *count)
    };
    list.iter().map(edge).collect()
}

fn folder() -> (tempfile::TempDir, impl Fn(&str) -> PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_owned();
    (folder, move |name| path.join(name))
}

fn parent() -> Process<'static> {
    Process { index: 0, parent: None, pid: 100, events: PARENT }
}

fn child() -> Process<'static> {
    Process { index: 1, parent: Some(0), pid: 101, events: CHILD }
}

/// The parent's log in the folder is found, whatever its name; else a note tells which is missing.
#[test]
fn a_missing_parent_is_noted() {
    let (folder, path) = folder();
    make(&path("some parent"), &[parent()]);
    make(&path("child"), &[child()]);
    let found = view(folder.path(), &["child"]);
    assert_eq!((found.unfinished, &found.notes), (1, &String::new()), "{found:?}");
    assert_eq!(found.edges[&("main".to_owned(), "sell".to_owned())], 2, "{found:?}");
    assert_eq!(view(folder.path(), &["child", "some parent"]), found);
    // The log of the environment has a family too.
    let mut command = eventcnv();
    command.args(["calls", "--family", "--unfinished"]).env("MPS_TELEMETRY_FILENAME", "child");
    let output = run(command.current_dir(&folder));
    assert!(String::from_utf8_lossy(&output.stdout).contains(" 25 "), "{output:?}");
    fs::remove_file(path("some parent")).expect("a file");
    let found = view(folder.path(), &["child"]);
    assert!(found.notes.contains("of a parent is missing; name its log too"), "{found:?}");
    assert_eq!(found.edges, edges(&[("main", "sell", 1)]), "{found:?}");
    let mut command = eventcnv();
    command.args(["sql", "child", "--family", "-o", "child.db"]);
    let output = run(command.current_dir(&folder));
    assert!(String::from_utf8_lossy(&output.stderr).contains("is missing"), "{output:?}");
}

/// Parents that form a circle, or are their own: all calls count once, with a note.
#[test]
fn a_circle_of_parents_is_noted() {
    for (count, name) in [(1, "one"), (2, "two"), (3, "three")] {
        let (folder, path) = folder();
        let events: [&[(u64, u32, isize)]; 3] = [
            &[(110, 1, IN_MAIN), (120, 1, -IN_MAIN)],
            &[(90, 1, IN_MAIN), (95, 1, -IN_MAIN)],
            &[(70, 1, IN_MAIN), (75, 1, -IN_MAIN)],
        ];
        let processes: Vec<Process<'_>> = (0..count)
            .map(|index| Process {
                index,
                parent: Some((index + 1) % count),
                pid: 100 + index as u64,
                events: events[index],
            })
            .collect();
        make(&path("log"), &processes);
        let found = view(folder.path(), &["log"]);
        assert!(found.notes.contains("form a circle"), "{name}: {found:?}");
        assert_eq!(found.edges, edges(&[("", "main", count as u64)]), "{name}");
        assert_eq!((found.unfinished, found.rest), (0, [0; 3]), "{name}");
    }
}

/// A process number that the system gave again: the parent is the stream with the child's UUID of a
/// parent.
#[test]
fn streams_of_one_process_number_are_two_processes() {
    let (folder, path) = folder();
    let other = || Process { index: 2, parent: None, pid: 100, events: &PARENT[..4] };
    let again = || Process { index: 3, parent: Some(2), pid: 101, events: CHILD };
    make(&path("one"), &[child(), other(), parent(), again()]);
    let found = view(folder.path(), &["one"]);
    assert_eq!(found.edges[&("main".to_owned(), "sell".to_owned())], 2, "{found:?}");
    assert_eq!(found.unfinished, 1, "{found:?}");
    make(&path("two"), &[again(), other(), parent(), child()]);
    let found = view(folder.path(), &["two"]);
    assert_eq!(found.edges, edges(&[("", "main", 1), ("main", "sell", 2)]), "{found:?}");
    assert_eq!(found.unfinished, 0, "{found:?}");
}

/// A child goes on counting muted calls where its parent was: the view has the child's count.
#[test]
fn muted_calls_of_a_parent_count_once() {
    let (folder, path) = folder();
    make(&path("log"), &[child(), parent()]);
    let mut command = eventcnv();
    command.args(["calls", "log", "--family", "--json"]);
    let output = run(command.current_dir(&folder));
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = all["rows"].as_array().expect("rows");
    let main = rows.iter().find(|row| row["function"] == "main").expect("a row");
    assert_eq!(main["muted"], 31, "{main}");
}

/// The calls that a parent made in earlier volumes of its log count too.
#[test]
fn a_view_has_all_volumes_of_a_parent() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut caller = Command::new(env!("CARGO_BIN_EXE_caller"));
    caller.args(["family", "1", "5000"]).env("MPS_TELEMETRY_BLOCK_SIZE", "4096");
    let destination = Path::new("file:log?size=64K&count=99");
    run(recording(caller, "all", destination).current_dir(&folder));
    assert!(folder.path().join("log.2").exists());
    let files = fs::read_dir(folder.path()).expect("a folder").flatten();
    let names = files.map(|file| file.file_name().into_string().expect("text"));
    let child: Vec<String> = names.filter(|name| name.starts_with("log-")).collect();
    let found = view(folder.path(), &[&child[0]]);
    // `breed` goes on in the child, which calls it once more in itself.
    let expected =
        [("", "breed", 1), ("", "noop", 5000), ("breed", "breed", 1), ("breed", "noop", 1)];
    assert_eq!(found, View { edges: edges(&expected), ..View::default() });
}
