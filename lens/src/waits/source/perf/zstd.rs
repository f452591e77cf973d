//! Compressed records: one stream of zstd through all of them.
//!
//! ```text
//!  record │ record │ … ── blocks of zstd, one at a time ──▶ bytes of records
//! ```
//!
//! A block gives at most 128 KiB, whatever it claims. The decoder holds back the bytes of its
//! window: the last records come at the end.
//!
//! Design: `.waits.perf` in `design/waits.md`.

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::Read;

/// Bytes of the mark of a frame.
const MAGIC_SIZE: usize = 4;
/// Flag in the byte after the mark: a checksum ends the frame.
const CHECKSUM_FLAG: u8 = 4;
/// Bytes of the header of a block.
const BLOCK_HEADER_SIZE: usize = 3;
/// Bytes of a window, at most: the distance over which a block may repeat bytes.
const WINDOW_SIZE_MAX: u64 = 32 << 20;
/// Bytes of one compressed record when decompressed, at most.
const PLAIN_SIZE_MAX: usize = 64 << 20;
/// The type of a block that repeats one byte.
const REPEATS: usize = 1;
/// A last block without data.
const LAST_BLOCK: &[u8] = &[1, 0, 0];
/// Bytes of a checksum after the last block of a frame.
const CHECKSUM_SIZE: usize = 4;

/// A stream that is being decompressed.
pub(super) struct Stream {
    decoder: FrameDecoder,
    /// Whether a frame has begun.
    is_open: bool,
    has_checksum: bool,
    /// Compressed bytes that do not yet make a block.
    rest: Vec<u8>,
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream").field("is_open", &self.is_open).finish_non_exhaustive()
    }
}

impl Default for Stream {
    fn default() -> Stream {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(WINDOW_SIZE_MAX);
        Stream { decoder, is_open: false, has_checksum: false, rest: Vec::new() }
    }
}

impl Stream {
    /// Decompresses the next bytes of the stream, and adds the result to `plain`. Returns `None` if
    /// they are damaged.
    pub(super) fn add(&mut self, bytes: &[u8], plain: &mut Vec<u8>) -> Option<()> {
        let mut all = std::mem::take(&mut self.rest);
        all.extend_from_slice(bytes);
        let mut rest = all.as_slice();
        let limit = plain.len().saturating_add(PLAIN_SIZE_MAX);
        while self.has_next(rest) {
            let mut source = rest;
            if !self.is_open {
                self.has_checksum =
                    rest.get(MAGIC_SIZE).is_some_and(|flags| flags & CHECKSUM_FLAG != 0);
                self.decoder.reset(&mut source).ok()?;
                self.is_open = true;
            } else {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                let is_last = self.decoder.decode_blocks(&mut source, one).ok()?;
                let room = limit.saturating_sub(plain.len()) as u64;
                (&mut self.decoder).take(room + 1).read_to_end(plain).ok()?;
                if plain.len() > limit {
                    return None;
                }
                self.is_open = !is_last;
            }
            rest = source;
        }
        let used = all.len() - rest.len();
        all.drain(..used);
        self.rest = all;
        Some(())
    }

    /// Ends the stream: adds what the decoder holds back, as later blocks may repeat it. perf does
    /// not end its frame.
    pub(super) fn end(&mut self, plain: &mut Vec<u8>) -> Option<()> {
        if !self.is_open {
            return Some(());
        }
        self.rest.clear();
        let checksum = if self.has_checksum { CHECKSUM_SIZE } else { 0 };
        self.add(&[LAST_BLOCK, &[0; CHECKSUM_SIZE][..checksum]].concat(), plain)
    }

    /// Returns whether these bytes have a whole block, or a whole header of a frame.
    fn has_next(&self, bytes: &[u8]) -> bool {
        if !self.is_open {
            return has_header(bytes);
        }
        let Some(head) = bytes.first_chunk::<BLOCK_HEADER_SIZE>() else { return false };
        let head = usize::from(head[0]) | usize::from(head[1]) << 8 | usize::from(head[2]) << 16;
        let size = if head >> 1 & 3 == REPEATS { 1 } else { head >> 3 };
        let after = if head & 1 != 0 && self.has_checksum { CHECKSUM_SIZE } else { 0 };
        bytes.len() >= BLOCK_HEADER_SIZE + size + after
    }
}

/// Returns whether bytes hold the whole header of a frame, whose size its fifth byte tells.
fn has_header(bytes: &[u8]) -> bool {
    let Some(descriptor) = bytes.get(MAGIC_SIZE) else { return false };
    let is_single = descriptor >> 5 & 1 != 0;
    let content = match descriptor >> 6 {
        0 => usize::from(is_single),
        1 => 2,
        2 => 4,
        _ => 8,
    };
    let dictionary = [0, 1, 2, 4].get(usize::from(descriptor & 3)).copied().unwrap_or(4);
    bytes.len() > MAGIC_SIZE + usize::from(!is_single) + dictionary + content
}
