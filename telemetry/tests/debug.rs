//! The functions that a debugger calls and the masks that it changes, used by the program itself.
//!
//! ```text
//!  EventDump ─▶ file ─ lines ─┬─ the same as postmortem, oldest first
//!  EventKindControl |= 2 ─────┴─ block, flush, exit ─▶ log
//! ```
//!
//! `tests/interruptions` interrupts the runtime at each point; `tests/tests/debugger.rs` uses gdb.
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

// The names that a debugger knows, with the types of C.
#[allow(non_upper_case_globals, reason = "the names of the MPS")]
unsafe extern "C" {
    safe fn EventDump(file: c_int) -> c_long;
    safe fn EventDescribe(address: *const c_void, file: c_int) -> c_long;
    safe fn EventFlush() -> c_long;
    safe static EventKindControl: AtomicU64;
}

// The addresses in `EventLast` are only passed on.
#[allow(non_upper_case_globals, reason = "the names of the MPS")]
unsafe extern "C" {
    static EventLast: [*const c_void; 64];
}

const SMALL: (&str, &str) = ("MPS_TELEMETRY_BLOCK_SIZE", "4096");
const POOL: u64 = 1 << 1;

fn handle(kind: usize) -> *const c_void {
    // SAFETY: the table never changes.
    unsafe { EventLast[kind] }
}

/// Returns the text that a call writes to a file, and the call's result. Checks `errno`.
fn written(call: impl FnOnce(c_int) -> c_long) -> (String, c_long) {
    let file = tempfile::NamedTempFile::new().unwrap();
    // SAFETY: the call returns a pointer to this thread's error number.
    let errno = || unsafe { libc::__errno_location() };
    // SAFETY: the error number of this thread lives as long as the thread.
    unsafe { *errno() = libc::EILSEQ };
    let result = call(file.as_file().as_raw_fd());
    // SAFETY: the error number of this thread lives as long as the thread.
    assert_eq!(unsafe { *errno() }, libc::EILSEQ, "the call changed errno");
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

/// `.debug.dump`: the dump has several times as many events as it sorts at once.
#[test]
fn a_dump_shows_all_events_in_memory_oldest_first() {
    let test = "a_dump_shows_all_events_in_memory_oldest_first";
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

/// Each event shows its own label, also if one address has many labels.
#[test]
fn a_dump_shows_each_events_own_label_among_many() {
    let test = "a_dump_shows_each_events_own_label_among_many";
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
fn a_description_of_an_event_shows_its_registrys_texts() {
    let test = "a_description_of_an_event_shows_its_registrys_texts";
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

/// A blocked or broken file neither hangs nor kills the program.
#[test]
fn a_dump_gives_up_a_pipe_without_a_reader() {
    let test = "a_dump_gives_up_a_pipe_without_a_reader";
    ran(test, &[], || {
        (0..20_000usize).for_each(|index| event!(Three, 1usize, index, index));
        let mut ends = [0; 2];
        // SAFETY: two numbers are written.
        assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
        let begin = Instant::now();
        assert_eq!(EventDump(ends[1]), -c_long::from(libc::EAGAIN));
        assert!(begin.elapsed() < common::WAIT_MAX, "{:?}", begin.elapsed());
        // SAFETY: the pipe is this test's, and SIGPIPE gets its default action, as in a C program.
        unsafe { (libc::close(ends[0]), libc::signal(libc::SIGPIPE, libc::SIG_DFL)) };
        assert_eq!(EventDump(ends[1]), -c_long::from(libc::EPIPE));
        assert_eq!(EventDump(-1), -c_long::from(libc::EBADF));
        let full = File::options().write(true).open("/dev/full").unwrap();
        assert_eq!(EventDescribe(handle(5), full.as_raw_fd()), -c_long::from(libc::ENOSPC));
    });
}

/// Returns the indexes of the kind-Pool events in a log, and the output masks that the log states.
fn pools(ran: &common::Ran) -> (Vec<u64>, Vec<u64>) {
    let stream = ran.stream();
    let output = stream.store(0xFF05).into_iter().map(|event| {
        // registry, recorded (low, high), output (low, high).
        u64::from(event.number(20))
    });
    (stream.words(5, 0), output.collect())
}

fn record(from: usize, count: usize) {
    (from..from + count).for_each(|index| event!(Pooled, index));
}

/// Sets kinds as `print EventKindControl |= 2` does in gdb.
fn set(kinds: u64) {
    EventKindControl.store(EventKindControl.load(Ordering::Relaxed) | kinds, Ordering::Relaxed);
}

#[test]
fn the_exit_writes_the_history_of_a_kind_set_by_a_debugger() {
    let test = "the_exit_writes_the_history_of_a_kind_set_by_a_debugger";
    let Some(ran) = ran(test, &[], || {
        record(0, 10);
        event!(Rare, 1usize);
        set(POOL);
        record(10, 10);
    }) else {
        return;
    };
    assert_eq!(pools(&ran), ((0..20).collect(), vec![POOL]));
    assert_eq!(ran.stream().of(4).len(), 0, "the other kinds are not in the log");
    assert!(ran.stream().ended);
}

#[test]
fn a_kind_set_before_the_first_event_is_output() {
    let test = "a_kind_set_before_the_first_event_is_output";
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
fn a_new_block_or_a_flush_applies_a_debuggers_masks() {
    let test = "a_new_block_or_a_flush_applies_a_debuggers_masks";
    let Some(ran) = ran(test, &[SMALL], || {
        let log = || std::path::Path::new("mpsio.log").exists();
        record(0, 10);
        set(POOL);
        record(10, 10);
        assert!(!log(), "the log exists too early");
        // A block of another kind begins.
        (0..200usize).for_each(|index| event!(Three, 0usize, index, index));
        assert!(log(), "the stream has begun");
        assert_eq!(telemetry::control::output_everywhere(), POOL);
        // Kinds that are switched off: the events up to now are still written.
        EventKindControl.store(0, Ordering::Relaxed);
        telemetry::flush();
        record(20, 10);
        // The debugger changes the mask of one registry.
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
        /// Added late: its kinds have the names of others, and other indexes.
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
        /// Added last.
        registry "later" version(1, 0, 0);
        kinds {
            /// The only one.
            Pool = 2,
        }

        /// It exists.
        Came(0x0001, always, Pool) {}
    }
}

/// Sets the masks as `telemetry set Pool` and `telemetry reset Arena` do in gdb.
#[test]
fn a_later_registry_begins_with_a_debuggers_masks() {
    let test = "a_later_registry_begins_with_a_debuggers_masks";
    let _ = ran(test, &[("MPS_TELEMETRY_CONTROL", "Arena")], || {
        record(0, 10);
        assert_eq!(CONTROL.output().load(Ordering::Relaxed), Kinds::Arena.into());
        CONTROL.output().store(Kinds::Pool.into(), Ordering::Relaxed);
        // (The registration notices the change: no block began, and nothing was flushed.)
        let output = || telemetry::control::of(&late::CONTROL).output().bits();
        assert_eq!(output(), 1 << 9, "Pool is set, Arena is not");
        // The debugger changes the mask of one of two registries: the others stay as they are.
        CONTROL.output().store(0, Ordering::Relaxed);
        assert_eq!(telemetry::control::of(&later::CONTROL).output().bits(), 1 << 2);
        assert_eq!(output(), 1 << 9);
        event!(late::Came);
        event!(later::Came);
    });
}

/// The mask shows the program's own changes, and keeps the debugger's.
#[test]
fn a_debugger_sees_the_programs_own_changes_of_masks() {
    let test = "a_debugger_sees_the_programs_own_changes_of_masks";
    let Some(ran) = ran(test, &[("MPS_TELEMETRY_CONTROL", "Arena")], || {
        let mask = || EventKindControl.load(Ordering::Relaxed);
        assert_eq!(mask(), 0);
        event!(Rare, 1usize);
        assert_eq!(mask(), Kinds::Arena.into());
        telemetry::control::of(&CONTROL).set_output(Kinds::Object);
        assert_eq!(mask(), (Kinds::Arena | Kinds::Object).into());
        set(POOL);
        telemetry::control::reset_output_everywhere(Kinds::Object);
        assert_eq!(mask(), u64::from(Kinds::Arena) | POOL, "the debugger's change is lost");
        telemetry::flush();
        assert_eq!(telemetry::control::of(&CONTROL).output(), Kinds::Arena | Kinds::Pool);
        record(0, 5);
    }) else {
        return;
    };
    assert_eq!(pools(&ran).0, (0..5).collect::<Vec<_>>());
}

#[test]
fn a_second_flush_writes_only_new_events() {
    let test = "a_second_flush_writes_only_new_events";
    let Some(ran) = ran(test, &[], || {
        assert_eq!(EventFlush(), 0, "no kind is output");
        record(0, 10);
        assert_eq!(EventFlush(), 0, "no kind is output");
        set(POOL);
        assert!(EventFlush() > 0);
        let stream = common::read(&std::fs::read("mpsio.log").unwrap());
        assert_eq!(stream.words(5, 0), (0..10).collect::<Vec<_>>());
        record(10, 10);
        assert!(EventFlush() > 0);
        let size = || std::fs::metadata("mpsio.log").unwrap().len();
        let before = size();
        assert_eq!((EventFlush(), size()), (0, before), "no new event");
        record(20, 10);
    }) else {
        return;
    };
    assert_eq!(pools(&ran), ((0..30).collect(), vec![POOL]));
}

/// True while the thread named "stuck" is held in the plinth.
static IS_STUCK: AtomicBool = AtomicBool::new(true);
static IS_INSIDE: AtomicBool = AtomicBool::new(false);

/// Releases the stopped thread, also if the test fails.
struct Release;

impl Drop for Release {
    fn drop(&mut self) {
        IS_STUCK.store(false, Ordering::SeqCst);
    }
}

/// A log whose plinth holds one thread in a write.
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

/// The stopped thread holds the locks of a ring and of the stream.
#[test]
fn a_flush_ends_while_a_thread_is_stopped_in_the_plinth() {
    let test = "a_flush_ends_while_a_thread_is_stopped_in_the_plinth";
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
        assert_eq!(stream.words(1, 1), (0..20).collect::<Vec<_>>(), "of the stopped thread");
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
fn a_debuggers_flush_never_calls_an_unsafe_plinth() {
    let test = "a_debuggers_flush_never_calls_an_unsafe_plinth";
    ran(test, &[("MPS_TELEMETRY_CONTROL", "all")], || {
        let plinth = MemoryPlinth::new();
        telemetry::setup().plinth(plinth.clone()).start().unwrap();
        record(0, 10);
        assert_eq!(EventFlush(), -c_long::from(libc::ENOTSUP));
        telemetry::flush();
        assert_eq!(common::read(&plinth.bytes()).words(5, 0).len(), 10);
    });
}
