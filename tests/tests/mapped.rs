//! The mapped ring, as it is found: after a death at any moment, while it is written, where another
//! one was before.
//!
//! ```text
//!  recorder ── ring:PATH?size=… ──▶ PATH ◀── kill -9 ──▶ reader, eventcnv: no fault
//! ```
//!
//! Rules: `.sol.mapped` in `design/telemetry.md`; `.ring` in `design/format.md`.

use eventlog::reader::{Filter, Log, Order};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;
use tests::programs::{eventcnv, lines, root, system, wait_for};

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

/// Runs a recorder to its end; what it said on standard error.
fn record(words: &[&str], kinds: &str, path: &Path, size: u64) -> String {
    let output = recorder(words, kinds, path, size).output().expect("it can be run");
    assert!(output.status.success());
    String::from_utf8(output.stderr).expect("text")
}

/// What a log holds of the registry `work`.
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

/// Reads a log, in which there must be no fault.
fn read(path: &Path) -> Held {
    let log = Log::open(path).expect("a log");
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

/// `.ring.size`, `.ring.newest`: the bytes as section 8 says.
#[test]
fn the_file_has_its_size_and_the_newest_block_of_a_buffer_is_open() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("ring");
    // Each thread has gone round all blocks alone.
    kill_after(300_000 / 32, Duration::ZERO, &path, 300_000, 3);
    let bytes = fs::read(&path).expect("it is there");
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
    assert!(zeros > 0, "blocks for the store that were not used come before the others");
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

/// Starts a program that records for ever, and kills it so long after each of its threads has
/// recorded so many events; how far each was for certain.
fn kill_after(count: u64, time: Duration, path: &Path, size: u64, threads: u64) -> Vec<u64> {
    let progress = PathBuf::from(format!("{}.progress", path.display()));
    fs::write(&progress, vec![0; threads as usize * 8]).expect("it can be written");
    let words = ["forever", &threads.to_string(), progress.to_str().expect("text")];
    let mut child = Killed(recorder(&words, "all", path, size).spawn().expect("it can be run"));
    wait_for("events", || told(&progress).iter().all(|told| *told >= count));
    thread::sleep(time);
    child.0.kill().expect("it can be killed");
    child.0.wait().expect("it ends");
    told(&progress)
}

/// How far each thread of a program is for certain.
fn told(progress: &Path) -> Vec<u64> {
    let bytes = fs::read(progress).expect("it is there");
    bytes.chunks(8).map(|word| u64::from_le_bytes(word.try_into().expect("a word"))).collect()
}

/// A random number from a seed, which is the next one's.
fn random(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

/// Checks what a killed program left; whether it had gone round its blocks.
fn check_killed(path: &Path, progress: &[u64], data_count: u64) -> bool {
    if !path.exists() {
        assert!(progress.iter().all(|count| *count == 0), "there was an event: {progress:?}");
        return false;
    }
    let held = read(path);
    let thread_count = progress.len() as u64;
    for kind in 0..3u8 {
        let mut expected = 0;
        let mut found = 0;
        for (thread, told) in (0..).zip(progress) {
            // The indexes of a kind are every third one.
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
            // Else it had just begun a block, and waited while others went round.
        }
        let recorded = held.by_kind.get(&kind).copied().unwrap_or(0);
        assert!(recorded >= expected, "{recorded} of {expected}");
        // A share of the blocks, but for those that are being filled and one that begins anew.
        let blocks = data_count / 3 - 2 * thread_count;
        assert!(found >= expected.min(blocks * PER_BLOCK), "{found} of {expected}: {blocks}");
    }
    held.overwritten > 0
}

/// `.ring.death`, `.write.begin`, `.write.seal`: what was published and not overwritten is there.
#[test]
fn a_program_that_is_killed_at_any_moment_leaves_all_that_it_published() {
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
                    // Some of them after they have gone round, on however slow a machine.
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
fn a_busy_kind_does_not_push_out_a_quiet_one() {
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
fn what_was_overwritten_and_what_is_in_the_file_is_what_was_recorded() {
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

/// `.ring.history`: from its next block on it is recorded in the file.
#[test]
fn output_switched_on_later_brings_out_what_the_ring_holds() {
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

/// `.ring.full`: they are counted, and the program is told once.
#[test]
fn threads_beyond_the_blocks_are_counted_and_said_once() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("ring");
    let progress = directory.path().join("progress");
    fs::write(&progress, [0; 8 * 64]).expect("it can be written");
    let words = ["forever", "64", progress.to_str().expect("text")];
    let mut command = recorder(&words, "all", &path, 64 << 10);
    let mut child = Killed(command.stderr(Stdio::piped()).spawn().expect("it can be run"));
    let mut said = String::new();
    let mut stderr = BufReader::new(child.0.stderr.take().expect("it is piped"));
    stderr.read_line(&mut said).expect("text");
    // The others have their turn.
    thread::sleep(Duration::from_millis(300));
    child.0.kill().expect("it can be killed");
    stderr.read_to_string(&mut said).expect("text");
    assert_eq!(said.matches("more threads record a kind").count(), 1, "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    read(&path);
}

/// `.ring.store`: labels are not overwritten; those for which there is no room are counted.
#[test]
fn labels_beyond_their_share_are_counted_and_the_first_ones_stay() {
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

/// `.ring.read`: the dumper reads it at any time.
#[test]
fn a_ring_that_is_being_written_is_read_without_fault() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("ring");
    let progress = directory.path().join("progress");
    fs::write(&progress, [0; 16]).expect("it can be written");
    let words = ["forever", "2", progress.to_str().expect("text")];
    let _child = Killed(recorder(&words, "all", &path, 1 << 20).spawn().expect("it can be run"));
    wait_for("a ring", || path.exists());
    for _ in 0..20 {
        lines(eventcnv().arg(&path));
        lines(eventcnv().arg("--stats").arg(&path));
    }
}

/// `.sol.mapped`: two programs that are given the same file.
#[test]
fn a_second_program_has_a_ring_of_its_own_and_says_so() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("ring");
    let progress = directory.path().join("progress");
    fs::write(&progress, [0; 8]).expect("it can be written");
    let words = ["forever", "1", progress.to_str().expect("text")];
    let mut first = recorder(&words, "all", &path, 256 << 10);
    let first = Killed(first.spawn().expect("it can be run"));
    wait_for("an event in a ring", || told(&progress)[0] > 0 && path.exists());
    let second = recorder(&["kinds"], "all", &path, 256 << 10)
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("it can be run");
    let pid = second.id();
    let output = second.wait_with_output().expect("it ends");
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(said.contains("in use by another process") && said.lines().count() == 1, "{said}");
    let own = directory.path().join(format!("ring-{pid}"));
    assert_eq!(read(&own).found, 1);
    drop(first);
    assert!(read(&path).found > 0);
}

/// `.sol.mapped`: what was written before stays readable.
#[test]
fn a_log_of_another_size_or_version_is_kept_under_another_name() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("ring");
    let before = directory.path().join("ring.1");
    record(&["threads", "1", "30"], "all", &path, 256 << 10);
    assert!(!before.exists());
    record(&["threads", "1", "60"], "all", &path, 512 << 10);
    assert_eq!((read(&before).found, read(&path).found), (30, 60));
    // The version of a later release.
    let mut bytes = fs::read(&path).expect("it is there");
    bytes[8] = 9;
    fs::write(&path, &bytes).expect("it can be written");
    record(&["threads", "1", "90"], "all", &path, 256 << 10);
    assert_eq!(fs::read(&before).expect("it is there"), bytes);
    assert_eq!(read(&path).found, 90);
}

/// `.sol.mapped`: one line each, and what is there stays.
#[test]
fn a_ring_that_cannot_be_is_refused_in_one_line() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let other = directory.path().join("letter");
    fs::write(&other, "dear reader, this is no log").expect("it can be written");
    let gone = directory.path().join("gone/ring");
    let ring = directory.path().join("ring");
    for (path, size, expected) in [
        (other.as_path(), 256 << 10, "is not a log; it is left alone"),
        (gone.as_path(), 256 << 10, "No such file or directory"),
        (ring.as_path(), 8 << 10, "too small"),
        (ring.as_path(), 1 << 60, "cannot create"),
        (Path::new("/proc/ring"), 256 << 10, "cannot create"),
        (directory.path(), 256 << 10, "is not a log"),
    ] {
        let said = record(&["threads", "2", "1000"], "all", path, size);
        assert!(said.contains(expected) && said.lines().count() == 1, "{path:?}: {said}");
    }
    assert_eq!(fs::read(&other).expect("it is there"), b"dear reader, this is no log");
    let mut left: Vec<_> = fs::read_dir(directory.path())
        .expect("it is there")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["letter"]);
}
