//! What is where in a log.
//!
//! ```text
//!  Log ── survey ──▶ Piece, Piece, … ──▶ a line each, as text or JSON
//! ```
//!
//! Design: `.cnv.index` in `design/eventcnv.md`.

use crate::reading::{Input, Reading, Stdout};
use crate::view;
use cli::{Stop, complain};
use eventlog::reader::{Fault, FaultKind, Faults, Format, Log, Piece, What};
use std::io::{self, BufWriter, Write};
use std::time::{Duration, SystemTime};

pub(crate) const ABOUT: &str = "\
Prints what is where in a log, a line for each block and part, in the order of the file: from the \
headers alone, so that a log of any size is listed in little time. What is damaged within a block \
its header does not show: eventcnv verify does.";

pub(crate) const EXAMPLES: &str = "\
Of each block and part: offset and size, in hexadecimal; what it is (a part is indented); whether
it is sealed; stream, registry, kind, thread and buffer; the number of its first event and how
many it has; the ticks in force at its oldest event, and those of its clock sync, after which it
has none; and the time of day of that. What is not known is a hyphen.

Examples:
  eventcnv index                    the blocks of mpsio.log
  eventcnv index run.log --json     as JSON, an object a line

Exit status:
  0  the log was read whole
  1  faults were found
  2  the log could not be read";

/// Which log is listed, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct Index {
    #[command(flatten)]
    input: Input,

    /// Print JSON, an object a line
    #[arg(long)]
    json: bool,
}

/// Lists what is where in a log. Whether it has no faults.
pub(crate) fn run(args: &Index) -> Result<bool, Stop> {
    let reading = Reading::open_with(&args.input, Stdout::Used)?;
    let log = &reading.log;
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let mut written = Ok(());
    if !args.json {
        written = writeln!(
            out,
            "{:>12} {:>8} {:<10} S {:>3} {:>3} {:<10} {:>6} {:>6} {:>10} {:>6} {:<16} {:<16} time",
            "offset",
            "size",
            "what",
            "str",
            "reg",
            "kind",
            "thread",
            "buffer",
            "first",
            "count",
            "from",
            "sync"
        );
    }
    // What is missing of a block is seen without reading it.
    let mut cut = None;
    log.survey(&mut |piece| {
        let end = piece.offset.saturating_add(piece.size);
        if piece.what == What::Events && piece.header.count.get() > 0 && end > log.size() {
            let kind = FaultKind::BlockCut { missing: end - log.size() };
            cut = Some(Fault { offset: piece.offset, kind });
        }
        if written.is_ok() {
            let row = Row { log, piece };
            written = if args.json { row.json(&mut out) } else { row.text(&mut out) };
        }
    });
    written.and_then(|()| out.flush())?;
    let is_whole = reading.end(&Faults::default());
    if let Some(fault) = &cut {
        complain(&format!("eventcnv: {}: {fault}\n", reading.name));
    }
    Ok(is_whole && cut.is_none())
}

/// A piece of a log, as a line.
struct Row<'a> {
    log: &'a Log,
    piece: &'a Piece,
}

impl Row<'_> {
    /// The name of its kind, if it has one and the log says it.
    fn kind(&self) -> String {
        let header = &self.piece.header;
        let registries = self.log.registries().iter();
        let mut registries = registries.filter(|registry| {
            (registry.stream, registry.index) == (self.piece.stream, header.registry.get())
        });
        let kind = registries.find_map(|registry| registry.kind(header.kind));
        kind.map_or_else(|| header.kind.to_string(), |kind| kind.name.to_string())
    }

    fn has_events(&self) -> bool {
        self.piece.what == What::Events
    }

    /// Ticks in force at its oldest event, and those after which it has none.
    fn ticks(&self) -> (u64, Option<u64>) {
        let header = &self.piece.header;
        let sync = match self.log.format() {
            Format::Mps => header.base_last.get(),
            Format::Stream => header.sync_ticks.get(),
        };
        let is_known = self.log.format() == Format::Mps || header.is_sealed();
        (header.base.get(), Some(sync).filter(|sync| *sync != 0 && is_known))
    }

    /// ns since 1970 of its clock sync.
    fn realtime(&self) -> Option<u64> {
        let (_, sync) = self.ticks();
        sync.map(|_| self.piece.header.sync_realtime.get()).filter(|ns| *ns != 0)
    }

    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let piece = self.piece;
        let header = &piece.header;
        let indent = if piece.is_part { "  " } else { "" };
        let what = format!("{indent}{}", self.piece.what.name());
        write!(out, "{:>12X} {:>8X} {what:<10}", piece.offset, piece.size)?;
        if !self.has_events() {
            let registry = match piece.what {
                What::Registry => header.registry.get().to_string(),
                _ => "-".to_owned(),
            };
            return writeln!(out, " - {:>3} {registry:>3}", piece.stream);
        }
        let sealed = if header.is_sealed() { 's' } else { '-' };
        let (from, sync) = self.ticks();
        let sync = sync.map_or_else(|| "-".to_owned(), |sync| format!("{sync:016X}"));
        let time = self.realtime().map_or_else(|| "-".to_owned(), wall_time);
        writeln!(
            out,
            " {sealed} {:>3} {:>3} {:<10} {:>6} {:>6} {:>10} {:>6} {from:016X} {sync:<16} {time}",
            piece.stream,
            header.registry.get(),
            self.kind(),
            header.thread.get(),
            header.buffer.get(),
            header.first.get(),
            header.count.get(),
        )
    }

    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        let piece = self.piece;
        let header = &piece.header;
        write!(
            out,
            "{{\"offset\":{},\"size\":{},\"what\":\"{}\",\"part\":{},\"stream\":{}",
            piece.offset,
            piece.size,
            self.piece.what.name(),
            piece.is_part,
            piece.stream
        )?;
        if piece.what == What::Registry {
            write!(out, ",\"registry\":{}", header.registry.get())?;
        }
        if self.has_events() {
            let (from, sync) = self.ticks();
            let mut kind = Vec::new();
            view::json::string(&mut kind, self.kind().as_bytes());
            let kind = String::from_utf8_lossy(&kind);
            write!(
                out,
                ",\"sealed\":{},\"registry\":{},\"kind\":{kind},\"thread\":{},\"buffer\":{},\
                 \"sequence\":{},\"first\":{},\"count\":{},\"from\":{from}",
                header.is_sealed(),
                header.registry.get(),
                header.thread.get(),
                header.buffer.get(),
                header.sequence.get(),
                header.first.get(),
                header.count.get(),
            )?;
            if let Some(sync) = sync {
                write!(out, ",\"sync\":{sync}")?;
            }
            if let Some(realtime) = self.realtime() {
                write!(out, ",\"realtime\":{realtime}")?;
            }
        }
        writeln!(out, "}}")
    }
}

fn wall_time(ns: u64) -> String {
    let time = SystemTime::UNIX_EPOCH + Duration::from_nanos(ns);
    humantime::format_rfc3339_nanos(time).to_string()
}
