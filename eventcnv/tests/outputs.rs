//! Existing outputs: without --force, after an interruption, and on a full disk.
//!
//! ```text
//!  every command with -o ── refused │ SIGINT │ no room ──▶ OUT unchanged, no other file
//! ```
//!
//! Design: `.dumper` in `design/telemetry.md`.

#[allow(dead_code, reason = "not every test file uses all of it")]
mod support;
mod synthetic;

use eventdef::field::{A, P};
use eventlog::writer::{Maker, Origin};
use made::{Note, PoolAlloc};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};
use support::eventcnv;
use synthetic::cores::{self, Extent, Process};
use synthetic::naive::{self, Buffer, EventType, Platform, Value, Writer};
use synthetic::recipe::Ring;
use tempfile::TempDir;

/// A command, and the name of its output.
struct Case {
    words: &'static [&'static str],
    output: &'static str,
    is_directory: bool,
    /// Whether the command writes long enough for an interruption.
    is_long: bool,
}

const fn case(words: &'static [&'static str], output: &'static str) -> Case {
    Case { words, output, is_directory: false, is_long: true }
}

const fn directory(words: &'static [&'static str], output: &'static str) -> Case {
    Case { words, output, is_directory: true, is_long: true }
}

/// Every command that writes a file or a directory, except `listen`, which names its logs itself.
const CASES: [Case; 11] = [
    case(&["core"], "rescued.log"),
    case(&["cut"], "out.log"),
    case(&["merge"], "out.log"),
    case(&["recover"], "out.log"),
    case(&["sql"], "out.db"),
    directory(&["parquet"], "out.parquet"),
    case(&["report"], "out.html"),
    case(&["export"], "out.json"),
    case(&["export"], "out.pftrace"),
    directory(&["export"], "out.ctf"),
    Case {
        words: &["export", "--stack", "text"],
        output: "out.folded",
        is_directory: false,
        is_long: false,
    },
];

const TYPES: &[EventType] = &[EventType {
    code: 1,
    kind: 0,
    name: "PoolAlloc",
    params: &[('P', "pool"), ('A', "address"), ('W', "size")],
}];

mod made {
    eventdef::events! {
        /// The events of the log.
        registry "made" version(1, 0, 0);
        kinds standard;

        /// Memory was handed out.
        PoolAlloc(0x0001, always, Pool) {
            /// the pool
            pool: P,
            /// the memory
            address: A,
            /// its size in bytes
            size: W,
        }
        /// A number, twice.
        Note(0x0002, always, Pool) {
            /// as a word
            number: W,
            /// as text
            text: S,
        }
    }
}

/// Enough events for an interruption while a command writes them.
const EVENT_COUNT: u64 = 600_000;

/// Writes a log with this number of events.
fn write_log(path: &Path, event_count: u64) {
    let mut file = fs::File::create(path).unwrap();
    let mut maker = Maker::new(&mut file);
    let mut origin = Origin::new();
    (origin.uuid, origin.block_size_log2) = (*b"log for outputs!", 12);
    (origin.program, origin.pid) = ("program".into(), 4711);
    maker.begin(&origin).unwrap();
    for i in 0..event_count {
        // All numbers differ, so that packed outputs are large too.
        let odd = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let number = odd as usize;
        let added = if i % 4 == 0 {
            let text = format!("{odd:x};{i}");
            maker.add(1, 1, 1000 + i, &Note { number, text: text.as_bytes() })
        } else {
            let (pool, address) = (P(number ^ number >> 29), A(number));
            maker.add(1, 1, 1000 + i, &PoolAlloc { pool, address, size: number >> 7 })
        };
        added.unwrap();
    }
    maker.finish().unwrap();
}

/// Writes a core with this number of blocks of a ring, each with other events.
fn write_core(path: &Path, block_count: u32) {
    let platform = Platform { big_endian: false, word_size: 8, block_size_log2: 16 };
    let mut writer = Writer::new(platform, *b"core for outputs", [9; 16]);
    writer.registry(1, &["Pool"], TYPES, 4000);
    let buffer = Buffer { buffer: 1, registry: 1, kind: 0, thread: 1 };
    let mut ring = Ring::new(&platform, buffer, 1000);
    let values = |i: u64| [Value::P(i.wrapping_mul(0x9E37_79B9)), Value::A(i), Value::W(i)];
    let count = (0..).find(|&i| !ring.record(&platform, 1000 + i, 1, &values(i))).unwrap();
    ring.write(&mut writer, false);
    let of = |_: &[u8]| Extent { count: 1, what: 3, registry: 1, buffer: 1, ..Extent::default() };
    let mut process = Process::new(&writer, of);
    // The extent of the ring is the second.
    process.store(cores::NODES[0] + 16 + 32 + 8, block_count.into(), 4);
    let blocks = &mut process.segments.last_mut().unwrap().bytes;
    let block = std::mem::take(blocks);
    for index in 0..u64::from(block_count) {
        let begin = blocks.len();
        blocks.extend_from_slice(&block);
        naive::put(&mut blocks[begin..], 40, &index.to_le_bytes());
        naive::put(&mut blocks[begin..], 48, &(index * count).to_le_bytes());
    }
    fs::write(path, process.core()).unwrap();
}

/// Writes the inputs of the commands: a log and a core, short or long enough for an interruption.
fn write_inputs(directory: &Path, is_long: bool) {
    write_log(&directory.join("a.log"), if is_long { EVENT_COUNT } else { 4000 });
    write_core(&directory.join("a.core"), if is_long { 600 } else { 3 });
}

/// Returns a directory in which each output exists; the log is in another.
fn outputs() -> TempDir {
    let directory = TempDir::new().unwrap();
    for case in &CASES {
        let path = directory.path().join(case.output);
        if case.is_directory {
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join("file"), case.output).unwrap();
        } else {
            fs::write(path, case.output).unwrap();
        }
    }
    directory
}

/// Asserts that all outputs are unchanged, and no other file exists.
fn assert_intact(directory: &Path, what: &str) {
    let mut expected: Vec<&str> = CASES.iter().map(|case| case.output).collect();
    expected.sort_unstable();
    expected.dedup();
    assert_eq!(names(directory), expected, "{what}");
    for case in &CASES {
        let path = directory.join(case.output);
        let file = if case.is_directory { path.join("file") } else { path.clone() };
        assert_eq!(fs::read(file).unwrap(), case.output.as_bytes(), "{what}");
        assert!(!case.is_directory || names(&path) == ["file"], "{what}: {:?}", names(&path));
    }
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

/// Returns the words of a command, with its input and its output.
fn words(case: &Case, inputs: &Path, output: &Path) -> Vec<String> {
    let input = inputs.join(if case.words == ["core"] { "a.core" } else { "a.log" });
    let words = case.words.iter().map(|word| word.to_string());
    let paths = [input.to_str().unwrap(), "-o", output.to_str().unwrap()].map(str::to_owned);
    words.chain(paths).collect()
}

/// Returns the command with further words.
fn command(words: &[String], more: &[&str]) -> Command {
    let words: Vec<&str> = words.iter().map(String::as_str).chain(more.iter().copied()).collect();
    eventcnv(&words)
}

/// `.dumper`
#[test]
fn an_existing_output_is_replaced_only_by_force() {
    let (logs, directory) = (TempDir::new().unwrap(), outputs());
    write_inputs(logs.path(), false);
    for case in &CASES {
        let output = directory.path().join(case.output);
        let words = words(case, logs.path(), &output);
        let (text, code, errors) = support::told(command(&words, &[]).output().unwrap());
        assert_eq!((code, text), (2, Vec::new()), "{words:?}: {errors}");
        assert!(errors.contains(case.output) && errors.contains("--force"), "{errors}");
        assert_intact(directory.path(), &errors);
    }
    for case in &CASES {
        let output = directory.path().join(case.output);
        let words = words(case, logs.path(), &output);
        let again = command(&words, &["--force"]).output().unwrap();
        let (_, code, errors) = support::told(again);
        assert_eq!(code, 0, "{words:?}: {errors}");
        let is_old = |path: &Path| fs::read(path).is_ok_and(|old| old == case.output.as_bytes());
        assert!(!is_old(&output) && !is_old(&output.join("file")), "{words:?}");
        assert_eq!(output.is_dir(), case.is_directory);
    }
}

/// `.dumper`
#[test]
fn an_output_that_is_an_input_is_refused() {
    let logs = TempDir::new().unwrap();
    write_inputs(logs.path(), false);
    for case in &CASES {
        let input = logs.path().join(if case.words == ["core"] { "a.core" } else { "a.log" });
        let before = fs::read(&input).unwrap();
        let words = words(case, logs.path(), &input);
        let format = match case.output.rsplit_once('.') {
            Some((_, ending)) if case.words[0] == "export" => vec!["--format", ending],
            _ => Vec::new(),
        };
        let format = format.into_iter().map(|word| match word {
            "json" => "chrome",
            "pftrace" => "perfetto",
            other => other,
        });
        let more: Vec<&str> = format.chain(["--force"]).collect();
        let (_, code, errors) = support::told(command(&words, &more).output().unwrap());
        let expected = format!("{}: is an input; give another output", input.display());
        assert!(code == 2 && errors.contains(&expected), "{words:?}: {errors}");
        assert_eq!(fs::read(&input).unwrap(), before, "{words:?}");
    }
}

/// `.dumper`
#[test]
fn a_missing_folder_is_named_as_the_user_wrote_it() {
    let logs = TempDir::new().unwrap();
    write_inputs(logs.path(), false);
    for case in &CASES {
        let output = logs.path().join("none").join(case.output);
        let words = words(case, logs.path(), &output);
        let (_, code, errors) = support::told(command(&words, &[]).output().unwrap());
        let (name, folder) = (output.display(), logs.path().join("none"));
        let folder = folder.display();
        let expected = format!("{name}: the folder {folder} does not exist; make it first");
        assert!(code == 2 && errors.contains(&expected), "{words:?}: {errors}");
        assert!(!errors.contains(".unfinished-"), "{errors}");
    }
}

/// `.dumper`
#[test]
fn an_interrupted_command_leaves_existing_outputs() {
    let (logs, directory) = (TempDir::new().unwrap(), outputs());
    write_inputs(logs.path(), true);
    for case in CASES.iter().filter(|case| case.is_long) {
        let output = directory.path().join(case.output);
        let words = words(case, logs.path(), &output);
        let mut command = command(&words, &["--force"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        wait_until_it_writes(&mut child, directory.path());
        kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
        let status = child.wait().unwrap();
        assert_eq!(status.signal(), Some(2), "{words:?}: {status}");
        assert_intact(directory.path(), &format!("{words:?}"));
    }
}

/// Waits until the process has a file of the directory open, with a name or without, or the
/// directory has a new entry.
fn wait_until_it_writes(child: &mut Child, directory: &Path) {
    let start = Instant::now();
    let count = names(directory).len();
    let open = format!("/proc/{}/fd", child.id());
    let is_open = || {
        let files = fs::read_dir(&open).into_iter().flatten().flatten();
        files.filter_map(|file| fs::read_link(file.path()).ok()).any(|at| at.starts_with(directory))
    };
    while names(directory).len() == count && !is_open() {
        assert_eq!(child.try_wait().unwrap(), None, "the command ended before it wrote");
        assert!(start.elapsed() < Duration::from_secs(60), "the command writes nothing");
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// `.dumper`: a limit of 4 KiB a file stands for a full disk.
#[test]
fn a_full_disk_leaves_existing_outputs() {
    let (logs, directory) = (TempDir::new().unwrap(), outputs());
    write_inputs(logs.path(), false);
    for case in &CASES {
        let output = directory.path().join(case.output);
        let words = words(case, logs.path(), &output);
        // Without SIGXFSZ, a write beyond the limit returns an error.
        let limited = "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\"";
        let mut command = Command::new("sh");
        command.args(["-c", limited, env!("CARGO_BIN_EXE_eventcnv")]);
        command.args(&words).arg("--force").stdin(Stdio::null());
        let (_, code, errors) = support::told(command.output().unwrap());
        assert_eq!(code, 2, "{words:?}: {errors}");
        let is_clear = ["too large", "full", "I/O"].iter().any(|word| errors.contains(word));
        assert!(errors.contains(case.output) && is_clear, "{words:?}: {errors}");
        assert_intact(directory.path(), &errors);
    }
}

/// A receiver of logs in one directory, at a socket in another. `size_max` limits its files, in
/// units of half a KiB.
struct Listening {
    child: Child,
    errors: BufReader<ChildStderr>,
    socket: TempDir,
    logs: TempDir,
}

/// The names of received logs from [`write_log`]: the second and third have a number.
const RECEIVED: [&str; 3] =
    ["program-4711-6c6f6720-2.log", "program-4711-6c6f6720-3.log", "program-4711-6c6f6720.log"];

impl Drop for Listening {
    fn drop(&mut self) {
        // The child still runs if the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Listening {
    fn new(size_max: &str) -> Listening {
        let (socket, logs) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let limited = "trap '' XFSZ; ulimit -f $0; exec \"$@\"";
        let mut command = Command::new("sh");
        command.args(["-c", limited, size_max, env!("CARGO_BIN_EXE_eventcnv"), "listen"]);
        command.arg(format!("unix:{}", socket.path().join("socket").display()));
        command.arg("-o").arg(logs.path()).stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        errors.read_line(&mut String::new()).unwrap();
        Listening { child, errors, socket, logs }
    }

    fn send(&self, bytes: &[u8]) -> UnixStream {
        let mut stream = UnixStream::connect(self.socket.path().join("socket")).unwrap();
        // The receiver may refuse the rest.
        let _ = stream.write_all(bytes);
        stream
    }

    /// Returns the next line of its standard error.
    fn said(&mut self) -> String {
        let mut line = String::new();
        self.errors.read_line(&mut line).unwrap();
        line
    }

    fn interrupt(&mut self) -> Option<i32> {
        kill(Pid::from_raw(self.child.id() as i32), Signal::SIGINT).unwrap();
        self.child.wait().unwrap().code()
    }

    /// Waits until this file has `size` bytes.
    fn wait_for(&self, name: &str, size: u64) {
        let start = Instant::now();
        while fs::metadata(self.logs.path().join(name)).map_or(0, |found| found.len()) < size {
            assert!(start.elapsed() < Duration::from_secs(60), "{name} lacks some of {size} bytes");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// `.dumper`, `.sol.msg`: after an interruption logs have whole blocks; a log without one is
/// removed.
#[test]
fn a_received_log_gets_a_new_name_and_whole_blocks() {
    let inputs = TempDir::new().unwrap();
    write_log(&inputs.path().join("a.log"), 4000);
    let bytes = fs::read(inputs.path().join("a.log")).unwrap();
    let mut listening = Listening::new("unlimited");
    let mine = listening.logs.path().join(RECEIVED[2]);
    fs::write(&mine, "mine").unwrap();
    drop(listening.send(&bytes));
    let said = listening.said();
    assert!(said.contains(&format!("{}: {} bytes\n", RECEIVED[0], bytes.len())), "{said}");
    // Two logs are incomplete: one has two blocks and a half, the other less than one.
    let _half = listening.send(&bytes[..10_000]);
    listening.wait_for(RECEIVED[1], 10_000);
    let _less = listening.send(&bytes[..1000]);
    listening.wait_for("program-4711-6c6f6720-4.log", 1000);
    assert_eq!(listening.interrupt(), Some(0));
    let said = [listening.said(), listening.said()].concat();
    assert!(said.contains("; no complete block was received: the file is removed\n"), "{said}");
    assert_eq!(names(listening.logs.path()), RECEIVED);
    let read = |name| fs::read(listening.logs.path().join(name)).unwrap();
    assert!(read(RECEIVED[0]) == bytes && read(RECEIVED[1]) == bytes[..8192]);
    assert_eq!(read(RECEIVED[2]), b"mine");
}

/// `.dumper`, `.sol.msg`
#[test]
fn a_disk_that_is_full_at_the_first_block_leaves_no_log() {
    let inputs = TempDir::new().unwrap();
    write_log(&inputs.path().join("a.log"), 4000);
    let bytes = fs::read(inputs.path().join("a.log")).unwrap();
    for (size_max, names_left) in [("2", &[][..]), ("8", &RECEIVED[2..])] {
        let mut listening = Listening::new(size_max);
        let _stream = listening.send(&bytes);
        let said = listening.said();
        assert!(said.contains("cannot write: ") && said.contains("too large"), "{said}");
        assert_eq!(said.contains("the file is removed"), names_left.is_empty(), "{said}");
        assert_eq!(names(listening.logs.path()), names_left);
        assert_eq!(listening.interrupt(), Some(1));
        for name in names_left {
            assert!(fs::read(listening.logs.path().join(name)).unwrap() == bytes[..4096]);
        }
    }
}
