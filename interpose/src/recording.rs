//! When a call is recorded: after it if it hands memory out, before it if it gives memory up.
//!
//! ```text
//!  begin ─▶ the real function ─▶ handed_out          begin ─▶ given_up ─▶ the real function ─▶ end
//! ```
//!
//! Design: `.rep.record.order`, `.rep.record.nested` in `design/replay.md`.

use crate::events::{
    AlignedAlloc, Call, Calloc, Free, Malloc, MallocLarge, Memalign, Missed, PosixMemalign,
    Pvalloc, Realloc, ReallocBegin, ReallocLarge, UsableSize, Valloc,
};
use crate::thread::{self, Activity, Local};
use crate::{functions, real, stack, touched};
use telemetry::__private::{after, before};

/// A call of the program that is in progress.
#[derive(Clone, Copy)]
pub(crate) struct Intercepted<'a> {
    /// `None`: functions are recorded, and not this.
    local: Option<&'a Local>,
    /// The thread's activity when it called.
    before: Activity,
}

/// Carries out a call of the program. Calls that the real function makes meanwhile are not
/// recorded.
#[inline(always)]
pub(crate) fn intercept<T>(work: impl FnOnce(Intercepted<'_>) -> T) -> T {
    if functions::is_on() {
        return work(Intercepted { local: None, before: Activity::Inside });
    }
    thread::with(|local| {
        let before = local.activity.get();
        if before == Activity::Idle {
            local.activity.set(Activity::Inside);
        }
        let result = work(Intercepted { local: Some(local), before });
        if before == Activity::Idle {
            local.activity.set(Activity::Idle);
        }
        result
    })
}

/// Runs work of this library; allocations that this work causes are recorded after it.
pub(crate) fn while_recording(work: impl FnOnce()) {
    thread::with(|local| {
        if local.activity.get() == Activity::Idle {
            local.activity.set(Activity::Recording);
            work();
            record_kept(local);
            local.activity.set(Activity::Idle);
        }
    });
}

impl Intercepted<'_> {
    #[inline(always)]
    pub(crate) fn record(self, call: Call) {
        let Some(local) = self.local else { return };
        if self.before == Activity::Idle {
            local.activity.set(Activity::Recording);
            touched::observe(call);
            let stack = if stack::is_on() && call.is_handing_out() { stack::current() } else { 0 };
            record_call(call, stack);
            if local.has_kept() {
                record_kept(local);
            }
            local.activity.set(Activity::Inside);
        } else if self.before == Activity::Recording {
            local.keep(call);
        }
    }
}

#[cold]
#[inline(never)]
fn record_kept(local: &Local) {
    let missed = local.drain_kept(|call| record_call(call, 0));
    if missed != 0 {
        before(|| Missed::new(missed));
    }
}

#[inline(always)]
fn record_call(call: Call, stack: u32) {
    macro_rules! handed_out {
        ($event:ident, $($value:expr),+) => { handed_out(|| $event::new($($value),+, stack)) };
    }
    match call {
        Call::Malloc { address, size } => match u32::try_from(size) {
            Ok(size) => handed_out!(Malloc, address, size),
            Err(_) => handed_out!(MallocLarge, address, size),
        },
        Call::Calloc { address, count, size } => handed_out!(Calloc, address, count, size),
        Call::ReallocBegin { address } => before(|| ReallocBegin::new(address)),
        Call::Realloc { address, size } => match u32::try_from(size) {
            Ok(size) => handed_out!(Realloc, address, size),
            Err(_) => handed_out!(ReallocLarge, address, size),
        },
        Call::Free { address } => before(|| Free::new(address)),
        Call::AlignedAlloc { address, alignment, size } => {
            handed_out!(AlignedAlloc, address, alignment, size);
        }
        Call::PosixMemalign { address, alignment, size } => {
            handed_out!(PosixMemalign, address, alignment, size);
        }
        Call::Memalign { address, alignment, size } => {
            handed_out!(Memalign, address, alignment, size);
        }
        Call::Valloc { address, size } => handed_out!(Valloc, address, real::page_size(), size),
        Call::Pvalloc { address, size } => handed_out!(Pvalloc, address, real::page_size(), size),
        Call::UsableSize { address, size } => before(|| UsableSize::new(address, size)),
    }
}

#[inline(always)]
fn handed_out<E: telemetry::Event>(event: impl FnOnce() -> E) {
    // The events of a single thread are in order, whatever the counter says.
    if real::is_alone() {
        before(event);
    } else {
        after(event);
    }
}
