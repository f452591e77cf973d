//! Recording around the calls of an allocator, for [`alloc`](super::alloc) and for `interpose`.
//!
//! ```text
//!  before(Free) ─▶ free(p)        p = malloc(n) ─▶ after(Allocate)
//! ```
//!
//! Design: `.sol.alloc` in `design/telemetry.md`.

use super::fast_path::{is_recorded, record};
use crate::block::clock;
use crate::ends::crash;
use crate::os::entry::without_unwinding;
use crate::os::sys;
use eventdef::Event;

pub use crate::block::clock::{monotonic, ticks, wait_for_loads};
pub use crate::os::observers::{Observer, Turn, observe, try_turn};
pub use crate::os::pages::{each_mapped, place, zeroed_words};
pub use crate::os::report::say;
pub use crate::os::sys::{
    is_thread, rename_variables, thread_number, with_environment, without_signals,
};
pub use crate::record::setup::expect_thread_end;
pub use crate::record::strings::naming;
pub use crate::service::flush::flush_some;

/// Records an event before the call that it describes.
#[inline(always)]
pub fn before<E: Event>(event: impl FnOnce() -> E) {
    if is_recorded::<E>() {
        crash::note_allocator();
        let event = event();
        without_unwinding(|| record(event));
    }
}

/// Records an event after the call that it describes.
#[inline(always)]
pub fn after<E: Event>(event: impl FnOnce() -> E) {
    if is_recorded::<E>() {
        // The processor may run the load of the address after the read of the counter. Then the
        // address would be seen handed out before it was given up.
        clock::wait_for_loads();
        before(event);
    }
}

/// Does work of a recorder whose system calls would otherwise end a thread that is cancelled.
pub fn uncancelled<T>(work: impl FnOnce() -> T) -> T {
    let _uncancelled = sys::Uncancelled::begin();
    work()
}
