//! Switches the profiling of statements, and keeps waiting for a person out of their times.
//!
//! ```
//! use calls::profile::{self, Mode};
//!
//! # telemetry::setup().plinth(telemetry::MemoryPlinth::new()).start().unwrap();
//! profile::set(Mode::Count);
//! assert_eq!(profile::mode(), Mode::Count);
//! // … what is of interest …
//! profile::set(Mode::Off);
//! ```
//!
//! `MPS_TELEMETRY_PROFILE=off|count|time|trace` sets the mode at the first block of a profiled
//! function, unless the program sets it before. Design: `design/statements.md`.

use crate::dynamic::Statement;
use crate::events::{CONTROL, CallEnter, Kinds, PauseEnter};
use crate::table::{self, mode};
use crate::{block, site, switch};
use core::marker::PhantomData;
use telemetry::__private::is_recorded;

/// What is recorded of the statements of profiled functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// Nothing.
    #[default]
    Off,
    /// How often each began.
    Count,
    /// Also their times: total, own, shortest, longest, and the sum of their squares.
    Time,
    /// Also each beginning and end.
    Trace,
}

/// Returns the mode.
#[must_use]
pub fn mode() -> Mode {
    block::begin();
    match table::word() & mode::BITS {
        mode::COUNT => Mode::Count,
        mode::TIME => Mode::Time,
        mode::TRACE => Mode::Trace,
        _ => Mode::Off,
    }
}

/// Sets the mode, for all threads. Sums go on from those so far. Executions of statements that are
/// in progress are not timed, and a call that began while the mode was *off* stays so, with all its
/// loops.
///
/// The kind `Profile` is output while the mode is not *off*, and `Statement` while it is *trace*.
/// Ordinary code calls this function: no signal handler.
pub fn set(mode: Mode) {
    let mode = match mode {
        Mode::Off => mode::OFF,
        Mode::Count => mode::COUNT,
        Mode::Time => mode::TIME,
        Mode::Trace => mode::TRACE,
    };
    if switch::by_program(mode) {
        block::calibrate();
    }
}

/// Sets all sums to zero, those in the log too. Executions that are in progress do not count.
pub fn reset() {
    block::begin();
    table::reset();
}

/// Measures the recorder's own cost of statements that a program begins by itself, such as those of
/// a script: the log states it, so that a reader takes it out. `plain` runs some statements without
/// work as if they were not profiled. `profiled` runs as many of them, and begins and ends the
/// given one for each. Nothing is measured unless times are.
///
/// ```
/// let run = |each: &dyn Fn()| (0..32).for_each(|_| each());
/// calls::profile::calibrate(|| run(&|| ()), |empty| run(&|| drop(empty.begin())));
/// ```
pub fn calibrate(mut plain: impl FnMut(), mut profiled: impl FnMut(Statement)) {
    block::begin();
    block::calibrate_by(&mut plain, &mut |all, index| profiled(Statement::of(all, index)));
}

/// A pause of this thread's clock. Its drop ends it.
#[derive(Debug)]
#[must_use = "its drop ends the pause"]
pub struct Pause {
    /// Whether events tell it.
    is_told: bool,
    // Not Send: it stops the clock of its thread.
    here: PhantomData<*const ()>,
}

/// Stops this thread's clock for all its open statements and calls, until the result is dropped.
/// Use it around waiting for a person. In a pause within a pause nothing changes.
///
/// ```
/// fn ask() -> String {
///     let _pause = calls::pause();
///     let mut line = String::new();
///     // std::io::stdin().read_line(&mut line)
///     line.push('y');
///     line
/// }
/// # assert_eq!(ask(), "y");
/// ```
pub fn pause() -> Pause {
    // The kind is output while statements are profiled. The calls need its events, too.
    let is_needed = || is_recorded::<CallEnter>() && !is_recorded::<PauseEnter>();
    if site::register() && is_needed() {
        let control = telemetry::control::of(&CONTROL);
        if control.output().contains(Kinds::Call) {
            control.set_output(Kinds::Profile);
        } else if control.recorded().contains(Kinds::Call) {
            control.set_recorded(Kinds::Profile);
        }
    }
    paused(true)
}

/// Stops this thread's clock for all its open statements while a profiler does work of its own,
/// such as to find out which statement begins. Unlike [`pause`] it costs two readings of the clock
/// alone, unless there is a trace. Calls contain that work.
///
/// ```
/// let work = calls::profile::exclude();
/// // … find the statement …
/// drop(work);
/// ```
pub fn exclude() -> Pause {
    paused(table::word() & mode::BITS == mode::TRACE)
}

fn paused(is_told: bool) -> Pause {
    table::pause(is_told);
    Pause { is_told, here: PhantomData }
}

impl Drop for Pause {
    fn drop(&mut self) {
        table::go_on(self.is_told);
    }
}
