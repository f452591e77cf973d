//! What is recorded of a call: what hands memory out after it, what gives it up before.
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
use crate::thread::{self, Doing, Local};
use crate::{real, stack, touched};
use telemetry::__private::{after, before};

/// A call of the program's that is being done.
#[derive(Clone, Copy)]
pub(crate) struct Turn<'a> {
    local: &'a Local,
    /// What the thread was doing when it called.
    before: Doing,
}

/// Does a call of the program's. What the real function asks for meanwhile is not recorded.
#[inline(always)]
pub(crate) fn during<T>(work: impl FnOnce(Turn<'_>) -> T) -> T {
    thread::with(|local| {
        let before = local.doing.get();
        if before == Doing::Nothing {
            local.doing.set(Doing::Inside);
        }
        let result = work(Turn { local, before });
        if before == Doing::Nothing {
            local.doing.set(Doing::Nothing);
        }
        result
    })
}

/// Does work of this library's, of which what it asks for is recorded after.
pub(crate) fn while_recording(work: impl FnOnce()) {
    thread::with(|local| {
        if local.doing.get() == Doing::Nothing {
            local.doing.set(Doing::Recording);
            work();
            settle(local);
            local.doing.set(Doing::Nothing);
        }
    });
}

impl Turn<'_> {
    /// Records a call.
    #[inline(always)]
    pub(crate) fn record(self, call: Call) {
        if self.before == Doing::Nothing {
            self.local.doing.set(Doing::Recording);
            touched::observe(call);
            let stack = if stack::is_on() && call.is_handing_out() { stack::current() } else { 0 };
            record_call(call, stack);
            if self.local.has_kept() {
                settle(self.local);
            }
            self.local.doing.set(Doing::Inside);
        } else if self.before == Doing::Recording {
            self.local.keep(call);
        }
    }
}

/// Records what was kept.
#[cold]
#[inline(never)]
fn settle(local: &Local) {
    let missed = local.give_kept(|call| record_call(call, 0));
    if missed != 0 {
        before(|| Missed::new(missed));
    }
}

#[inline(always)]
fn record_call(call: Call, stack: u32) {
    match call {
        Call::Malloc { address, size } => match u32::try_from(size) {
            Ok(size) => handed_out(|| Malloc::new(address, size, stack)),
            Err(_) => handed_out(|| MallocLarge::new(address, size, stack)),
        },
        Call::Calloc { address, count, size } => {
            handed_out(|| Calloc::new(address, count, size, stack));
        }
        Call::ReallocBegin { address } => before(|| ReallocBegin::new(address)),
        Call::Realloc { address, size } => match u32::try_from(size) {
            Ok(size) => handed_out(|| Realloc::new(address, size, stack)),
            Err(_) => handed_out(|| ReallocLarge::new(address, size, stack)),
        },
        Call::Free { address } => before(|| Free::new(address)),
        Call::AlignedAlloc { address, alignment, size } => {
            handed_out(|| AlignedAlloc::new(address, alignment, size, stack));
        }
        Call::PosixMemalign { address, alignment, size } => {
            handed_out(|| PosixMemalign::new(address, alignment, size, stack));
        }
        Call::Memalign { address, alignment, size } => {
            handed_out(|| Memalign::new(address, alignment, size, stack));
        }
        Call::Valloc { address, size } => {
            handed_out(|| Valloc::new(address, real::page_size(), size, stack));
        }
        Call::Pvalloc { address, size } => {
            handed_out(|| Pvalloc::new(address, real::page_size(), size, stack));
        }
        Call::UsableSize { address, size } => before(|| UsableSize::new(address, size)),
    }
}

/// Records that memory was handed out.
#[inline(always)]
fn handed_out<E: telemetry::Event>(event: impl FnOnce() -> E) {
    // Where there is one thread its events are in their order, whatever the counter says.
    if real::is_alone() {
        before(event);
    } else {
        after(event);
    }
}
