//! Streams in several files: the content of each and of all, also when the host fails or a kill
//! interrupts a change of volume.

mod common;

use common::{CONTROL, Kinds, Read, Stream, Three, ran};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};
use telemetry::{FilePlinth, Operation, Plinth, PlinthError, control, event};

const OBJECT: (&str, &str) = ("MPS_TELEMETRY_CONTROL", "Object");
const SMALL: (&str, &str) = ("MPS_TELEMETRY_BLOCK_SIZE", "4096");
const WRITER: (&str, &str) = ("MPS_TELEMETRY_WRITER", "thread");
const NAME: &str = "MPS_TELEMETRY_FILENAME";

/// Returns the remaining files of a stream, the oldest first.
fn names(folder: &Path) -> Vec<PathBuf> {
    let name = |number: u32| match number {
        0 => folder.join("mpsio.log"),
        number => folder.join(format!("mpsio.log.{number}")),
    };
    (0..1000).map(name).filter(|path| path.exists()).collect::<Vec<_>>().into_iter().rev().collect()
}

fn read_all(folder: &Path) -> Vec<Stream> {
    names(folder).iter().map(|path| common::read(&std::fs::read(path).unwrap())).collect()
}

/// Checks that each volume states its number, and that all but the last state a successor
/// (`.volume.end`).
fn check_chain(volumes: &[Stream]) {
    for (at, volume) in volumes.iter().enumerate() {
        assert_eq!(volume.volume, volumes[0].volume + at as u64, ".header.volume");
        let is_last = at + 1 == volumes.len();
        let next = if is_last { 0 } else { volume.volume + 1 };
        assert_eq!((volume.ended, volume.next_volume), (true, next), ".volume.end");
        assert_eq!(volume.end_count, Some(volume.block_count as u64), ".part.end");
        assert_eq!(volume.registries, volumes[0].registries, ".volume.header");
    }
}

/// Checks the labels of a volume alone: every label has its string, and the first labels are
/// present (`.volume.store`).
fn check_labels(volume: &Stream, count: usize) {
    let strings: BTreeMap<u64, String> =
        volume.store(0xFF01).iter().map(|event| (event.word(0), event.string(1))).collect();
    let labels: BTreeMap<u64, u64> =
        volume.store(0xFF02).iter().map(|event| (event.word(0), event.word(1))).collect();
    for index in 0..count as u64 {
        let string = &strings[&labels[&(0x1000 + index)]];
        assert_eq!(string, &format!("thread {index}"), "volume {}", volume.volume);
    }
}

/// Returns all events of the volumes, each once.
fn union(volumes: &[Stream]) -> BTreeMap<(u32, u64), Read> {
    let mut all = BTreeMap::new();
    for volume in volumes {
        for (key, event) in &volume.events {
            if let Some(before) = all.insert(*key, event.clone()) {
                assert_eq!(&before, event, ".event.identity");
            }
        }
    }
    all
}

const THREAD_COUNT: usize = 8;
const EVENT_COUNT: usize = 80_000;

fn record_with_labels(event_count: usize) {
    for thread in 0..THREAD_COUNT {
        telemetry::label_address(
            0x1000 + thread,
            telemetry::add_string(format!("thread {thread}")),
        );
    }
    std::thread::scope(|scope| {
        for thread in 0..THREAD_COUNT {
            scope.spawn(move || {
                (0..event_count).for_each(|index| event!(Three, thread, index, index));
            });
        }
    });
}

/// Samples the bytes on disk until told to stop; returns the maximum.
fn sample(done: &AtomicBool) -> u64 {
    let mut most = 0;
    let mut is_last = false;
    while !is_last {
        is_last = done.load(Ordering::Relaxed);
        let entries = std::fs::read_dir(".").unwrap().filter_map(Result::ok);
        let sizes = entries.filter_map(|entry| {
            entry.file_name().to_str()?.starts_with("mpsio.log").then_some(())?;
            let metadata = entry.metadata().ok()?;
            // For an instant a file has two names.
            use std::os::unix::fs::MetadataExt;
            Some((metadata.ino(), metadata.len()))
        });
        most = most.max(sizes.collect::<BTreeMap<_, _>>().values().sum());
        std::thread::sleep(Duration::from_micros(500));
    }
    most
}

/// 8 threads fill 20 volumes of 1 MiB, and 6 are kept. In each, every label resolves; together they
/// hold the newest events without a gap.
fn go_through_volumes(test: &str, environment: &[(&str, &str)]) {
    let name = (NAME, "file:mpsio.log?size=1M&count=6");
    let environment = [&[OBJECT, name][..], environment].concat();
    let Some(ran) = ran(test, &environment, || {
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let sampler = scope.spawn(|| sample(&done));
            record_with_labels(EVENT_COUNT);
            telemetry::flush();
            done.store(true, Ordering::Relaxed);
            let most = sampler.join().unwrap();
            assert!(most <= 6 << 20, "{most} bytes on disk");
            assert!(most > 5 << 20, "{most}: the sampler was too late");
        });
        let losses = telemetry::losses();
        assert_eq!(losses.recorded, (THREAD_COUNT * EVENT_COUNT) as u64, "{losses:?}");
        assert_eq!(losses.io, 0);
    }) else {
        return;
    };
    assert!(ran.said().is_empty(), "{:?}", ran.said());
    let volumes = read_all(ran.folder.path());
    assert_eq!(volumes.len(), 6);
    assert!(volumes[0].volume >= 14, "volume {}", volumes[0].volume);
    check_chain(&volumes);
    for volume in &volumes {
        check_labels(volume, THREAD_COUNT);
        assert!(volume.block_count <= (1 << 20) / volume.block_size, "{}", volume.block_count);
        assert_eq!(volume.holes, 0);
    }
    // The naive twin: a thread records its indexes in order, and the volumes hold the last ones.
    let mut left: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    let mut numbers: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for ((buffer, number), event) in union(&volumes) {
        numbers.entry(buffer).or_default().push(number);
        if event.registry == 1 {
            assert!(left.entry(event.word(0)).or_default().insert(event.word(1)));
        }
    }
    for (thread, indexes) in &left {
        let first = *indexes.first().unwrap();
        let expected: BTreeSet<u64> = (first..EVENT_COUNT as u64).collect();
        assert!(*indexes == expected, "thread {thread} has a gap after {first}");
    }
    for (buffer, numbers) in &numbers {
        assert_eq!(numbers.last().unwrap() - numbers[0] + 1, numbers.len() as u64, "{buffer}");
    }
    let kept: usize = left.values().map(BTreeSet::len).sum();
    assert!(kept > 5 * (1 << 20) / 32 / 10 * 9, "{kept} events");
}

/// `.volume.header`, `.volume.blocks`, `.volume.store`, `.volume.end`
#[test]
fn each_volume_is_a_log_and_all_have_no_gap() {
    go_through_volumes("each_volume_is_a_log_and_all_have_no_gap", &[]);
}

/// The writer thread writes the volumes.
#[test]
fn the_writer_thread_writes_volumes_that_are_logs() {
    go_through_volumes("the_writer_thread_writes_volumes_that_are_logs", &[WRITER]);
}

/// The volumes hold little more than the registries.
#[test]
fn a_volume_of_a_few_small_blocks_is_a_log() {
    let test = "a_volume_of_a_few_small_blocks_is_a_log";
    let name = (NAME, "file:mpsio.log?size=32K&count=1000");
    let Some(ran) = ran(test, &[OBJECT, SMALL, name], || {
        record_with_labels(1000);
        // Flushes right after a change of volume, and once more.
        let mut next = names(Path::new(".")).len();
        let mut index = 1000usize;
        while next < 150 {
            event!(Three, 0usize, index, index);
            index += 1;
            if Path::new(&format!("mpsio.log.{next}")).exists() {
                telemetry::flush();
                telemetry::flush();
                next = names(Path::new(".")).len();
            }
        }
        std::fs::write("count", index.to_string()).unwrap();
        assert_eq!(telemetry::losses().io, 0);
    }) else {
        return;
    };
    let count: u64 = String::from_utf8(ran.file("count")).unwrap().parse().unwrap();
    let volumes = read_all(ran.folder.path());
    assert_eq!(volumes[0].volume, 0);
    check_chain(&volumes);
    for volume in &volumes {
        check_labels(volume, THREAD_COUNT);
        assert!(volume.block_count <= 8, "{} blocks", volume.block_count);
    }
    let all = union(&volumes);
    let mut of_main: Vec<u64> = all
        .values()
        .filter(|event| event.registry == 1 && event.word(0) == 0)
        .map(|event| event.word(1))
        .collect();
    of_main.sort_unstable();
    assert_eq!(of_main, (0..count).collect::<Vec<_>>());
}

/// A program that runs for years changes its volume any number of times.
#[test]
#[cfg(target_os = "linux")]
fn a_change_of_volume_takes_no_memory() {
    let test = "a_change_of_volume_takes_no_memory";
    let resident_pages = || {
        let sizes = std::fs::read_to_string("/proc/self/statm").unwrap();
        sizes.split(' ').nth(1).unwrap().parse::<u64>().unwrap()
    };
    let name = (NAME, "file:mpsio.log?size=64K&count=2");
    let Some(ran) = ran(test, &[OBJECT, SMALL, name], || {
        let record = || (0..200_000usize).for_each(|index| event!(Three, 0usize, index, index));
        record();
        let before = resident_pages();
        record();
        // These 200,000 events fill a hundred volumes.
        let more = resident_pages().saturating_sub(before);
        assert!(more < 50, "{more} pages more");
    }) else {
        return;
    };
    assert!(read_all(ran.folder.path())[0].volume > 150);
}

/// The log of an earlier program counts as a volume: it is renamed with the others.
#[test]
fn the_runtime_renames_the_files_of_an_earlier_run() {
    let test = "the_runtime_renames_the_files_of_an_earlier_run";
    let name = (NAME, "file:mpsio.log?size=32K&count=4");
    let Some(ran) = ran(test, &[OBJECT, SMALL, name], || {
        std::fs::write("mpsio.log", "newest").unwrap();
        std::fs::write("mpsio.log.1", "before").unwrap();
        std::fs::write("mpsio.log.new", "half done").unwrap();
        event!(Three, 0usize, 0usize, 0usize);
    }) else {
        return;
    };
    assert_eq!(ran.file("mpsio.log.1"), b"newest");
    assert_eq!(ran.file("mpsio.log.2"), b"before");
    assert_eq!(ran.stream().of(1).len(), 1);
    assert_eq!(ran.file("mpsio.log.new"), b"half done", "the runtime touched another file");
}

/// A second process with the same name leaves all volumes of the first alone, also while they are
/// renamed.
#[test]
fn a_process_leaves_the_volumes_of_another_alone() {
    let test = "a_process_leaves_the_volumes_of_another_alone";
    const SECOND: &str = "TELEMETRY_TEST_SECOND";
    let environment = [OBJECT, SMALL, (NAME, "file:mpsio.log?size=32K&count=1000")];
    let Some(ran) = ran(test, &environment, || {
        event!(Three, 0usize, 0usize, 0usize);
        if std::env::var_os(SECOND).is_some() {
            (1..10_000usize).for_each(|index| event!(Three, 9usize, index, index));
            return;
        }
        let command = || common::command(test, &[&environment[..], &[(SECOND, "1")]].concat());
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for index in 1usize.. {
                    event!(Three, 1usize, index, index);
                    if index % 64 == 0 {
                        std::thread::sleep(Duration::from_micros(500));
                    }
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
            for _ in 0..10 {
                let output = command().output().unwrap();
                let said = String::from_utf8(output.stderr).unwrap();
                assert!(output.status.success(), "{said}");
                assert!(said.contains("mpsio.log is in use by another process"), "{said}");
            }
            done.store(true, Ordering::Relaxed);
        });
        assert_eq!(telemetry::losses().io, 0);
    }) else {
        return;
    };
    let volumes = read_all(ran.folder.path());
    check_chain(&volumes);
    assert!(volumes.len() > 3, "{} volumes", volumes.len());
    assert!(union(&volumes).values().all(|event| event.registry != 1 || event.word(0) != 9));
}

#[test]
fn the_runtime_refuses_volumes_without_room() {
    let test = "the_runtime_refuses_volumes_without_room";
    let Some(ran) = ran(test, &[OBJECT, (NAME, "file:mpsio.log?size=256K")], || {
        event!(Three, 0usize, 0usize, 0usize);
        assert!(FilePlinth::bounded("x", 1 << 20, 1).is_err());
    }) else {
        return;
    };
    let said = ran.said();
    assert_eq!(said.len(), 1, "{said:?}");
    let expected = "telemetry: cannot create mpsio.log: a volume must have room for at least 8 \
                    blocks in each file, which have 65536 bytes each; nothing is output, the \
                    program goes on";
    assert_eq!(said[0], expected);
    assert!(names(ran.folder.path()).is_empty());
}

/// Records with an obstacle to the renaming of files, and then without it.
fn go_on_after(test: &str, hinder: impl Fn(), help: impl Fn()) -> Option<common::Ran> {
    let name = (NAME, "file:logs/mpsio.log?size=32K&count=3");
    ran(test, &[OBJECT, SMALL, name], || {
        std::fs::create_dir("logs").unwrap();
        let record = |from: usize, to: usize| {
            (from..to).for_each(|index| event!(Three, 0usize, index, index));
        };
        record(0, 500);
        telemetry::label_address(0x1000, telemetry::add_string("thread 0"));
        hinder();
        record(500, 20_000);
        let io = telemetry::losses().io;
        assert!((15_000..20_000).contains(&io), "{io}");
        let before = telemetry::losses();
        assert_eq!(before.recorded, 20_000, "{before:?}");
        help();
        record(20_000, 21_000);
        telemetry::flush();
        let after = telemetry::losses();
        assert!(after.io <= io + 124, "{after:?}: no second attempt");
        std::fs::write("io", after.io.to_string()).unwrap();
    })
}

/// Checks that the remaining files are logs, and that they count what they lack.
fn check_after(ran: &common::Ran) {
    let said = ran.said();
    assert_eq!(said.len(), 1, "{said:?}");
    let io: u64 = String::from_utf8(ran.file("io")).unwrap().parse().unwrap();
    let volumes = read_all(&ran.folder.path().join("logs"));
    check_chain(&volumes);
    let last = volumes.last().unwrap();
    check_labels(last, 1);
    assert_eq!(u64::from(last.told_of(5).io), io, "totals of the stream");
    let of_three = |stream: &Stream| stream.words(1, 1);
    let indexes: BTreeSet<u64> = volumes.iter().flat_map(of_three).collect();
    assert!((20_124..21_000).all(|index| indexes.contains(&index)), "the newest events");
}

#[test]
fn a_failed_rename_is_reported_counted_and_tried_again() {
    let test = "a_failed_rename_is_reported_counted_and_tried_again";
    let hinder = || {
        // Even the superuser cannot rename these.
        for number in 1..3 {
            let _ = std::fs::remove_file(format!("logs/mpsio.log.{number}"));
            std::fs::create_dir_all(format!("logs/mpsio.log.{number}/full")).unwrap();
        }
    };
    let help =
        || (1..3).for_each(|at| std::fs::remove_dir_all(format!("logs/mpsio.log.{at}")).unwrap());
    let Some(ran) = go_on_after(test, hinder, help) else { return };
    assert!(ran.said()[0].contains("logs/mpsio.log: Is a directory"), "{:?}", ran.said());
    check_after(&ran);
}

#[test]
fn a_removed_folder_is_reported_once_and_found_again() {
    let test = "a_removed_folder_is_reported_once_and_found_again";
    let remove = || std::fs::remove_dir_all("logs").unwrap();
    let Some(ran) = go_on_after(test, remove, || std::fs::create_dir("logs").unwrap()) else {
        return;
    };
    assert!(
        ran.said()[0].contains("logs/mpsio.log: No such file or directory"),
        "{:?}",
        ran.said()
    );
    check_after(&ran);
}

/// `EMFILE`: the next volume needs a descriptor of its own.
#[test]
#[expect(unsafe_code, reason = "a limit")]
fn a_failed_open_is_reported_counted_and_tried_again() {
    let test = "a_failed_open_is_reported_counted_and_tried_again";
    let limit = |count: u64| {
        let limit = libc::rlimit { rlim_cur: count, rlim_max: 1024 };
        // SAFETY: reads the structure.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }, 0);
    };
    let Some(ran) = go_on_after(test, || limit(3), || limit(1024)) else { return };
    assert!(ran.said()[0].contains("logs/mpsio.log: Too many open files"), "{:?}", ran.said());
    check_after(&ran);
}

/// A program that is killed at a random moment while volumes change leaves logs, closed or not.
#[test]
fn a_program_killed_during_changes_of_volume_leaves_logs() {
    let test = "a_program_killed_during_changes_of_volume_leaves_logs";
    if std::env::var_os(common::PROCESS_VARIABLE).is_some() {
        println!("begun");
        record_with_labels(usize::MAX);
    }
    let name = (NAME, "file:mpsio.log?size=32K&count=4");
    let mut file_count = 0;
    let folder = tempfile::tempdir().unwrap();
    for round in 0..100u64 {
        // The runtime keeps a log that a killed program may have written before it executed this
        // one. An older log is overwritten.
        if let Ok(log) = std::fs::File::options().write(true).open(folder.path().join("mpsio.log"))
        {
            log.set_modified(SystemTime::now() - Duration::from_secs(1)).unwrap();
        }
        let writer = if round % 2 == 0 { ("TELEMETRY_TEST", "") } else { WRITER };
        let mut command = common::command(test, &[OBJECT, SMALL, name, writer]);
        command.stdout(std::process::Stdio::null()).current_dir(folder.path());
        let mut child = command.spawn().unwrap();
        while names(folder.path()).len() < 4 {
            std::thread::sleep(Duration::from_micros(200));
        }
        std::thread::sleep(Duration::from_micros(round * 7919 % 9000));
        child.kill().unwrap();
        child.wait().unwrap();
        for path in names(folder.path()) {
            let bytes = std::fs::read(&path).unwrap();
            // The volume that the killed process was writing may have holes, and no end.
            let volume = common::read(&bytes);
            assert!(volume.registries.len() >= 2, "{}: round {round}", path.display());
            let is_empty = volume.of(1).is_empty();
            if !is_empty {
                check_labels(&volume, THREAD_COUNT);
            }
            file_count += 1;
        }
        for entry in std::fs::read_dir(folder.path()).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            let is_volume = matches!(&*name, "mpsio.log" | "mpsio.log.1" | "mpsio.log.2")
                || name == "mpsio.log.3";
            // For an instant a new volume with a header has such a name.
            assert!(is_volume || name.starts_with(".telemetry-"), "{name}: round {round}");
            common::read(&std::fs::read(entry.path()).unwrap());
        }
    }
    assert!(file_count >= 300, "{file_count} files");
}

/// A host with a broken connection: it refuses every block, and asks for another volume.
#[derive(Clone, Default)]
struct Broken {
    volumes: Arc<Mutex<Vec<Vec<u8>>>>,
    is_broken: Arc<AtomicBool>,
    refused: Arc<AtomicU64>,
    rewrites: bool,
}

impl Plinth for Broken {
    fn create(&self, _: usize) -> Result<(), PlinthError> {
        self.is_broken.store(false, Ordering::Relaxed);
        self.volumes.lock().unwrap().push(Vec::new());
        Ok(())
    }

    fn write_block(&self, offset: u64, bytes: &[u8]) -> Result<(), PlinthError> {
        if self.is_broken.load(Ordering::Relaxed) {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Err(PlinthError { operation: Operation::Write, errno: libc::EPIPE });
        }
        let mut volumes = self.volumes.lock().unwrap();
        let volume = volumes.last_mut().unwrap();
        let from = if self.rewrites { offset as usize } else { volume.len() };
        if volume.len() < from + bytes.len() {
            volume.resize(from + bytes.len(), 0);
        }
        volume[from..from + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn can_rewrite(&self) -> bool {
        self.rewrites
    }

    fn wants_volume(&self, _: u64) -> bool {
        self.is_broken.load(Ordering::Relaxed)
    }
}

fn go_through_breaks(rewrites: bool) {
    let plinth = Broken { rewrites, ..Broken::default() };
    telemetry::setup().block_size_log2(12).plinth(plinth.clone()).start().unwrap();
    control::set_output_everywhere(Kinds::Object);
    telemetry::label_address(0x1000, telemetry::add_string("thread 0"));
    let mut index = 0usize;
    for round in 0..50usize {
        for _ in 0..round * 17 {
            event!(Three, 0usize, index, index);
            index += 1;
        }
        if round % 3 == 0 {
            telemetry::flush();
        }
        plinth.is_broken.store(true, Ordering::Relaxed);
        event!(Three, 0usize, index, index);
        index += 1;
        if round % 2 == 0 {
            telemetry::flush();
        }
    }
    telemetry::flush();
    let losses = telemetry::losses_of(&CONTROL, Kinds::Object);
    assert_eq!((losses.recorded, losses.io), (index as u64, 0), "a block is lost: {losses:?}");
    let volumes: Vec<Stream> =
        plinth.volumes.lock().unwrap().iter().map(|volume| common::read(volume)).collect();
    assert!(volumes.len() > 40, "{} volumes", volumes.len());
    for (at, volume) in volumes.iter().enumerate() {
        assert_eq!(volume.volume, at as u64);
        if !volume.of(1).is_empty() {
            check_labels(volume, 1);
        }
    }
    let all = union(&volumes);
    let indexes: Vec<u64> =
        all.values().filter(|event| event.registry == 1).map(|event| event.word(1)).collect();
    assert_eq!(indexes, (0..index as u64).collect::<Vec<_>>(), "every event once");
    assert!(plinth.refused.load(Ordering::Relaxed) > 0);
}

/// `.write.fail`, `.stream.grow`: the next volume has the parts that the last one refused.
#[test]
fn the_next_volume_has_what_a_broken_connection_refused() {
    let test = "the_next_volume_has_what_a_broken_connection_refused";
    ran(test, &[], || go_through_breaks(false));
}

#[test]
fn the_next_volume_has_what_a_lost_file_refused() {
    let test = "the_next_volume_has_what_a_lost_file_refused";
    ran(test, &[], || go_through_breaks(true));
}

/// The store exceeds half of a volume: each volume has its newest part, one message reports that,
/// and the bound holds.
#[test]
fn a_volume_holds_the_newest_part_of_a_large_store() {
    let test = "a_volume_holds_the_newest_part_of_a_large_store";
    let name = (NAME, "file:mpsio.log?size=64K&count=1000");
    let Some(ran) = ran(test, &[OBJECT, SMALL, name], || {
        for index in 0..4000usize {
            telemetry::label_address(index, telemetry::add_string(format!("a string, {index}")));
            event!(Three, 0usize, index, index);
        }
    }) else {
        return;
    };
    let said = ran.said();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("too much for volumes of this size"), "{said:?}");
    let volumes = read_all(ran.folder.path());
    check_chain(&volumes);
    assert!(volumes.iter().all(|volume| volume.block_count <= 16));
    let all = union(&volumes);
    let of = |registry, code| {
        all.values().filter(|event| (event.registry, event.code) == (registry, code)).count()
    };
    assert_eq!((of(1, 1), of(0, 0xFF01), of(0, 0xFF02)), (4000, 4000, 4000));
}
