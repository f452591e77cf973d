//! Logs that another process truncates while a program writes them, as logrotate's `copytruncate`
//! does: copied, then emptied.

mod common;

use common::{Ran, Stream, Three, ran};
use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::time::Duration;
use telemetry::event;

const OBJECT: (&str, &str) = ("MPS_TELEMETRY_CONTROL", "Object");
const SMALL: (&str, &str) = ("MPS_TELEMETRY_BLOCK_SIZE", "4096");
const NAME: &str = "MPS_TELEMETRY_FILENAME";
const SAID: &str = "telemetry: mpsio.log: another process has truncated it; the log goes on there, \
                    without what was cut off";

fn record(from: usize, to: usize) {
    (from..to).for_each(|index| event!(Three, 0usize, index, index));
}

fn truncate(size: u64) {
    OpenOptions::new().write(true).open("mpsio.log").unwrap().set_len(size).unwrap();
}

/// Copies the log, and empties it.
fn rotate(round: usize) {
    std::fs::copy("mpsio.log", format!("copy.{round}")).unwrap();
    truncate(0);
}

fn copies(ran: &Ran, count: usize) -> Vec<Stream> {
    let names = (0..count).map(|round| format!("copy.{round}"));
    names.chain(["mpsio.log".to_owned()]).map(|name| common::read(&ran.file(&name))).collect()
}

/// Each file alone is a log; together they have every event, since nothing is recorded between
/// copying and emptying.
#[test]
fn a_truncated_log_loses_no_event_that_was_copied() {
    let test = "a_truncated_log_loses_no_event_that_was_copied";
    const ROUND_COUNT: usize = 6;
    for name in ["mpsio.log", "file:mpsio.log?size=1M&count=3"] {
        let Some(ran) = ran(test, &[OBJECT, SMALL, (NAME, name)], || {
            telemetry::label_address(7, telemetry::add_string("seven"));
            for round in 0..ROUND_COUNT {
                // Ends in a part, in a whole block, or in a copy of an open one.
                record(round * 1000, round * 1000 + 900 + [3, 500, 61][round % 3]);
                telemetry::flush();
                rotate(round);
                record(round * 1000 + 900 + [3, 500, 61][round % 3], round * 1000 + 1000);
                if round % 2 == 0 {
                    telemetry::flush();
                }
            }
            assert_eq!(telemetry::losses().io, 0);
        }) else {
            return;
        };
        assert_eq!(ran.said(), [SAID], "once for a process");
        let streams = copies(&ran, ROUND_COUNT);
        let mut all = BTreeSet::new();
        for (volume, stream) in streams.iter().enumerate() {
            assert_eq!((stream.volume, stream.holes), (volume as u64, 0), "{name}");
            assert_eq!(stream.store(0xFF02).len(), 1, "each has the label");
            all.extend(stream.words(1, 1));
        }
        assert!(streams.last().unwrap().ended);
        assert_eq!(all, (0..ROUND_COUNT as u64 * 1000).collect(), "{name}");
        assert!(!ran.folder.path().join("mpsio.log.1").exists());
    }
}

/// Threads write while the log is emptied: what was on its way stays in the file, behind a hole.
#[test]
fn a_log_truncated_while_threads_write_goes_on() {
    let test = "a_log_truncated_while_threads_write_goes_on";
    const THREAD_COUNT: usize = 4;
    const ROUND_COUNT: usize = 40;
    let Some(ran) = ran(test, &[OBJECT, SMALL], || {
        let done = AtomicBool::new(false);
        let counts = std::thread::scope(|scope| {
            let record = |thread: usize| {
                let events = (0usize..).take_while(|_| !done.load(Ordering::Relaxed));
                events.inspect(|index| event!(Three, thread, *index, *index)).count()
            };
            let threads: Vec<_> =
                (0..THREAD_COUNT).map(|thread| scope.spawn(move || record(thread))).collect();
            for round in 0..ROUND_COUNT {
                // Not its size, to which a hole adds.
                let room = || std::fs::metadata("mpsio.log").map_or(0, |found| found.blocks());
                common::wait_until("the log grows", || room() > 512);
                rotate(round);
            }
            done.store(true, Ordering::Relaxed);
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        std::fs::write("counts", format!("{counts:?}")).unwrap();
        assert_eq!(telemetry::losses().io, 0);
    }) else {
        return;
    };
    assert_eq!(ran.said(), [SAID]);
    let stream = ran.stream();
    assert_eq!((stream.volume, stream.ended), (ROUND_COUNT as u64, true));
    let counts = String::from_utf8(ran.file("counts")).unwrap();
    let counts: Vec<u64> =
        counts[1..counts.len() - 1].split(", ").map(|count| count.parse().unwrap()).collect();
    let events = stream.of(1);
    for (thread, count) in counts.iter().enumerate() {
        let own = events.iter().filter(|event| event.word(0) == thread as u64);
        let own: BTreeSet<u64> = own.map(|event| event.word(1)).collect();
        // A thread whose last event ended a block, which was cut off, has none.
        let first = own.first().copied().unwrap_or(*count);
        assert_eq!(own, (first..*count).collect(), "thread {thread} has a gap");
    }
}

/// The thread that finds the truncation waits to report it, since nobody reads its standard error.
/// Meanwhile another thread ends.
#[test]
#[expect(unsafe_code, reason = "standard error is replaced")]
fn a_thread_that_ends_during_the_report_of_a_truncation_loses_nothing() {
    let test = "a_thread_that_ends_during_the_report_of_a_truncation_loses_nothing";
    /// Longer than a thread needs to begin to wait. With less the test proves less.
    const BEGUN: Duration = Duration::from_millis(200);
    let Some(ran) = ran(test, &[OBJECT, SMALL], || {
        let begun = Arc::new(Barrier::new(3));
        // The first sends a block; the second ends, and sends a part.
        let threads = [(1000, 200), (2000, 20)].map(|(from, count)| {
            let (go, waits) = mpsc::channel();
            let begun = begun.clone();
            let thread = std::thread::spawn(move || {
                record(from - 500, from - 500 + count);
                begun.wait();
                waits.recv().unwrap();
                record(from, from + count);
            });
            (go, thread)
        });
        begun.wait();
        let (mut reader, writer) = std::io::pipe().unwrap();
        // SAFETY: the calls touch no memory, and `writer` is open.
        let stderr = unsafe {
            let stderr = libc::dup(libc::STDERR_FILENO);
            assert_eq!(libc::fcntl(writer.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK), 0);
            while (&writer).write(b".").is_ok() {}
            assert_eq!(libc::fcntl(writer.as_raw_fd(), libc::F_SETFL, 0), 0);
            assert_eq!(libc::dup2(writer.as_raw_fd(), libc::STDERR_FILENO), libc::STDERR_FILENO);
            OwnedFd::from_raw_fd(stderr)
        };
        drop(writer);
        truncate(0);
        for (go, _) in &threads {
            go.send(()).unwrap();
            std::thread::sleep(BEGUN);
        }
        let said = std::thread::spawn(move || {
            let mut said = Vec::new();
            reader.read_to_end(&mut said).unwrap();
            String::from_utf8(said).unwrap()
        });
        threads.into_iter().for_each(|(_, thread)| thread.join().unwrap());
        // SAFETY: the call touches no memory. It closes the last writer of the pipe.
        assert_eq!(unsafe { libc::dup2(stderr.as_raw_fd(), libc::STDERR_FILENO) }, 2);
        eprint!("{}", said.join().unwrap().trim_start_matches('.'));
    }) else {
        return;
    };
    assert_eq!(ran.said(), [SAID]);
    let indexes: BTreeSet<u64> = ran.stream().words(1, 1).into_iter().collect();
    let after: BTreeSet<u64> = (1000..1200).chain(2000..2020).collect();
    assert_eq!(indexes.intersection(&after).count(), after.len());
}

/// The header is still there: the log goes on where it was, and the reader finds the hole.
#[test]
fn a_log_truncated_in_part_goes_on_behind_a_hole() {
    let test = "a_log_truncated_in_part_goes_on_behind_a_hole";
    let Some(ran) = ran(test, &[OBJECT, SMALL], || {
        record(0, 10_000);
        telemetry::flush();
        truncate(10 * 4096);
        record(10_000, 20_000);
    }) else {
        return;
    };
    assert_eq!(ran.said(), [SAID]);
    let stream = common::read_as_it_is(&ran.file("mpsio.log"));
    assert_eq!((stream.volume, stream.ended), (0, true));
    assert!(stream.holes > 60, "{}", stream.holes);
    let indexes: BTreeSet<u64> = stream.words(1, 1).into_iter().collect();
    assert!((10_200..20_000).all(|index| indexes.contains(&index)));
}

/// A file that only has lost its name, and is emptied under another one, is left to that one.
#[test]
fn a_log_renamed_and_truncated_begins_again_at_its_name() {
    let test = "a_log_renamed_and_truncated_begins_again_at_its_name";
    let Some(ran) = ran(test, &[OBJECT, SMALL], || {
        record(0, 1000);
        telemetry::flush();
        rotate(0);
        std::fs::rename("mpsio.log", "other").unwrap();
        record(1000, 2000);
    }) else {
        return;
    };
    assert_eq!(ran.file("other"), b"");
    let mut all: BTreeSet<u64> = copies(&ran, 1).iter().flat_map(|log| log.words(1, 1)).collect();
    all.retain(|index| *index < 2000);
    assert_eq!(all, (0..2000).collect());
}
