//! The operating system: system calls, pages, locks, sockets, forks, exits, stacks. Knows no event,
//! block or stream.

pub(crate) mod atomic;
pub(crate) mod depth;
pub(crate) mod entry;
pub(crate) mod exit;
pub(crate) mod folder;
pub(crate) mod forked;
pub(crate) mod link;
pub(crate) mod local_sockets;
pub(crate) mod observers;
pub(crate) mod ordinary;
pub(crate) mod pages;
pub(crate) mod process;
pub(crate) mod report;
pub(crate) mod signals;
pub(crate) mod sockets;
pub(crate) mod stack;
pub(crate) mod sync;
pub(crate) mod sys;
pub(crate) mod way_out;

/// Forgets what other threads were doing, in a forked child.
pub(crate) fn leave_parent() {
    way_out::forget_others();
}

/// Starts again in a forked child.
pub(crate) fn restart() {
    exit::forget();
    ordinary::expect();
}
