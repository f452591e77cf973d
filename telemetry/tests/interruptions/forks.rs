//! A signal handler that forks at any point of a recording: what the child records is in its log.
//!
//! ```text
//!  work:  │ · · · · · · │ ─▶ the parent waits for the child, and tries the next point
//!               ▲ fork ─ child: the rest of the work ─ events ─▶ recorded, not counted as nested
//! ```
//!
//! Design: `.sol.fork` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "forks")]

use super::{begin, in_a_process, label, points, record_outer};
use crate::{control, flush, losses};
use core::sync::atomic::{AtomicBool, Ordering};

/// The events that a child records after the interrupted work.
const COUNT: u64 = 10;

static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// Forks, and waits for the child.
fn fork() {
    // SAFETY: the runtime allows a fork anywhere, and the child goes on with this thread alone.
    let child = unsafe { libc::fork() };
    if child == 0 {
        return IS_CHILD.store(true, Ordering::Relaxed);
    }
    let mut status = 1;
    // SAFETY: waits for a child, and writes to `status`.
    unsafe { assert_eq!(libc::waitpid(child, &mut status, 0), child) };
    assert_eq!(status, 0, "the child lost events");
}

/// Ends a child. Its events come without a long way through the runtime; the label is one.
fn end_child() {
    (0..COUNT).for_each(|_| record_outer());
    label();
    let is_recorded = losses().recorded >= COUNT;
    // SAFETY: ends the child.
    unsafe { libc::_exit(i32::from(!is_recorded)) }
}

/// `.sol.fork`
#[test]
fn a_child_forked_at_any_point_records_its_events() {
    in_a_process("forks::a_child_forked_at_any_point_records_its_events", || {
        begin();
        control::set_output_everywhere(u64::MAX);
        record_outer();
        for work in [record_outer, label, flush] {
            for index in 0.. {
                points::arm(index, fork);
                work();
                if IS_CHILD.load(Ordering::Relaxed) {
                    end_child();
                }
                if points::disarm() {
                    println!("{index} points");
                    break;
                }
            }
        }
    });
}
