//! What lines are prepared for.
//!
//! ```text
//!  event type, all its parameters │ an event as it is ──▶ Row ──▶ Recipe
//! ```

use eventlog::reader::{Event, EventType, Param, Registry};

/// What a recipe is for: events of one type, or of a code that their registry lacks.
#[derive(Clone, Copy)]
pub(crate) struct Row<'r> {
    pub(crate) registry: &'r Registry,
    pub(crate) event_type: Option<&'r EventType>,
    pub(crate) code: u16,
    pub(crate) kind: u8,
    /// The parameters that the events have.
    pub(crate) params: &'r [Param],
}

impl<'r> Row<'r> {
    /// For an event as it is: a short one lacks parameters.
    pub(crate) fn of(event: &Event<'r, '_>) -> Row<'r> {
        let params = event.event_type.map_or(&[][..], |event_type| &event_type.params);
        Row {
            registry: event.registry,
            event_type: event.event_type,
            code: event.code(),
            kind: event.kind,
            params: params.get(..event.params().count()).unwrap_or_default(),
        }
    }
}
