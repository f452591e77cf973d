//! Doc strings: the lines of a `///` comment made into one string, by the compiler.
//!
//! ```text
//!  /// Memory was                  " Memory was", " handed out."  ─▶  "Memory was handed out."
//!  /// handed out.
//! ```
//!
//! Design: `.reg.doc`, `.reg.param.doc` in `design/telemetry.md`.

/// Size of the lines joined, in bytes.
#[doc(hidden)]
pub const fn joined_size(lines: &[&str]) -> usize {
    let mut size = 0;
    let mut index = 0;
    while index < lines.len() {
        let line = lines[index].trim_ascii();
        if !line.is_empty() {
            size += line.len() + if size > 0 { 1 } else { 0 };
        }
        index += 1;
    }
    size
}

/// The lines, white space at both ends taken off, joined by single spaces. Empty lines count for
/// nothing.
#[doc(hidden)]
pub const fn joined<const SIZE: usize>(lines: &[&str]) -> [u8; SIZE] {
    let mut bytes = [b' '; SIZE];
    let mut size = 0;
    let mut index = 0;
    while index < lines.len() {
        let line = lines[index].trim_ascii().as_bytes();
        if !line.is_empty() {
            size += if size > 0 { 1 } else { 0 };
            let mut at = 0;
            while at < line.len() {
                bytes[size + at] = line[at];
                at += 1;
            }
            size += line.len();
        }
        index += 1;
    }
    bytes
}

/// Bytes that came from a `str`, as a `str` again.
#[doc(hidden)]
pub const fn text(bytes: &[u8]) -> &str {
    match core::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("a doc string is not UTF-8"),
    }
}

/// A name as it is meant: the Rust name without the `r#` of a keyword.
#[doc(hidden)]
pub const fn name(name: &str) -> &str {
    match name.as_bytes() {
        [b'r', b'#', rest @ ..] => text(rest),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_joined_by_single_spaces() {
        const LINES: &[&str] = &["", "  The first, ", "", " the second. "];
        const JOINED: [u8; joined_size(LINES)] = joined(LINES);
        assert_eq!(text(&JOINED), "The first, the second.");
        assert_eq!(joined_size(&[]), 0);
    }

    #[test]
    fn a_name_loses_the_mark_of_a_keyword() {
        assert_eq!(name("r#ref"), "ref");
        assert_eq!(name("rest"), "rest");
    }
}
