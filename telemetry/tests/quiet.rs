//! What recording does not do: allocate, and call the system.

mod common;

use common::{CONTROL, Kinds, Pooled, Sorts, Three, ran};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use telemetry::{control, event};

/// Counts what it is asked for by each thread: those of libtest allocate when they like.
struct Counting;

thread_local!(static ALLOCATION_COUNT: Cell<usize> = const { Cell::new(0) });

#[expect(unsafe_code, reason = "a global allocator")]
// SAFETY: all is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATION_COUNT.set(ALLOCATION_COUNT.get() + 1);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// From the first event to the last of a thread, with everything output: no allocation, not even
/// for the stream.
#[test]
fn recording_allocates_nothing() {
    let test = "recording_allocates_nothing";
    let environment = [("MPS_TELEMETRY_CONTROL", "Object User nonsense")];
    let Some(ran) = ran(test, &environment, || {
        let before = ALLOCATION_COUNT.get();
        record_and_flush();
        assert_eq!(ALLOCATION_COUNT.get(), before);
        drop(std::hint::black_box(Box::new(before)));
        assert_eq!(ALLOCATION_COUNT.get(), before + 1, "one that is made is counted");
    }) else {
        return;
    };
    assert_eq!(ran.stream().of(1).len(), 10_001);
    assert_eq!(ran.said().len(), 1);
}

fn record_and_flush() {
    let id = telemetry::intern("a string");
    telemetry::label_address(1, id);
    for index in 0..10_000usize {
        event!(Three, 0usize, index, index);
        event!(Pooled, index);
        let p = std::ptr::null::<u8>();
        event!(Sorts { p, b: false, u: 0u32, d: 0.0f64, w: index, a: 0usize, s: "a string" });
    }
    telemetry::flush();
    control::reset_output_everywhere(Kinds::User);
    event!(Three, 1usize, 0usize, 0usize);
    control::of(&CONTROL).reset_recorded(Kinds::Object);
    event!(Three, 2usize, 0usize, 0usize);
    control::of(&CONTROL).set_recorded(Kinds::Object);
    assert_ne!(telemetry::losses().recorded, 0);
}

/// Between two marks a program records a million events, of which half are output: the system sees
/// the blocks, and nothing else.
#[test]
fn recording_calls_the_system_for_blocks_alone() {
    let test = "recording_calls_the_system_for_blocks_alone";
    if std::env::var_os(common::PROCESS_VARIABLE).is_some() {
        event!(Three, 0usize, 0usize, 0usize);
        event!(Pooled, 0usize);
        // The name of the thread would go out before the first block.
        telemetry::flush();
        mark("BEGIN");
        for index in 0..500_000usize {
            event!(Three, 0usize, index, index);
            event!(Pooled, index);
        }
        mark("END");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let command = common::command(test, &[("MPS_TELEMETRY_CONTROL", "Object")]);
    let mut strace = std::process::Command::new("strace");
    strace.args(["-f", "-o", "trace"]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => strace.env(name, value),
            None => strace.env_remove(name),
        };
    }
    let output = match strace.current_dir(folder.path()).output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            panic!("this test needs strace, which is not installed")
        }
        Err(error) => panic!("{error}"),
    };
    assert!(output.status.success(), "{output:?}");
    let trace = std::fs::read_to_string(folder.path().join("trace")).unwrap();
    let between = trace.lines().skip_while(|line| !line.contains("BEGIN")).skip(1);
    let calls: Vec<_> = between.take_while(|line| !line.contains("END")).collect();
    let per_block = (65536 - 128) / 32;
    assert_eq!(calls.len(), (500_000 + 1) / per_block, "{calls:?}");
    assert!(calls.iter().all(|line| line.contains("pwrite64(") && line.contains("= 65536")));
}

/// A system call that shows in the trace.
#[expect(unsafe_code, reason = "a write that nobody buffers")]
fn mark(text: &str) {
    // SAFETY: reads the bytes of a string.
    unsafe { libc::write(-1, text.as_ptr().cast(), text.len()) };
}
