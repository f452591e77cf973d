//! A program with small stacks or few addresses works as usual while it is recorded.
//!
//! ```text
//!  small thread 16384, coroutine 6144 … ─ recorded ─▶ it ends well, and the log has all its calls
//!  its blocks of 1 MiB, its addresses ── alone and recorded ─▶ nearly the same
//! ```
//!
//! Design: `.rep.record.local`, `.rep.stack.room` in `design/replay.md`.

mod common;

use common::{Recorded, compile, each, recording, run};
use object::Endianness;
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader};
use std::process::Command;

/// Calls of malloc in a round of the program, and its rounds in one place.
const CALL_COUNT: usize = 16 * 300;

/// Runs the program with and without stacks.
fn small(words: &[&str]) -> [Recorded; 2] {
    ["0", "16"].map(|depth| {
        let folder = tempfile::tempdir().unwrap();
        let program = compile("small.c", folder.path(), &["-pthread"]);
        let mut command = recording(program, folder.path());
        command.args(words).env("TELEMETRY_STACKS", depth);
        let recorded = run(command, folder);
        assert!(recorded.status.success(), "{words:?}: {}", recorded.errors);
        recorded
    })
}

/// Returns the calls of malloc in the log, and how many of them have a stack.
fn counts(recorded: &Recorded) -> (usize, usize) {
    let (mut count, mut stack_count) = (0, 0);
    each(&recorded.logs()[&(recorded.process, 1)], |event| {
        if event.name() == "Malloc" && (100..116).contains(&common::word(event, "size")) {
            count += 1;
            stack_count += usize::from(common::word(event, "stack") != 0);
        }
    });
    (count, stack_count)
}

/// `.rep.record.local`
#[test]
fn a_thread_with_a_small_stack_is_recorded() {
    for size in ["16384", "20480", "24576", "28672"] {
        let [plain, with_stacks] = small(&["thread", size]).map(|it| counts(&it));
        assert_eq!(plain, (3 * CALL_COUNT, 0), "{size}");
        assert_eq!(with_stacks, (3 * CALL_COUNT, 3 * CALL_COUNT), "{size}");
    }
}

/// `.rep.record.local`, `.rep.stack.room`: the runtime is not optimized here, and takes more.
#[test]
fn recording_takes_little_of_a_small_stack() {
    const USED_MAX: usize = if cfg!(debug_assertions) { 5 << 10 } else { 3 << 10 };
    for (way, size) in [("coroutine", "6144"), ("handler", "5312")] {
        for recorded in small(&[way, size]) {
            let used: usize = recorded.output.trim().parse().unwrap();
            assert!((1..USED_MAX).contains(&used), "{way}: {used}");
            assert_eq!(counts(&recorded).0, 2 * CALL_COUNT, "{way}");
        }
    }
}

/// `.rep.record.local`
#[test]
fn the_library_takes_little_static_thread_storage() {
    let bytes = std::fs::read(common::library()).unwrap();
    let header = FileHeader64::<Endianness>::parse(&*bytes).unwrap();
    let endian = header.endian().unwrap();
    let headers = header.program_headers(endian, &*bytes).unwrap();
    let storage = headers.iter().find(|header| header.p_type(endian) == elf::PT_TLS).unwrap();
    let size = storage.p_memsz(endian);
    assert!((1..=1 << 10).contains(&size), "{size} bytes of static thread-local storage");
}

/// Returns the number that the program prints, alone and recorded; `limit` is that of addresses.
fn numbers(word: &str, limit: &str, depth: &str) -> [(usize, String); 2] {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("small.c", folder.path(), &["-pthread"]);
    let mut recorded = recording("sh", folder.path());
    recorded.env("TELEMETRY_STACKS", depth);
    [Command::new("sh"), recorded].map(|mut command| {
        let script = format!("ulimit -v {limit}; exec \"$0\" {word}");
        let output = command.args(["-c", &script]).arg(&program).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{word} {limit}: {errors}");
        let number = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
        (number, errors)
    })
}

/// `.rep.record.addresses`: the tables of stacks take 36 MiB, those of calls 10.
#[test]
fn recording_leaves_the_program_its_addresses() {
    let [alone, recorded] = numbers("addresses", "unlimited", "0").map(|it| it.0);
    assert!(recorded - alone <= 8 << 20, "{alone} alone, {recorded} recorded");
    for (limit, depth) in [("65536", "0"), ("49152", "0"), ("32768", "16")] {
        let [(alone, _), (recorded, errors)] = numbers("room", limit, depth);
        assert!(recorded + 8 >= alone, "{limit}: {alone} alone, {recorded} recorded: {errors}");
        assert_eq!(errors, "", "{limit}");
    }
}
