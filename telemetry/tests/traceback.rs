//! The last events, printed when a program panics.
//!
//! ```text
//!  panic ─▶ its message ─▶ telemetry: the last 20 events in memory, newest last:
//! ```
//!
//! Design: `.sol.traceback`, `.debug.buffer.reverse` in `design/telemetry.md`.

mod common;

use common::{Pooled, Rare, Sorts, Three, ran};
use std::path::{Path, PathBuf};
use std::process::Command;
use telemetry::event;

fn twenty(count: &str) -> [(&str, &str); 1] {
    [("MPS_TELEMETRY_TRACEBACK", count)]
}

/// Returns the traceback in a program's output without the ages. Checks that no event is older than
/// the one before.
fn traceback(stderr: &str) -> String {
    let mut text = String::new();
    let mut age_before = f64::NEG_INFINITY;
    let mut lines = stderr.lines().skip_while(|line| !line.contains("in memory, newest last"));
    let Some(first) = lines.next() else { return text };
    text += &format!("{first}\n");
    for line in lines {
        let Some((age, event)) = line.split_once(" s  ") else { break };
        let age: f64 = age.trim().parse().unwrap_or_else(|_| panic!("{line}"));
        assert!(age <= 0.0 && age > -60.0 && age >= age_before, "{line}");
        age_before = age;
        text += &format!("{event}\n");
    }
    text
}

fn record_all_sorts() {
    let pool = std::ptr::without_provenance::<u8>(0x1000);
    telemetry::label(pool, telemetry::add_string("an older name"));
    event!(Sorts {
        p: pool,
        b: true,
        u: 7u32,
        d: 0.5,
        w: 0xABCusize,
        a: 0x1000usize,
        s: "a \"b\"\n"
    });
    telemetry::label(pool, telemetry::add_string("a pool"));
    event!(Sorts { p: pool, b: false, u: 0u32, d: -1e300, w: 0usize, a: 0usize, s: "" });
    for index in 0..3usize {
        event!(Three, 1usize, index, index);
        event!(Pooled, index);
    }
}

/// No kind is output.
#[test]
fn a_panic_shows_the_last_events_of_all_threads() {
    let test = "a_panic_shows_the_last_events_of_all_threads";
    let Some(ran) = ran(test, &twenty("20"), || {
        let named = |name: &str| std::thread::Builder::new().name(name.to_owned());
        named("first").spawn(record_all_sorts).unwrap().join().unwrap();
        let panics = named("second").spawn(|| {
            event!(Rare, 1usize);
            panic!("on purpose");
        });
        assert!(panics.unwrap().join().is_err());
    }) else {
        return;
    };
    let words = ran.stderr.find("on purpose").expect("the panic's message");
    assert!(words < ran.stderr.find("telemetry: ").expect("the traceback follows"));
    let golden = include_str!("golden/traceback.txt");
    let found = traceback(&ran.stderr);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write("tests/golden/traceback.txt", &found).unwrap();
    }
    assert_eq!(found, golden);
    assert!(!ran.folder.path().join("mpsio.log").exists(), "a log exists");
}

#[test]
fn a_traceback_shows_the_requested_number_of_newest_events() {
    let test = "a_traceback_shows_the_requested_number_of_newest_events";
    ran(test, &[], || {
        let threads = [0usize, 1, 2, 3].map(|thread| {
            std::thread::spawn(move || {
                (0..1000usize).for_each(|index| event!(Three, thread, index, index));
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        (0..1000usize).for_each(|index| event!(Pooled, index));
        for count in [0usize, 1, 7, 200, 5000] {
            let mut text = String::new();
            telemetry::traceback(count, &mut text).unwrap();
            let text = traceback(&text);
            let shown: Vec<&str> = text.lines().skip(1).collect();
            let most = count.min(telemetry::TRACEBACK_COUNT_MAX);
            assert_eq!(shown.len(), most, "{count}");
            let newest = (1000 - most.min(200)..1000).map(|index| format!("index:{index:016X}"));
            let tail = &shown[shown.len() - most.min(200)..];
            assert!(tail.iter().zip(newest).all(|(line, index)| line.ends_with(&index)), "{count}");
        }
    });
}

/// Other threads record meanwhile.
#[test]
fn a_traceback_while_threads_record_shows_whole_events() {
    let test = "a_traceback_while_threads_record_shows_whole_events";
    ran(test, &[("MPS_TELEMETRY_BLOCK_SIZE", "4096")], || {
        for thread in 0..3usize {
            std::thread::spawn(move || {
                for index in 0..usize::MAX {
                    event!(Three, thread, index, index);
                }
            });
        }
        for _ in 0..200 {
            let mut text = String::new();
            telemetry::traceback(50, &mut text).unwrap();
            for line in text.lines().skip(1).filter(|line| !line.contains("overwritten")) {
                let word = |name: &str| line.split_once(name).expect(line).1[..16].to_owned();
                assert_eq!(word("index:"), word("value:"), "{line}");
            }
        }
    });
}

#[test]
fn an_invalid_count_is_reported_once() {
    let test = "an_invalid_count_is_reported_once";
    said_once(test, "many", "`many` is not a number of events; a panic shows none");
}

#[test]
fn a_count_beyond_the_limit_is_reported_once() {
    let test = "a_count_beyond_the_limit_is_reported_once";
    said_once(test, "2000", "`2000` is more than the limit; a panic shows the last 1024 events");
}

fn said_once(test: &str, value: &str, said: &str) {
    let Some(ran) = ran(test, &twenty(value), || {
        event!(Rare, 1usize);
        event!(Pooled, 1usize);
        assert!(std::panic::catch_unwind(|| panic!("on purpose")).is_err());
    }) else {
        return;
    };
    let lines = ran.said();
    let said = format!("telemetry: MPS_TELEMETRY_TRACEBACK: {said}");
    assert_eq!(lines.iter().filter(|line| line.contains("TRACEBACK")).collect::<Vec<_>>(), [&said]);
}

/// Returns the runtime library that the tests of this package link: the newest.
fn library() -> PathBuf {
    let folder = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let is_it = |name: &str| name.starts_with("libtelemetry-") && name.ends_with(".rlib");
    let libraries = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_it));
    libraries.max_by_key(|entry| entry.metadata().unwrap().modified().unwrap()).unwrap().path()
}

const ABORTING: &str = r#"
mod heap {
    telemetry::events! {
        /// The events of a program that aborts.
        registry "heap" version(1, 0, 0);
        kinds standard;

        /// A number.
        Counted(0x0001, always, User) {
            /// which
            index: W,
        }
    }
}

fn main() {
    (0..100usize).for_each(|index| telemetry::event!(heap::Counted, index));
    std::thread::spawn(|| {
        telemetry::event!(heap::Counted, 100usize);
        panic!("on purpose");
    }).join().unwrap();
}
"#;

/// The program is compiled with `-C panic=abort`: it prints the traceback, and the crash handler
/// then writes all events.
#[test]
fn an_aborting_panic_shows_and_writes_the_last_events() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("aborting.rs"), ABORTING).unwrap();
    let library = library();
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()));
    rustc.args(["--edition", "2024", "-C", "panic=abort", "--extern"]);
    rustc.arg(format!("telemetry={}", library.display()));
    rustc
        .arg("-L")
        .arg(format!("dependency={}", library.parent().unwrap_or(Path::new(".")).display()));
    let compiled = rustc.arg("-o").arg(at("aborting")).arg(at("aborting.rs")).output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let mut program = Command::new(at("aborting"));
    program.current_dir(folder.path()).env("MPS_TELEMETRY_CONTROL", "all");
    program.env("MPS_TELEMETRY_CRASH", "1").env("MPS_TELEMETRY_TRACEBACK", "2");
    let output = program.output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&output.status), Some(6), "{stderr}");
    let text = traceback(&stderr);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "telemetry: the last 2 events in memory, newest last:");
    assert!(lines[1].starts_with("1 ") && lines[1].ends_with("Counted index:0000000000000063"));
    assert!(lines[2].starts_with("2 ") && lines[2].ends_with("Counted index:0000000000000064"));
    let stream = common::read(&std::fs::read(at("mpsio.log")).unwrap());
    assert_eq!((stream.of(1).len(), stream.ended), (101, false));
}
