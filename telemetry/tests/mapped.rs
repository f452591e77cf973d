//! The mapped ring in a process to which things happen: a fork, signals.
//!
//! ```text
//!  event! ─▶ block of ring:ring?size=… ◀─ handler, on the same thread
//!                 └─ fork ─▶ child: its rings go on in private memory
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
/// What the child says in its events, which nothing else in a file looks like.
const CHILD: usize = 0x00C4_11D0_C411_D00C;

/// How many times a word stands in bytes at a multiple of eight.
fn count(bytes: &[u8], word: usize) -> usize {
    bytes.chunks(8).filter(|bytes| **bytes == word.to_ne_bytes()).count()
}

#[test]
fn a_forked_child_leaves_the_ring_of_its_parent_alone() {
    let test = "a_forked_child_leaves_the_ring_of_its_parent_alone";
    let Some(ran) = ran(test, &[ALL, SMALL, RING], || {
        const PARENT: usize = 0x00AA_55AA_55AA_55AA;
        let thread = std::thread::spawn(|| {
            (0..200_000usize).for_each(|index| event!(ThreeSeg, 1usize, index, PARENT));
        });
        (0..1000usize).for_each(|index| event!(Three, 0usize, index, PARENT));
        // SAFETY: the child calls nothing but the runtime, which may be called there, and _exit.
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
        // SAFETY: waits for the child, whose number it is.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!(status, 0, "the child counts on from where its parent was");
        thread.join().unwrap();
        let file = std::fs::read("ring").unwrap();
        assert_eq!(count(&file, CHILD), 0);
        // Each of 1100 events of one kind, and as many of the other as there is room for.
        assert!(count(&file, PARENT) > 1100 + 10_000, "{}", count(&file, PARENT));
    }) else {
        return;
    };
    let file = ran.file("ring");
    assert_eq!(count(&file, CHILD), 0, "{:?}", ran.said());
}

/// A removed ring is reported once while threads record into it, and its losses are counted.
#[test]
fn a_ring_that_is_removed_is_said_once_and_counted() {
    let test = "a_ring_that_is_removed_is_said_once_and_counted";
    let name = ("MPS_TELEMETRY_FILENAME", "ring:folder/ring?size=1M");
    let Some(ran) = ran(test, &[ALL, SMALL, name], || {
        std::fs::create_dir("folder").unwrap();
        (0..1000usize).for_each(|index| event!(Three, 0usize, index, 0usize));
        assert_eq!(telemetry::losses().io, 0);
        std::fs::remove_dir_all("folder").unwrap();
        (0..100_000usize).for_each(|index| event!(Three, 0usize, index, 0usize));
        let losses = telemetry::losses();
        assert_eq!((losses.recorded, losses.requested), (101_000, 101_000));
        // All but the block that was being filled then, and the one that is now.
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

/// `.sol.mapped.cut`: to nothing and to half of it, again and again, while four threads record.
#[test]
fn a_ring_that_is_truncated_is_counted_and_the_program_goes_on() {
    let test = "a_ring_that_is_truncated_is_counted_and_the_program_goes_on";
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
                // It may come back as zeros, which is as bad.
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
    // All but the block that was being filled then, and the one that is now.
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

/// A program that maps files may have its own handler of that signal.
#[test]
fn the_programs_own_handler_of_sigbus_gets_its_own_faults() {
    let test = "the_programs_own_handler_of_sigbus_gets_its_own_faults";
    for crash in ["0", "1"] {
        let environment = [ALL, SMALL, RING, ("MPS_TELEMETRY_CRASH", crash)];
        let begin = std::time::Instant::now();
        let Some(_) = ran(test, &environment, fault_in_own_page) else { return };
        // Nobody waits for a thread as if it were about to die.
        assert!(begin.elapsed().as_secs() < 4, "{crash}: {:?}", begin.elapsed());
    }
}

fn fault_in_own_page() {
    let options = || std::fs::File::options().read(true).write(true).clone();
    let own = options().create_new(true).open("own").unwrap();
    own.set_len(4096).unwrap();
    let descriptor = std::os::fd::AsRawFd::as_raw_fd(&own);
    // SAFETY: a new mapping; the structure is filled before it is used.
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
    // SAFETY: mapped; its handler sees to it that it can be written.
    unsafe { page.cast::<u64>().write_volatile(7) };
    // SAFETY: mapped; its handler sees to it that it can be read.
    assert_eq!(unsafe { page.cast::<u64>().read_volatile() }, 7);
    event!(Three, 0usize, 1usize, 0usize);
    assert_eq!(telemetry::losses().recorded, 2);
}

static HANDLED: AtomicUsize = AtomicUsize::new(0);
/// Handlers that are at work, and whether they have no more to do: the signal comes to the other
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

/// `.block.discarded`: of each request it is known what became of it.
#[test]
fn a_handler_that_records_into_a_mapped_ring_harms_nothing() {
    let test = "a_handler_that_records_into_a_mapped_ring_harms_nothing";
    let _ = ran(test, &[ALL, SMALL, RING], || {
        // Events during the registration of the registry count for none.
        event!(Three, 1usize, 0usize, 0usize);
        // SAFETY: the handler calls nothing but the runtime; the structures are filled before they
        // are used, and live through the calls.
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
        // The file says so without being told to.
        let file = std::fs::read("ring").unwrap();
        let nested_of = |block: &[u8]| {
            let is_object = block[..5] == [0xF7, 0x45, 0x4C, 0x8A, 1] && block[12..15] == [1, 0, 5];
            if is_object { common::u32_at(block, 116) } else { 0 }
        };
        let told = file.chunks(4096).map(nested_of).max();
        assert_eq!(told.map(u64::from), Some(of(Kinds::Object).nested));
    });
}
