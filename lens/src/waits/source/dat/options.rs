//! Options of a trace.dat that both versions have: the clock, and what the kernel counted.
//!
//! ```text
//!  TRACECLOCK "local [mono] boot" ──▶ the clock of the instance that is recorded first
//!  CPUSTAT "CPU: 0 │ overrun: 3" … │ "Buffer: NAME" │ "CPU: 0 │ …" … ──▶ counts, by instance
//! ```
//!
//! Design: `.waits.dat` in `design/waits.md`.

use crate::waits::source::cursor::until_zero;
use crate::waits::source::stats::Stats;

const CPUSTAT: u16 = 2;
const TRACECLOCK: u16 = 4;
/// Counts that are kept, at most.
const COUNT_MAX: usize = 1 << 16;

/// The options that were read.
#[derive(Debug, Default)]
pub(super) struct Options {
    /// The name of the clock, as `mono`; empty if unknown.
    clock: Vec<u8>,
    /// The instance of the counts that follow. The name of the first one is empty.
    instance: Vec<u8>,
    counts: Vec<(Vec<u8>, Stats)>,
}

impl Options {
    /// Takes an option. Those of other kinds have no meaning here.
    pub(super) fn take(&mut self, id: u16, data: &[u8]) {
        match id {
            TRACECLOCK if self.clock.is_empty() => self.clock = chosen(until_zero(data)),
            CPUSTAT => {
                let text = String::from_utf8_lossy(until_zero(data));
                let name = text.trim_start().strip_prefix("Buffer: ");
                if let Some(name) = name {
                    self.instance = name.trim_end().into();
                }
                let of_cpu = Stats::of_processor(&text).filter(|_| self.counts.len() < COUNT_MAX);
                self.counts.extend(of_cpu.map(|stats| (self.instance.clone(), stats)));
            }
            _ => {}
        }
    }

    /// Returns the clock of the instance that is recorded first. `stated` is the clock that stands
    /// with its pages: before trace-cmd has set it, so it counts only without the option.
    pub(super) fn clock<'o>(&'o self, stated: &'o [u8]) -> &'o [u8] {
        if self.clock.is_empty() { stated } else { &self.clock }
    }

    /// Returns what the kernel counted of the processors of an instance.
    pub(super) fn stats(&self, instance: &[u8]) -> impl Iterator<Item = &Stats> {
        self.counts.iter().filter(move |(of, _)| of == instance).map(|(_, stats)| stats)
    }
}

/// Returns the clock between brackets in the text of `trace_clock`, or the whole text.
pub(super) fn chosen(text: &[u8]) -> Vec<u8> {
    let after = text.split(|byte| *byte == b'[').nth(1);
    let within = after.and_then(|after| after.split(|byte| *byte == b']').next());
    within.unwrap_or(text).trim_ascii().to_vec()
}

#[cfg(test)]
mod tests {
    use super::chosen;

    #[test]
    fn the_clock_is_the_one_between_brackets() {
        assert_eq!(chosen(b"local global [mono] boot\n"), b"mono");
        assert_eq!(chosen(b"x86-tsc"), b"x86-tsc");
        assert_eq!(chosen(b"[local"), b"local");
    }
}
