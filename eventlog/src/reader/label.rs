//! What is called what, as of the time read so far.
//!
//! ```text
//!  Intern (stringId, string) ──▶ strings ─┐
//!  Label (address, stringId) ──▶ labels ──┴──▶ value ──▶ string
//! ```
//!
//! Design: `.store.intern`, `.store.label` in `design/format.md`.

/// Strings, and what they label, in one stream.
#[derive(Clone, Debug, Default)]
pub struct Labels {}

impl Labels {
    /// What a pointer, address or word is called.
    pub fn label(&self, value: u64) -> Option<&[u8]> {
        let _ = value;
        None
    }
}
