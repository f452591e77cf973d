//! A window on the source: what a walk over a whole stream looks at.
//!
//! ```text
//!  source ───────┤ bytes of the window ├──────▶ only forwards
//!                      ▲ at: `rest` begins here
//! ```
//!
//! Design: `eventlog::reader` in `ARCHITECTURE.md`.

use crate::reader::source::Source;

/// Bytes read at once.
const WINDOW_SIZE: usize = 1 << 20;

/// The bytes of the source around the place that is looked at.
pub(super) struct Window<'s> {
    source: &'s dyn Source,
    pub(super) source_size: u64,
    bytes: Vec<u8>,
    /// Where the bytes are in the source.
    base: u64,
    /// The place that is looked at, in the bytes.
    pub(super) at: usize,
}

impl<'s> Window<'s> {
    pub(super) fn new(source: &'s dyn Source) -> Window<'s> {
        Window { source, source_size: source.size(), bytes: Vec::new(), base: 0, at: 0 }
    }

    pub(super) fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    #[inline]
    pub(super) fn rest(&self) -> &[u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// Whether the bytes go on to the end of the source.
    #[inline]
    pub(super) fn is_last(&self) -> bool {
        self.base + self.bytes.len() as u64 >= self.source_size
    }

    /// Sees to it that at least `size` bytes are at hand, or all that there are.
    pub(super) fn need(&mut self, size: usize) -> std::io::Result<()> {
        if self.rest().len() >= size || self.is_last() {
            return Ok(());
        }
        let base = self.offset();
        let left = self.source_size - base;
        self.bytes.resize(left.min(WINDOW_SIZE as u64) as usize, 0);
        let size = self.source.read_at(base, &mut self.bytes)?;
        if size < self.bytes.len() {
            // The source shrank: what is gone is not waited for.
            self.source_size = base + size as u64;
            self.bytes.truncate(size);
        }
        (self.base, self.at) = (base, 0);
        Ok(())
    }
}
