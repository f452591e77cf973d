//! Lists the blocks and parts of a log.
//!
//! ```text
//!  Log ── survey ──▶ Piece, Piece, … ──▶ a line each, as text or JSON
//! ```
//!
//! Design: `.cnv.index` in `design/eventcnv.md`.

use crate::open::{Input, Reading, Stdout};
use cli::{Stop, complain};
use eventlog::reader::{Fault, FaultKind, Faults, Format, Log, Piece, What};
use serde_json::{Value, json};
use std::io::{self, BufWriter, Write};
use std::time::{Duration, SystemTime};

const ABOUT: &str = "\
Lists the blocks and parts of a log, a line each, in the order of the file. It reads only headers, \
so it is fast for logs of any size. It does not see damage within a block: eventcnv verify does.";

const EXAMPLES: &str = "\
Columns: offset and size, in hexadecimal; the kind of the piece (parts are indented); whether it is
sealed; stream, registry, kind, thread and buffer; the number of its first event, and the number of
its events; the ticks of its oldest event, and of its clock sync, after which it has no event; the
time of day of the sync. A hyphen stands for an unknown value.

Examples:
  eventcnv index                    the blocks of mpsio.log
  eventcnv index run.log --json     as JSON, an object a line";

/// List the blocks and parts of a log
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = EXAMPLES)]
pub(crate) struct Index {
    #[command(flatten)]
    input: Input,

    /// Print JSON, an object a line
    #[arg(long)]
    json: bool,
}

/// Lists the pieces of a log. Returns whether it has no faults.
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
    // A truncated block is visible without reading it.
    let mut cut = None;
    log.survey(&mut |piece| {
        let end = piece.offset.saturating_add(piece.size);
        if piece.what == What::Events && piece.header.count.get() > 0 && end > log.size() {
            let kind = FaultKind::BlockCut { missing: end - log.size() };
            cut = Some(Fault { offset: piece.offset, kind });
        }
        if written.is_ok() {
            let row = Row { log, piece };
            written = if args.json { writeln!(out, "{}", row.json()) } else { row.text(&mut out) };
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
    /// Returns the name of the kind, or its number if the log does not name it.
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

    /// Returns the ticks of the oldest event, and those after which the piece has no event.
    fn ticks(&self) -> (u64, Option<u64>) {
        let header = &self.piece.header;
        let sync = match self.log.format() {
            Format::Mps => header.base_last.get(),
            Format::Stream => header.sync_ticks.get(),
        };
        let is_known = self.log.format() == Format::Mps || header.is_sealed();
        (header.base.get(), Some(sync).filter(|sync| *sync != 0 && is_known))
    }

    /// Returns the ns since 1970 of the clock sync.
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

    fn json(&self) -> Value {
        let piece = self.piece;
        let header = &piece.header;
        let mut row = json!({
            "offset": piece.offset, "size": piece.size, "what": piece.what.name(),
            "part": piece.is_part, "stream": piece.stream,
        });
        if piece.what == What::Registry || self.has_events() {
            row["registry"] = json!(header.registry.get());
        }
        if self.has_events() {
            let (from, sync) = self.ticks();
            row["sealed"] = json!(header.is_sealed());
            row["kind"] = json!(self.kind());
            row["thread"] = json!(header.thread.get());
            row["buffer"] = json!(header.buffer.get());
            row["sequence"] = json!(header.sequence.get());
            row["first"] = json!(header.first.get());
            row["count"] = json!(header.count.get());
            row["from"] = json!(from);
            for (name, value) in [("sync", sync), ("realtime", self.realtime())] {
                if let Some(value) = value {
                    row[name] = json!(value);
                }
            }
        }
        row
    }
}

fn wall_time(ns: u64) -> String {
    let time = SystemTime::UNIX_EPOCH + Duration::from_nanos(ns);
    humantime::format_rfc3339_nanos(time).to_string()
}
