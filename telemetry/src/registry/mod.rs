//! What exists, and what of it is recorded and output: registries and their places, kinds by name,
//! masks that registries begin with, policies. Knows memory, and no thread, stream or host.

pub(crate) mod defaults;
pub(crate) mod names;
pub(crate) mod policy;
pub(crate) mod preamble;
pub(crate) mod registration;
pub(crate) mod unhoused;
