//! Core's atomics, which a test can interrupt: a function runs before an operation, as a signal
//! handler may.
//!
//! ```text
//!  arm(k, handler) ─▶ operation · operation · … ─▶ the k-th: handler, then the operation
//! ```

use core::sync::atomic::{self, Ordering};
use std::cell::Cell;

/// The number of points before the handler runs, and the handler.
type Armed = (u64, fn());

thread_local! {
    static ARMED: Cell<Option<Armed>> = const { Cell::new(None) };
}

/// Lets `handler` run once on this thread, at the `index`th point from now.
pub(crate) fn arm(index: u64, handler: fn()) {
    ARMED.set(Some((index, handler)));
}

/// Cancels the handler; returns false if it ran already.
pub(crate) fn disarm() -> bool {
    ARMED.take().is_some()
}

/// Passes a point, where the handler may run.
#[inline]
pub(crate) fn pass() {
    match ARMED.take() {
        None => {}
        Some((0, handler)) => handler(),
        Some((index, handler)) => ARMED.set(Some((index - 1, handler))),
    }
}

pub(crate) fn compiler_fence(ordering: Ordering) {
    pass();
    atomic::compiler_fence(ordering);
}

macro_rules! atomic {
    ($name:ident $(<$param:ident>)?, $value:ty; $($change:ident)*) => {
        #[derive(Debug)]
        #[repr(transparent)]
        pub(crate) struct $name $(<$param>)? (atomic::$name $(<$param>)?);

        #[allow(dead_code, reason = "not all are used with each type")]
        impl $(<$param>)? $name $(<$param>)? {
            pub(crate) const fn new(value: $value) -> Self {
                Self(atomic::$name::new(value))
            }

            pub(crate) fn load(&self, ordering: Ordering) -> $value {
                pass();
                self.0.load(ordering)
            }

            pub(crate) fn store(&self, value: $value, ordering: Ordering) {
                pass();
                self.0.store(value, ordering);
            }

            pub(crate) fn swap(&self, value: $value, ordering: Ordering) -> $value {
                pass();
                self.0.swap(value, ordering)
            }

            pub(crate) fn compare_exchange(
                &self,
                old: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                pass();
                self.0.compare_exchange(old, new, success, failure)
            }

            $(
                pub(crate) fn $change(&self, value: $value, ordering: Ordering) -> $value {
                    pass();
                    self.0.$change(value, ordering)
                }
            )*

            pub(crate) fn fetch_update(
                &self,
                success: Ordering,
                failure: Ordering,
                change: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                pass();
                self.0.fetch_update(success, failure, change)
            }
        }
    };
}

atomic!(AtomicBool, bool;);
atomic!(AtomicU8, u8; fetch_add fetch_sub fetch_or fetch_and);
atomic!(AtomicU32, u32; fetch_add fetch_sub fetch_or fetch_and);
atomic!(AtomicU64, u64; fetch_add fetch_sub fetch_or fetch_and);
atomic!(AtomicUsize, usize; fetch_add fetch_sub fetch_or fetch_and);
atomic!(AtomicPtr<T>, *mut T;);
