//! Timers of the kernel, and whether one ended the sleep of a thread.
//!
//! ```text
//!  fire ── the address of hrtimer_wakeup is known ──▶ TimerFire, at once
//!      └── else it waits ── follow: a wake ──▶ TimerFire, isWakeup
//!                                  another ──▶ TimerFire
//! ```
//!
//! A record tells the address of the timer's function, and perf.data has no table of the kernel's
//! functions. But `hrtimer_wakeup` wakes its thread at once: the next record of that processor is
//! the wake.
//!
//! Design: `.waits.timer` in `design/waits.md`.

use crate::waits::events::kernel::TimerFire;
use crate::waits::output::{CPU_COUNT_MAX, Output};
use eventdef::field::A;
use eventlog::writer::MakeError;

/// A timer that fired, whose effect is unknown yet.
#[derive(Clone, Copy, Debug)]
struct Fired {
    ticks: u64,
    function: u64,
}

/// Timers that fired.
#[derive(Debug, Default)]
pub struct Timers {
    /// The address of `hrtimer_wakeup`.
    wakeup: Option<u64>,
    /// By processor.
    fired: Vec<Option<Fired>>,
}

impl Timers {
    /// Names the address of `hrtimer_wakeup`.
    pub fn wakeup_at(&mut self, address: u64) {
        self.wakeup = Some(address);
    }

    /// Takes a timer that fired. Its row may wait for the next record of the processor.
    ///
    /// # Errors
    ///
    /// Fails as [`Output::add`] does.
    pub fn fire(
        &mut self,
        out: &mut Output<'_>,
        cpu: u32,
        ticks: u64,
        function: u64,
    ) -> Result<(), MakeError> {
        let fired = Fired { ticks, function };
        if let Some(wakeup) = self.wakeup {
            return add(out, cpu, fired, function == wakeup);
        }
        self.follow(out, cpu, false)?;
        let at = cpu.min(CPU_COUNT_MAX) as usize;
        if self.fired.len() <= at {
            self.fired.resize(at + 1, None);
        }
        if let Some(place) = self.fired.get_mut(at) {
            *place = Some(fired);
        }
        Ok(())
    }

    /// Adds the row that waits, if one does. Call it before each further record of a processor:
    /// `is_wake` states whether that record is a wake.
    ///
    /// # Errors
    ///
    /// Fails as [`Output::add`] does.
    #[inline]
    pub fn follow(
        &mut self,
        out: &mut Output<'_>,
        cpu: u32,
        is_wake: bool,
    ) -> Result<(), MakeError> {
        let Some(place) = self.fired.get_mut(cpu as usize) else { return Ok(()) };
        place.take().map_or(Ok(()), |fired| add(out, cpu, fired, is_wake))
    }

    /// Adds the rows that wait. Call it after the last record.
    ///
    /// # Errors
    ///
    /// Fails as [`Output::add`] does.
    pub fn finish(&mut self, out: &mut Output<'_>) -> Result<(), MakeError> {
        (0..self.fired.len() as u32).try_for_each(|cpu| self.follow(out, cpu, false))
    }
}

fn add(out: &mut Output<'_>, cpu: u32, fired: Fired, is_wakeup: bool) -> Result<(), MakeError> {
    let function = A(fired.function as usize);
    out.add(cpu, fired.ticks, &TimerFire { isWakeup: is_wakeup, function })
}
