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

/// Joins the lines by single spaces, without their outer white space and without empty lines.
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
