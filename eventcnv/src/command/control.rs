//! The control of running programs: requests over their sockets.
//!
//! ```text
//!  DIR ── 4711.sock, 4712.sock ──▶ which processes ── request ──▶ answer ──▶ standard output
//!                                                        └─▶ what is wrong: standard error
//! ```
//!
//! What a program says is shown as text of one line each, whatever it says. Design:
//! `.control.tool` in `design/telemetry.md`.

pub(crate) use args::{ABOUT, Control, EXAMPLES};
use args::{ControlRequest, Process, SOCKET_VARIABLE};
use cli::{Stop, complain};
use eventlog::control::{AnswerLine, Mask, REQUEST_SIZE_MAX, Request, SocketName, Verb};
use eventlog::format::text::OneLine;
use serde_json::{Value, json};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

mod args;

/// How long an answer may take.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(20);
/// The same where all that listen are only listed.
const LIST_TIME_MAX: Duration = Duration::from_secs(2);
/// The most that an answer may have, in bytes: some hundred registries.
const ANSWER_SIZE_MAX: u64 = 16 << 20;

/// Does what the arguments say. Whether all that were asked did it.
pub(crate) fn run(args: &Control) -> Result<bool, Stop> {
    let directory = directory(args.socket.clone(), std::env::var_os(SOCKET_VARIABLE));
    let directory = directory.map_err(Stop::Message)?;
    let out = &mut io::stdout().lock();
    let request = request(args).map_err(Stop::Message)?;
    match (args.process, &args.request) {
        (None, Some(_)) => {
            let there = there(&directory).map_err(Stop::Message)?;
            Err(Stop::Message(format!("which process? {}", name_all(&directory, &there))))
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
        format!("name the directory of the sockets with --socket, or in {SOCKET_VARIABLE}")
    })
}

/// The line that is sent.
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
        return Err("a registry with a space in its name is asked for by its index".to_owned());
    }
    let mut line = String::new();
    // A string takes everything.
    let _ = Request::write(&mut line, verb, registry, mask, &kinds);
    match Request::parse(line.trim_end().as_bytes()) {
        Ok(_) if line.len() <= REQUEST_SIZE_MAX => Ok(line),
        Ok(_) => Err(format!("the request is longer than {REQUEST_SIZE_MAX} bytes")),
        Err(error) => Err(error.to_string()),
    }
}

/// Why a process did not do what it was asked.
enum Failure {
    /// There is no socket of it.
    Absent,
    /// There is one, and nobody listens.
    Left,
    /// It is in the way of the system.
    System(io::Error),
    /// It takes longer than this.
    Silent(Duration),
    /// It has ended the connection before the end of its answer.
    Cut,
    /// It says something else than answers.
    Strange,
    /// It says why.
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

/// Asks a process; gives the lines of its answer. In a thread of its own, for one that is stopped
/// answers nothing, and may not even let itself be connected to.
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
        // Nobody receives it who has waited too long.
        let _ = sender.send(exchange(&path, &request));
    });
    asking.map_err(Failure::System)?;
    let answer = receiver.recv_timeout(limit).map_err(|_| Failure::Silent(limit))??;
    read(&answer)
}

#[cfg(unix)]
fn exchange(path: &Path, request: &str) -> io::Result<Vec<u8>> {
    let mut stream = std::os::unix::net::UnixStream::connect(path)?;
    // One that refuses us may have closed before: its answer says why.
    let _ = stream.write_all(request.as_bytes());
    let mut answer = Vec::new();
    let read = stream.take(ANSWER_SIZE_MAX).read_to_end(&mut answer);
    if answer.is_empty() { read.map(|_| answer) } else { Ok(answer) }
}

#[cfg(not(unix))]
fn exchange(_: &Path, _: &str) -> io::Result<Vec<u8>> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "there are no Unix sockets on this platform"))
}

/// The data of an answer, if it is a whole one that says that all was done.
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
        // A key may come several times.
        let line = |(key, value): &(String, String)| json!({ "key": key, "value": value });
        let lines: Value = lines.iter().map(line).collect();
        format!("{}\n", json!({ "process": process, "lines": lines }))
    } else {
        lines.iter().map(|(key, value)| format!("{key}: {value}\n")).collect()
    };
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// What is wrong, in a line for people.
fn explain(directory: &Path, process: u64, failure: Failure) -> String {
    let name = directory.join(SocketName(process).to_string());
    let name = name.display();
    match failure {
        Failure::Absent => {
            let there = there(directory).map_or_else(|why| why, |all| name_all(directory, &all));
            format!("there is no socket {name}: {there}")
        }
        Failure::Left => format!("it is gone; the socket {name} was left behind"),
        Failure::System(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            format!("{name} is another user's: {error}")
        }
        Failure::System(error) => format!("{name}: {error}"),
        Failure::Silent(limit) => {
            format!("no answer in {} s: it is stopped, or its host is", limit.as_secs())
        }
        Failure::Cut => "its answer was cut: it has ended meanwhile, or is too busy".to_owned(),
        Failure::Strange => format!("what listens at {name} is no program of the event log"),
        Failure::Refused(why) => why,
    }
}

/// The processes that have a socket, in order.
fn there(directory: &Path) -> Result<Vec<u64>, String> {
    let unread = |error| format!("{}: {error}", directory.display());
    let mut all = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(unread)? {
        let name = entry.map_err(unread)?.file_name();
        all.extend(name.to_str().and_then(SocketName::parse).map(|SocketName(process)| process));
    }
    all.sort_unstable();
    Ok(all)
}

fn name_all(directory: &Path, processes: &[u64]) -> String {
    let directory = directory.display();
    let names: Vec<String> = processes.iter().map(u64::to_string).collect();
    match names.is_empty() {
        true => format!(
            "there are none in {directory} (a program listens that is started with \
             {SOCKET_VARIABLE}={directory})"
        ),
        false => format!("there are {}", names.join(", ")),
    }
}

/// Lists the programs that listen.
fn list(directory: &Path, is_json: bool, out: &mut dyn Write) -> Result<bool, Stop> {
    let all = there(directory).map_err(Stop::Message)?;
    if all.is_empty() {
        complain(&format!("eventcnv: {}\n", name_all(directory, &all)));
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

/// Asks every program that listens the same.
fn ask_all(
    directory: &Path,
    request: &str,
    is_json: bool,
    out: &mut dyn Write,
) -> Result<bool, Stop> {
    let all = there(directory).map_err(Stop::Message)?;
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
        (0, _) => Err(Stop::Message(name_all(directory, &all))),
        (_, 0) => Ok(true),
        (count, _) => Err(Stop::Message(format!("{failed_count} of {count} did not do it"))),
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
    fn an_answer_without_its_last_line_was_cut() {
        let whole = b"pid: 1\nlog: a b\nok\n";
        let lines = read(whole).ok().expect("a whole answer");
        assert_eq!(lines, [("pid", "1"), ("log", "a b")].map(|(k, v)| (k.into(), v.into())));
        assert!((0..whole.len()).all(|size| is_cut(&whole[..size])));
    }

    /// `.control.tool.answer`: whoever listens there may say anything.
    #[test]
    fn what_a_program_says_cannot_forge_a_line_or_control_a_terminal() {
        let lines = read(b"pid: \x1b[2J\rx\xff\nok\n").ok().expect("a whole answer");
        assert_eq!(lines[0].1, "\u{fffd}[2J x\u{fffd}");
        let Err(Failure::Refused(why)) = read(b"error: \x07\n") else { panic!("refused") };
        assert_eq!(why, "\u{fffd}");
        assert!(matches!(read(b"HTTP/1.1 400 Bad Request\r\n"), Err(Failure::Strange)));
    }
}
