//! Random trees of calls in several threads, against a naive twin.
//!
//! ```text
//!  seed ─▶ a tree of calls ─┬─ run ─▶ log ─ pairs by a stack ─▶ (caller, function) ─▶ count
//!                           └─ walked ──────────────────────▶ the same
//! ```
//!
//! T1: counts of calls by caller equal the twin's, and each time lies within its caller's. T2: the
//! caller is the nearest traced function. T22: in many threads at once. Design: `.calls.record` in
//! `design/calls.md`.
#![forbid(unsafe_code)]

mod common;
#[path = "common/random.rs"]
mod random;
#[macro_use]
#[path = "common/spread.rs"]
mod spread;

use calls::traced;
use common::{ON, each, ran, without_crate};
use random::Random;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;

const THREAD_COUNT: u64 = 16;
const CALLS_PER_THREAD: u32 = 3000;

/// A call: its function, the calls that it makes, and how it ends.
struct Tree {
    function: usize,
    calls: Vec<Tree>,
    panics: bool,
}

fn grow(random: &mut Random, room: &mut u32, depth: u32) -> Tree {
    let mut calls = Vec::new();
    while *room != 0 && depth < 20 && random.below(5) < 3 {
        *room -= 1;
        calls.push(grow(random, room, depth + 1));
    }
    let function = random.below(FUNCTIONS.len() as u64) as usize;
    Tree { function, calls, panics: random.below(50) == 0 }
}

/// Returns the trees of a thread.
fn trees(thread: u64) -> Vec<Tree> {
    let mut random = Random::new(thread.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mut room = CALLS_PER_THREAD;
    let mut trees = Vec::new();
    while room != 0 {
        room -= 1;
        trees.push(grow(&mut random, &mut room, 0));
    }
    trees
}

#[traced]
mod played {
    use super::{FUNCTIONS, Tree};

    pub(crate) fn a(tree: &Tree) {
        super::inside(tree);
    }
    pub(crate) fn b(tree: &Tree) {
        super::inside(tree);
    }
    pub(crate) fn c<T: Clone>(tree: &Tree, value: &T) -> T {
        super::inside(tree);
        value.clone()
    }

    /// A call through a pointer.
    pub(crate) fn d(tree: &Tree) {
        tree.calls.iter().for_each(|call| FUNCTIONS[call.function].1(call));
        super::end(tree);
    }
}

/// Not traced: a gap between two functions that are.
fn untraced(tree: &Tree) {
    inside(tree);
}

fn inside(tree: &Tree) {
    for call in &tree.calls {
        let run = || FUNCTIONS[call.function].1(call);
        // The panic of a call ends there.
        let _ = catch_unwind(AssertUnwindSafe(run));
    }
    end(tree);
}

fn end(tree: &Tree) {
    if tree.panics {
        std::panic::resume_unwind(Box::new(()));
    }
}

/// A function with its path in the log.
type Function = (&'static str, fn(&Tree));

/// The functions; the log lacks the last one.
const FUNCTIONS: [Function; 6] = [
    ("played::a", played::a),
    ("played::b", played::b),
    ("played::c", |tree| _ = played::c(tree, &1)),
    ("played::c", |tree| _ = played::c(tree, &"one")),
    ("played::d", played::d),
    ("", untraced),
];

type Edges = BTreeMap<(String, String), u64>;

/// Walks a tree. Returns whether its call panics.
fn walk(tree: &Tree, caller: &str, edges: &mut Edges) -> bool {
    let name = FUNCTIONS[tree.function].0;
    if !name.is_empty() {
        *edges.entry((caller.to_owned(), name.to_owned())).or_default() += 1;
    }
    let caller = if name.is_empty() { caller } else { name };
    for call in &tree.calls {
        // A panic of a call unwinds `d`, which does not catch it.
        if walk(call, caller, edges) && name == "played::d" {
            return true;
        }
    }
    tree.panics
}

/// A call that is open in a thread.
struct Open {
    function: String,
    begin: u64,
    in_calls: u64,
}

#[test]
fn counts_equal_those_of_a_naive_twin() {
    let what = || {
        let threads = (1..=THREAD_COUNT).map(|thread| {
            std::thread::spawn(move || {
                for tree in trees(thread) {
                    let _ = catch_unwind(AssertUnwindSafe(|| FUNCTIONS[tree.function].1(&tree)));
                }
            })
        });
        let threads: Vec<_> = threads.collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    };
    let Some(ran) = ran("counts_equal_those_of_a_naive_twin", &[ON], what) else { return };
    let mut expected = Edges::new();
    for tree in (1..=THREAD_COUNT).flat_map(trees) {
        walk(&tree, "-", &mut expected);
    }
    let (mut found, mut unwound) = (Edges::new(), 0);
    let mut stacks = BTreeMap::<u32, Vec<Open>>::new();
    each(&ran.log(), |event| {
        let name = |param: &str| {
            let value = event.param(param).unwrap().as_u64().unwrap();
            let label = event.labels.label(value);
            label.map_or("-".to_owned(), |label| without_crate(&String::from_utf8_lossy(label)))
        };
        let stack = stacks.entry(event.thread).or_default();
        match event.name() {
            "CallEnter" => {
                let (function, caller) = (name("function"), name("caller"));
                let below = stack.last().map_or("-", |open| &open.function);
                assert_eq!(caller, below, "thread {}", event.thread);
                *found.entry((caller, function.clone())).or_default() += 1;
                stack.push(Open { function, begin: event.ticks, in_calls: 0 });
            }
            "CallLeave" => {
                let open = stack.pop().expect("a CallEnter");
                assert_eq!(open.function, name("function"));
                let time = event.ticks - open.begin;
                assert!(open.in_calls <= time, "calls take no longer than their caller");
                if let Some(caller) = stack.last_mut() {
                    caller.in_calls += time;
                }
            }
            "CallUnwind" => unwound += 1,
            _ => {}
        }
    });
    assert!(stacks.values().all(Vec::is_empty), "calls are open");
    assert_eq!(found, expected);
    assert!(unwound > 100, "{unwound}");
}

/// Makes traced functions, and a list of them.
macro_rules! many {
    ($($name:ident)*) => {
        $(#[traced] fn $name() {})*
        const MANY: &[fn()] = &[$($name),*];
    };
}
many! { f00 f01 f02 f03 f04 f05 f06 f07 f08 f09 f10 f11 f12 f13 f14 f15 f16 f17 f18 f19 f20 f21 }

/// Threads whose first calls race label each function once.
#[test]
fn racing_first_calls_label_each_function_once() {
    const THREADS: usize = 8;
    let what = || {
        let barrier = Barrier::new(THREADS);
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let barrier = &barrier;
                scope.spawn(move || {
                    barrier.wait();
                    MANY.iter().cycle().skip(3 * thread).take(MANY.len()).for_each(|call| call());
                });
            }
        });
    };
    let test = "racing_first_calls_label_each_function_once";
    for _ in 0..10 {
        let Some(ran) = ran(test, &[ON], what) else { return };
        let mut counts = BTreeMap::<u64, usize>::new();
        each(&ran.log(), |event| {
            if event.name() == "Source" {
                *counts.entry(event.param("address").unwrap().as_u64().unwrap()).or_default() += 1;
            }
        });
        assert!(counts.len() > MANY.len());
        assert!(counts.values().all(|count| *count == 1), "{counts:?}");
    }
}

spread! { in_two_files {} }

/// A function whose first and last token are in two files has no size.
#[test]
fn a_function_in_two_files_has_no_size() {
    let Some(ran) = ran("a_function_in_two_files_has_no_size", &[ON], in_two_files) else { return };
    let (file, [.., size]) = &common::sources(&ran.log())["in_two_files"];
    assert!(file.ends_with("spread.rs"), "{file}");
    assert_eq!(*size, 0);
}
