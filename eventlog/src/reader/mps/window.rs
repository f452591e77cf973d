//! A window on the source: what a walk over a whole stream looks at.
//!
//! ```text
//!  source ───────┤ bytes of the window ├──────▶ only forwards
//!                      ▲ at: `rest` begins here
//! ```
//!
//! Design: `eventlog::reader` in `ARCHITECTURE.md`.

use crate::reader::source::bytes::Source;

/// Bytes read at once.
const WINDOW_SIZE: usize = 1 << 20;
/// Bytes read at once next to what cannot be read, and passed over where nothing can.
const PIECE_SIZE: u64 = 1 << 12;

/// Where the piece ends in which this place is: pieces do not depend on where a window begins.
fn piece_end(offset: u64) -> u64 {
    (offset / PIECE_SIZE + 1).saturating_mul(PIECE_SIZE)
}

/// The bytes of the source around the place that is looked at.
pub(super) struct Window<'s> {
    source: &'s dyn Source,
    pub(super) source_size: u64,
    /// The bytes, and beyond them what was there before and is written over.
    bytes: Vec<u8>,
    /// How many of them count.
    size: usize,
    /// Where the bytes are in the source.
    base: u64,
    /// Where the host failed to read, and what it said: what is before that is looked at as if it
    /// were all.
    failure: Option<(u64, String)>,
    /// The place that is looked at, in the bytes.
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

    /// Whether the bytes go on to the end of the source, or of what can be read.
    #[inline]
    pub(super) fn is_last(&self) -> bool {
        self.failure.is_some() || self.base + self.size as u64 >= self.source_size
    }

    /// Looks at another place, which may be beyond the bytes at hand.
    pub(super) fn go_to(&mut self, offset: u64) {
        match offset.checked_sub(self.base).and_then(|at| usize::try_from(at).ok()) {
            Some(at) if at <= self.size => self.at = at,
            _ => {
                // What is there could be read, so whatever failed lies behind.
                (self.base, self.at, self.failure) = (offset, 0, None);
                self.size = 0;
            }
        }
    }

    /// Sees to it that at least `size` bytes are at hand, or all that can be.
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
        // Before the place of the failure there may be much that can be read.
        while self.size < WINDOW_SIZE && !self.is_last() {
            let offset = self.base + self.size as u64;
            if let Err(error) = self.fill((piece_end(offset) - offset) as usize) {
                self.failure = Some((offset, error.to_string()));
            }
        }
    }

    /// Whether the bytes end where the host failed to read.
    pub(super) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Goes on behind what cannot be read: where that is, and what the host said. `None` if there
    /// was no failure.
    pub(super) fn pass(&mut self) -> Option<(u64, String)> {
        let failure = self.failure.take()?;
        self.base = piece_end(failure.0).min(self.source_size);
        self.at = 0;
        self.size = 0;
        Some(failure)
    }

    /// Reads so many bytes more.
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
            // The source shrank: what is gone is not waited for.
            self.source_size = self.base + self.size as u64;
        }
        Ok(())
    }
}
