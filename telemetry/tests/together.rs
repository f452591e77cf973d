//! Two difficulties at a time: forks, fatal signals, volumes, the mapped ring.
//!
//! Design: `.sol.fork`, `.sol.exit`, `.sol.volume`, `.sol.mapped` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "fork, signals")]

mod common;

use common::{Stream, Three, ran};
use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::time::Duration;
use telemetry::{FilePlinth, Plinth, PlinthError, event};

const ALL: (&str, &str) = ("MPS_TELEMETRY_CONTROL", "all");
const SMALL: (&str, &str) = ("MPS_TELEMETRY_BLOCK_SIZE", "4096");
const CRASH: (&str, &str) = ("MPS_TELEMETRY_CRASH", "1");
const NAME: &str = "MPS_TELEMETRY_FILENAME";
const RING: (&str, &str) = (NAME, "ring:ring?size=1M");

/// Runs `child` in a forked child, which this signal ends; returns the child's number.
fn killed(signal: i32, child: impl FnOnce()) -> i32 {
    // SAFETY: the child continues with this thread alone.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child));
        // SAFETY: ends the child.
        unsafe { libc::raise(signal) };
        // SAFETY: ends the child if the signal did not.
        unsafe { libc::_exit(1) };
    }
    let mut status = 0;
    // SAFETY: waits for a child, and writes to `status`.
    unsafe { assert_eq!(libc::waitpid(pid, &mut status, 0), pid) };
    assert_eq!(libc::WTERMSIG(status), signal, "the child failed");
    pid
}

/// Returns the second word of each `Three` in a ring's sealed and open blocks.
fn indexes_in_ring(bytes: &[u8]) -> BTreeSet<u64> {
    let mut found = BTreeSet::new();
    for block in bytes.chunks(4096).skip(1) {
        if block[..5] != [0xF7, 0x45, 0x4C, 0x8A, 1] {
            continue;
        }
        let mut at = common::u32_at(block, 24) as usize;
        while at + 8 <= block.len() {
            let (code, size) = common::code_and_size(block, at);
            if size == 0 {
                break;
            }
            if code == 1 && common::u16_at(block, 12) == 1 {
                found.insert(common::word_at(block, at + 8 + common::WORD));
            }
            at += size;
        }
    }
    found
}

/// Counts the copies of the test's string in a ring.
fn strings_in_ring(bytes: &[u8]) -> usize {
    bytes.windows(13).filter(|window| window == b"what is what,").count()
}

fn record(count: usize) {
    (0..count).for_each(|index| event!(Three, 0usize, index, index));
}

#[test]
fn a_killed_childs_own_ring_has_its_events() {
    let test = "a_killed_childs_own_ring_has_its_events";
    let Some(ran) = ran(test, &[ALL, SMALL, RING], || {
        telemetry::label_address(7, telemetry::add_string("what is what,"));
        record(10);
        for (name, count) in [("few", 5), ("many", 3000)] {
            let pid = killed(libc::SIGKILL, || {
                record(count);
                std::fs::write(format!("losses {name}"), format!("{:?}", telemetry::losses()))
                    .unwrap();
            });
            let path = format!("ring-{pid}");
            std::fs::rename(&path, name).unwrap_or_else(|_| panic!("no {path}"));
        }
    }) else {
        return;
    };
    for (name, count) in [("few", 5), ("many", 3000)] {
        let losses = String::from_utf8(ran.file(&format!("losses {name}"))).unwrap();
        let file = ran.file(name);
        assert_eq!(strings_in_ring(&file), 1, "{name}");
        let found = indexes_in_ring(&file);
        assert!(found.iter().copied().eq(0..count), "{name}: {} {losses}", found.len());
    }
}

#[test]
fn a_crashed_childs_log_has_the_labels_before_the_fork() {
    let test = "a_crashed_childs_log_has_the_labels_before_the_fork";
    let Some(ran) = ran(test, &[ALL, SMALL, CRASH], || {
        telemetry::label_address(7, telemetry::add_string("what is what,"));
        record(10);
        for (name, count) in [("few", 5), ("many", 3000)] {
            let pid = killed(libc::SIGTERM, || record(count));
            std::fs::rename(format!("mpsio.log-{pid}"), name).unwrap();
        }
    }) else {
        return;
    };
    for (name, count) in [("few", 5), ("many", 3000)] {
        let stream: Stream = common::read(&ran.file(name));
        let strings: Vec<_> = stream.store(0xFF01).iter().map(|e| e.string(1)).collect();
        assert!(stream.words(1, 1).iter().copied().eq(0..count), "{name}");
        assert_eq!(strings, ["what is what,"], "{name}");
        assert_eq!(stream.store(0xFF02).len(), 1, "{name}");
    }
}

/// Maps two words that parent and child share: the number of published events, and the recording
/// thread.
fn shared(path: &Path) -> &'static [AtomicU64; 2] {
    let mut options = std::fs::OpenOptions::new();
    let file = options.read(true).write(true).create(true).truncate(false).open(path).unwrap();
    file.set_len(16).unwrap();
    // SAFETY: a new mapping, of words that both processes use as atomics.
    unsafe {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let fd = std::os::fd::AsRawFd::as_raw_fd(&file);
        let start = libc::mmap(std::ptr::null_mut(), 16, access, libc::MAP_SHARED, fd, 0);
        assert_ne!(start, libc::MAP_FAILED);
        &*start.cast()
    }
}

/// `.volume.header`: the signal may also come between the end of one file and the beginning of the
/// next. If it interrupts the recording thread, the files hold all events that the thread
/// published. If it interrupts another thread, the files hold all events published before, and the
/// recording thread continues.
#[test]
fn a_signal_during_a_change_of_volume_keeps_the_newest_events() {
    let test = "a_signal_during_a_change_of_volume_keeps_the_newest_events";
    if std::env::var_os(common::PROCESS_VARIABLE).is_some() {
        let [published, recorder] = shared(Path::new("published"));
        let recorder = std::thread::spawn(move || {
            // SAFETY: the call touches no memory.
            recorder.store(unsafe { libc::gettid() } as u64, Ordering::Release);
            for index in 0..usize::MAX {
                event!(Three, 0usize, index, index);
                published.store(index as u64 + 1, Ordering::Release);
            }
        });
        recorder.join().unwrap();
    }
    let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
    for run in 0..60 {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        let folder = tempfile::tempdir().unwrap();
        let [published, recorder] = shared(&folder.path().join("published"));
        let name = (NAME, "file:mpsio.log?size=32K&count=3");
        let mut command = common::command(test, &[ALL, SMALL, CRASH, name]);
        command.current_dir(folder.path()).stdout(Stdio::null());
        let mut child = command.spawn().unwrap();
        while published.load(Ordering::Acquire) < 2000 {
            std::thread::sleep(Duration::from_micros(200));
        }
        std::thread::sleep(Duration::from_nanos(seed % 3_000_000));
        let mut certain = published.load(Ordering::Acquire);
        let (process, is_recorder) = (child.id() as i32, run % 2 == 0);
        let thread = recorder.load(Ordering::Acquire) as i32;
        // SAFETY: the child has not been waited for.
        let sent = unsafe {
            match is_recorder {
                true => libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGTERM) as i32,
                false => libc::kill(process, libc::SIGTERM),
            }
        };
        assert_eq!(sent, 0);
        let status = child.wait().unwrap();
        assert_eq!(status.signal(), Some(libc::SIGTERM));
        let mut found = BTreeSet::new();
        for name in ["mpsio.log", "mpsio.log.1", "mpsio.log.2"] {
            let stream = common::read(&std::fs::read(folder.path().join(name)).unwrap());
            found.extend(stream.words(1, 1));
        }
        if is_recorder {
            certain = published.load(Ordering::Acquire);
        }
        let missing: Vec<_> = (certain - 150..certain).filter(|n| !found.contains(n)).collect();
        assert!(missing.is_empty(), "run {run}: {} of {certain}: {missing:?}", found.len());
    }
}

/// A file in volumes; a signal comes during the beginning of the third.
struct Interrupted {
    file: FilePlinth,
    count: AtomicU64,
    ends: bool,
}

impl Plinth for Interrupted {
    fn create(&self, block_size: usize) -> Result<(), PlinthError> {
        let is_third = self.count.fetch_add(1, Ordering::Relaxed) == 2;
        // SAFETY: the handlers call only what a handler may call.
        let raise = |signal| unsafe { libc::raise(signal) };
        if is_third && !self.ends {
            raise(libc::SIGUSR1);
        }
        let created = self.file.create(block_size);
        if is_third && self.ends {
            raise(libc::SIGTERM);
        }
        created
    }

    fn write_block(&self, offset: u64, bytes: &[u8]) -> Result<(), PlinthError> {
        self.file.write_block(offset, bytes)
    }

    fn can_rewrite(&self) -> bool {
        self.file.can_rewrite()
    }

    fn wants_volume(&self, size: u64) -> bool {
        self.file.wants_volume(size)
    }

    fn leave(&self) -> bool {
        self.file.leave()
    }

    fn is_signal_safe(&self) -> bool {
        true
    }
}

/// Records until the signal comes, and 100 more events if the program continues.
fn interrupted(ends: bool) -> u64 {
    let file = FilePlinth::bounded("mpsio.log", 32 << 10, 3).unwrap();
    telemetry::setup()
        .plinth(Interrupted { file, count: AtomicU64::new(0), ends })
        .start()
        .unwrap();
    let [published, _] = shared(Path::new("published"));
    let mut recorded = 0;
    while FORKED.load(Ordering::Relaxed) == 0 {
        event!(Three, 0usize, recorded as usize, recorded as usize);
        recorded += 1;
        published.store(recorded, Ordering::Release);
    }
    for index in recorded..recorded + 100 {
        event!(Three, 0usize, index as usize, index as usize);
    }
    recorded + 100
}

/// Returns the newest events, from the files of a stream in volumes.
fn newest(folder: &Path, name: &str) -> BTreeSet<u64> {
    let names = ["", ".1", ".2"].map(|after| folder.join(format!("{name}{after}")));
    let files = names.iter().filter(|path| path.exists());
    files.flat_map(|path| common::read(&std::fs::read(path).unwrap()).words(1, 1)).collect()
}

static FORKED: AtomicI32 = AtomicI32::new(0);

#[test]
fn a_signal_at_the_beginning_of_a_volume_loses_no_event() {
    let test = "a_signal_at_the_beginning_of_a_volume_loses_no_event";
    if std::env::var_os(common::PROCESS_VARIABLE).is_some() {
        interrupted(true);
    }
    let folder = tempfile::tempdir().unwrap();
    let [published, _] = shared(&folder.path().join("published"));
    let mut command = common::command(test, &[ALL, SMALL, CRASH]);
    let status = command.current_dir(folder.path()).stdout(Stdio::null()).status().unwrap();
    assert_eq!(status.signal(), Some(libc::SIGTERM));
    let found = newest(folder.path(), "mpsio.log");
    let published = published.load(Ordering::Acquire);
    assert!((published - 150..published).all(|index| found.contains(&index)), "{published}");
}

extern "C" fn fork_in_handler(_: libc::c_int) {
    // SAFETY: a handler may fork; the child calls only the runtime.
    FORKED.store(unsafe { libc::fork() } + 1, Ordering::Relaxed);
}

#[test]
fn a_fork_while_a_volume_begins_leaves_the_volume_to_the_parent() {
    let test = "a_fork_while_a_volume_begins_leaves_the_volume_to_the_parent";
    let Some(ran) = ran(test, &[ALL, SMALL], || {
        // SAFETY: the handler has the form of a handler.
        unsafe { libc::signal(libc::SIGUSR1, fork_in_handler as *const () as usize) };
        let count = interrupted(false);
        let name = match FORKED.load(Ordering::Relaxed) - 1 {
            0 => format!("count-{}", std::process::id()),
            child => {
                let mut status = 1;
                // SAFETY: waits for a child, and writes to `status`.
                unsafe { libc::waitpid(child, &mut status, 0) };
                assert_eq!(status, 0, "the child failed");
                // The parent alone begins further volumes.
                record(5000);
                std::fs::write("child", child.to_string()).unwrap();
                "count".into()
            }
        };
        std::fs::write(name, count.to_string()).unwrap();
    }) else {
        return;
    };
    let number = |name: &str| String::from_utf8(ran.file(name)).unwrap().parse::<u64>().unwrap();
    let child = number("child");
    let found = newest(ran.folder.path(), "mpsio.log");
    assert!((4900..5000).all(|index| found.contains(&index)), "{:?}", ran.said());
    let count = number(&format!("count-{child}"));
    let found = newest(ran.folder.path(), &format!("mpsio.log-{child}"));
    assert!((count - 100..count).all(|index| found.contains(&index)), "{:?}", ran.said());
    assert!(found.iter().all(|index| *index >= count - 101), "too old: {found:?}");
}

/// A fork copies the descriptors before the memory. In between, another thread may open a file and
/// store its descriptor.
#[test]
fn a_child_ignores_a_file_that_was_opened_during_the_fork() {
    let test = "a_child_ignores_a_file_that_was_opened_during_the_fork";
    let _ = ran(test, &[], || {
        let plinth = FilePlinth::bounded("mpsio.log", 64 << 10, 3).unwrap();
        plinth.create(4096).unwrap();
        let is_log = |fd: &i32| {
            let name = std::fs::read_link(format!("/proc/self/fd/{fd}"));
            name.is_ok_and(|name| name.ends_with("mpsio.log"))
        };
        let file = (0..1000).find(is_log).unwrap();
        // SAFETY: the plinth alone uses the file, and learns of its end below.
        unsafe { libc::close(file) };
        assert!(plinth.leave());
        plinth.create(4096).unwrap();
        plinth.write_block(0, &[1; 4096]).unwrap();
    });
}
