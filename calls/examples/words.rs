//! Counts the words, lines and numbers of its input, and records the path of each line.
//!
//! ```text
//!  lines of text ─▶ words, numbers; `#[calls::path]`: the branches that each line took ─▶ log
//! ```
//!
//! `MPS_TELEMETRY_CONTROL=all words < FILE`, then `eventcnv paths walk mpsio.log`.

use std::io::{self, BufRead};

#[derive(Debug, Default)]
struct Counts {
    lines: u32,
    words: u32,
    numbers: u64,
}

#[calls::path]
fn number(word: &str) -> Option<u64> {
    let first = word.chars().next()?;
    if !first.is_ascii_digit() {
        return None;
    }
    word.parse().ok()
}

#[calls::path]
fn line(text: &str, counts: &mut Counts) {
    counts.lines += 1;
    for word in text.split_whitespace() {
        counts.words += 1;
        match number(word) {
            Some(0) => break,
            Some(value) if value % 2 == 0 => counts.numbers += value,
            Some(_) | None => {}
        }
    }
}

fn main() -> io::Result<()> {
    let mut counts = Counts::default();
    for text in io::stdin().lock().lines() {
        line(&text?, &mut counts);
    }
    println!("{counts:?}");
    Ok(())
}
