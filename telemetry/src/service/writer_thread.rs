//! The writer thread: it writes full blocks, so that recording threads need not.
//!
//! ```text
//!  recording threads ── head ──▶ rings ◀── done ── the writer, which polls: nothing wakes it
//!                       └─ the first full block after a pause wakes it from its rest
//! ```
//!
//! It stays awake while it has work, then sleeps for longer and longer, up to a limit, and then
//! rests. If a ring fills up meanwhile, its own thread writes it: nothing is lost. The writer
//! thread also serves tools that control the program (listener.rs). Design: `.sol.writer`,
//! `.control.tool` in `design/telemetry.md`.

use crate::os::entry::{Entry, without_unwinding};
use crate::os::{forked, ordinary, sys};
use crate::plinth::region;
use crate::registry::registration;
use crate::rings::thread;
use crate::service::listener::Service;
use crate::stream::{self, Standing, volume, writer};
use core::ffi::c_void;

/// The rounds without work before it sleeps, and those before it rests.
const IDLE_COUNT_AWAKE: u32 = 50;
const IDLE_COUNT_MAX: u32 = 2 * IDLE_COUNT_AWAKE;
/// The first sleep, in ns; each next one is twice as long.
const NAP_MIN: u64 = 20_000;
/// The longest sleep, in ns: a ring has blocks for that time.
const NAP_MAX: u64 = 200_000;
/// The longest rest, in ns, until it looks for tools. A full block ends it.
const REST: u64 = 20_000_000;
/// The blocks after which a forked child starts a writer thread. A system may take seconds to
/// remove a process that had two threads, which is long for a child that ends soon.
const CHILD_BLOCK_COUNT: u64 = 32;
/// While it has work, it serves requests once in this number of rounds.
const ROUNDS_PER_TURN: u64 = 64;

/// Starts the writer thread if it is wanted, has work, and does not run: in ordinary code.
pub(crate) fn start(entry: &Entry) {
    let has_work = match stream::standing() {
        Standing::Open => !region::is_there(),
        // Later there may be no ordinary code.
        Standing::None => entry.is_promised(),
        _ => false,
    };
    if !has_work {
        return;
    }
    let is_short = forked::count() != 0 && volume::block_count() < CHILD_BLOCK_COUNT;
    if is_short && !entry.is_promised() {
        return ordinary::expect();
    }
    start_to_serve();
}

/// Starts the writer thread if it is wanted, even without blocks to write.
pub(crate) fn start_to_serve() {
    if writer::is_due() {
        // Set first: the new thread reads it.
        writer::set_running();
        if !sys::start_thread(run, c"telemetry") {
            writer::set_failed();
        }
    }
}

extern "C" fn run(_: *mut c_void) -> *mut c_void {
    sys::sleep_exactly();
    let mut idle_count = 0u32;
    let mut service = Service::new();
    for round in 0u64.. {
        if round.is_multiple_of(ROUNDS_PER_TURN) || idle_count == IDLE_COUNT_MAX {
            service.turn(Some(0));
        }
        idle_count = if write() { 0 } else { IDLE_COUNT_MAX.min(idle_count + 1) };
        match idle_count {
            0 => {}
            1..=IDLE_COUNT_AWAKE => sys::give_way(),
            _ if idle_count < IDLE_COUNT_MAX || service.is_used() => {
                let nap = NAP_MIN << (idle_count - IDLE_COUNT_AWAKE - 1).min(16);
                service.turn(Some(nap.min(NAP_MAX)));
            }
            _ if writer::rest(REST, write) => idle_count = 0,
            _ => {}
        }
    }
    core::ptr::null_mut()
}

fn write() -> bool {
    let mut written = false;
    without_unwinding(|| written = write_once());
    written
}

/// Writes the waiting blocks; returns false if none waited.
fn write_once() -> bool {
    let entry = Entry::new();
    let mut written = false;
    for registered in registration::all() {
        for slot in registered.slot..registered.slot + registered.slot_count {
            thread::rings_of(slot).for_each(|ring| written |= ring.send_waiting(&entry));
        }
    }
    written
}
