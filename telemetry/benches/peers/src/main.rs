//! Published recorders, each with one event of three words (or the nearest that it has), in the
//! table of the event log's own benchmarks.
//!
//! ```text
//!  peer-off      its cheapest way of being switched off        next to floor-off
//!  peer-memory   kept in memory, or formatted and discarded    next to floor-memory
//!  peer-file     all the way to a file                         next to floor-file
//!  peer-bytes    bytes in the file for each event
//!  peer-pair     a span or call in memory, from its beginning to its end; next to floor-pair
//! ```
//!
//! Run with `cargo run --release` in this directory, `-- pairs` for the last row alone;
//! `RECORD=peers` keeps the rows. What the names mean: `docs/benchmarks.md`.

#[expect(dead_code, reason = "shared with the benchmarks of telemetry, which use the rest")]
#[path = "../../recording/floor.rs"]
mod floor;
#[expect(dead_code, reason = "shared with the benchmarks of telemetry, which use the rest")]
#[path = "../../recording/measure.rs"]
mod measure;
mod recorders;
#[path = "../../recording/row.rs"]
mod row;
mod spans;

use measure::{EVENT_COUNT, in_turn, run};
use spans::Spans;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// What is measured of a peer.
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    /// What is recorded: where a peer has no event of three words, what it has.
    pub(crate) event: &'static str,
    pub(crate) off: Option<fn()>,
    pub(crate) memory: Option<fn()>,
    /// One run into a file of this name; everything is in the file when it returns.
    pub(crate) file: fn(&Path),
}

fn main() {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/peers");
    fs::create_dir_all(&directory).expect("the target directory can be written");
    let mut lines = String::new();
    let is_short = env::args().nth(1).is_some_and(|word| word == "pairs");
    for peer in recorders::PEERS.into_iter().filter(|_| !is_short) {
        lines += &format!("# {}: {}\n", peer.name, peer.event);
        lines += &measure_peer(&peer, &directory);
    }
    for spans in spans::SPANS {
        lines += &format!("# {}-pair: {}\n", spans.name, spans.span);
        lines += &measure_spans(&spans);
    }
    row::record(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &lines);
}

/// What a span adds to a call of an empty function, next to what one event adds.
fn measure_spans(spans: &Spans) -> String {
    floor::begin(None);
    let (pair, bare) = in_turn(spans.pairs, || run(spans::plain));
    let (event, bare_again) = in_turn(|| run(spans::event), || run(spans::plain));
    let (pair, floor) = (pair - bare, event - bare_again);
    row::print(&format!("{}-pair", spans.name), pair, "ns", Some(pair / floor))
        + &row::print(&format!("{}-floor-pair", spans.name), floor, "ns", None)
}

fn measure_peer(peer: &Peer, directory: &Path) -> String {
    let mut rows = String::new();
    let mut give = |name: &str, value: f64, unit: &str, ratio: Option<f64>| {
        rows += &row::print(&format!("{}-{name}", peer.name), value, unit, ratio);
    };
    floor::begin(None);
    if let Some(off) = peer.off {
        let (value, floor) = in_turn(off, || run(floor::off));
        give("off", value, "ns", Some(value / floor));
        give("floor-off", floor, "ns", None);
    }
    if let Some(memory) = peer.memory {
        let (value, floor) = in_turn(memory, || run(floor::memory));
        give("memory", value, "ns", Some(value / floor));
        give("floor-memory", floor, "ns", None);
    }
    floor::begin(Some(&directory.join("floor")));
    let path = directory.join(peer.name);
    let (value, floor) = in_turn(|| (peer.file)(&path), || run(floor::file));
    give("file", value, "ns", Some(value / floor));
    give("floor-file", floor, "ns", None);
    let size = size(&path);
    give(
        "bytes",
        size as f64 / EVENT_COUNT as f64,
        "B",
        Some(size as f64 / (EVENT_COUNT * 32) as f64),
    );
    rows
}

/// Size of a file, or of the files that a peer made with this stem.
fn size(path: &Path) -> u64 {
    let stem = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let directory = path.parent().unwrap_or(Path::new("."));
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&stem));
    ours.filter_map(|entry| entry.metadata().ok()).map(|data| data.len()).sum()
}
