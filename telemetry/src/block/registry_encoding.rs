//! The encoding of a registry, in pieces that fit the available room.
//!
//! ```text
//!  encoding │ piece │ piece │ piece │   each a part: the rest of a block, or a whole block
//! ```
//!
//! Design: `.part.registry` in `design/format.md`.

use crate::block::memory;
use crate::block::parts::PartsBlock;
use core::sync::atomic::Ordering;
use eventdef::{Control, Registry};
use eventlog::format::{encode_registry, encoded_registry_size};

/// A piece smaller than this, in bytes, goes to the next parts block.
const PIECE_SIZE_MIN: usize = 64;

pub(crate) struct Piece {
    /// Its size, in bytes.
    pub(crate) size: usize,
    pub(crate) whole: usize,
}

/// Returns the piece at an offset of a registry's encoding, for the room in the current parts
/// block; `None` at the end.
pub(crate) fn next(control: &Control, offset: usize, room: usize) -> Option<Piece> {
    let whole = encoded_registry_size(control.registry);
    let rest = whole.checked_sub(offset).filter(|rest| *rest > 0)?;
    let most = PartsBlock::payload_size_max(memory::block_size());
    let size = if room < PIECE_SIZE_MIN.min(rest) { most } else { room };
    Some(Piece { size: size.min(rest), whole })
}

impl Piece {
    pub(crate) fn encode(&self, control: &Control, offset: usize, out: &mut [u8]) {
        let masks = [control.recorded(), control.output()].map(|mask| mask.load(Ordering::Relaxed));
        encode_piece(control.registry, masks, offset, out);
    }
}

/// Writes the bytes of a registry's encoding from `offset` on.
fn encode_piece(registry: &Registry, [recorded, output]: [u64; 2], offset: usize, out: &mut [u8]) {
    let mut at = 0;
    encode_registry(registry, recorded, output, &mut |bytes| {
        let (from, to) = (at.max(offset), (at + bytes.len()).min(offset + out.len()));
        if from < to {
            out[from - offset..to - offset].copy_from_slice(&bytes[from - at..to - at]);
        }
        at += bytes.len();
    });
}
