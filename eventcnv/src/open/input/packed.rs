//! Compressed files, decompressed while they are read.
//!
//! ```text
//!  │ frame │ frame │ … ── magic ──▶ gzip │ xz │ zstd │ lz4 ──▶ bytes
//!      └── damaged or cut ──▶ the bytes before that place, then `damage`
//! ```
//!
//! A frame is also a member of gzip, or all streams of xz. Memory is bounded by the windows of the
//! formats. Design: `.dumper` in `design/telemetry.md`.

use flate2::bufread::GzDecoder;
use lz4_flex::frame::FrameDecoder as Lz4Decoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder as ZstdDecoder};
use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};
use std::mem;
use std::rc::Rc;

/// Bytes that tell the format of a frame.
pub(crate) const MAGIC_SIZE: usize = 8;
const GZIP: &[u8] = b"\x1F\x8B";
const XZ: &[u8] = b"\xFD7zXZ\0";
const ZSTD: &[u8] = b"\x28\xB5\x2F\xFD";
const LZ4: &[u8] = b"\x04\x22\x4D\x18";
/// The end of the magic of a frame of zstd or lz4 without data; its first byte is 50 to 5F.
const SKIPPED: &[u8] = b"\x2A\x4D\x18";

/// Bytes of a window, at most: the distance over which data may repeat.
const WINDOW_SIZE_MAX: u64 = 128 << 20;
/// Memory for a stream of xz in KiB, at most: the window, and the tables of the decoder.
const XZ_MEMORY_KIB_MAX: u32 = (WINDOW_SIZE_MAX >> 10) as u32 + (1 << 10);
/// A last block of zstd without data, and a checksum.
const ZSTD_END: &[u8] = &[1, 0, 0, 0, 0, 0, 0];

/// The compressed bytes, and whether a decoder asked for more than all of them.
struct Bytes {
    /// The first ones, which were read to find the format, and the rest.
    bytes: Chain<Cursor<Vec<u8>>, BufReader<Box<dyn Read>>>,
    has_ended: Rc<Cell<bool>>,
}

impl BufRead for Bytes {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let bytes = self.bytes.fill_buf()?;
        self.has_ended.set(bytes.is_empty());
        Ok(bytes)
    }

    fn consume(&mut self, amount: usize) {
        self.bytes.consume(amount);
    }
}

impl Read for Bytes {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.bytes.read(buf)?;
        self.has_ended.set(read == 0 && !buf.is_empty());
        Ok(read)
    }
}

/// Returns whether a file that begins with these bytes is compressed, and can be decompressed here.
pub(crate) fn is_packed(head: &[u8]) -> bool {
    [GZIP, XZ, ZSTD, LZ4].iter().any(|magic| head.starts_with(magic)) || skipped(head).is_some()
}

/// Returns the size of a frame without data that begins with these bytes.
fn skipped(head: &[u8]) -> Option<u64> {
    let (magic, size) = head.split_first_chunk::<4>()?;
    let is_so = magic[0] >> 4 == 5 && magic.ends_with(SKIPPED);
    size.first_chunk().filter(|_| is_so).map(|size| u32::from_le_bytes(*size).into())
}

/// What a compressed file holds.
pub(crate) struct Unpacked {
    frame: Frame,
    has_ended: Rc<Cell<bool>>,
    /// Why the file was not read to its end.
    pub(crate) damage: Option<String>,
}

/// The frame that is read now.
enum Frame {
    Gzip(Box<GzDecoder<Bytes>>),
    Xz(Box<XzReader<Bytes>>),
    Zstd(Box<Zstd>),
    Lz4(Box<Lz4Decoder<Bytes>>),
    /// After the last frame.
    End,
}

impl Unpacked {
    pub(crate) fn new(from: Box<dyn Read>) -> Unpacked {
        let has_ended = Rc::new(Cell::new(false));
        let bytes = Cursor::new(Vec::new()).chain(BufReader::new(from));
        let frame = Frame::next(Bytes { bytes, has_ended: Rc::clone(&has_ended) });
        let mut unpacked = Unpacked { frame: Frame::End, has_ended, damage: None };
        unpacked.go_on(frame);
        unpacked
    }

    fn go_on(&mut self, next: io::Result<Frame>) {
        self.frame = next.unwrap_or_else(|error| {
            let is_cut = self.has_ended.get();
            self.damage = Some(if is_cut { "it is cut".to_owned() } else { error.to_string() });
            Frame::End
        });
    }
}

impl Read for Unpacked {
    /// Reads as far as the file is sound: then `damage` tells the rest.
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while !buf.is_empty() && !matches!(self.frame, Frame::End) {
            match self.frame.read(buf) {
                Ok(0) => {
                    let next = mem::replace(&mut self.frame, Frame::End).end();
                    self.go_on(next);
                }
                Ok(size) => return Ok(size),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.go_on(Err(error)),
            }
        }
        Ok(0)
    }
}

impl Frame {
    /// Begins the next frame.
    fn next(bytes: Bytes) -> io::Result<Frame> {
        let Bytes { bytes, has_ended } = bytes;
        let (_, mut rest) = bytes.into_inner();
        loop {
            let mut head = Vec::new();
            rest.by_ref().take(MAGIC_SIZE as u64).read_to_end(&mut head)?;
            if let Some(size) = skipped(&head) {
                io::copy(&mut rest.by_ref().take(size), &mut io::sink())?;
                continue;
            }
            let begins = |magic: &[u8]| head.starts_with(magic);
            let (is_gzip, is_xz, is_zstd, is_lz4) =
                (begins(GZIP), begins(XZ), begins(ZSTD), begins(LZ4));
            let is_end = head.is_empty();
            let bytes = Bytes { bytes: Cursor::new(head).chain(rest), has_ended };
            return Ok(if is_gzip {
                Frame::Gzip(Box::new(GzDecoder::new(bytes)))
            } else if is_xz {
                Frame::Xz(Box::new(XzReader::new_mem_limit(bytes, true, XZ_MEMORY_KIB_MAX)))
            } else if is_zstd {
                Frame::Zstd(Box::new(Zstd::new(bytes)?))
            } else if is_lz4 {
                Frame::Lz4(Box::new(Lz4Decoder::new(bytes)))
            } else if is_end {
                Frame::End
            } else {
                return Err(io::Error::other("what follows is not compressed"));
            });
        }
    }

    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Frame::Gzip(frame) => frame.read(buf),
            Frame::Xz(frame) => frame.read(buf),
            Frame::Zstd(frame) => frame.read(buf),
            Frame::Lz4(frame) => frame.read(buf),
            Frame::End => Ok(0),
        }
    }

    /// Ends a frame that was read, and begins the next one.
    fn end(self) -> io::Result<Frame> {
        Frame::next(match self {
            Frame::Gzip(frame) => frame.into_inner(),
            Frame::Xz(frame) => frame.into_inner(),
            Frame::Zstd(frame) => frame.end()?,
            Frame::Lz4(frame) => match frame.into_inner() {
                // The decoder takes the end of a file between two blocks for the end of the frame.
                bytes if bytes.has_ended.get() => {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                bytes => bytes,
            },
            Frame::End => return Ok(Frame::End),
        })
    }
}

/// A frame of zstd.
struct Zstd {
    decoder: ZstdDecoder,
    bytes: Bytes,
    damage: Option<io::Error>,
}

impl Zstd {
    fn new(mut bytes: Bytes) -> io::Result<Zstd> {
        let mut decoder = ZstdDecoder::new();
        decoder.set_max_window_size(WINDOW_SIZE_MAX);
        decoder.init(&mut bytes).map_err(io::Error::other)?;
        Ok(Zstd { decoder, bytes, damage: None })
    }

    fn end(self) -> io::Result<Bytes> {
        let stated = self.decoder.get_checksum_from_data();
        match self.damage {
            Some(error) => Err(error),
            None if stated.is_some() && stated != self.decoder.get_calculated_checksum() => {
                Err(io::Error::other("wrong checksum"))
            }
            None => Ok(self.bytes),
        }
    }
}

impl Read for Zstd {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let Zstd { decoder, bytes, damage } = self;
        while decoder.can_collect() == 0 && !decoder.is_finished() {
            let one = BlockDecodingStrategy::UptoBlocks(1);
            if let Err(error) = decoder.decode_blocks(&mut *bytes, one) {
                *damage = Some(io::Error::other(error));
                // The decoder holds back a window, until the frame ends.
                decoder
                    .decode_blocks(ZSTD_END, BlockDecodingStrategy::All)
                    .map_err(io::Error::other)?;
            }
        }
        decoder.read(buf)
    }
}
