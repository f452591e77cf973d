//! The annotation `event!`, and the variety: which annotations are compiled in.
//!
//! ```text
//!  event!(PoolAlloc, pool, addr, size)  ──▶  if recorded & kind { record(PoolAlloc { … }) }
//!
//!  rash  none            hot  rows that are *always*            cool  all
//!  feature `rash`        feature `hot`, release builds          feature `cool`, debug builds
//! ```
//!
//! The variety is chosen here, once. All other code is an ordinary `if`, so the compiler still
//! checks the types of the annotations that it leaves out. Design: `.annot`, `.sol.variety` in
//! `design/telemetry.md`.

/// Records an event if its kind is switched on. Otherwise the annotation costs a load, a test and a
/// branch, and does not evaluate its arguments.
///
/// The arguments are in the order of the registry, or named. A name without a value stands for the
/// variable of that name.
///
/// ```
/// mod heap {
///     telemetry::events! {
///         /// The events of a heap.
///         registry "heap" version(1, 0, 0);
///         kinds standard;
///
///         /// Memory was handed out.
///         PoolAlloc(0x0001, always, Object) {
///             /// the pool
///             pool: P,
///             /// the memory
///             addr: A,
///             /// its size in bytes
///             size: W,
///         }
///     }
/// }
/// use heap::PoolAlloc;
/// use telemetry::event;
///
/// let (pool, addr) = (&"a pool", 0x1000);
/// event!(PoolAlloc, pool, addr, 16usize);
/// event!(heap::PoolAlloc { pool, addr, size: 16usize });
/// ```
#[macro_export]
macro_rules! event {
    ($($event:ident)::+ { $($fields:tt)* }) => {
        if $crate::__private::is_recorded::<$($event)::+>() {
            $crate::__private::record(
                $crate::__private::eventdef::event_value!($($event)::+ { $($fields)* }),
            );
        }
    };
    ($event:path $(, $value:expr)* $(,)?) => {
        if $crate::__private::is_recorded::<$event>() {
            $crate::__private::record(
                $crate::__private::eventdef::event_value!($event $(, $value)*),
            );
        }
    };
}

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
    fn hot_admits_only_always_and_rash_admits_nothing() {
        let admitted =
            |variety: Variety| [true, false].map(|always| Variety::admits(variety, always));
        assert_eq!(admitted(Variety::Cool), [true, true]);
        assert_eq!(admitted(Variety::Hot), [true, false]);
        assert_eq!(admitted(Variety::Rash), [false, false]);
    }
}
