//! The tool prints the beginning of a log before it reads the rest.
//!
//! ```text
//!  │ log │ log │ log │ damage │ log │ …    stretch by stretch ─┐
//!                                          as a whole ─────────┴─ the same
//!  │ log │ log │ … │ a hole of 256 GiB     the first line, at once
//! ```

mod support;

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};
use support::{eventcnv, mps, run};

/// Returns joined streams of the MPS, more than the tool reads before it prints the first line.
fn streams() -> Vec<u8> {
    let log = |name: &str| fs::read(mps(name)).unwrap();
    [log("amcss-arena-pool-trace.log"), log("mpmss-cut.log"), log("labels.log")].concat().repeat(20)
}

/// `.cnv.speed`: with `--from`, the tool reads the log as a whole.
#[test]
fn stretches_print_the_same_as_the_whole_log() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("streams.log");
    let name = path.to_str().unwrap();
    let whole = streams();
    let damaged = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at..at + 3000].fill(0x5A);
        bytes
    };
    let other = fs::read(mps("mpmss-32bit-cut.log")).unwrap();
    let logs = [
        damaged(4 << 20),
        damaged(whole.len() - 3000),
        [whole.as_slice(), &other, &whole[..1 << 20]].concat(),
    ];
    for (index, bytes) in logs.iter().enumerate() {
        assert!(bytes.len() > 5 << 20);
        fs::write(&path, bytes).unwrap();
        for args in [["-v", "--order=file"], ["-vv", "--order=time"], ["--style=json", "-v"]] {
            let found = run(&[&args[..], &[name]].concat());
            let expected = run(&[&args[..], &["--from", "0x0", name]].concat());
            assert!(found.0.len() > 1 << 20, "log {index}: {args:?}");
            assert_eq!((found.1, &found.2), (expected.1, &expected.2), "log {index}: {args:?}");
            assert!(found.0 == expected.0, "log {index}: {args:?}");
        }
    }
}

/// `.cnv.speed`: a walk over the rest would take minutes.
#[test]
fn the_first_line_does_not_wait_for_the_rest() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("long.log");
    let mut file = File::create(&path).unwrap();
    file.write_all(&streams()).unwrap();
    file.set_len(1 << 38).unwrap();
    for args in [["-v"].as_slice(), &["-vv"], &["--order=file"], &["--style=json"]] {
        let begin = Instant::now();
        let mut command = eventcnv(args);
        command.arg(&path).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut first = String::new();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        lines.read_line(&mut first).unwrap();
        // `head -1` closes the pipe too.
        drop(lines);
        let output = child.wait_with_output().unwrap();
        assert!(first.ends_with('\n') && first.len() > 20, "{args:?}: {first}");
        assert!(begin.elapsed() < Duration::from_secs(20), "{args:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
    }
}
