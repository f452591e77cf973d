//! The annotation `event!`.
//!
//! ```text
//!  event!(PoolAlloc, pool, addr, size)  ──▶  if recorded & kind { record(PoolAlloc { … }) }
//! ```
//!
//! Design: `.annot` in `design/telemetry.md`.

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
