//! Counts the words of files, on a heap of its own that tells what it does.
//!
//! ```text
//!  files ─▶ words.rs: a table of words ─▶ pool.rs: letters, counts ─▶ arena.rs: segments
//!              └─ collect.rs: letters that no entry refers to are left behind
//!                                                             events.rs: what is recorded
//! ```
//!
//! ```text
//!  MPS_TELEMETRY_CONTROL=all cargo run -p heap -- FILE…
//!  eventcnv pairs mpsio.log
//! ```
#![forbid(unsafe_code)]

mod arena;
mod collect;
mod events;
mod pool;
mod words;

use std::io::Write;
use std::process::ExitCode;

/// Words that are printed: the most frequent ones.
const PRINTED_COUNT: usize = 20;

fn main() -> ExitCode {
    let files: Vec<String> = std::env::args().skip(1).collect();
    if files.is_empty() {
        eprintln!("usage: heap FILE…    prints the most frequent words of text files");
        return ExitCode::from(2);
    }
    let mut words = words::Words::new();
    let mut code = ExitCode::SUCCESS;
    for (index, file) in files.iter().enumerate() {
        match std::fs::read(file) {
            Ok(text) => words.count_file(index, file, &text),
            Err(error) => {
                eprintln!("{file}: {error}");
                code = ExitCode::FAILURE;
            }
        }
    }
    let mut out = std::io::stdout().lock();
    for (count, word) in words.most_frequent(PRINTED_COUNT) {
        // A closed pipe ends the list, without an error.
        if writeln!(out, "{count:>10} {}", String::from_utf8_lossy(word)).is_err() {
            break;
        }
    }
    words.finish();
    code
}
