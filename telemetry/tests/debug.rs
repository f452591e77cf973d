//! What a debugger calls and changes, called and changed from inside.
//!
//! ```text
//!  EventDump ─▶ file ─ lines ─┬─ the same as postmortem, oldest first
//!  EventKindControl |= 2 ─────┴─ block, flush, exit ─▶ log
//! ```
//!
//! At each point of the runtime: `tests/interruptions`; by gdb itself: `tests/tests/debugger.rs`.
//! Design: `.debug.dump`, `.debug.describe`, `.control.output` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "symbols of C, and what they are called with")]

mod common;

use common::{CONTROL, Pooled, Rare, Sorts, Three, ThreeSeg, ran};
use std::ffi::{c_int, c_long, c_void};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use telemetry::{FilePlinth, Kinds, MemoryPlinth, Plinth, PlinthError, event};

// The names that a debugger knows: with types of C.
#[allow(non_upper_case_globals, reason = "the names of the MPS")]
unsafe extern "C" {
    safe fn EventDump(file: c_int) -> c_long;
    safe fn EventDescribe(address: *const c_void, file: c_int) -> c_long;
    safe fn EventFlush() -> c_long;
    safe static EventKindControl: AtomicU64;
}

// As `EventLast`, whose addresses are only handed on.
#[allow(non_upper_case_globals, reason = "the names of the MPS")]
unsafe extern "C" {
    static EventLast: [*const c_void; 64];
}

const SMALL: (&str, &str) = ("MPS_TELEMETRY_BLOCK_SIZE", "4096");
const POOL: u64 = 1 << 1;

fn handle(kind: usize) -> *const c_void {
    // SAFETY: it never changes.
    unsafe { EventLast[kind] }
}

/// What is written by a call that is given a file, and what the call gives; the error number stays.
fn written(call: impl FnOnce(c_int) -> c_long) -> (String, c_long) {
    let file = tempfile::NamedTempFile::new().unwrap();
    // SAFETY: gives a pointer to this thread's error number.
    let errno = || unsafe { libc::__errno_location() };
    // SAFETY: the error number of this thread lives as long as the thread.
    unsafe { *errno() = libc::EILSEQ };
    let result = call(file.as_file().as_raw_fd());
    // SAFETY: the error number of this thread lives as long as the thread.
    assert_eq!(unsafe { *errno() }, libc::EILSEQ, "left as it was");
    (std::fs::read_to_string(file.path()).unwrap(), result)
}

/// Records an event with a pointer, which may have a label.
fn pointed(address: usize) {
    let p = std::ptr::without_provenance::<u8>(address);
    event!(Sorts { p, b: true, u: 1u32, d: 1.0, w: 1usize, a: 0usize, s: "é\n" });
}

fn without_age(line: &str) -> &str {
    line.split_once(" s  ").unwrap_or_else(|| panic!("no age: {line}")).1
}

/// `.debug.dump`: several times as many events as are put in order at once.
#[test]
fn a_dump_has_all_events_in_memory_oldest_first() {
    let test = "a_dump_has_all_events_in_memory_oldest_first";
    ran(test, &[], || {
        let (text, count) = written(|file| EventDump(file));
        assert_eq!((text.lines().count(), count), (2, 0), "nothing yet: {text}");
        telemetry::label_address(0x1000, telemetry::add_string("older"));
        let all = &std::sync::Barrier::new(12);
        std::thread::scope(|scope| {
            for thread in 0..12usize {
                scope.spawn(move || {
                    all.wait();
                    for index in 0..5000usize {
                        event!(Three, thread, index, index);
                        event!(ThreeSeg, thread, index, index);
                    }
                    pointed(0x1000);
                    all.wait();
                });
            }
        });
        telemetry::label_address(0x1000, telemetry::add_string("newer"));
        pointed(0x1000);
        let begin = Instant::now();
        let (text, count) = written(|file| EventDump(file));
        eprintln!("{count} events in {:?}", begin.elapsed());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "telemetry: all events in memory, oldest first:");
        let last = format!("telemetry: {count} events of 13 threads");
        assert_eq!(lines[lines.len() - 1], last);
        let lines = &lines[1..lines.len() - 1];
        assert!(lines.len() as c_long == count && count > 1 << 15, "{count}");
        let mut twin: Vec<String> =
            telemetry::postmortem().map(|event| event.to_string()).collect();
        twin.reverse();
        assert_eq!(lines.len(), twin.len());
        for (line, twin) in lines.iter().zip(&twin) {
            assert_eq!(without_age(line), without_age(twin));
        }
        assert!(
            lines[lines.len() - 1].contains("p:0000000000001000[\"newer\"]"),
            "{}",
            lines[lines.len() - 1]
        );
        assert_eq!(lines.iter().filter(|line| line.contains("[\"older\"]")).count(), 12);
    });
}

/// Many labels, and many of one address: each event shows its own.
#[test]
fn a_dump_shows_labels_however_many_there_are() {
    let test = "a_dump_shows_labels_however_many_there_are";
    ran(test, &[], || {
        const COUNT: usize = 40_000;
        for address in 1..=COUNT {
            telemetry::label_address(address, telemetry::add_string(format!("label {address}")));
        }
        let again = |count| {
            for index in 0..count {
                telemetry::label_address(7, telemetry::add_string(format!("time {index}")));
                pointed(7);
            }
        };
        again(100);
        let addresses = [1, 2, 3, COUNT / 2, COUNT];
        for address in addresses {
            pointed(address);
        }
        let (text, _) = written(|file| EventDump(file));
        for address in addresses {
            assert!(text.contains(&format!("[\"label {address}\"]")), "{address}: {text}");
        }
        (0..100).for_each(|index| assert!(text.contains(&format!("[\"time {index}\"]"))));
        assert!(text.ends_with("telemetry: 105 events of 1 thread\n"), "{text}");
        again(1500);
        let (text, count) = written(|file| EventDump(file));
        assert!(count > 1500, "{count}");
        (0..1500).for_each(|index| assert!(text.contains(&format!("[\"time {index}\"]"))));
    });
}

/// `.debug.describe`
#[test]
fn the_newest_event_of_a_kind_is_described_with_all_that_its_registry_knows() {
    let test = "the_newest_event_of_a_kind_is_described_with_all_that_its_registry_knows";
    ran(test, &[], || {
        (0..3usize).for_each(|index| event!(Pooled, index));
        std::thread::spawn(|| event!(Pooled, 3usize)).join().unwrap();
        event!(Rare, 9usize);
        let (text, count) = written(|file| EventDescribe(handle(1), file));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(count, 1);
        let head = "telemetry: event 0005 of registry test, kind Pool, number 0 of buffer 2:";
        assert_eq!(lines[0], head);
        assert!(lines[1].ends_with("Pooled index:0000000000000003"), "{text}");
        assert_eq!(lines[2], "  Pooled: A number, in another kind.");
        assert_eq!(lines[3..], ["    index, W: which"]);
        let (text, count) = written(|file| EventDescribe(handle(63), file));
        assert_eq!((text.as_str(), count), ("telemetry: no event of kind 63 is in memory\n", 0));
        for address in [0, 1, usize::MAX, handle(1).addr() + 1] {
            let (text, count) =
                written(|file| EventDescribe(std::ptr::without_provenance(address), file));
            let line = format!(
                "telemetry: {address:#x} is not an element of EventLast; `telemetry describe \
                 {address:#x}` in gdb finds an event at an address\n"
            );
            assert_eq!((text, count), (line, 0));
        }
    });
}

/// Neither waits for ever, nor dies.
#[test]
fn a_file_that_nobody_reads_is_given_up() {
    let test = "a_file_that_nobody_reads_is_given_up";
    ran(test, &[], || {
        (0..20_000usize).for_each(|index| event!(Three, 1usize, index, index));
        let mut ends = [0; 2];
        // SAFETY: two numbers are written.
        assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
        let begin = Instant::now();
        assert_eq!(EventDump(ends[1]), -c_long::from(libc::EAGAIN));
        assert!(begin.elapsed() < Duration::from_secs(8), "{:?}", begin.elapsed());
        // SAFETY: it is this test's, and SIGPIPE is as in a program of C.
        unsafe { (libc::close(ends[0]), libc::signal(libc::SIGPIPE, libc::SIG_DFL)) };
        assert_eq!(EventDump(ends[1]), -c_long::from(libc::EPIPE));
        assert_eq!(EventDump(-1), -c_long::from(libc::EBADF));
        let full = File::options().write(true).open("/dev/full").unwrap();
        assert_eq!(EventDescribe(handle(5), full.as_raw_fd()), -c_long::from(libc::ENOSPC));
    });
}

/// The indexes of the events of kind Pool in a log, and how often it tells of masks.
fn pools(ran: &common::Ran) -> (Vec<u64>, Vec<u64>) {
    let stream = ran.stream();
    let output = stream.store(0xFF05).into_iter().map(|event| {
        // registry, recorded (low, high), output (low, high).
        u64::from(common::u32_at(&event.bytes, 20))
    });
    (stream.words(5, 0), output.collect())
}

fn record(from: usize, count: usize) {
    (from..from + count).for_each(|index| event!(Pooled, index));
}

/// As `print EventKindControl |= 2` does.
fn set(kinds: u64) {
    EventKindControl.store(EventKindControl.load(Ordering::Relaxed) | kinds, Ordering::Relaxed);
}

#[test]
fn a_kind_that_a_debugger_sets_is_output_with_its_history_when_the_program_ends() {
    let test = "a_kind_that_a_debugger_sets_is_output_with_its_history_when_the_program_ends";
    let Some(ran) = ran(test, &[], || {
        record(0, 10);
        event!(Rare, 1usize);
        set(POOL);
        record(10, 10);
    }) else {
        return;
    };
    assert_eq!(pools(&ran), ((0..20).collect(), vec![POOL]));
    assert_eq!(ran.stream().of(4).len(), 0, "the others are not");
    assert!(ran.stream().ended);
}

#[test]
fn a_kind_that_a_debugger_sets_before_the_first_event_is_output() {
    let test = "a_kind_that_a_debugger_sets_before_the_first_event_is_output";
    let Some(ran) = ran(test, &[], || {
        set(POOL);
        record(0, 10);
        assert_eq!(telemetry::control::output_everywhere(), POOL);
    }) else {
        return;
    };
    assert_eq!(pools(&ran), ((0..10).collect(), vec![POOL]));
}

#[test]
fn what_a_debugger_changes_is_noticed_when_a_block_begins_and_at_a_flush() {
    let test = "what_a_debugger_changes_is_noticed_when_a_block_begins_and_at_a_flush";
    let Some(ran) = ran(test, &[SMALL], || {
        let log = || std::path::Path::new("mpsio.log").exists();
        record(0, 10);
        set(POOL);
        record(10, 10);
        assert!(!log(), "not yet");
        // A block of another kind begins.
        (0..200usize).for_each(|index| event!(Three, 0usize, index, index));
        assert!(log(), "the stream has begun");
        assert_eq!(telemetry::control::output_everywhere(), POOL);
        // Switched off: what was recorded till then goes out.
        EventKindControl.store(0, Ordering::Relaxed);
        telemetry::flush();
        record(20, 10);
        // In the mask of one registry.
        CONTROL.output().store(Kinds::Pool.into(), Ordering::Relaxed);
        telemetry::flush();
        assert_eq!(EventKindControl.load(Ordering::Relaxed), POOL);
        record(30, 10);
        CONTROL.output().store(0, Ordering::Relaxed);
        telemetry::flush();
        record(40, 10);
    }) else {
        return;
    };
    assert_eq!(pools(&ran), ((0..40).collect(), vec![POOL, 0, POOL, 0]));
}

mod late {
    telemetry::events! {
        /// A registry that comes late: its kinds have the names of others, and other indexes.
        registry "late" version(1, 0, 0);
        kinds {
            /// The first.
            Pool = 9,
            /// The second.
            Arena = 3,
            /// The third.
            Other = 1,
        }

        /// It exists.
        Came(0x0001, always, Pool) {}
    }
}

mod later {
    telemetry::events! {
        /// One that comes last.
        registry "later" version(1, 0, 0);
        kinds {
            /// The only one.
            Pool = 2,
        }

        /// It exists.
        Came(0x0001, always, Pool) {}
    }
}

/// As `telemetry set Pool` does in gdb; and `telemetry reset Arena`.
#[test]
fn what_a_debugger_sets_in_all_registries_begins_so_in_those_to_come() {
    let test = "what_a_debugger_sets_in_all_registries_begins_so_in_those_to_come";
    let _ = ran(test, &[("MPS_TELEMETRY_CONTROL", "Arena")], || {
        record(0, 10);
        assert_eq!(CONTROL.output().load(Ordering::Relaxed), Kinds::Arena.into());
        CONTROL.output().store(Kinds::Pool.into(), Ordering::Relaxed);
        // (A registration notices it: no block began, and nothing was flushed.)
        let output = || telemetry::control::of(&late::CONTROL).output().bits();
        assert_eq!(output(), 1 << 9, "Pool is, and Arena is not");
        // The debugger changes it in one of two alone: this does not change others.
        CONTROL.output().store(0, Ordering::Relaxed);
        assert_eq!(telemetry::control::of(&later::CONTROL).output().bits(), 1 << 2);
        assert_eq!(output(), 1 << 9);
        event!(late::Came);
        event!(later::Came);
    });
}

/// What the program sets is where a debugger sees it, and what that changed meanwhile stays.
#[test]
fn the_programs_own_changes_are_seen_by_a_debugger() {
    let test = "the_programs_own_changes_are_seen_by_a_debugger";
    let Some(ran) = ran(test, &[("MPS_TELEMETRY_CONTROL", "Arena")], || {
        let mask = || EventKindControl.load(Ordering::Relaxed);
        assert_eq!(mask(), 0);
        event!(Rare, 1usize);
        assert_eq!(mask(), Kinds::Arena.into());
        telemetry::control::of(&CONTROL).set_output(Kinds::Object);
        assert_eq!(mask(), (Kinds::Arena | Kinds::Object).into());
        set(POOL);
        telemetry::control::reset_output_everywhere(Kinds::Object);
        assert_eq!(mask(), u64::from(Kinds::Arena) | POOL, "not noticed yet, and there");
        telemetry::flush();
        assert_eq!(telemetry::control::of(&CONTROL).output(), Kinds::Arena | Kinds::Pool);
        record(0, 5);
    }) else {
        return;
    };
    assert_eq!(pools(&ran).0, (0..5).collect::<Vec<_>>());
}

#[test]
fn a_flush_brings_out_what_is_output_and_again_only_what_is_new() {
    let test = "a_flush_brings_out_what_is_output_and_again_only_what_is_new";
    let Some(ran) = ran(test, &[], || {
        assert_eq!(EventFlush(), 0, "nothing is output");
        record(0, 10);
        assert_eq!(EventFlush(), 0, "nothing is output");
        set(POOL);
        assert!(EventFlush() > 0);
        let stream = common::read(&std::fs::read("mpsio.log").unwrap());
        assert_eq!(stream.words(5, 0), (0..10).collect::<Vec<_>>());
        record(10, 10);
        assert!(EventFlush() > 0);
        let size = || std::fs::metadata("mpsio.log").unwrap().len();
        let before = size();
        assert_eq!((EventFlush(), size()), (0, before), "nothing is new");
        record(20, 10);
    }) else {
        return;
    };
    assert_eq!(pools(&ran), ((0..30).collect(), vec![POOL]));
}

/// Set while the thread of this name stays with the plinth.
static IS_STUCK: AtomicBool = AtomicBool::new(true);
static IS_INSIDE: AtomicBool = AtomicBool::new(false);

/// Lets the stopped thread go on, also where the test fails.
struct Release;

impl Drop for Release {
    fn drop(&mut self) {
        IS_STUCK.store(false, Ordering::SeqCst);
    }
}

/// A log in whose writing one thread is stopped.
struct Sticky(FilePlinth);

impl Plinth for Sticky {
    fn create(&self, block_size: usize) -> Result<(), PlinthError> {
        self.0.create(block_size)
    }

    fn write_block(&self, offset: u64, bytes: &[u8]) -> Result<(), PlinthError> {
        if std::thread::current().name() == Some("stuck") {
            IS_INSIDE.store(true, Ordering::SeqCst);
            while IS_STUCK.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        self.0.write_block(offset, bytes)
    }

    fn can_rewrite(&self) -> bool {
        self.0.can_rewrite()
    }

    fn is_signal_safe(&self) -> bool {
        true
    }
}

/// With the locks of a ring and of the stream taken by a thread that is stopped.
#[test]
fn a_flush_while_a_thread_is_stopped_in_the_plinth_comes_to_an_end() {
    let test = "a_flush_while_a_thread_is_stopped_in_the_plinth_comes_to_an_end";
    let Some(ran) = ran(test, &[SMALL, ("MPS_TELEMETRY_CONTROL", "all")], || {
        telemetry::setup().plinth(Sticky(FilePlinth::new("mpsio.log").unwrap())).start().unwrap();
        record(0, 10);
        let stuck = std::thread::Builder::new().name("stuck".into());
        let stuck = stuck.spawn(|| {
            (0..20usize).for_each(|index| event!(Three, 0usize, index, index));
            telemetry::flush();
        });
        let release = Release;
        while !IS_INSIDE.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        record(10, 10);
        let begin = Instant::now();
        let size = EventFlush();
        let took = begin.elapsed();
        assert!(size > 0 && took < common::WAIT_MAX / 4, "{size} {took:?}");
        let stream = common::read(&std::fs::read("mpsio.log").unwrap());
        assert_eq!(stream.words(5, 0), (0..20).collect::<Vec<_>>());
        assert_eq!(stream.words(1, 1), (0..20).collect::<Vec<_>>(), "of the stopped one too");
        let (text, count) = written(|file| EventDump(file));
        assert_eq!((count, text.lines().count()), (40, 42));
        drop(release);
        stuck.unwrap().join().unwrap();
        record(20, 10);
    }) else {
        return;
    };
    assert_eq!(pools(&ran).0, (0..30).collect::<Vec<_>>());
    assert_eq!((ran.stream().words(1, 1).len(), ran.stream().ended), (20, true));
}

#[test]
fn a_plinth_that_cannot_be_called_now_is_not() {
    let test = "a_plinth_that_cannot_be_called_now_is_not";
    ran(test, &[("MPS_TELEMETRY_CONTROL", "all")], || {
        let plinth = MemoryPlinth::new();
        telemetry::setup().plinth(plinth.clone()).start().unwrap();
        record(0, 10);
        assert_eq!(EventFlush(), -c_long::from(libc::ENOTSUP));
        telemetry::flush();
        assert_eq!(common::read(&plinth.bytes()).words(5, 0).len(), 10);
    });
}
