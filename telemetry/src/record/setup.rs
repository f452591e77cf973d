//! What the first event of the process does, and the first of each registry.
//!
//! ```text
//!  first event of a registry ─▶ register: masks ─ index ─ slots ─ into the stream ─▶ Control.slot
//!  first of the process      ─▶ prepare:  clock, UUID, exit, fork, thread ends, registry 0
//! ```
//!
//! Here, where all rooms are known, the hooks are filled by which a fork, an exit and ordinary code
//! come up to them. Design: `.sol.registry`, `.control.env`, `.sol.ordinary` in
//! `design/telemetry.md`; `.registry.index` in `design/format.md`.

use crate::block::{clock, identity, memory, root};
use crate::ends::{crash, fork};
use crate::inspect::{debug, gdb, traceback};
use crate::os::hooks::{self, Hooks};
use crate::os::sync::Entry;
use crate::os::{exit, forked, ordinary};
use crate::registry::registration::{self, Registrations, SLOT_COUNT};
use crate::registry::{policy, preamble};
use crate::rings::{config, thread};
use crate::service::{control, flush, listener, mask_changes, writer_thread};
use crate::stream;
use core::sync::atomic::Ordering;
use eventdef::Control;

static HOOKS: Hooks = Hooks {
    leave_parent: fork::leave_parent,
    restart: fork::restart,
    end_stream,
    catch_up,
    refused: || flush::losses().io,
};

/// Lets nobody ask for control any more, and ends the stream.
fn end_stream() {
    listener::end();
    flush::end_stream();
}

/// Does what waited for ordinary code.
fn catch_up(entry: &Entry) {
    traceback::hook();
    thread::expect_end(entry);
    stream::ensure_resolved(entry);
    listener::start();
    writer_thread::start(entry);
}

/// Fills the hooks, and arranges that forks are known of; false if that must wait.
fn arrange(entry: &Entry) -> bool {
    if hooks::get().is_none() {
        hooks::set(&HOOKS);
    }
    forked::arrange(entry)
}

/// Registers a registry unless it is; false if that must wait, or there was no room for it.
pub(crate) fn register(entry: &Entry, control: &'static Control) -> bool {
    if let Some(has_room) = registration::has_room(control) {
        return has_room;
    }
    // A nested entry may have interrupted a registration half done.
    if entry.is_nested() || !arrange(entry) {
        return false;
    }
    // What a debugger asked of the others by the names of kinds is asked of this one, too.
    if registration::get(1).is_some() {
        mask_changes::notice(entry);
    }
    let Some(mut state) = registration::lock(entry) else { return false };
    if let Some(has_room) = registration::has_room(control) {
        return has_room;
    }
    prepare(entry, &mut state);
    let slot = registration::find_place(&mut state, control);
    control::apply_environment(control);
    policy::apply_environment(control, slot);
    preamble::bring_registries();
    bring_out(entry);
    control.slot().store(slot as u32, Ordering::Release);
    drop(state);
    mask_changes::put(entry);
    mask_changes::notice(entry);
    // A hook that waits for a thread that panics is looked at with each registry.
    ordinary::expect();
    ordinary::catch_up(entry);
    slot < SLOT_COUNT
}

/// Once in the process, before anything else.
fn prepare(entry: &Entry, state: &mut Registrations) {
    if state.prepared {
        return;
    }
    clock::choose();
    identity::prepare();
    if !memory::is_block_size_fixed() {
        config::apply_environment();
        memory::fix_block_size();
    }
    thread::prepare();
    exit::expect(entry);
    crash::apply_environment();
    traceback::prepare();
    registration::add_store();
    gdb::keep();
    root::set_entry_points(debug::entry_points());
    preamble::bring_registries();
    ordinary::expect();
    // Last: where a fork comes before, by another thread, the child does it all again.
    state.prepared = true;
}

/// Prepares without registering.
pub(crate) fn prepare_only(entry: &Entry) -> bool {
    if !arrange(entry) {
        return false;
    }
    match registration::lock(entry) {
        Some(mut state) => {
            prepare(entry, &mut state);
            true
        }
        None => false,
    }
}

/// The registries go into the stream, which begins now if something is output.
fn bring_out(entry: &Entry) {
    if registration::is_something_output() {
        stream::ensure(entry);
    }
    if let Some(mut parts) = stream::parts(entry) {
        parts.bring_registries();
    }
}

/// From now on, a signal that ends the program first brings out what was recorded of the kinds that
/// are output: SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT (so also `abort` and
/// panics that abort), and SIGTERM, SIGINT, SIGQUIT and SIGHUP, but for those that the program
/// ignores. Handlers that there are now are called afterwards; without one the program ends as it
/// would have. `MPS_TELEMETRY_CRASH=1` does the same at the first event.
///
/// A stack overflow is one of these. Threads of Rust, and all threads from their first event on,
/// have a stack for it.
pub fn on_fatal_signals() {
    let entry = Entry::new();
    if prepare_only(&entry) {
        crash::arm();
        crash::install_left();
    }
}
