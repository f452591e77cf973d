//! An event of a log, and typed access to its parameters.
//!
//! ```text
//!  Event { ticks, registry, event_type, bytes, … } ── params() ──▶ (&Param, Value)*
//! ```
//!
//! Layout: `.event.params`, `.event.string`, `.event.short`, `.mps.bool` in `design/format.md`.

use super::label::Labels;
use super::registry::{EventType, Param, Platform, Registry, StringEnd};
use eventdef::Sort;

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
    /// A string: bytes, in UTF-8 if the program kept to the rules.
    S(&'a [u8]),
}

impl Value<'_> {
    /// A number without a fraction: of a pointer, an address, a word, an unsigned integer, a
    /// Boolean (1 is true).
    #[inline]
    pub fn as_u64(&self) -> Option<u64> {
        match *self {
            Value::P(value) | Value::A(value) | Value::W(value) => Some(value),
            Value::U(value) => Some(u64::from(value)),
            Value::B(value) => Some(u64::from(value)),
            Value::D(_) | Value::S(_) => None,
        }
    }
}

/// One event.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// When it happened, in ticks of the stream's clock.
    pub ticks: u64,
    /// The registry that its code belongs to.
    pub registry: &'a Registry,
    /// Its event type, if the registry has its code (`.event.unknown`).
    pub event_type: Option<&'a EventType>,
    /// The whole event, as in the stream.
    pub bytes: &'a [u8],
    /// What is called what at that time, if the filter asked for labels; else nothing is.
    pub labels: &'a Labels,
    /// Where it is in the source.
    pub offset: u64,
    /// Its number in its buffer (`.event.number`); in an MPS log, its place in the file.
    pub number: u64,
    /// The buffer, by its index in the stream.
    pub buffer: u32,
    /// The thread that recorded it, by its index in the stream; 0 if not known.
    pub thread: u32,
    /// Its registry, by its index in [`super::Log::registries`]; beyond them if it is of no log.
    pub registry_index: u32,
    /// Its event type, by its index in the registry; beyond them if the registry lacks its code.
    pub row: u16,
    /// The stream, by its index in [`super::Log::streams`].
    pub stream: u16,
    /// Its kind, by its index in the registry; of an unknown event in an MPS log 255.
    pub kind: u8,
}

impl<'a> Event<'a> {
    /// Its code.
    #[inline]
    pub fn code(&self) -> u16 {
        match self.event_type {
            Some(event_type) => event_type.code,
            None => self.registry.platform.u16(self.bytes).unwrap_or_default(),
        }
    }

    /// The name of its event type; "?" if the registry lacks its code.
    pub fn name(&self) -> &'a str {
        self.event_type.map_or("?", |event_type| &event_type.name)
    }

    /// Its parameters, in order: those that fit in it (`.event.short`). Padding is never looked at
    /// (`.event.pad`).
    #[inline]
    pub fn params(&self) -> Params<'a> {
        let params = self.event_type.map_or(&[][..], |event_type| &event_type.params);
        Params { params: params.iter(), bytes: self.bytes, platform: self.registry.platform }
    }

    /// The value of the parameter with this index.
    #[inline]
    pub fn param_at(&self, index: usize) -> Option<Value<'a>> {
        let param = self.event_type?.params.get(index)?;
        value(param, self.bytes, self.registry.platform)
    }

    /// The value of the parameter with this name.
    pub fn param(&self, name: &str) -> Option<Value<'a>> {
        let (_, param) = self.event_type?.param(name)?;
        value(param, self.bytes, self.registry.platform)
    }
}

/// The parameters of an event and their values.
#[derive(Clone, Debug)]
pub struct Params<'a> {
    params: std::slice::Iter<'a, Param>,
    bytes: &'a [u8],
    platform: Platform,
}

impl<'a> Iterator for Params<'a> {
    type Item = (&'a Param, Value<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let param = self.params.next()?;
        Some((param, value(param, self.bytes, self.platform)?))
    }
}

/// The value of a parameter in the bytes of an event.
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

/// The string that begins the rest of an event (`.event.string`).
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
    fn whole_numbers_are_to_be_had_of_every_sort_but_doubles_and_strings() {
        let values = [Value::P(1), Value::A(2), Value::W(3), Value::U(4), Value::B(true)];
        assert_eq!(values.map(|value| value.as_u64()), [1, 2, 3, 4, 1].map(Some));
        assert_eq!([Value::D(1.0), Value::S(b"1")].map(|value| value.as_u64()), [None, None]);
    }
}
