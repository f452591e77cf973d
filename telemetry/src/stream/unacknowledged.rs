//! Events in parts that the host lacks: their buffers, and which of them it refused.
//!
//! ```text
//!  put ─▶ waits ──── the host takes its part, or a whole block with the same events ──▶ gone
//!           │ refused                                                                     ▲
//!           └───▶ counted as lost, as long as it waits (losses.rs) ───────────────────────┘
//! ```
//!
//! Under the lock of the stream. Events are distinguished by buffer and number, since a part may be
//! carried into another volume and be in two blocks. Design: `.sol.outage` in
//! `design/telemetry.md`; `.event.identity` in `design/format.md`.

use crate::block::memory;
use crate::os::atomic::{AtomicUsize, Ordering};
use crate::os::pages;
use crate::registry::{registration, unhoused};
use eventlog::format::{BLOCK_HEADER_SIZE, BlockHeader};

#[derive(Clone, Copy, bytemuck::Zeroable)]
struct Part {
    first: u64,
    count: u32,
    buffer: u32,
    registry: u16,
    kind: u8,
    is_refused: bool,
}

/// The number of parts that wait. Relaxed: a thread that put one reads it later, and sees its own
/// part, or a part less.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Returns whether some part waits: without the lock, so perhaps no longer.
pub(crate) fn is_some() -> bool {
    COUNT.load(Ordering::Relaxed) != 0
}

pub(crate) struct Waiting {
    parts: Option<&'static mut [Part]>,
    count: usize,
}

impl Waiting {
    pub(crate) const NONE: Waiting = Waiting { parts: None, count: 0 };

    /// Maps its memory: for the greatest number of parts in a parts block, and one that is carried.
    /// Returns false if the system has none.
    pub(crate) fn prepare(&mut self) -> bool {
        if self.parts.is_none() {
            self.parts = pages::map_slice(2 * memory::block_size() / BLOCK_HEADER_SIZE);
        }
        self.parts.is_some()
    }

    /// Forgets all parts, in a forked child. `is_broken`: a missing thread may have its memory.
    pub(crate) fn restart(&mut self, is_broken: bool) {
        if is_broken {
            self.parts = None;
        }
        self.count = 0;
        COUNT.store(0, Ordering::Relaxed);
        unhoused::forget_refused();
    }

    /// Notes that a part was put. (The store's parts are in memory for ever, and put again.)
    pub(crate) fn put(&mut self, header: &BlockHeader) {
        let count = header.count.get();
        let Some(parts) = self.parts.as_deref_mut() else { return };
        let Some(place) = parts.get_mut(self.count) else { return };
        if count != 0 && header.registry.get() != 0 {
            *place = Part {
                first: header.first.get(),
                count,
                buffer: header.buffer.get(),
                registry: header.registry.get(),
                kind: header.kind,
                is_refused: false,
            };
            self.set_count(self.count + 1);
        }
    }

    /// Notes that the host refused the waiting parts.
    pub(crate) fn refuse(&mut self) {
        for part in self.waiting().iter_mut().filter(|part| !part.is_refused) {
            part.is_refused = true;
            unhoused::refuse(part.slot(), u64::from(part.count));
        }
    }

    /// Returns the number of waiting events of a buffer.
    pub(crate) fn count_of(&mut self, buffer: u32) -> u32 {
        let of_buffer = |part: &&mut Part| part.buffer == buffer;
        self.waiting().iter_mut().filter(of_buffer).map(|part| part.count).sum()
    }

    /// Notes that the log has all waiting parts.
    pub(crate) fn take_all(&mut self) {
        self.take_if(|_| true);
    }

    /// Notes that the log has the events of this block or part, not the buffer's other ones.
    pub(crate) fn take(&mut self, header: &BlockHeader) {
        let first = header.first.get();
        let numbers = first..first + u64::from(header.count.get());
        let buffer = header.buffer.get();
        self.take_if(|part| part.buffer == buffer && numbers.contains(&part.first));
    }

    fn take_if(&mut self, is_taken: impl Fn(&Part) -> bool) {
        let parts = self.waiting();
        let mut kept = 0;
        for index in 0..parts.len() {
            let part = parts[index];
            if !is_taken(&part) {
                parts[kept] = part;
                kept += 1;
            } else if part.is_refused {
                unhoused::forgive(part.slot(), u64::from(part.count));
            }
        }
        self.set_count(kept);
    }

    fn waiting(&mut self) -> &mut [Part] {
        let parts = self.parts.as_deref_mut().unwrap_or_default();
        let count = self.count.min(parts.len());
        &mut parts[..count]
    }

    fn set_count(&mut self, count: usize) {
        self.count = count;
        COUNT.store(count, Ordering::Relaxed);
    }
}

impl Part {
    fn slot(&self) -> Option<usize> {
        registration::slot_in(self.registry, self.kind)
    }
}
