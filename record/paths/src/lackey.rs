//! The truth on large inputs: the instructions that valgrind's lackey prints.
//!
//! ```text
//!  valgrind --tool=lackey --trace-mem=yes ─▶ a pipe: "I  04001090,3" … ─▶ blocks
//! ```
//!
//! Design: `.collect.truth` in `design/collect.md`.

use crate::CollectError;
use crate::follow::{Follower, Step};
use crate::launch::{Launch, Outputs};
use iced_x86::{Decoder, DecoderOptions};
use lens_paths::binary::Chart;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader};

/// Instructions after the first one that must have their sizes, to know where the image lies.
const SAMPLE: usize = 6;
const PAGE_MASK: u64 = 0xfff;

/// Runs a program under valgrind, and returns its path from the root to the root's return.
///
/// `entry` is the address of the file's first instruction, and `code` the bytes from there.
///
/// # Errors
///
/// Valgrind cannot be run, or did not run the program.
pub fn lackey(
    launch: &Launch,
    chart: &Chart,
    entry: u64,
    code: &[u8],
) -> Result<Vec<Step>, CollectError> {
    let folder = tempfile::tempdir().map_err(CollectError::Valgrind)?;
    let pipe = folder.path().join("lackey");
    mkfifo(&pipe, Mode::S_IRUSR | Mode::S_IWUSR)?;
    let file = || tempfile::tempfile().map_err(CollectError::Valgrind);
    let outputs = Outputs { out: file()?, errors: file()? };
    let mut log = OsString::from("--log-file=");
    log.push(&pipe);
    // Chasing branches, valgrind runs ahead what follows a condition, and prints that.
    let words = [
        "valgrind",
        "--tool=lackey",
        "--trace-mem=yes",
        "--basic-counts=no",
        "--vex-guest-chase=no",
        "--child-silent-after-fork=yes",
    ];
    let words: Vec<OsString> = words.into_iter().map(OsString::from).chain([log]).collect();
    let mut child = launch.command(&words, &outputs)?.spawn().map_err(CollectError::Valgrind)?;
    let read = File::open(&pipe).map_err(CollectError::Valgrind);
    let mut follower = Follower::new(chart);
    let result = read.and_then(|file| {
        follow(BufReader::with_capacity(1 << 16, file), entry, code, &mut follower)
    });
    if follower.is_over || result.is_err() {
        // The rest is not asked for.
        let _ = child.kill();
    }
    child.wait().map_err(CollectError::Valgrind)?;
    result?;
    if follower.path.is_empty() {
        return Err(CollectError::Lackey("the program did not reach the first function".into()));
    }
    Ok(follower.path)
}

/// Returns the sizes of the first instructions of the image.
fn sample(entry: u64, code: &[u8]) -> Vec<(u64, u64)> {
    let decoder = Decoder::with_ip(64, code, entry, DecoderOptions::NONE);
    decoder.into_iter().take(SAMPLE).map(|one| (one.ip() - entry, one.len() as u64)).collect()
}

fn follow(
    mut lines: impl BufRead,
    entry: u64,
    code: &[u8],
    follower: &mut Follower<'_>,
) -> Result<(), CollectError> {
    let sample = sample(entry, code);
    let mut recent: Vec<(u64, u64)> = Vec::new();
    let mut bias = None;
    let mut line = Vec::new();
    while !follower.is_over {
        line.clear();
        if lines.read_until(b'\n', &mut line).map_err(CollectError::Valgrind)? == 0 {
            break;
        }
        let Some((at, size)) = instruction(&line) else { continue };
        match bias {
            Some(bias) => follower.take(at.wrapping_sub(bias)),
            None => {
                recent.push((at, size));
                if recent.len() > SAMPLE {
                    recent.remove(0);
                }
                bias = bias_of(&recent, &sample, entry);
            }
        }
    }
    Ok(())
}

/// Returns where the image lies, once the last instructions are the first ones of the image.
fn bias_of(recent: &[(u64, u64)], sample: &[(u64, u64)], entry: u64) -> Option<u64> {
    let first = recent.first()?.0;
    let is_same = recent.len() == sample.len()
        && recent.iter().zip(sample).all(|(one, own)| (one.0.wrapping_sub(first), one.1) == *own);
    (is_same && (first ^ entry) & PAGE_MASK == 0).then(|| first.wrapping_sub(entry))
}

fn instruction(line: &[u8]) -> Option<(u64, u64)> {
    let text = std::str::from_utf8(line).ok()?.strip_prefix("I ")?.trim();
    let (at, size) = text.split_once(',')?;
    Some((u64::from_str_radix(at, 16).ok()?, size.parse().ok()?))
}
