//! The Python reader, written from the format document alone, agrees with the dumper event for
//! event.
//!
//! ```text
//!  log ─┬─▶ tests/reader.py ─▶ lines ─┐
//!       └─▶ eventcnv ───────▶ lines ──┴─▶ the same
//! ```
//!
//! It proves that `design/format.md` is complete: `.req.share`, `.req.port` in
//! `design/telemetry.md`.

use std::fs;
use std::path::Path;
use std::process::Command;
use tests::naive::{self, Platform, Recipe};
use tests::programs::{eventcnv, recording, root, run, system};

const LINES_MAX: usize = 210;

/// Returns a reader's output and exit code. Python loses the sign of a NaN.
fn output(command: &mut Command) -> (Vec<String>, Option<i32>) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = String::from_utf8_lossy(&output.stdout).replace(" -NAN", " NAN");
    (text.lines().map(str::to_owned).collect(), output.status.code())
}

fn python(log: &Path) -> (Vec<String>, Option<i32>) {
    output(system("python3").arg(root().join("tests/reader.py")).arg(log))
}

/// Checks that both readers give the same events; `event_count` checks their number.
fn agree(what: &str, log: &Path, event_count: impl FnOnce(usize) -> bool) {
    let (theirs, their_code) = python(log);
    let (ours, our_code) = output(eventcnv().arg(log));
    for (line, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        assert_eq!(ours, theirs, "{what}: event {line}: eventcnv, Python");
    }
    assert_eq!(ours.len(), theirs.len(), "{what}: number of events");
    assert_eq!(our_code, their_code, "{what}: exit code");
    assert!(event_count(ours.len()), "{what}: {} events", ours.len());
}

#[test]
fn the_python_reader_needs_210_lines_and_no_package() {
    let text = fs::read_to_string(root().join("tests/reader.py")).expect("the reader exists");
    assert!(text.lines().count() <= LINES_MAX, "{} lines", text.lines().count());
    let imports: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("import ") || line.starts_with("from "))
        .collect();
    let of_python = [
        "import re, struct, sys",
        "from collections import Counter, namedtuple",
        "from struct import calcsize, unpack_from",
    ];
    assert_eq!(imports, of_python);
}

/// `.order.header`, `.event.order`, `.header.word`, `.event.base`, `.part.events`,
/// `.event.identity`
#[test]
fn the_python_reader_agrees_on_streams_of_any_platform() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("naive.log");
    for seed in 0..16 {
        let platform = Platform {
            big_endian: seed & 1 != 0,
            word_size: if seed & 2 != 0 { 4 } else { 8 },
            block_size_log2: 12 + (seed / 4) as u32 % 3,
        };
        let recipe = Recipe {
            seed,
            platform,
            buffers: 1 + seed as u32 % 5,
            events: 600,
            with_copies: seed & 4 != 0,
            is_shuffled: seed & 8 != 0,
            stream: 0,
        };
        let (writer, recorded) = naive::write(recipe);
        fs::write(&log, writer.bytes()).expect("the log can be written");
        agree(&format!("{recipe:?}"), &log, |count| count == recorded.len());
    }
}

/// `.cut.numbers`
#[test]
fn the_python_reader_agrees_on_a_cut_with_missing_numbers() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let [log, part, rest] = ["log", "part", "rest"].map(|name| directory.path().join(name));
    for seed in 0..4 {
        let platform = Platform {
            big_endian: seed & 1 != 0,
            word_size: if seed & 2 != 0 { 4 } else { 8 },
            block_size_log2: 12,
        };
        let (with_copies, is_shuffled) = (true, false);
        let recipe =
            Recipe { seed, platform, buffers: 2, events: 600, with_copies, is_shuffled, stream: 0 };
        fs::write(&log, naive::write(recipe).0.bytes()).expect("the log can be written");
        for (choice, out) in [("@number != 7 and @ticks != 0", &part), ("@number < 50", &rest)] {
            run(eventcnv().args(["cut", "--force", "--where", choice, "-o"]).arg(out).arg(&log));
        }
        agree("a cut", &part, |count| count > 500);
        let both = [&part, &rest].map(|path| fs::read(path).expect("a file")).concat();
        fs::write(&log, both).expect("the log can be written");
        agree("two cuts of one log", &log, |count| count > 500);
    }
}

/// `.stream.again`, `.event.identity`
#[test]
fn the_python_reader_agrees_on_logs_one_after_the_other() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("two.log");
    let platform = Platform { big_endian: false, word_size: 8, block_size_log2: 12 };
    let bytes: Vec<Vec<u8>> = [1, 2]
        .map(|seed| Recipe {
            seed,
            platform,
            buffers: 3,
            events: 300,
            with_copies: true,
            is_shuffled: false,
            stream: 0,
        })
        .map(|recipe| naive::write(recipe).0.bytes())
        .into();
    fs::write(&log, bytes.concat()).expect("the log can be written");
    agree("two streams", &log, |count| count == 600);
    fs::write(&log, [&*bytes[0], &*bytes[1], &*bytes[0]].concat()).expect("the log can be written");
    agree("two streams, and one again", &log, |count| count == 600);
}

/// `.read.sealed`, `.parts.sealed`, `.read.header-damage`, `.stream.tail`, `.stream.hole`
#[test]
fn the_python_reader_agrees_on_damaged_streams() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("damaged.log");
    let platform = Platform { big_endian: false, word_size: 8, block_size_log2: 12 };
    for with_copies in [false, true] {
        let recipe = Recipe {
            seed: 5,
            platform,
            buffers: 2,
            events: 400,
            with_copies,
            is_shuffled: false,
            stream: 0,
        };
        let sound = naive::write(recipe).0.bytes();
        for step in 1..24 {
            let place = sound.len() * step / 24;
            fs::write(&log, &sound[..place]).expect("the log can be written");
            agree(&format!("cut at {place}"), &log, |_| true);
            // If copies differ, a reader may give either.
            if !with_copies {
                let mut flipped = sound.clone();
                flipped[place] ^= 0x55;
                fs::write(&log, &flipped).expect("the log can be written");
                agree(&format!("byte {place} flipped"), &log, |_| true);
            }
        }
        let mut holed = sound.clone();
        holed[4096..8192].fill(0);
        fs::write(&log, &holed).expect("the log can be written");
        agree("a hole", &log, |_| true);
        // An open block that is cut, and a log behind it.
        let is_sealed = |at: &usize| sound[at + 4..at + 6] == [1, sound[at + 5] | 1];
        let block = (4096..sound.len()).step_by(4096).find(is_sealed);
        let block = block.expect("a sealed block");
        let mut cut = sound[..block + 4000].to_vec();
        cut[block + 5] &= !1;
        let behind = naive::write(Recipe { seed: 6, ..recipe }).0.bytes();
        fs::write(&log, [cut, behind].concat()).expect("the log can be written");
        agree("a log in an open block", &log, |_| true);
    }
}

/// `.write.publish`, `.write.seal`, `.part.registry`, `.store.intern`
#[test]
fn the_python_reader_agrees_on_recorded_logs() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("mpsio.log");
    let cases = [("kinds", 11), ("sorts", 44), ("threads 4 20000", 80_004)];
    for (words, events) in cases {
        let recorder = Command::new(env!("CARGO_BIN_EXE_recorder"));
        run(recording(recorder, "all", &log).args(words.split(' ')));
        agree(words, &log, |count| count == events);
    }
}
