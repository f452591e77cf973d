//! This thread's table, while a boundary changes it.
//!
//! ```text
//!  Here::ready ─▶ end of a statement, beginning of the next one ─▶ drop: not busy
//! ```
//!
//! Design: `.statements.table` in `design/statements.md`.

use super::{LOCAL, Table, adopt, expect_end, mode, near, own, since, unpaused, word};
use crate::events::StatementSum;
use crate::row::{Inside, Row, Sums};
use crate::statement::OWN_ROW_COUNT;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicUsize, Ordering, compiler_fence};
use telemetry::__private::{discard, ticks};

/// The first executions of a statement read the clock.
const RARE_COUNT: usize = 4;
/// The monotonic sums at the beginning of a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Begin {
    ticks: usize,
    own: usize,
    ended: usize,
    blocks: usize,
    direct: usize,
    /// The table and its stack, as in [`Table`]; 0: none.
    stack: usize,
}

impl Begin {
    /// That of a statement that is not timed.
    pub(crate) const NONE: Begin =
        Begin { ticks: 0, own: 0, ended: 0, blocks: 0, direct: 0, stack: 0 };
}

/// The sums of a table, and the time of its clock, when its thread left a stack: those with which
/// the stack goes on. The default is that of a stack that begins, which goes on with those of the
/// stack before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Left {
    begin: Begin,
    /// By the clock of [`unpaused`](super::unpaused), in ns.
    unpaused: u64,
}

/// Leaves a stack, and goes on in one that was left before. So the clocks of a stack stand while
/// no thread is in it, and the sums of other stacks are not in its open statements. `is_timed`:
/// calls may have a threshold.
pub(crate) fn switch(to: Left, is_timed: bool) -> Left {
    let mut left = Left::default();
    if is_timed {
        left.unpaused = unpaused();
        if to.unpaused != 0 {
            LOCAL.with(|local| {
                let paused = local.paused.get().wrapping_add(left.unpaused);
                local.paused.set(paused.wrapping_sub(to.unpaused));
            });
        }
    }
    let word = word();
    if word & mode::TIME != 0
        && let Some(here) = Here::ready(word)
    {
        left.begin = here.sums(here.now());
        if to.begin.stack != 0 {
            here.go_on(&left.begin, &to.begin);
        }
    }
    left
}

/// This thread's table, with the right to change it.
pub(crate) struct Here {
    table: &'static Table,
    // Not Send: it belongs to its thread.
    here: PhantomData<*const ()>,
}

impl Table {
    /// Returns the table, of this thread, with the right to change it if it is ready for the mode.
    #[inline(always)]
    pub(crate) fn ready(&'static self, word: usize) -> Option<Here> {
        let is_ready =
            self.word.load(Ordering::Relaxed) == word && !self.is_busy.load(Ordering::Relaxed);
        is_ready.then(|| Here::of(self))
    }
}

impl Here {
    /// Returns this thread's table if it is ready for the mode.
    #[inline(always)]
    pub(crate) fn ready(word: usize) -> Option<Here> {
        near().ready(word)
    }

    #[inline(always)]
    fn of(table: &'static Table) -> Here {
        table.is_busy.store(true, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        Here { table, here: PhantomData }
    }

    /// Returns this thread's table, made ready. `None`: this code interrupts a change of the table,
    /// or there is no memory.
    #[cold]
    pub(crate) fn prepared(word: usize) -> Option<Here> {
        let table = LOCAL.with(|local| {
            own().or_else(|| {
                let table = adopt()?;
                // A signal handler may have adopted one meanwhile.
                if let Some(own) = own() {
                    table.owner.store(0, Ordering::Release);
                    return Some(own);
                }
                local.table.set(table);
                Some(table)
            })
        })?;
        if table.is_busy.load(Ordering::Relaxed) {
            return None;
        }
        expect_end();
        let here = Here::of(table);
        table.settle(word);
        Some(here)
    }

    #[inline(always)]
    fn row(&self, row: usize) -> Option<Row<'static>> {
        self.table.rows.get(row).map(Row)
    }

    /// Counts an execution of the statement in a row, and returns whether [`count_again`] is due:
    /// the clock may have to be read at rare statements, too. `None`: the statement has no row.
    #[inline(always)]
    pub(crate) fn count(&self, row: usize) -> Option<bool> {
        Some(self.row(row)?.count() <= RARE_COUNT)
    }

    /// Counts the first statement of a block, as [`count`](Here::count) does. A loop begins blocks,
    /// so this decides when the clock is read.
    #[inline(always)]
    pub(crate) fn count_first(&self, row: usize) -> Option<bool> {
        self.row(row)?.count();
        let countdown = self.table.countdown.load(Ordering::Relaxed).wrapping_sub(1);
        self.table.countdown.store(countdown, Ordering::Relaxed);
        Some(countdown == 0)
    }

    /// Returns the time of the table's clock, which stands still in a pause.
    #[inline(always)]
    pub(crate) fn now(&self) -> usize {
        self.table.now(ticks() as usize)
    }

    /// Returns whether [`look`] is due.
    #[inline(always)]
    pub(crate) fn is_due(&self, now: usize) -> bool {
        since(self.table.look_at.load(Ordering::Relaxed), now) != 0
    }

    /// Begins an execution at a time. Returns `None` if the statement has no row.
    #[inline(always)]
    pub(crate) fn begin(&self, row: usize, now: usize) -> Option<Begin> {
        self.row(row)?.count();
        Some(self.sums(now))
    }

    /// Returns what an execution that begins now begins with.
    #[inline(always)]
    fn sums(&self, now: usize) -> Begin {
        let get = |word: &AtomicUsize| word.load(Ordering::Relaxed);
        let table = self.table;
        Begin {
            ticks: now,
            own: get(&table.own),
            ended: get(&table.ended),
            blocks: get(&table.blocks),
            direct: get(&table.direct),
            stack: get(&table.stack),
        }
    }

    /// Goes on with the sums and the time that a stack had when it was left.
    fn go_on(&self, now: &Begin, left: &Begin) {
        let (set, table) = (|word: &AtomicUsize, to| word.store(to, Ordering::Relaxed), self.table);
        if left.stack & Table::NUMBER != table.number {
            // Its open statements began in another table. They are not timed, not even if the stack
            // comes back there.
            let count = table.moved_count.load(Ordering::Relaxed).wrapping_add(1);
            set(&table.moved_count, count);
            return set(&table.stack, table.number | (count << Table::NUMBER_BITS));
        }
        set(&table.own, left.own);
        set(&table.ended, left.ended);
        set(&table.blocks, left.blocks);
        set(&table.direct, left.direct);
        set(&table.stack, left.stack);
        let shift = now.ticks.wrapping_sub(left.ticks);
        set(&table.paused, table.paused.load(Ordering::Relaxed).wrapping_add(shift));
        for word in [&table.look_at, &table.counted_at, &table.looked_at] {
            set(word, word.load(Ordering::Relaxed).wrapping_sub(shift));
        }
    }

    /// Suspends or resumes an execution of this thread: what it began with becomes what it has had
    /// so far, and back.
    pub(crate) fn turn(&self, begin: &mut Begin) {
        let stack = self.table.stack.load(Ordering::Relaxed);
        if begin.stack == !stack || begin.stack == stack {
            let now = self.sums(self.now());
            begin.ticks = now.ticks.wrapping_sub(begin.ticks);
            begin.own = now.own.wrapping_sub(begin.own);
            begin.ended = now.ended.wrapping_sub(begin.ended);
            begin.blocks = now.blocks.wrapping_sub(begin.blocks);
            begin.direct = now.direct.wrapping_sub(begin.direct);
            begin.stack = !begin.stack;
        }
    }

    /// Ends an execution at a time. One that was on another thread meanwhile is not timed.
    #[inline(always)]
    pub(crate) fn end(&self, row: usize, begin: &Begin, now: usize) {
        let table = self.table;
        if begin.stack != table.stack.load(Ordering::Relaxed) {
            return;
        }
        let Some(row) = self.row(row) else { return };
        let ticks = since(begin.ticks, now);
        // What a word has grown by since the beginning, and by a further sum from now on.
        let grown = |word: &AtomicUsize, before: usize| {
            let now = word.load(Ordering::Relaxed);
            (now, now.wrapping_sub(before))
        };
        let (own_sum, own_inside) = grown(&table.own, begin.own);
        let (ended, beneath) = grown(&table.ended, begin.ended);
        // Coroutines may end in it that began before it.
        let own = ticks.saturating_sub(own_inside);
        table.own.store(own_sum.wrapping_add(own), Ordering::Relaxed);
        table.ended.store(ended.wrapping_add(1), Ordering::Relaxed);
        let (_, blocks) = grown(&table.blocks, begin.blocks);
        let mut inside = Inside { beneath, blocks, direct: 0 };
        if blocks != 0 {
            let (direct_sum, direct_inside) = grown(&table.direct, begin.direct);
            inside.direct = blocks.saturating_sub(direct_inside);
            table.direct.store(direct_sum.wrapping_add(inside.direct), Ordering::Relaxed);
        }
        row.add(ticks, own, inside);
    }

    /// Ends an execution that may have waited, and may have begun on another thread.
    pub(crate) fn end_waiting(&self, row: usize, begin: &Begin) {
        if let Some(row) = self.row(row) {
            row.add(since(begin.ticks, ticks() as usize), 0, Inside::default());
        }
    }

    /// Begins an execution that may wait: with the clock that all threads share.
    pub(crate) fn begin_waiting(&self, row: usize) -> Option<Begin> {
        self.begin(row, ticks() as usize)
    }

    /// Counts a block that ended.
    #[inline(always)]
    pub(crate) fn end_block(&self) {
        let blocks = &self.table.blocks;
        blocks.store(blocks.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }
}

impl Drop for Here {
    #[inline(always)]
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        self.table.is_busy.store(false, Ordering::Relaxed);
    }
}

/// Returns the sums of the recorder's own statements, and empties their rows.
pub(crate) fn take(word: usize) -> [Sums; OWN_ROW_COUNT] {
    let mut own = [Sums::default(); OWN_ROW_COUNT];
    if let Some(here) = Here::prepared(word) {
        for (at, sums) in own.iter_mut().enumerate() {
            *sums = here.row(at).map_or(Sums::default(), Row::take);
        }
    }
    own
}

/// Counts an execution that no table has.
#[cold]
pub(crate) fn drop_one() {
    discard::<StatementSum>();
}
