//! A critical path: the pieces of a walk in order of time.
//!
//! ```text
//!  Walker ── pieces, the last first ──▶ neighbours of one owner are one ──▶ Path
//! ```
//!
//! Design: `.waits.critical` in `design/waits.md`.

use crate::waits::critical::{Piece, Walker};
use crate::waits::model::Model;
use crate::waits::parts::{STEP, Window, parts};

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
    let parts = parts(model, &[Window { life, from, to }], STEP);
    let (_, all) = walker.side_by_side(
        parts.len(),
        || (),
        |walker, (), at| {
            let mut own = Joined::new(model);
            parts
                .get(at)
                .into_iter()
                .for_each(|part| walker.walk_part(part, |piece| own.add(piece)));
            own.path
        },
    );
    let mut joined = Joined::new(model);
    if all.iter().map(|own| own.pieces.len()).sum::<usize>() < PIECE_COUNT_MAX {
        all.iter().flat_map(|own| &own.pieces).for_each(|piece| joined.add(piece));
    } else {
        // A piece that ends a path may be cut.
        walker.walk(life, from, to, |piece| joined.add(piece));
    }
    joined.path.pieces.reverse();
    joined.path
}

/// Pieces whose neighbours of one owner are one, the last first.
struct Joined<'m> {
    model: &'m Model,
    path: Path,
    /// The life that has the last piece.
    owner: Option<u32>,
}

impl<'m> Joined<'m> {
    fn new(model: &'m Model) -> Joined<'m> {
        Joined { model, path: Path { pieces: Vec::new(), is_whole: true }, owner: None }
    }

    fn add(&mut self, piece: &Piece) {
        let Path { pieces, is_whole } = &mut self.path;
        let owner = self.model.stretch(piece.place).map(|own| own.life);
        *is_whole &= pieces.len() < PIECE_COUNT_MAX;
        match pieces.last_mut().filter(|last| last.share == piece.share && self.owner == owner) {
            _ if !*is_whole => {}
            Some(last) => last.from = piece.from,
            None => {
                pieces.push(*piece);
                self.owner = owner;
            }
        }
    }
}
