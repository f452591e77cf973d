//! What a kernel counted of a processor's ring buffer: the file `per_cpu/cpuN/stats` of tracefs.
//!
//! ```text
//!  entries: 68 │ overrun: 323 │ commit overrun: 0 │ … │ dropped events: 0 │ read events: 1929
//! ```
//!
//! Design: `.waits.lost` in `design/waits.md`.

/// The counts of a processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// The processor.
    pub cpu: u32,
    /// Records that nobody read.
    pub unread: u64,
    /// Records that were overwritten: the page after them states it, mostly with their count.
    pub overwritten: u64,
    /// Records that were lost without a trace in a page.
    pub dropped: u64,
    /// Records that were read.
    pub read: u64,
}

impl Stats {
    /// Reads the counts of a processor. A count that the text lacks is 0.
    pub fn parse(cpu: u32, text: &str) -> Stats {
        let of = |name: &str| number(text, name).unwrap_or(0);
        let dropped = of("dropped events").saturating_add(of("commit overrun"));
        let (unread, overwritten, read) = (of("entries"), of("overrun"), of("read events"));
        Stats { cpu, unread, overwritten, dropped, read }
    }

    /// Reads the counts after the line that names their processor, as trace.dat has them.
    pub(crate) fn of_processor(text: &str) -> Option<Stats> {
        let cpu = u32::try_from(number(text, "CPU")?).ok()?;
        Some(Stats::parse(cpu, text))
    }
}

fn number(text: &str, name: &str) -> Option<u64> {
    let found = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    found?.trim().parse().ok()
}
