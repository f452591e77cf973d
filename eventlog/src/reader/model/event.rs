//! An event of a log, and typed access to its parameters.
//!
//! ```text
//!  Event { ticks, registry, event_type, bytes, … } ── params() ──▶ (&Param, Value)*
//! ```
//!
//! Layout: `.event.params`, `.event.string`, `.event.short`, `.mps.bool` in `design/format.md`.

use super::label::Labels;
use super::registry::clean;
use super::registry::{EventType, Param, Platform, Registry, StringEnd};
use super::stream::Stream;
use eventdef::Sort;
use std::fmt;
use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

/// The value of a parameter, by its sort.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// A pointer.
    P(u64),
    /// An address.
    A(u64),
    /// A word.
    W(u64),
    /// An unsigned integer.
    U(u32),
    /// A floating-point number.
    D(f64),
    /// A Boolean.
    B(bool),
    /// A string: bytes, normally UTF-8.
    S(&'a [u8]),
}

impl<'a> Value<'a> {
    /// Returns the value of a pointer, address, word, unsigned integer or Boolean (1 is true).
    #[inline]
    pub fn as_u64(&self) -> Option<u64> {
        match *self {
            Value::P(value) | Value::A(value) | Value::W(value) => Some(value),
            Value::U(value) => Some(u64::from(value)),
            Value::B(value) => Some(u64::from(value)),
            Value::D(_) | Value::S(_) => None,
        }
    }

    /// Returns a double, or the number of [`Value::as_u64`] rounded to the nearest double.
    #[inline]
    pub fn as_f64(&self) -> Option<f64> {
        match *self {
            Value::D(value) => Some(value),
            _ => self.as_u64().map(|value| value as f64),
        }
    }

    /// Returns a string that is valid UTF-8.
    pub fn as_str(&self) -> Option<&'a str> {
        str::from_utf8(self.as_bytes()?).ok()
    }

    /// Returns the bytes of a string.
    pub fn as_bytes(&self) -> Option<&'a [u8]> {
        match *self {
            Value::S(bytes) => Some(bytes),
            _ => None,
        }
    }
}

/// Prints pointers and addresses in hexadecimal and other numbers in decimal. Strings lose the
/// characters that steer a terminal.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Value::P(value) | Value::A(value) => write!(f, "{value:#x}"),
            Value::W(value) => write!(f, "{value}"),
            Value::U(value) => write!(f, "{value}"),
            Value::D(value) => write!(f, "{value}"),
            Value::B(value) => write!(f, "{value}"),
            Value::S(value) => f.write_str(&clean(value)),
        }
    }
}

/// An event. Its types and names live as long as the log; its bytes live until the next event is
/// read.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Event<'log, 'e> {
    /// Time in ticks of the stream's clock.
    pub ticks: u64,
    /// The registry of its code.
    pub registry: &'log Registry,
    /// The event type, if the registry has the code (`.event.unknown`).
    pub event_type: Option<&'log EventType>,
    /// The bytes of the whole event.
    pub bytes: &'e [u8],
    /// The labels at that time, if the filter asked for labels; otherwise none.
    pub labels: &'e Labels,
    /// Offset in the source.
    pub offset: u64,
    /// Number in the buffer (`.event.number`). In an MPS log: place in the file.
    pub number: u64,
    /// Index of the buffer in the stream.
    pub buffer: u32,
    /// Index in the stream of the thread that recorded the event; 0 unknown.
    pub thread: u32,
    /// Index of the registry in [`crate::reader::Log::registries`]; beyond them if the event is of
    /// no log.
    pub registry_index: u32,
    /// Index of the event type in the registry; beyond its event types if the code is unknown.
    pub event_type_index: u16,
    /// Index of the stream in [`crate::reader::Log::streams`].
    pub stream: u16,
    /// Index of the kind in the registry; 255 for an unknown event of an MPS log.
    pub kind: u8,
    pub(crate) origin: Option<&'log Stream>,
}

impl<'log, 'e> Event<'log, 'e> {
    /// Makes an event that is in no log, of header and parameters as on the registry's platform.
    pub fn new(registry: &'log Registry, ticks: u64, bytes: &'e [u8]) -> Event<'log, 'e> {
        let code = registry.platform.u16(bytes).unwrap_or_default();
        let event_type = registry.event_type(code);
        Event {
            ticks,
            registry,
            event_type,
            bytes,
            labels: &NO_LABELS,
            offset: 0,
            number: 0,
            buffer: 0,
            thread: 0,
            registry_index: u32::MAX,
            event_type_index: registry.row(code).index(),
            stream: registry.stream,
            kind: event_type.map_or(u8::MAX, |event_type| event_type.kind),
            origin: None,
        }
    }

    /// Returns the time of day; `None` if the stream has no two clock syncs (`.time.interpolate`).
    pub fn wall_time(&self) -> Option<SystemTime> {
        let wall_time = self.origin?.wall_time(self.ticks)?;
        SystemTime::UNIX_EPOCH.checked_add(Duration::from_nanos(wall_time.realtime))
    }

    /// Returns a copy with its own bytes, which outlives the next reading. The copy has no labels.
    pub fn to_owned(&self) -> OwnedEvent<'log> {
        let Event { ticks, registry, event_type, offset, number, buffer, thread, .. } = *self;
        let Event { registry_index, event_type_index, stream, kind, origin, .. } = *self;
        let event = Event {
            ticks,
            registry,
            event_type,
            bytes: &[],
            labels: &NO_LABELS,
            offset,
            number,
            buffer,
            thread,
            registry_index,
            event_type_index,
            stream,
            kind,
            origin,
        };
        OwnedEvent { event, bytes: self.bytes.into() }
    }

    /// Returns the event's code.
    #[inline]
    pub fn code(&self) -> u16 {
        match self.event_type {
            Some(event_type) => event_type.code,
            None => self.registry.platform.u16(self.bytes).unwrap_or_default(),
        }
    }

    /// Returns the name of the event type; "?" if the registry lacks the code.
    pub fn name(&self) -> &'log str {
        self.event_type.map_or("?", |event_type| &event_type.name)
    }

    /// Returns the parameters in order, as far as they fit in the event (`.event.short`). It
    /// ignores padding (`.event.pad`).
    #[inline]
    pub fn params(&self) -> Params<'log, 'e> {
        let params = self.event_type.map_or(&[][..], |event_type| &event_type.params);
        Params { params: params.iter(), bytes: self.bytes, platform: self.registry.platform }
    }

    /// Returns the value of the parameter with this index.
    #[inline]
    pub fn param_at(&self, index: usize) -> Option<Value<'e>> {
        let param = self.event_type?.params.get(index)?;
        value(param, self.bytes, self.registry.platform)
    }

    /// Returns the value of the parameter with this name.
    pub fn param(&self, name: &str) -> Option<Value<'e>> {
        let (_, param) = self.event_type?.param(name)?;
        value(param, self.bytes, self.registry.platform)
    }
}

/// The labels of events that have none.
static NO_LABELS: LazyLock<Labels> = LazyLock::new(Labels::default);

/// An event with its own bytes: see [`Event::to_owned`].
#[derive(Clone, Debug)]
pub struct OwnedEvent<'log> {
    event: Event<'log, 'static>,
    bytes: Box<[u8]>,
}

impl<'log> OwnedEvent<'log> {
    /// Returns the event.
    pub fn as_event(&self) -> Event<'log, '_> {
        Event { bytes: &self.bytes, ..self.event }
    }
}

/// The parameters of an event and their values.
#[derive(Clone, Debug)]
pub struct Params<'log, 'e> {
    params: std::slice::Iter<'log, Param>,
    bytes: &'e [u8],
    platform: Platform,
}

impl<'log, 'e> Iterator for Params<'log, 'e> {
    type Item = (&'log Param, Value<'e>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let param = self.params.next()?;
        Some((param, value(param, self.bytes, self.platform)?))
    }
}

#[inline]
fn value<'a>(param: &Param, bytes: &'a [u8], platform: Platform) -> Option<Value<'a>> {
    let rest = bytes.get(param.offset as usize..)?;
    Some(match param.sort {
        Sort::P => Value::P(word(rest, platform)?),
        Sort::A => Value::A(word(rest, platform)?),
        Sort::W => Value::W(word(rest, platform)?),
        Sort::U => Value::U(platform.u32(rest)?),
        Sort::D => Value::D(f64::from_bits(platform.u64(rest)?)),
        Sort::B => Value::B(*rest.first()? & param.mask != 0),
        Sort::S if rest.is_empty() => return None,
        Sort::S => Value::S(string(rest, platform.string_end)),
    })
}

#[inline(always)]
fn word(rest: &[u8], platform: Platform) -> Option<u64> {
    if platform.word_size == 8 { platform.u64(rest) } else { platform.u32(rest).map(u64::from) }
}

/// Returns the string at the start of `rest`, the rest of an event (`.event.string`).
fn string(rest: &[u8], end: StringEnd) -> &[u8] {
    if end == StringEnd::Padding
        && let Some(&last) = rest.last()
        && last <= 7
        && let Some(size) = rest.len().checked_sub(usize::from(last) + 1)
    {
        return rest.get(..size).unwrap_or_default();
    }
    let size = memchr::memchr(0, rest).unwrap_or(rest.len());
    rest.get(..size).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::Value;

    #[test]
    fn values_convert_by_their_sort() {
        let values = [Value::P(1), Value::A(2), Value::W(3), Value::U(4), Value::B(true)];
        assert_eq!(values.map(|value| value.as_u64()), [1, 2, 3, 4, 1].map(Some));
        assert_eq!([Value::D(1.0), Value::S(b"1")].map(|value| value.as_u64()), [None, None]);
        assert_eq!([Value::D(1.5), Value::U(4)].map(|value| value.as_f64()), [1.5, 4.0].map(Some));
        assert_eq!((Value::S(b"1").as_f64(), Value::U(1).as_str()), (None, None));
        let strings = [Value::S("\u{e9}".as_bytes()), Value::S(b"\xE9")];
        assert_eq!(strings.map(|value| value.as_str()), [Some("\u{e9}"), None]);
        assert_eq!(strings[1].as_bytes(), Some(&b"\xE9"[..]));
    }

    #[test]
    fn values_print_by_their_sort() {
        let values = [Value::P(31), Value::W(31), Value::U(31), Value::D(0.5), Value::B(true)];
        let shown = values.map(|value| value.to_string());
        assert_eq!(shown, ["0x1f", "31", "31", "0.5", "true"]);
        assert_eq!(Value::S(b"plain").to_string(), "plain");
        assert!(!Value::S(b"\x1B[2J").to_string().contains('\x1B'));
    }
}
