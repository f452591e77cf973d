//! Which events are asked for: the options that all commands share.
//!
//! ```text
//!  Select (arguments) ── names.rs, what the log declares ──▶ Selection ── Log ──▶ Selected
//!                                                                                 event by event
//! ```
//!
//! Design: `.control.output` in `design/telemetry.md`.

mod names;

use eventlog::reader::{Event, Events, Faults, Filter, Log, Order};

/// Which events are asked for.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Select {
    /// Only events of these kinds (names in any case)
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    kinds: Vec<String>,

    /// Only events of these types (names in any case, or codes in hexadecimal)
    #[arg(long, value_name = "EVENT", value_delimiter = ',')]
    events: Vec<String>,
}

impl Select {
    /// What is asked for, of this log; with labels if they are wanted. Else what is wrong with it.
    pub(crate) fn resolve(&self, log: &Log, labels: bool) -> Result<Selection, String> {
        let filter = names::filter(&self.kinds, &self.events, log.registries(), labels)?;
        Ok(Selection { filter })
    }
}

/// What is asked for, of one log.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    filter: Filter,
}

impl Selection {
    /// Kinds, event types, and whether labels are wanted.
    pub(crate) fn filter(&self) -> &Filter {
        &self.filter
    }

    /// The events that are asked for, one at a time.
    pub(crate) fn events<'l>(&'l self, log: &'l Log, order: Order) -> Selected<'l> {
        Selected { events: log.events(order, &self.filter) }
    }
}

/// Events of a log that are asked for.
pub(crate) struct Selected<'l> {
    events: Events<'l>,
}

impl Selected<'_> {
    /// The next event.
    #[expect(clippy::should_implement_trait, reason = "an event borrows from what was read last")]
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Event<'_>> {
        self.events.next()
    }

    /// What was found wrong while reading, as far as it goes.
    pub(crate) fn faults(&self) -> &Faults {
        self.events.faults()
    }
}
