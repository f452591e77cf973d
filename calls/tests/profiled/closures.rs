//! Closures: what they capture and how, their traits, their sizes.
//@ editions: 2018 2021 2024
#![deny(warnings)]
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::mem::size_of_val;

fn copied<F: Fn(u32) -> u32 + Copy + Send + Sync + 'static>(function: F) -> F {
    function
}

fn cloned<F: FnOnce() -> T + Clone, T>(function: F) -> (T, T) {
    (function.clone()(), function())
}

#[cfg_attr(profiled, calls::profiled)]
mod code {
    use super::{copied, cloned, size_of_val, BTreeMap, Debug};

    pub struct Pair {
        pub left: String,
        pub right: Vec<u32>,
    }

    pub fn captures(mut pair: Pair) -> (usize, usize) {
        let by_reference = || pair.right.len();
        let size = size_of_val(&by_reference);
        let mut by_mutable = || pair.right.push(1);
        by_mutable();
        by_mutable();
        let moved = move || pair.left;
        (size, size_of_val(&moved) + moved().len())
    }

    pub fn traits() -> u32 {
        let three = 3;
        let once = copied(move |x| x + three);
        let pointer: fn(u32) -> u32 = |x| x * 2;
        let (one, two) = cloned(|| Some(4)).0.map_or((0, 0), |x| (x, x + 1));
        once(1) + once(2) + pointer(5) + one + two
    }

    pub fn makers(base: u32) -> (impl Fn(u32) -> u32 + Clone, Box<dyn FnMut() -> u32>) {
        let mut count = base;
        (
            move |x| base + x,
            Box::new(move || {
                count += 1;
                count
            }),
        )
    }

    pub fn nested() -> Vec<u32> {
        let table = vec![vec![1, 2], vec![3]];
        let scale = 10;
        let mut seen = 0;
        let mut all: Vec<u32> = table
            .iter()
            .flat_map(|row| row.iter().map(move |cell| cell * scale))
            .inspect(|_| seen += 1)
            .collect();
        all.sort_by(|a, b| b.cmp(a).then_with(|| a.cmp(b)));
        all.push(seen);
        all
    }

    pub fn borrowed<'a>(texts: &'a [String], pick: impl Fn(&'a [String]) -> &'a str) -> &'a str {
        let get = |at: usize| -> &'a str { &texts[at] };
        let wrap = |text: &str| text.len();
        if wrap(pick(texts)) > 1 { get(1) } else { pick(texts) }
    }

    pub fn diverging(value: Option<u32>) -> u32 {
        let never = || panic!("none");
        let infinite = |go: bool| loop {
            if go {
                break 7;
            }
        };
        let _: fn() -> u32 = || unreachable!();
        let unit = |_: u32| ();
        unit(infinite(true));
        value.unwrap_or_else(|| if false { never() } else { 5 })
    }

    pub fn ranges() -> usize {
        let make = |to| 0..to;
        let all = || ..;
        let half = |from: usize| from..;
        let _: std::ops::RangeFull = all();
        make(3).len() + half(2).take(2).count()
    }

    pub fn statements(x: i32) -> i32 {
        let sum = |y| if y > 0 { 1 } else { 2 } + match y { 0 => 1, _ => 2 };
        let block = |y| unsafe_free(y) - { y } - if y == 1 { 1 } else { 0 };
        let not = |y: bool| !y;
        let cast = |y: i32| y as u8 as char;
        let structure = |left: &str| Pair { left: left.to_owned(), right: vec![] };
        let tuple = |y| (y, [y; 2], &[1, 2, 3][1..]);
        println!("{:?} {} {}", tuple(x), structure("l").left, cast(65));
        println!("{}", structure("l").right.len());
        if not(x > 0) { sum(x) } else { block(x) }
    }

    fn unsafe_free(y: i32) -> i32 {
        y * 100
    }

    pub fn recursive(n: u64) -> u64 {
        fn fix(f: &dyn Fn(&dyn Fn(u64) -> u64, u64) -> u64, n: u64) -> u64 {
            f(&|m| fix(f, m), n)
        }
        fix(&|again, n| if n < 2 { n } else { again(n - 1) + again(n - 2) }, n)
    }

    pub fn generic<T: Debug + Ord + Clone, const N: usize>(values: [T; N]) -> String {
        let mut counts = BTreeMap::new();
        values.iter().cloned().for_each(|value| *counts.entry(value).or_insert(0) += 1);
        counts.iter().map(|(value, count)| format!("{:?}{}", value, count)).collect()
    }

    pub fn caller() -> u32 {
        #[track_caller]
        fn line() -> u32 {
            std::panic::Location::caller().line()
        }
        let all = [line(), (|| line())(), Some(()).map(|()| line()).unwrap_or(0)];
        all.iter().fold(0, |sum, line| sum * 1000 + line)
    }

    pub fn once(name: String) -> Result<String, std::num::ParseIntError> {
        let parse = |text: &str| -> Result<u32, _> { Ok(text.parse::<u32>()? + 1) };
        let parse_short = |text: &str| text.parse::<u32>().map(|x| x + 1);
        let consumed = || name;
        Ok(format!("{} {} {}", parse("1")?, parse_short("2")?, consumed()))
    }
}

fn main() {
    let pair = || code::Pair { left: "left".to_owned(), right: vec![1] };
    println!("{:?} {}", code::captures(pair()), code::traits());
    let (add, mut count) = code::makers(3);
    println!("{} {} {} {}", add.clone()(1), count(), count(), size_of_val(&add));
    println!("{:?}", code::nested());
    let texts = ["one".to_owned(), "two".to_owned()];
    println!("{}", code::borrowed(&texts, |texts| &texts[0]));
    println!("{} {}", code::diverging(None), code::ranges());
    println!("{} {} {}", code::statements(1), code::statements(0), code::statements(-3));
    println!("{} {}", code::recursive(12), code::generic([3, 1, 3]));
    println!("{} {:?}", code::caller(), code::once("name".to_owned()));
}
