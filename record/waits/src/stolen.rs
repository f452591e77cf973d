//! The time that a hypervisor had the processors of this machine.
//!
//! ```text
//!  /proc/stat ── begin ─┐
//!             └─ end ───┴─▶ ns by processor ──▶ Stolen
//! ```
//!
//! No switch tells of it: the kernel takes the thread for running. Format: proc_stat(5), the value
//! `steal`. Design: `.waits.stolen` in `design/waits.md`.

use eventlog::writer::MakeError;
use lens::waits::events::kernel as events;
use lens::waits::output::Output;
use std::collections::BTreeMap;
use std::fs;

/// The place of `steal` among the values of a processor.
const STEAL: usize = 7;

/// The stolen time of each processor since the machine began, in the kernel's ticks.
#[derive(Debug, Default)]
pub(super) struct Stolen(BTreeMap<u32, u64>);

impl Stolen {
    /// Reads the kernel's counts. A system without them has none.
    pub(super) fn read() -> Stolen {
        Stolen::parse(&fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    fn parse(text: &str) -> Stolen {
        let of = |line: &str| {
            let mut words = line.strip_prefix("cpu")?.split_ascii_whitespace();
            let cpu = words.next()?.parse().ok()?;
            Some((cpu, words.nth(STEAL)?.parse().ok()?))
        };
        // The first line is the sum: it has no number.
        let lines = text.lines().filter(|line| !line.starts_with("cpu "));
        Stolen(lines.filter_map(of).collect())
    }

    /// Returns the processors that lost time since `before`, and how much, in ns.
    pub(super) fn since(&self, before: &Stolen) -> Vec<(u32, u64)> {
        let tick = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
        let lost = |(cpu, now): (&u32, &u64)| {
            let ticks = now.saturating_sub(*before.0.get(cpu)?);
            (ticks > 0).then(|| (*cpu, ticks.saturating_mul(tick)))
        };
        self.0.iter().filter_map(lost).collect()
    }
}

/// Adds the rows of what [`Stolen::since`] found.
pub(super) fn put(
    output: &mut Output<'_>,
    ticks: u64,
    stolen: &[(u32, u64)],
) -> Result<(), MakeError> {
    let row = |(cpu, ns): &(u32, u64)| events::Stolen { cpu: *cpu, ns: *ns as usize };
    stolen.iter().try_for_each(|stolen| output.seen(ticks, &row(stolen)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_each_processor_is_the_difference_of_two_looks() {
        // Linux 6.18 under KVM, one processor added between the looks; the last lines cut.
        let before = "cpu  3690787 513744 665786 309481 29000 0 5656 58830 0 0\n\
                      cpu0 1845393 256872 332893 154740 14500 0 2828 28978 0 0\n\
                      intr 5 0\n";
        let after = "cpu  3690887 513744 665786 309481 29000 0 5656 58842 0 0\n\
                     cpu0 1845493 256872 332893 154740 14500 0 2828 28990 0 0\n\
                     cpu1 1 0 0 0 0 0 0 4 0 0\n\
                     cpu2 1 0\n\
                     intr 5 0\n";
        let [before, after] = [before, after].map(Stolen::parse);
        assert_eq!(after.since(&before), [(0, 120_000_000)]);
        assert_eq!(before.since(&after), []);
    }
}
