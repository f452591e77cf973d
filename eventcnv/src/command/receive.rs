//! One program's log, from its connection to a file, and to lines while it comes.
//!
//! ```text
//!  bytes ─┬─ a sound header? ─ no ──▶ refused; no file
//!         ├──▶ PROGRAM-PID-UUID.log, as they come
//!         └──▶ Live ──▶ view ──▶ standard output, the lines of a block together
//! ```
//!
//! Nothing that is sent is trusted, names least of all. Design: `.sol.msg`, `.dumper` in
//! `design/telemetry.md`.

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

/// Bytes that are read at a time, at most: each connection holds as many.
const READ_SIZE: usize = 1 << 16;
/// Bytes that are read at a time to be printed: no more than the smallest block, so that what a
/// block declares is known when the next one is printed.
const PRINT_SIZE: usize = 1 << 12;
/// Bytes of lines that are written at a time, about.
const TEXT_SIZE: usize = 1 << 16;
/// How long a stream header may take. After it a program may be silent for as long as it likes.
const HEADER_TIME_MAX: Duration = Duration::from_secs(10);
/// How long a log may go on when no more is to be received.
const END_TIME_MAX: Duration = Duration::from_secs(1);
/// Bytes of the name of a program that are part of the name of its log, at most.
const NAME_SIZE_MAX: usize = 64;
/// Logs of one stream, at most.
const LOG_COUNT_MAX: u32 = 100_000;

/// Receives a log, and says what became of it.
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
    let (mut size, failure) = pass_on(connection, &mut log, bytes, &mut printer, shared);
    if let Some(printer) = &mut printer {
        printer.finish();
    }
    let is_gone = (!path.exists()).then(|| "the file was removed meanwhile".to_owned());
    let mut removed = "";
    // What the program did not send is its own; what was not taken is cut off.
    if failure.is_some() || shared.is_ending.load(Ordering::SeqCst) {
        size = log.metadata().map_or(size, |metadata| metadata.len());
        size -= size % block_size;
        let _ = log.set_len(size);
        // Without its first block it is no log.
        if size == 0 && is_gone.is_none() && fs::remove_file(&path).is_ok() {
            removed = "; not one block was received, and the file is removed";
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

/// Passes on to the log what was read already, and what comes, until no more does. Gives its size,
/// and why it ended, if not of itself.
fn pass_on(
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
            return (size, Some(format!("cannot write: {error}; the rest is refused")));
        }
        // The printer has seen the header.
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

/// Reads as far as to know the stream's header; or says why it is none.
fn header(connection: &Connection, live: &mut Live, bytes: &mut Vec<u8>) -> Result<(), String> {
    let deadline = Instant::now() + HEADER_TIME_MAX;
    let mut room = [0; 512];
    while live.stream().is_none() {
        let left = deadline.saturating_duration_since(Instant::now());
        let limit = Some(left.max(Duration::from_millis(1)));
        let wanted = room.len() - bytes.len();
        let place = room.get_mut(..wanted).unwrap_or_default();
        let count = match connection.read(place, limit) {
            Ok(0) => return Err(format!("{} bytes, and no stream header", bytes.len())),
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

/// Makes the log of a stream: a file that was not there.
fn create(stream: &Stream, directory: &Path) -> Result<(File, PathBuf), String> {
    let [a, b, c, d, ..] = stream.uuid;
    let program = file_name(&stream.program);
    let name = format!("{program}-{}-{a:02x}{b:02x}{c:02x}{d:02x}", stream.pid);
    for number in 1..=LOG_COUNT_MAX {
        // Another connection of the same stream is another volume of it.
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

/// The name of a program as part of the name of a file, whatever it holds.
fn file_name(program: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let plain = program.chars().map(|c| if is_plain(c) { c } else { '_' });
    let name: String = plain.take(NAME_SIZE_MAX).collect();
    match name.trim_start_matches(['.', '-']) {
        "" => "program".to_owned(),
        name => name.to_owned(),
    }
}

/// Prints the events of a log while it comes.
struct Printer<'a> {
    form: u8,
    view: Box<dyn View>,
    name: &'a str,
    live: Live,
    shared: &'a Shared,
    page: Page,
    /// Memory that is taken for what it calls things.
    memory: usize,
    /// Of what is known, so that a change is seen.
    registry_count: usize,
    fault_count: u64,
    /// Whether there is anybody to print for, and anything to understand.
    is_on: bool,
}

impl<'a> Printer<'a> {
    /// One that has read the header.
    fn new(form: u8, name: &'a str, live: Live, shared: &'a Shared) -> Printer<'a> {
        Printer {
            form,
            view: view::of_text(form, Clock::Ticks, view::name_width([]), &[]),
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

    /// Prints what these bytes complete.
    fn print(&mut self, bytes: &[u8]) {
        // The lines of a block stand together.
        let out = &mut io::stdout().lock();
        for piece in bytes.chunks(PRINT_SIZE) {
            if !self.is_on {
                break;
            }
            let (page, view) = (&mut self.page, &self.view);
            let mut written = Ok(());
            let give = &mut |event: &Event<'_, '_>| {
                view.write(event, page);
                if page.text().len() >= TEXT_SIZE {
                    let before = std::mem::replace(&mut written, Ok(()));
                    written = before.and_then(|()| out.write_all(page.text()));
                    page.clear();
                }
            };
            self.is_on = self.live.feed(piece, give).is_ok();
            if let Err(error) = written {
                self.unwritten(&error);
            }
            self.charge();
            let count = self.live.registries().count();
            if count != self.registry_count {
                self.registry_count = count;
                let name_width = view::name_width(self.live.registries());
                self.view = view::of_text(self.form, Clock::Ticks, name_width, &[]);
            }
        }
        self.write(out);
    }

    /// Prints what is left.
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
            self.unwritten(&error);
        }
    }

    fn unwritten(&mut self, error: &io::Error) {
        self.is_on = false;
        // As for a log that is dumped: whoever read it has had enough.
        if error.kind() == ErrorKind::BrokenPipe {
            self.shared.end();
        } else {
            complain(&format!("eventcnv: cannot write the output: {error}\n"));
        }
    }

    /// Takes note of the memory for what the program calls things. Where that is too much, it is
    /// printed no longer.
    fn charge(&mut self) {
        let now = self.live.memory();
        if self.shared.is_too_large(self.memory, now) {
            self.is_on = false;
            complain(&format!(
                "eventcnv: {}: is printed no longer (its names take {now} bytes, and there are \
                 too many programs for that); its log goes on\n",
                self.name
            ));
            self.live = Live::new();
            self.shared.is_too_large(now, 0);
            self.memory = 0;
        } else {
            self.memory = now;
        }
    }

    /// Tells what was found wrong since the last time.
    fn report(&mut self) {
        let faults = self.live.faults();
        let told = usize::try_from(self.fault_count).unwrap_or(usize::MAX);
        for fault in faults.iter().skip(told) {
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
    fn the_name_of_a_program_is_never_a_path() {
        let names = ["heap", "../../etc/passwd", "", "...", "a b\n", "-rf", "ünï", "x.y-z_1"];
        let found = names.map(file_name);
        let expected =
            ["heap", "_.._etc_passwd", "program", "program", "a_b_", "rf", "_n_", "x.y-z_1"];
        assert_eq!(found, expected);
        assert_eq!(file_name(&"x".repeat(200)).len(), NAME_SIZE_MAX);
    }
}
