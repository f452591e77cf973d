//! `eventcnv listen` with many programs, garbage, full disks and interruptions.
//!
//! ```text
//!  recorder × n ── tcp, unix ──▶ eventcnv listen ──▶ logs ── eventcnv ──▶ = the recorded events
//! ```
//!
//! Rules: `.sol.msg`, `.req.multi` in `design/telemetry.md`.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use tests::naive::{self, BlockFields, Buffer, Platform};
use tests::programs::{eventcnv, lines, run, wait_for};

#[path = "listen/many.rs"]
mod many;

/// A running listener, in its own directory.
struct Listening {
    child: Child,
    errors: BufReader<ChildStderr>,
    address: String,
    directory: tempfile::TempDir,
}

impl Listening {
    /// Starts a listener at this address, in which `DIR` stands for the directory.
    fn at(address: &str, args: &[&str]) -> Listening {
        Listening::by(eventcnv(), address, args)
    }

    /// Starts a listener by a command.
    fn by(mut command: Command, address: &str, args: &[&str]) -> Listening {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let logs = directory.path().join("logs");
        fs::create_dir(&logs).expect("a directory can be made");
        let address = address.replace("DIR", directory.path().to_str().expect("a plain name"));
        command.args(["listen", &address, "-o"]).arg(logs).args(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("eventcnv runs");
        let mut errors = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut line = String::new();
        errors.read_line(&mut line).expect("a line");
        let address = line.trim().strip_prefix("eventcnv: listening on ").unwrap_or_else(|| {
            panic!("no address: {line:?}");
        });
        Listening { address: address.to_owned(), child, errors, directory }
    }

    fn tcp() -> Listening {
        Listening::at("tcp://127.0.0.1:0", &[])
    }

    /// Returns a recorder that sends to the listener.
    fn recorder(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_recorder"));
        command.args(words).env("MPS_TELEMETRY_CONTROL", "all");
        command.env("MPS_TELEMETRY_FILENAME", &self.address);
        command
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address.trim_start_matches("tcp://")).expect("a listener")
    }

    fn logs(&self) -> Vec<PathBuf> {
        let logs = fs::read_dir(self.directory.path().join("logs")).expect("the directory");
        let mut logs: Vec<PathBuf> = logs.map(|log| log.expect("a file").path()).collect();
        logs.sort();
        logs
    }

    /// Returns the next message of the listener.
    fn said(&mut self) -> String {
        let mut line = String::new();
        self.errors.read_line(&mut line).expect("a line");
        line
    }

    fn signal(&self, signal: &str) {
        run(Command::new("kill").args([signal, &self.child.id().to_string()]));
    }

    /// Interrupts the listener. Returns its remaining output, its messages, and its exit code.
    fn end(&mut self) -> (String, String, Option<i32>) {
        self.signal("-INT");
        let (mut out, mut errors) = (String::new(), String::new());
        self.child.stdout.take().map(|mut pipe| pipe.read_to_string(&mut out));
        self.errors.read_to_string(&mut errors).expect("text");
        (out, errors, self.child.wait().expect("an exit").code())
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        // After a failed test the listener still runs.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the counts that the recorder prints: requested, recorded, overwritten, io.
fn counts(text: &[u8]) -> [u64; 4] {
    let text = String::from_utf8_lossy(text);
    let counts: Vec<u64> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
    counts.try_into().expect("four counts")
}

/// A recorder that has recorded, and ends only when told: even on a busy machine its receiver has
/// the time to read everything.
struct Held {
    child: Child,
    output: BufReader<ChildStdout>,
    /// The counts of the recorder.
    counts: [u64; 4],
    /// The number of bytes that its host has taken.
    size: u64,
}

impl Held {
    fn new(command: &mut Command) -> Held {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("a child");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        Held { child, output, counts: [0; 4], size: 0 }
    }

    /// Waits until the recorder has recorded.
    fn wait(&mut self) {
        let mut line = || {
            let mut line = String::new();
            self.output.read_line(&mut line).expect("a line");
            line
        };
        self.counts = counts(line().as_bytes());
        self.size = line().trim().parse().expect("a size");
    }

    /// Lets the recorder end. Returns its messages.
    fn end(self) -> String {
        let output = self.child.wait_with_output().expect("an exit");
        assert!(output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    }
}

/// Returns threads, indexes and codes of the events in a log of `recorder threads`; checks each.
fn work(log: &Path) -> Vec<(u64, u64, u64)> {
    let dump = lines(eventcnv().args(["--kinds", "Begin,Middle,End"]).arg(log));
    let hex = |word: &str| u64::from_str_radix(word, 16).expect("a hexadecimal number");
    let event = |line: &String| {
        let words: Vec<u64> = line.split_whitespace().skip(1).map(hex).collect();
        let [code, thread, index, square] = words[..] else { panic!("{line}") };
        assert_eq!(square, index.wrapping_mul(index), "{line}");
        (thread, index, code)
    };
    let mut events: Vec<_> = dump.iter().map(event).collect();
    events.sort();
    events
}

/// Returns the sum over all kinds of a column in the table of losses that `stats` prints.
fn not_in_the_log(log: &Path, column: usize) -> u64 {
    let stats = lines(eventcnv().arg("stats").arg(log));
    let table = stats.iter().skip_while(|line| !line.starts_with("not in the log")).skip(1);
    let count = |line: &String| line.split_whitespace().nth(column).map(|word| word.parse());
    table.map(|line| count(line).expect("a column").unwrap_or(0u64)).sum()
}

/// `.sol.msg`, `.event.identity`
#[test]
fn the_listener_writes_whole_logs_of_twenty_programs() {
    const COUNT: u64 = 10_000;
    for address in ["tcp://127.0.0.1:0", "unix:DIR/socket"] {
        let mut listening = Listening::at(address, &[]);
        let words = ["held", "1", &COUNT.to_string()];
        let recorders = (0..20).map(|_| Held::new(&mut listening.recorder(&words)));
        let mut recorders: Vec<Held> = recorders.collect();
        let mut twin: Vec<_> = (0..COUNT).map(|index| (0, index, 1 + index % 3)).collect();
        twin.sort();
        recorders.iter_mut().for_each(Held::wait);
        let mut sizes = BTreeMap::new();
        for recorder in &recorders {
            assert_eq!(recorder.counts, [COUNT, COUNT, 0, 0]);
            sizes.insert(recorder.child.id().to_string(), recorder.size);
        }
        let is_received = |log: &PathBuf| {
            let size = fs::metadata(log).expect("the log").len();
            sizes.get(pid_of(log)).is_some_and(|sent| size >= *sent)
        };
        wait_for("all that was sent", || {
            let logs = listening.logs();
            logs.len() == 20 && logs.iter().all(is_received)
        });
        recorders.into_iter().for_each(|recorder| assert_eq!(recorder.end(), ""));
        // The receiver reports each log at its end.
        (0..20).for_each(|_| assert!(listening.said().ends_with(" bytes\n")));
        let (_, errors, code) = listening.end();
        assert_eq!(code, Some(0), "{errors}");
        assert_eq!(listening.logs().len(), 20);
        for log in listening.logs() {
            assert!(sizes.remove(pid_of(&log)).is_some(), "{}", log.display());
            assert_eq!(work(&log), twin, "{}", log.display());
            assert_eq!(not_in_the_log(&log, 4), 0);
        }
    }
}

/// Returns the process number in the name of a log.
fn pid_of(log: &Path) -> &str {
    let name = log.file_name().unwrap().to_str().unwrap();
    let ["recorder", pid, _] = name.split('-').collect::<Vec<_>>()[..] else { panic!("{name}") };
    pid
}

/// `.dumper`: in each of its forms.
#[test]
fn live_output_equals_the_dump_of_the_log() {
    for (form, words) in [
        ("--dump", &["kinds"][..]),
        ("-v", &["kinds"]),
        ("-vv", &["kinds"]),
        ("-vvv", &["kinds"]),
        ("-v", &["sorts"]),
        ("-vv", &["threads", "4", "30000"]),
    ] {
        let mut listening = Listening::at("tcp://127.0.0.1:0", &[form]);
        run(&mut listening.recorder(words));
        let said = listening.said();
        assert!(said.contains("recorder-") && said.contains(" bytes\n"), "{said}");
        let (shown, errors, code) = listening.end();
        assert_eq!((code, &*errors), (Some(0), ""));
        let mut dump = eventcnv();
        dump.args(Some(form).filter(|form| form.starts_with("-v")));
        let mut dumped = lines(dump.arg(&listening.logs()[0]));
        let mut shown: Vec<&str> = shown.lines().collect();
        shown.sort();
        dumped.sort();
        let differing = shown.iter().zip(&dumped).find(|(shown, dumped)| shown != dumped);
        let counts = (shown.len(), dumped.len());
        assert!(shown == dumped, "{form} {words:?}: {counts:?} lines, first {differing:#?}");
        assert!(shown.len() > 8);
    }
}

/// Data that the listener has not received yet are still in the sender's system.
#[test]
fn the_listener_receives_the_data_of_ended_programs() {
    const SIZE: usize = 1 << 20;
    let platform = Platform { big_endian: false, word_size: 8, block_size_log2: 12 };
    let mut bytes = naive::Writer::new(platform, [3; 16], [9; 16]).bytes();
    bytes.truncate(4096);
    bytes.resize(4096, 0);
    for _ in 0..5 {
        let mut listening = Listening::tcp();
        let mut connection = listening.connect();
        connection.write_all(&bytes).expect("a receiver");
        wait_for("a log", || !listening.logs().is_empty());
        listening.signal("-STOP");
        connection.write_all(&vec![0; SIZE]).expect("the system takes it");
        drop(connection);
        listening.signal("-INT");
        listening.signal("-CONT");
        let (_, errors, code) = listening.end();
        assert_eq!(code, Some(0), "{errors}");
        let size = fs::metadata(&listening.logs()[0]).expect("the log").len();
        assert_eq!(size, 4096 + SIZE as u64);
    }
}

#[test]
fn a_closed_live_dump_ends_the_listener() {
    let mut listening = Listening::at("tcp://127.0.0.1:0", &["-v"]);
    drop(listening.child.stdout.take());
    run(&mut listening.recorder(&["kinds"]));
    assert_eq!(listening.child.wait().expect("an exit").code(), Some(0));
    assert_eq!(listening.logs().len(), 1);
}

/// `.header.magic`, `.header.crc`, `.read.major`: the listener refuses the bytes, and keeps its
/// other connections.
#[test]
fn the_listener_refuses_other_bytes() {
    let mut listening = Listening::tcp();
    let platform = Platform { big_endian: false, word_size: 8, block_size_log2: 12 };
    let head = naive::Writer::new(platform, [3; 16], [9; 16]).bytes();
    let mut wrong = head.clone();
    wrong[200] ^= 1;
    let mut later = head.clone();
    later[8] = 2;
    naive::seal_stream_header(&mut later);
    for (bytes, why) in [
        (&b"GET / HTTP/1.1\r\n\r\n"[..], "is not a log"),
        (&head[..300], "no stream header in 300 bytes"),
        (&wrong[..512], "is not a log"),
        (&[0xFF; 100_000], "is not a log"),
        (&later[..512], "stream format 2."),
        (&[], "no stream header in 0 bytes"),
    ] {
        let mut connection = listening.connect();
        // The listener may refuse the bytes before the test has sent all.
        let _ = connection.write_all(bytes);
        drop(connection);
        let said = listening.said();
        assert!(said.contains("refused: ") && said.contains(why), "{said}");
        assert!(said.starts_with("eventcnv: 127.0.0.1:"), "{said}");
    }
    assert!(listening.logs().is_empty());
    run(&mut listening.recorder(&["kinds"]));
    assert!(listening.said().contains("recorder-"));
    assert_eq!(listening.logs().len(), 1);
    assert_eq!(listening.end().2, Some(0));
}

/// Programs choose their names.
#[test]
fn the_listener_overwrites_no_log() {
    let mut listening = Listening::tcp();
    let platform = Platform { big_endian: false, word_size: 8, block_size_log2: 12 };
    let mut writer = naive::Writer::new(platform, [0x3A; 16], [9; 16]);
    naive::put(&mut writer.head, 280, &[0; 128]);
    naive::put(&mut writer.head, 280, b"../../evil");
    naive::seal_stream_header(&mut writer.head);
    for _ in 0..3 {
        listening.connect().write_all(&writer.bytes()).expect("a receiver");
        listening.said();
    }
    let names: Vec<String> = listening
        .logs()
        .iter()
        .map(|log| log.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(names.len(), 3);
    for (name, end) in names.iter().zip(["-2.log", "-3.log", ".log"]) {
        assert!(name.starts_with("_.._evil-") && name.ends_with(end), "{names:?}");
        assert!(name.contains("-3a3a3a3a"), "{names:?}");
    }
    assert_eq!(listening.end().2, Some(0));
}

/// The receiver is slow: the log that it got counts what it lacks.
#[test]
fn the_statistics_of_a_slow_receiver_add_up() {
    const COUNT: u64 = 400_000;
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("tcp://{}", listener.local_addr().expect("an address"));
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("slow.log");
    let mut command = Command::new(env!("CARGO_BIN_EXE_recorder"));
    command.args(["held", "2", "200000"]).env("MPS_TELEMETRY_CONTROL", "all");
    let mut recorder = Held::new(command.env("MPS_TELEMETRY_FILENAME", &address));
    let (mut stream, _) = listener.accept().expect("a recorder");
    // The receiver reads nothing until everything is recorded.
    recorder.wait();
    let received = AtomicU64::new(0);
    let [requested, recorded, overwritten, io] = recorder.counts;
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut file = fs::File::create(&log).expect("the log can be made");
            let mut bytes = vec![0; 65536];
            while let Ok(size @ 1..) = stream.read(&mut bytes) {
                file.write_all(&bytes[..size]).expect("the log can be written");
                received.fetch_add(size as u64, Ordering::Relaxed);
            }
        });
        wait_for("all that was sent", || received.load(Ordering::Relaxed) >= recorder.size);
        let said = recorder.end();
        assert!(said.contains("cannot write to ") && said.lines().count() == 1, "{said}");
    });
    assert_eq!((requested, recorded, overwritten), (COUNT, COUNT, 0));
    assert!(io > 0, "the receiver was not slow");
    let told = not_in_the_log(&log, 4);
    // The receiver took some of the waiting blocks after the program had counted.
    assert!(told > 0, "of {io}");
    assert_eq!(work(&log).len() as u64 + told, COUNT);
    let stats = run(eventcnv().arg("stats").arg(&log));
    let said = String::from_utf8_lossy(&stats.stderr);
    assert!(said.contains(&format!("{told} refused by the host")), "{said}");
    assert!(!String::from_utf8_lossy(&stats.stdout).contains("not closed"));
}

/// `.sol.msg`, `.part.account`: the receiver reads nothing until the program ends. Both sides then
/// know the exact number of lost events.
#[test]
fn a_receiver_stopped_to_the_end_learns_its_losses() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let at = |name: String| directory.path().join(name);
    let receive = |round: usize, is_tcp: bool, count: u64| {
        let log = at(format!("{round}.log"));
        let path = at(format!("{round}.socket"));
        let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
        let unix = UnixListener::bind(&path).expect("a socket");
        let address = match is_tcp {
            true => format!("tcp://{}", tcp.local_addr().expect("an address")),
            false => format!("unix:{}", path.display()),
        };
        let mut command = Command::new(env!("CARGO_BIN_EXE_recorder"));
        command.args(["threads", "2", &(count / 2).to_string()]);
        command.env("MPS_TELEMETRY_CONTROL", "all").env("MPS_TELEMETRY_FILENAME", &address);
        // The program has ended before the receiver reads.
        let output = run(&mut command);
        let mut bytes = Vec::new();
        let read = match is_tcp {
            true => tcp.accept().expect("a recorder").0.read_to_end(&mut bytes),
            false => unix.accept().expect("a recorder").0.read_to_end(&mut bytes),
        };
        read.expect("the stream");
        fs::write(&log, bytes).expect("a log");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let line = said.lines().find(|line| line.contains(" events were not sent when"));
        let line = line.unwrap_or_else(|| panic!("{address}, {count}: {said}"));
        let number =
            line.split(" events were not sent").next().and_then(|it| it.split(' ').next_back());
        let lost: u64 = number.expect("a number").parse().expect("a number");
        assert!(lost > 0 && !line.contains("at least"), "{line}");
        let json = eventcnv().args(["stats", "--json"]).arg(&log).output().expect("a child");
        let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
        assert_eq!(json["lost"].as_u64(), Some(lost), "{address}, {count}: {said}");
        assert_eq!(work_of(&log) + lost, count, "{address}, {count}: {said}");
        let verified = eventcnv().arg("verify").arg(&log).output().expect("a child");
        let told = format!(": {lost} event");
        let verdict = String::from_utf8_lossy(&verified.stdout).into_owned();
        assert!(verdict.contains(&told) && verdict.contains(" requested and "), "{verdict}");
        assert_ne!(verified.status.code(), Some(0));
    };
    let receive = &receive;
    thread::scope(|scope| {
        let cases = [(true, 400_000), (true, 1_000_000), (false, 400_000), (false, 1_000_000)];
        for (round, (is_tcp, count)) in cases.into_iter().enumerate() {
            scope.spawn(move || receive(round, is_tcp, count));
        }
    });
}

/// Counts the events of `recorder threads` in a log, also in a damaged one.
fn work_of(log: &Path) -> u64 {
    let dump = eventcnv().args(["--kinds", "Begin,Middle,End"]).arg(log).output();
    String::from_utf8_lossy(&dump.expect("a child").stdout).lines().count() as u64
}

/// The program continues, and the received log is readable.
#[test]
fn a_killed_listener_leaves_a_readable_log() {
    let mut listening = Listening::tcp();
    let mut command = listening.recorder(&["busy", "2"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut recorder = command.spawn().expect("a child");
    let size = |listening: &Listening| {
        listening.logs().first().and_then(|log| fs::metadata(log).ok()).map_or(0, |at| at.len())
    };
    wait_for("a log of 1 MB", || size(&listening) > 1_000_000);
    listening.signal("-KILL");
    listening.child.wait().expect("the listener has ended");
    let mut said = String::new();
    let mut errors = BufReader::new(recorder.stderr.take().expect("a pipe"));
    errors.read_line(&mut said).expect("a line");
    // The program continues until its input ends.
    let output = recorder.wait_with_output().expect("an exit");
    errors.read_to_string(&mut said).expect("text");
    assert!(output.status.success(), "{said}");
    let [requested, recorded, _, io] =
        counts(output.stdout.strip_prefix(b"busy\n").expect("a line"));
    assert!(requested == recorded && recorded > 30_000 && io > 0, "{recorded} {io}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains(&format!("cannot write to {}", listening.address)), "{said}");
    let log = &listening.logs()[0];
    let dump = eventcnv().arg(log).output().expect("eventcnv runs");
    assert!(String::from_utf8_lossy(&dump.stdout).lines().count() > 20_000);
}

#[test]
fn an_interruption_leaves_whole_blocks_of_running_programs() {
    let mut listening = Listening::tcp();
    let mut command = listening.recorder(&["threads", "2", "1500000"]);
    let recorder = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("a child");
    wait_for("a log", || !listening.logs().is_empty());
    let (_, errors, code) = listening.end();
    assert_eq!(code, Some(0), "{errors}");
    assert!(recorder.wait_with_output().expect("an exit").status.success());
    let log = &listening.logs()[0];
    assert_eq!(fs::metadata(log).expect("the log").len() % 65536, 0);
    run(eventcnv().arg(log));
}

/// A limit on file sizes, EFBIG, stands for a full disk.
#[test]
fn the_listener_reports_an_unwritable_log() {
    let program = eventcnv();
    let mut limited = Command::new("sh");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 800; exec \"$0\" \"$@\""]);
    limited.arg(program.get_program());
    let mut listening = Listening::by(limited, "tcp://127.0.0.1:0", &[]);
    let mut command = listening.recorder(&["threads", "1", "300000"]);
    assert!(command.output().expect("a child").status.success());
    let said = listening.said();
    assert!(
        said.contains("cannot write: File too large (os error 27); the rest is lost"),
        "{said}"
    );
    assert_eq!(listening.end().2, Some(1));
    // A program that runs for long enough sends later events in another volume.
    let is_first = |log: &&PathBuf| !log.to_string_lossy().ends_with("-2.log");
    let logs = listening.logs();
    let log = logs.iter().find(is_first).expect("the first volume");
    let size = fs::metadata(log).expect("the log").len();
    assert!([6 * 65536, 12 * 65536].contains(&size), "{size}");
    run(eventcnv().arg(log));
}

#[test]
fn the_listener_reports_a_removed_directory() {
    let mut listening = Listening::tcp();
    fs::remove_dir(listening.directory.path().join("logs")).expect("an empty folder");
    assert!(listening.recorder(&["kinds"]).output().expect("a child").status.success());
    let said = listening.said();
    assert!(said.contains("refused: ") && said.contains("No such file or directory"), "{said}");
    assert_eq!(listening.end().2, Some(1));
    for (path, why) in [("no/such", "cannot make"), ("/dev/null", "not a directory")] {
        let nowhere = eventcnv().args(["listen", "tcp://127.0.0.1:0", "-o", path]).output();
        let nowhere = nowhere.expect("a child");
        assert_eq!(nowhere.status.code(), Some(2));
        let said = String::from_utf8_lossy(&nowhere.stderr);
        assert!(said.contains(&format!("{path}: {why}")), "{said}");
    }
}

#[test]
fn an_address_in_use_is_refused_and_an_old_socket_replaced() {
    let second = |address: &str| {
        let output = eventcnv().args(["listen", address]).output().expect("a child");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let tcp = Listening::tcp();
    let unix = Listening::at("unix:DIR/socket", &[]);
    for address in [&tcp.address, &unix.address] {
        let said = format!("eventcnv: {address}: Address already in use (os error 98)\n");
        assert_eq!(second(address), (Some(2), said));
    }
    let nonsense = second("ftp://localhost");
    assert_eq!(nonsense.0, Some(2));
    assert!(nonsense.1.contains("neither tcp://HOST:PORT nor unix:PATH"), "{}", nonsense.1);
    // A file that is not a socket stays.
    let file = unix.directory.path().join("file");
    fs::write(&file, "text").expect("a file can be written");
    assert_eq!(second(&format!("unix:{}", file.display())).0, Some(2));
    assert_eq!(fs::read(&file).expect("the file"), b"text");
    // A killed listener leaves its socket, and the next listener replaces that.
    let path = PathBuf::from(unix.address.trim_start_matches("unix:"));
    unix.signal("-KILL");
    wait_for("the listener's end", || UnixStream::connect(&path).is_err());
    assert!(path.exists());
    let mut next = Listening::at(&unix.address, &[]);
    run(&mut next.recorder(&["kinds"]));
    assert!(next.said().contains("recorder-"));
    assert_eq!(next.end().2, Some(0));
    assert!(!path.exists(), "the listener left its socket");
}
