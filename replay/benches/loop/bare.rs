//! The lower bound: the same calls of malloc and free, with nothing else.
//!
//! ```text
//!  for (slot, size): size is 0 ? free(slots[slot]) : slots[slot] = malloc(size)
//! ```
//!
//! Design: `.rep.loop` in `design/replay.md`.
#![expect(unsafe_code, reason = "malloc and free")]

use replay::workload::{OpKind, Workload};
use std::ptr;
use std::time::Instant;

/// Returns the calls: the slot, and the size; 0 frees.
pub(crate) fn script(workload: &Workload) -> Vec<(u32, u32)> {
    let ops = workload.threads.iter().flat_map(|thread| &thread.ops);
    ops.map(|op| (op.slot(), if op.kind() == OpKind::Free { 0 } else { op.size() })).collect()
}

/// Returns the ns of a call.
pub(crate) fn ns(script: &[(u32, u32)], slot_count: usize) -> f64 {
    let mut slots = vec![ptr::null_mut::<libc::c_void>(); slot_count];
    let start = Instant::now();
    for &(slot, size) in script {
        let slot = &mut slots[slot as usize];
        // SAFETY: a script frees an object only while it is in its slot.
        unsafe {
            match size {
                0 => libc::free(*slot),
                _ => *slot = libc::malloc(size as usize),
            }
        }
        if size == 0 {
            *slot = ptr::null_mut();
        }
    }
    let duration = start.elapsed();
    for slot in slots {
        // SAFETY: the slot has a remaining object, or null.
        unsafe { libc::free(slot) };
    }
    duration.as_nanos() as f64 / script.len() as f64
}
