//! Text that a const fn can write: what the compiler says when a law is broken.
//!
//! ```text
//!  Text::new("event type ").quoted("PoolAlloc").then(": code ").code(0x2A) …
//!  ─▶ breaks_a_law(): panic, a compile error
//! ```

/// The most that a message may have, in bytes; the rest is cut off.
const TEXT_SIZE_MAX: usize = 2048;

/// A message.
#[derive(Clone, Copy)]
pub(crate) struct Text {
    bytes: [u8; TEXT_SIZE_MAX],
    size: usize,
}

impl Text {
    /// A message that begins so.
    pub(crate) const fn new(text: &str) -> Text {
        Text { bytes: [0; TEXT_SIZE_MAX], size: 0 }.then(text)
    }

    /// More text. What does not fit is left off whole, so that it stays UTF-8.
    pub(crate) const fn then(mut self, text: &str) -> Text {
        let text = text.as_bytes();
        if text.len() <= TEXT_SIZE_MAX - self.size {
            let mut index = 0;
            while index < text.len() {
                self.bytes[self.size + index] = text[index];
                index += 1;
            }
            self.size += text.len();
        }
        self
    }

    /// A name.
    pub(crate) const fn quoted(self, name: &str) -> Text {
        self.then("`").then(name).then("`")
    }

    /// A number in decimal.
    pub(crate) const fn number(self, number: usize) -> Text {
        let text = if number >= 10 { self.number(number / 10) } else { self };
        text.digit((number % 10) as u8)
    }

    /// A code, as it is written in the list.
    pub(crate) const fn code(self, code: u16) -> Text {
        let [high, low] = code.to_be_bytes();
        let text = self.then("0x").digit(high >> 4).digit(high & 15);
        text.digit(low >> 4).digit(low & 15)
    }

    const fn digit(mut self, digit: u8) -> Text {
        if self.size < TEXT_SIZE_MAX {
            self.bytes[self.size] = b"0123456789ABCDEF"[digit as usize];
            self.size += 1;
        }
        self
    }

    /// Complains.
    #[track_caller]
    pub(crate) const fn says(self, what: &str) -> ! {
        self.then(": ").then(what).breaks_a_law()
    }

    /// Complains of something longer than it may be.
    #[track_caller]
    pub(crate) const fn says_size_max(self, what: &str, size_max: usize) -> ! {
        let text = self.then(": ").then(what).then(" has more than ");
        text.number(size_max).then(" bytes").breaks_a_law()
    }

    /// Complains of what has been written.
    #[track_caller]
    pub(crate) const fn breaks_a_law(self) -> ! {
        panic!("{}", self.as_str())
    }

    const fn as_str(&self) -> &str {
        match core::str::from_utf8(self.bytes.split_at(self.size).0) {
            Ok(text) => text,
            Err(_) => "a law of the registry is broken",
        }
    }
}

/// `==` for strings, in a const.
pub(crate) const fn is_equal(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut index = 0;
    while index < a.len() && a[index] == b[index] {
        index += 1;
    }
    index == a.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_put_together_of_names_numbers_and_codes() {
        let text = Text::new("event type ").quoted("Größe").then(": ").number(3968);
        let text = text.then(" ").code(0x002A).then(" ").number(0);
        assert_eq!(text.as_str(), "event type `Größe`: 3968 0x002A 0");
    }

    #[test]
    fn text_that_does_not_fit_is_left_off() {
        const LONG: [u8; 1000] = [b'x'; 1000];
        let long = core::str::from_utf8(&LONG).unwrap();
        let text = Text::new(long).then(long).then(long).then("!");
        assert_eq!(text.size, 2001);
        assert!(text.as_str().ends_with("x!"));
    }
}
