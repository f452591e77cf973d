//! The shares of time: ten categories, unknown, and lost.
//!
//! ```text
//!  understood … hardware │ unknown │ lost      from the best understood to the least
//! ```
//!
//! Design: `.waits.account` in `design/waits.md`.

/// What time is spent on, from the best understood to the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Share {
    /// A thread ran, and samples tell where.
    Understood,
    /// A thread ran.
    Unsampled,
    /// A block device worked.
    Disk,
    /// An operation stood in the queue of a block device.
    DiskQueue,
    /// A thread slept as it wanted.
    Sleep,
    /// A thread did other work before it woke the waiting one.
    OtherPath,
    /// A woken thread waited for a processor.
    Scheduler,
    /// A thread was switched out while it could run.
    Involuntary,
    /// A thread waited for something that did not come in time.
    TimedOut,
    /// An interrupt or data from outside ended the wait.
    Hardware,
    /// It is not known.
    Unknown,
    /// Events were lost.
    Lost,
}

impl Share {
    /// The name of each share, in their order.
    pub const ALL: [(&str, Share); 12] = [
        ("understood", Share::Understood),
        ("running without a sample", Share::Unsampled),
        ("disk", Share::Disk),
        ("disk queue", Share::DiskQueue),
        ("deliberate sleep", Share::Sleep),
        ("waiting for another path", Share::OtherPath),
        ("scheduler", Share::Scheduler),
        ("involuntary", Share::Involuntary),
        ("timed out", Share::TimedOut),
        ("hardware", Share::Hardware),
        ("unknown", Share::Unknown),
        ("lost", Share::Lost),
    ];

    /// Returns the name.
    pub fn name(self) -> &'static str {
        Share::ALL.iter().find(|(_, share)| *share == self).map_or("?", |(name, _)| name)
    }
}
