//! Programs whose calls `replay record` cannot see, in whole or in part: it names them, and the
//! programs work as usual.
//!
//! ```text
//!  dlopen(RTLD_DEEPBIND), dlmopen ─▶ named, exit code 1      a sanitizer, valgrind ─▶ refused
//!  another C library ─▶ runs unrecorded, named               a daemon, a limit, closefrom ─▶ told
//! ```
//!
//! Design: `.rep.record.unreached`, `.rep.record.unloadable`, `.rep.record.roster` in
//! `design/replay.md`.

use eventlog::reader::{Filter, Log, Order};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tests::programs;

/// Programs in a folder, and recordings of them.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    fn at(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    /// Returns `replay record -o a.log WORDS…`.
    fn record(&self, words: &[&str]) -> Command {
        let mut command = programs::replay();
        command.args(["record", "--force", "-o", "a.log"]).args(words);
        command.current_dir(self.0.path());
        command
    }

    /// Returns the exit code, the output, and the messages of a recording.
    fn recorded(&self, words: &[&str]) -> (Option<i32>, String, String) {
        said(self.record(words))
    }

    /// Returns how many events of a type a log has.
    fn count(&self, log: &str, name: &str) -> usize {
        let log = Log::open(self.at(log)).unwrap();
        let mut events = log.events(Order::File, &Filter::default());
        let mut count = 0;
        while let Some(event) = events.next() {
            count += usize::from(event.event_type.is_some_and(|row| &*row.name == name));
        }
        count
    }
}

fn said(mut command: Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

/// `.rep.record.logs`: the variables of the program are its own.
#[test]
fn a_recorded_program_keeps_its_own_telemetry() {
    let place = Place::new();
    let program = env!("CARGO_BIN_EXE_allocating");
    let files = |place: &Place| {
        let names = fs::read_dir(Path::new(&place.0.path())).unwrap();
        let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let (code, out, errors) = place.recorded(&[program]);
    assert_eq!(code, Some(0), "{errors}");
    assert_eq!(files(&place), ["a.log"], "its telemetry is off");
    assert!(errors.lines().count() == 1 && errors.ends_with(", nothing lost\n"), "{errors}");
    let mut command = place.record(&[program]);
    command.env("MPS_TELEMETRY_FILENAME", "mine.log").env("MPS_TELEMETRY_CONTROL", "Object");
    let (code, own, errors) = said(command);
    assert_eq!(code, Some(0), "{errors}");
    assert_eq!(files(&place), ["a.log", "mine.log"]);
    assert!(place.count("mine.log", "AllocateZeroed") > 1000, "{out} {own}");
    assert!(place.count("a.log", "Free") > 1000);
}
