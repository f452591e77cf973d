//! `event!`, the annotation.
//!
//! ```text
//!  event!(PoolAlloc, pool, addr, size)  ──▶  if recorded & kind { record(PoolAlloc { … }) }
//! ```
//!
//! Design: `.annot` in `design/telemetry.md`.

/// Records an event, if its kind is switched on. Otherwise it is one load, one test and one branch,
/// and the arguments are not evaluated.
///
/// The arguments are in the order of the registry, or named; a field without a value takes the
/// variable of its name.
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
        if $crate::is_recorded::<$($event)::+>() {
            $crate::record($crate::__eventdef::event_value!($($event)::+ { $($fields)* }));
        }
    };
    ($event:path $(, $value:expr)* $(,)?) => {
        if $crate::is_recorded::<$event>() {
            $crate::record($crate::__eventdef::event_value!($event $(, $value)*));
        }
    };
}
