//! Names that are safe for a terminal.
//!
//! Design: `.req.port` in `design/telemetry.md`.

use crate::format::text::{OneLine, is_steering};

/// Returns text as one line that cannot steer a terminal, so that no name can forge a line.
pub(crate) fn clean(bytes: &[u8]) -> Box<str> {
    match str::from_utf8(bytes) {
        Ok(text) if !text.contains(is_steering) => text.into(),
        _ => OneLine(bytes).to_string().into(),
    }
}

/// Returns a name that is padded with zeros (`.header.names`), cleaned.
pub(crate) fn padded_name(bytes: &[u8]) -> Box<str> {
    let size = memchr::memchr(0, bytes).unwrap_or(bytes.len());
    clean(bytes.get(..size).unwrap_or_default())
}
