//! Recording neither allocates nor makes system calls.

mod common;
#[path = "common/counting.rs"]
mod counting;

use common::{CONTROL, Kinds, Pooled, Sorts, Three, ran};
use counting::Counting;
use std::cell::Cell;
use telemetry::{control, event};

thread_local!(static ALLOCATION_COUNT: Cell<usize> = const { Cell::new(0) });

/// Counts allocations by thread: libtest's own threads allocate at any time.
#[global_allocator]
static ALLOCATOR: Counting = Counting(|| ALLOCATION_COUNT.set(ALLOCATION_COUNT.get() + 1));

/// From a thread's first event to its last, with all output, nothing allocates, not even the
/// stream.
#[test]
fn recording_allocates_nothing() {
    let test = "recording_allocates_nothing";
    let environment = [("MPS_TELEMETRY_CONTROL", "Object User nonsense")];
    let Some(ran) = ran(test, &environment, || {
        let before = ALLOCATION_COUNT.get();
        record_and_flush();
        assert_eq!(ALLOCATION_COUNT.get(), before);
        drop(std::hint::black_box(Box::new(before)));
        assert_eq!(ALLOCATION_COUNT.get(), before + 1, "the allocator counts");
    }) else {
        return;
    };
    assert_eq!(ran.stream().of(1).len(), 10_001);
    assert_eq!(ran.said().len(), 1);
}

fn record_and_flush() {
    let id = telemetry::add_string("a string");
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

/// Between two marks a program records a million events and outputs half of them. It makes system
/// calls only to write blocks, and to check that the file still exists and may become larger.
#[test]
fn recording_makes_system_calls_for_blocks_alone() {
    let test = "recording_makes_system_calls_for_blocks_alone";
    if std::env::var_os(common::PROCESS_VARIABLE).is_some() {
        event!(Three, 0usize, 0usize, 0usize);
        event!(Pooled, 0usize);
        // Otherwise the thread's name would be written before the first block.
        telemetry::flush();
        mark("BEGIN");
        for index in 0..500_000usize {
            event!(Three, 0usize, index, index);
            event!(Pooled, index);
        }
        mark("END");
        return;
    }
    let calls = calls_between_marks(test, &[("MPS_TELEMETRY_CONTROL", "Object")]);
    let per_block = (65536 - 128) / 32;
    // Before each write the runtime checks that the file still has its name, and may become larger.
    let (asked, written): (Vec<&str>, Vec<&str>) = calls
        .iter()
        .map(|line| &**line)
        .partition(|line| line.contains("stat") || line.contains("RLIMIT_FSIZE"));
    assert_eq!(written.len(), (500_000 + 1) / per_block, "{calls:?}");
    assert!(written.iter().all(|line| line.contains("pwrite64(") && line.contains("= 65536")));
    assert!(asked.len() <= 2 * written.len() + 1, "{} {asked:?}", asked.len());
}

/// Returns the system calls of a test process between the two marks.
fn calls_between_marks(test: &str, environment: &[(&str, &str)]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let command = common::command(test, environment);
    let mut strace = std::process::Command::new("strace");
    strace.args(["-f", "-o", "trace"]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => strace.env(name, value),
            None => strace.env_remove(name),
        };
    }
    let output = strace.current_dir(folder.path()).output();
    let output = output.expect("strace runs; ./test --install installs it");
    assert!(output.status.success(), "{output:?}");
    let trace = std::fs::read_to_string(folder.path().join("trace")).unwrap();
    let between = trace.lines().skip_while(|line| !line.contains("BEGIN")).skip(1);
    between.take_while(|line| !line.contains("END")).map(str::to_owned).collect()
}

/// The receiver reads nothing. The runtime sends without waiting, and makes only two other calls:
/// it checks the socket, and reports once.
#[test]
fn sending_never_waits_for_a_receiver() {
    let test = "sending_never_waits_for_a_receiver";
    if std::env::var_os(common::PROCESS_VARIABLE).is_some() {
        event!(Three, 0usize, 0usize, 0usize);
        telemetry::flush();
        mark("BEGIN");
        (0..500_000usize).for_each(|index| event!(Three, 0usize, index, index));
        mark("END");
        return;
    }
    let receiver = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("tcp://{}", receiver.local_addr().unwrap());
    let environment = [("MPS_TELEMETRY_CONTROL", "Object"), ("MPS_TELEMETRY_FILENAME", &*address)];
    let mut calls = calls_between_marks(test, &environment);
    calls.retain(|line| !(line.contains("fstat") && line.contains("S_IFSOCK")));
    let (sent, others): (Vec<_>, Vec<_>) = calls.iter().partition(|line| line.contains("sendto("));
    assert!(sent.iter().all(|line| line.contains("MSG_DONTWAIT|MSG_NOSIGNAL")), "{sent:?}");
    assert!(sent.iter().any(|line| line.contains("EAGAIN")), "{sent:?}");
    assert!(others.len() == 1 && others[0].contains("write(2, \"telemetry: "), "{others:?}");
}

/// `.sol.msg`: everything is sent, to several hosts.
#[test]
fn sending_allocates_nothing() {
    let test = "sending_allocates_nothing";
    let Ok(receiver) = std::net::TcpListener::bind("127.0.0.1:0") else { panic!("no socket") };
    let address = receiver.local_addr().unwrap();
    let hosts = format!("tee:tcp://{address},tcp://localhost:{},mpsio.log", address.port());
    let environment =
        [("MPS_TELEMETRY_CONTROL", "Object User"), ("MPS_TELEMETRY_FILENAME", &*hosts)];
    let connected = std::thread::spawn(move || [receiver.accept(), receiver.accept()]);
    let Some(ran) = ran(test, &environment, || {
        let before = ALLOCATION_COUNT.get();
        record_and_flush();
        assert_eq!(ALLOCATION_COUNT.get(), before);
    }) else {
        return;
    };
    assert_eq!(ran.stream().of(1).len(), 10_001);
    assert!(connected.join().unwrap().iter().all(Result::is_ok));
}

const WRITER: (&str, &str) = ("MPS_TELEMETRY_WRITER", "thread");

/// `.sol.writer`: without work it wakes up fifty times a second, and not thousands of times.
#[test]
#[cfg(target_os = "linux")]
fn an_idle_writer_thread_rests() {
    let environment = [("MPS_TELEMETRY_CONTROL", "Object"), WRITER];
    ran("an_idle_writer_thread_rests", &environment, || {
        event!(Three, 0usize, 0usize, 0usize);
        let tasks = || std::fs::read_dir("/proc/self/task").unwrap();
        let read = |path: &std::path::Path, name| std::fs::read_to_string(path.join(name)).unwrap();
        let is_writer = |path: &std::path::PathBuf| read(path, "comm") == "telemetry\n";
        let writer = tasks().map(|task| task.unwrap().path()).find(is_writer).expect("a writer");
        let sleep_count = || {
            let status = read(&writer, "status");
            let count =
                status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            count.and_then(|count| count.trim().parse::<u128>().ok()).expect("a count")
        };
        common::wait_until("few sleeps", || {
            let (begin, before) = (std::time::Instant::now(), sleep_count());
            std::thread::sleep(std::time::Duration::from_millis(500));
            sleep_count() - before <= begin.elapsed().as_millis() / 20 + 1
        });
    });
}

/// `.sol.writer`: a thread makes the system call that ends a rest of the writer.
#[test]
#[cfg(target_os = "linux")]
fn a_full_block_wakes_a_resting_writer_thread() {
    let test = "a_full_block_wakes_a_resting_writer_thread";
    if std::env::var_os(common::PROCESS_VARIABLE).is_some() {
        event!(Three, 0usize, 0usize, 0usize);
        mark("BEGIN");
        // The writer rests after some fifty naps, and a nap takes longer under strace.
        for _ in 0..3 {
            std::thread::sleep(std::time::Duration::from_secs(1));
            (0..5_000usize).for_each(|index| event!(Three, 0usize, index, index));
        }
        mark("END");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // With and without a socket, on which a tool may come.
    for directory in ["", folder.path().to_str().unwrap()] {
        let socket = ("MPS_TELEMETRY_SOCKET", directory);
        let environment = [("MPS_TELEMETRY_CONTROL", "Object"), WRITER, socket];
        let calls = calls_between_marks(test, &environment);
        assert!(calls.iter().any(|line| line.contains("FUTEX_WAKE_PRIVATE")), "{calls:?}");
    }
}

/// Makes a system call that shows in the trace.
#[expect(unsafe_code, reason = "a write that nobody buffers")]
fn mark(text: &str) {
    // SAFETY: reads the bytes of a string.
    unsafe { libc::write(-1, text.as_ptr().cast(), text.len()) };
}
