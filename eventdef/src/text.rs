//! Text that a const fn can write: the compiler's message when a list breaks a law.
//!
//! ```text
//!  Text::new("event type ").quoted("PoolAlloc").then(": code ").code(0x2A) …
//!  ─▶ breaks_a_law(): panic, a compile error
//! ```

/// The maximum size of a message, in bytes.
const TEXT_SIZE_MAX: usize = 2048;

#[derive(Clone, Copy)]
pub(crate) struct Text {
    bytes: [u8; TEXT_SIZE_MAX],
    size: usize,
}

impl Text {
    /// Begins a message.
    pub(crate) const fn new(text: &str) -> Text {
        Text { bytes: [0; TEXT_SIZE_MAX], size: 0 }.then(text)
    }

    /// Appends text, or nothing if the text does not fit: so the message stays UTF-8.
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

    pub(crate) const fn quoted(self, name: &str) -> Text {
        self.then("`").then(name).then("`")
    }

    /// Appends a number in decimal.
    pub(crate) const fn number(self, number: usize) -> Text {
        let text = if number >= 10 { self.number(number / 10) } else { self };
        text.digit((number % 10) as u8)
    }

    /// Appends a code as the list has it.
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

    /// Appends the breach, and panics.
    #[track_caller]
    pub(crate) const fn says(self, what: &str) -> ! {
        self.then(": ").then(what).breaks_a_law()
    }

    /// Panics if a name is too long, or a doc string missing.
    #[track_caller]
    pub(crate) const fn check(self, name: &str, size_max: usize, doc: &str) {
        if name.len() > size_max {
            let text = self.then(": its name has more than ").number(size_max);
            text.then(" bytes").breaks_a_law()
        }
        if doc.is_empty() {
            self.says("it has no doc string")
        }
    }

    /// Panics with the message.
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
    fn text_that_does_not_fit_is_left_off() {
        const LONG: [u8; 1000] = [b'x'; 1000];
        let long = core::str::from_utf8(&LONG).unwrap();
        let text = Text::new(long).then(long).then(long).then("!");
        assert_eq!(text.size, 2001);
        assert!(text.as_str().ends_with("x!"));
    }
}
