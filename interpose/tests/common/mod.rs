//! Runs programs with the library, and reads their logs.
//!
//! ```text
//!  cc twin.c ─▶ program ─ LD_PRELOAD ─▶ log-PID, log-PID-2 … ─▶ events ─▶ lines by process, thread
//! ```
//!
//! Design: `.rep.record`, `.rep.record.logs` in `design/replay.md`.
// Not every test that includes this file uses all of it.
#![allow(dead_code)]

use eventlog::reader::{Event, Filter, Log, Order};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use tempfile::TempDir;

/// Returns the library, built with the profile of this test: cargo does not build it for a test
/// that does not link it.
pub(crate) fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| std::env::current_exe().unwrap().with_file_name("libinterpose.so"))
}

/// Compiles a program of this folder.
pub(crate) fn compile(source: &str, folder: &Path, options: &[&str]) -> PathBuf {
    compile_by("cc", source, folder, options)
}

/// Compiles it by a compiler.
pub(crate) fn compile_by(name: &str, source: &str, folder: &Path, options: &[&str]) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(source);
    let program = folder.join(Path::new(source).file_stem().unwrap());
    let mut cc = Command::new(name);
    // With its knowledge of malloc, the compiler would remove calls.
    cc.args(["-g", "-O1", "-fno-builtin", "-Wall", "-Wno-unused-result"]).args(options);
    let status = cc.arg("-o").arg(&program).arg(path).status();
    let status = status.unwrap_or_else(|_| panic!("this test needs {name}: ./test --install"));
    assert!(status.success(), "{name} {source}");
    program
}

/// Returns a command that records a program into logs of this folder.
pub(crate) fn recording(program: impl AsRef<Path>, folder: &Path) -> Command {
    let mut command = Command::new(program.as_ref());
    command.env("LD_PRELOAD", library()).env("TELEMETRY_CONTROL", "Object");
    command.env("TELEMETRY_FILENAME", folder.join("log-%p")).env_remove("TELEMETRY_STACKS");
    command
}

/// The result of a recorded run.
pub(crate) struct Recorded {
    pub(crate) folder: TempDir,
    pub(crate) status: ExitStatus,
    pub(crate) process: u32,
    pub(crate) output: String,
    pub(crate) errors: String,
}

/// Runs the command.
pub(crate) fn run(mut command: Command, folder: TempDir) -> Recorded {
    // A file takes output of any size.
    let out = folder.path().join("output");
    command.stdout(std::fs::File::options().create(true).append(true).open(&out).unwrap());
    let child = command.stderr(Stdio::piped()).spawn().unwrap();
    let process = child.id();
    let result = child.wait_with_output().unwrap();
    let output = std::fs::read_to_string(&out).unwrap();
    let errors = String::from_utf8(result.stderr).unwrap();
    Recorded { folder, status: result.status, process, output, errors }
}

/// The calls of a process: for each thread in their order.
pub(crate) type Calls = BTreeMap<u32, Vec<String>>;

impl Recorded {
    /// Returns the logs by process, and for each process by the index of the program.
    pub(crate) fn logs(&self) -> BTreeMap<(u32, u32), Log> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap());
        let of_log = entries.filter_map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            let rest = name.strip_prefix("log-")?;
            let (process, index) = rest.split_once('-').unwrap_or((rest, "1"));
            let log = Log::open(entry.path()).unwrap();
            assert!(log.faults().is_empty(), "{name}: {:?}", log.faults());
            let lost: u64 = log.accounts().iter().map(|account| account.lost).sum();
            let nested: u32 = log.accounts().iter().map(|account| account.discarded_nested).sum();
            assert_eq!((lost, nested), (0, 0), "{name}");
            Some(((process.parse().unwrap(), index.parse().unwrap()), log))
        });
        of_log.collect()
    }

    /// Returns the calls in the logs.
    pub(crate) fn logged(&self) -> BTreeMap<u32, Calls> {
        let mut logged = BTreeMap::<u32, Calls>::new();
        for ((process, _), log) in self.logs() {
            let calls = logged.entry(process).or_default();
            each(&log, |event| {
                if let Some(line) = line(event) {
                    calls.entry(event.thread).or_default().push(line);
                }
            });
        }
        logged
    }

    /// Returns the calls that the program itself listed: `PROCESS THREAD CALL`.
    pub(crate) fn listed(&self) -> BTreeMap<u32, Calls> {
        let mut listed = BTreeMap::<u32, Calls>::new();
        for line in self.output.lines() {
            let mut words = line.splitn(3, ' ');
            let mut number = || words.next().unwrap().parse::<u32>().unwrap();
            let (process, thread) = (number(), number());
            let calls = listed.entry(process).or_default().entry(thread).or_default();
            calls.push(words.next().unwrap().to_owned());
        }
        listed
    }
}

/// Calls a function with each event of the registry, in order of time.
pub(crate) fn each(log: &Log, mut work: impl FnMut(&Event<'_, '_>)) {
    let mut events = log.events(Order::Time, &Filter::default());
    while let Some(event) = events.next() {
        if &*event.registry.name == "malloc" {
            work(&event);
        }
    }
    assert!(events.faults().is_empty(), "{:?}", events.faults());
}

/// Returns a number of an event.
pub(crate) fn word(event: &Event<'_, '_>, name: &str) -> u64 {
    let value = event.param(name).and_then(|value| value.as_u64());
    value.unwrap_or_else(|| panic!("{} has no {name}", event.name()))
}

/// Returns a call as the program lists it.
fn line(event: &Event<'_, '_>) -> Option<String> {
    let (verb, names): (_, &[&str]) = match event.name() {
        "Malloc" | "MallocLarge" => ("malloc", &["address", "size"]),
        "Calloc" => ("calloc", &["address", "count", "size"]),
        "ReallocBegin" => ("begin", &["address"]),
        "Realloc" | "ReallocLarge" => ("realloc", &["address", "size"]),
        "Free" => ("free", &["address"]),
        "AlignedAlloc" => ("aligned", &["address", "alignment", "size"]),
        "PosixMemalign" => ("posix", &["address", "alignment", "size"]),
        "Memalign" => ("memalign", &["address", "alignment", "size"]),
        "Valloc" => ("valloc", &["address", "alignment", "size"]),
        "Pvalloc" => ("pvalloc", &["address", "alignment", "size"]),
        "UsableSize" => ("usable", &["address", "size"]),
        _ => return None,
    };
    let numbers = names.iter().map(|name| format!(" {}", word(event, name)));
    Some(numbers.fold(verb.to_owned(), |line, number| line + &number))
}

/// Events that hand out and give up nothing.
pub(crate) const NOT_CALLS: [&str; 7] =
    ["Frame", "Mapping", "UsableSize", "Touched", "Process", "Allocator", "ThreadEnd"];

/// Checks a log in time order: an address is handed out once at a time, and memory that is given up
/// was handed out. `inherited` exists at the beginning. Returns the remaining memory, and the
/// number of calls.
pub(crate) fn judge(log: &Log, inherited: &BTreeMap<u64, u64>) -> (BTreeMap<u64, u64>, u64) {
    let mut live = inherited.clone();
    let mut moving = BTreeMap::new();
    let mut count = 0;
    each(log, |event| {
        let name = event.name();
        if NOT_CALLS.contains(&name) {
            return;
        }
        count += 1;
        let address = word(event, "address");
        match name {
            "Free" => {
                assert!(live.remove(&address).is_some(), "{address:#x} was not allocated");
            }
            "ReallocBegin" => {
                let size = live.remove(&address);
                assert!(address == 0 || size.is_some(), "{address:#x} was not allocated");
                moving.insert(event.thread, (address, size));
            }
            _ => {
                let old = moving.remove(&event.thread);
                assert_eq!(old.is_some(), name.starts_with("Realloc"), "{name} {address:#x}");
                let size = word(event, "size");
                let (address, size) = match old {
                    Some((old, old_size)) if address == 0 && size != 0 => {
                        (old, old_size.unwrap_or(0))
                    }
                    _ => (address, size),
                };
                if address != 0 {
                    let before = live.insert(address, size);
                    assert_eq!(before, None, "{address:#x} was handed out twice");
                }
            }
        }
    });
    assert!(moving.is_empty());
    (live, count)
}
