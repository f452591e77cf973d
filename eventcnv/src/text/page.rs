//! A page of text, and the pen that writes its lines.
//!
//! ```text
//!  page  │ line │ line │ line · · · │ room │     256 KiB, used again after it was written out
//!                pen ─▶ stores sixteen bytes, then advances by the size of the text
//! ```
//!
//! The page makes room once for each line; the pen drops text beyond the room. Hand-written,
//! because a dump is as fast as this file. Design: `.cnv.speed` in `design/eventcnv.md`.

use crate::text::hex;

const PAGE_SIZE: usize = 1 << 18;
/// The size of an empty page: a line may take 4 KiB beyond a full page before the page grows.
const USUAL_SIZE: usize = PAGE_SIZE + (1 << 12);
pub(crate) const STORE_SIZE: usize = 16;

#[derive(Debug)]
pub(crate) struct Page {
    /// All bytes, written or not; never zeroed again.
    bytes: Vec<u8>,
    end: usize,
    /// Text that a function appends, before it is copied to the page.
    piece: Vec<u8>,
}

impl Page {
    pub(crate) fn new() -> Page {
        Page { bytes: vec![0; USUAL_SIZE], end: 0, piece: Vec::new() }
    }

    pub(crate) fn text(&self) -> &[u8] {
        self.bytes.get(..self.end).unwrap_or_default()
    }

    /// Returns whether the page is due to be written out.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.end >= PAGE_SIZE
    }

    /// Empties the page, and frees memory that a long line took.
    pub(crate) fn clear(&mut self) {
        self.end = 0;
        self.bytes.truncate(USUAL_SIZE);
        self.bytes.shrink_to_fit();
        self.piece = Vec::new();
    }

    /// Returns a pen that begins at the end of the text, with room for `room` bytes.
    #[inline(always)]
    pub(crate) fn pen(&mut self, room: usize) -> Pen<'_> {
        if self.bytes.len() < self.end.saturating_add(room) {
            self.grow(room);
        }
        Pen { rest: self.bytes.get_mut(self.end..).unwrap_or_default(), at: 0 }
    }

    #[cold]
    fn grow(&mut self, room: usize) {
        self.bytes.resize(self.end.saturating_add(room), 0);
    }

    /// Adds the bytes that a pen has written to the text.
    #[inline(always)]
    pub(crate) fn keep(&mut self, written: usize) {
        self.end = self.end.saturating_add(written).min(self.bytes.len());
    }

    /// Keeps what a pen has written, and writes the text that a function appends. Returns a pen
    /// that goes on.
    #[inline(always)]
    pub(crate) fn aside(
        &mut self,
        written: usize,
        room: usize,
        append: impl FnOnce(&mut Vec<u8>),
    ) -> Pen<'_> {
        self.keep(written);
        self.write(append);
        self.pen(room)
    }

    /// Writes the text that a function appends.
    pub(crate) fn write(&mut self, append: impl FnOnce(&mut Vec<u8>)) {
        self.piece.clear();
        append(&mut self.piece);
        let end = self.end.saturating_add(self.piece.len());
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        if let Some(place) = self.bytes.get_mut(self.end..end) {
            place.copy_from_slice(&self.piece);
            self.end = end;
        }
    }
}

/// Writes on a page, from the end of its text.
pub(crate) struct Pen<'p> {
    rest: &'p mut [u8],
    /// 32 bits, so that the end of the next store cannot overflow: one comparison is enough.
    at: u32,
}

impl Pen<'_> {
    /// Returns the number of bytes written.
    #[inline(always)]
    pub(crate) fn written(&self) -> usize {
        self.at as usize
    }

    /// Returns the place of the next store, if there is room.
    #[inline(always)]
    fn place<const SIZE: usize>(&mut self) -> Option<&mut [u8; SIZE]> {
        let at = self.at as usize;
        self.rest.get_mut(at..at.wrapping_add(SIZE))?.first_chunk_mut()
    }

    /// Writes the first `count` of these bytes.
    #[inline(always)]
    pub(crate) fn put(&mut self, bytes: &[u8; STORE_SIZE], count: usize) {
        if let Some(place) = self.place() {
            *place = *bytes;
            self.at += count as u32;
        }
    }

    /// Writes `size` bytes of a text from `begin` on. The text must be [`STORE_SIZE`] bytes longer.
    #[inline(always)]
    pub(crate) fn text(&mut self, text: &[u8], begin: usize, size: usize) {
        let mut done = 0;
        loop {
            let rest = text.get(begin + done..).unwrap_or_default();
            let Some(bytes) = rest.first_chunk() else { return };
            self.put(bytes, (size - done).min(STORE_SIZE));
            done += STORE_SIZE;
            if done >= size {
                return;
            }
        }
    }

    /// Writes a value as 16 upper-case hexadecimal digits.
    #[inline(always)]
    pub(crate) fn hex16(&mut self, value: u64) {
        self.put(&hex::digits(value), 16);
    }

    /// Writes a value as upper-case hexadecimal without leading zeros.
    #[inline(always)]
    pub(crate) fn hex(&mut self, value: u64) {
        let (digits, count) = hex::left(value);
        self.put(&digits, count);
    }

    /// Writes `0x`, then a value as [`Pen::hex`] does.
    #[inline(always)]
    pub(crate) fn hex_after_0x(&mut self, value: u64) {
        self.put(b"0x              ", 2);
        self.hex(value);
    }

    /// Writes a byte, then a value as [`Pen::hex`] does.
    #[inline(always)]
    pub(crate) fn hex_after(&mut self, byte: u8, value: u64) {
        let (digits, count) = hex::left(value);
        if let Some([first, rest @ ..]) = self.place::<{ 1 + STORE_SIZE }>() {
            *first = byte;
            *rest = digits;
            self.at += 1 + count as u32;
        }
    }

    /// Writes a value as upper-case hexadecimal, padded with zeros to `width` (1 to 16) digits.
    #[inline(always)]
    pub(crate) fn hex_zeros(&mut self, value: u64, width: usize) {
        let count = hex::count(value).max(width).min(16);
        // The shift is less than 64, as `count` is at least 1.
        self.put(&hex::digits(value << ((16 - count) * 4)), count);
    }

    /// Writes a value as upper-case hexadecimal, padded with spaces to `width` (at most 16)
    /// columns.
    #[inline(always)]
    pub(crate) fn hex_spaces(&mut self, value: u64, width: usize) {
        self.put(&[b' '; STORE_SIZE], width.saturating_sub(hex::count(value)));
        self.hex(value);
    }

    #[inline(always)]
    pub(crate) fn decimal(&mut self, value: u64) {
        let mut digits = itoa::Buffer::new();
        let digits = digits.format(value).as_bytes();
        let at = self.at as usize;
        if let Some(place) = self.rest.get_mut(at..at.wrapping_add(digits.len())) {
            place.copy_from_slice(digits);
            self.at += digits.len() as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Pen<'_>)) -> String {
        let mut page = Page::new();
        page.write(|out| out.push(b'<'));
        let mut pen = page.pen(64);
        write(&mut pen);
        let size = pen.written();
        page.keep(size);
        String::from_utf8(page.text().to_vec()).unwrap().split_off(1)
    }

    #[test]
    fn a_pen_writes_text_of_any_size() {
        let text: Vec<u8> = (b'0'..=b'z').collect();
        for size in 0..=50 {
            let found = written(|pen| pen.text(&text, 3, size));
            assert_eq!(found.as_bytes(), &text[3..3 + size]);
        }
    }

    #[test]
    fn a_page_shrinks_after_a_line_longer_than_itself() {
        let mut page = Page::new();
        let long = vec![b'x'; 3 * PAGE_SIZE];
        page.write(|out| out.extend_from_slice(&long));
        assert!(page.is_full() && page.text() == long);
        let mut pen = page.pen(PAGE_SIZE);
        pen.hex16(1);
        let size = pen.written();
        page.keep(size);
        assert!(page.text().ends_with(b"xx0000000000000001"));
        page.clear();
        assert!(page.text().is_empty() && page.bytes.capacity() < 2 * PAGE_SIZE);
    }

    #[test]
    fn a_pen_drops_text_beyond_its_room() {
        let mut bytes = [b'.'; 20];
        let mut pen = Pen { rest: &mut bytes, at: 0 };
        pen.hex16(1);
        pen.hex16(2);
        pen.hex_after(b' ', 3);
        assert_eq!(pen.written(), 16);
        assert_eq!(&bytes, b"0000000000000001....");
    }
}
