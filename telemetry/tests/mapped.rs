//! The mapped ring in a process that forks, gets signals, or loses the file.
//!
//! ```text
//!  event! ─▶ block of ring:ring?size=… ◀─ handler, on the same thread
//!                 └─ fork ─▶ child: its rings continue in private memory
//! ```
//!
//! Design: `.sol.mapped`, `.sol.fork`, `.sol.nested` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "fork, signals")]

mod common;

use common::{Pooled, Three, ThreeSeg, ran};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use telemetry::{Kinds, event};

const ALL: (&str, &str) = ("MPS_TELEMETRY_CONTROL", "all");
const SMALL: (&str, &str) = ("MPS_TELEMETRY_BLOCK_SIZE", "4096");
const RING: (&str, &str) = ("MPS_TELEMETRY_FILENAME", "ring:ring?size=1M");
/// A value of the child's events, which occurs nowhere else in a file.
const CHILD: usize = 0x00C4_11D0_C411_D00C;

/// Counts a word at multiples of eight bytes.
fn count(bytes: &[u8], word: usize) -> usize {
    bytes.chunks(8).filter(|bytes| **bytes == word.to_ne_bytes()).count()
}

#[test]
fn a_forked_child_leaves_its_parents_ring_alone() {
    let test = "a_forked_child_leaves_its_parents_ring_alone";
    let Some(ran) = ran(test, &[ALL, SMALL, RING], || {
        const PARENT: usize = 0x00AA_55AA_55AA_55AA;
        let thread = std::thread::spawn(|| {
            (0..200_000usize).for_each(|index| event!(ThreeSeg, 1usize, index, PARENT));
        });
        (0..1000usize).for_each(|index| event!(Three, 0usize, index, PARENT));
        // SAFETY: the child calls only the runtime, which allows that, and `_exit`.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let before = telemetry::losses_of(&common::CONTROL, Kinds::Object);
            (0..5000usize).for_each(|index| event!(Three, 0usize, index, CHILD));
            telemetry::label_address(CHILD, telemetry::add_string("child"));
            telemetry::flush();
            let after = telemetry::losses_of(&common::CONTROL, Kinds::Object);
            let is_right = after.requested == before.requested + 5000;
            // SAFETY: ends the process.
            unsafe { libc::_exit(if is_right { 0 } else { 1 }) };
        }
        (1000..1100usize).for_each(|index| event!(Three, 0usize, index, PARENT));
        let mut status = 0;
        // SAFETY: waits for the child of this number.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!(status, 0, "the child's counts continue its parent's");
        thread.join().unwrap();
        let file = std::fs::read("ring").unwrap();
        assert_eq!(count(&file, CHILD), 0);
        // All 1100 events of one kind, and events of the other kind as far as the ring has room.
        assert!(count(&file, PARENT) > 1100 + 10_000, "{}", count(&file, PARENT));
    }) else {
        return;
    };
    let file = ran.file("ring");
    assert_eq!(count(&file, CHILD), 0, "{:?}", ran.said());
}

/// The runtime reports a removed ring once while threads record into it, and counts the losses.
#[test]
fn a_removed_ring_is_reported_once_and_losses_are_counted() {
    let test = "a_removed_ring_is_reported_once_and_losses_are_counted";
    let name = ("MPS_TELEMETRY_FILENAME", "ring:folder/ring?size=1M");
    let Some(ran) = ran(test, &[ALL, SMALL, name], || {
        std::fs::create_dir("folder").unwrap();
        (0..1000usize).for_each(|index| event!(Three, 0usize, index, 0usize));
        assert_eq!(telemetry::losses().io, 0);
        std::fs::remove_dir_all("folder").unwrap();
        (0..100_000usize).for_each(|index| event!(Three, 0usize, index, 0usize));
        let losses = telemetry::losses();
        assert_eq!((losses.recorded, losses.requested), (101_000, 101_000));
        // All events except those in the block of that time and in the current one.
        assert!((100_000 - 124..=100_124).contains(&losses.io), "{losses:?}");
        let error = telemetry::status().last_error.unwrap().error;
        assert_eq!(error.errno, libc::ENOENT);
    }) else {
        return;
    };
    let said = ran.said();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("folder/ring: No such file or directory"), "{said:?}");
}

/// `.sol.mapped.cut`: the test truncates the file again and again while four threads record.
#[test]
fn a_program_survives_the_truncation_of_its_ring() {
    let test = "a_program_survives_the_truncation_of_its_ring";
    for size in ["0", "524288", "5000"] {
        let environment = [ALL, SMALL, RING, ("TELEMETRY_TEST_SIZE", size)];
        let Some(ran) = ran(test, &environment, truncate_and_record) else { return };
        let said = ran.said();
        assert_eq!(said.len(), 1, "{size}: {said:?}");
        assert!(said[0].contains("ring: another process has truncated it"), "{size}: {said:?}");
    }
}

fn truncate_and_record() {
    const EVENT_COUNT: usize = 100_000;
    let size = std::env::var("TELEMETRY_TEST_SIZE").unwrap().parse().unwrap();
    (0..1000usize).for_each(|index| event!(Three, 0usize, index, 0usize));
    let file = std::fs::File::options().write(true).open("ring").unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let threads = [1usize, 2, 3, 4].map(|thread| {
            scope.spawn(move || {
                for index in 0..EVENT_COUNT {
                    event!(Three, thread, index, 0usize);
                    if index.is_multiple_of(100) {
                        event!(Pooled, index);
                        telemetry::label_address(index, telemetry::add_string("somewhere"));
                    }
                }
            })
        });
        let is_over = &is_over;
        scope.spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                file.set_len(size).unwrap();
                telemetry::flush();
                let _ = telemetry::traceback(20, &mut String::new());
                // The file grows again, with zeros in place of the events.
                file.set_len(1 << 20).unwrap();
                std::thread::sleep(std::time::Duration::from_micros(200));
            }
            file.set_len(size).unwrap();
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        is_over.store(true, Ordering::Relaxed);
    });
    let before = telemetry::losses();
    (0..EVENT_COUNT).for_each(|index| event!(Three, 0usize, index, 0usize));
    let losses = telemetry::losses();
    assert!(losses.overwritten + losses.io <= losses.recorded, "{losses:?}");
    // All events except those in the block of that time and in the current one.
    let recorded = losses.recorded - before.recorded;
    assert!((EVENT_COUNT as u64 - 248..=EVENT_COUNT as u64).contains(&recorded), "{losses:?}");
    assert!(losses.io - before.io >= EVENT_COUNT as u64 - 372, "{before:?} {losses:?}");
    let error = telemetry::status().last_error.unwrap().error;
    assert_eq!(error.operation, telemetry::Operation::Keep);
}

static OWN_PAGE: AtomicUsize = AtomicUsize::new(0);

extern "C" fn map_own_page(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_FIXED;
    // SAFETY: the page is the test's own.
    unsafe {
        if (*info).si_addr().addr() == OWN_PAGE.load(Ordering::Relaxed) {
            libc::mmap((*info).si_addr(), 4096, access, flags, -1, 0);
        }
    }
}

/// A program that maps files may have its own handler of SIGBUS.
#[test]
fn a_programs_own_sigbus_handler_gets_its_faults() {
    let test = "a_programs_own_sigbus_handler_gets_its_faults";
    for crash in ["0", "1"] {
        let environment = [ALL, SMALL, RING, ("MPS_TELEMETRY_CRASH", crash)];
        // The crash handler must not wait for threads: none is about to die. The best of several:
        // on a busy machine all steps take longer.
        let mut best = std::time::Duration::MAX;
        for _ in 0..20 {
            let begin = std::time::Instant::now();
            let Some(_) = ran(test, &environment, fault_in_own_page) else { return };
            best = best.min(begin.elapsed());
            if best.as_secs() < 4 {
                break;
            }
        }
        assert!(best.as_secs() < 4, "{crash}: {best:?}");
    }
}

fn fault_in_own_page() {
    let options = || std::fs::File::options().read(true).write(true).clone();
    let own = options().create_new(true).open("own").unwrap();
    own.set_len(4096).unwrap();
    let descriptor = std::os::fd::AsRawFd::as_raw_fd(&own);
    // SAFETY: a new mapping; the structure is filled before use.
    let page = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let handler: extern "C" fn(_, _, _) = map_own_page;
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut());
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED;
        libc::mmap(std::ptr::null_mut(), 4096, access, flags, descriptor, 0)
    };
    OWN_PAGE.store(page.addr(), Ordering::Relaxed);
    event!(Three, 0usize, 0usize, 0usize);
    own.set_len(0).unwrap();
    // SAFETY: a mapped page, which the handler makes writable.
    unsafe { page.cast::<u64>().write_volatile(7) };
    // SAFETY: a mapped page, which the handler made readable.
    assert_eq!(unsafe { page.cast::<u64>().read_volatile() }, 7);
    event!(Three, 0usize, 1usize, 0usize);
    assert_eq!(telemetry::losses().recorded, 2);
}

static HANDLED: AtomicUsize = AtomicUsize::new(0);
/// Handlers that are running, and whether they must stop recording: the signal reaches the other
/// thread of the test as well.
static HANDLING: AtomicUsize = AtomicUsize::new(0);
static IS_OVER: AtomicBool = AtomicBool::new(false);

extern "C" fn record_in_handler(_: libc::c_int) {
    HANDLING.fetch_add(1, Ordering::SeqCst);
    if !IS_OVER.load(Ordering::SeqCst) {
        let index = HANDLED.fetch_add(1, Ordering::Relaxed);
        event!(Three, 2usize, index, 0usize);
        event!(Pooled, index);
    }
    HANDLING.fetch_sub(1, Ordering::SeqCst);
}

/// `.block.discarded`: every request is recorded or counted.
#[test]
fn a_handler_records_safely_into_a_mapped_ring() {
    let test = "a_handler_records_safely_into_a_mapped_ring";
    let _ = ran(test, &[ALL, SMALL, RING], || {
        // A request during the registration of the registry would not be counted.
        event!(Three, 1usize, 0usize, 0usize);
        // SAFETY: the handler calls only the runtime; the structures are filled before use, and
        // live through the calls.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = record_in_handler as *const () as usize;
            action.sa_flags = libc::SA_RESTART;
            libc::sigaction(libc::SIGALRM, &action, std::ptr::null_mut());
            let every = libc::timeval { tv_sec: 0, tv_usec: 100 };
            let timer = libc::itimerval { it_interval: every, it_value: every };
            libc::setitimer(libc::ITIMER_REAL, &timer, std::ptr::null_mut());
        }
        let begin = std::time::Instant::now();
        let mut recorded = 1;
        while begin.elapsed().as_millis() < 700 || HANDLED.load(Ordering::Relaxed) <= 100 {
            for _ in 0..100 {
                event!(Three, 1usize, recorded, 0usize);
                recorded += 1;
            }
        }
        // SAFETY: a structure that lives through the call; zero stops the timer.
        unsafe {
            let timer: libc::itimerval = std::mem::zeroed();
            libc::setitimer(libc::ITIMER_REAL, &timer, std::ptr::null_mut());
        }
        IS_OVER.store(true, Ordering::SeqCst);
        common::wait_until("no handler", || HANDLING.load(Ordering::SeqCst) == 0);
        let handled = HANDLED.load(Ordering::Relaxed);
        let of = |kind: Kinds| telemetry::losses_of(&common::CONTROL, kind);
        assert_eq!(of(Kinds::Object).requested, (recorded + handled) as u64);
        assert_eq!(of(Kinds::Pool).requested, handled as u64);
        let sum = of(Kinds::Object | Kinds::Pool);
        assert_eq!(sum.requested, sum.recorded + sum.nested + sum.full);
        assert_eq!((sum.io, sum.large), (0, 0));
        // The file has the count without a flush.
        let file = std::fs::read("ring").unwrap();
        let nested_of = |block: &[u8]| {
            let is_object = block[..5] == [0xF7, 0x45, 0x4C, 0x8A, 1] && block[12..15] == [1, 0, 5];
            if is_object { common::u32_at(block, 116) } else { 0 }
        };
        let told = file.chunks(4096).map(nested_of).max();
        assert_eq!(told.map(u64::from), Some(of(Kinds::Object).nested));
    });
}
