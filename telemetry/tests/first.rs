//! The first event: it obeys earlier settings, and may come anywhere.

mod common;

use common::{CONTROL, Kinds, Three, ran};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use telemetry::{MemoryPlinth, Policy, SetupError, Writer, control, event, setup};

/// The stack that a first event may take in a handler. With the 3.3 KiB of the kernel, for
/// registers of 512 bits, it fits SIGSTKSZ. Unoptimized code needs more.
const STACK_SIZE: usize = if cfg!(debug_assertions) { 17 << 9 } else { 9 << 9 };

/// Returns the size that the kernel states for a handler's frame with all registers.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "getauxval")]
fn frame_size() -> usize {
    // SAFETY: reads a value that the kernel gave the process; 0 if the kernel gave none.
    let size = unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) } as usize;
    size.max(2048)
}

#[cfg(not(target_os = "linux"))]
fn frame_size() -> usize {
    libc::MINSIGSTKSZ
}

/// A kind that is switched off before the registry exists is off for its first event.
#[test]
fn a_kind_switched_off_early_is_off_for_the_first_event() {
    let test = "a_kind_switched_off_early_is_off_for_the_first_event";
    ran(test, &[], || {
        control::reset_recorded_everywhere(Kinds::Object);
        (0..3usize).for_each(|index| event!(Three, 0usize, index, index));
        assert_eq!(telemetry::losses(), telemetry::Losses::default());
        control::set_recorded_everywhere(Kinds::Object);
        event!(Three, 0usize, 0usize, 0usize);
        assert_eq!(telemetry::losses_of(&CONTROL, Kinds::Object).recorded, 1);
    });
}

extern "C" fn record_first(_: i32) {
    event!(Three, 0usize, 0usize, 0usize);
}

/// The first event of the process comes in a signal handler on a small stack, above an inaccessible
/// page. The handler creates registries, stream, file, thread and ring there.
#[test]
#[expect(unsafe_code, reason = "a signal handler on a stack of its own")]
fn a_first_event_in_a_handler_fits_on_a_small_stack() {
    let test = "a_first_event_in_a_handler_fits_on_a_small_stack";
    let Some(ran) = ran(test, &[("MPS_TELEMETRY_CONTROL", "Object")], || {
        // SAFETY: a new mapping, whose top becomes the handler's stack; the handler calls only the
        // runtime.
        unsafe {
            let none = std::ptr::null_mut();
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let start = libc::mmap(none, 1 << 20, libc::PROT_NONE, flags, -1, 0);
            assert_ne!(start, libc::MAP_FAILED);
            let stack = start.byte_add(1 << 19);
            let access = libc::PROT_READ | libc::PROT_WRITE;
            assert_eq!(libc::mprotect(stack, 1 << 19, access), 0);
            let size = frame_size() + STACK_SIZE;
            let stack = libc::stack_t { ss_sp: stack, ss_flags: 0, ss_size: size };
            assert_eq!(libc::sigaltstack(&stack, std::ptr::null_mut()), 0);
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = record_first as extern "C" fn(i32) as libc::sighandler_t;
            action.sa_flags = libc::SA_ONSTACK;
            assert_eq!(libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut()), 0);
            libc::raise(libc::SIGUSR1);
        }
    }) else {
        return;
    };
    assert_eq!(ran.stream().of(1).len(), 1);
}

/// The program has already done the work of a first event of a process and of a thread.
#[test]
fn prepare_does_the_work_of_a_first_event() {
    let test = "prepare_does_the_work_of_a_first_event";
    let Some(ran) = ran(test, &[("MPS_TELEMETRY_CONTROL", "Object")], || {
        let stored = || telemetry::store_losses().recorded;
        let prepare = || {
            telemetry::prepare();
            telemetry::prepare();
        };
        prepare();
        assert_eq!(stored(), 1, "the thread");
        event!(Three, 0usize, 0usize, 0usize);
        assert_eq!(stored(), 1);
        std::thread::spawn(prepare).join().unwrap();
        assert_eq!(stored(), 2, "the other thread");
    }) else {
        return;
    };
    assert_eq!(ran.stream().of(1).len(), 1);
}

/// A refused setup changes nothing, and states what to do.
#[test]
fn a_refused_setup_states_the_reason() {
    let test = "a_refused_setup_states_the_reason";
    ran(test, &[], || {
        for log2 in [0, 11, 21, 255] {
            let refused = setup().block_size_log2(log2).plinth(MemoryPlinth::new()).start();
            assert_eq!(refused, Err(SetupError::BlockSize(log2)));
        }
        for count in [0, 1, 65] {
            assert_eq!(setup().block_count(count).start(), Err(SetupError::BlockCount(count)));
        }
        let count = 64;
        assert_eq!(setup().block_count(count).plinth(MemoryPlinth::new()).start(), Ok(()));
        event!(Three, 0usize, 0usize, 0usize);
        for late in
            [setup().block_size_log2(16), setup().block_count(2), setup().writer_thread(true)]
        {
            let refused = late.on_fatal_signals(true).start().expect_err("a late setup");
            assert_eq!(refused, SetupError::TooLate);
            assert!(refused.to_string().ends_with("start the setup before the first event"));
        }
        let late = setup().plinth(MemoryPlinth::new()).start();
        assert_eq!(late, Err(SetupError::PlinthTooLate));
        assert_eq!(setup().policy(Policy::Discard).on_fatal_signals(true).start(), Ok(()));
    });
}

#[expect(unsafe_code, reason = "a signal handler")]
fn install(signal: i32, handler: extern "C" fn(i32), flags: i32) {
    // SAFETY: a static handler; all fields that are not set may be zero.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = flags;
        assert_eq!(libc::sigaction(signal, &action, std::ptr::null_mut()), 0);
    }
}

/// The first events come in a handler that interrupts `malloc`. Starting the wanted thread would
/// call `malloc`.
#[test]
#[expect(unsafe_code, reason = "signals, and memory of the C library")]
fn a_first_event_in_a_handler_never_waits_for_malloc() {
    let test = "a_first_event_in_a_handler_never_waits_for_malloc";
    for wanted in [("MPS_TELEMETRY_WRITER", "thread"), ("MPS_TELEMETRY_SOCKET", ".")] {
        for _ in 0..4 {
            let Some(ran) = ran(test, &[("MPS_TELEMETRY_CONTROL", "Object"), wanted], || {
                static IS_DONE: AtomicBool = AtomicBool::new(false);
                install(libc::SIGUSR1, record_first, libc::SA_RESTART);
                // SAFETY: this thread waits for the other one; if this thread hangs, the other one
                // ends the program.
                let me = unsafe { libc::pthread_self() } as usize;
                let other = std::thread::spawn(move || {
                    let begin = Instant::now();
                    while !IS_DONE.load(Ordering::Relaxed) {
                        std::thread::sleep(Duration::from_micros(700));
                        // SAFETY: the thread waits for this one, and so exists.
                        unsafe {
                            libc::pthread_kill(me as libc::pthread_t, libc::SIGUSR1);
                            if begin.elapsed() > Duration::from_secs(20) {
                                libc::_exit(9);
                            }
                        }
                    }
                });
                let begin = Instant::now();
                let mut held = [std::ptr::null_mut(); 64];
                for size in (2000usize..).step_by(7919) {
                    let place = &mut held[size % 64];
                    // SAFETY: null, or a block that `malloc` returned and that is not used again.
                    unsafe {
                        libc::free(*place);
                        *place = libc::malloc(2000 + size % 9000);
                    }
                    let is_over = || begin.elapsed() > Duration::from_millis(15);
                    // On a busy machine the first signal may come later.
                    if size % 128 == 0 && is_over() && telemetry::losses().recorded != 0 {
                        break;
                    }
                }
                IS_DONE.store(true, Ordering::Relaxed);
                other.join().unwrap();
            }) else {
                return;
            };
            assert!(!ran.stream().of(1).is_empty());
        }
    }
}

/// The runtime starts the writer thread only where the code is certainly not a signal handler.
#[test]
#[expect(unsafe_code, reason = "signals")]
fn the_next_ordinary_event_starts_the_writer_thread() {
    let test = "the_next_ordinary_event_starts_the_writer_thread";
    let environment = [("MPS_TELEMETRY_CONTROL", "Object"), ("MPS_TELEMETRY_WRITER", "thread")];
    ran(test, &environment, || {
        let writer = || telemetry::status().writer;
        install(libc::SIGUSR1, record_first, 0);
        let raise = || {
            // SAFETY: the handler only records.
            unsafe { libc::raise(libc::SIGUSR1) };
        };
        raise();
        assert_eq!(writer(), Writer::None, "a blocked signal: a handler runs");
        install(libc::SIGUSR1, record_first, libc::SA_NODEFER);
        raise();
        telemetry::flush();
        assert_eq!(writer(), Writer::None, "the handler of an SA_NODEFER signal may run");
        install(libc::SIGUSR1, record_first, 0);
        telemetry::flush();
        assert_eq!(writer(), Writer::Thread);
    });
}
