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
            telemetry::label_address(CHILD, telemetry::intern("child"));
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

/// Who removes the ring while it is recorded into is told, once, and what he loses is counted.
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
        // What comes while the registry is registered is counted for none.
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
        // SAFETY: as above: zero stops the timer.
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
