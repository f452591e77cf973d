//! Compressed cores and logs, as the system leaves them: read like those that the real tools
//! decompress.
//!
//! ```text
//!  core ── gzip │ xz │ zstd │ lz4 ──▶ whole │ cut ── eventcnv ──▶ events = those of tool -dc
//! ```
//!
//! Rules: `.dumper` in `design/telemetry.md`.

use super::{Place, Read, crasher, read};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tests::programs::{eventcnv, lines, root, run, system};

/// The tools, with options that make other frames: blocks that lean on each other, a long window.
const TOOLS: [&[&str]; 6] = [
    &["gzip"],
    &["xz", "-1"],
    &["zstd", "-q"],
    &["zstd", "-q", "--long=27"],
    &["lz4", "-q"],
    &["lz4", "-q", "-BD", "-B4"],
];

/// Compresses a file by a tool.
fn packed(words: &[&str], file: &Path, name: &str) -> PathBuf {
    let path = file.with_file_name(name);
    let output = run(system(words[0]).args(&words[1..]).arg("-c").arg(file));
    fs::write(&path, output.stdout).expect("a writable file");
    path
}

/// Decompresses a file by its tool, as far as the tool reads it.
fn unpacked(tool: &str, file: &Path) -> PathBuf {
    let path = file.with_extension("plain");
    let from = fs::File::open(file).expect("a file");
    let output = system(tool).arg("-dc").stdin(from).stderr(Stdio::null()).output();
    fs::write(&path, output.expect("a process").stdout).expect("a writable file");
    path
}

fn count(read: &Read) -> usize {
    read.values().flat_map(|kinds| kinds.values()).map(Vec::len).sum()
}

#[test]
fn a_compressed_core_gives_the_events_of_the_core() {
    let place = Place::new();
    let core = place.die(&crasher(), &["5000"], "");
    let (whole, _, errors) = read(&[&core]);
    assert!(count(&whole) > 0);
    let said = errors.split_once(": core of ").expect("a core").1;
    for (at, words) in TOOLS.into_iter().enumerate() {
        let name = format!("packed-{at}");
        let (found, code, errors) = read(&[&packed(words, &core, &name)]);
        assert_eq!((code, found == whole), (0, true), "{words:?}: {errors}");
        assert!(errors.contains(&format!("{name}: core of {said}")), "{words:?}: {errors}");
    }
}

#[test]
fn a_cut_compressed_core_gives_what_precedes_the_cut() {
    let place = Place::new();
    let core = place.die(&crasher(), &["20000"], "");
    for (at, words) in TOOLS.into_iter().enumerate() {
        let file = packed(words, &core, &format!("cut-{at}"));
        let bytes = fs::read(&file).expect("a file");
        fs::write(&file, &bytes[..bytes.len() / 20 * 19]).expect("a writable file");
        let (found, code, errors) = read(&[&file]);
        assert_eq!(code, 1, "{words:?}: {errors}");
        assert!(errors.contains("was not read to its end (it is cut)"), "{words:?}: {errors}");
        assert!(errors.contains("died of SIGSEGV in thread "), "{words:?}: {errors}");
        let by_tool = read(&[&unpacked(words[0], &file)]).0;
        assert!(count(&found) >= count(&by_tool) && count(&found) > 0, "{words:?}: {errors}");
    }
}

/// Frames of several tools, one after the other, after a frame without data.
#[test]
fn a_file_of_several_frames_is_read_to_its_end() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = |name: &str| directory.path().join(name);
    let log = root().join("tests/golden/log/heap.log");
    let bytes = fs::read(&log).expect("a log");
    let mut all = b"\x50\x2A\x4D\x18\x03\0\0\0abc".to_vec();
    // A stream of xz goes on to the end of its file.
    let tools = [TOOLS[0], TOOLS[2], TOOLS[4], TOOLS[5], TOOLS[3], TOOLS[1]];
    for (piece, words) in bytes.chunks(bytes.len().div_ceil(tools.len())).zip(tools) {
        fs::write(path("piece"), piece).expect("a writable file");
        all.extend(fs::read(packed(words, &path("piece"), "frame")).expect("a file"));
    }
    fs::write(path("frames"), &all).expect("a writable file");
    let expected = lines(eventcnv().arg(&log));
    assert!(lines(eventcnv().arg(path("frames"))) == expected && expected.len() > 1000);
    let file = fs::File::open(path("frames")).expect("a file");
    assert!(lines(eventcnv().arg("-").stdin(file)) == expected, "standard input");
}

/// A frame of lz4 that is cut between two of its blocks.
#[test]
fn a_frame_that_is_cut_between_blocks_is_reported() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("log");
    let mut bytes = fs::read(root().join("tests/golden/log/heap-2.log")).expect("a log");
    bytes.resize(bytes.len().next_multiple_of(1 << 16), 0);
    fs::write(&log, bytes).expect("a writable file");
    let file = packed(&["lz4", "-q", "-B4"], &log, "log.lz4");
    let bytes = fs::read(&file).expect("a file");
    // Magic, flags, sizes, checksum: 7 bytes. Each block begins with its size.
    let size = u32::from_le_bytes(bytes[7..11].try_into().expect("four bytes"));
    fs::write(&file, &bytes[..11 + size as usize]).expect("a writable file");
    let output = eventcnv().arg(&file).output().expect("a process");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("log.lz4: the compressed file was not read to its end (it is cut)"));
}
