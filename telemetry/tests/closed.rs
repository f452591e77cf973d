//! A program that closes the files of the runtime: a log goes on in its own file, and in no other.
//!
//! ```text
//!  record ─ close_range(3, …) ─ record ─▶ mpsio.log, whole      another file ─▶ left alone
//! ```
//!
//! Design: `.sol.held` in `design/telemetry.md`.

mod common;

use common::{Three, ran};
use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use telemetry::event;

const OBJECT: (&str, &str) = ("MPS_TELEMETRY_CONTROL", "Object");
const SMALL: (&str, &str) = ("MPS_TELEMETRY_BLOCK_SIZE", "4096");
const NAME: &str = "MPS_TELEMETRY_FILENAME";

fn record(count: usize) {
    (0..count).for_each(|index| event!(Three, 0usize, index, index));
}

/// Words that occur nowhere else in a file.
const MARK: usize = 0x00C1_05ED_C105_0000;

#[cfg(target_os = "linux")]
fn marked(indexes: std::ops::Range<usize>) {
    indexes.for_each(|index| event!(Three, 0usize, index, MARK | index));
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "files of the runtime are closed")]
fn close_all() {
    // SAFETY: the test uses none of these descriptors afterwards.
    assert_eq!(unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0) }, 0);
}

/// A daemon closes all descriptors that it does not know: the runtime opens its log again, but not
/// a file that has taken the name of the log. A log that another process has removed or truncated
/// meanwhile goes on as a new volume.
#[test]
#[cfg(target_os = "linux")]
fn a_log_goes_on_after_the_program_closed_it() {
    let test = "a_log_goes_on_after_the_program_closed_it";
    let changes = ["none", "replaced", "removed", "truncated", "shortened"];
    let places = ["mpsio.log", "file:mpsio.log?size=1M&count=2"];
    for (place, change) in places.into_iter().flat_map(|place| changes.map(|it| (place, it))) {
        let environment = [OBJECT, SMALL, (NAME, place), ("CHANGE", change)];
        let Some(ran) = ran(test, &environment, || {
            let shorten = |size| {
                let file = fs::OpenOptions::new().write(true).open("mpsio.log");
                file.unwrap().set_len(size).unwrap();
            };
            record(1000);
            telemetry::flush();
            let is_replaced = std::env::var("CHANGE").as_deref() == Ok("replaced");
            match std::env::var("CHANGE").as_deref() {
                Ok("replaced") => {
                    fs::rename("mpsio.log", "old").unwrap();
                    fs::write("mpsio.log", "precious").unwrap();
                }
                Ok("removed") => fs::rename("mpsio.log", "old").unwrap(),
                Ok("truncated") => shorten(0),
                Ok("shortened") => shorten(3 * 4096),
                _ => {}
            }
            // A daemon goes to the root before it closes all files.
            std::env::set_current_dir("/").unwrap();
            close_all();
            record(1000);
            telemetry::flush();
            assert_eq!(telemetry::losses().io != 0, is_replaced);
        }) else {
            return;
        };
        let (said, name) = (ran.said(), format!("{place}, {change}"));
        if change == "replaced" {
            assert_eq!(ran.file("mpsio.log"), b"precious", "{name}");
            assert_eq!(said.len(), 1, "{name}: the loss is reported");
            continue;
        }
        let stream = common::read_as_it_is(&ran.file("mpsio.log"));
        let is_cut = matches!(change, "truncated" | "shortened");
        let values = stream.words(1, 1);
        match change {
            "none" => assert_eq!(values.len(), 2000, "{name}"),
            "shortened" => assert!((1001..2000).contains(&values.len()), "{name}"),
            // The block that was open goes on there.
            _ => {
                assert_eq!(stream.volume, 1, "{name}");
                assert!(values.ends_with(&(0..1000).collect::<Vec<_>>()), "{name}");
                assert!(values.len() < 1100, "{name}");
            }
        }
        assert_eq!(said.len(), usize::from(is_cut), "{name}: {said:?}");
    }
}

/// `.ring.kept`: the same of a ring that keeps all, which needs the file to grow.
#[test]
#[cfg(target_os = "linux")]
fn a_ring_that_keeps_goes_on_after_the_program_closed_it() {
    let test = "a_ring_that_keeps_goes_on_after_the_program_closed_it";
    for change in ["none", "replaced"] {
        let ring = (NAME, "ring:ring.log?size=64K&keep=all");
        let Some(ran) = ran(test, &[OBJECT, SMALL, ring, ("CHANGE", change)], || {
            marked(0..10_000);
            let is_replaced = std::env::var("CHANGE").as_deref() == Ok("replaced");
            if is_replaced {
                fs::rename("ring.log", "old").unwrap();
                fs::write("ring.log", "precious").unwrap();
            }
            std::env::set_current_dir("/").unwrap();
            close_all();
            marked(10_000..20_000);
            assert_eq!(telemetry::losses().overwritten != 0, is_replaced);
        }) else {
            return;
        };
        if change == "replaced" {
            assert_eq!(ran.file("ring.log"), b"precious");
            assert_eq!(ran.said().len(), 1, "{:?}", ran.said());
            continue;
        }
        assert_eq!(ran.said(), [""; 0]);
        let file = ran.file("ring.log");
        let words = file.chunks_exact(8).map(|word| common::u64_at(word, 0) as usize);
        let found: BTreeSet<usize> = words.filter(|word| word & !0xFFFF == MARK).collect();
        assert_eq!(found.len(), 20_000);
    }
}

/// The files are closed while threads write and volumes begin: whatever was going on, the log goes
/// on afterwards. They are closed `TELEMETRY_CLOSINGS` times, 20 unless set.
#[test]
#[cfg(target_os = "linux")]
fn volumes_go_on_after_any_instant_of_closing() {
    let test = "volumes_go_on_after_any_instant_of_closing";
    let place = (NAME, "file:mpsio.log?size=32K&count=3");
    let Some(ran) = ran(test, &[OBJECT, SMALL, place], || {
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        record(100);
                    }
                });
            }
            let count = std::env::var("TELEMETRY_CLOSINGS").map_or(20, |it| it.parse().unwrap());
            for _ in 0..count {
                std::thread::sleep(Duration::from_millis(5));
                close_all();
            }
            done.store(true, Ordering::Relaxed);
        });
        let before = telemetry::losses().io;
        (5000..5100usize).for_each(|index| event!(Three, 0usize, index, index));
        telemetry::flush();
        assert!(telemetry::losses().io <= before);
    }) else {
        return;
    };
    // The end of the program may begin another volume.
    let volumes = ["mpsio.log", "mpsio.log.1"].map(|name| common::read_as_it_is(&ran.file(name)));
    let last = volumes.map(|volume| volume.words(1, 1));
    assert!(last.iter().any(|words| words.contains(&5099)), "{last:?}");
}

/// A closing may meet any step of the log: its creation, the look at the file, the write, and the
/// opening of what was just closed.
#[test]
#[cfg(target_os = "linux")]
fn every_block_is_written_while_the_files_are_closed() {
    use telemetry::{FilePlinth, Plinth};
    ran("every_block_is_written_while_the_files_are_closed", &[SMALL], || {
        for round in 0..300 {
            let plinth = FilePlinth::new(format!("{round}.log")).unwrap();
            std::thread::scope(|scope| {
                scope.spawn(|| (0..10).for_each(|_| close_all()));
                assert_eq!(plinth.create(4096), Ok(()));
                for place in 0..20 {
                    assert_eq!(plinth.write_block(place * 4096, &[7; 4096]), Ok(()), "{round}");
                }
            });
        }
    });
}
