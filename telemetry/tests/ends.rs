//! The ways in which a program may end: its log holds everything that it recorded.
//!
//! ```text
//!  child: 4 threads record, and publish counts in a shared mapping ─▶ it dies, in many ways
//!  test:  exit status as without the runtime; log: no hole, no damage, every published event
//! ```
//!
//! Design: `.sol.exit` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "real signals, faults and handlers")]

mod common;

use common::{Pooled, Stream, Three, ThreeSeg};
use std::ffi::{c_int, c_void};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use telemetry::event;

const ALL: (&str, &str) = ("MPS_TELEMETRY_CONTROL", "all");
const SMALL: (&str, &str) = ("MPS_TELEMETRY_BLOCK_SIZE", "4096");
const CRASH: (&str, &str) = ("MPS_TELEMETRY_CRASH", "1");
const WRITER: (&str, &str) = ("MPS_TELEMETRY_WRITER", "thread");
/// Set in a child: the way in which it ends.
const END: &str = "TELEMETRY_TEST_END";
const THREAD_COUNT: usize = 4;
/// Words of the shared mapping: the events of each thread; their number when the end began, which
/// the log must hold; whether the child is ready.
const WORD_COUNT: usize = 512;
const AT_END: usize = 64;
const READY: usize = 128;

/// Maps a file that parent and child share.
fn shared(path: &Path) -> &'static [AtomicU64; WORD_COUNT] {
    let mut options = std::fs::OpenOptions::new();
    let file = options.read(true).write(true).create(true).truncate(false).open(path).unwrap();
    file.set_len(WORD_COUNT as u64 * 8).unwrap();
    // SAFETY: a new mapping, of words that both processes use as atomics.
    unsafe {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let fd = std::os::fd::AsRawFd::as_raw_fd(&file);
        let none = std::ptr::null_mut();
        let start = libc::mmap(none, WORD_COUNT * 8, access, libc::MAP_SHARED, fd, 0);
        assert_ne!(start, libc::MAP_FAILED);
        &*start.cast()
    }
}

fn published() -> &'static [AtomicU64; WORD_COUNT] {
    shared(Path::new("published"))
}

/// Records events of three kinds, and publishes their number after each.
fn record(thread: usize, from: usize, count: usize, published: &AtomicU64) {
    for index in from..from + count {
        event!(Three, thread, index, index);
        event!(ThreeSeg, thread, index, index);
        if index % 16 == 0 {
            event!(Pooled, index);
        }
        published.store(index as u64 + 1, Ordering::Release);
        // On a busy machine the end may come late.
        if index > 3000 && index % 32 == 0 {
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}

/// Starts the threads, and waits until all of them record.
fn start_threads(count: usize) -> Vec<std::thread::JoinHandle<()>> {
    let published = published();
    let start = |thread: usize| {
        std::thread::Builder::new()
            .name(format!("recorder {thread}"))
            .spawn(move || record(thread, 0, count, &published[thread]))
            .unwrap()
    };
    let threads = (0..THREAD_COUNT).map(start).collect();
    let begun = |thread: usize| published[thread].load(Ordering::Acquire) > 0;
    while !(0..THREAD_COUNT).all(begun) {
        std::thread::yield_now();
    }
    threads
}

/// Copies the published numbers when the end begins: other threads continue meanwhile.
fn note_end(published: &[AtomicU64; WORD_COUNT]) {
    for thread in 0..THREAD_COUNT {
        let count = published[thread].load(Ordering::Acquire);
        published[AT_END + thread].store(count, Ordering::Release);
    }
}

/// Runs a test of this program in a child that may die.
fn child(test: &str, end: &str, folder: &Path, environment: &[(&str, &str)]) -> Child {
    let mut command = common::command(test, environment);
    for name in ["CRASH", "TRACEBACK"] {
        if !environment.iter().any(|(each, _)| each.ends_with(name)) {
            command.env_remove(format!("MPS_TELEMETRY_{name}"));
        }
    }
    command.env(END, end).current_dir(folder);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// What a child left.
struct Left {
    folder: tempfile::TempDir,
    status: ExitStatus,
    stderr: String,
}

fn end(test: &str, end: &str, environment: &[(&str, &str)]) -> Left {
    let folder = tempfile::tempdir().unwrap();
    let output = child(test, end, folder.path(), environment).wait_with_output().unwrap();
    Left { folder, status: output.status, stderr: String::from_utf8(output.stderr).unwrap() }
}

impl Left {
    /// Returns the log after checking that it has every published event and no hole.
    fn checked(&self, what: &str) -> Stream {
        let log = std::fs::read(self.folder.path().join("mpsio.log"));
        let stream = common::read(&log.unwrap_or_else(|_| panic!("{what}: {}", self.stderr)));
        let published = shared(&self.folder.path().join("published"));
        check_events(&stream, published, what);
        assert_eq!(stream.holes, 0, "{what}");
        stream
    }
}

fn check_events(stream: &Stream, published: &[AtomicU64; WORD_COUNT], what: &str) {
    for code in [1, 2] {
        let mut found = vec![Vec::new(); THREAD_COUNT];
        for event in stream.of(code) {
            found[event.word(0) as usize].push(event.word(1));
        }
        for (thread, mut found) in found.into_iter().enumerate() {
            found.sort_unstable();
            let published = published[AT_END + thread].load(Ordering::Acquire);
            let count = found.len() as u64;
            assert!(count >= published, "{what}: {count} of {published}, thread {thread}");
            assert!(found.iter().copied().eq(0..count), "{what}: thread {thread}");
        }
    }
}

/// Returns, in a child, the way in which it ends; `None` in the test itself.
fn ending() -> Option<String> {
    let end = std::env::var(END).ok()?;
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: reads a structure that lives through the call.
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &none) };
    Some(end)
}

/// Causes a signal by a fault of this thread.
fn fault(signal: c_int) {
    // SAFETY: the faults are the purpose of the test.
    unsafe {
        match signal {
            libc::SIGSEGV => std::ptr::without_provenance_mut::<u8>(8).write_volatile(1),
            libc::SIGBUS => {
                let file = tempfile::tempfile().unwrap();
                file.set_len(4096).unwrap();
                let fd = std::os::fd::AsRawFd::as_raw_fd(&file);
                let none = std::ptr::null_mut();
                let access = libc::PROT_READ | libc::PROT_WRITE;
                let start = libc::mmap(none, 4096, access, libc::MAP_SHARED, fd, 0);
                file.set_len(0).unwrap();
                start.cast::<u8>().write_volatile(1);
            }
            #[cfg(target_arch = "x86_64")]
            libc::SIGILL => std::arch::asm!("ud2"),
            #[cfg(target_arch = "x86_64")]
            libc::SIGFPE => std::arch::asm!("div {0:e}", in(reg) 0, inout("eax") 1 => _,
                inout("edx") 0 => _),
            _ => _ = libc::raise(signal),
        }
    }
}

/// Overflows the stack.
#[expect(unconditional_recursion, reason = "that is what it does")]
fn overflow(depth: usize) -> usize {
    let page = std::hint::black_box([depth; 512]);
    overflow(page[depth % 512] + 1) + page[3]
}

extern "C" fn overflow_thread(_: *mut c_void) -> *mut c_void {
    event!(Pooled, 0usize);
    std::ptr::without_provenance_mut(overflow(0))
}

fn die(end: &str) {
    match end {
        "abort" => std::process::abort(),
        "overflow of the first thread" => _ = overflow(0),
        "overflow of a thread" => _ = std::thread::spawn(|| overflow(0)).join(),
        // SAFETY: a new thread, which never ends.
        "overflow of a raw thread" => unsafe {
            let mut thread = std::mem::zeroed();
            let none = std::ptr::null_mut();
            assert_eq!(
                libc::pthread_create(&mut thread, std::ptr::null(), overflow_thread, none),
                0
            );
            libc::pthread_join(thread, std::ptr::null_mut());
        },
        "two threads" => {
            let threads = [0, 1].map(|_| std::thread::spawn(|| fault(libc::SIGSEGV)));
            threads.into_iter().for_each(|thread| _ = thread.join());
        }
        signal => fault(signal.parse().unwrap()),
    }
}

/// Causes SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT, SIGTERM, SIGINT, SIGQUIT and
/// SIGHUP, by real faults where possible, while four threads record.
#[test]
fn no_fatal_signal_loses_a_recorded_event() {
    let test = "no_fatal_signal_loses_a_recorded_event";
    if let Some(end) = ending() {
        let _threads = start_threads(usize::MAX >> 1);
        note_end(published());
        return die(&end);
    }
    let signals = [4, 5, 6, 7, 8, 11, 31, 15, 2, 3, 1].map(|signal| signal.to_string());
    let others = [
        "abort",
        "overflow of the first thread",
        "overflow of a thread",
        "overflow of a raw thread",
        "two threads",
    ];
    for how in signals.iter().map(String::as_str).chain(others) {
        let without = end(test, how, &[]);
        for more in [&[][..], &[WRITER]] {
            let environment = [&[ALL, SMALL, CRASH], more].concat();
            let left = end(test, how, &environment);
            assert_eq!(left.status, without.status, "{how}: {}", left.stderr);
            assert!(left.status.signal().is_some(), "{how}: {}", left.status);
            let says = |left: &Left| left.stderr.contains("has overflowed its stack");
            assert_eq!(says(&left), says(&without), "{how}: {}", left.stderr);
            assert!(!left.checked(how).ended, "{how}: no end mark");
        }
    }
}

/// `.part.end`
#[test]
fn no_normal_end_loses_a_recorded_event() {
    let test = "no_normal_end_loses_a_recorded_event";
    if let Some(end) = ending() {
        start_threads(1000).into_iter().for_each(|thread| thread.join().unwrap());
        note_end(published());
        match end.as_str() {
            "return" => return,
            "exit" => std::process::exit(17),
            // SAFETY: the call ends the process.
            "quick_exit" => unsafe { quick_exit(18) },
            "flush and _exit" => {
                telemetry::flush();
                // SAFETY: the call ends the process.
                unsafe { libc::_exit(19) }
            }
            "flush and exec" => {
                telemetry::flush();
                let error = std::process::Command::new("false").exec();
                unreachable!("{error}")
            }
            "panic" => panic!("it unwinds"),
            "panic in a thread" => {
                let thread = std::thread::spawn(|| panic!("it unwinds"));
                assert!(thread.join().is_err());
                return;
            }
            other => unreachable!("{other}"),
        }
    }
    let ends = [
        ("return", 0),
        ("exit", 17),
        ("quick_exit", 18),
        ("flush and _exit", 19),
        ("flush and exec", 1),
        ("panic", 101),
        ("panic in a thread", 0),
    ];
    for (how, code) in ends {
        for environment in [&[ALL, SMALL][..], &[ALL, SMALL, CRASH]] {
            let left = end(test, how, environment);
            assert_eq!(left.status.code(), Some(code), "{how}: {}", left.stderr);
            assert_eq!(left.checked(how).ended, !how.starts_with("flush"), "{how}");
        }
    }
}

unsafe extern "C" {
    fn quick_exit(status: c_int) -> !;
}

/// The signal may interrupt the runtime itself. `.stream.hole`, `.write.torn`: no event is missing
/// or torn.
#[test]
fn a_signal_at_any_moment_loses_no_published_event() {
    let test = "a_signal_at_any_moment_loses_no_published_event";
    if let Some(end) = ending() {
        // The standard library's handler ignores a signal without a fault.
        // SAFETY: the default action, set before the runtime has a handler.
        unsafe { libc::signal(libc::SIGSEGV, libc::SIG_DFL) };
        let _threads = start_threads(usize::MAX >> 1);
        // The signal must go to a recording thread, not to the first one.
        // SAFETY: the set is filled before use.
        unsafe {
            let mut all: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &all, std::ptr::null_mut());
        }
        published()[READY].store(1, Ordering::Release);
        assert_eq!(end, "sleep");
        std::thread::sleep(Duration::from_secs(60));
        return;
    }
    let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
    for run in 0..200 {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        let (signal, wait) = ([libc::SIGTERM, libc::SIGSEGV][run % 2], seed % 2_000_000);
        let folder = tempfile::tempdir().unwrap();
        let published = shared(&folder.path().join("published"));
        let environment = [&[ALL, SMALL, CRASH][..], &[WRITER]];
        let environment =
            if run % 4 < 3 { environment[..1].concat() } else { environment.concat() };
        let mut child = child(test, "sleep", folder.path(), &environment);
        while published[READY].load(Ordering::Acquire) == 0 {
            assert!(child.try_wait().unwrap().is_none(), "the child ended by itself");
            std::thread::sleep(Duration::from_micros(200));
        }
        std::thread::sleep(Duration::from_nanos(wait));
        note_end(published);
        // SAFETY: the child has not been waited for.
        assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.signal(), Some(signal), "{output:?}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        let left = Left { folder, status: output.status, stderr };
        left.checked(&format!("run {run}, signal {signal}, after {wait} ns"));
    }
}

/// Handlers that the program installed before the runtime.
mod before {
    use super::*;

    pub(super) static CALLED: AtomicU64 = AtomicU64::new(0);
    pub(super) static BARRIER: AtomicU64 = AtomicU64::new(0);

    pub(super) extern "C" fn count(_: c_int) {
        CALLED.fetch_add(1, Ordering::Relaxed);
    }

    /// Resolves a write barrier: makes the page writable.
    pub(super) extern "C" fn lift(_: c_int, _: *mut libc::siginfo_t, _: *mut c_void) {
        CALLED.fetch_add(1, Ordering::Relaxed);
        let page = std::ptr::with_exposed_provenance_mut(BARRIER.load(Ordering::Relaxed) as usize);
        // SAFETY: the page is the test's own mapping.
        unsafe { libc::mprotect(page, 4096, libc::PROT_READ | libc::PROT_WRITE) };
    }

    pub(super) fn install(signal: c_int, action: usize, flags: c_int) {
        // SAFETY: the handler has the form that the flags state.
        unsafe {
            let mut new: libc::sigaction = std::mem::zeroed();
            new.sa_sigaction = action;
            new.sa_flags = flags;
            assert_eq!(libc::sigaction(signal, &new, std::ptr::null_mut()), 0);
        }
    }

    pub(super) fn installed(signal: c_int) -> usize {
        // SAFETY: fills a structure that lives through the call.
        unsafe {
            let mut now: libc::sigaction = std::mem::zeroed();
            assert_eq!(libc::sigaction(signal, std::ptr::null(), &mut now), 0);
            now.sa_sigaction
        }
    }
}

/// The program's handler of SIGTERM returns: the program continues to record, and ends its log.
#[test]
fn a_program_continues_after_its_own_handler_returns() {
    let test = "a_program_continues_after_its_own_handler_returns";
    if ending().is_some() {
        let handler = before::count as extern "C" fn(c_int);
        before::install(libc::SIGTERM, handler as usize, libc::SA_RESTART);
        telemetry::setup().on_fatal_signals(true).start().unwrap();
        let published = published();
        let threads = start_threads(5_000);
        for _ in 0..5 {
            fault(libc::SIGTERM);
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        (0..THREAD_COUNT).for_each(|thread| record(thread, 5_000, 500, &published[thread]));
        note_end(published);
        assert_eq!(before::CALLED.load(Ordering::Relaxed), 5);
        return;
    }
    let left = end(test, "yes", &[ALL, SMALL]);
    assert!(left.status.success(), "{}", left.stderr);
    let stream = left.checked("it went on");
    assert_eq!((stream.ended, stream.of(1).len()), (true, THREAD_COUNT * 5_500));
    assert_eq!(left.stderr.matches("telemetry: ").count(), 0, "{}", left.stderr);
}

/// The program's handler resolves each fault, as a garbage collector does.
#[test]
fn a_program_continues_after_a_fault_that_it_resolves() {
    let test = "a_program_continues_after_a_fault_that_it_resolves";
    if ending().is_some() {
        type Barrier = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
        before::install(libc::SIGSEGV, before::lift as Barrier as usize, libc::SA_SIGINFO);
        telemetry::setup().on_fatal_signals(true).start().unwrap();
        let published = published();
        let threads = start_threads(5_000);
        // SAFETY: a new mapping.
        let page = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_NONE, flags, -1, 0)
        };
        before::BARRIER.store(page.expose_provenance() as u64, Ordering::Relaxed);
        for round in 1..=100 {
            // SAFETY: the handler makes the page writable.
            unsafe {
                page.cast::<u64>().write_volatile(round);
                libc::mprotect(page, 4096, libc::PROT_NONE);
            }
            assert_eq!(before::CALLED.load(Ordering::Relaxed), round);
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        note_end(published);
        return;
    }
    let left = end(test, "yes", &[ALL, SMALL]);
    assert!(left.status.success(), "{}", left.stderr);
    let stream = left.checked("it went on");
    assert_eq!((stream.ended, stream.of(1).len()), (true, THREAD_COUNT * 5_000));
}

#[test]
fn the_runtime_leaves_an_ignored_signal_ignored() {
    let test = "the_runtime_leaves_an_ignored_signal_ignored";
    if ending().is_some() {
        before::install(libc::SIGINT, libc::SIG_IGN, 0);
        before::install(libc::SIGHUP, libc::SIG_IGN, 0);
        telemetry::setup().on_fatal_signals(true).start().unwrap();
        telemetry::setup().on_fatal_signals(true).start().unwrap();
        record(0, 0, 10, &published()[0]);
        fault(libc::SIGINT);
        fault(libc::SIGHUP);
        assert_eq!(before::installed(libc::SIGINT), libc::SIG_IGN);
        assert_ne!(before::installed(libc::SIGTERM), libc::SIG_DFL, "SIGTERM has no handler");
        assert_eq!(before::installed(libc::SIGUSR1), libc::SIG_DFL, "SIGUSR1 has a handler");
        return;
    }
    let left = end(test, "yes", &[ALL, SMALL]);
    assert!(left.status.success(), "{}", left.stderr);
    assert_eq!(left.checked("ignored").of(1).len(), 10);
}

/// The kernel takes up to half of a handler's stack of 8 KiB; the runtime takes little of the rest.
#[test]
fn the_crash_handler_fits_on_a_small_stack() {
    let test = "the_crash_handler_fits_on_a_small_stack";
    const SIZE: usize = 8 << 10;
    if ending().is_some() {
        let handler = before::count as extern "C" fn(c_int);
        before::install(libc::SIGTERM, handler as usize, libc::SA_ONSTACK);
        before::install(libc::SIGUSR1, handler as usize, libc::SA_ONSTACK);
        telemetry::setup().on_fatal_signals(true).start().unwrap();
        record(0, 0, 1000, &published()[0]);
        let used = |signal| {
            let stack = vec![0xA5_u8; 4 * SIZE].leak();
            let start = stack.as_mut_ptr();
            let stack_of =
                |flags, size| libc::stack_t { ss_sp: start.cast(), ss_flags: flags, ss_size: size };
            // SAFETY: the stack is never freed; the old one is this thread's own.
            unsafe {
                let mut old: libc::stack_t = std::mem::zeroed();
                assert_eq!(libc::sigaltstack(&stack_of(0, 4 * SIZE), &mut old), 0);
                libc::raise(signal);
                assert_eq!(libc::sigaltstack(&old, std::ptr::null_mut()), 0);
                let size = (0..4 * SIZE).find(|at| start.add(*at).read_volatile() != 0xA5);
                4 * SIZE - size.unwrap()
            }
        };
        let (without, with) = (used(libc::SIGUSR1), used(libc::SIGTERM));
        assert_eq!(before::CALLED.load(Ordering::Relaxed), 2);
        println!("{without} {with}");
        let taken = with - without;
        // This fits 8 KiB with the 3.3 KiB that the kernel takes for registers of 512 bits.
        assert!(taken < if cfg!(debug_assertions) { 3 << 10 } else { 2 << 10 }, "{taken} bytes");
        note_end(published());
        return;
    }
    let left = end(test, "yes", &[ALL, SMALL]);
    assert!(left.status.success(), "{}", left.stderr);
    left.checked("a small stack");
}

/// Takes this many kilobytes of a stack.
#[inline(never)]
fn take_stack(kilobytes: usize) -> u8 {
    let page = std::hint::black_box([kilobytes as u8; 1024]);
    if kilobytes > 1 {
        take_stack(kilobytes - 1).wrapping_add(page[kilobytes % 1024])
    } else {
        page[0]
    }
}

extern "C" fn take_60_and_end(_: c_int) {
    std::hint::black_box(take_stack(60));
    // SAFETY: the call ends the process.
    unsafe { libc::_exit(7) }
}

extern "C" fn take_300_and_end(_: c_int) {
    std::hint::black_box(take_stack(300));
    // SAFETY: the call ends the process.
    unsafe { libc::_exit(7) }
}

extern "C" fn in_raw_thread(how: *mut c_void) -> *mut c_void {
    record(0, 0, 3000, &published()[0]);
    note_end(published());
    fault(how.addr() as c_int);
    how
}

/// The runtime gives a thread without a signal stack one for the crash handler. The thread's own
/// handlers run where they would run without the runtime, and overwrite nothing below their stack.
#[test]
fn a_handler_runs_on_the_same_stack_as_without_the_runtime() {
    let test = "a_handler_runs_on_the_same_stack_as_without_the_runtime";
    let (small, large) =
        (take_60_and_end as extern "C" fn(c_int), take_300_and_end as extern "C" fn(c_int));
    // Signal, handler, flags; then the exit code, or `None` if a signal ends the program.
    let cases = [
        (libc::SIGSEGV, large, 0, Some(7)),
        (libc::SIGSEGV, large, libc::SA_ONSTACK, Some(7)),
        (libc::SIGTERM, large, 0, Some(7)),
        (libc::SIGUSR1, small, libc::SA_ONSTACK, Some(7)),
        // SIGUSR1 is not fatal: its handler runs on the runtime's stack, which is finite.
        (libc::SIGUSR1, large, libc::SA_ONSTACK, None),
    ];
    if let Some(end) = ending() {
        let (signal, handler, flags, _) = cases[end.parse::<usize>().unwrap()];
        before::install(signal, handler as usize, flags);
        // SAFETY: a new thread.
        unsafe {
            let mut thread = std::mem::zeroed();
            let how = std::ptr::without_provenance_mut(signal as usize);
            assert_eq!(libc::pthread_create(&mut thread, std::ptr::null(), in_raw_thread, how), 0);
            libc::pthread_join(thread, std::ptr::null_mut());
        }
        unreachable!("the handler ends the program");
    }
    for (index, (.., code)) in cases.into_iter().enumerate() {
        let left = end(test, &index.to_string(), &[ALL, SMALL, CRASH]);
        assert_eq!(left.status.code(), code, "{index}: {} {}", left.status, left.stderr);
        if code.is_none() {
            assert_eq!(left.status.signal(), Some(libc::SIGSEGV), "{index}");
        } else if index < 3 {
            left.checked(&index.to_string());
        }
    }
}
