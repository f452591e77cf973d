//! The pages of a processor: plain, or compressed in chunks.
//!
//! ```text
//!  plain:      page │ page │ …
//!  compressed: count │ { size, plain size, bytes } │ { … } ──▶ page │ page │ …
//! ```
//!
//! Design: `.waits.dat` in `design/waits.md`.

use super::head::CpuPlace;
use crate::waits::source::import::{ImportError, Imported, Input, Place};
use eventlog::reader::Source;
use flate2::read::ZlibDecoder;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::Read;

/// Bytes of a chunk or section when decompressed, at most.
pub(super) const PLAIN_SIZE_MAX: usize = 64 << 20;
/// The mark of a frame of zstd.
const ZSTD_MARK: &[u8] = b"\x28\xB5\x2F\xFD";
/// Bytes that are decompressed at a time.
const STEP_SIZE: usize = 1 << 17;

/// How the data is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Codec {
    None,
    Zlib,
    Zstd,
}

impl Codec {
    /// Returns `size` bytes of what these bytes stand for; `None` if they stand for fewer.
    pub(super) fn plain(self, bytes: &[u8], size: usize) -> Option<Vec<u8>> {
        if size > PLAIN_SIZE_MAX {
            return None;
        }
        let mut plain = Vec::new();
        match self {
            Codec::None => plain.extend_from_slice(bytes.get(..size)?),
            Codec::Zlib => {
                let mut decoder = ZlibDecoder::new(bytes).take(size as u64);
                decoder.read_to_end(&mut plain).ok()?;
            }
            Codec::Zstd => zstd(bytes, size, &mut plain)?,
        }
        (plain.len() == size).then_some(plain)
    }
}

/// Decompresses a frame of zstd, a few blocks at a time. trace-cmd leaves out the mark before it.
fn zstd(bytes: &[u8], size: usize, plain: &mut Vec<u8>) -> Option<()> {
    let mut bytes = ZSTD_MARK.chain(bytes.strip_prefix(ZSTD_MARK).unwrap_or(bytes));
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(PLAIN_SIZE_MAX as u64);
    decoder.reset(&mut bytes).ok()?;
    loop {
        let step = BlockDecodingStrategy::UptoBytes(STEP_SIZE);
        let is_last = decoder.decode_blocks(&mut bytes, step).ok()?;
        let room = (size - plain.len()) as u64;
        (&mut decoder).take(room).read_to_end(plain).ok()?;
        if is_last || plain.len() == size {
            return Some(());
        }
    }
}

/// The pages of a processor.
pub(super) struct Pages<'s> {
    cpu: u32,
    input: Input<'s>,
    codec: Codec,
    page_size: usize,
    /// Chunks to come; `None` before their count is read.
    chunk_count: Option<u32>,
    big: bool,
    plain: Vec<u8>,
    /// The page that was given last: its offset in the source, its place in the plain bytes.
    offset: u64,
    from: usize,
    to: usize,
}

impl<'s> Pages<'s> {
    pub(super) fn new(
        source: &'s dyn Source,
        place: &CpuPlace,
        codec: Codec,
        page_size: usize,
    ) -> Pages<'s> {
        // The size of compressed pages does not count what stands before the chunks.
        let size = if place.is_compressed { u64::MAX } else { place.size };
        let input = Input::new(source, place.offset, place.offset.saturating_add(size));
        let codec = if place.is_compressed { codec } else { Codec::None };
        Pages {
            cpu: place.cpu,
            input,
            codec,
            page_size,
            chunk_count: None,
            big: place.is_big_endian,
            plain: Vec::new(),
            offset: 0,
            from: 0,
            to: 0,
        }
    }

    /// Returns the number of the processor.
    pub(super) fn cpu(&self) -> u32 {
        self.cpu
    }

    /// Returns the page that is next.
    pub(super) fn page(&self) -> &[u8] {
        self.plain.get(self.from..self.to).unwrap_or_default()
    }

    /// Returns the offset of the page, or of its chunk.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Goes on to the next page. Returns whether one exists.
    pub(super) fn advance(&mut self, done: &mut Imported) -> Result<bool, ImportError> {
        self.from = self.to;
        if self.from >= self.plain.len() {
            (self.from, self.to) = (0, 0);
            self.offset = self.input.offset();
            let is_more = match self.codec {
                Codec::None => self.fill_plain(done)?,
                _ => self.fill_chunk(done)?,
            };
            if !is_more {
                self.plain.clear();
                return Ok(false);
            }
        }
        self.to = self.plain.len().min(self.from + self.page_size);
        Ok(true)
    }

    fn fill_plain(&mut self, done: &mut Imported) -> Result<bool, ImportError> {
        let bytes = self.input.fill(self.page_size).map_err(ImportError::Read)?;
        let bytes = bytes.get(..self.page_size).unwrap_or(bytes);
        self.plain.clear();
        self.plain.extend_from_slice(bytes);
        let size = self.plain.len();
        if size > 0 && size < self.page_size {
            done.fault(Place::Offset(self.offset), "the source ends within a page");
        }
        self.input.skip(size as u64);
        Ok(size > 0)
    }

    fn fill_chunk(&mut self, done: &mut Imported) -> Result<bool, ImportError> {
        if self.chunk_count.is_none() {
            self.chunk_count = Some(self.number()?.unwrap_or(0));
            self.offset = self.input.offset();
        }
        if self.chunk_count == Some(0) {
            return Ok(false);
        }
        self.chunk_count = self.chunk_count.map(|count| count - 1);
        let sizes = self.number()?.zip(self.number()?);
        let plain = match sizes.map(|(size, plain)| (size as usize, plain as usize)) {
            Some((size, plain)) if plain > 0 && size <= PLAIN_SIZE_MAX => {
                let bytes = self.input.fill(size).map_err(ImportError::Read)?;
                let found = bytes.get(..size).and_then(|bytes| self.codec.plain(bytes, plain));
                self.input.skip(size as u64);
                found
            }
            _ => None,
        };
        let Some(plain) = plain else {
            let what =
                format!("a chunk of processor {} is damaged; its rest is left out", self.cpu);
            done.fault(Place::Offset(self.offset), what);
            self.chunk_count = Some(0);
            return Ok(false);
        };
        self.plain = plain;
        Ok(true)
    }

    fn number(&mut self) -> Result<Option<u32>, ImportError> {
        let bytes = self.input.fill(4).map_err(ImportError::Read)?;
        let bytes = bytes.first_chunk::<4>().copied();
        self.input.skip(4);
        let big = self.big;
        Ok(bytes.map(|b| if big { u32::from_be_bytes(b) } else { u32::from_le_bytes(b) }))
    }
}
