//! A window on the source for a walk over a whole stream.
//!
//! ```text
//!  source ───────┤ bytes of the window ├──────▶ only forwards
//!                      ▲ at: `rest` begins here
//! ```
//!
//! Design: `eventlog::reader` in `ARCHITECTURE.md`.

use crate::reader::source::bytes::Source;

/// Bytes that are read in one step.
const WINDOW_SIZE: usize = 1 << 20;
/// Bytes that are read in one step near unreadable bytes, and skipped if they are unreadable.
const PIECE_SIZE: u64 = 1 << 12;

/// Returns the end of the piece of an offset. Pieces do not depend on the window.
fn piece_end(offset: u64) -> u64 {
    (offset / PIECE_SIZE + 1).saturating_mul(PIECE_SIZE)
}

/// The bytes of the source around the current place.
pub(super) struct Window<'s> {
    source: &'s dyn Source,
    pub(super) source_size: u64,
    /// The bytes, then old bytes that are overwritten later.
    bytes: Vec<u8>,
    /// Number of valid bytes.
    size: usize,
    /// Offset of the bytes in the source.
    base: u64,
    /// Offset and message of a failure of the host. The bytes before it are handled as if the
    /// source ended there.
    pub(super) failure: Option<(u64, String)>,
    /// Index of the current place in the bytes.
    pub(super) at: usize,
}

impl<'s> Window<'s> {
    pub(super) fn new(source: &'s dyn Source) -> Window<'s> {
        Window {
            source,
            source_size: source.size(),
            bytes: Vec::new(),
            size: 0,
            base: 0,
            failure: None,
            at: 0,
        }
    }

    pub(super) fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    #[inline]
    pub(super) fn rest(&self) -> &[u8] {
        self.bytes.get(self.at..self.size).unwrap_or_default()
    }

    /// Returns whether the bytes reach the end of the source or of its readable part.
    #[inline]
    pub(super) fn is_last(&self) -> bool {
        self.failure.is_some() || self.base + self.size as u64 >= self.source_size
    }

    /// Moves to another place.
    pub(super) fn go_to(&mut self, offset: u64) {
        match offset.checked_sub(self.base).and_then(|at| usize::try_from(at).ok()) {
            Some(at) if at <= self.size => self.at = at,
            _ => {
                // That place was readable before, so any failure lies behind.
                (self.base, self.at, self.failure) = (offset, 0, None);
                self.size = 0;
            }
        }
    }

    /// Reads on, so that `size` bytes are available, or all there are.
    pub(super) fn need(&mut self, size: usize) {
        if self.rest().len() >= size || self.is_last() {
            return;
        }
        self.base = self.offset();
        self.at = 0;
        self.size = 0;
        if self.fill(WINDOW_SIZE).is_ok() {
            return;
        }
        // Much may be readable before the place of the failure.
        while self.size < WINDOW_SIZE && !self.is_last() {
            let offset = self.base + self.size as u64;
            if let Err(error) = self.fill((piece_end(offset) - offset) as usize) {
                self.failure = Some((offset, error.to_string()));
            }
        }
    }

    /// Moves behind unreadable bytes. Returns their offset and the host's message; `None` without a
    /// failure.
    pub(super) fn pass(&mut self) -> Option<(u64, String)> {
        let failure = self.failure.take()?;
        self.base = piece_end(failure.0).min(self.source_size);
        self.at = 0;
        self.size = 0;
        Some(failure)
    }

    /// Reads more bytes.
    fn fill(&mut self, size: usize) -> std::io::Result<()> {
        let start = self.size;
        let offset = self.base + start as u64;
        let size = self.source_size.saturating_sub(offset).min(size as u64) as usize;
        if self.bytes.len() < start + size {
            self.bytes.resize(start + size, 0);
        }
        let place = self.bytes.get_mut(start..start + size).unwrap_or_default();
        let read = self.source.read_at(offset, place);
        self.size = start + *read.as_ref().unwrap_or(&0);
        if read? < size {
            // The source shrank.
            self.source_size = self.base + self.size as u64;
        }
        Ok(())
    }
}
