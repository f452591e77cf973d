//! A log of several files that processors write side by side, as a user meets it: whole, killed at
//! any moment, followed, with files that are missing, cut, removed, or another's.
//!
//! ```text
//!  recorder ── dir:PATH?files=N ──▶ PATH/00.log │ PATH/01.log │ … ──▶ eventcnv, Log ─┐
//!         └── file:PATH ──────────▶ PATH ─────────────────────────────▶ Log ─────────┴▶ the same?
//! ```
//!
//! Rules: section 2.4 of `design/format.md`; `.sol.directory` in `design/telemetry.md`.

use eventlog::reader::{Directory, Fault, FaultKind, Filter, Joined, Log, Order};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;
use tests::programs::{eventcnv, lines, run, wait_for};

const THREADS: u64 = 4;
const EVENTS: u64 = 6000;
/// The kinds of a thread's events, in turn.
const KINDS: u64 = 3;
/// Two blocks of each ring are in memory.
const IN_MEMORY: u64 = 2 * (4096 - 128) / 32;

/// The indexes of events, by thread and kind, in order of time.
type Indexes = BTreeMap<(u64, u8), Vec<u64>>;

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// A recorder with small blocks, which runs in a folder.
fn recorder(folder: &Path, words: &[&str], destination: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_recorder"));
    command.args(words).current_dir(folder).env("MPS_TELEMETRY_CONTROL", "all");
    command.env("MPS_TELEMETRY_BLOCK_SIZE", "4096").env("MPS_TELEMETRY_FILENAME", destination);
    command
}

/// Records to the end. Returns the messages.
fn record(folder: &Path, destination: &str) -> String {
    let words = ["threads", &THREADS.to_string(), &EVENTS.to_string()];
    let output = run(&mut recorder(folder, &words, destination));
    String::from_utf8(output.stderr).expect("text")
}

fn indexes(log: &Log) -> Indexes {
    let mut indexes = Indexes::new();
    let mut events = log.events(Order::Time, &Filter::default());
    while let Some(event) = events.next() {
        let word = |at| event.param_at(at).and_then(|value| value.as_u64());
        if let ("work", Some(thread), Some(index)) = (&*event.registry.name, word(0), word(1)) {
            indexes.entry((thread, event.kind)).or_default().push(index);
        }
    }
    assert!(events.faults().is_empty(), "{:?}", events.faults());
    indexes
}

/// Opens a log, which must have no fault, and no warning but of files that had not begun.
fn open(path: &Path) -> Log {
    let log = Log::open(path).expect("a log");
    assert_no_faults(&log, |kind| matches!(kind, FaultKind::FileNotBegun { .. }));
    log
}

/// A killed program may leave the hole of a block that it was about to write.
fn open_killed(path: &Path) -> Log {
    let log = Log::open(path).expect("a log");
    assert_no_faults(&log, |kind| {
        matches!(kind, FaultKind::FileNotBegun { .. } | FaultKind::BlockHole { .. })
    });
    log
}

fn assert_no_faults(log: &Log, is_allowed: fn(&FaultKind) -> bool) {
    let is_fault = |fault: &&Fault| !is_allowed(&fault.kind);
    assert_eq!(log.faults().iter().filter(is_fault).count(), 0, "{:?}", log.faults());
}

/// The answer of the naive twin: each thread's indexes, each kind every third of them.
fn expected() -> Indexes {
    let of = |kind: u64| (kind..EVENTS).step_by(KINDS as usize).collect();
    let keys = (0..THREADS).flat_map(|thread| (0..KINDS).map(move |kind| (thread, kind)));
    keys.map(|(thread, kind)| ((thread, kind as u8), of(kind))).collect()
}

fn verify(path: &Path) -> (Option<i32>, String) {
    let output = eventcnv().arg("verify").arg(path).output().expect("a child");
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).expect("text"))
}

/// `.directory.files`, `.directory.blocks`, `.directory.end`
#[test]
fn any_number_of_files_has_each_event_once() {
    let folder = folder();
    for count in [2, 3, 7, 64] {
        let name = format!("run{count}");
        assert_eq!(record(folder.path(), &format!("dir:{name}?files={count}")), "");
        let path = folder.path().join(name);
        assert_eq!(fs::read_dir(&path).expect("a directory").count(), count);
        let log = open(&path);
        assert_eq!(indexes(&log), expected(), "{count} files");
        assert!(log.is_closed() && log.streams().len() == 1);
        assert!(log.accounts().iter().all(|account| account.lost == 0));
        let (code, text) = verify(&path);
        assert!(code == Some(0) && text.ends_with(": sound\n"), "{text}");
        // Each is a log by itself: its header, and registries. Not all have the end.
        for file in Directory::read(&path).expect("a directory").files {
            let log = Log::open(&file).expect("a log");
            assert!(log.registries().iter().any(|registry| &*registry.name == "work"));
            let is_missing = |kind: &FaultKind| {
                matches!(kind, FaultKind::FileMissing { .. } | FaultKind::FileNotBegun { .. })
            };
            let missing = log.faults().iter().filter(|fault| is_missing(&fault.kind)).count();
            assert_eq!(missing, count - 1);
        }
    }
}

/// Without `files`, there are as many as processors, and at least two.
#[test]
fn a_directory_has_a_file_for_each_processor() {
    let folder = folder();
    assert_eq!(record(folder.path(), "dir:run/"), "");
    let output = run(Command::new("getconf").arg("_NPROCESSORS_ONLN"));
    let processors: usize = String::from_utf8_lossy(&output.stdout).trim().parse().expect("number");
    let found = Directory::read(&folder.path().join("run")).expect("a directory");
    assert_eq!(found.files.len(), processors.clamp(2, 64), "{found:?}");
    assert_eq!(indexes(&open(&folder.path().join("run"))), expected());
}

fn number(bytes: &[u8], at: usize, size: usize) -> u64 {
    bytes[at..at + size].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// `.header.file`, `.directory.store`: the bytes, by the page alone.
#[test]
fn each_file_states_its_number_and_the_store_is_in_the_first() {
    let folder = folder();
    let words = ["held", "4", "6000"];
    let mut program = recorder(folder.path(), &words, "dir:run?files=3");
    run(program.stdin(Stdio::null()));
    let mut headers = Vec::new();
    for file in 0..3 {
        let bytes = fs::read(folder.path().join(format!("run/{file:02}.log"))).expect("a file");
        assert_eq!([number(&bytes, 424, 4), number(&bytes, 428, 4)], [file, 3]);
        for block in bytes.chunks(4096).skip(1).filter(|block| number(block, 0, 4) != 0) {
            let (sort, registry) = (block[4], number(block, 12, 2));
            assert!(file == 0 || sort == 1 && registry == 1, "file {file} has a block of {sort}");
        }
        // All else in block 0 is the same, except the checksum.
        let mut header = bytes[..4096].to_vec();
        header[424..432].fill(0);
        header[28..32].fill(0);
        headers.push(header);
    }
    assert!(headers[1..].iter().all(|header| *header == headers[0]));
}

/// Sends a signal to a program that stops or goes on; waits until it did.
fn signal(child: &Child, name: &str) {
    let id = child.id().to_string();
    run(Command::new("kill").args(["-s", name, &id]));
    let is_stopped = || {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).expect("a process");
        stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('T'))
    };
    wait_for(name, || is_stopped() == (name == "STOP"));
}

/// `.directory.instant`: files that grow while they are opened one after the other, made of what a
/// program had in them at twelve moments.
#[test]
fn a_directory_that_grows_is_read_as_of_one_instant() {
    let folder = folder();
    // In a tee, one thread writes all files in turn.
    let destination = "tee:dir:run?files=5,one.log";
    fs::write(folder.path().join("progress"), [0; 8]).expect("a file");
    let child = recorder(folder.path(), &["forever", "1", "progress"], destination).spawn();
    let child = Killed(child.expect("a process"));
    let path = |file: usize| folder.path().join(format!("run/{file:02}.log"));
    wait_for("all files", || {
        (0..5).all(|file| fs::metadata(path(file)).is_ok_and(|at| at.len() > 9000))
    });
    let mut moments: Vec<Vec<Vec<u8>>> = Vec::new();
    for _ in 0..12 {
        signal(&child.0, "STOP");
        moments.push((0..5).map(|file| fs::read(path(file)).expect("a file")).collect());
        signal(&child.0, "CONT");
        thread::sleep(Duration::from_micros(700));
    }
    let mut seed = 0x9E37_79B9_7F4A_7C15u64;
    let mut dropped_count = 0;
    for _ in 0..100 {
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) as usize % below
        };
        let asked = random(moments.len());
        let (mut joined, mut before) = (Joined::default(), Joined::default());
        let mut all_count = 0;
        for (file, early) in moments[asked].iter().enumerate() {
            let opened = &moments[asked + random(moments.len() - asked)][file];
            all_count += opened.len() as u64 / 4096;
            joined.push_file(Box::new(opened.clone()), early.len() as u64);
            before.push(Box::new(early.clone()));
        }
        let [log, before] = [joined, before].map(|source| Log::from_source(source).expect("a log"));
        assert_eq!(log.faults().loss_count(), 0, "{:?}", log.faults());
        let (found, before) = (indexes(&log), indexes(&before));
        for (key, indexes) in &found {
            let expected = (0..indexes.len() as u64).map(|at| u64::from(key.1) + at * KINDS);
            assert!(indexes.iter().copied().eq(expected), "{key:?}: a gap");
        }
        let has_all = |(key, indexes): (_, &Vec<u64>)| found[key].len() >= indexes.len();
        assert!(before.iter().all(has_all), "an event that was in the files is missing");
        let given: u64 = found.values().map(|indexes| indexes.len() as u64).sum();
        dropped_count += u64::from(given < (all_count - 6) * (IN_MEMORY / 2));
    }
    assert!(dropped_count > 0, "no file grew");
}

/// `tee:` deals the blocks out in turn; both logs print the same.
#[test]
fn a_directory_in_a_tee_has_what_the_file_has() {
    let folder = folder();
    assert_eq!(record(folder.path(), "tee:dir:run?files=5,one.log"), "");
    let print = |name: &str| run(eventcnv().arg("-vv").arg(folder.path().join(name))).stdout;
    assert!(print("run") == print("one.log"));
    assert_eq!(indexes(&open(&folder.path().join("run"))), expected());
}

/// `.directory.missing`, `.read.loss`: three of 64 files are missing, also that of the strings.
#[test]
fn the_events_of_missing_files_are_counted() {
    let folder = folder();
    // In turn: blocks of events are in each file. The registries fit the header block.
    let words = ["threads", &THREADS.to_string(), "40000"];
    let mut program = recorder(folder.path(), &words, "tee:dir:run?files=64,one.log");
    run(program.env("MPS_TELEMETRY_BLOCK_SIZE", "16384"));
    let path = folder.path().join("run");
    for missing in [[7, 20, 63], [0, 1, 2]] {
        let names = missing.map(|number| format!("{number:02}.log"));
        let blocks = |name: &String| fs::metadata(path.join(name)).expect("a file").len() / 16384;
        let blocks: Vec<u64> = names.iter().map(blocks).collect();
        names.iter().for_each(|name| {
            fs::rename(path.join(name), folder.path().join(name)).expect("a rename");
        });
        let log = Log::open(&path).expect("a log");
        let told = log.faults().iter().filter_map(|fault| match fault.kind {
            FaultKind::FileMissing { file, count: 64, blocks } => Some((file, blocks)),
            _ => None,
        });
        let told: Vec<(u32, Option<u64>)> = told.collect();
        // In a tee, the end may be in any of the files.
        assert_eq!(told.iter().map(|(file, _)| *file).collect::<Vec<_>>(), missing);
        for ((_, told), blocks) in told.iter().zip(blocks) {
            assert!(told.is_none_or(|told| told == blocks), "{told:?} of {blocks}");
        }
        let found: u64 = indexes(&log).values().map(|indexes| indexes.len() as u64).sum();
        let of_work = |account: &&eventlog::reader::Account| {
            &*log.registries()[account.registry as usize].name == "work"
        };
        let lost: u64 = log.accounts().iter().filter(of_work).map(|account| account.lost).sum();
        // The last blocks of a thread leave no gap: the number of blocks alone tells of them.
        let untold = (THREADS * 40_000).checked_sub(found + lost).expect("no event counts twice");
        assert!(lost > 0 && untold <= THREADS * 3 * 512, "{found} and {lost}");
        let (code, text) = verify(&path);
        assert_eq!(code, Some(1));
        let message =
            format!("file {} of the 64 that this log was written to is missing", missing[1]);
        assert!(text.contains(&message), "{text}");
        names.iter().for_each(|name| {
            fs::rename(folder.path().join(name), path.join(name)).expect("a rename");
        });
    }
    assert_eq!(indexes(&open(&path)), indexes(&open(&folder.path().join("one.log"))));
}

/// Returns a processor whose events go to the second of two files.
fn odd_processor() -> String {
    let output = run(Command::new("sh").args(["-c", "grep Cpus_allowed_list /proc/self/status"]));
    let text = String::from_utf8(output.stdout).expect("text");
    let list = text.split_whitespace().nth(1).expect("a list").to_owned();
    let ends = list.split(',').map(|range| range.split_once('-').unwrap_or((range, range)));
    let number = |text: &str| text.parse::<u32>().expect("a number");
    let mut all = ends.flat_map(|(first, last)| number(first)..=number(last));
    all.find(|number| number % 2 == 1).expect("this test needs two processors").to_string()
}

/// `.directory.end`, `.read.cut`: events at the end leave no gap in the numbers: the counts tell.
#[test]
fn a_file_that_was_cut_is_told() {
    let folder = folder();
    let mut program = Command::new("taskset");
    program.args(["-c", &odd_processor(), env!("CARGO_BIN_EXE_recorder"), "threads", "4", "6000"]);
    program.current_dir(folder.path()).env("MPS_TELEMETRY_CONTROL", "all");
    program
        .env("MPS_TELEMETRY_BLOCK_SIZE", "4096")
        .env("MPS_TELEMETRY_FILENAME", "dir:run?files=2");
    run(&mut program);
    let path = folder.path().join("run");
    assert_eq!(indexes(&open(&path)), expected());
    let name = path.join("01.log");
    let whole = fs::read(&name).expect("a file");
    let blocks = whole.len().div_ceil(4096);
    assert!(blocks > 100, "{blocks}: the processor's own file");
    for left in [blocks - 1, blocks / 2, 1, 0] {
        fs::write(&name, &whole[..left * 4096]).expect("a file");
        let (code, text) = verify(&path);
        let missing = blocks - left;
        let told = match left {
            0 => format!("file 1 of the 2 that this log was written to is missing, with {blocks} "),
            _ => format!("the stream ends here, {missing} of its {blocks} blocks are missing"),
        };
        assert!(code == Some(1) && text.contains(&told), "{text}");
    }
    fs::write(&name, &whole).expect("a file");
    assert_eq!(verify(&path).0, Some(0));
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a program that records until it is killed; returns also where it tells its progress.
fn forever(folder: &Path, destination: &str) -> (Killed, PathBuf) {
    let progress = folder.join("progress");
    fs::write(&progress, vec![0; THREADS as usize * 8]).expect("a file");
    let words = ["forever", &THREADS.to_string(), "progress"];
    let child = recorder(folder, &words, destination).stderr(Stdio::piped()).spawn();
    (Killed(child.expect("a process")), progress)
}

/// The number of events that each thread has certainly recorded.
fn told(progress: &Path) -> Vec<u64> {
    let bytes = fs::read(progress).expect("a file");
    bytes.chunks(8).map(|word| u64::from_le_bytes(word.try_into().expect("a word"))).collect()
}

/// Checks that a log has what was handed over: each event of each thread but the newest, from
/// `first` on without a gap.
fn check_killed(log: &Log, progress: &[u64], has_beginning: bool) {
    let found = indexes(log);
    for ((thread, kind), indexes) in &found {
        let first = if has_beginning { u64::from(*kind) } else { indexes[0] };
        let expected = (0..indexes.len() as u64).map(|at| first + at * KINDS);
        assert!(indexes.iter().copied().eq(expected), "thread {thread}, kind {kind}: a gap");
        let newest = indexes.last().expect("an event");
        let certain = progress[*thread as usize].saturating_sub((IN_MEMORY + 1) * KINDS);
        assert!(*newest + 1 >= certain, "{newest} of {progress:?}");
    }
    let least = (IN_MEMORY + 1) * KINDS;
    // A volume that is gone may have had all events of a thread.
    let threads = (0..).zip(progress).filter(|(_, count)| has_beginning && **count > least);
    threads.for_each(|(thread, _)| assert!(found.contains_key(&(thread, 0)), "thread {thread}"));
}

#[test]
fn a_program_killed_at_any_moment_leaves_what_it_handed_over() {
    for round in 0..40u64 {
        let folder = folder();
        let is_bounded = round % 2 == 1;
        let destination = match is_bounded {
            true => "dir:run?files=3&size=200K&count=3",
            false => "dir:run?files=3",
        };
        let (mut child, progress) = forever(folder.path(), destination);
        let least = if is_bounded { 30_000 } else { 1500 };
        wait_for("events", || told(&progress).iter().all(|count| *count > least));
        thread::sleep(Duration::from_micros(round * 137 % 3000));
        child.0.kill().expect("a process");
        child.0.wait().expect("an exit");
        let log = open_killed(&folder.path().join("run"));
        assert!(!log.is_closed());
        check_killed(&log, &told(&progress), !is_bounded);
        assert_eq!(log.streams()[0].volumes.0 > 0, is_bounded);
    }
}

/// Killed before each of the first writes, a program leaves a log without events: files that have
/// not begun are a warning, and of the registries the rest may be missing, as in one file.
#[test]
fn a_program_killed_while_it_begins_leaves_sound_headers() {
    for number in 2..8 {
        let folder = folder();
        let mut strace = tests::programs::system("strace");
        let program = recorder(folder.path(), &["threads", "1", "6000"], "dir:run?files=3");
        strace.args(["-f", "-o", "calls", "-e", "trace=pwrite64"]);
        strace.args(["-e", &format!("inject=pwrite64:signal=KILL:when={number}")]);
        strace.arg(program.get_program()).args(program.get_args()).current_dir(folder.path());
        strace.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        assert!(!strace.status().expect("strace runs").success(), "write {number}");
        let log = Log::open(folder.path().join("run")).expect("a log");
        assert_no_faults(&log, |kind| {
            matches!(kind, FaultKind::FileNotBegun { .. } | FaultKind::Registry { .. })
        });
        let files = log.faults().iter().filter(|fault| fault.is_warning()).count();
        assert_eq!(files, 3 - number / 2, "write {number}");
    }
}

/// A disk that has no room for two volumes of 8 blocks a file: the log goes on, in smaller volumes.
#[test]
fn the_newest_volume_of_many_files_is_kept_on_a_full_disk() {
    let folder = folder();
    fs::create_dir(folder.path().join("disk")).expect("a directory");
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        let mount = "mount -t tmpfs -o size=1M none disk";
        command.args(["-rm", "sh", "-c", &format!("{mount} && {script}"), "sh"]);
        command.current_dir(folder.path());
        command
    };
    if !unshare("true").status().is_ok_and(|status| status.success()) {
        println!("no namespaces: not tested");
        return;
    }
    let destination = "dir:disk/run?files=64&size=4M&count=3";
    let program = recorder(folder.path(), &["threads", "4", "20000"], destination);
    let mut command = unshare("\"$@\" && cp -r disk kept");
    command.arg(program.get_program()).args(program.get_args());
    command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = run(&mut command);
    let said = String::from_utf8(output.stdout).expect("text");
    let refused: u64 =
        said.split_whitespace().last().and_then(|n| n.parse().ok()).expect("a count");
    assert!((1..2000).contains(&refused), "{said}");
    let log = Log::open(folder.path().join("kept/run")).expect("a log");
    assert!(log.is_closed());
    let found = indexes(&log);
    let newest = found.values().flatten().max();
    assert_eq!(newest, Some(&19_999), "the end");
}

/// A reader opens the log while threads write all of its files: no fault, and no gap.
#[test]
fn a_directory_is_read_while_it_grows() {
    let folder = folder();
    let mut program = recorder(folder.path(), &["busy", "4"], "dir:run?files=4");
    let mut program =
        program.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("a process");
    let first = folder.path().join("run/00.log");
    wait_for("a log", || fs::metadata(&first).is_ok_and(|file| file.len() > 1 << 16));
    for _ in 0..20 {
        let log = Log::open(folder.path().join("run")).expect("a log");
        // A block of one file may be there before an earlier one of another.
        let is_loss =
            |kind: &FaultKind| matches!(kind, FaultKind::Lost { .. } | FaultKind::BlockHole { .. });
        let others = log.faults().iter().filter(|fault| !is_loss(&fault.kind)).count();
        assert_eq!(others, 0, "{:?}", log.faults());
        assert!(!indexes(&log).is_empty());
        thread::sleep(Duration::from_millis(2));
    }
    drop(program.stdin.take());
    assert!(program.wait().expect("an exit").success());
    let log = open(&folder.path().join("run"));
    assert!(log.is_closed());
    for ((thread, kind), indexes) in indexes(&log) {
        let expected = (0..indexes.len() as u64).map(|at| u64::from(kind) + at * KINDS);
        assert!(indexes.iter().copied().eq(expected), "thread {thread}, kind {kind}: a gap");
    }
}

/// `follow` prints each event once, labels with it, until the log is closed. At first the directory
/// is empty.
#[test]
fn a_directory_is_followed_to_its_end() {
    let folder = folder();
    fs::create_dir(folder.path().join("run")).expect("a directory");
    let mut follow = eventcnv();
    let follow = follow.args(["follow", "-vv", "run"]).current_dir(folder.path());
    let follow = follow.stdout(File::create(folder.path().join("lines")).expect("a file")).spawn();
    let mut follow = Killed(follow.expect("a process"));
    let words = ["held", &THREADS.to_string(), &EVENTS.to_string()];
    let mut program = recorder(folder.path(), &words, "dir:run?files=4&size=512K&count=9");
    let mut program =
        program.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("a process");
    thread::sleep(Duration::from_millis(700));
    drop(program.stdin.take());
    assert!(program.wait().expect("an exit").success());
    assert!(follow.0.wait().expect("an exit").success());
    let printed = fs::read_to_string(folder.path().join("lines")).expect("a file");
    let mut printed: Vec<&str> = printed.lines().collect();
    let mut whole = lines(eventcnv().arg("-vv").arg(folder.path().join("run")));
    printed.sort_unstable();
    whole.sort_unstable();
    assert!(printed == whole, "{} lines of {}", printed.len(), whole.len());
}

/// `.sol.volume`: another process removes and truncates files; what it took away is counted, and
/// the log goes on.
#[test]
fn a_log_goes_on_without_the_files_that_were_taken_away() {
    for destination in ["dir:run?files=3", "dir:run?files=3&size=64M&count=4"] {
        let folder = folder();
        let path = folder.path().join("run");
        let (mut child, progress) = forever(folder.path(), destination);
        let go_on = || {
            let before = told(&progress);
            let is_on = |(now, before): (u64, &u64)| now > before + 5000;
            let told = || told(&progress);
            wait_for("events", || told().into_iter().zip(&before).all(is_on));
        };
        go_on();
        fs::remove_file(path.join("01.log")).expect("a file");
        go_on();
        File::options()
            .write(true)
            .open(path.join("02.log"))
            .expect("a file")
            .set_len(0)
            .expect("0");
        go_on();
        fs::remove_file(path.join("00.log")).expect("a file");
        go_on();
        child.0.kill().expect("a process");
        child.0.wait().expect("an exit");
        let log = Log::open(&path).expect("a log");
        assert!(log.streams()[0].volumes.1 >= 1, "{destination}: another volume");
        let found = indexes(&log);
        for (thread, count) in (0..).zip(told(&progress)) {
            let newest = found[&(thread, 0)].last().copied().unwrap_or(0);
            assert!(newest + (IN_MEMORY + 1) * KINDS >= count, "{newest} of {count}: not gone on");
        }
    }
}

/// `.sol.directory`: the directory itself is removed, or gets another name.
#[test]
fn a_log_goes_on_without_its_directory() {
    let bounded = "dir:run?files=3&size=200K&count=3";
    let removed = [("dir:run?files=3", true); 3];
    let both = (0..12).map(|round| (bounded, round % 2 == 0));
    for (destination, is_removed) in removed.into_iter().chain(both) {
        let folder = folder();
        let path = folder.path().join("run");
        let (mut child, progress) = forever(folder.path(), destination);
        wait_for("events", || told(&progress).iter().all(|count| *count > 5000));
        if is_removed {
            fs::rename(&path, folder.path().join("gone")).expect("a name");
            fs::remove_dir_all(folder.path().join("gone")).expect("a directory");
        } else {
            fs::rename(&path, folder.path().join("other")).expect("a name");
        }
        wait_for("another one", || path.join("00.log").exists());
        let before = told(&progress);
        let is_on = |(now, before): (u64, &u64)| now > before + 5000;
        wait_for("events", || told(&progress).into_iter().zip(&before).all(is_on));
        child.0.kill().expect("a process");
        child.0.wait().expect("an exit");
        check_killed(&Log::open(&path).expect("a log"), &told(&progress), false);
    }
}

/// `.volume.loss`, `.read.loss`: what was taken away is counted.
#[test]
fn the_events_of_a_file_that_was_removed_are_counted() {
    let folder = folder();
    let path = folder.path().join("run");
    let mut program = recorder(folder.path(), &["busy", "4"], "dir:run?files=2");
    let mut program = program.stdin(Stdio::piped()).spawn().expect("a process");
    let size = |name: &str| fs::metadata(path.join(name)).map_or(0, |file| file.len());
    let both = || size("00.log").min(size("01.log")) > 1 << 17;
    wait_for("both files", both);
    fs::remove_file(path.join("01.log")).expect("a file");
    wait_for("another one", both);
    drop(program.stdin.take());
    assert!(program.wait().expect("an exit").success());
    let log = Log::open(&path).expect("a log");
    assert_eq!(log.streams()[0].volumes, (0, 1));
    assert!(log.is_closed());
    let (mut lost, mut found) = (0, 0);
    for account in log.accounts() {
        assert_eq!(account.found + account.overwritten + account.lost, account.recorded);
        (lost, found) = (lost + account.lost, found + account.found);
    }
    let given: usize = indexes(&log).values().map(Vec::len).sum();
    assert!(lost > 0 && found >= given as u64, "{lost} lost, {found} found, {given} given");
    let is_missing = |fault: &&Fault| matches!(fault.kind, FaultKind::FileMissing { file: 1, .. });
    assert_eq!(log.faults().iter().filter(is_missing).count(), 1, "{:?}", log.faults());
}

/// `.sol.own`, `.sol.fork`: what is another's stays, and the log takes the next name.
#[test]
fn a_directory_that_is_not_to_be_had_is_left_alone() {
    type Prepare = fn(&Path);
    let cases: [(Prepare, &str); 5] = [
        (|path| fs::write(path, "a note").expect("a file"), "run is not a directory"),
        (
            |path| {
                fs::create_dir(path.with_file_name("real")).expect("a directory");
                symlink("real", path).expect("a link");
            },
            "run is not a directory",
        ),
        (
            |path| {
                fs::create_dir_all(path.join("01.log")).expect("a directory");
            },
            "run/01.log is not a regular file",
        ),
        (
            |path| {
                fs::create_dir(path).expect("a directory");
                run(Command::new("mkfifo").arg(path.join("00.log")));
            },
            "run/00.log is not a regular file",
        ),
        (
            |path| {
                fs::create_dir(path).expect("a directory");
                symlink("/etc/hostname", path.join("01.log")).expect("a link");
            },
            "run/01.log is a symbolic link",
        ),
    ];
    for (prepare, message) in cases {
        let folder = folder();
        prepare(&folder.path().join("run"));
        let said = record(folder.path(), "dir:run?files=2");
        assert!(said.contains(message) && said.contains("the log of this one is run-"), "{said}");
        let other = said.rsplit("the log of this one is ").next().expect("a name").trim();
        assert_eq!(indexes(&open(&folder.path().join(other))), expected());
    }
}

/// Two programs with one name, at the same time.
#[test]
fn two_programs_do_not_share_a_directory() {
    let folder = folder();
    let (mut first, progress) = forever(folder.path(), "dir:run?files=3");
    wait_for("events", || told(&progress).iter().all(|count| *count > 1500));
    let said = record(folder.path(), "dir:run?files=2");
    assert!(said.contains("run/00.log is in use by another process"), "{said}");
    first.0.kill().expect("a process");
    first.0.wait().expect("an exit");
    check_killed(&open_killed(&folder.path().join("run")), &told(&progress), true);
    let other = said.rsplit("the log of this one is ").next().expect("a name").trim();
    assert_eq!(indexes(&open(&folder.path().join(other))), expected());
}

/// `.directory.names`: of files in the directory that are not of the log, and of an older log that
/// had more files.
#[test]
fn other_files_in_the_directory_are_left_out() {
    let folder = folder();
    let path = folder.path().join("run");
    assert_eq!(record(folder.path(), "dir:run?files=6"), "");
    assert_eq!(record(folder.path(), "dir:run?files=2"), "");
    for name in ["notes.txt", "0.log", "64.log", "00.log.old", "00.log.0"] {
        fs::write(path.join(name), "not a log").expect("a file");
    }
    fs::create_dir(path.join("03.log.1")).expect("a directory");
    assert_eq!(indexes(&open(&path)), expected());
    let (code, text) = verify(&path);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("run/02.log + 3 more: another log, left out"), "{text}");
    // Without the first file, the log that began last counts.
    fs::remove_file(path.join("00.log")).expect("a file");
    let log = Log::open(&path).expect("a log");
    let missing = log.faults().iter().filter(|fault| {
        matches!(
            fault.kind,
            FaultKind::FileMissing { file: 0, count: 2, blocks: None }
                | FaultKind::FileNotBegun { file: 0, count: 2 }
        )
    });
    assert_eq!(missing.count(), 1, "{:?}", log.faults());
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).expect("a directory");
    let (code, text) = verify(&empty);
    assert!(code == Some(2) && text.contains("is a directory without files of a log"), "{text}");
}

/// A file of the log may be damaged in any way: no reader fails, and what is good is given.
#[test]
fn damaged_headers_of_files_cost_no_events() {
    let folder = folder();
    assert_eq!(record(folder.path(), "dir:run?files=3"), "");
    let path = folder.path().join("run");
    for (offset, bytes) in [(0, &[0; 8][..]), (424, &[9, 0, 0, 0, 255]), (428, &[1]), (30, &[7; 4])]
    {
        for name in ["00.log", "02.log"] {
            let name = path.join(name);
            let whole = fs::read(&name).expect("a file");
            let mut damaged = whole.clone();
            damaged[offset..offset + bytes.len()].copy_from_slice(bytes);
            File::create(&name).and_then(|mut file| file.write_all(&damaged)).expect("a file");
            let log = Log::open(&path).expect("a log");
            assert!(!log.faults().is_empty());
            assert_eq!(indexes(&log), expected(), "{} at {offset}", name.display());
            fs::write(&name, whole).expect("a file");
        }
    }
}

/// What its user may not read or make is an error with its name and the cause, not another's.
#[test]
fn a_directory_without_rights_is_told() {
    let folder = folder();
    assert_eq!(record(folder.path(), "dir:run?files=2"), "");
    let path = folder.path().join("run");
    let mode = fs::metadata(&path).expect("a directory").permissions().mode();
    assert_eq!(mode & 0o777, 0o700, "only its owner may look");
    let file = fs::metadata(path.join("01.log")).expect("a file").permissions().mode();
    assert_eq!(file & 0o777, 0o600);
    // A user without rights, who cannot enter the programs' own folder.
    let copy = |program: &Path, name: &str| {
        fs::copy(program, folder.path().join(name)).expect("a copy");
        let mut command = Command::new(folder.path().join(name));
        if fs::metadata(folder.path()).expect("a folder").uid() == 0 {
            command.uid(65534).gid(65534);
        }
        command.current_dir(folder.path());
        command
    };
    let mut program = copy(env!("CARGO_BIN_EXE_recorder").as_ref(), "recorder");
    let mut tool = copy(eventcnv().get_program().as_ref(), "eventcnv");
    let allow = |path: &Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
    };
    allow(folder.path(), 0o555);
    allow(&path, 0o444);
    let said = |command: &mut Command| {
        String::from_utf8(command.output().expect("a child").stderr).expect("text")
    };
    program.args(["threads", "1", "1"]).env("MPS_TELEMETRY_CONTROL", "all");
    let told = said(program.env("MPS_TELEMETRY_FILENAME", "dir:new?files=2"));
    assert!(told.starts_with("telemetry: cannot create new: Permission denied; "), "{told}");
    let told = said(tool.args(["verify", "run"]));
    assert_eq!(told, "eventcnv: run/00.log: Permission denied (os error 13)\n");
    allow(&path, 0o700);
    allow(folder.path(), 0o700);
}
