//! Control of a running program, by itself and from outside: masks, flushes, status, the writer
//! thread, the socket and its requests. Knows rings and all below, and not how a program ends.

pub(crate) mod connection;
pub(crate) mod control;
pub(crate) mod flush;
pub(crate) mod listener;
pub(crate) mod mask_changes;
pub(crate) mod request;
pub(crate) mod status;
pub(crate) mod writer_thread;

/// Starts again in a forked child: without the parent's socket, with the masks as they are.
pub(crate) fn restart() {
    listener::restart_in_child();
    mask_changes::accept();
}
