//! Which events exist, which of them are recorded and output: registries and their places, kinds by
//! name, default masks, policies. Knows block and os; no thread, stream or host.

pub(crate) mod defaults;
pub(crate) mod names;
pub(crate) mod policy;
pub(crate) mod preamble;
pub(crate) mod registration;
pub(crate) mod unhoused;

/// Forgets the parent's losses, in a forked child.
pub(crate) fn leave_parent() {
    unhoused::reset();
}

/// Starts again in a forked child, after rings and store: the root that begins here leads to them.
pub(crate) fn restart() {
    registration::restart();
    preamble::restart();
}
