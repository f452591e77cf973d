//! What cores leave out, and what they tell without a log.
//!
//! ```text
//!  coredump_filter ──▶ core without private memory ──▶ how to set the filter
//!  core + a log that was deleted ──▶ the signal, and why the log cannot be read
//!  replay record --stacks ──▶ core without the tables of stacks ──▶ cut: the events of its blocks
//! ```
//!
//! Rules: `.debug.core` in `design/telemetry.md`; `.rep.record.addresses` in `design/replay.md`.

use super::{Place, Running, assert_line, crasher, events_in_blocks, gcore};
use super::{kernel_writes_cores, read, told};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tests::programs::{eventcnv, replay, run, system};

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

/// A program that allocates, prints its process number and waits.
const SHELL: &str =
    "i=0; while [ $i -lt 500 ]; do i=$((i+1)); x=\"$x $i\"; done; echo $$; read end";

/// Takes a core of a shell under `replay record`, whose log is then lost.
fn core_of_recorded(place: &Place, options: &[&str], by_kernel: bool) -> PathBuf {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -c unlimited && exec \"$0\" \"$@\""]);
    command.arg(replay().get_program()).arg("record").args(options).args(["-o", "log", "--"]);
    command.args(["sh", "-c", SHELL]).current_dir(place.path(""));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("a process");
    let mut process = String::new();
    let mut said = BufReader::new(child.stdout.take().expect("a pipe"));
    said.read_line(&mut process).expect("a line");
    let process = process.trim();
    if by_kernel {
        run(system("kill").args(["-ABRT", process]));
    } else {
        run(system("gcore").arg("-o").arg(place.path("core")).arg(process));
    }
    drop(child.stdin.take());
    child.wait().expect("an exit");
    fs::remove_file(place.path("log")).expect("a log");
    place.core()
}

/// The tables of stacks have 36 MiB, and lie before the blocks.
#[test]
fn a_cut_core_of_a_recorded_program_gives_its_events() {
    for by_kernel in [false, true].into_iter().filter(|kernel| !kernel || kernel_writes_cores()) {
        for options in [&[][..], &["--stacks"]] {
            let place = Place::new();
            let core = core_of_recorded(&place, options, by_kernel);
            let count = |core: &Path| {
                let output = eventcnv().arg(core).output().expect("a process");
                let (_, errors) = told(&output);
                (String::from_utf8_lossy(&output.stdout).lines().count() as u64, errors)
            };
            let log = run(eventcnv().arg("core").arg(&core).args(["-o", "-"])).stdout;
            let bytes = fs::read(&core).expect("a file");
            for percent in [97, 95] {
                let cut = place.path(&format!("cut-{percent}"));
                let left = &bytes[..bytes.len() / 100 * percent];
                fs::write(&cut, left).expect("a writable file");
                let (found, errors) = count(&cut);
                let whole = events_in_blocks(left, &log[32..48]);
                let case = format!("{by_kernel} {options:?} {percent}: {whole} {found}: {errors}");
                assert!(whole > 500 && found >= whole, "{case}");
                assert!(errors.contains("the core was cut: its last "), "{case}");
            }
        }
    }
}
