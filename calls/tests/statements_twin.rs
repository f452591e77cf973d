//! Random blocks with panics in several threads, against a naive twin.
//!
//! ```text
//!  seed ─▶ a tree of blocks ─┬─ run ─▶ log ─▶ sums of each statement ─┐
//!                            └─ walked ─▶ counts, beneath, blocks ────┴─▶ equal
//! ```
//!
//! Design: `.statements.table` in `design/statements.md`.
#![forbid(unsafe_code)]

mod common;
#[path = "common/random.rs"]
mod random;
#[macro_use]
#[path = "common/sums.rs"]
mod sums;

use calls::__private::block;
use common::ran;
use random::Random;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use sums::{COUNT, TIME, sums};

const THREAD_COUNT: u64 = 8;
const BLOCK_COUNT: u32 = 4000;
const STATEMENT_COUNT: usize = 4;

/// A block: its statements, each with the blocks in it. The last one may panic.
struct Tree {
    statements: Vec<(usize, Vec<Tree>)>,
    panics: bool,
}

fn grow(random: &mut Random, room: &mut u32, depth: u32) -> Tree {
    let count = 1 + random.below(3);
    let statement = |random: &mut Random, room: &mut u32| {
        let mut blocks = Vec::new();
        while *room != 0 && depth < 30 && random.below(3) == 0 {
            *room -= 1;
            blocks.push(grow(random, room, depth + 1));
        }
        (random.below(STATEMENT_COUNT as u64) as usize, blocks)
    };
    let statements = (0..count).map(|_| statement(random, room)).collect();
    Tree { statements, panics: random.below(20) == 0 }
}

fn trees(thread: u64) -> Vec<Tree> {
    let mut random = Random::new(thread.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 1);
    let mut room = BLOCK_COUNT;
    std::iter::from_fn(|| {
        room = room.checked_sub(1)?;
        Some(grow(&mut random, &mut room, 0))
    })
    .collect()
}

/// Runs the blocks; a panic leaves the blocks around it up to the next even depth.
fn run(tree: &Tree, depth: u32) {
    let statements = statements!(1 2 3 4);
    let first = tree.statements[0].0;
    let mut block = block(statements, first);
    for (at, (statement, blocks)) in tree.statements.iter().enumerate() {
        if at != 0 {
            block.at(*statement);
        }
        blocks.iter().for_each(|tree| enter(tree, depth + 1));
    }
    if tree.panics {
        resume_unwind(Box::new(()));
    }
}

fn enter(tree: &Tree, depth: u32) {
    if depth.is_multiple_of(2) {
        let _ = catch_unwind(AssertUnwindSafe(|| run(tree, depth)));
    } else {
        run(tree, depth);
    }
}

/// What a statement should have: count, beneath, blocks, direct.
type Row = [u64; 4];

/// Walks the blocks. Returns the statements and blocks that ended in this one, with itself, and
/// whether it panics.
fn walk(tree: &Tree, depth: u32, rows: &mut [Row; STATEMENT_COUNT]) -> (u64, u64, bool) {
    let (mut statements, mut blocks, mut panics) = (0, 1, false);
    for (statement, inner) in &tree.statements {
        let (mut beneath, mut inside, mut direct) = (0, 0, 0);
        for tree in inner {
            let (ended, ended_blocks, panicked) = walk(tree, depth + 1, rows);
            (beneath, inside, direct) = (beneath + ended, inside + ended_blocks, direct + 1);
            if panicked && !(depth + 1).is_multiple_of(2) {
                panics = true;
                break;
            }
        }
        let row = &mut rows[*statement];
        *row = [row[0] + 1, row[1] + beneath, row[2] + inside, row[3] + direct];
        (statements, blocks) = (statements + beneath + 1, blocks + inside);
        if panics {
            break;
        }
    }
    (statements, blocks, panics | tree.panics)
}

fn expected() -> BTreeMap<String, Row> {
    let mut rows = [Row::default(); STATEMENT_COUNT];
    for thread in 0..THREAD_COUNT {
        trees(thread).iter().for_each(|tree| _ = walk(tree, 0, &mut rows));
    }
    rows.iter().enumerate().map(|(at, row)| (format!("run:{}:1", at + 1), *row)).collect()
}

fn what() {
    let threads = (0..THREAD_COUNT).map(|thread| {
        std::thread::spawn(move || {
            trees(thread).iter().for_each(|tree| enter(tree, 0));
        })
    });
    // Flushes come while the rows change.
    let threads: Vec<_> = threads.collect();
    while threads.iter().any(|thread| !thread.is_finished()) {
        telemetry::flush();
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn sums_are_those_of_a_naive_twin() {
    let Some(ran) = ran("sums_are_those_of_a_naive_twin", &[TIME], what) else { return };
    let sums = sums(&ran.log());
    let found = |sum: &sums::Sum| [sum.timed, sum.beneath, sum.blocks, sum.direct];
    let found: BTreeMap<_, _> = sums.iter().map(|(name, sum)| (name.clone(), found(sum))).collect();
    assert_eq!(found, expected());
    for (name, sum) in &sums {
        assert_eq!(sum.count, sum.timed, "{name}");
        assert!(sum.own <= sum.total && sum.shortest <= sum.longest, "{name}: {sum:?}");
        assert!(sum.longest <= sum.total && sum.total <= sum.longest * sum.timed, "{name}");
        // The squares of equal parts are the least.
        let mean = u128::from(sum.total / sum.timed);
        assert!(sum.squares >= mean * mean * u128::from(sum.timed), "{name}");
        assert!(sum.squares <= u128::from(sum.longest) * u128::from(sum.total), "{name}");
    }
    // Each tick is in one own time.
    let own: u64 = sums.values().map(|sum| sum.own).sum();
    assert!(own > 0);
}

#[test]
fn counts_are_those_of_a_naive_twin() {
    let Some(ran) = ran("counts_are_those_of_a_naive_twin", &[COUNT], what) else { return };
    let found: BTreeMap<_, _> =
        sums(&ran.log()).into_iter().map(|(name, sum)| (name, [sum.count, sum.timed])).collect();
    let expected: BTreeMap<_, _> =
        expected().into_iter().map(|(name, row)| (name, [row[0], 0])).collect();
    assert_eq!(found, expected);
}
