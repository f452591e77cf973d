//! Counts the words of a text. Its MIR is words.mir.gz; the graph of `kind` is kind.dot.gz.
//!
//! rustc 1.97.0-nightly (e50aa6fba) --edition 2021 --emit=mir -Z dump-mir='kind & optimized'
//! -Z dump-mir-graphviz words.rs

use std::collections::BTreeMap;

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '\''
}

pub fn count(text: &str) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    let mut word = String::new();
    for c in text.chars().chain([' ']) {
        if is_word(c) {
            word.push(c);
        } else if !word.is_empty() {
            *counts.entry(std::mem::take(&mut word)).or_insert(0) += 1;
        }
    }
    counts
}

pub fn kind(n: u8) -> u32 {
    match n {
        0 => 7,
        1..=9 if n % 2 == 1 => 8,
        10 | 20 | 30 => 9,
        _ => {
            let mut sum = 0;
            let mut left = n;
            while left > 3 {
                sum += u32::from(left);
                left /= 2;
            }
            sum
        }
    }
}

fn main() {
    for (word, n) in count("a b a") {
        println!("{word} {n} {}", kind(n as u8));
    }
}
