//! Whose calls the preloaded library records.
//!
//! ```text
//!  What ─▶ the kind of their events, the function that a program calls, words for messages
//! ```
//!
//! Design: `.rep.record` in `design/replay.md`, `.calls.instrumented` in `design/calls.md`.

/// Whose calls are recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum What {
    #[default]
    Malloc,
    /// Functions that a compiler built with `-finstrument-functions`.
    Functions,
}

impl What {
    /// Returns the kind of their events.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            What::Malloc => "Object",
            What::Functions => "Call",
        }
    }

    /// Returns the function that a program calls, and that the library has in its place.
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            What::Malloc => "malloc",
            What::Functions => "__cyg_profile_func_enter",
        }
    }

    /// Returns what a program did that has no events.
    pub(crate) fn never(self) -> &'static str {
        match self {
            What::Malloc => "it never called malloc",
            What::Functions => "it called no function built with -finstrument-functions",
        }
    }
}
