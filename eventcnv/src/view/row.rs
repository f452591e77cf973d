//! The row of a registry that a recipe covers.
//!
//! ```text
//!  event type, all its parameters │ one event ──▶ Row ──▶ Recipe
//! ```

use eventlog::reader::{Event, EventType, Param, Registry};

/// Events of one type, or of a code that their registry lacks.
#[derive(Clone, Copy)]
pub(crate) struct Row<'r> {
    pub(crate) registry: &'r Registry,
    pub(crate) event_type: Option<&'r EventType>,
    pub(crate) code: u16,
    pub(crate) kind: u8,
    /// The parameters of the events.
    pub(crate) params: &'r [Param],
}

impl<'r> Row<'r> {
    /// Returns the row of one event: a short event lacks parameters.
    pub(crate) fn from_event(event: &Event<'r, '_>) -> Row<'r> {
        let params = event.event_type.map_or(&[][..], |event_type| &event_type.params);
        Row {
            registry: event.registry,
            event_type: event.event_type,
            code: event.code(),
            kind: event.kind,
            params: params.get(..event.params().count()).unwrap_or_default(),
        }
    }

    pub(crate) fn kind_name(&self) -> &'r str {
        self.registry.kind(self.kind).map_or("?", |kind| &kind.name)
    }
}
