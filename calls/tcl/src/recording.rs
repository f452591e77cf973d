//! The recording of the process: begun by the first interpreter, ended by the last.
//!
//! Design: `.calls.tcl` in `design/calls.md`.

use crate::follower::Follower;
use calls::{Options, Released};
use std::sync::{Mutex, MutexGuard, PoisonError};

struct Recording {
    released: Released,
    follower: Option<Follower>,
    /// The interpreters that are recorded.
    count: usize,
}

static RECORDING: Mutex<Option<Recording>> = Mutex::new(None);

fn recording() -> MutexGuard<'static, Option<Recording>> {
    RECORDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Begins to record an interpreter, if the options of its program want it. The first one's options
/// are those of the process.
pub(crate) fn begin(options: Options) -> bool {
    let is_wanted = options.pairs()[0].1 == "1";
    let mut recording = recording();
    match &mut *recording {
        _ if !is_wanted => return false,
        Some(recording) => recording.count += 1,
        none => {
            let released = options.release();
            let Some(path) = released.path() else { return false };
            let follower = Follower::start(&path);
            *none = Some(Recording { released, follower, count: 1 });
        }
    }
    true
}

/// Ends the recording of an interpreter.
pub(crate) fn end() {
    let mut recording = recording();
    let Some(Recording { count, .. }) = &mut *recording else { return };
    *count -= 1;
    if *count == 0
        && let Some(Recording { released, follower, .. }) = recording.take()
    {
        drop(released);
        if let Some(follower) = follower {
            follower.end();
        }
    }
}

/// Writes what was recorded, if the interval is over.
pub(crate) fn tick() {
    if let Some(recording) = &*recording() {
        recording.released.tick();
    }
}

/// Writes what was recorded, before a fork: a child's database begins with it. A thread that has
/// the recording begins or ends it, and writes it itself.
pub(crate) fn flush() {
    if let Ok(recording) = RECORDING.try_lock()
        && let Some(Recording { released, .. }) = &*recording
    {
        released.flush();
    }
}

/// Goes on in a forked child, which has a log of its own.
pub(crate) fn go_on() {
    if let Some(recording) = &mut *recording() {
        recording.released.resume();
        recording.follower = recording.released.path().and_then(|path| Follower::start(&path));
    }
}
