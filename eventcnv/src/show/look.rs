//! Which form the events of a log are printed in: the options, and the rule without them.
//!
//! ```text
//!  --style ─── given ──▶ that form
//!     └─ none ─┬─ a terminal, no -v, a log that is not the MPS's ──▶ text
//!              └─ else ─▶ mps: byte for byte as the MPS prints, so that scripts can rely on it
//! ```
//!
//! Design: `.dumper.text` in `design/telemetry.md`.

use crate::open::input::threads::{self, Threads};
use crate::show::clock::{Clock, Form};
use crate::show::columns::Columns;
use crate::show::csv::Csv;
use crate::show::json::Json;
use crate::show::line::Line;
use crate::show::lisp::Lisp;
use crate::show::name_width;
use crate::show::named::{Named, Threaded};
use crate::show::numeric::Numeric;
use crate::show::readable::Readable;
use anstream::{AutoStream, ColorChoice};
use clap::{ArgAction, ValueEnum};
use cli::Stop;
use eventlog::reader::{Filter, Format, Log};
use std::io::{self, IsTerminal};

/// How events are printed.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Look {
    /// Print names: -v in columns, -vv with parameter names and labels, -vvv with threads
    #[arg(short = 'v', long = "verbose", action = ArgAction::Count)]
    pub(crate) verbose: u8,

    /// Form of the output [default: text on a terminal, without -v and for logs that are not the
    /// MPS's; else mps]
    #[arg(long, value_enum)]
    pub(crate) style: Option<Style>,

    /// How times are printed [default: seconds with --style text, else ticks]
    #[arg(long, value_enum)]
    pub(crate) time: Option<Form>,
}

/// The form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Style {
    /// Text for people: seconds, decimal numbers, labels in place of addresses
    Text,
    /// The portable form of the MPS, or its forms with names: see -v
    Mps,
    /// JSON lines: an object for each event
    Json,
    /// Comma-separated values: a column for each parameter
    Csv,
    /// Lists, as old versions of the MPS's dumper printed them
    Lisp,
}

/// Takes the lines of the form that was chosen.
pub(crate) trait Take<'l> {
    type Taken;

    fn line(self, line: impl Line + Sync + 'l) -> Result<Self::Taken, Stop>;
}

impl Look {
    /// Refuses options that contradict each other.
    pub(crate) fn check(&self) -> Result<(), Stop> {
        let is_wrong = self.style == Some(Style::Text) && self.verbose > 0;
        let what = "-v chooses among the forms of the MPS, and --style text is another; use \
                    --style mps, or leave -v out";
        if is_wrong { Err(Stop::Message(what.to_owned())) } else { Ok(()) }
    }

    /// Returns the form for a log.
    pub(crate) fn style(&self, log: &Log) -> Style {
        self.style.unwrap_or_else(|| {
            let is_ours = log.format() == Format::Stream;
            match self.verbose == 0 && is_ours && io::stdout().is_terminal() {
                true => Style::Text,
                false => Style::Mps,
            }
        })
    }

    /// Returns whether lines have labels, for a log that is or is not opened yet.
    pub(crate) fn has_labels(&self, log: Option<&Log>) -> bool {
        match log.map_or(self.style, |log| Some(self.style(log))) {
            Some(Style::Text | Style::Json) => true,
            Some(Style::Mps) | None => self.verbose >= 2,
            Some(Style::Csv | Style::Lisp) => false,
        }
    }

    /// Returns how the times of a log are printed, unless it lacks the clock for that.
    pub(crate) fn time(&self, log: &Log) -> Form {
        let is_text = self.style(log) == Style::Text;
        self.time.unwrap_or(if is_text { Form::Seconds } else { Form::Ticks })
    }

    fn clock<'l>(&self, log: &'l Log) -> Result<Clock<'l>, String> {
        match (self.time, self.style(log)) {
            (None, Style::Text) => Ok(Clock::for_people(log)),
            _ => Clock::new(self.time(log), log),
        }
    }

    /// Passes the form of lines for a log to `take`. `error` makes the message of an error.
    pub(crate) fn with<'l, T: Take<'l>>(
        &self,
        log: &'l Log,
        filter: &Filter,
        error: impl Fn(String) -> Stop,
        take: T,
    ) -> Result<T::Taken, Stop> {
        let clock = self.clock(log).map_err(&error)?;
        let registries = log.registries();
        let name_width = name_width(registries);
        match (self.style(log), self.verbose) {
            (Style::Text, _) => {
                let is_coloured = AutoStream::choice(&io::stdout()) != ColorChoice::Never;
                take.line(Readable::new(clock, log, is_coloured))
            }
            (Style::Mps, 0) => take.line(Numeric { clock }),
            (Style::Mps, 1) => take.line(Columns { clock, name_width }),
            (Style::Mps, 2) => take.line(Named { clock, name_width }),
            (Style::Mps, _) => {
                let threads = Threads::new(&threads::recorded(log));
                take.line(Threaded { named: Named { clock, name_width }, threads })
            }
            (Style::Json, _) => take.line(Json { clock, time: self.time(log) }),
            (Style::Csv, _) => take.line(Csv::new(clock, registries, filter).map_err(error)?),
            (Style::Lisp, _) => take.line(Lisp { clock, name_width }),
        }
    }
}
