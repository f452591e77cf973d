//! System calls: of `raw_syscalls` by their numbers, of `syscalls` by their names.
//!
//! Design: `.waits.script` in `design/waits.md`.

use super::{Fields, Payload, hex, signed};
use crate::waits::calls;

/// Reads "NR 230 (1, 0, 7f…, …)", numbers in brackets to base 16.
pub(super) fn enter(text: &[u8]) -> Option<Fields<'_>> {
    let (call, rest) = signed(text.strip_prefix(b"NR ")?)?;
    let (object, rest) = hex(rest.strip_prefix(b" (")?)?;
    let (value, rest) = hex(rest.strip_prefix(b", ")?)?;
    memchr::memchr(b')', rest)?;
    Some(Fields::Enter { call: call as u32, object, value })
}

/// Reads "fd: 0x00000005, buf: 0x7ffd…" of `syscalls:sys_enter_NAME`, and "0x1" of `sys_exit_NAME`.
/// The text names the call alone: its number is that of this machine.
pub(super) fn of_call<'t>(event: &[u8], text: &[u8]) -> Payload<'t> {
    let name = event.strip_prefix(b"syscalls:sys_").unwrap_or_default();
    let (is_enter, name) = match (name.strip_prefix(b"enter_"), name.strip_prefix(b"exit_")) {
        (Some(name), _) => (true, name),
        (_, Some(name)) => (false, name),
        _ => return Payload::Other,
    };
    let Some(call) = calls::number_here(name) else { return Payload::Other };
    let mut words = text.split(|byte| *byte == b',').map(|word| {
        let value = memchr::memchr(b':', word).map_or(word, |at| word.get(at + 1..).unwrap_or(&[]));
        hex(value.trim_ascii()).map_or(0, |(value, _)| value)
    });
    let (object, value) = (words.next().unwrap_or(0), words.next().unwrap_or(0));
    Payload::Whole(match is_enter {
        true => Fields::Enter { call, object, value },
        false => Fields::Leave { call, result: object },
    })
}

pub(super) fn leave(text: &[u8]) -> Option<Fields<'_>> {
    let (call, rest) = signed(text.strip_prefix(b"NR ")?)?;
    let (result, _) = signed(rest.strip_prefix(b" = ")?)?;
    Some(Fields::Leave { call: call as u32, result: result as u64 })
}
