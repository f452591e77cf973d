//! The control service with hostile clients, and without the directory or files that it needs.
//!
//! ```text
//!  garbage · silence · answers unread · no directory · no files ──▶ one line; no other effect
//! ```

#[path = "common/asking.rs"]
mod asking;
mod common;

use asking::{HERE, WRITER, answer_to, ask, connect, socket_of, value};
use common::{CONTROL, Kinds, Pooled, Rare, Three, ran};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};
use telemetry::{Standing, control, event};

const OBJECT: (&str, &str) = ("MPS_TELEMETRY_CONTROL", "Object");

/// `.control.tool.request`: the service answers each invalid request, of any size, with one line.
#[test]
fn the_service_answers_garbage_with_one_line() {
    let test = "the_service_answers_garbage_with_one_line";
    for writer in [("UNUSED", ""), WRITER] {
        let Some(_) = ran(test, &[HERE, writer], || {
            event!(Rare, 1usize);
            let mut state = 7u64;
            let mut byte = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 56) as u8
            };
            let sizes = (1..200).step_by(13).chain([4094, 4095, 4096, 4097, 8192, 65_536, 1 << 20]);
            for size in sizes {
                for with_newline in [false, true] {
                    let mut bytes: Vec<u8> = (0..size).map(|_| byte()).collect();
                    bytes.iter_mut().for_each(|byte| *byte -= u8::from(*byte == b'\n'));
                    // No verb begins with `!`.
                    bytes[0] = b'!';
                    if with_newline {
                        bytes.push(b'\n');
                    }
                    let answer = answer_to(&bytes);
                    assert!(answer.starts_with("error: ") && answer.ends_with('\n'), "{answer}");
                    assert_eq!(answer.lines().count(), 1, "{answer}");
                    let is_too_long = answer == "error: the request is longer than 4096 bytes\n";
                    assert_eq!(
                        is_too_long,
                        bytes.len() >= 4096 + usize::from(with_newline),
                        "{size}"
                    );
                }
            }
            assert_eq!(answer_to(b""), "", "an answer without a request");
            assert_eq!(answer_to(b"\n"), "error: the request is empty\n");
            assert!(answer_to(b"get").ends_with("ok\n"), "the end stands for the newline");
            assert!(answer_to(b"get\nflush\nstatus\n").ends_with("ok\n"), "only one request");
        }) else {
            return;
        };
    }
}

/// The time limits for an answer with hanging clients: within the service's number of places, and
/// beyond.
const ONE_TIME_MAX: Duration = Duration::from_secs(1);
const MORE_TIME_MAX: Duration = Duration::from_millis(2500);

fn time_of(request: &str) -> Duration {
    let from = Instant::now();
    assert!(ask(request).ends_with("ok\n"));
    from.elapsed()
}

/// `.control.tool`: silent clients, clients that send half a request, clients that never read.
#[test]
fn fifty_hanging_clients_delay_no_other_client() {
    let test = "fifty_hanging_clients_delay_no_other_client";
    for writer in [("UNUSED", ""), WRITER] {
        let Some(_) = ran(test, &[HERE, OBJECT, writer], || {
            event!(Rare, 1usize);
            let rate = || {
                let from = Instant::now();
                let mut index = 0usize;
                while from.elapsed() < Duration::from_millis(300) {
                    (0..1000).for_each(|_| event!(Pooled, 1usize));
                    index += 1000;
                }
                index
            };
            let before = (0..3).map(|_| rate()).max().unwrap();
            // The best of several tries: on a busy machine all steps take longer.
            let (mut with, mut one, mut more) = (0, Duration::MAX, Duration::MAX);
            for _ in 0..20 {
                let mut hanging: Vec<UnixStream> = (0..50).map(|_| connect()).collect();
                for (index, stream) in hanging.iter_mut().enumerate() {
                    match index % 3 {
                        0 => {}
                        1 => stream.write_all(b"stat").unwrap(),
                        _ => stream.write_all(b"status\n").unwrap(),
                    }
                }
                one = one.min(time_of("status"));
                with = with.max((0..3).map(|_| rate()).max().unwrap());
                // More clients than places: after a second the service drops the hanging ones.
                hanging.extend((0..60).map(|_| connect()));
                more = more.min(time_of("get"));
                // A client that sends only part of a request gets an error.
                let mut text = String::new();
                hanging[1].read_to_string(&mut text).unwrap();
                assert_eq!(text, "error: the request was not complete within a second\n");
                if with * 3 > before && one < ONE_TIME_MAX && more < MORE_TIME_MAX {
                    break;
                }
            }
            assert!(with * 3 > before, "{with} events, and {before} without clients");
            assert!(one < ONE_TIME_MAX && more < MORE_TIME_MAX, "{one:?} {more:?}");
        }) else {
            return;
        };
    }
}

/// `.control.tool.stale`
#[test]
fn the_service_replaces_the_socket_of_a_dead_process() {
    let test = "the_service_replaces_the_socket_of_a_dead_process";
    let Some(ran) = ran(test, &[HERE], || {
        let name = socket_of(std::process::id());
        drop(UnixListener::bind(&name).unwrap());
        assert_eq!(UnixStream::connect(&name).unwrap_err().kind(), ErrorKind::ConnectionRefused);
        event!(Rare, 1usize);
        assert!(ask("get").ends_with("ok\n"));
    }) else {
        return;
    };
    assert!(ran.said().is_empty(), "{:?}", ran.said());
}

/// `.control.tool.socket`: an unusable directory costs one message, and the program continues.
#[test]
fn a_socket_that_cannot_be_created_is_reported_once() {
    let test = "a_socket_that_cannot_be_created_is_reported_once";
    let long = "d/".repeat(60);
    let longer = "d/".repeat(400);
    for (directory, expected) in [
        ("no/such", "no socket in no/such: No such file or directory; "),
        ("/proc/self", "no socket in /proc/self: "),
        ("/dev/null", "no socket in /dev/null: Not a directory; "),
        (&*long, "its path would be too long for a socket; "),
        (&*longer, "its path would be too long for a socket; "),
        ("taken", "the name already exists, as another process's socket or another file; "),
        ("busy", "the name already exists, as another process's socket or another file; "),
        ("files", "no socket in .: Too many open files; "),
    ] {
        let is_here = matches!(directory, "taken" | "busy" | "files");
        let socket = if is_here { "." } else { directory };
        let environment = [("MPS_TELEMETRY_SOCKET", socket), ("CASE", directory)];
        let Some(ran) = ran(test, &environment, || {
            let name = socket_of(std::process::id());
            let case = std::env::var("CASE").unwrap();
            let listener = (case == "busy").then(|| UnixListener::bind(&name).unwrap());
            if case == "taken" {
                std::fs::write(&name, "mine").unwrap();
            }
            if case == "files" {
                event_without_files();
            }
            control::of(&CONTROL).set_output(Kinds::Object);
            for index in 0..10usize {
                event!(Three, 0usize, index, index);
                telemetry::flush();
            }
            if case == "taken" {
                assert_eq!(std::fs::read(&name).unwrap(), b"mine");
            }
            drop(listener);
        }) else {
            return;
        };
        let said = ran.said();
        assert_eq!(said.len(), 1, "{directory}: {said:?}");
        assert!(said[0].starts_with("telemetry: MPS_TELEMETRY_SOCKET: "), "{said:?}");
        assert!(said[0].contains(expected), "{directory}: {said:?}");
        assert_eq!(ran.stream().of(1).len(), 10, "{directory}");
    }
}

/// Registers the test's registry while the process may open no file.
#[expect(unsafe_code, reason = "the limit of open files")]
fn event_without_files() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the calls read and fill structures that live through them.
    unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        let none = libc::rlimit { rlim_cur: 0, ..limit };
        libc::setrlimit(libc::RLIMIT_NOFILE, &none);
        control::of(&CONTROL);
        libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
    }
}

#[expect(unsafe_code, reason = "the processor time of the process")]
fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills a structure that lives through the call.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// EMFILE at a connection: the service waits for a free descriptor, without a busy loop.
#[test]
#[expect(unsafe_code, reason = "the limit of open files")]
fn a_connection_waits_for_a_free_file_descriptor() {
    let test = "a_connection_waits_for_a_free_file_descriptor";
    let Some(_) = ran(test, &[HERE], || {
        event!(Rare, 1usize);
        assert!(ask("get").ends_with("ok\n"));
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: fills a structure that lives through the call.
        unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
        std::thread::sleep(Duration::from_millis(50));
        // All descriptors except one are in use; the client takes that one.
        let last = std::fs::File::open("/dev/null").unwrap();
        let number = std::os::fd::AsRawFd::as_raw_fd(&last) as libc::rlim_t;
        let few = libc::rlimit { rlim_cur: number + 1, ..limit };
        // SAFETY: reads a structure that lives through the call.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &few) };
        drop(last);
        let mut stream = connect();
        stream.write_all(b"get\n").unwrap();
        let before = processor_time();
        std::thread::sleep(Duration::from_millis(400));
        let spent = processor_time() - before;
        assert!(spent < Duration::from_millis(100), "{spent:?} of 400 ms");
        // SAFETY: reads a structure that lives through the call.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) };
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        assert!(text.ends_with("ok\n"), "{text}");
    }) else {
        return;
    };
}

/// `.control.tool.answer`: the answer and the status state the host's error.
#[test]
fn a_failed_flush_reports_the_hosts_error() {
    let test = "a_failed_flush_reports_the_hosts_error";
    let full = ("MPS_TELEMETRY_FILENAME", "/dev/full");
    let Some(_) = ran(test, &[HERE, full], || {
        event!(Three, 0usize, 0usize, 0usize);
        assert_eq!(value(&ask("status"), "last-error"), "-");
        ask("set all");
        assert_eq!(ask("flush"), "error: cannot write: No space left on device\n");
        let status = ask("status");
        // A host that only appends may succeed the next time.
        assert_eq!(value(&status, "standing"), "open");
        assert_eq!(value(&status, "last-error"), "cannot write: No space left on device");
        assert!(value(&status, "last-error-time").starts_with("20"), "{status}");
        let status = telemetry::status();
        let error = status.last_error.unwrap();
        assert_eq!((status.standing, error.error.errno), (Standing::Open, libc::ENOSPC));
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        assert!(now.as_nanos() as u64 - error.time < 60_000_000_000);
    }) else {
        return;
    };
}
