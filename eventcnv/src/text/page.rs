//! A page of text that lines are written to, and the pen that writes them.
//!
//! ```text
//!  page  │ line │ line │ line · · · │ room │     256 KiB, used again once it is written out
//!                pen ─▶ sixteen bytes are stored, whatever is to be written; then it goes on by
//!                       as many as count
//! ```
//!
//! Whether there is room is asked once for each line; what there would be no room for is not
//! written. By hand, because a dump is as fast as this file. Design: `.cnv.speed` in
//! `design/eventcnv.md`.

use super::{self as text, hex};

/// A page is handed over when it holds so much.
const PAGE_SIZE: usize = 1 << 18;
/// What a line may need beyond it without the page growing.
const PAGE_ROOM: usize = 1 << 12;
/// What is stored at a time.
pub(crate) const STORE_SIZE: usize = 16;

/// A page of text.
#[derive(Debug)]
pub(crate) struct Page {
    /// All of it, whether written or not: never made zero again.
    bytes: Vec<u8>,
    /// How large it is again when it is made empty.
    usual_size: usize,
    /// Where the text ends.
    end: usize,
    /// A piece of text that a pen does not write.
    piece: Vec<u8>,
}

impl Page {
    /// An empty page.
    pub(crate) fn new() -> Page {
        Page::of(PAGE_SIZE + PAGE_ROOM)
    }

    /// An empty page that grows from nothing: one of many.
    pub(crate) fn small() -> Page {
        Page::of(0)
    }

    fn of(usual_size: usize) -> Page {
        Page { bytes: vec![0; usual_size], usual_size, end: 0, piece: Vec::new() }
    }

    /// What is written on it.
    pub(crate) fn text(&self) -> &[u8] {
        self.bytes.get(..self.end).unwrap_or_default()
    }

    /// Whether it is to be handed over.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.end >= PAGE_SIZE
    }

    /// Makes it empty. What it grew by for a long line is given back.
    pub(crate) fn clear(&mut self) {
        self.end = 0;
        self.bytes.truncate(self.usual_size);
        self.bytes.shrink_to_fit();
        self.piece = Vec::new();
    }

    /// A pen that begins where the text ends, with room for so many bytes.
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

    /// What a pen wrote counts from now on.
    #[inline(always)]
    pub(crate) fn keep(&mut self, written: usize) {
        self.end = self.end.saturating_add(written).min(self.bytes.len());
    }

    /// Writes what a function appends.
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

/// Writes on a page, from where its text ends.
pub(crate) struct Pen<'p> {
    rest: &'p mut [u8],
    /// 32 bits, so that the end of what is stored next cannot overflow: one comparison is enough.
    at: u32,
}

impl Pen<'_> {
    /// How much it wrote.
    #[inline(always)]
    pub(crate) fn written(&self) -> usize {
        self.at as usize
    }

    /// Where it writes next, if there is room.
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

    /// Writes `size` bytes of a text from `begin` on, after which it goes on for
    /// [`STORE_SIZE`] bytes at least.
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

    /// Writes a byte, and after it a value as [`Pen::hex`] does.
    #[inline(always)]
    pub(crate) fn hex_after(&mut self, byte: u8, value: u64) {
        let (digits, count) = hex::left(value);
        if let Some([first, rest @ ..]) = self.place::<{ 1 + STORE_SIZE }>() {
            *first = byte;
            *rest = digits;
            self.at += 1 + count as u32;
        }
    }

    /// Writes a value as upper-case hexadecimal with zeros before it up to `width` (1 to 16)
    /// digits.
    #[inline(always)]
    pub(crate) fn hex_zeros(&mut self, value: u64, width: usize) {
        let count = hex::count(value).max(width).min(16);
        // A shift by 64 cannot be: count is at least 1.
        self.put(&hex::digits(value << ((16 - count) * 4)), count);
    }

    /// Writes a value as upper-case hexadecimal with spaces before it up to `width` (at most 16)
    /// columns.
    #[inline(always)]
    pub(crate) fn hex_spaces(&mut self, value: u64, width: usize) {
        self.put(&[b' '; STORE_SIZE], width.saturating_sub(hex::count(value)));
        self.hex(value);
    }

    /// Writes a value in decimal.
    #[inline(always)]
    pub(crate) fn decimal(&mut self, value: u64) {
        const HALF: u64 = 10_000_000_000_000_000;
        let (high, low) = (value / HALF, value % HALF);
        if high > 0 {
            let (digits, count) = text::decimal_digits(high);
            self.put(&digits, count);
            self.put(&text::decimal16(low), 16);
        } else {
            let (digits, count) = text::decimal_digits(low);
            self.put(&digits, count);
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

    /// Values around every power of two and of ten: where a digit comes or goes.
    fn edges() -> impl Iterator<Item = u64> {
        let tens = (0..20).map(|power| 10_u64.pow(power));
        (0..64)
            .map(|bit| 1 << bit)
            .chain(tens)
            .flat_map(|value: u64| [value - 1, value, value + 1])
            .chain([u64::MAX, 0x0123_4567_89AB_CDEF, 1_234_567_890_123_456_789])
    }

    #[test]
    fn numbers_agree_with_the_standard_formatter() {
        for value in edges() {
            assert_eq!(written(|pen| pen.decimal(value)), value.to_string());
            assert_eq!(written(|pen| pen.hex(value)), format!("{value:X}"));
            assert_eq!(written(|pen| pen.hex_after(b' ', value)), format!(" {value:X}"));
            assert_eq!(written(|pen| pen.hex16(value)), format!("{value:016X}"));
            assert_eq!(written(|pen| pen.hex_zeros(value, 8)), format!("{value:08X}"));
            assert_eq!(written(|pen| pen.hex_spaces(value, 8)), format!("{value:8X}"));
        }
    }

    #[test]
    fn text_is_written_whatever_its_size() {
        let text: Vec<u8> = (b'0'..=b'z').collect();
        for size in 0..=50 {
            let found = written(|pen| pen.text(&text, 3, size));
            assert_eq!(found.as_bytes(), &text[3..3 + size]);
        }
    }

    #[test]
    fn a_page_takes_a_line_longer_than_itself_and_is_small_again() {
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
    fn what_there_is_no_room_for_is_not_written() {
        let mut bytes = [b'.'; 20];
        let mut pen = Pen { rest: &mut bytes, at: 0 };
        pen.hex16(1);
        pen.hex16(2);
        pen.hex_after(b' ', 3);
        assert_eq!(pen.written(), 16);
        assert_eq!(&bytes, b"0000000000000001....");
    }
}
