//! The variety: which annotations are compiled in.
//!
//! ```text
//!  rash  none            hot  rows that are *always*            cool  all
//!  feature `rash`        feature `hot`, release builds          feature `cool`, debug builds
//! ```
//!
//! The variety is chosen here, once. All other code is an ordinary `if`, so the compiler still
//! checks the types of the annotations that it leaves out. Design: `.sol.variety` in
//! `design/telemetry.md`.

/// Which annotations are compiled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variety {
    /// No annotation.
    Rash,
    /// Annotations whose event type is *always*.
    Hot,
    /// All annotations.
    Cool,
}

/// The variety of this build. If several features are on, the one with the most annotations wins.
/// Without a feature, a build with debug assertions is cool, and any other build hot.
pub const VARIETY: Variety = if cfg!(feature = "cool") {
    Variety::Cool
} else if cfg!(feature = "hot") {
    Variety::Hot
} else if cfg!(feature = "rash") {
    Variety::Rash
} else if cfg!(debug_assertions) {
    Variety::Cool
} else {
    Variety::Hot
};

impl Variety {
    /// Returns whether an annotation is compiled in, given whether its event type is *always*.
    #[inline(always)]
    #[must_use]
    pub const fn admits(self, always: bool) -> bool {
        match self {
            Variety::Rash => false,
            Variety::Hot => always,
            Variety::Cool => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Variety;

    #[test]
    fn hot_admits_only_what_is_always_and_rash_nothing() {
        let admitted =
            |variety: Variety| [true, false].map(|always| Variety::admits(variety, always));
        assert_eq!(admitted(Variety::Cool), [true, true]);
        assert_eq!(admitted(Variety::Hot), [true, false]);
        assert_eq!(admitted(Variety::Rash), [false, false]);
    }
}
