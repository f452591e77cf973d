//! Switches the profiling of statements: by the environment at the first block, or for a program.
//!
//! ```text
//!  MPS_TELEMETRY_PROFILE ─┐
//!  profile::set ──────────┴─▶ kinds ─ labels ─▶ the word that each block tests
//! ```
//!
//! Design: `.statements.events` in `design/statements.md`.

use crate::events::{CONTROL, Kinds};
use crate::table::{self, mode};
use crate::{decision, site, statement};
use core::ffi::CStr;
use core::sync::atomic::{AtomicUsize, Ordering};
use telemetry::__private::{IS_RECORDING, monotonic, say, with_environment};

/// The environment variable with the mode.
const VARIABLE: &CStr = c"MPS_TELEMETRY_PROFILE";

/// The thread whose block is the first, or that of the program's switch before; 0: none.
static FIRST: AtomicUsize = AtomicUsize::new(0);
/// Statements that ran before the mode was known: in a handler that interrupted the first block, or
/// in a thread that no longer waits for it.
static EARLY_COUNT: AtomicUsize = AtomicUsize::new(0);
/// How long a thread waits while the first one reads the environment and begins the log, in ns. A
/// forked child may lack the first one.
const WAIT_MAX: u64 = 1_000_000_000;

/// Returns whether blocks have something to do: a load, and a test.
#[inline(always)]
pub(crate) fn is_on() -> bool {
    IS_RECORDING && table::word() != mode::OFF
}

/// Switches as the environment tells, once, unless the program did so. Returns whether that
/// switched times on.
#[cold]
pub(crate) fn begin() -> bool {
    if table::word() != mode::NEW || !site::register() {
        return false;
    }
    let here = table::thread();
    if let Err(first) = FIRST.compare_exchange(0, here, Ordering::Relaxed, Ordering::Relaxed) {
        // A signal handler may have interrupted the first one.
        let waits = || first != here && table::word() == mode::NEW;
        let begin = monotonic();
        while waits() && monotonic().saturating_sub(begin) < WAIT_MAX {
            std::thread::yield_now();
        }
        if waits() {
            FIRST.store(0, Ordering::Relaxed);
        }
        return false;
    }
    let mode = with_environment(VARIABLE, |value| match value.unwrap_or_default().trim_ascii() {
        b"" | b"off" => mode::OFF,
        b"count" => mode::COUNT,
        b"time" => mode::TIME,
        b"trace" => mode::TRACE,
        other => {
            let other = other.escape_ascii();
            say(format_args!(
                "MPS_TELEMETRY_PROFILE: `{other}` is not a mode (off, count, time, trace); \
                 statements are not profiled"
            ));
            mode::OFF
        }
    });
    switch_to(mode)
}

/// Notes a statement that ran before the mode was known.
pub(crate) fn note_early() {
    EARLY_COUNT.fetch_add(1, Ordering::Relaxed);
}

/// Switches for the program. Returns whether that switched times on.
pub(crate) fn by_program(mode: usize) -> bool {
    let is_possible = IS_RECORDING && site::register();
    if is_possible {
        let _ = FIRST.compare_exchange(0, table::thread(), Ordering::Relaxed, Ordering::Relaxed);
    }
    is_possible && switch_to(mode)
}

fn switch_to(mode: usize) -> bool {
    let mode = with_times_if_possible(mode);
    let control = telemetry::control::of(&CONTROL);
    if mode == mode::OFF {
        let before = table::word();
        table::set_mode(mode::OFF);
        EARLY_COUNT.store(0, Ordering::Relaxed);
        if before != mode::NEW {
            control.reset_output(Kinds::Profile | Kinds::Statement);
        }
        return false;
    }
    // Other threads wait for the word: their sums are told later, but events need the kind at once.
    if mode == mode::TRACE {
        control.set_output(Kinds::Profile | Kinds::Statement);
    }
    table::set_mode(mode);
    table::begin();
    decision::tell_once();
    control.set_output(Kinds::Profile);
    (0..EARLY_COUNT.swap(0, Ordering::Relaxed)).for_each(|_| table::drop_one());
    statement::label_all();
    if mode != mode::TRACE && control.output().contains(Kinds::Statement) {
        control.reset_output(Kinds::Statement);
    }
    mode & mode::TIME != 0
}

/// Times need words of 64 bits.
fn with_times_if_possible(mode: usize) -> usize {
    if usize::BITS >= 64 || mode & mode::TIME == 0 {
        return mode;
    }
    say(format_args!(
        "MPS_TELEMETRY_PROFILE: times of statements need a processor of 64 bits; they are counted"
    ));
    mode::COUNT
}
