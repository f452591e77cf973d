//! Rows of control paths: paths that overlap are drawn one below another.
//!
//! ```text
//!  row 0 ├ path ┤  ├ path ┤
//!  row 1    ├ path ┤
//! ```
//!
//! Design: `.waits.stack` in `design/waits.md`.

use super::{ControlPath, Kind};
use std::collections::BTreeSet;

/// Gives each path the lowest row that is free: those of one thread of the target one of its own,
/// then the other paths.
pub(super) fn give_rows(paths: &mut [ControlPath]) {
    let mut order: Vec<usize> = (0..paths.len()).collect();
    let key = |path: &ControlPath| {
        let life = if path.kind == Kind::Own { path.life } else { 0 };
        (path.kind, life, path.from, path.to)
    };
    order.sort_by_key(|at| paths.get(*at).map(key));
    let mut group = None;
    // Rows that are in use by their ends, and rows that are free.
    let (mut used, mut free): (BTreeSet<(u64, u32)>, BTreeSet<u32>) = Default::default();
    let mut count = 0;
    for at in order {
        let Some(path) = paths.get_mut(at) else { continue };
        let (kind, life, ..) = key(path);
        if group != Some((kind, life)) {
            group = Some((kind, life));
            used.clear();
            free.clear();
        }
        while let Some((end, row)) = used.first().copied().filter(|(end, _)| *end <= path.from) {
            used.remove(&(end, row));
            free.insert(row);
        }
        path.row = free.pop_first().unwrap_or_else(|| {
            count += 1;
            count - 1
        });
        used.insert((path.to, path.row));
    }
}
