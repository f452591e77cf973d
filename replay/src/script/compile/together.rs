//! Keeps threads together: bounds how far one may run ahead, and makes them meet.
//!
//! ```text
//!  operations as recorded  ├── stretch ──┼── stretch ──┼── stretch ──┤  half a window each
//!  waits                         the hub of a stretch ─▶ the threads of the last but one
//!                                         the others  ─▶ their hub
//! ```
//!
//! Design: `.rep.skew`, `.rep.edge` in `design/replay.md`.

use super::{Compiler, List};
use crate::script::order::Wait;
use crate::workload::OpKind;
use std::mem;

impl Compiler {
    /// Begins an operation of a thread, which waits for threads that are too far behind.
    #[inline]
    pub(super) fn begin(&mut self, thread: u32) {
        let (next, peak) = (self.next(thread), self.peak);
        self.after_peak.get_or_insert((thread, next));
        self.list(thread, |list| {
            if list.at_peak.1 < peak {
                list.at_peak = (next, peak);
            }
        });
        if let Some(skew) = self.mode.skew.filter(|_| !self.mode.is_single) {
            self.keep_together(thread, next, skew);
        }
    }

    /// Half a window of operations is a stretch. Its first thread is its hub: it waits for all
    /// threads of the last stretch but one, and for the hub before, which stands for all earlier
    /// ones. The others wait for the hub alone, so that waits are linear in the threads.
    #[inline]
    fn keep_together(&mut self, thread: u32, next: u32, skew: u32) {
        match self.window.left.checked_sub(1) {
            Some(left) => self.window.left = left,
            None => self.new_stretch(thread, next, (skew / 2).max(1)),
        }
        let window = &mut self.window;
        if thread as usize >= window.of_thread.len() {
            window.of_thread.resize(thread as usize + 1, 0);
        }
        let Some(of_thread) = window.of_thread.get_mut(thread as usize) else { return };
        if *of_thread == window.index {
            return;
        }
        *of_thread = window.index;
        window.threads.push(thread);
        self.after_hub(thread, next);
    }

    /// Begins a stretch with an operation of a thread, its hub.
    fn new_stretch(&mut self, hub: u32, next: u32, length: u32) {
        let ended = mem::take(&mut self.window.threads);
        let ended = ended.into_iter().map(|thread| (thread, self.next(thread).saturating_sub(1)));
        let ended = ended.collect();
        let done = mem::replace(&mut self.window.before, ended);
        for &(other, last) in done.iter().filter(|(other, _)| *other != hub) {
            self.order.after(hub, next, other, last);
        }
        self.after_hub(hub, next);
        self.order.all_know(&done);
        self.window.hub = Some((hub, next));
        self.window.index += 1;
        self.window.left = length - 1;
    }

    /// Orders an op of a thread after the first operation of the hub.
    #[inline]
    fn after_hub(&mut self, thread: u32, next: u32) {
        if let Some((hub, first)) = self.window.hub.filter(|(hub, _)| *hub != thread) {
            self.order.after(thread, next, hub, self.end_of(hub, first));
        }
    }

    /// Returns the last op of the operation that begins with this op.
    pub(super) fn end_of(&self, thread: u32, first: u32) -> u32 {
        let ops = self.lists.get(thread as usize).map_or(&[][..], |list| &list.ops);
        let kind = |at: u32| ops.get(at as usize).map(|op| op.kind());
        let op = first + u32::from(kind(first) == Some(OpKind::Prefix));
        op + u32::from(kind(op) == Some(OpKind::Reallocate))
    }

    /// Makes all threads meet where the most bytes were live: none goes on before all have arrived.
    pub(super) fn meet(&mut self) {
        let is_in = |list: &&List| !list.ops.is_empty();
        if self.mode.skew.is_none() || self.lists.iter().filter(is_in).count() < 2 {
            return;
        }
        // The first operation after the peak waits for all threads, and all others wait for that
        // operation. The threads that it waits for were recorded before it, and the waiting ones
        // after it.
        let Some((hub, first)) = self.after_peak else { return };
        let done = self.end_of(hub, first);
        for (thread, list) in
            self.lists.iter().enumerate().filter(|(thread, _)| *thread != hub as usize)
        {
            let (thread, count) = (thread as u32, list.ops.len() as u32);
            let (at_peak, peak) = list.at_peak;
            let at_peak = if peak < self.peak { count } else { at_peak };
            if let Some(done) = at_peak.checked_sub(1) {
                self.order.add(hub, Wait { before: first, thread, done });
            }
            if at_peak < count {
                self.order.add(thread, Wait { before: at_peak, thread: hub, done });
            }
        }
        self.meeting = Some((hub, first));
    }
}
