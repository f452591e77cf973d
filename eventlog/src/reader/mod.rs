//! The reader: bytes to events. It trusts no byte, and never panics.
//!
//! ```text
//!  Source ── index: headers only ──▶ [Segment] + [Registry] + [Fault]
//!                                      │ by time (heap of open segments, bounded cache) or by file
//!                                      ▼
//!                                   Event<'log, '_>, one at a time
//! ```
//!
//! Rooms, the lowest first; an import runs to a lower room: `fault`, `source`, `model`, `marks`,
//! `index`, `stream`, `mps`, `core`, `log`, `order`, `audit`.
//!
//! To read a log, open it ([`Log`]), ask for its events ([`Log::events`], [`Filter`]), and take
//! them one at a time ([`Events::next`]). Faults never stop the reading: see [`Log::faults`] and
//! [`Events::faults`].
//!
//! Design: `eventlog::reader` in `ARCHITECTURE.md`; `.read.*` in `design/format.md`.

mod audit;
pub mod core;
mod fault;
mod index;
mod log;
pub mod marks;
mod model;
mod mps;
mod order;
mod source;
mod stream;

pub(crate) use index::segment;
pub(crate) use model::label;
pub(crate) use stream::{block, entry, head};

pub use audit::losses::{Losses, Unhoused};
pub use audit::verify::Verified;
pub use fault::kind::{Fault, FaultKind, OpenError};
pub use fault::list::{FAULT_COUNT_MAX, Faults};
pub use index::{Account, Format, Options};
pub use log::clock::{Clock, ClockBase};
pub use log::{Increment, Log};
pub use model::compare::{Change, Difference, Part, compare, version_min};
pub use model::event::{Event, OwnedEvent, Params, Value};
pub use model::label::{LABEL_MEMORY_MAX, Labels};
pub use model::registry::{EventType, Kind, Param, Platform, Registry};
pub use model::stream::Stream;
pub use model::time::WallTime;
pub use mps::HeaderError;
pub use order::bulk::OwnedEvents;
pub use order::cache::CACHE_SIZE_MAX;
pub use order::filter::Order;
pub use order::filter::{Filter, Pick};
pub use order::merge::Events;
pub use source::bytes::{FileSource, Joined, Source};
pub use source::directory::Directory;

// For the tools of this workspace alone.
#[doc(hidden)]
pub use self::{
    audit::holes::Hole,
    audit::losses::CAUSES,
    log::history::{Held, History},
    model::registry::StringEnd,
    order::bulk::{Glance, Run},
    order::filter::Picker,
    order::partitions::Partitions,
    stream::piece::{Piece, What},
};

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_send<T: Send>() {}
    fn assert_send_and_sync<T: Send + Sync>() {}

    #[test]
    fn logs_are_sync_and_readings_are_send() {
        assert_send_and_sync::<Log>();
        assert_send_and_sync::<Partitions<'_>>();
        assert_send_and_sync::<Event<'_, '_>>();
        assert_send_and_sync::<OwnedEvent<'_>>();
        assert_send_and_sync::<Run<'_, '_>>();
        assert_send_and_sync::<Labels>();
        assert_send_and_sync::<(Registry, Stream, Account, Filter, Picker, Options)>();
        assert_send_and_sync::<(Fault, Faults, OpenError, HeaderError)>();
        assert_send::<Events<'_>>();
        assert_send::<OwnedEvents<'_>>();
        assert_send::<core::Core>();
    }
}
