//! Block devices and sockets.
//!
//! Design: `.waits.script` in `design/waits.md`.

use super::super::header::number;
use super::{Fields, Stage, after, hex, signed, small};
use crate::waits::source::tracepoints::operation;
use memchr::memmem;

/// Reads "254,0 WS 65536 () 101982368 + 128 … [NAME]"; the size is missing at the completion.
pub(super) fn block(text: &[u8], stage: Stage) -> Option<Fields<'_>> {
    let (major, rest) = small(text)?;
    let (minor, rest) = small(rest.strip_prefix(b",")?)?;
    let rest = rest.strip_prefix(b" ")?;
    let end = memchr::memchr(b' ', rest)?;
    let letters = rest.get(..end)?;
    // The command of a device is between brackets: letters and digits.
    let rest = rest.get(memmem::find(rest, b") ")? + 2..)?;
    let (sector, rest) = number(rest)?;
    let (count, rest) = small(rest.strip_prefix(b" + ")?)?;
    // The name of the thread ends it, and may be cut by the end of a line.
    memchr::memchr(b']', rest)?;
    let device = major.checked_shl(20)? | minor & 0xF_FFFF;
    Some(Fields::Block { stage, device, sector, count, operation: operation(letters) })
}

pub(super) fn socket(text: &[u8], is_send: bool) -> Option<Fields<'_>> {
    let (socket, rest) = hex(after(text, b"sk address = ")?)?;
    let (size, rest) = signed(after(rest, b"length = ")?)?;
    let flags = after(rest, b"flags = ").and_then(hex).map_or(0, |(flags, _)| flags);
    // As for the record of this tracepoint: an error moves no data, and a peek leaves it.
    Some(match u64::try_from(size) {
        Ok(size) if is_send || flags & 2 == 0 => Fields::Socket { is_send, socket, size },
        _ => Fields::Nothing,
    })
}

pub(super) fn ready(text: &[u8]) -> Option<Fields<'_>> {
    after(text, b"protocol=")?;
    let socket = after(text, b"skaddr=").and_then(hex).map_or(0, |(socket, _)| socket);
    Some(Fields::Ready { socket })
}

pub(super) fn socket_state(text: &[u8]) -> Option<Fields<'_>> {
    let (own, rest) = number(after(text, b"sport=")?)?;
    let (peer, rest) = number(after(rest, b"dport=")?)?;
    let rest = after(rest, b"newstate=")?;
    let end = rest.iter().position(|byte| *byte == b' ').unwrap_or(rest.len());
    let state = match rest.get(..end)? {
        b"TCP_ESTABLISHED" => 1,
        b"TCP_SYN_SENT" => 2,
        b"TCP_SYN_RECV" => 3,
        b"TCP_FIN_WAIT1" => 4,
        b"TCP_FIN_WAIT2" => 5,
        b"TCP_TIME_WAIT" => 6,
        b"TCP_CLOSE" => 7,
        b"TCP_CLOSE_WAIT" => 8,
        b"TCP_LAST_ACK" => 9,
        b"TCP_LISTEN" => 10,
        b"TCP_CLOSING" => 11,
        b"TCP_NEW_SYN_RECV" => 12,
        _ => return None,
    };
    let socket = after(text, b"skaddr=").and_then(hex).map_or(0, |(socket, _)| socket);
    let ports = u32::from(own as u16) << 16 | u32::from(peer as u16);
    Some(Fields::SocketState { socket, state, ports })
}
