//! Forms of functions, threads, and macros that hide a jump.

use super::{Call, compile, library_arguments, walked};
use lens_paths::marked::ThreadWalked;
use std::process::Command;
use tests::programs::{lines, recording};

/// Runs a program. Returns the calls of its log, without the lines of their ways.
fn ran(text: &str) -> (Vec<Call>, Vec<ThreadWalked>) {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), text, &library_arguments());
    let log = folder.path().join("own.log");
    lines(&mut recording(Command::new(program), "all", &log));
    let (mut calls, threads) = walked(&log);
    for call in &mut calls {
        for way in &mut call.ways {
            *way = way.split_once(' ').unwrap().1.to_owned();
        }
    }
    (calls, threads)
}

/// Returns the function and the ways of each call, as one line.
fn told(calls: &[Call]) -> Vec<String> {
    calls.iter().map(|call| format!("{}: {}", call.function, call.ways.join(", "))).collect()
}

const FORMS: &str = r#"
#![allow(dead_code)]
use std::fmt::Debug;

mod shop {
    #[calls::path]
    pub mod inner {
        pub fn generic<T: std::fmt::Debug>(value: Option<T>) -> Result<String, ()> {
            let Some(value) = value else { return Err(()) };
            Ok(format!("{value:?}"))
        }

        pub const fn constant(value: u32) -> u32 {
            if value > 3 { 1 } else { 2 }
        }

        #[calls::path(skip)]
        pub fn skipped(value: u32) -> u32 {
            if value > 3 { 1 } else { 2 }
        }
    }
}

struct Cart(Vec<u32>);

#[calls::traced]
#[calls::path]
impl Cart {
    fn total(&mut self) -> u32 {
        let mut sum = 0;
        for price in &self.0 {
            sum += price;
        }
        sum
    }
}

trait Shown: Debug {
    #[calls::path]
    fn shown(&self, long: bool) -> String {
        if long { format!("{self:#?}") } else { format!("{self:?}") }
    }
}

impl Shown for u32 {}

#[calls::profiled]
#[calls::path]
fn both(value: u32) -> u32 {
    if value > 3 { 1 } else { 2 }
}

#[calls::path]
#[calls::traced]
extern "C" fn other(value: u32) -> u32 {
    if value > 3 { 1 } else { 2 }
}

#[calls::path]
fn factorial(number: u64) -> u64 {
    if number < 2 { 1 } else { number * apart(&|| factorial(number - 1)) }
}

/// Has no attribute.
fn apart(call: &dyn Fn() -> u64) -> u64 {
    call()
}

#[calls::path]
fn dropping(last: bool) {
    struct Own;
    impl Drop for Own {
        fn drop(&mut self) {
            both(5);
        }
    }
    let _own = Own;
    if last { return }
    both(1);
}

fn main() {
    assert_eq!(shop::inner::generic(Some(3)), Ok("3".to_owned()));
    assert_eq!(shop::inner::generic(None::<u8>), Err(()));
    assert_eq!(shop::inner::constant(4) + shop::inner::skipped(4), 2);
    assert_eq!(Cart(vec![1, 2]).total(), 3);
    assert_eq!(7u32.shown(false), "7");
    assert_eq!(both(4) + other(2), 3);
    assert_eq!(factorial(3), 6);
    dropping(false);
    dropping(true);
}
"#;

#[test]
fn every_form_of_a_function_has_its_path() {
    let (calls, threads) = ran(FORMS);
    let expected = [
        "generic: matched",
        "generic: else",
        "total: body, body, after",
        "shown: else",
        "both: then",
        "other: else",
        "factorial: else",
        "factorial: else",
        "factorial: then",
        "dropping: else",
        "both: else",
        "both: then",
        "dropping: then",
        "both: then",
    ];
    assert_eq!(told(&calls), expected);
    assert!(calls.iter().all(|call| call.is_whole));
    assert!(threads.iter().all(|own| own.walked.is_whole));
}

const THREADS: &str = r#"
#[calls::path]
fn count(bound: u32) -> u32 {
    let mut count = 0;
    while count < bound {
        count += 1;
    }
    count
}

fn main() {
    let own = |bound| std::thread::spawn(move || (0..200).map(|_| count(bound)).sum::<u32>());
    let threads: Vec<_> = (1..5).map(own).collect();
    let sum: u32 = threads.into_iter().map(|own| own.join().unwrap()).sum();
    assert_eq!(sum, 2_000);
}
"#;

#[test]
fn each_thread_has_its_own_path() {
    let (mut calls, threads) = ran(THREADS);
    assert_eq!((calls.len(), threads.len()), (800, 4));
    assert!(threads.iter().all(|own| own.walked.is_whole && own.calls == 200));
    // The order of the threads is their own.
    for own in calls.chunks(200) {
        assert!(own.iter().all(|call| *call == own[0]));
    }
    calls.sort_by_key(|call| call.ways.len());
    let counts: Vec<usize> = calls.chunks(200).map(|own| own[0].ways.len() - 1).collect();
    assert_eq!(counts, [1, 2, 3, 4]);
}

const HIDDEN: &str = r#"
macro_rules! hidden {
    ($holds:expr, $jump:stmt) => {
        if $holds {
            $jump
        }
    };
}

macro_rules! leave {
    ($holds:expr) => {
        hidden!($holds, return 7)
    };
}

macro_rules! next {
    ($holds:expr) => {
        hidden!($holds, continue)
    };
}

macro_rules! quit {
    ($holds:expr) => {
        hidden!($holds, break)
    };
}

#[calls::path]
fn leaving(holds: bool) -> u32 {
    leave!(holds);
    if holds { 1 } else { 2 }
}

#[calls::path]
fn continuing() -> u32 {
    let mut sum = 0;
    for number in 0..4 {
        if number == 1 { sum += 1; }
        next!(number == 2);
        if number == 2 { sum += 10; }
    }
    sum
}

#[calls::path]
fn breaking() -> u32 {
    let mut sum = 0;
    for number in 0..4 {
        quit!(number == 2);
        sum += 1;
    }
    if sum == 2 { 3 } else { 4 }
}

fn main() {
    assert_eq!(leaving(true) + leaving(false), 9);
    assert_eq!(continuing(), 1);
    assert_eq!(breaking(), 3);
}
"#;

#[test]
fn a_jump_that_a_macro_hides_is_never_a_wrong_path() {
    let (calls, threads) = ran(HIDDEN);
    let told = told(&calls);
    // A hidden return is a way of the graph.
    assert_eq!(told[..2], ["leaving: ", "leaving: after the macro, else"]);
    assert!(calls[0].is_whole && calls[1].is_whole);
    // What each turn did is told up to the macro; then the path is unknown, and goes on.
    let turn = "body, else, before the macro, after the macro, else";
    assert!(told[2].starts_with(&format!("continuing: {turn}")), "{}", told[2]);
    let count = |call: &str, way: &str| call.matches(way).count();
    assert_eq!(count(&told[2], "after the macro"), 3);
    assert!(count(&told[2], "before the macro") <= 4);
    assert_eq!(count(&told[3], "after the macro"), 2);
    assert!(count(&told[3], "before the macro") <= 3);
    let [thread] = &threads[..] else { panic!("one thread") };
    assert!(!thread.walked.is_whole);
    assert_eq!(thread.walked.unknown, 2, "{thread:?}");
    assert_eq!(thread.differences.len(), 2);
}
