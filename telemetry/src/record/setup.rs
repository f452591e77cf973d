//! The work of the setup, of the first event of the process, and of the first of each registry.
//!
//! ```text
//!  first event of a registry ─▶ register: masks ─ index ─ slots ─ into the stream ─▶ Control.slot
//!  first of the process      ─▶ prepare:  clock, UUID, exit, fork, thread ends, registry 0
//! ```
//!
//! This module knows all rooms. It fills the hooks by which a fork, an exit and ordinary code call
//! higher rooms. Design: `.sol.setup`, `.sol.registry`, `.control.env`, `.sol.ordinary` in
//! `design/telemetry.md`; `.registry.index` in `design/format.md`.

use crate::block::{clock, identity, memory, root};
use crate::ends::{crash, fork};
use crate::inspect::{debug, traceback};
use crate::offered::Moment;
use crate::offered::setup::{Setup, SetupError};
use crate::os::entry::{self, Entry, Hooks};
use crate::os::{exit, observers, ordinary, sys};
use crate::registry::registration::{self, Registrations, SLOT_COUNT};
use crate::registry::{policy, preamble};
use crate::rings::{config, thread};
use crate::service::{control, flush, listener, mask_changes, writer_thread};
use crate::stream::{self, writer};
use core::sync::atomic::Ordering;
use eventdef::Control;

static HOOKS: Hooks = Hooks {
    note_fork: fork::note,
    leave_parent: fork::leave_parent,
    restart: fork::restart,
    end_stream,
    catch_up,
    refused: || flush::losses().io,
};

/// Has all sums told, closes the control socket, and ends the stream.
fn end_stream() {
    observers::tell(Moment::Exit);
    exit::expect_no_more();
    listener::end();
    flush::end_stream();
    tell_no_output();
}

/// Reports that the program gave the log a place, and output no kind; unless the environment names
/// kinds, even none, or lets a tool ask for them later.
fn tell_no_output() {
    let is_set = |name| sys::with_environment(name, |value| value.is_some());
    let recorded = flush::losses().recorded;
    let is_wanted = [control::CONTROL_VARIABLE, listener::SOCKET_VARIABLE].into_iter().any(is_set);
    if recorded > 0 && !is_wanted {
        stream::tell_no_output(recorded);
    }
}

/// Does the work that waited for ordinary code.
fn catch_up(entry: &Entry) {
    traceback::hook();
    thread::expect_end(entry);
    stream::ensure_resolved(entry);
    listener::start();
    writer_thread::start(entry);
}

/// Registers a registry if it is new. Returns false if that must wait, or there is no room for the
/// registry.
pub(crate) fn register(entry: &Entry, control: &'static Control) -> bool {
    if let Some(has_room) = registration::has_room(control) {
        return has_room;
    }
    // A nested entry may have interrupted a registration.
    if entry.is_nested() || !entry::arrange(entry, &HOOKS) {
        return false;
    }
    // A debugger that set kinds by name in the other registries sets them in this one too.
    if registration::get(1).is_some() {
        control::follow_masks(entry);
    }
    let Some(mut state) = registration::lock(entry) else { return false };
    if let Some(has_room) = registration::has_room(control) {
        return has_room;
    }
    prepare_process(entry, &mut state);
    let slot = registration::find_place(&mut state, control);
    control::apply_environment(control);
    policy::apply_environment(control, slot);
    preamble::bring_registries();
    bring_out(entry);
    control.slot().store(slot as u32, Ordering::Release);
    drop(state);
    mask_changes::put(entry);
    control::follow_masks(entry);
    // Each registry checks a hook that waits for a panicking thread.
    ordinary::expect();
    ordinary::catch_up(entry);
    slot < SLOT_COUNT
}

fn prepare_process(entry: &Entry, state: &mut Registrations) {
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
    root::set_entry_points(debug::entry_points());
    preamble::bring_registries();
    ordinary::expect();
    // Last: if another thread forks before this, the child does all of it again.
    state.prepared = true;
}

/// Prepares the process without registering; returns false if that must wait.
pub(crate) fn prepare_only(entry: &Entry) -> bool {
    if !entry::arrange(entry, &HOOKS) {
        return false;
    }
    match registration::lock(entry) {
        Some(mut state) => {
            prepare_process(entry, &mut state);
            true
        }
        None => false,
    }
}

/// Writes the registries into the stream, and begins the stream if a kind is output.
fn bring_out(entry: &Entry) {
    if registration::is_something_output() {
        stream::ensure(entry);
    }
    if let Some(mut parts) = stream::parts(entry) {
        parts.bring_registries();
    }
}

impl Setup {
    /// Checks and applies the settings. Does now what the first event would do for the process.
    ///
    /// # Errors
    ///
    /// Fails if a value is out of range, or if a setting comes too late: a size or the writer
    /// thread after the first event, a plinth after the log began. An error changes nothing. A
    /// setup without these settings is never too late.
    pub fn start(mut self) -> Result<(), SetupError> {
        self.check()?;
        let entry = Entry::new();
        if !entry::arrange(&entry, &HOOKS) {
            return Err(SetupError::Interrupting);
        }
        let mut state = registration::lock(&entry).ok_or(SetupError::Interrupting)?;
        if self.has_early_setting() && memory::is_block_size_fixed() {
            return Err(SetupError::TooLate);
        }
        stream::set_plinth(&entry, &mut self.plinth)?;
        // Under the lock no other thread fixes it.
        self.block_size_log2.map(memory::choose_block_size);
        self.block_count.inspect(|count| config::set_block_count(*count));
        self.writer_thread.inspect(|wanted| writer::want(*wanted));
        prepare_process(&entry, &mut state);
        self.policy.inspect(|policy| policy::set_all(*policy));
        drop(state);
        self.output.inspect(|kinds| control::set_output_in(&entry, *kinds));
        ordinary::catch_up(&entry);
        if self.on_fatal_signals {
            crash::arm();
            crash::install_left();
        }
        Ok(())
    }
}

/// Has the observers told of the end of this thread, even if it records nothing, unless that must
/// wait. Returns whether the runtime knows the thread.
pub fn expect_thread_end() -> bool {
    let entry = Entry::new();
    prepare_only(&entry) && {
        thread::make_known(&entry);
        thread::is_known()
    }
}

/// Prepares the process and the calling thread: does now what their first event would do, except
/// for the registry and its buffers.
///
/// Only ordinary code may call it: no signal handler, and nothing inside the program's memory
/// manager. The runtime itself never allocates. But the C library may allocate when it starts a
/// thread, looks up a host, or registers a function for the exit. The runtime leaves these calls to
/// an event that surely comes from ordinary code.
///
/// No event surely does where the program has its own memory manager, or where every event comes in
/// a signal handler. Such a program calls `prepare` at the start of the process, of each thread and
/// of each forked child. There this function alone starts the [writer thread](Setup::writer_thread)
/// and the control from outside. It also allocates the thread-local storage of a library that was
/// loaded with `dlopen`.
pub fn prepare() {
    let entry = Entry::promised();
    if prepare_only(&entry) {
        thread::make_known(&entry);
        ordinary::expect();
        ordinary::catch_up(&entry);
    }
}
