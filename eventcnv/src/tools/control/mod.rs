//! Controls running programs by requests over their sockets.
//!
//! ```text
//!  DIR ── 4711.sock, 4712.sock ──▶ which processes ── request ──▶ answer ──▶ standard output
//!                                                        └─▶ error ──▶ standard error
//! ```
//!
//! Answers are printed as clean lines, whatever a program sends. Design: `.control.tool` in
//! `design/telemetry.md`.

pub(crate) mod args;

pub(crate) use crate::tools::control::args::Control;
use crate::tools::control::args::{ControlRequest, Process, SOCKET_VARIABLE};
use cli::{Stop, complain};
use eventlog::control::{AnswerLine, Mask, REQUEST_SIZE_MAX, Request, SocketName, Verb};
use eventlog::format::text::OneLine;
use serde_json::{Value, json};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

const ANSWER_TIME_MAX: Duration = Duration::from_secs(20);
/// Time for an answer in a list of processes.
const LIST_TIME_MAX: Duration = Duration::from_secs(2);
/// Bytes of an answer, at most: some hundred registries.
const ANSWER_SIZE_MAX: u64 = 16 << 20;

/// Runs the command. Returns whether all processes succeeded.
pub(crate) fn run(args: &Control) -> Result<bool, Stop> {
    let directory = directory(args.socket.clone(), std::env::var_os(SOCKET_VARIABLE));
    let directory = directory.map_err(Stop::Message)?;
    let out = &mut io::stdout().lock();
    let request = request(args).map_err(Stop::Message)?;
    match (args.process, &args.request) {
        (None, Some(_)) => {
            let all = listening(&directory).map_err(Stop::Message)?;
            Err(Stop::Message(format!("name a process; {}", list_text(&directory, &all))))
        }
        (None | Some(Process::All), None) => list(&directory, args.json, out),
        (Some(Process::All), Some(_)) => ask_all(&directory, &request, args.json, out),
        (Some(Process::One(process)), _) => {
            let lines = ask(&directory, process, &request, ANSWER_TIME_MAX).map_err(|why| {
                Stop::Message(format!("process {process}: {}", explain(&directory, process, why)))
            })?;
            print(process, &lines, args.json, out)?;
            Ok(true)
        }
    }
}

fn directory(
    named: Option<PathBuf>,
    variable: Option<std::ffi::OsString>,
) -> Result<PathBuf, String> {
    let variable = variable.filter(|value| !value.is_empty()).map(PathBuf::from);
    named.or(variable).ok_or_else(|| {
        format!("name the directory of the sockets by --socket or {SOCKET_VARIABLE}")
    })
}

/// Returns the line to send.
fn request(args: &Control) -> Result<String, String> {
    let joined = |kinds: &[String]| kinds.join(" ");
    let mask = |recorded| if recorded { Mask::Recorded } else { Mask::Output };
    let (verb, mask, kinds) = match &args.request {
        Some(ControlRequest::Get { kinds }) => (Verb::Get, Mask::Output, joined(kinds)),
        Some(ControlRequest::Set(change)) => {
            (Verb::Set, mask(change.recorded), joined(&change.kinds))
        }
        Some(ControlRequest::Reset(change)) => {
            (Verb::Reset, mask(change.recorded), joined(&change.kinds))
        }
        Some(ControlRequest::Flush) => (Verb::Flush, Mask::Output, String::new()),
        Some(ControlRequest::Status) | None => (Verb::Status, Mask::Output, String::new()),
    };
    let registry = args.registry.as_deref();
    if registry.is_some_and(|name| name.contains(|c: char| c.is_ascii_whitespace())) {
        return Err("the registry has a space in its name; give its index".to_owned());
    }
    let mut line = String::new();
    // Writing to a string cannot fail.
    let _ = Request::write(&mut line, verb, registry, mask, &kinds);
    match Request::parse(line.trim_end().as_bytes()) {
        Ok(_) if line.len() <= REQUEST_SIZE_MAX => Ok(line),
        Ok(_) => Err(format!("the request is longer than {REQUEST_SIZE_MAX} bytes")),
        Err(error) => Err(error.to_string()),
    }
}

/// Why a request failed.
enum Failure {
    /// The process has no socket.
    Absent,
    /// The socket exists, but no process listens.
    Left,
    System(io::Error),
    /// No answer within this time.
    Silent(Duration),
    /// The connection ended before the answer.
    Cut,
    /// The answer does not follow the protocol.
    Strange,
    /// The process refused, with this reason.
    Refused(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::NotFound => Failure::Absent,
            io::ErrorKind::ConnectionRefused => Failure::Left,
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Failure::Cut,
            _ => Failure::System(error),
        }
    }
}

/// Sends a request and returns the lines of the answer. A thread does it, as a stopped process
/// neither answers nor accepts connections.
fn ask(
    directory: &Path,
    process: u64,
    request: &str,
    limit: Duration,
) -> Result<Vec<(String, String)>, Failure> {
    let path = directory.join(SocketName(process).to_string());
    let request = request.to_owned();
    let (sender, receiver) = mpsc::channel();
    let asking = thread::Builder::new().spawn(move || {
        // The receiver may have stopped waiting.
        let _ = sender.send(exchange(&path, &request));
    });
    asking.map_err(Failure::System)?;
    let answer = receiver.recv_timeout(limit).map_err(|_| Failure::Silent(limit))??;
    read(&answer)
}

#[cfg(unix)]
fn exchange(path: &Path, request: &str) -> io::Result<Vec<u8>> {
    let mut stream = std::os::unix::net::UnixStream::connect(path)?;
    // A process that refuses may have closed the socket: its answer has the reason.
    let _ = stream.write_all(request.as_bytes());
    let mut answer = Vec::new();
    let read = stream.take(ANSWER_SIZE_MAX).read_to_end(&mut answer);
    if answer.is_empty() { read.map(|_| answer) } else { Ok(answer) }
}

#[cfg(not(unix))]
fn exchange(_: &Path, _: &str) -> io::Result<Vec<u8>> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this platform has no Unix sockets"))
}

/// Returns the data of a complete answer.
fn read(answer: &[u8]) -> Result<Vec<(String, String)>, Failure> {
    let clean = |text: &str| OneLine(text.as_bytes()).to_string();
    let text = String::from_utf8_lossy(answer);
    let mut lines = Vec::new();
    for line in text.split_inclusive('\n') {
        let Some(line) = line.strip_suffix('\n') else { return Err(Failure::Cut) };
        match AnswerLine::parse(line) {
            Some(AnswerLine::Data(key, value)) => lines.push((clean(key), clean(value))),
            Some(AnswerLine::Done) => return Ok(lines),
            Some(AnswerLine::Failed(why)) => return Err(Failure::Refused(clean(why))),
            None => return Err(Failure::Strange),
        }
    }
    Err(Failure::Cut)
}

fn print(
    process: u64,
    lines: &[(String, String)],
    is_json: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let text: String = if is_json {
        // A key may occur several times.
        let line = |(key, value): &(String, String)| json!({ "key": key, "value": value });
        let lines: Value = lines.iter().map(line).collect();
        format!("{}\n", json!({ "process": process, "lines": lines }))
    } else {
        lines.iter().map(|(key, value)| format!("{key}: {value}\n")).collect()
    };
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Returns a failure as a line for people.
fn explain(directory: &Path, process: u64, failure: Failure) -> String {
    let name = directory.join(SocketName(process).to_string());
    let name = name.display();
    match failure {
        Failure::Absent => {
            let all = listening(directory).map_or_else(|why| why, |all| list_text(directory, &all));
            format!("no socket {name}; {all}")
        }
        Failure::Left => format!("the process has ended and left the socket {name}"),
        Failure::System(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            format!("{name}: {error}; the socket belongs to another user")
        }
        Failure::System(error) => format!("{name}: {error}"),
        Failure::Silent(limit) => {
            format!("no answer in {} s: the process or its host is stopped", limit.as_secs())
        }
        Failure::Cut => "incomplete answer: the process has ended, or is too busy".to_owned(),
        Failure::Strange => format!("{name}: not a telemetry socket"),
        Failure::Refused(why) => why,
    }
}

/// Returns the processes that have a socket, in order.
fn listening(directory: &Path) -> Result<Vec<u64>, String> {
    let unread = |error| format!("{}: {error}", directory.display());
    let mut all = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(unread)? {
        let name = entry.map_err(unread)?.file_name();
        all.extend(name.to_str().and_then(SocketName::parse).map(|SocketName(process)| process));
    }
    all.sort_unstable();
    Ok(all)
}

fn list_text(directory: &Path, processes: &[u64]) -> String {
    let directory = directory.display();
    let names: Vec<String> = processes.iter().map(u64::to_string).collect();
    match names.is_empty() {
        true => format!(
            "no program listens in {directory}; start one with {SOCKET_VARIABLE}={directory}"
        ),
        false => format!("programs that listen: {}", names.join(", ")),
    }
}

/// Lists the programs that listen.
fn list(directory: &Path, is_json: bool, out: &mut dyn Write) -> Result<bool, Stop> {
    let all = listening(directory).map_err(Stop::Message)?;
    if all.is_empty() {
        complain(&format!("eventcnv: {}\n", list_text(directory, &all)));
        return Ok(true);
    }
    let mut request = String::new();
    let _ = Request::write(&mut request, Verb::Status, None, Mask::Output, "");
    let heading = format!("{:>8} {:16} {:8} LOG\n", "PID", "PROGRAM", "STANDING");
    let mut text = if is_json { String::new() } else { heading };
    for process in all {
        text += &match ask(directory, process, &request, LIST_TIME_MAX) {
            Ok(lines) => {
                let found = |key: &str| lines.iter().find(|(other, _)| other == key);
                let value = |key| found(key).map_or("-", |(_, value)| value.as_str());
                let [program, standing, log] = ["program", "standing", "log"].map(value);
                if is_json {
                    let row = json!({
                        "process": process, "program": program, "standing": standing, "log": log,
                    });
                    text += &format!("{row}\n");
                    continue;
                }
                format!("{process:>8} {program:16} {standing:8} {log}\n")
            }
            Err(failure) => {
                let why = explain(directory, process, failure);
                match is_json {
                    true => format!("{}\n", json!({ "process": process, "error": why })),
                    false => format!("{process:>8} - {why}\n"),
                }
            }
        };
    }
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(true)
}

/// Sends a request to every program that listens.
fn ask_all(
    directory: &Path,
    request: &str,
    is_json: bool,
    out: &mut dyn Write,
) -> Result<bool, Stop> {
    let all = listening(directory).map_err(Stop::Message)?;
    let mut failed_count = 0;
    for &process in &all {
        match ask(directory, process, request, ANSWER_TIME_MAX) {
            Ok(lines) => {
                if !is_json {
                    writeln!(out, "process: {process}")?;
                }
                print(process, &lines, is_json, out)?;
            }
            Err(failure) => {
                failed_count += 1;
                let why = explain(directory, process, failure);
                complain(&format!("eventcnv: process {process}: {why}\n"));
            }
        }
    }
    match (all.len(), failed_count) {
        (0, _) => Err(Stop::Message(list_text(directory, &all))),
        (_, 0) => Ok(true),
        (count, _) => Err(Stop::Message(format!("{failed_count} of {count} processes failed"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_cut(answer: &[u8]) -> bool {
        matches!(read(answer), Err(Failure::Cut))
    }

    /// `.control.tool.answer`
    #[test]
    fn an_answer_without_its_last_line_is_incomplete() {
        let whole = b"pid: 1\nlog: a b\nok\n";
        let lines = read(whole).ok().expect("a whole answer");
        assert_eq!(lines, [("pid", "1"), ("log", "a b")].map(|(k, v)| (k.into(), v.into())));
        assert!((0..whole.len()).all(|size| is_cut(&whole[..size])));
    }

    /// `.control.tool.answer`: any program may listen at the socket.
    #[test]
    fn an_answer_cannot_forge_a_line_or_control_a_terminal() {
        let lines = read(b"pid: \x1b[2J\rx\xff\nok\n").ok().expect("a whole answer");
        assert_eq!(lines[0].1, "\u{fffd}[2J x\u{fffd}");
        let Err(Failure::Refused(why)) = read(b"error: \x07\n") else { panic!("refused") };
        assert_eq!(why, "\u{fffd}");
        assert!(matches!(read(b"HTTP/1.1 400 Bad Request\r\n"), Err(Failure::Strange)));
    }
}
