//! Converts an event of the MPS to our format.
//!
//! ```text
//!  │ code │ size │ clock │ params, as C lays them out │ ──▶ │ code │ size │ delta │ params (3.2) │
//! ```
//!
//! Byte order and word size stay. Rules: `.mps.made` in `design/format.md`.

use crate::format::{EVENT_HEADER_SIZE, EVENT_SIZE_MAX};
use crate::reader::{Event, Value};

/// The buffer of all events of an MPS stream. Their numbers are their places in the file.
pub(super) const BUFFER: u32 = 1;
/// The kind of events whose code the registry lacks.
pub(super) const KIND_UNKNOWN: u8 = 63;

/// Converts an event, without its delta.
pub(super) fn event(event: &Event<'_, '_>, to: &mut Vec<u8>) {
    let platform = event.registry.platform;
    let order = Order { big_endian: platform.big_endian };
    to.clear();
    to.resize(EVENT_HEADER_SIZE, 0);
    if event.event_type.is_none() {
        let head = usize::from(platform.event_header_size);
        to.extend_from_slice(event.bytes.get(head..).unwrap_or_default());
    }
    let word_size = usize::from(platform.word_size);
    for (_, value) in event.params() {
        match value {
            Value::P(value) | Value::A(value) | Value::W(value) => {
                order.put(to, value, word_size);
            }
            Value::U(value) => order.put(to, value.into(), 4),
            Value::D(value) => order.put(to, value.to_bits(), 8),
            Value::B(value) => order.put(to, value.into(), 1),
            Value::S(string) => {
                // `.event.string`
                let room = EVENT_SIZE_MAX.saturating_sub(to.len() + 8);
                to.extend_from_slice(string.get(..room).unwrap_or(string));
                let padding = 8 - to.len() % 8;
                to.resize(to.len() + padding - 1, 0);
                to.push(padding as u8 - 1);
            }
        }
    }
    to.resize(to.len().next_multiple_of(8), 0); // `.event.pad`
    to.truncate(EVENT_SIZE_MAX);
    let (code, size) = (u64::from(event.code()), to.len() as u64);
    let mut head = Vec::with_capacity(4);
    order.put(&mut head, code, 2);
    order.put(&mut head, size, 2);
    to.iter_mut().zip(head).for_each(|(to, from)| *to = from);
}

struct Order {
    big_endian: bool,
}

impl Order {
    /// Puts an integer at the next multiple of its size (`.event.params`).
    fn put(&self, to: &mut Vec<u8>, value: u64, size: usize) {
        to.resize(to.len().next_multiple_of(size), 0);
        if self.big_endian {
            let bytes = value.to_be_bytes();
            to.extend_from_slice(bytes.get(8 - size..).unwrap_or_default());
        } else {
            let bytes = value.to_le_bytes();
            to.extend_from_slice(bytes.get(..size).unwrap_or_default());
        }
    }
}
