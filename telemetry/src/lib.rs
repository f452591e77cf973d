//! The runtime of the event log.
