//! A critical path: the pieces of a walk in order of time.
//!
//! ```text
//!  Walker ── pieces, the last first ──▶ neighbours of one owner are one ──▶ Path
//! ```
//!
//! Design: `.waits.critical` in `design/waits.md`.

use crate::waits::critical::{Piece, Walker};
use crate::waits::model::Model;

/// Pieces of a critical path that are kept, at most: the last ones.
const PIECE_COUNT_MAX: usize = 1 << 20;

/// A critical path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// Its pieces in order of time; neighbours of one thread and one share are one.
    pub pieces: Vec<Piece>,
    /// Whether it reaches the beginning of its time.
    pub is_whole: bool,
}

/// Returns the critical path of a life between two times.
pub fn path(model: &Model, life: u32, (from, to): (u64, u64), walker: &mut Walker<'_>) -> Path {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut is_whole = true;
    let owner = |piece: &Piece| model.stretch(piece.place).map(|own| own.life);
    walker.walk(life, from, to, |piece| {
        let is_same = |last: &&mut Piece| last.share == piece.share && owner(last) == owner(piece);
        is_whole &= pieces.len() < PIECE_COUNT_MAX;
        match pieces.last_mut().filter(is_same) {
            _ if !is_whole => {}
            Some(last) => last.from = piece.from,
            None => pieces.push(*piece),
        }
    });
    pieces.reverse();
    Path { pieces, is_whole }
}
