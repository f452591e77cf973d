//! Doc strings: the compiler joins the lines of a `///` comment into one string.
//!
//! ```text
//!  /// Memory was                  " Memory was", " handed out."  ─▶  "Memory was handed out."
//!  /// handed out.
//! ```
//!
//! Design: `.reg.doc`, `.reg.param.doc` in `design/telemetry.md`.

/// Returns the size of the joined lines, in bytes.
pub const fn joined_size(lines: &[&str]) -> usize {
    join::<0>(lines).1
}

/// Joins the lines by single spaces, without their outer white space and without empty lines.
pub const fn joined<const SIZE: usize>(lines: &[&str]) -> [u8; SIZE] {
    join(lines).0
}

/// Returns the joined lines as far as they fit, and their size.
const fn join<const SIZE: usize>(lines: &[&str]) -> ([u8; SIZE], usize) {
    let mut bytes = [b' '; SIZE];
    let (mut size, mut index) = (0, 0);
    while index < lines.len() {
        let line = lines[index].trim_ascii().as_bytes();
        size += if size > 0 && !line.is_empty() { 1 } else { 0 };
        let mut at = 0;
        while at < line.len() {
            if size < SIZE {
                bytes[size] = line[at];
            }
            size += 1;
            at += 1;
        }
        index += 1;
    }
    (bytes, size)
}

/// Returns the bytes of a `str` as a `str`.
pub const fn text(bytes: &[u8]) -> &str {
    match core::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("a doc string is not UTF-8"),
    }
}

/// Returns a Rust name without the `r#` of a keyword.
pub const fn name(name: &str) -> &str {
    match name.as_bytes() {
        [b'r', b'#', rest @ ..] => text(rest),
        _ => name,
    }
}
