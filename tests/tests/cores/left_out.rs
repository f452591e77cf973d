//! What cores leave out, and what they tell without a log.
//!
//! ```text
//!  coredump_filter ──▶ core without private memory ──▶ how to set the filter
//!  core + a log that was deleted ──▶ the signal, and why the log cannot be read
//! ```
//!
//! Rules: `.debug.core` in `design/telemetry.md`.

use super::{Place, Running, assert_line, crasher, gcore, kernel_writes_cores, read};
use std::fs;
use std::process::Command;

/// A core of the kernel has the headers of what it leaves out, one of gdb has not.
#[test]
fn a_core_without_private_memory_names_the_filter() {
    let place = Place::new();
    let mut command = Command::new(crasher());
    place.told(&mut command, &[], "");
    let running = Running::start(command);
    // Bit 0 is private memory without a file, bit 2 with one.
    for filter in ["0x10", "0x4", "0"] {
        fs::write(format!("/proc/{}/coredump_filter", running.0.id()), filter).expect("a filter");
        let core = gcore(&place, &running);
        refuses(&core);
        fs::remove_file(core).expect("a file");
    }
    if kernel_writes_cores() {
        let place = Place::new();
        let mut running = Running::start(place.command(&crasher(), &[], ""));
        fs::write(format!("/proc/{}/coredump_filter", running.0.id()), "0x10").expect("a filter");
        running.send("-ABRT");
        running.0.wait().expect("an exit");
        refuses(&place.core());
    }
}

fn refuses(core: &std::path::Path) {
    let (_, code, errors) = read(&[core]);
    assert_eq!(code, 2, "{errors}");
    assert_line(&errors, "echo 0x33 >/proc/self/coredump_filter");
}

#[test]
fn a_core_next_to_a_deleted_log_tells_its_signal() {
    let place = Place::new();
    let core = place.die(&crasher(), &["3000"], "all");
    fs::remove_file(place.path("log")).expect("a log");
    for logs in [[&*core, &*place.path("log")], [&*place.path("log"), &*core]] {
        let (_, code, errors) = read(&logs);
        assert_eq!(code, 2, "{errors}");
        assert!(errors.contains(": core of crasher, process "), "{errors}");
        let who = [", died of SIGSEGV in thread ", " \"worker 5\" ("];
        assert!(who.iter().all(|who| errors.contains(who)), "{errors}");
        assert!(errors.contains("log: No such file or directory"), "{errors}");
    }
}
