//! Names as a terminal may show them.
//!
//! Design: `.req.port` in `design/telemetry.md`.

use crate::format::text::{OneLine, is_steering};

/// Text from the log as one line in which nothing steers a terminal, so that no name can forge a
/// line.
pub(crate) fn clean(bytes: &[u8]) -> Box<str> {
    match str::from_utf8(bytes) {
        Ok(text) if !text.contains(is_steering) => text.into(),
        _ => OneLine(bytes).to_string().into(),
    }
}
