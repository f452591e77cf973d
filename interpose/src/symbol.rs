//! The paths of symbols of C++, which the filter compares with its patterns.
//!
//! ```text
//!  _ZN4shop6Basket3putEi ─▶ shop::Basket::put        _ZN4shop5ShelfIiE3putEv ─▶ shop::Shelf
//! ```
//!
//! Nothing is allocated. A path lacks the parameters of functions, and all that follows the first
//! ones of a template. Design: `.calls.filter` in `design/calls.md`.

use calls::__private::word_of;

/// A longer path ends earlier.
const PATH_SIZE_MAX: usize = 512;

/// Asks the filter for the function with a symbol: patterns fit the symbol or its path.
pub(crate) fn decide(symbol: &[u8]) -> usize {
    let mut path = Path { bytes: [0; PATH_SIZE_MAX], size: 0, last: 0 };
    let _ = path.read(symbol);
    let texts = [symbol, path.bytes.get(..path.size).unwrap_or_default()];
    let [symbol, path] = texts.map(|text| core::str::from_utf8(text).unwrap_or_default());
    match path {
        "" => word_of(&[symbol]),
        _ => word_of(&[symbol, path]),
    }
}

struct Path {
    bytes: [u8; PATH_SIZE_MAX],
    size: usize,
    /// Where its last name begins.
    last: usize,
}

impl Path {
    /// Adds the names of a symbol, as far as they are understood.
    fn read(&mut self, symbol: &[u8]) -> Option<()> {
        let text = symbol.strip_prefix(b"_Z")?;
        let (is_nested, mut text) = match text.strip_prefix(b"N") {
            // The function may be const, or for values of a kind.
            Some(text) => {
                let is_name = |byte: &u8| !b"rVKRO".contains(byte);
                (true, text.get(text.iter().position(is_name)?..)?)
            }
            None => (false, text),
        };
        loop {
            text = text.strip_prefix(b"L").unwrap_or(text);
            text = match text {
                [b'S', b't', rest @ ..] => {
                    self.add(b"", b"std")?;
                    rest
                }
                [b'C' | b'D', b'0'..=b'9', rest @ ..] => {
                    let class = self.last..self.size;
                    let mut name = [0; PATH_SIZE_MAX];
                    let name = name.get_mut(..class.len())?;
                    name.copy_from_slice(self.bytes.get(class)?);
                    self.add(if text.first() == Some(&b'D') { b"~" } else { b"" }, name)?;
                    rest
                }
                _ => {
                    let size = text.iter().position(|byte| !byte.is_ascii_digit())?;
                    let (digits, rest) = text.split_at(size);
                    let size = core::str::from_utf8(digits).ok()?.parse().ok()?;
                    let (name, rest) = rest.split_at_checked(size)?;
                    let is_unnamed = name.starts_with(b"_GLOBAL__N_");
                    self.add(b"", if is_unnamed { b"(anonymous namespace)" } else { name })?;
                    if !is_nested {
                        return Some(());
                    }
                    rest
                }
            };
        }
    }

    /// Adds a name; `None`: it has no room.
    fn add(&mut self, before: &[u8], name: &[u8]) -> Option<()> {
        let colons: &[u8] = if self.size == 0 { b"" } else { b"::" };
        let size = colons.len() + before.len() + name.len();
        let room = self.bytes.get_mut(self.size..self.size + size)?;
        let bytes = [colons, before, name].into_iter().flatten();
        room.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        self.last = self.size + colons.len();
        self.size += size;
        Some(())
    }
}
