//! The sums of a thread, and how they get into the log.
//!
//! ```text
//!  boundary ─ Here: this thread's table ─▶ row of the statement
//!               └ once a second ──────┐
//!  flush, end of the thread, exit ────┴─▶ StatementSum of each row that changed
//! ```
//!
//! A table is never unmapped. That of a thread that ended goes to a new thread, with its sums. A
//! signal handler that interrupts a change finds its thread busy, and changes nothing. Design:
//! `.statements.table`, `.statements.events` in `design/statements.md`.

mod here;
mod output;

pub(crate) use here::{Begin, Here, Left, drop_one, switch, take};
pub(crate) use output::{begin, count_again, look, set_costs, tell_costs};

use crate::events::{CONTROL, Kinds, PauseEnter, PauseLeave};
use crate::list::{Link, Linked};
use crate::row::{Row, WORD_COUNT};
use crate::statement::{self, Place, Statements};
use core::cell::Cell;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use output::FIRST_LOOK;
use telemetry::__private::{
    expect_thread_end, is_thread, monotonic, place, thread_number, ticks, zeroed_words,
};
use telemetry::event;

/// The word of the mode: 0, or a mode in its low bits and the number of the switch. So a boundary
/// sees by one comparison whether profiling was switched since the statement began.
pub(crate) mod mode {
    pub(crate) const OFF: usize = 0;
    pub(crate) const COUNT: usize = 1;
    /// A bit of the modes that measure times.
    pub(crate) const TIME: usize = 2;
    pub(crate) const TRACE: usize = 3;
    /// The environment was not read yet.
    pub(crate) const NEW: usize = 4;
    pub(crate) const BITS: usize = 7;
}

static WORD: AtomicUsize = AtomicUsize::new(mode::NEW);
/// Is in the mask of recorded kinds unless the mode is off, also while it is new. So the entry of a
/// function tests by one load whether its calls or its statements have something to do. No kind has
/// this bit, and a byte has it.
pub(crate) const BLOCKS: Kinds = Kinds::from_bits_retain(1 << 7);
const _: () = assert!(!Kinds::all().intersects(BLOCKS));
static SWITCH_COUNT: AtomicUsize = AtomicUsize::new(0);
/// The rows of a table with another number are empty.
static RESET_COUNT: AtomicUsize = AtomicUsize::new(0);
/// The number of logs that this process and its parents began.
static LOG: AtomicUsize = AtomicUsize::new(0);
static TABLES: Link<Table> = Link::none();
static TABLE_COUNT: AtomicUsize = AtomicUsize::new(0);
/// Threads without a word of their end that a new thread looks for.
const SEARCH_COUNT_MAX: usize = 16;

/// A table. Its thread alone writes its words and rows, except for those that say otherwise.
#[repr(C, align(64))]
pub(crate) struct Table {
    /// The word of the mode for which the table is ready; 0: for none. Other threads set it to 0.
    word: AtomicUsize,
    /// Whether its thread changes it.
    is_busy: AtomicBool,
    /// Sums that only rise: own times, statements and blocks that ended, direct blocks.
    own: AtomicUsize,
    ended: AtomicUsize,
    blocks: AtomicUsize,
    direct: AtomicUsize,
    /// The number of the table, and above it how many stacks had come from other threads when the
    /// one came that its thread is in. So it tells by one comparison whether a statement that ends
    /// began here, and its stack was not elsewhere since.
    stack: AtomicUsize,
    moved_count: AtomicUsize,
    /// The ticks of all pauses, and those in which the stack of its thread was left.
    paused: AtomicUsize,
    /// The ticks at the beginning of the pause in progress; 0: none is.
    paused_at: AtomicUsize,
    /// When to look at the system's clock, in ticks of the table's clock.
    look_at: AtomicUsize,
    rows: &'static [[AtomicUsize; WORD_COUNT]],
    /// Blocks until the next reading of the clock, of this many.
    countdown: AtomicUsize,
    countdown_from: AtomicUsize,
    /// At the last countdown, and at the last look.
    counted_at: AtomicUsize,
    looked_at: AtomicUsize,
    /// In µs.
    looked_time: AtomicUsize,
    sent_time: AtomicUsize,
    reset_count: AtomicUsize,
    /// From 1.
    number: usize,
    /// The operating system's number of its thread; 0: it is free. A thread takes it by changing
    /// the number from 0, or from that of a thread that ended.
    owner: AtomicUsize,
    /// The log that the marks of the rows stand for. Changes in turn.
    log: AtomicUsize,
    /// Whether events were lost, so that all are to be sent again. Changes in turn.
    is_untold: AtomicBool,
    next: Link<Table>,
}

impl Linked for Table {
    fn next(&self) -> &Link<Table> {
        &self.next
    }
}

struct Local {
    table: Cell<&'static Table>,
    /// Whether the runtime tells the end of this thread.
    is_end_expected: Cell<bool>,
    pause_count: Cell<usize>,
    /// How long this thread has paused, in ns, and since when it does; 0: it does not.
    paused: Cell<u64>,
    paused_since: Cell<u64>,
}

/// What a thread without a table has: it is never ready.
static NO_TABLE: Table = Table::new(0, 0, &[]);

thread_local! {
    static LOCAL: Local = const {
        Local {
            table: Cell::new(&NO_TABLE),
            is_end_expected: Cell::new(false),
            pause_count: Cell::new(0),
            paused: Cell::new(0),
            paused_since: Cell::new(0),
        }
    };
}

/// Returns a number that is never 0 and that no other live thread has.
pub(crate) fn thread() -> usize {
    LOCAL.with(|local| core::ptr::from_ref(local).addr())
}

/// Returns this thread's table, if it has one.
fn own() -> Option<&'static Table> {
    let table = LOCAL.with(|local| local.table.get());
    (table.number != 0).then_some(table)
}

#[inline(always)]
pub(crate) fn word() -> usize {
    WORD.load(Ordering::Relaxed)
}

/// Sets the mode. Executions in progress are not timed.
pub(crate) fn set_mode(mode: usize) {
    let switch = SWITCH_COUNT.fetch_add(1, Ordering::Relaxed) + 1;
    let word = if mode == mode::OFF { mode::OFF } else { mode | (switch * (mode::BITS + 1)) };
    WORD.store(word, Ordering::Release);
    fence(Ordering::SeqCst);
    TABLES.iter().for_each(|table| table.word.store(0, Ordering::Relaxed));
    let (control, is_on) = (telemetry::control::of(&CONTROL), mode != mode::OFF);
    if is_on != CONTROL.is_recorded(BLOCKS.bits()) {
        if is_on { control.set_recorded(BLOCKS) } else { control.reset_recorded(BLOCKS) }
    }
}

/// Empties all tables, for their threads and readers. Executions in progress are not counted.
pub(crate) fn reset() {
    RESET_COUNT.fetch_add(1, Ordering::Relaxed);
    // Before the mode is known there is nothing to empty.
    if word() != mode::NEW {
        set_mode(word() & mode::BITS);
    }
}

/// This thread's table, or the one that is never ready.
#[inline(always)]
pub(crate) fn near() -> &'static Table {
    LOCAL.with(|local| local.table.get())
}

/// Returns the system's clock in ns, without the pauses of this thread that the program asked for,
/// and without the times in which the stack that the thread is in was left.
pub(crate) fn unpaused() -> u64 {
    LOCAL.with(|local| {
        let since = local.paused_since.get();
        let now = if since == 0 { monotonic() } else { since };
        now.wrapping_sub(local.paused.get())
    })
}

/// Returns the ticks from one time to a later one; 0: the other is later, because the clocks of two
/// processors differ. Ticks may pass 2^63 and 2^64.
#[inline(always)]
fn since(from: usize, to: usize) -> usize {
    (to.wrapping_sub(from) as isize).max(0) as usize
}

/// Returns a table for this thread: a free one, that of a thread which ended, or a new one.
#[cold]
fn adopt() -> Option<&'static Table> {
    static SEARCHED: AtomicUsize = AtomicUsize::new(0);
    let me = thread_number();
    let take = |table: &Table, from: usize| {
        table.owner.compare_exchange(from, me, Ordering::Acquire, Ordering::Relaxed).is_ok()
    };
    let free =
        || TABLES.iter().find(|table| table.owner.load(Ordering::Relaxed) == 0 && take(table, 0));
    let left = || {
        let from = SEARCHED.fetch_add(SEARCH_COUNT_MAX, Ordering::Relaxed);
        let from = from.checked_rem(TABLE_COUNT.load(Ordering::Relaxed)).unwrap_or(0);
        TABLES.iter().skip(from).take(SEARCH_COUNT_MAX).find(|table| {
            let owner = table.owner.load(Ordering::Relaxed);
            owner != 0 && !is_thread(owner) && take(table, owner)
        })
    };
    let table = free().or_else(left).or_else(|| make(me))?;
    table.is_busy.store(false, Ordering::Relaxed);
    table.paused_at.store(0, Ordering::Relaxed);
    let (now, time) = (table.now(ticks() as usize), microseconds());
    for word in [&table.counted_at, &table.looked_at] {
        word.store(now, Ordering::Relaxed);
    }
    for word in [&table.looked_time, &table.sent_time] {
        word.store(time, Ordering::Relaxed);
    }
    for word in [&table.countdown, &table.countdown_from] {
        word.store(1, Ordering::Relaxed);
    }
    table.look_at.store(now.wrapping_add(FIRST_LOOK), Ordering::Relaxed);
    Some(table)
}

fn make(owner: usize) -> Option<&'static Table> {
    let (rows, _) = zeroed_words(statement::row_count() * WORD_COUNT)?.as_chunks();
    let number = TABLE_COUNT.fetch_add(1, Ordering::Relaxed) + 1;
    let table = place(Table::new(number, owner, rows))?;
    table.log.store(LOG.load(Ordering::Relaxed), Ordering::Relaxed);
    TABLES.push(table);
    Some(table)
}

/// Returns the system's clock in µs, as much as fits in a word.
fn microseconds() -> usize {
    (monotonic() / 1000) as usize
}

const fn zeros<const COUNT: usize>() -> [AtomicUsize; COUNT] {
    [const { AtomicUsize::new(0) }; COUNT]
}

impl Table {
    const NUMBER_BITS: u32 = usize::BITS / 2;
    const NUMBER: usize = (1 << Table::NUMBER_BITS) - 1;

    const fn new(number: usize, owner: usize, rows: &'static [[AtomicUsize; WORD_COUNT]]) -> Table {
        let [word, own, ended, blocks, direct, paused, paused_at] = zeros();
        let [look_at, countdown, countdown_from, counted_at, looked_at] = zeros();
        let [reset_count, log, looked_time, sent_time, moved_count] = zeros();
        Table {
            word,
            is_busy: AtomicBool::new(false),
            own,
            ended,
            blocks,
            direct,
            stack: AtomicUsize::new(number),
            moved_count,
            paused,
            paused_at,
            look_at,
            rows,
            countdown,
            countdown_from,
            counted_at,
            looked_at,
            looked_time,
            sent_time,
            reset_count,
            number,
            owner: AtomicUsize::new(owner),
            log,
            is_untold: AtomicBool::new(false),
            next: Link::none(),
        }
    }

    #[inline(always)]
    fn now(&self, ticks: usize) -> usize {
        let paused_at = self.paused_at.load(Ordering::Relaxed);
        let now = if paused_at == 0 { ticks } else { paused_at };
        now.wrapping_sub(self.paused.load(Ordering::Relaxed))
    }

    /// Makes it ready for a mode, and empties it after a reset.
    fn settle(&self, word: usize) {
        let reset_count = RESET_COUNT.load(Ordering::Acquire);
        if self.reset_count.load(Ordering::Relaxed) != reset_count {
            self.rows(statement::decided()).for_each(|(_, row)| row.clear());
            self.reset_count.store(reset_count, Ordering::Release);
        }
        self.word.store(word, Ordering::Relaxed);
        // A switch that this thread did not see yet finds the word, and resets it.
        fence(Ordering::SeqCst);
        if self::word() != word {
            self.word.store(0, Ordering::Relaxed);
        }
    }

    /// Returns the rows of statements.
    fn rows(
        &self,
        statements: impl Iterator<Item = &'static Statements>,
    ) -> impl Iterator<Item = (&'static Place, Row<'static>)> {
        let rows = self.rows;
        let all = statements.flat_map(|statements| statements.rows());
        all.filter_map(move |(row, place)| Some((place, Row(rows.get(row)?))))
    }
}

/// Returns this thread's table, after having the runtime tell the end of the thread, if that is
/// possible now.
fn expect_end() -> Option<&'static Table> {
    LOCAL.with(|local| {
        if !local.is_end_expected.get() {
            local.is_end_expected.set(expect_thread_end());
        }
        own()
    })
}

/// Stops the clock of this thread, if it runs. `is_told`: events tell it.
pub(crate) fn pause(is_told: bool) {
    LOCAL.with(|local| {
        local.pause_count.set(local.pause_count.get() + 1);
        if local.pause_count.get() == 1 {
            if is_told {
                event!(PauseEnter);
                local.paused_since.set(monotonic().max(1));
            }
            if let Some(table) = own() {
                table.paused_at.store((ticks() as usize).max(1), Ordering::Relaxed);
            }
        }
    });
}

/// Ends a pause.
pub(crate) fn go_on(is_told: bool) {
    LOCAL.with(|local| {
        local.pause_count.set(local.pause_count.get() - 1);
        if local.pause_count.get() != 0 {
            return;
        }
        let stopped = local.paused_since.replace(0);
        if stopped != 0 {
            let pause = monotonic().saturating_sub(stopped);
            local.paused.set(local.paused.get().wrapping_add(pause));
        }
        if let Some(table) = own() {
            let paused_at = table.paused_at.swap(0, Ordering::Relaxed);
            if paused_at != 0 {
                let paused = table.paused.load(Ordering::Relaxed);
                let pause = since(paused_at, ticks() as usize);
                table.paused.store(paused.wrapping_add(pause), Ordering::Relaxed);
            }
        }
        if is_told {
            event!(PauseLeave);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// K10: the counter of the processor may pass 2^63, and 2^64.
    #[test]
    fn ticks_may_pass_any_limit() {
        let half = 1usize << (usize::BITS - 1);
        assert_eq!(since(half - 3, half + 4), 7);
        assert_eq!(since(usize::MAX - 3, 4), 8);
        assert_eq!(since(half + 100, half + 1_000_000), 999_900);
        assert_eq!(since(9, 9), 0);
        // The counters of two processors differ by a little.
        assert_eq!(since(half + 1, half), 0);
        assert_eq!(since(5, usize::MAX - 1), 0);
    }

    #[test]
    fn a_pause_stops_the_clock_of_a_table() {
        let table = Table::new(1, 1, &[]);
        assert_eq!(table.now(1000), 1000);
        table.paused_at.store(1000, Ordering::Relaxed);
        assert_eq!(table.now(5000), 1000);
        table.paused.store(4000, Ordering::Relaxed);
        table.paused_at.store(0, Ordering::Relaxed);
        assert_eq!(table.now(5007), 1007);
    }
}
