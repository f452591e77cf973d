//! What the crash handler asks of the host on a fatal signal, and hosts that obstruct it.
//!
//! ```text
//!  signal ─▶ handler ─▶ pwrite …            no futex, no mmap, no open
//!                └─ full disk · FIFO without a reader · own plinth, interrupted
//! ```
//!
//! Design: `.sol.exit` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "signals and limits")]

mod common;

use common::{Pooled, Stream, Three, ThreeSeg};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use telemetry::{FilePlinth, MemoryPlinth, Operation, Plinth, PlinthError, event};

const ALL: (&str, &str) = ("MPS_TELEMETRY_CONTROL", "all");
const SMALL: (&str, &str) = ("MPS_TELEMETRY_BLOCK_SIZE", "4096");
const CRASH: (&str, &str) = ("MPS_TELEMETRY_CRASH", "1");

fn raise(signal: i32) {
    // SAFETY: raising a signal is the purpose of the test.
    unsafe { libc::raise(signal) };
}

fn record(count: usize) {
    for index in 0..count {
        event!(Three, 0usize, index, index);
        event!(ThreeSeg, 0usize, index, index);
    }
}

/// What a child that died of a signal left.
struct Died {
    folder: tempfile::TempDir,
    said: Vec<String>,
}

/// Runs the test in a child, which must die of this signal.
fn died(test: &str, signal: i32, environment: &[(&str, &str)], wrap: &[&str]) -> Died {
    let folder = tempfile::tempdir().unwrap();
    let command = common::command(test, environment);
    let words = wrap.iter().map(std::ffi::OsStr::new).chain([command.get_program()]);
    let mut words = words.chain(command.get_args());
    let mut outer = Command::new(words.next().unwrap());
    outer.args(words).current_dir(folder.path()).stdout(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    let output = outer.output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.signal(), Some(signal), "{stderr}");
    let said = stderr.lines().filter(|line| line.starts_with("telemetry: "));
    Died { said: said.map(str::to_owned).collect(), folder }
}

impl Died {
    fn stream(&self) -> Stream {
        let stream = common::read(&std::fs::read(self.folder.path().join("mpsio.log")).unwrap());
        assert_eq!(stream.holes, 0);
        stream
    }
}

fn is_child() -> bool {
    std::env::var_os(common::PROCESS_VARIABLE).is_some()
}

/// After the signal, the handler makes only these system calls, which are async-signal-safe.
#[test]
fn the_crash_handler_makes_only_signal_safe_calls() {
    let test = "the_crash_handler_makes_only_signal_safe_calls";
    if is_child() {
        record(1100);
        return raise(libc::SIGTERM);
    }
    let wrap = ["strace", "-f", "-o", "trace"];
    let died = died(test, libc::SIGTERM, &[ALL, SMALL, CRASH], &wrap);
    let trace = std::fs::read_to_string(died.folder.path().join("trace")).unwrap();
    let mut after = trace.lines().skip_while(|line| !line.contains("--- SIGTERM"));
    let signal = after.next().unwrap_or_else(|| panic!("{trace}"));
    let thread = signal.split_whitespace().next();
    let calls: Vec<&str> = after
        .take_while(|line| !line.contains("+++"))
        .filter(|line| !line.contains("--- SIGTERM"))
        .filter(|line| line.split_whitespace().next() == thread)
        .filter_map(|line| line.split_whitespace().nth(1)?.split('(').next())
        .collect();
    let allowed = [
        "rt_sigprocmask",
        "rt_sigaction",
        "rt_sigreturn",
        "gettid",
        "getpid",
        "tgkill",
        "pwrite64",
        // The handler checks that the file descriptor still refers to the log, and how large the
        // log may become.
        "newfstatat",
        "fstat",
        "prlimit64",
    ];
    let others: Vec<_> = calls.iter().filter(|call| !allowed.contains(call)).collect();
    assert!(others.is_empty(), "{others:?} of {calls:?}");
    assert!(calls.iter().filter(|call| **call == "pwrite64").count() >= 2, "{calls:?}");
    assert_eq!(died.stream().of(1).len(), 1100);
}

/// `.write.torn`, `.write.fail`: lost events are reported, and the rest stays readable.
#[test]
fn a_full_disk_keeps_the_events_written_before() {
    let test = "a_full_disk_keeps_the_events_written_before";
    const SIZE: u64 = 40 << 10;
    if is_child() {
        let limit = libc::rlimit { rlim_cur: SIZE, rlim_max: SIZE };
        // SAFETY: reads a structure that lives through the call.
        unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) };
        record(500);
        let held = [0; 64].map(|_| std::thread::spawn(|| record(50)));
        held.into_iter().for_each(|thread| thread.join().unwrap());
        record(100);
        return raise(libc::SIGTERM);
    }
    let died = died(test, libc::SIGTERM, &[ALL, SMALL, CRASH], &[]);
    assert!((1..=2).contains(&died.said.len()), "{:?}", died.said);
    let stream = died.stream();
    assert!(stream.of(1).len() >= 400, "{}", stream.of(1).len());
    let size = std::fs::metadata(died.folder.path().join("mpsio.log")).unwrap().len();
    assert!(size <= SIZE);
}

/// A file whose n-th write is interrupted by a signal in the middle of a block.
struct Interrupted {
    file: FilePlinth,
    count: AtomicUsize,
    signal: i32,
}

impl Plinth for Interrupted {
    fn create(&self, block_size: usize) -> Result<(), PlinthError> {
        self.file.create(block_size)
    }

    fn write_block(&self, offset: u64, bytes: &[u8]) -> Result<(), PlinthError> {
        if self.count.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.file.write_block(offset, &bytes[..bytes.len() / 2])?;
            raise(self.signal);
        }
        self.file.write_block(offset, bytes)
    }

    fn can_rewrite(&self) -> bool {
        self.file.can_rewrite()
    }

    fn is_signal_safe(&self) -> bool {
        true
    }
}

/// The runtime is interrupted while it holds all its locks: `.stream.hole`, `.write.torn`.
#[test]
fn a_crash_within_the_plinth_tears_no_event() {
    let test = "a_crash_within_the_plinth_tears_no_event";
    const COUNT: &str = "TELEMETRY_TEST_COUNT";
    if is_child() {
        let count = std::env::var(COUNT).unwrap().parse::<usize>().unwrap();
        let signal = [libc::SIGTERM, libc::SIGABRT][count % 2];
        let file = FilePlinth::new("mpsio.log").unwrap();
        telemetry::setup()
            .plinth(Interrupted { file, count: count.into(), signal })
            .on_fatal_signals(true)
            .start()
            .unwrap();
        for index in 0..usize::MAX {
            event!(Three, 0usize, index, index);
            event!(Pooled, index);
            if index % 100 == 0 {
                telemetry::flush();
            }
            std::fs::write("count", (index + 1).to_string()).unwrap();
        }
    }
    for count in [1, 2, 3, 4, 5, 9, 16] {
        let signal = [libc::SIGTERM, libc::SIGABRT][count % 2];
        let environment = [ALL, SMALL, (COUNT, &count.to_string())];
        let died = died(test, signal, &environment, &[]);
        let recorded = std::fs::read_to_string(died.folder.path().join("count"));
        let recorded = recorded.map_or(0, |text| text.parse().unwrap());
        let found = died.stream().words(1, 1);
        assert!(found.len() >= recorded, "{count}: {} of {recorded}", found.len());
        assert!(found.iter().copied().eq(0..found.len() as u64), "{count}");
        assert!(died.said.is_empty(), "{:?}", died.said);
    }
}

/// The handler never calls a plinth that does not declare itself signal-safe.
#[test]
fn the_crash_handler_never_calls_an_unsafe_plinth() {
    let test = "the_crash_handler_never_calls_an_unsafe_plinth";
    if is_child() {
        assert!(!MemoryPlinth::new().is_signal_safe());
        telemetry::setup().plinth(MemoryPlinth::new()).start().unwrap();
        record(10);
        return raise(libc::SIGTERM);
    }
    let died = died(test, libc::SIGTERM, &[ALL, CRASH], &[]);
    assert_eq!(
        died.said,
        ["telemetry: a fatal signal: this log cannot be written in a signal handler"]
    );
}

/// A host that refuses every write.
struct Full;

impl Plinth for Full {
    fn create(&self, _: usize) -> Result<(), PlinthError> {
        Ok(())
    }

    fn write_block(&self, _: u64, _: &[u8]) -> Result<(), PlinthError> {
        Err(PlinthError { operation: Operation::Write, errno: libc::ENOSPC })
    }

    fn can_rewrite(&self) -> bool {
        true
    }

    fn is_signal_safe(&self) -> bool {
        true
    }
}

#[test]
fn a_refusing_host_is_reported_and_the_signal_ends_the_program() {
    let test = "a_refusing_host_is_reported_and_the_signal_ends_the_program";
    if is_child() {
        telemetry::setup().plinth(Full).start().unwrap();
        record(10);
        return raise(libc::SIGQUIT);
    }
    let died = died(test, libc::SIGQUIT, &[ALL, CRASH], &[]);
    assert!((1..=2).contains(&died.said.len()), "{:?}", died.said);
}

/// A pipe without a reader does not delay SIGTERM.
#[test]
fn a_pipe_without_a_reader_does_not_delay_sigterm() {
    let test = "a_pipe_without_a_reader_does_not_delay_sigterm";
    if is_child() {
        // The program itself opens the pipe for reading: the first event does not wait.
        let path = c"pipe".as_ptr();
        // SAFETY: the path ends with a NUL.
        unsafe {
            assert_eq!(libc::mkfifo(path, 0o600), 0);
            assert!(libc::open(path, libc::O_RDONLY | libc::O_NONBLOCK) >= 0);
        }
        record(10);
        telemetry::flush();
        for _ in 0..4 {
            std::thread::spawn(|| record(100_000));
        }
        std::thread::sleep(Duration::from_millis(100));
        return raise(libc::SIGTERM);
    }
    let begin = Instant::now();
    let environment = [ALL, CRASH, SMALL, ("MPS_TELEMETRY_FILENAME", "pipe")];
    died(test, libc::SIGTERM, &environment, &[]);
    assert!(begin.elapsed() < common::WAIT_MAX, "{:?}", begin.elapsed());
}

/// An invalid value is reported.
#[test]
fn an_invalid_crash_setting_is_reported_once() {
    let test = "an_invalid_crash_setting_is_reported_once";
    let environment = [ALL, ("MPS_TELEMETRY_CRASH", "perhaps")];
    let Some(ran) = common::ran(test, &environment, || record(1)) else { return };
    let said = "`perhaps` is neither 0 nor 1; fatal signals output nothing";
    assert_eq!(ran.said(), [format!("telemetry: MPS_TELEMETRY_CRASH: {said}")]);
    assert!(Path::new(ran.folder.path()).join("mpsio.log").exists());
}

/// A file that raises SIGUSR1 in each write of the crash handler.
struct Signalled(FilePlinth);

static WAY_OUT: AtomicUsize = AtomicUsize::new(0);
static SEEN: AtomicUsize = AtomicUsize::new(0);

impl Plinth for Signalled {
    fn create(&self, block_size: usize) -> Result<(), PlinthError> {
        self.0.create(block_size)
    }

    fn write_block(&self, offset: u64, bytes: &[u8]) -> Result<(), PlinthError> {
        if WAY_OUT.load(Ordering::Relaxed) == 1 {
            raise(libc::SIGUSR1);
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

extern "C" fn note_end(_: i32) {
    SEEN.store(SEEN.load(Ordering::Relaxed) * 10 + 1, Ordering::Relaxed);
}

extern "C" fn note_other(_: i32) {
    let stack = std::hint::black_box([0xEE_u8; 2048]);
    SEEN.store(
        SEEN.load(Ordering::Relaxed) * 10 + 2 + usize::from(stack[7] & 1),
        Ordering::Relaxed,
    );
}

/// A handler of another signal would overwrite the crash handler's stack: the signal waits until
/// the crash handler has ended.
#[test]
fn a_handler_of_another_signal_waits_for_the_crash_handler() {
    let test = "a_handler_of_another_signal_waits_for_the_crash_handler";
    let Some(ran) = common::ran(test, &[ALL, SMALL], || {
        telemetry::setup()
            .plinth(Signalled(FilePlinth::new("mpsio.log").unwrap()))
            .start()
            .unwrap();
        for (signal, handler) in
            [(libc::SIGTERM, note_end as extern "C" fn(i32)), (libc::SIGUSR1, note_other)]
        {
            // SAFETY: handlers that stay; all fields that are not set may be zero.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = handler as libc::sighandler_t;
                action.sa_flags = libc::SA_ONSTACK;
                assert_eq!(libc::sigaction(signal, &action, std::ptr::null_mut()), 0);
            }
        }
        let stack = vec![0_u8; 1 << 16].leak().as_mut_ptr();
        let stack = libc::stack_t { ss_sp: stack.cast(), ss_flags: 0, ss_size: 1 << 16 };
        // SAFETY: a stack that stays.
        unsafe { assert_eq!(libc::sigaltstack(&stack, std::ptr::null_mut()), 0) };
        telemetry::setup().on_fatal_signals(true).start().unwrap();
        record(100);
        WAY_OUT.store(1, Ordering::Relaxed);
        raise(libc::SIGTERM);
        WAY_OUT.store(2, Ordering::Relaxed);
        // Restoring the mask lets SIGUSR1 in; then the old handler of SIGTERM runs.
        assert_eq!(SEEN.load(Ordering::Relaxed), 21, "both handlers ran, one after the other");
    }) else {
        return;
    };
    assert_eq!(ran.stream().of(1).len(), 100);
}
