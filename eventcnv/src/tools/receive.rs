//! Receives the log of one program into a file; prints the events of all such files meanwhile.
//!
//! ```text
//!  bytes ── a sound header? ─ no ──▶ refused; no file
//!         └──▶ PROGRAM-PID-UUID.log, as they arrive ── follow.rs, each log in turn ──▶ lines
//! ```
//!
//! It trusts no byte, and no name. Design: `.sol.msg`, `.dumper` in `design/telemetry.md`.

use crate::tools::connection::{Connection, Shared};
use crate::tools::follow;
use crate::tools::follow::{Follow, Seen};
use cli::{Stop, complain, said};
use eventlog::format::{STREAM_HEADER_SIZE, STREAM_MAGIC, StreamHeader};
use eventlog::reader::{Log, OpenError, Stream};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

/// Bytes of one read, at most; each connection has a buffer of this size.
const READ_SIZE: usize = 1 << 16;
/// Buffers of all printed logs, at most: the printer remembers the last event of each, in 64 MiB.
/// Printing stops for a log that has more than its share.
const BUFFER_COUNT_MAX: usize = 1 << 20;
/// Time for a stream header. After it a program may be silent for any time.
const HEADER_TIME_MAX: Duration = Duration::from_secs(10);
/// Time for a log to end when the receiver ends.
const END_TIME_MAX: Duration = Duration::from_secs(1);
/// Bytes of the program's name in the name of its log, at most.
const NAME_SIZE_MAX: usize = 64;
/// Logs of one stream, at most.
const LOG_COUNT_MAX: u32 = 100_000;

/// Receives a log, and reports the result.
pub(crate) fn receive(connection: &Connection, peer: &str, shared: &Shared) {
    let mut bytes = Vec::new();
    let stream = match header(connection, &mut bytes) {
        Ok(stream) => stream,
        Err(what) => return complain(&format!("eventcnv: {peer}: refused: {what}\n")),
    };
    connection.is_log.store(true, Ordering::Relaxed);
    let block_size = u64::from(stream.block_size);
    let (mut log, path) = match create(&stream, &shared.directory) {
        Ok((log, path)) => (log, Arc::new(path)),
        Err(what) => {
            shared.has_failed.store(true, Ordering::SeqCst);
            complain(&format!("eventcnv: {peer}: refused: {what}\n"));
            return;
        }
    };
    let name = path.display().to_string();
    if let Some(printed) = &shared.printed {
        // The printer may have ended: its output was closed.
        let _ = printed.send(path.clone());
    }
    let (mut size, failure) = receive_bytes(connection, &mut log, bytes, shared);
    let is_gone = (!path.exists()).then(|| "the file was removed meanwhile".to_owned());
    let mut removed = "";
    // Cuts the log to whole blocks if the receiver stopped it.
    if failure.is_some() || shared.is_ending.load(Ordering::SeqCst) {
        size = log.metadata().map_or(size, |metadata| metadata.len());
        size -= size % block_size;
        let _ = log.set_len(size);
        // A log has at least its first block.
        if size == 0 && is_gone.is_none() && fs::remove_file(&*path).is_ok() {
            removed = "; no complete block was received: the file is removed";
        }
    }
    if connection.is_displaced.load(Ordering::Relaxed) {
        removed = "; it was silent, and another program took its place";
    }
    let failure = failure.or(is_gone);
    shared.has_failed.fetch_or(failure.is_some(), Ordering::SeqCst);
    let failure = failure.map_or(String::new(), |what| format!("; {what}"));
    complain(&format!("eventcnv: {name}: {size} bytes{failure}{removed}\n"));
}

/// Writes the bytes read already, and all later ones, to the log. Returns its size, and the error
/// that ended it, if any.
fn receive_bytes(
    connection: &Connection,
    log: &mut File,
    mut bytes: Vec<u8>,
    shared: &Shared,
) -> (u64, Option<String>) {
    let mut size = 0;
    let mut deadline = None;
    loop {
        if let Err(error) = log.write_all(&bytes) {
            return (size, Some(format!("cannot write: {error}; the rest is lost")));
        }
        size += bytes.len() as u64;
        if shared.is_ending.load(Ordering::SeqCst)
            && *deadline.get_or_insert(Instant::now() + END_TIME_MAX) < Instant::now()
        {
            return (size, None);
        }
        bytes.resize(READ_SIZE, 0);
        match connection.read(&mut bytes, None) {
            Ok(0) => return (size, None),
            Ok(count) => {
                shared.received.fetch_add(count as u64, Ordering::Relaxed);
                bytes.truncate(count);
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return (size, None),
            Err(error) => return (size, Some(format!("cannot receive: {error}"))),
        }
    }
}

/// Reads until the stream header is complete. Returns what it describes, or why it is not one.
fn header(connection: &Connection, bytes: &mut Vec<u8>) -> Result<Stream, String> {
    let deadline = Instant::now() + HEADER_TIME_MAX;
    let mut room = [0; STREAM_HEADER_SIZE];
    while bytes.len() < STREAM_HEADER_SIZE {
        let left = deadline.saturating_duration_since(Instant::now());
        let limit = Some(left.max(Duration::from_millis(1)));
        let wanted = room.len() - bytes.len();
        let place = room.get_mut(..wanted).unwrap_or_default();
        let count = match connection.read(place, limit) {
            Ok(0) => return Err(format!("no stream header in {} bytes", bytes.len())),
            Ok(count) => count,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Err("no stream header in 10 s".to_owned());
            }
            Err(error) => return Err(error.to_string()),
        };
        bytes.extend_from_slice(room.get(..count).unwrap_or_default());
        if !bytes.iter().zip(&STREAM_MAGIC).all(|(a, b)| a == b) {
            return Err(OpenError::NotALog.to_string());
        }
    }
    let is_sound = StreamHeader::read(bytes).is_some_and(|header| header.is_sound());
    let log = if is_sound { Log::from_source(bytes.clone()) } else { Err(OpenError::NotALog) };
    let log = log.map_err(|error| error.to_string())?;
    log.streams().first().cloned().ok_or_else(|| OpenError::NotALog.to_string())
}

/// Makes a new file for the log of a stream.
fn create(stream: &Stream, directory: &Path) -> Result<(File, PathBuf), String> {
    let [a, b, c, d, ..] = stream.uuid;
    let program = file_name(&stream.program);
    let name = format!("{program}-{}-{a:02x}{b:02x}{c:02x}{d:02x}", stream.pid);
    for number in 1..=LOG_COUNT_MAX {
        // Another connection of the same stream is another volume.
        let again = if number == 1 { String::new() } else { format!("-{number}") };
        let path = directory.join(format!("{name}{again}.log"));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((file, path)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(format!("{}: {error}", path.display())),
        }
    }
    Err(format!("{name}: too many logs of one stream"))
}

/// Returns the name of a program as a safe part of a file name.
fn file_name(program: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let plain = program.chars().map(|c| if is_plain(c) { c } else { '_' });
    let name: String = plain.take(NAME_SIZE_MAX).collect();
    match name.trim_start_matches(['.', '-']) {
        "" => "program".to_owned(),
        name => name.to_owned(),
    }
}

/// Prints the events of logs as they grow, until the receiver ends. It looks at one log at a time,
/// so the memory of one reader serves all.
pub(crate) fn print(logs: &Receiver<Arc<PathBuf>>, args: &Follow, shared: &Shared) {
    let mut followed: Vec<(Arc<PathBuf>, Seen)> = Vec::new();
    loop {
        let is_last = shared.is_ending.load(Ordering::SeqCst) && shared.connections().is_empty();
        let wait = if is_last { Duration::ZERO } else { follow::INTERVAL };
        let new = logs.recv_timeout(wait).into_iter().chain(logs.try_iter());
        followed.extend(new.map(|path| (path, Seen::default())));
        let share = BUFFER_COUNT_MAX / followed.len().max(1);
        let is_full = followed.iter().map(|(_, seen)| seen.known.len()).sum::<usize>();
        let is_full = is_full > BUFFER_COUNT_MAX;
        let mut is_closed = false;
        followed.retain_mut(|(path, seen)| {
            // The thread that receives the log has the other reference.
            let is_over = Arc::strong_count(path) == 1;
            let name = said(path);
            match seen.look(path, args, Some(is_over)) {
                Ok(_) if is_full && seen.known.len() > share => complain(&format!(
                    "eventcnv: {name}: no longer printed (its {} buffers are too many for the \
                     number of programs); its log is still written\n",
                    seen.known.len()
                )),
                Ok(_) => return !is_over,
                // As for a dump, the reader of the output wants no more.
                Err(Stop::Closed) => is_closed = true,
                Err(Stop::Message(what)) => {
                    complain(&format!("eventcnv: {what}; stops printing {name}\n"));
                }
                Err(Stop::Lost) => {}
            }
            false
        });
        if is_last || is_closed {
            return shared.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_cannot_name_a_path() {
        let names = ["heap", "../../etc/passwd", "", "...", "a b\n", "-rf", "ünï", "x.y-z_1"];
        let found = names.map(file_name);
        let expected =
            ["heap", "_.._etc_passwd", "program", "program", "a_b_", "rf", "_n_", "x.y-z_1"];
        assert_eq!(found, expected);
        assert_eq!(file_name(&"x".repeat(200)).len(), NAME_SIZE_MAX);
    }
}
