//! What a log lacks: rows that could not be understood, and rows that it does not have.
//!
//! Design: `.waits.model` in `design/waits.md`.

/// What could not be understood, or was left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Rows.
    pub rows: u64,
    /// Switches among them.
    pub switches: u64,
    /// Samples that belong to no run.
    pub samples_dropped: u64,
    /// Samples within unknown and lost parts of a life.
    pub samples_unknown: u64,
    /// Rows of a processor with an earlier time than the row before.
    pub backwards: u64,
    /// Rows that contradict earlier ones: a new thread has the number of one that lives.
    pub contradictions: u64,
    /// Switches that the log lacks, as far as other rows show it: not all kernels tell of each.
    pub missing: u64,
    /// Stretches that were not kept.
    pub not_kept: u64,
    /// Rows that were left out, as a table was full.
    pub left_out: u64,
    /// Gaps: rows that state a loss.
    pub gaps: u64,
    /// The time that a hypervisor had the processors, in ns: it counts as running.
    pub stolen_ns: u64,
}

/// Which rows a log has: without them, some causes are not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Has {
    /// Timers that fire.
    pub timers: bool,
    /// Interrupts of devices.
    pub interrupts: bool,
    /// System calls.
    pub calls: bool,
    /// Data that arrive at sockets.
    pub data: bool,
}
