//! Receives the log of one program into a file, and prints its events meanwhile.
//!
//! ```text
//!  bytes ─┬─ a sound header? ─ no ──▶ refused; no file
//!         ├──▶ PROGRAM-PID-UUID.log, as they arrive
//!         └──▶ Live ──▶ view ──▶ standard output, the lines of a block together
//! ```
//!
//! It trusts no byte, and no name. Design: `.sol.msg`, `.dumper` in `design/telemetry.md`.

use super::connection::{Connection, Shared};
use crate::text::page::Page;
use crate::view::clock::Clock;
use crate::view::{self, View};
use cli::complain;
use eventlog::reader::{Event, Live, Stream};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Bytes of one read, at most; each connection has a buffer of this size.
const READ_SIZE: usize = 1 << 16;
/// Bytes passed to the reader at a time: the smallest block, so that the declarations of a block
/// are known before the next one is printed.
const PRINT_SIZE: usize = 1 << 12;
/// Bytes of lines of one write, about.
const TEXT_SIZE: usize = 1 << 16;
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
    let mut live = Live::new();
    let mut bytes = Vec::new();
    if let Err(what) = header(connection, &mut live, &mut bytes) {
        complain(&format!("eventcnv: {peer}: refused: {what}\n"));
        return;
    }
    connection.is_log.store(true, Ordering::Relaxed);
    let Some(stream) = live.stream() else { return };
    let block_size = u64::from(stream.block_size);
    let (mut log, path) = match create(stream, &shared.directory) {
        Ok(created) => created,
        Err(what) => {
            shared.has_failed.store(true, Ordering::SeqCst);
            complain(&format!("eventcnv: {peer}: refused: {what}\n"));
            return;
        }
    };
    let name = path.display().to_string();
    let mut printer = shared.form.map(|form| Printer::new(form, &name, live, shared));
    let (mut size, failure) = receive_bytes(connection, &mut log, bytes, &mut printer, shared);
    if let Some(printer) = &mut printer {
        printer.finish();
    }
    let is_gone = (!path.exists()).then(|| "the file was removed meanwhile".to_owned());
    let mut removed = "";
    // Cuts the log to whole blocks if the receiver stopped it.
    if failure.is_some() || shared.is_ending.load(Ordering::SeqCst) {
        size = log.metadata().map_or(size, |metadata| metadata.len());
        size -= size % block_size;
        let _ = log.set_len(size);
        // A log has at least its first block.
        if size == 0 && is_gone.is_none() && fs::remove_file(&path).is_ok() {
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
    printer: &mut Option<Printer<'_>>,
    shared: &Shared,
) -> (u64, Option<String>) {
    let mut size = 0;
    let mut deadline = None;
    loop {
        if let Err(error) = log.write_all(&bytes) {
            return (size, Some(format!("cannot write: {error}; the rest is lost")));
        }
        // The printer already has the header.
        if let Some(printer) = printer.as_mut().filter(|_| size > 0) {
            printer.print(&bytes);
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

/// Reads until the stream header is complete; or returns why it is not one.
fn header(connection: &Connection, live: &mut Live, bytes: &mut Vec<u8>) -> Result<(), String> {
    let deadline = Instant::now() + HEADER_TIME_MAX;
    let mut room = [0; 512];
    while live.stream().is_none() {
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
        let new = room.get(..count).unwrap_or_default();
        live.feed(new, &mut |_| {}).map_err(|error| error.to_string())?;
        bytes.extend_from_slice(new);
    }
    Ok(())
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

/// Prints the events of a log while it arrives.
struct Printer<'a> {
    form: u8,
    view: Box<dyn View>,
    name: &'a str,
    live: Live,
    shared: &'a Shared,
    page: Page,
    /// Memory for the names in the log.
    memory: usize,
    /// Registries and faults at the last look.
    registry_count: usize,
    fault_count: u64,
    /// Whether the output is open, and the log readable.
    is_on: bool,
}

impl<'a> Printer<'a> {
    /// Returns a printer for a log whose header `live` has read.
    fn new(form: u8, name: &'a str, live: Live, shared: &'a Shared) -> Printer<'a> {
        Printer {
            form,
            view: view::text_view(form, Clock::Ticks, view::name_width([]), &[]),
            name,
            live,
            shared,
            page: Page::small(),
            memory: 0,
            registry_count: 0,
            fault_count: 0,
            is_on: true,
        }
    }

    /// Prints the events that these bytes complete.
    fn print(&mut self, bytes: &[u8]) {
        // The lines of a block stand together.
        let out = &mut io::stdout().lock();
        for piece in bytes.chunks(PRINT_SIZE) {
            if !self.is_on {
                break;
            }
            let (page, view) = (&mut self.page, &self.view);
            let mut written = Ok(());
            let write = &mut |event: &Event<'_, '_>| {
                view.write(event, page);
                if page.text().len() >= TEXT_SIZE {
                    let before = std::mem::replace(&mut written, Ok(()));
                    written = before.and_then(|()| out.write_all(page.text()));
                    page.clear();
                }
            };
            self.is_on = self.live.feed(piece, write).is_ok();
            if let Err(error) = written {
                self.stop(&error);
            }
            self.account_memory();
            let count = self.live.registries().count();
            if count != self.registry_count {
                self.registry_count = count;
                let name_width = view::name_width(self.live.registries());
                self.view = view::text_view(self.form, Clock::Ticks, name_width, &[]);
            }
        }
        self.write(out);
    }

    /// Prints the remaining events.
    fn finish(&mut self) {
        let (page, view) = (&mut self.page, &self.view);
        self.live.finish(&mut |event| view.write(event, page));
        self.write(&mut io::stdout().lock());
    }

    fn write(&mut self, out: &mut impl Write) {
        self.report();
        let written = out.write_all(self.page.text()).and_then(|()| out.flush());
        self.page.clear();
        if let Err(error) = written {
            self.stop(&error);
        }
    }

    /// Stops printing after an error of the output.
    fn stop(&mut self, error: &io::Error) {
        self.is_on = false;
        // As for a dump, the reader of the output wants no more.
        if error.kind() == ErrorKind::BrokenPipe {
            self.shared.end();
        } else {
            complain(&format!("eventcnv: cannot write the output: {error}\n"));
        }
    }

    /// Accounts the memory for the names in the log. Stops printing a log that takes too much.
    fn account_memory(&mut self) {
        let now = self.live.memory();
        if self.shared.is_too_large(self.memory, now) {
            self.is_on = false;
            complain(&format!(
                "eventcnv: {}: no longer printed (its names take {now} bytes, too many for the \
                 number of programs); its log is still written\n",
                self.name
            ));
            self.live = Live::new();
            self.shared.is_too_large(now, 0);
            self.memory = 0;
        } else {
            self.memory = now;
        }
    }

    /// Reports new faults.
    fn report(&mut self) {
        let faults = self.live.faults();
        let reported = usize::try_from(self.fault_count).unwrap_or(usize::MAX);
        for fault in faults.iter().skip(reported) {
            let weight = if fault.is_warning() { "warning: " } else { "" };
            complain(&format!("eventcnv: {}: {weight}{fault}\n", self.name));
        }
        self.fault_count = faults.count();
    }
}

impl Drop for Printer<'_> {
    fn drop(&mut self) {
        self.shared.is_too_large(self.memory, 0);
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
