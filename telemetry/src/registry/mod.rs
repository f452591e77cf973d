//! Which events exist, which of them are recorded and output: registries and their places, kinds by
//! name, default masks, policies. Knows block and os; no thread, stream or host.

pub(crate) mod defaults;
pub(crate) mod names;
pub(crate) mod policy;
pub(crate) mod preamble;
pub(crate) mod registration;
pub(crate) mod unhoused;
