//! The mapped ring after a death at any moment, while a program writes it, and in place of another
//! ring.
//!
//! ```text
//!  recorder ── ring:PATH?size=… ──▶ PATH ◀── kill -9 ──▶ reader, eventcnv: no fault
//! ```
//!
//! Rules: `.sol.mapped` in `design/telemetry.md`; `.ring` in `design/format.md`.

use eventlog::reader::{Account, Fault, FaultKind, FileSource, Filter, Joined, Log, Order};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;
use tests::programs::{eventcnv, lines, root, run, system, wait_for};

const BLOCK_SIZE: u64 = 4096;
/// Events of three words in a block.
const PER_BLOCK: u64 = (BLOCK_SIZE - 128) / 32;

fn recorder(words: &[&str], kinds: &str, path: &Path, size: u64) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_recorder"));
    command.args(words).env("MPS_TELEMETRY_CONTROL", kinds);
    command.env("MPS_TELEMETRY_BLOCK_SIZE", BLOCK_SIZE.to_string());
    command.env("MPS_TELEMETRY_FILENAME", format!("ring:{}?size={size}", path.display()));
    command
}

/// Returns the same for a ring that keeps what it would overwrite.
fn keeping(words: &[&str], path: &Path, size: u64) -> Command {
    let mut command = recorder(words, "all", path, size);
    let name = format!("ring:{}?size={size}&keep=all", path.display());
    command.env("MPS_TELEMETRY_FILENAME", name);
    command
}

/// Runs a recorder to its end. Returns its messages.
fn record(words: &[&str], kinds: &str, path: &Path, size: u64) -> String {
    let output = recorder(words, kinds, path, size).output().expect("a process");
    assert!(output.status.success());
    String::from_utf8(output.stderr).expect("text")
}

/// The content of a log, as far as the registry `work` is concerned.
#[derive(Default)]
struct Held {
    /// The indexes, by thread and kind, in order of time.
    indexes: BTreeMap<(u64, u8), Vec<u64>>,
    recorded: u64,
    by_kind: BTreeMap<u8, u64>,
    found: u64,
    overwritten: u64,
    full: u64,
}

/// Reads a log, which must have no fault.
fn read(path: &Path) -> Held {
    hold(&Log::open(path).expect("a log"))
}

fn hold(log: &Log) -> Held {
    let mut held = Held::default();
    let mut events = log.events(Order::Time, &Filter::default());
    while let Some(event) = events.next() {
        if &*event.registry.name == "work" {
            let thread = event.param_at(0).and_then(|value| value.as_u64()).expect("a thread");
            let index = event.param_at(1).and_then(|value| value.as_u64()).expect("an index");
            held.indexes.entry((thread, event.kind)).or_default().push(index);
        }
    }
    let faults: Vec<_> = log.faults().iter().chain(events.faults().iter()).collect();
    assert!(faults.is_empty(), "{faults:?}");
    for account in log.accounts() {
        let name = log.registries()[account.registry as usize].name.to_string();
        let sum = account.found + account.overwritten + u64::from(account.discarded_io);
        assert_eq!((sum, account.lost), (account.recorded, 0), "{account:?}");
        if name == "work" {
            held.recorded += account.recorded;
            *held.by_kind.entry(account.kind).or_default() += account.recorded;
            held.found += account.found;
            held.overwritten += account.overwritten;
            held.full += u64::from(account.discarded_full);
        }
    }
    held
}

fn number(bytes: &[u8], at: usize, size: usize) -> u64 {
    bytes[at..at + size].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// `.ring.size`, `.ring.newest`: checks the bytes by section 8.
#[test]
fn the_file_has_its_size_and_one_open_block_a_buffer() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("ring");
    // Each thread has filled all blocks by itself.
    kill_after(300_000 / 32, Duration::ZERO, &path, 300_000, 3);
    let bytes = fs::read(&path).expect("a file");
    assert_eq!(bytes.len() as u64, 300_000 / BLOCK_SIZE * BLOCK_SIZE);
    assert_eq!(number(&bytes, 148, 4), 1, ".header.ring");
    let mut blocks = BTreeMap::<u64, BTreeMap<u64, bool>>::new();
    let mut zeros = 0;
    for block in bytes.chunks(BLOCK_SIZE as usize).skip(1) {
        zeros += u32::from(number(block, 0, 4) == 0);
        let is_events = block[..5] == [0xF7, 0x45, 0x4C, 0x8A, 1];
        if is_events && number(block, 12, 2) != 0 {
            let (buffer, first) = (number(block, 36, 4), number(block, 48, 8));
            blocks.entry(buffer).or_default().insert(first, block[5] & 1 != 0);
        }
    }
    assert!(zeros > 0, "the store has no free block");
    assert!(!blocks.is_empty());
    for (buffer, blocks) in &blocks {
        let sealed: Vec<bool> = blocks.values().rev().copied().collect();
        assert!(!sealed[0], "buffer {buffer}: {sealed:?}");
        assert!(sealed.iter().skip(2).all(|sealed| *sealed), "buffer {buffer}: {sealed:?}");
    }
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a program that records until killed, and kills it `time` after each thread has recorded
/// `count` events. Returns the certain progress of each.
fn kill_after(count: u64, time: Duration, path: &Path, size: u64, threads: u64) -> Vec<u64> {
    let begin = |words: &[&str]| recorder(words, "all", path, size);
    kill(begin, count, time, path, threads)
}

/// Does the same with the command that `begin` makes of its words.
fn kill(
    begin: impl Fn(&[&str]) -> Command,
    count: u64,
    time: Duration,
    path: &Path,
    threads: u64,
) -> Vec<u64> {
    let progress = PathBuf::from(format!("{}.progress", path.display()));
    fs::write(&progress, vec![0; threads as usize * 8]).expect("a writable file");
    let words = ["forever", &threads.to_string(), progress.to_str().expect("text")];
    let mut child = Killed(begin(&words).spawn().expect("a process"));
    wait_for("events", || told(&progress).iter().all(|told| *told >= count));
    thread::sleep(time);
    child.0.kill().expect("a process");
    child.0.wait().expect("an exit");
    told(&progress)
}

/// Returns the number of certainly recorded events of each thread.
fn told(progress: &Path) -> Vec<u64> {
    let bytes = fs::read(progress).expect("a file");
    bytes.chunks(8).map(|word| u64::from_le_bytes(word.try_into().expect("a word"))).collect()
}

/// Returns a random number, and changes the seed.
fn random(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

/// Checks the ring of a killed program. Returns whether the ring has overwritten events.
fn check_killed(path: &Path, progress: &[u64], data_count: u64) -> bool {
    if !path.exists() {
        assert!(progress.iter().all(|count| *count == 0), "no file: {progress:?}");
        return false;
    }
    let held = read(path);
    let thread_count = progress.len() as u64;
    for kind in 0..3u8 {
        let mut expected = 0;
        let mut found = 0;
        for (thread, told) in (0..).zip(progress) {
            // A kind has every third index.
            let published = (told + 2 - u64::from(kind)) / 3;
            expected += published;
            let indexes = held.indexes.get(&(thread, kind)).cloned().unwrap_or_default();
            found += indexes.len() as u64;
            for pair in indexes.windows(2) {
                assert_eq!(pair[1], pair[0] + 3, "thread {thread}, kind {kind}: in order, no gap");
            }
            if let Some(newest) = indexes.last() {
                let newest_published = published.checked_sub(1).map_or(0, |at| at * 3);
                assert!(*newest >= newest_published, "{thread}: {newest} of {progress:?}");
            }
            // Otherwise it had just begun a block, and waited while others overwrote its last one.
        }
        let recorded = held.by_kind.get(&kind).copied().unwrap_or(0);
        assert!(recorded >= expected, "{recorded} of {expected}");
        // A share of the blocks, except those in use and one that begins again.
        let blocks = data_count / 3 - 2 * thread_count;
        assert!(found >= expected.min(blocks * PER_BLOCK), "{found} of {expected}: {blocks}");
    }
    held.overwritten > 0
}

/// `.ring.death`, `.write.begin`, `.write.seal`: the file has all events that were published and
/// not overwritten.
#[test]
fn a_program_killed_at_any_moment_leaves_its_events() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    thread::scope(|scope| {
        for worker in 0..2u64 {
            let directory = directory.path();
            scope.spawn(move || {
                let mut seed = 0x9E37_79B9_7F4A_7C15 ^ worker << 32 ^ u64::from(std::process::id());
                println!("seed {seed:#x}");
                let mut overwritten_count = 0;
                for round in 0..500u64 {
                    let path = directory.join(format!("{worker}-{round}"));
                    // In some rounds the threads first fill the ring, on any machine.
                    let count = if round % 20 == 0 { 192 << 10 >> 5 } else { 0 };
                    let time = Duration::from_micros(500 + random(&mut seed) % 5_500);
                    let progress = kill_after(count, time, &path, 192 << 10, 3);
                    let is_round = check_killed(&path, &progress, 48 - 1 - 6);
                    overwritten_count += u64::from(is_round);
                    for after in ["", ".new", ".progress"] {
                        let _ = fs::remove_file(format!("{}{after}", path.display()));
                    }
                }
                println!("{overwritten_count} of 500 had gone round");
                assert!(overwritten_count >= 500 / 20, "{overwritten_count} of 500");
            });
        }
    });
}

/// `.ring.kept`: whatever instant a program is killed at, each event is in the file, from the first
/// on, though the ring had been full several times. A reader meanwhile finds no gap either.
#[test]
fn a_ring_that_keeps_loses_no_event_of_a_killed_program() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let mut seed = 0x9E37_79B9_7F4A_7C15 ^ u64::from(std::process::id());
    println!("seed {seed:#x}");
    for round in 0..40u64 {
        let path = directory.path().join(format!("{round}"));
        let time = Duration::from_micros(random(&mut seed) % 5_500);
        let begin = |words: &[&str]| keeping(words, &path, 192 << 10);
        let progress = kill(begin, 4 * (192 << 10) / 32, time, &path, 3);
        let held = read(&path);
        assert!(fs::metadata(&path).expect("a file").len() > (4 * 192) << 10);
        for (thread, told) in (0..).zip(&progress) {
            for kind in 0..3u8 {
                let published = (told + 2 - u64::from(kind)) / 3;
                let indexes = &held.indexes[&(thread, kind)];
                let expected = (0..indexes.len() as u64).map(|at| at * 3 + u64::from(kind));
                assert!(indexes.iter().copied().eq(expected), "thread {thread}, kind {kind}");
                assert!(indexes.len() as u64 >= published, "{} of {published}", indexes.len());
            }
        }
        assert_eq!((held.overwritten, held.full), (0, 0));
        fs::remove_file(&path).expect("a file");
    }
}

/// `.ring.kept`, `.header.ring-blocks`, `.ring.read`: a look while a program records has all events
/// up to then.
#[test]
fn a_look_at_a_ring_that_keeps_finds_all_events() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    for round in 0..4 {
        let path = directory.path().join(format!("{round}"));
        let progress = directory.path().join("progress");
        fs::write(&progress, [0; 16]).expect("a writable file");
        let words = ["forever", "2", progress.to_str().expect("text")];
        let _child = Killed(keeping(&words, &path, 192 << 10).spawn().expect("a process"));
        wait_for("events", || told(&progress).iter().all(|told| *told >= 4 * (192 << 10) / 32));
        let told = told(&progress);
        let held = read(&path);
        assert_eq!(held.overwritten, 0);
        for (thread, told) in (0..).zip(&told) {
            let found: usize = (0..3).map(|kind| held.indexes[&(thread, kind)].len()).sum();
            assert!(found as u64 >= *told, "{found} of {told}");
        }
    }
}

/// `.ring.read`: each of several rings that programs write is read as of one instant.
#[test]
fn a_look_at_two_rings_in_use_finds_no_fault() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let begin = |name: &str| {
        let [path, progress] =
            [name, &format!("{name}.progress")].map(|name| directory.path().join(name));
        fs::write(&progress, [0; 8]).expect("a writable file");
        let words = ["forever", "1", progress.to_str().expect("text")];
        let child = Killed(keeping(&words, &path, 192 << 10).spawn().expect("a process"));
        wait_for("events", || told(&progress)[0] >= 4 * (192 << 10) / 32);
        (path, child)
    };
    let rings = [begin("one"), begin("other")];
    for _ in 0..3 {
        let mut joined = Joined::default();
        for (path, _) in &rings {
            let file = fs::File::open(path).expect("a file");
            joined.push(Box::new(FileSource::new(file).expect("a file")));
        }
        let held = hold(&Log::from_source(joined).expect("a log"));
        assert!(held.found > 0);
    }
}

/// `.ring.beginning`: a ring that keeps all overwrote nothing, so a block that is gone is a loss.
#[test]
fn a_kept_block_that_is_gone_is_a_loss() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("ring");
    run(&mut keeping(&["threads", "1", "30000"], &path, 192 << 10));
    let whole = fs::read(&path).expect("a file");
    let mut gone = 0;
    for at in (192 << 10..whole.len()).step_by(BLOCK_SIZE as usize) {
        let (first, count) = (number(&whole, at + 48, 8), number(&whole, at + 28, 4));
        // The oldest block of a buffer has no neighbour below.
        if first == 0 {
            let mut bytes = whole.clone();
            bytes[at..at + 4].fill(0);
            let log = Log::from_source(bytes).expect("a log");
            let sum = |of: fn(&Account) -> u64| log.accounts().iter().map(of).sum::<u64>();
            assert_eq!((sum(|of| of.lost), sum(|of| of.overwritten)), (count, 0));
            let is_loss = |fault: &Fault| matches!(fault.kind, FaultKind::Lost { .. });
            assert!(log.faults().iter().any(is_loss));
            gone += 1;
        }
    }
    assert_eq!(gone, 3);
}

/// `.ring.kept`: without room the ring overwrites its oldest events, and says how many.
#[test]
fn a_ring_that_may_not_grow_counts_what_it_overwrites() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("ring");
    let recorder = keeping(&["threads", "2", "100000"], &path, 256 << 10);
    let mut limited = system("sh");
    // In units of 512 bytes.
    limited.args(["-c", "ulimit -f 2048; exec \"$0\" \"$@\""]).arg(recorder.get_program());
    limited.args(recorder.get_args());
    limited.envs(recorder.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = limited.output().expect("a process");
    assert!(output.status.success());
    let said = String::from_utf8(output.stderr).expect("text");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("cannot write to") && said.contains("File too large"), "{said}");
    let held = read(&path);
    assert_eq!(held.recorded, 200_000);
    assert_eq!(held.found + held.overwritten, held.recorded);
    assert!(held.overwritten > 0 && held.found > (1 << 20) / 40, "{}", held.found);
}

/// `.header.ring`: a reader that was written from the document finds the same, and no fault.
#[test]
fn the_reader_in_python_reads_a_ring_of_a_killed_program() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("ring");
    kill_after(256 << 10 >> 5, Duration::ZERO, &path, 256 << 10, 3);
    let mut python = system("python3");
    let dump = lines(python.arg(root().join("tests/reader.py")).arg(&path));
    assert_eq!(dump, lines(eventcnv().arg(&path)));
    assert!(dump.len() as u64 > PER_BLOCK);
}

/// `.ring.share`
#[test]
fn a_busy_kind_does_not_overwrite_a_quiet_one() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("ring");
    record(&["quiet", "100000"], "all", &path, 192 << 10);
    let held = read(&path);
    assert_eq!(held.indexes[&(0, 0)], (0..10).collect::<Vec<_>>());
    assert_eq!(held.indexes[&(0, 1)].last(), Some(&99_999));
    assert!(held.indexes[&(0, 1)].len() as u64 > 10 * PER_BLOCK);
}

/// `.ring.overwritten`, `.ring.gone`, `.ring.beginning`
#[test]
fn overwritten_events_and_those_in_the_file_add_up() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("ring");
    for (words, recorded) in [
        (["threads", "1", "100000"], 100_000),
        (["threads", "6", "30000"], 180_000),
        (["one-by-one", "200", "300"], 60_000),
    ] {
        record(&words, "all", &path, 256 << 10);
        let held = read(&path);
        assert_eq!(held.recorded, recorded, "{words:?}");
        assert_eq!(held.found + held.overwritten, recorded, "{words:?}");
        assert!(held.overwritten > 0 && held.found > 20 * PER_BLOCK, "{words:?}");
    }
}

/// `.ring.history`: from its next block on, the buffer records into the file.
#[test]
fn output_switched_on_later_writes_the_events_of_the_ring() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("ring");
    for count in [1, 50, 300] {
        record(&["late", &count.to_string()], "", &path, 256 << 10);
        let held = read(&path);
        let indexes = &held.indexes[&(0, 0)];
        assert_eq!(indexes.last(), Some(&(count + 9)));
        assert!(indexes.len() as u64 >= (count + 10).min(PER_BLOCK + 10), "{}", indexes.len());
        assert_eq!(held.found + held.overwritten, count + 10);
    }
}

/// `.ring.full`: the file counts the events, and the runtime reports that once.
#[test]
fn threads_without_blocks_are_counted_and_reported_once() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("ring");
    let progress = directory.path().join("progress");
    fs::write(&progress, [0; 8 * 64]).expect("a writable file");
    let words = ["forever", "64", progress.to_str().expect("text")];
    let mut command = recorder(&words, "all", &path, 64 << 10);
    let mut child = Killed(command.stderr(Stdio::piped()).spawn().expect("a process"));
    let mut said = String::new();
    let mut stderr = BufReader::new(child.0.stderr.take().expect("a pipe"));
    stderr.read_line(&mut said).expect("text");
    // The other threads get their turn.
    thread::sleep(Duration::from_millis(300));
    child.0.kill().expect("a process");
    stderr.read_to_string(&mut said).expect("text");
    assert_eq!(said.matches("more threads record a kind").count(), 1, "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    read(&path);
}

/// `.ring.store`: labels are not overwritten; labels without room are counted.
#[test]
fn the_ring_keeps_the_first_labels_and_counts_the_others() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("ring");
    record(&["labels", "20000"], "all", &path, 256 << 10);
    let log = Log::open(&path).expect("a log");
    let store = log.accounts().iter().find(|account| account.buffer == 0).expect("the store");
    assert!(store.found > 100 && store.discarded_io > 1000, "{store:?}");
    assert_eq!(store.found + u64::from(store.discarded_io), store.recorded, "{store:?}");
    let dump = lines(eventcnv().args(["-vv", "--events", "Begun"]).arg(&path));
    assert_eq!(dump.len(), 1);
}

/// `.ring.read`: the dumper can read the file at any time.
#[test]
fn eventcnv_reads_a_ring_while_it_is_written() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("ring");
    let progress = directory.path().join("progress");
    fs::write(&progress, [0; 16]).expect("a writable file");
    let words = ["forever", "2", progress.to_str().expect("text")];
    let _child = Killed(recorder(&words, "all", &path, 1 << 20).spawn().expect("a process"));
    wait_for("a ring", || path.exists());
    for _ in 0..20 {
        lines(eventcnv().arg(&path));
        lines(eventcnv().arg("stats").arg(&path));
    }
}

/// `.sol.mapped`: two programs have the same setting.
#[test]
fn a_second_program_gets_its_own_ring_and_reports_it() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("ring");
    let progress = directory.path().join("progress");
    fs::write(&progress, [0; 8]).expect("a writable file");
    let words = ["forever", "1", progress.to_str().expect("text")];
    let mut first = recorder(&words, "all", &path, 256 << 10);
    let first = Killed(first.spawn().expect("a process"));
    wait_for("an event in a ring", || told(&progress)[0] > 0 && path.exists());
    let second = recorder(&["kinds"], "all", &path, 256 << 10)
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("a process");
    let pid = second.id();
    let output = second.wait_with_output().expect("an exit");
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(said.contains("in use by another process") && said.lines().count() == 1, "{said}");
    let own = directory.path().join(format!("ring-{pid}"));
    assert_eq!(read(&own).found, 1);
    drop(first);
    assert!(read(&path).found > 0);
}

/// `.sol.mapped`: the earlier log stays readable.
#[test]
fn the_runtime_keeps_a_ring_of_another_size_or_version() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("ring");
    let before = directory.path().join("ring.1");
    record(&["threads", "1", "30"], "all", &path, 256 << 10);
    assert!(!before.exists());
    record(&["threads", "1", "60"], "all", &path, 512 << 10);
    assert_eq!((read(&before).found, read(&path).found), (30, 60));
    // The version of a later release.
    let mut bytes = fs::read(&path).expect("a file");
    bytes[8] = 9;
    fs::write(&path, &bytes).expect("a writable file");
    record(&["threads", "1", "90"], "all", &path, 256 << 10);
    assert_eq!(fs::read(&before).expect("a file"), bytes);
    assert_eq!(read(&path).found, 90);
}

/// `.sol.mapped`: one message each, and existing files stay.
#[test]
fn an_impossible_ring_is_refused_in_one_line() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let other = directory.path().join("letter");
    fs::write(&other, "dear reader, this is a letter").expect("a writable file");
    let gone = directory.path().join("gone/ring");
    let ring = directory.path().join("ring");
    for (path, size, expected) in [
        (other.as_path(), 256 << 10, "left alone"),
        (gone.as_path(), 256 << 10, "No such file or directory"),
        (ring.as_path(), 8 << 10, "too small"),
        (ring.as_path(), 1 << 60, "cannot create"),
        (Path::new("/proc/ring"), 256 << 10, "cannot create"),
    ] {
        let said = record(&["threads", "2", "1000"], "all", path, size);
        assert!(said.contains(expected) && said.lines().count() == 1, "{path:?}: {said}");
    }
    assert_eq!(fs::read(&other).expect("a file"), b"dear reader, this is a letter");
    let mut left: Vec<_> = fs::read_dir(directory.path())
        .expect("a file")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["letter"]);
}
