//! The models of sums outside the rings: those of statements, in rows, and the observers that tell
//! them.
//!
//! ```text
//!  owner: count, add ∥ a thread in turn: what the log lacks ─▶ whole sums; the last are the newest
//! ```
//!
//! Design: `.sol.observer`, `.sol.ordering` in `design/telemetry.md`, `.statements.table` in
//! `design/statements.md`.

use crate::block::memory::{Block, Blocks, block_size, change, keep, look};
use crate::list::{self, Linked};
use crate::offered::Moment;
use crate::os::atomic::{AtomicUsize, Ordering};
use crate::os::observers::{Observer, observe, tell, try_turn};
use crate::row::{Inside, Row, Sums, WORD_COUNT};
use loom::cell::UnsafeCell;
use loom::thread;
use std::cell::Cell;

/// A value in a list, which its maker completes before.
struct Value {
    block: Block,
    next: list::Link<Value>,
}

impl Linked for Value {
    fn next(&self) -> &list::Link<Value> {
        &self.next
    }
}

/// `.statements.table`: two threads put tables into the list, and a third one reads it.
pub(crate) fn a_list_leads_to_whole_values() {
    let list: &'static list::Link<Value> = keep(list::Link::none());
    let blocks = Blocks::map(2).unwrap();
    let make = |at| &*keep(Value { block: blocks.get(at), next: list::Link::none() });
    let values: [&'static Value; 2] = [0, 1].map(make);
    let place = block_size() - 8;
    // The first uses, before the threads begin.
    assert!(list.iter().next().is_none());
    assert!(values.iter().all(|value| value.next.iter().next().is_none()));
    let makers = values.map(|value| {
        thread::spawn(move || {
            value.block.write(place, 7);
            list.push(value);
        })
    });
    assert!(list.iter().all(|value| value.block.read(place) == 7));
    makers.into_iter().for_each(|maker| maker.join().unwrap());
    assert_eq!(list.iter().count(), 2);
}

thread_local! {
    /// What the observers change, in this execution.
    static OBSERVED: Cell<Option<&'static UnsafeCell<u64>>> = const { Cell::new(None) };
}

/// Loom reports two threads that are here at once.
fn note(_: Moment) {
    change(OBSERVED.get().expect("the model set it"), |count| count + 1);
}

/// `.sol.observer`
pub(crate) fn observers_are_told_by_one_thread_at_a_time() {
    let observers: [&'static Observer; 2] = [(); 2].map(|()| &*keep(Observer::new(note)));
    let cell: &'static UnsafeCell<u64> = keep(UnsafeCell::new(0));
    OBSERVED.set(Some(cell));
    observe(observers[0]);
    tell(Moment::Flush);
    let other = thread::spawn(move || {
        observe(observers[1]);
        observe(observers[1]);
        tell(Moment::Flush);
    });
    let tried = try_turn().map(|_turn| change(cell, |count| count)).is_some();
    tell(Moment::ThreadEnd);
    other.join().unwrap();
    let _turn = try_turn().expect("no thread has it");
    let count = look(cell);
    assert!((4..=5).contains(&count), "{count}, {tried}");
}

/// A row. Loom watches the version, the count, and the first sums.
fn row() -> Row<'static> {
    const WATCHED: usize = 4;
    let words: &'static [AtomicUsize; WORD_COUNT] = keep(std::array::from_fn(|word| match word {
        0..WATCHED => AtomicUsize::new(0),
        _ => AtomicUsize::quiet(0),
    }));
    // The first uses, before the threads begin.
    assert!(words.iter().all(|word| word.load(Ordering::Relaxed) == 0));
    Row(words)
}

const TICKS: usize = 3;

fn run(row: Row<'static>, count: usize) {
    for _ in 0..count {
        row.count();
        row.add(TICKS, 2, Inside::default());
    }
}

/// Checks that sums belong together: an execution counts before it is timed.
fn check(sums: &Sums, count_max: usize) {
    assert!(sums.timed <= sums.count && sums.count <= count_max, "{sums:?}");
    assert_eq!(sums.total, TICKS * sums.timed, "{sums:?}");
}

/// `.statements.table`: a version is odd while its row changes.
pub(crate) fn a_reader_of_a_row_sees_whole_sums() {
    let row = row();
    let owner = thread::spawn(move || run(row, 2));
    if let Some(sums) = row.untold(false, true) {
        check(&sums, 2);
    }
    owner.join().unwrap();
    let sums = row.untold(false, true).expect("all can be told");
    assert_eq!((sums.count, sums.timed, sums.total), (2, 2, 2 * TICKS));
}

/// `.statements.events`: of a statement and a table the last sums hold.
pub(crate) fn the_last_told_sums_of_a_row_are_the_newest() {
    let row = row();
    run(row, 1);
    let told: &'static UnsafeCell<u64> = keep(UnsafeCell::new(0));
    drop(try_turn().expect("no thread has it"));
    let tell = move || {
        if let Some(_turn) = try_turn()
            && let Some(sums) = row.untold(false, false)
        {
            check(&sums, 2);
            change(told, |before| {
                assert!(before <= sums.timed as u64, "{before}, then {sums:?}");
                sums.timed as u64
            });
        }
    };
    let owner = thread::spawn(move || run(row, 1));
    let teller = thread::spawn(tell);
    tell();
    owner.join().unwrap();
    teller.join().unwrap();
    tell();
    assert_eq!(look(told), 2);
}
