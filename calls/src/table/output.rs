//! How the sums get into the log.
//!
//! ```text
//!  boundary ─ countdown, ticks: is a second over? ─▶ the table of the thread ─┐
//!  flush, end of the thread, exit ─▶ all tables ──────────────────────────────┴─▶ StatementSum
//! ```
//!
//! The thread that tells has the turn, so the last sums of a statement are the newest. Design:
//! `.statements.events` in `design/statements.md`.

use super::{
    LOCAL, LOG, NO_TABLE, RESET_COUNT, TABLES, Table, expect_end, microseconds, own, reset, since,
};
use crate::events::{CONTROL, Calibration, Kinds, StatementSum};
use crate::row::{Inside, Sums};
use crate::statement::{self, Place};
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use telemetry::__private::{
    Moment, Observer, flush_some, is_recorded, observe, thread_number, ticks, try_turn,
};
use telemetry::event;

/// The mode in which the costs of the recorder were measured; 0: they were not.
static COST_MODE: AtomicUsize = AtomicUsize::new(0);
/// Their bits: inner, outer, spread, blockSpread.
static COSTS: [AtomicU32; 4] = [const { AtomicU32::new(0) }; 4];

/// The time from one sending to the next, in µs.
const INTERVAL: usize = 1_000_000;
/// Blocks of the mode *count* that begin until the clock is read, at most.
const COUNTDOWN_MAX: usize = 128;
/// The shortest time for a rate of ticks, in µs.
const TIME_LEAST: usize = 10;
const COUNTDOWNS_PER_LOOK: usize = 8;
/// Ticks until the first look at the system's clock.
pub(super) const FIRST_LOOK: usize = 1 << 16;
impl Table {
    /// Records the sums that the log lacks, or all; returns whether there were any. Call it in
    /// turn.
    fn tell(&self, is_all: bool) -> bool {
        if !is_recorded::<StatementSum>() {
            return false;
        }
        let log = LOG.load(Ordering::Relaxed);
        if self.log.swap(log, Ordering::Relaxed) != log {
            self.rows(statement::decided()).for_each(|(_, row)| row.forget());
        }
        let is_empty =
            self.reset_count.load(Ordering::Acquire) != RESET_COUNT.load(Ordering::Acquire);
        let is_all = is_all | self.is_untold.swap(false, Ordering::Relaxed);
        let (lost_before, mut has_told) = (lost(), false);
        // Labels come before what they label.
        let labelled = statement::decided().filter(|statements| statements.label());
        for (place, row) in self.rows(labelled) {
            if let Some(sums) = row.untold(is_empty, is_all) {
                record_sums(place, self.number, sums);
                has_told = true;
            }
        }
        self.is_untold.store(lost() != lost_before, Ordering::Relaxed);
        has_told
    }

    /// Plans the next look at the system's clock.
    fn plan(&self, now: usize, time: usize) {
        let rest = INTERVAL.saturating_sub(since(self.sent_time.load(Ordering::Relaxed), time));
        let rest = rest.max(INTERVAL / 1000);
        let ticks = since(self.looked_at.swap(now, Ordering::Relaxed), now);
        let passed = since(self.looked_time.swap(time, Ordering::Relaxed), time);
        let step = match passed {
            // Too short for a rate.
            0..TIME_LEAST => FIRST_LOOK as u128,
            _ => ticks as u128 * rest as u128 / passed as u128,
        };
        let step = usize::try_from(step).unwrap_or(usize::MAX).clamp(1, usize::MAX >> 2);
        self.look_at.store(now.wrapping_add(step), Ordering::Relaxed);
    }
}

/// Looks at the system's clock, and sends the sums if that is due.
#[cold]
#[inline(never)]
pub(crate) fn look() {
    let Some(table) = expect_end() else { return };
    let (now, time) = (table.now(ticks() as usize), microseconds());
    let is_due = since(table.sent_time.load(Ordering::Relaxed), time) >= INTERVAL;
    if is_due && let Some(turn) = try_turn() {
        tell_some([table], false);
        drop(turn);
        flush_some(&CONTROL, Kinds::Profile);
        table.sent_time.store(time, Ordering::Relaxed);
    }
    table.plan(now, time);
}

/// Begins the next countdown, so that some end until the next look at the system's clock.
#[cold]
#[inline(never)]
pub(crate) fn count_again() {
    let Some(table) = own() else { return };
    let get = |word: &AtomicUsize| word.load(Ordering::Relaxed);
    let now = table.now(ticks() as usize);
    let passed = since(table.counted_at.swap(now, Ordering::Relaxed), now).max(1);
    let wanted = since(get(&table.looked_at), get(&table.look_at)) / COUNTDOWNS_PER_LOOK;
    let from = (get(&table.countdown_from) as u128 * wanted as u128 / passed as u128)
        .clamp(1, COUNTDOWN_MAX as u128) as usize;
    for word in [&table.countdown, &table.countdown_from] {
        word.store(from, Ordering::Relaxed);
    }
    if since(get(&table.look_at), now) != 0 {
        look();
    }
}

fn lost() -> u64 {
    let losses = telemetry::losses_of(&CONTROL, Kinds::Profile);
    losses.full + losses.nested + losses.large
}

fn record_sums(place: &'static Place, table: usize, sums: Sums) {
    let Inside { beneath, blocks, direct } = sums.inside;
    event!(StatementSum {
        statement: place.pointer(),
        table: table,
        count: sums.count,
        timed: sums.timed,
        total: sums.total,
        own: sums.own,
        shortest: sums.shortest,
        longest: sums.longest,
        squaresLow: sums.squares as usize,
        squaresHigh: (sums.squares >> usize::BITS) as usize,
        beneath: beneath,
        blocks: blocks,
        direct: direct,
        waits: place.waits(),
    });
}

/// Keeps the costs of the recorder in a mode, in the order of `Calibration`, in ticks.
pub(crate) fn set_costs(mode: usize, costs: [f64; 4]) {
    COST_MODE.store(mode, Ordering::Relaxed);
    COSTS
        .iter()
        .zip(costs)
        .for_each(|(word, cost)| word.store((cost as f32).to_bits(), Ordering::Relaxed));
}

/// Records the costs of the recorder; 0: they were not measured yet.
pub(crate) fn tell_costs() {
    let costs =
        COSTS.each_ref().map(|word| f64::from(f32::from_bits(word.load(Ordering::Relaxed))));
    let [inner, outer, spread, block_spread] = costs;
    let mode = COST_MODE.load(Ordering::Relaxed) as u32;
    event!(Calibration {
        mode: mode,
        inner: inner,
        outer: outer,
        spread: spread,
        blockSpread: block_spread,
    });
}

static OBSERVER: Observer = Observer::new(tell);

/// Has the sums told when what was recorded goes out.
pub(crate) fn begin() {
    observe(&OBSERVER);
}

/// Records the sums of tables, with labels before and the costs of the recorder after them. Call it
/// in turn.
fn tell_some(tables: impl IntoIterator<Item = &'static Table>, is_all: bool) {
    statement::label_all();
    let has_told = tables.into_iter().fold(false, |has_told, table| table.tell(is_all) | has_told);
    if has_told && COST_MODE.load(Ordering::Relaxed) != 0 {
        tell_costs();
    }
}

fn tell(moment: Moment) {
    match moment {
        Moment::Flush => tell_some(TABLES.iter(), false),
        // What was sent long ago may be overwritten.
        Moment::Exit => tell_some(TABLES.iter(), true),
        Moment::ThreadEnd => LOCAL.with(|local| {
            local.is_end_expected.set(false);
            if let Some(table) = own() {
                local.table.set(&NO_TABLE);
                tell_some([table], false);
                table.owner.store(0, Ordering::Release);
            }
        }),
        Moment::Forked => forget(),
    }
}

/// Begins again in a forked child: all tables are empty, and those of other threads free.
fn forget() {
    LOG.fetch_add(1, Ordering::Relaxed);
    let own = own();
    for table in TABLES.iter() {
        let is_own = own.is_some_and(|own| core::ptr::eq(own, table));
        table.owner.store(if is_own { thread_number() } else { 0 }, Ordering::Relaxed);
    }
    reset();
}
