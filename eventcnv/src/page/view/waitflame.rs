//! Pseudo-stacks of waits, as the tab *Flame* of the page has them.
//!
//! ```text
//!  Flame ──┬─ nodes: frames below frames, their times ──▶ the merged flame
//!          └─ pieces, rows, paths: in order of time ────▶ the flame over time
//! ```
//!
//! Design: `.cnv.report.flame` in `design/eventcnv.md`.

use crate::ask::pairs::summary;
use crate::page::flame::{Flame, Node, Piece};
use crate::page::view::calls::text;
use crate::page::view::encoded::counts;
use crate::page::view::threads::{Threads, doubles};
use eventlog::format::text::OneLine;
#[cfg(feature = "waits")]
use lens::waits::critical::Share;
use serde_json::{Value, json};

/// Pseudo-stacks, and the threads of the same log, which name rows.
pub(crate) struct WaitFlame<'l> {
    pub(crate) flame: &'l Flame,
    pub(crate) threads: &'l Threads<'l>,
}

impl WaitFlame<'_> {
    pub(super) fn data(&self) -> Value {
        let WaitFlame { flame, threads } = self;
        let (nodes, pieces) = (&flame.nodes, &flame.pieces);
        let node = |of: fn(&Node) -> u32| counts(&nodes.iter().map(of).collect::<Vec<_>>());
        let piece = |of: fn(&Piece) -> u32| counts(&pieces.iter().map(of).collect::<Vec<_>>());
        let owns = (0..flame.sums.len()).map(|kind| {
            doubles(nodes.iter().map(|node| node.owns.get(kind).copied().unwrap_or(0)))
        });
        let begin = threads.range.0;
        let since = |ns: u64| ns.saturating_sub(begin);
        let paths = flame.paths.iter().map(|path| {
            let (begin, length) = (path.begin as f64 - begin as f64, path.length as f64);
            json!([
                path.row,
                path.kind,
                path.thread,
                path.parent,
                path.waker,
                begin,
                length,
                text(&path.name)
            ])
        });
        json!({
            "isNs": threads.is_ns,
            "length": threads.range.1 - begin,
            "names": flame.names.iter().map(|name| line(name)).collect::<Vec<_>>(),
            "shares": shares(pieces),
            "nodes": {
                "parents": node(|node| node.parent),
                "names": node(|node| node.name),
                "kinds": node(|node| node.kinds),
                "counts": node(|node| u32::try_from(node.count).unwrap_or(u32::MAX)),
                "owns": owns.collect::<Value>(),
            },
            "pieces": {
                "rows": piece(|piece| piece.row),
                "begins": doubles(pieces.iter().map(|piece| since(piece.begin))),
                "lengths": doubles(pieces.iter().map(|piece| piece.end - piece.begin)),
                "nodes": piece(|piece| piece.node),
                "paths": piece(|piece| piece.path),
                "shares": piece(|piece| piece.share),
                "threads": piece(|piece| piece.thread),
                "wakers": piece(|piece| piece.waker),
                "others": piece(|piece| piece.other),
                "counts": piece(|piece| piece.count),
            },
            "rows": self.rows(),
            "paths": paths.collect::<Value>(),
            "width": flame.width,
            "count": flame.count,
            "sums": flame.sums,
            "left": [flame.left_nodes, flame.left_time, flame.left_paths],
        })
    }

    /// Returns the names of the rows.
    fn rows(&self) -> Value {
        let names = summary::Threads::new(self.threads.log);
        let name = |(stream, thread): &(u16, u32)| {
            let name = names.name(*stream, *thread);
            text(name.split_once("flame of ").map_or(&*name, |(_, of)| of))
        };
        self.flame.rows.iter().map(name).collect()
    }
}

/// Returns the text of a frame as it is, except letters that steer a terminal.
fn line(text: &str) -> String {
    OneLine(text.as_bytes()).to_string()
}

/// Returns the name of each share: what time is spent on.
#[cfg(feature = "waits")]
fn shares(_: &[Piece]) -> Value {
    json!(Share::ALL.map(|(name, _)| name))
}

/// Returns the number of each share, in builds without the lens that names them.
#[cfg(not(feature = "waits"))]
fn shares(pieces: &[Piece]) -> Value {
    let shares = pieces.iter().map(|piece| piece.share);
    let known = shares.filter(|&share| share != crate::page::flame::NONE);
    (0..known.max().map_or(0, |last| last.saturating_add(1).min(256)))
        .map(|share| format!("share {share}"))
        .collect()
}
