//! A program that closes the files of the runtime: a log goes on in its own file, and in no other.
//!
//! ```text
//!  record ─ close_range(3, …) ─ record ─▶ mpsio.log, whole      another file ─▶ left alone
//! ```
//!
//! Design: `.sol.held` in `design/telemetry.md`.

mod common;

use common::{Three, ran};
use std::fs;
use telemetry::event;

const OBJECT: (&str, &str) = ("MPS_TELEMETRY_CONTROL", "Object");
const SMALL: (&str, &str) = ("MPS_TELEMETRY_BLOCK_SIZE", "4096");
const NAME: &str = "MPS_TELEMETRY_FILENAME";

fn record(count: usize) {
    (0..count).for_each(|index| event!(Three, 0usize, index, index));
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "files of the runtime are closed")]
fn close_all() {
    // SAFETY: the test uses none of these descriptors afterwards.
    assert_eq!(unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0) }, 0);
}

/// A daemon closes all descriptors that it does not know: the runtime opens its log again, but not
/// a file that has taken the name of the log.
#[test]
#[cfg(target_os = "linux")]
fn a_log_goes_on_after_the_program_closed_it() {
    let test = "a_log_goes_on_after_the_program_closed_it";
    for place in ["mpsio.log", "file:mpsio.log?size=1M&count=2"] {
        for is_replaced in [false, true] {
            let replaced = if is_replaced { "1" } else { "0" };
            let environment = [OBJECT, SMALL, (NAME, place), ("REPLACED", replaced)];
            let Some(ran) = ran(test, &environment, || {
                record(1000);
                telemetry::flush();
                if std::env::var("REPLACED").as_deref() == Ok("1") {
                    fs::rename("mpsio.log", "old").unwrap();
                    fs::write("mpsio.log", "precious").unwrap();
                }
                std::env::set_current_dir("/").unwrap();
                close_all();
                record(1000);
            }) else {
                return;
            };
            if is_replaced {
                assert_eq!(ran.file("mpsio.log"), b"precious", "{place}");
                assert_eq!(ran.said().len(), 1, "{place}: the loss is reported");
            } else {
                assert_eq!(ran.stream().of(1).len(), 2000, "{place}");
                assert_eq!(ran.said(), [""; 0], "{place}");
            }
        }
    }
}
