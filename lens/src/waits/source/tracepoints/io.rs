//! Block devices and sockets.
//!
//! ```text
//!  block_rq_insert, _issue, _complete ──▶ BlockInsert, BlockIssue, BlockComplete
//!  sock_send_length, sk_data_ready, … ──▶ SocketSend, SocketReady, …, SocketName
//! ```
//!
//! Design: `.waits.events` in `design/waits.md`.

use super::kinds::{Addresses, Fields, Kind, Stage};
use super::{Record, Tracepoints};
use crate::waits::events::kernel::{
    BlockComplete, BlockInsert, BlockIssue, SocketName, SocketReady, SocketReceive, SocketSend,
    SocketState,
};
use crate::waits::output::Output;
use crate::waits::source::format::{Machine, Slot};
use eventdef::field::P;
use eventlog::writer::MakeError;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// `MSG_PEEK`: the data stays in the socket.
const PEEK: u64 = 2;
/// The family of IPv6 addresses.
const V6: u32 = 10;

/// Returns the operation that the letters of `rwbs` stand for, as in
/// `kernel::BlockInsert`: 0 reads, 1 writes, 2 flushes, 3 discards,
/// 4 others.
pub fn operation(letters: &[u8]) -> u32 {
    // An F before the operation flushes first; an F alone is a flush.
    let is_flush = letters.first() == Some(&b'F');
    let rest = if is_flush { letters.get(1..).unwrap_or_default() } else { letters };
    match rest.first() {
        Some(b'D' | b'E') => 3,
        Some(b'W') => 1,
        Some(b'R') => 0,
        _ if is_flush => 2,
        _ => 4,
    }
}

impl Tracepoints {
    /// Adds the row of a device or a socket. Returns `None` if the record is too short.
    pub(super) fn device(
        &mut self,
        out: &mut Output<'_>,
        record: &Record<'_>,
        kind: &Kind,
    ) -> Result<Option<()>, MakeError> {
        let machine = self.machine;
        let &Record { cpu, ticks, bytes, .. } = record;
        let word = |slot: Slot| slot.number(machine, bytes).map(|word| word as usize);
        match kind.fields {
            Fields::Block { .. } => return self.block(out, record, kind),
            Fields::Socket { is_send, socket, result, flags } => {
                let thread = kind.common.thread.number_u32(machine, bytes);
                let (Some(thread), Some(socket)) = (thread, word(socket)) else { return Ok(None) };
                let Some(result) = result.number(machine, bytes) else { return Ok(None) };
                let flags = flags.and_then(|flags| flags.number(machine, bytes)).unwrap_or(0);
                let is_peek = !is_send && flags & PEEK != 0;
                // An error moves no data.
                let Ok(size) = usize::try_from(result as i64) else { return Ok(Some(())) };
                let socket = P(socket);
                match is_send {
                    true => out.add(cpu, ticks, &SocketSend { thread, socket, size })?,
                    false if is_peek => {}
                    false => out.add(cpu, ticks, &SocketReceive { thread, socket, size })?,
                }
            }
            Fields::Ready { socket } => {
                let Some(socket) = word(socket) else { return Ok(None) };
                out.add(cpu, ticks, &SocketReady { socket: P(socket) })?;
            }
            Fields::SocketState { socket, state, own, peer, addresses } => {
                let port = |slot: Slot| slot.number(machine, bytes).map(|port| port as u16);
                let (Some(own), Some(peer)) = (port(own), port(peer)) else { return Ok(None) };
                let (Some(socket), Some(state)) = (word(socket), state.number_u32(machine, bytes))
                else {
                    return Ok(None);
                };
                let (socket, ports) = (P(socket), u32::from(own) << 16 | u32::from(peer));
                out.add(cpu, ticks, &SocketState { socket, state, ports })?;
                // Connected, connecting, listening: its addresses may be new.
                let name = name(machine, bytes, &addresses, [own, peer]);
                if let Some(name) = name.filter(|_| matches!(state, 1 | 2 | 10)) {
                    out.add(cpu, ticks, &SocketName { socket, name: name.as_bytes() })?;
                }
            }
            _ => {}
        }
        Ok(Some(()))
    }

    fn block(
        &self,
        out: &mut Output<'_>,
        record: &Record<'_>,
        kind: &Kind,
    ) -> Result<Option<()>, MakeError> {
        let Fields::Block { stage, device, sector, count, operation: letters } = kind.fields else {
            return Ok(Some(()));
        };
        let machine = self.machine;
        let &Record { cpu, ticks, bytes, .. } = record;
        let u32_of = |slot: Slot| slot.number_u32(machine, bytes);
        let (Some(thread), Some(device)) = (u32_of(kind.common.thread), u32_of(device)) else {
            return Ok(None);
        };
        let (Some(sector), Some(count)) = (sector.number(machine, bytes), u32_of(count)) else {
            return Ok(None);
        };
        let Some(letters) = letters.string(machine, bytes) else { return Ok(None) };
        let (sector, operation) = (sector as usize, operation(letters));
        match stage {
            Stage::Insert => {
                out.add(cpu, ticks, &BlockInsert { thread, device, sector, count, operation })?;
            }
            Stage::Issue => {
                out.add(cpu, ticks, &BlockIssue { thread, device, sector, count, operation })?;
            }
            Stage::Complete => {
                out.add(cpu, ticks, &BlockComplete { thread, device, sector, count, operation })?;
            }
        }
        Ok(Some(()))
    }
}

/// Returns the addresses of a socket, as in [`SocketName`].
fn name(machine: Machine, bytes: &[u8], places: &Addresses, ports: [u16; 2]) -> Option<String> {
    let family = places.family.and_then(|family| family.number_u32(machine, bytes));
    let address = |slot: Slot| -> Option<IpAddr> {
        let bytes = slot.bytes(bytes)?;
        Some(match bytes.len() {
            4 => Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?).into(),
            // A socket of both families has an IPv4 peer whose socket has no other name.
            16 => Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).to_canonical(),
            _ => return None,
        })
    };
    let [own, peer] = if family == Some(V6) { places.v6? } else { places.v4? };
    let [own_port, peer_port] = ports;
    let own = SocketAddr::new(address(own)?, own_port);
    Some(format!("{own} {}", SocketAddr::new(address(peer)?, peer_port)))
}

#[cfg(test)]
mod tests {
    use super::operation;

    #[test]
    fn letters_tell_the_operation_of_a_device() {
        let cases: [(&[u8], u32); 10] = [
            (b"R", 0),
            (b"RAM", 0),
            (b"WS", 1),
            (b"FWFS", 1),
            (b"F", 2),
            (b"FF", 2),
            (b"D", 3),
            (b"DE", 3),
            (b"N", 4),
            (b"", 4),
        ];
        for (letters, expected) in cases {
            assert_eq!(operation(letters), expected, "{}", letters.escape_ascii());
        }
    }
}
