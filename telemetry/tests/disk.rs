//! Full, broken, read-only and removed disks: one message on standard error, counted losses, and
//! everything written before stays readable.
//!
//! A full or read-only disk is a small tmpfs in the test's own mount namespace (`unshare -rm`).
//! Without namespaces, a limit on file sizes or a failing plinth takes its place.

mod common;

use common::{CONTROL, Kinds, PROCESS_VARIABLE, Pooled, Ran, Three, ThreeSeg, ran};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use telemetry::{FilePlinth, Operation, Plinth, PlinthError, control, event};

const OBJECT: (&str, &str) = ("MPS_TELEMETRY_CONTROL", "Object");
const SMALL: (&str, &str) = ("MPS_TELEMETRY_BLOCK_SIZE", "4096");
const NAME: &str = "MPS_TELEMETRY_FILENAME";

fn record(from: usize, to: usize) {
    (from..to).for_each(|index| event!(Three, 0usize, index, index));
}

fn has_namespaces() -> bool {
    let mount = "mount -t tmpfs none /tmp";
    let output = Command::new("unshare").args(["-rm", "sh", "-c", mount]).output();
    output.is_ok_and(|output| output.status.success())
}

/// Runs `what` in a separate process, in whose folder `disk` is a file system with these options.
/// Its content is copied to `kept` at the end. Without namespaces the shell runs `otherwise` first.
fn ran_on_disk(
    test: &str,
    environment: &[(&str, &str)],
    options: &str,
    otherwise: &str,
    what: impl FnOnce(),
) -> Option<Ran> {
    if std::env::var_os(PROCESS_VARIABLE).is_some() {
        what();
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("disk")).unwrap();
    let inner = common::command(test, environment);
    let after = "\"$@\"; status=$?; cp -r disk kept; exit $status";
    let mut command = if has_namespaces() {
        let mut command = Command::new("unshare");
        let script = format!("mount -t tmpfs -o {options} none disk && {{ {after}; }}");
        command.args(["-rm", "sh", "-c", &script, "sh"]);
        command
    } else {
        println!("no namespaces: {otherwise}");
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{otherwise}; {after}"), "sh"]);
        command
    };
    command.arg(inner.get_program()).args(inner.get_args());
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let output = command.current_dir(folder.path()).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}\n{stdout}\n{stderr}", output.status);
    assert!(stdout.contains("1 passed"), "there is no test {test}");
    Some(Ran { folder, stderr })
}

/// Returns the streams that are left, in the order of their volumes.
fn volumes(folder: &Path) -> Vec<common::Stream> {
    let mut streams: Vec<common::Stream> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| std::fs::read(entry.unwrap().path()).unwrap())
        .filter(|bytes| !bytes.is_empty())
        .map(|bytes| common::read(&whole(bytes)))
        .collect();
    streams.sort_by_key(|stream| stream.volume);
    streams
}

/// Clears the last block if the full disk cut it.
fn whole(mut bytes: Vec<u8>) -> Vec<u8> {
    let size = bytes.len();
    bytes.resize(size.next_multiple_of(4096), 0);
    for (number, block) in bytes.chunks_mut(4096).enumerate() {
        if number * 4096 + 4096 > size && block[4] == 1 {
            block.fill(0);
        }
    }
    bytes
}

/// `ENOSPC`, `.write.fail`
#[test]
fn a_full_disk_keeps_written_events_and_counts_the_rest() {
    let test = "a_full_disk_keeps_written_events_and_counts_the_rest";
    let name = (NAME, "disk/mpsio.log");
    let environment = [OBJECT, SMALL, name];
    // In units of 512 bytes.
    let Some(ran) = ran_on_disk(test, &environment, "size=256k", "ulimit -f 512", || {
        record(0, 20_000);
        telemetry::flush();
        let losses = telemetry::losses();
        assert_eq!((losses.requested, losses.recorded), (20_000, 20_000), "{losses:?}");
        assert!((10_000..14_000).contains(&losses.io), "{losses:?}");
        std::fs::write("io", losses.io.to_string()).unwrap();
    }) else {
        return;
    };
    let said = ran.said();
    assert_eq!(said.len(), 1, "{said:?}");
    let why = if has_namespaces() { "No space left on device" } else { "File too large" };
    assert!(said[0].contains(&format!("cannot write to disk/mpsio.log: {why}")), "{said:?}");
    let io: u64 = String::from_utf8(ran.file("io")).unwrap().parse().unwrap();
    let streams = volumes(&ran.folder.path().join("kept"));
    let written = streams[0].words(1, 1);
    let in_order = written.windows(2).all(|pair| pair[0] < pair[1]);
    assert!(in_order && written.len() as u64 + io == 20_000, "{} + {io}", written.len());
    assert_eq!(written[..5000], (0..5000).collect::<Vec<_>>());
}

/// Threads record events of several kinds, in blocks of the usual and of the least size. The disk
/// stays full, gets room again, or file sizes are limited. After the program's end, each event of
/// each kind is in the log or counted. The least header block lacks room for the accounts of ten
/// buffers.
#[test]
fn the_log_counts_every_event_that_a_full_disk_refuses() {
    let test = "the_log_counts_every_event_that_a_full_disk_refuses";
    let whats = ["full", "recovers", "limit"];
    for (what, block_size) in whats.into_iter().flat_map(|what| [(what, 1 << 16), (what, 1 << 12)])
    {
        let (size, name) = (block_size.to_string(), (NAME, "disk/mpsio.log"));
        let size = ("MPS_TELEMETRY_BLOCK_SIZE", size.as_str());
        let output = ("MPS_TELEMETRY_CONTROL", "all");
        let environment = [output, size, name, ("TELEMETRY_TEST_DISK", what)];
        let size = if what == "limit" { "size=64m" } else { "size=2m" };
        // In units of 512 bytes.
        let otherwise = "ulimit -f 4096";
        let Some(ran) = ran_on_disk(test, &environment, size, otherwise, fill_disk) else { return };
        let losses = String::from_utf8(ran.file("losses")).unwrap();
        let log = std::fs::read(ran.folder.path().join("kept/mpsio.log")).unwrap();
        let stream = common::read_as_it_is(&common::sound(log, block_size));
        assert!(stream.ended, "{what}");
        for (kind, line) in [5, 3, 1].into_iter().zip(losses.lines()) {
            let [recorded, io] = [0, 1].map(|at| line.split(' ').nth(at).unwrap().parse().unwrap());
            let of_kind = |event: &&common::Read| (event.registry, event.kind) == (1, kind);
            let in_log = stream.events.values().filter(of_kind).count() as u64;
            assert_eq!(in_log + io, recorded, "{what}, {block_size}, kind {kind}");
            assert!(io > 0, "{what}, {block_size}, kind {kind}: the disk was never full");
            let told = u64::from(stream.told_of(kind).io);
            assert_eq!(told, io, "{what}, {block_size}, kind {kind}");
        }
    }
}

#[expect(unsafe_code, reason = "a limit, and a function at exit")]
fn fill_disk() {
    extern "C" fn at_exit() {
        let losses = [Kinds::Object, Kinds::Seg, Kinds::Pool].map(|kind| {
            let losses = telemetry::losses_of(&CONTROL, kind);
            format!("{} {}\n", losses.recorded, losses.io)
        });
        std::fs::write("losses", losses.concat()).unwrap();
    }
    // SAFETY: the function is static.
    assert_eq!(unsafe { libc::atexit(at_exit) }, 0);
    let what = std::env::var("TELEMETRY_TEST_DISK").unwrap();
    record(0, 10);
    telemetry::flush();
    if what == "limit" {
        // The limit is lower than when the stream began: the system reports it in the middle of a
        // write.
        let limit = libc::rlimit { rlim_cur: 2_000_001, rlim_max: 2_000_001 };
        // SAFETY: reads the structure; the signal has no handler function.
        unsafe {
            libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
            assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &limit), 0);
        }
    }
    let ballast = "disk/ballast";
    if what == "recovers" {
        std::fs::write(ballast, vec![0; 1 << 20]).unwrap();
    }
    std::thread::scope(|scope| {
        for thread in 0..3usize {
            scope.spawn(move || {
                for index in 0..20_000usize {
                    event!(Three, thread, index, index + 1);
                    event!(ThreeSeg, thread, index, index + 1);
                    event!(Pooled, index + 1);
                    if index % 3000 == 7 {
                        telemetry::flush();
                    }
                }
            });
        }
    });
    telemetry::flush();
    if what == "recovers" {
        std::fs::remove_file(ballast).unwrap();
        record(0, 5000);
    }
}

/// `.sol.volume`: on a disk that is smaller than the bound, the newest events are kept, even while
/// another process fills the disk.
#[test]
fn the_newest_volume_replaces_the_oldest_on_a_full_disk() {
    let test = "the_newest_volume_replaces_the_oldest_on_a_full_disk";
    // In the second case one volume exceeds the disk: the block whose write fails is lost.
    for (bound, is_cramped) in [("size=64K&count=1000", false), ("size=1M&count=8", true)] {
        let path = format!("file:disk/mpsio.log?{bound}");
        let environment = [OBJECT, SMALL, (NAME, path.as_str())];
        let Some(ran) = ran_on_disk(test, &environment, "size=256k", "true", || {
            record(0, 20_000);
            if is_own_disk() {
                let _ = std::fs::write("disk/of-another", vec![1; 100 << 10]);
            }
            record(20_000, 40_000);
            telemetry::flush();
            assert_eq!(telemetry::losses().recorded, 40_000);
            std::fs::write("io", telemetry::losses().io.to_string()).unwrap();
        }) else {
            return;
        };
        if !has_namespaces() {
            return;
        }
        assert_eq!(ran.said().len(), usize::from(is_cramped), "{:?}", ran.said());
        let io: usize = String::from_utf8(ran.file("io")).unwrap().parse().unwrap();
        assert!(if is_cramped { io < 40_000 / 20 } else { io == 0 }, "{bound}: {io}");
        let kept = ran.folder.path().join("kept");
        let _ = std::fs::remove_file(kept.join("of-another"));
        let names = std::fs::read_dir(&kept).unwrap().map(|entry| entry.unwrap().file_name());
        let has_new = |name: std::ffi::OsString| name.to_str().unwrap().ends_with(".new");
        assert!(!names.into_iter().any(has_new));
        let streams = volumes(&kept);
        let last = streams.last().unwrap();
        assert!(last.ended && last.next_volume == 0, "{bound}");
        let newest: BTreeSet<u64> = streams.iter().flat_map(|stream| stream.words(1, 1)).collect();
        // Each event takes 32 bytes: the newest fill at least a fifth of the disk.
        let (first, last) = (*newest.first().unwrap(), *newest.last().unwrap());
        assert!(first < 40_000 - 1_600 && last == 39_999, "{bound}: {first} to {last}");
        let missing = (40_000 - first) as usize - newest.len();
        assert!(missing <= io, "{bound}: {missing} are missing, {io} are counted");
    }
}

fn is_own_disk() -> bool {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    mounts.lines().any(|line| line.contains("/disk tmpfs"))
}

/// The disk has room for the bound: only events in replaced volumes are gone.
#[test]
fn volumes_within_their_bound_never_fill_the_disk() {
    let test = "volumes_within_their_bound_never_fill_the_disk";
    let name = (NAME, "file:disk/mpsio.log?size=64K&count=4");
    let Some(ran) = ran_on_disk(test, &[OBJECT, SMALL, name], "size=256k", "true", || {
        record(0, 100_000);
        assert_eq!(telemetry::losses().io, 0);
    }) else {
        return;
    };
    assert!(ran.said().is_empty(), "{:?}", ran.said());
    assert_eq!(volumes(&ran.folder.path().join("kept")).len(), 4);
}

/// A host that refuses every call with one error: `create` always, writes from a given moment on.
struct Refusing {
    file: FilePlinth,
    errno: i32,
    creates: bool,
}

static REFUSES: AtomicBool = AtomicBool::new(false);

impl Plinth for Refusing {
    fn create(&self, block_size: usize) -> Result<(), PlinthError> {
        if !self.creates {
            return Err(PlinthError { operation: Operation::Create, errno: self.errno });
        }
        self.file.create(block_size)
    }

    fn write_block(&self, offset: u64, bytes: &[u8]) -> Result<(), PlinthError> {
        if REFUSES.load(Ordering::Relaxed) {
            return Err(PlinthError { operation: Operation::Write, errno: self.errno });
        }
        self.file.write_block(offset, bytes)
    }

    fn can_rewrite(&self) -> bool {
        self.file.can_rewrite()
    }
}

fn refusing(errno: i32, creates: bool) -> Refusing {
    Refusing { file: FilePlinth::new("mpsio.log").unwrap(), errno, creates }
}

/// `EIO`
#[test]
fn a_broken_disk_keeps_the_events_written_before() {
    let test = "a_broken_disk_keeps_the_events_written_before";
    let Some(ran) = ran(test, &[SMALL], || {
        telemetry::setup().plinth(refusing(libc::EIO, true)).start().unwrap();
        control::set_output_everywhere(Kinds::Object);
        record(0, 1000);
        telemetry::flush();
        REFUSES.store(true, Ordering::Relaxed);
        record(1000, 11_000);
        telemetry::flush();
        let losses = telemetry::losses_of(&CONTROL, Kinds::Object);
        assert_eq!((losses.requested, losses.recorded), (11_000, 11_000));
        assert_eq!(losses.io, 10_000, "{losses:?}");
    }) else {
        return;
    };
    let said = ran.said();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("cannot write to the log: Input/output error"), "{said:?}");
    assert_eq!(ran.stream().words(1, 1), (0..1000).collect::<Vec<_>>());
}

/// `EMFILE` when the stream begins.
#[test]
#[expect(unsafe_code, reason = "a limit")]
fn a_process_without_file_descriptors_counts_all_events() {
    let test = "a_process_without_file_descriptors_counts_all_events";
    let Some(ran) = ran(test, &[OBJECT, SMALL], || {
        let limit = libc::rlimit { rlim_cur: 3, rlim_max: 3 };
        // SAFETY: reads the structure.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }, 0);
        record(0, 1000);
        let losses = telemetry::losses();
        assert_eq!((losses.recorded, losses.io), (1000, 8 * 124));
    }) else {
        return;
    };
    let said = ran.said();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("cannot create mpsio.log: Too many open files"), "{said:?}");
}

/// `EROFS`
#[test]
fn a_read_only_disk_is_reported_and_all_events_are_counted() {
    let test = "a_read_only_disk_is_reported_and_all_events_are_counted";
    for name in ["disk/mpsio.log", "file:disk/mpsio.log?size=64K"] {
        let environment = [OBJECT, SMALL, (NAME, name)];
        let Some(ran) = ran_on_disk(test, &environment, "ro", "true", || {
            if !is_own_disk() {
                telemetry::setup().plinth(refusing(libc::EROFS, false)).start().unwrap();
            }
            record(0, 1000);
            let losses = telemetry::losses();
            assert_eq!((losses.recorded, losses.io), (1000, 8 * 124));
        }) else {
            return;
        };
        let said = ran.said();
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains("Read-only file system; nothing is output"), "{said:?}");
    }
}

/// The runtime gives a removed log a new file, which can be read alone.
#[test]
fn a_removed_log_continues_in_a_new_file() {
    let test = "a_removed_log_continues_in_a_new_file";
    let Some(ran) = ran(test, &[OBJECT, SMALL], || {
        telemetry::label_address(7, telemetry::add_string("seven"));
        let source = telemetry::Source { line: 5, file: "a.rs", ..Default::default() };
        telemetry::source(std::ptr::without_provenance::<u8>(7), source);
        record(0, 1000);
        telemetry::flush();
        std::fs::remove_file("mpsio.log").unwrap();
        // The runtime checks the log's file at each block: after about 124 of these events.
        record(1000, 10_000);
        telemetry::flush();
        assert_eq!(telemetry::losses().io, 0);
    }) else {
        return;
    };
    assert!(ran.said().is_empty(), "{:?}", ran.said());
    let stream = ran.stream();
    assert_eq!((stream.volume, stream.ended), (1, true));
    let indexes = stream.words(1, 1);
    assert!((1250..10_000).all(|index| indexes.contains(&index)));
    assert_eq!(stream.store(0xFF02).len(), 1, "the new file has the label too");
    assert_eq!(stream.store(0xFF06).len(), 1, "and the place in the source text");
}

/// Without its folder the log cannot continue: the runtime reports it, counts, and tries again.
#[test]
fn a_log_returns_after_its_folder_was_removed() {
    let test = "a_log_returns_after_its_folder_was_removed";
    let Some(ran) = ran(test, &[OBJECT, SMALL, (NAME, "logs/mpsio.log")], || {
        std::fs::create_dir("logs").unwrap();
        record(0, 1000);
        telemetry::flush();
        std::fs::remove_dir_all("logs").unwrap();
        record(1000, 11_000);
        telemetry::flush();
        let losses = telemetry::losses();
        assert_eq!(losses.recorded, 11_000);
        // Until the runtime notices, it writes to the removed file.
        assert!((5_500..=10_000).contains(&losses.io), "{losses:?}");
        std::fs::create_dir("logs").unwrap();
        record(11_000, 12_000);
        telemetry::flush();
        assert!(telemetry::losses().io <= losses.io + 124);
    }) else {
        return;
    };
    let said = ran.said();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("logs/mpsio.log: No such file or directory"), "{said:?}");
    let indexes = common::read(&ran.file("logs/mpsio.log")).words(1, 1);
    assert!((11_124..12_000).all(|index| indexes.contains(&index)));
}
