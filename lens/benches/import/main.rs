//! How fast imports are, next to `perf script` of the same perf.data.
//!
//! ```text
//!  cargo bench -p mps-lens --bench import [-- FILE…]
//! ```
//!
//! Without files it takes the recordings of the tests, each repeated until it has a million events.
//! A row: source, events, best of 5 in million events a second, MB of log.

use flate2::read::GzDecoder;
use lens::waits::source::import::{Form, Imported, uuid_of_source};
use lens::waits::source::{dat, perf, script};
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Instant;

const EVENT_COUNT: u64 = 1_000_000;
const RUN_COUNT: usize = 5;
/// Where a perf.data says where its records are, and how many bytes they have.
const RECORDS_AT: usize = 40;

fn main() {
    let files: Vec<String> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    for file in &files {
        measure(file, &std::fs::read(file).expect("the file can be read"));
    }
    if files.is_empty() {
        for name in ["load.perf.data", "load-g.perf.data", "load.default.txt", "load-g.default.txt"]
        {
            measure(name, &repeated(name));
        }
        let dat = golden("load.6.dat");
        measure("load.6.dat, short", &dat);
    }
}

fn golden(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/golden/{name}.gz", env!("CARGO_MANIFEST_DIR"));
    let mut bytes = Vec::new();
    let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    GzDecoder::new(file).read_to_end(&mut bytes).expect("the fixture is sound");
    bytes
}

fn import(bytes: &[u8]) -> Imported {
    let bytes = &bytes;
    let uuid = uuid_of_source(bytes).expect("memory can be read");
    let mut log = std::io::sink();
    let done = match Form::of(bytes) {
        Some(Form::Perf) => perf::import(bytes, uuid.into(), &mut log),
        Some(Form::Dat) => dat::import(bytes, uuid.into(), &mut log),
        _ => script::import(bytes, uuid.into(), &mut log),
    };
    done.expect("the source is sound")
}

/// Returns a fixture whose events are repeated.
fn repeated(name: &str) -> Vec<u8> {
    let bytes = golden(name);
    let count = EVENT_COUNT.div_ceil(import(&bytes).known_count) as usize;
    if name.ends_with(".txt") {
        return bytes.repeat(count);
    }
    let word = |at: usize| {
        let bytes = bytes[at..at + 8].try_into().expect("8 bytes");
        u64::from_le_bytes(bytes) as usize
    };
    let (from, size) = (word(RECORDS_AT), word(RECORDS_AT + 8));
    let (head, rest) = bytes.split_at(from);
    let (records, after) = rest.split_at(size);
    let added = (size * (count - 1)) as u64;
    let mut long = [head, &records.repeat(count)].concat();
    long[RECORDS_AT + 8..RECORDS_AT + 16].copy_from_slice(&((size * count) as u64).to_le_bytes());
    // The places of the features move: the table ends where the first section begins.
    let mut after = after.to_vec();
    let first = u64::from_le_bytes(after[..8].try_into().expect("8 bytes"));
    let table = first as usize - from - size;
    for entry in after[..table].chunks_exact_mut(16) {
        let place = u64::from_le_bytes(entry[..8].try_into().expect("8 bytes")) + added;
        entry[..8].copy_from_slice(&place.to_le_bytes());
    }
    long.extend(after);
    long
}

fn measure(name: &str, bytes: &[u8]) {
    let runs = (0..RUN_COUNT).map(|_| {
        let start = Instant::now();
        let done = import(bytes);
        (start.elapsed().as_secs_f64(), done)
    });
    let (seconds, done) =
        runs.min_by(|one, other| one.0.total_cmp(&other.0)).expect("there are runs");
    let (count, size) = (done.known_count as f64, done.made.size as f64);
    let rate = count / seconds / 1e6;
    println!("{name:24} {count:9} events {rate:6.2} M/s {:7.1} MB", size / 1e6);
    if Form::of(bytes) == Some(Form::Perf) {
        by_perf(bytes, count);
    }
}

/// Measures `perf script`, once, if it is installed.
fn by_perf(bytes: &[u8], count: f64) {
    let path = std::env::temp_dir().join(format!("import-{}.data", std::process::id()));
    std::fs::write(&path, bytes).expect("a temporary file");
    let start = Instant::now();
    let status = Command::new("perf")
        .args(["script", "--force", "-i"])
        .arg(&path)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match status {
        Ok(status) if status.success() => {
            let rate = count / start.elapsed().as_secs_f64() / 1e6;
            println!("{:24} {count:9} events {rate:6.2} M/s", "  perf script");
        }
        _ => println!("  perf script: not available"),
    }
    let _ = std::fs::remove_file(&path);
}
