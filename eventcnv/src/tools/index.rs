//! Lists the blocks and parts of a log.
//!
//! ```text
//!  Log ── survey ──▶ Piece, Piece, … ──▶ a row each ──▶ Table
//! ```
//!
//! Design: `.cnv.index` in `design/eventcnv.md`.

use crate::open::{Input, Reading, Stdout};
use cli::table::{Around, Cell, Column, Form, Table, count, text, time};
use cli::{Stop, complain};
use eventlog::reader::{Fault, FaultKind, Faults, Format, Log, Piece, What};
use std::io::{self, Write};
use std::time::{Duration, SystemTime};

const ABOUT: &str = "\
Lists the blocks and parts of a log, a line each, in the order of the file. It reads only headers, \
so it is fast for logs of any size. It does not see damage within a block: eventcnv verify does.";

const EXAMPLES: &str = "\
Columns: the kind of the piece (parts are indented); offset and size, in hexadecimal; whether it is
sealed; stream, registry, kind, thread and buffer; the number of its first event, and the number of
its events; the ticks of its oldest event, and of its clock sync, after which it has no event; the
time of day of the sync. An unknown value is empty. In JSON and CSV all numbers are decimal.

Examples:
  eventcnv index                    the blocks of mpsio.log
  eventcnv index run.log --sort count --top 3   the blocks with the most events
  eventcnv index run.log --json     as JSON";

/// List the blocks and parts of a log
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = EXAMPLES)]
pub(crate) struct Index {
    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    form: Form,
}

/// Lists the pieces of a log. Returns whether it has no faults.
pub(crate) fn run(args: &Index) -> Result<bool, Stop> {
    let reading = Reading::open_with(&args.input, Stdout::Used)?;
    let log = &reading.log;
    let mut table = Table::new(COLUMNS);
    // A truncated block is visible without reading it.
    let mut cut = None;
    log.survey(&mut |piece| {
        let end = piece.offset.saturating_add(piece.size);
        if piece.what == What::Events && piece.header.count.get() > 0 && end > log.size() {
            let kind = FaultKind::BlockCut { missing: end - log.size() };
            cut = Some(Fault { offset: piece.offset, kind });
        }
        table.row(Row { log, piece }.cells());
    });
    io::stdout().lock().write_all(&args.form.answer(table, Around::default())?)?;
    let is_whole = reading.end(&Faults::default());
    if let Some(fault) = &cut {
        complain(&format!("eventcnv: {}: {fault}\n", reading.name));
    }
    Ok(is_whole && cut.is_none())
}

/// The columns of the table.
const COLUMNS: [Column<'_>; 16] = [
    text("what"),
    count("offset"),
    count("size"),
    text("part").for_programs(),
    text("sealed"),
    count("stream"),
    count("registry"),
    text("kind"),
    count("thread"),
    count("buffer"),
    count("sequence").for_programs(),
    count("first"),
    count("count"),
    count("from ticks").titled("from"),
    count("sync ticks").titled("sync"),
    time("realtime"),
];

/// A piece of a log, as a row.
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

    fn cells(&self) -> [Cell; 16] {
        let piece = self.piece;
        let header = &piece.header;
        let (name, has_events) = (piece.what.name(), self.has_events());
        let indent = if piece.is_part { "  " } else { "" };
        let hex = |number: u64| Cell::Words(format!("{number:X}"), number.into());
        let ticks = |ticks: u64| Cell::Words(format!("{ticks:016X}"), ticks.into());
        let of_events = |cell: Cell| if has_events { cell } else { Cell::None };
        let number = |number: u64| of_events(Cell::Number(number));
        let (from, sync) = self.ticks();
        let has_registry = has_events || piece.what == What::Registry;
        let wall = |ns| Cell::Words(wall_time(ns), ns.into());
        [
            Cell::Words(format!("{indent}{name}"), name.into()),
            hex(piece.offset),
            hex(piece.size),
            piece.is_part.into(),
            of_events(header.is_sealed().into()),
            Cell::Number(piece.stream.into()),
            has_registry.then(|| u64::from(header.registry.get())).into(),
            of_events(self.kind().into()),
            number(header.thread.get().into()),
            number(header.buffer.get().into()),
            number(header.sequence.get()),
            number(header.first.get()),
            number(header.count.get().into()),
            of_events(ticks(from)),
            of_events(sync.map_or(Cell::None, ticks)),
            of_events(self.realtime().map_or(Cell::None, wall)),
        ]
    }
}

fn wall_time(ns: u64) -> String {
    let time = SystemTime::UNIX_EPOCH + Duration::from_nanos(ns);
    humantime::format_rfc3339_nanos(time).to_string()
}
