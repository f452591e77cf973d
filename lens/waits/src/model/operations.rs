//! Operations of block devices and of the network.
//!
//! ```text
//!  insert ├ queue ┤ issue ├ device ┤ complete ──▶ Operation of the thread that asked
//!  last send ├ a peer works ┤ last receive     ──▶ NetworkOperation of the thread that sent
//! ```
//!
//! Design: `.waits.model` in `design/waits.md`.

use super::building::Building;
use super::rows::Request;
use super::{NEVER, NONE, NetworkWake, calls};
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// Operations of block devices that are open, at most.
const OPEN_COUNT_MAX: usize = 1 << 16;
/// Finished operations that are kept, at most.
const OPERATION_COUNT_MAX: usize = 1 << 22;
/// Sockets, at most.
const SOCKET_COUNT_MAX: usize = 1 << 18;
/// Bytes of the name of a socket.
const NAME_SIZE_MAX: usize = 256;

/// An operation of a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The life that asked for it; [`NONE`] if that is not known.
    pub issuer: u32,
    /// The device: major << 20 | minor.
    pub device: u32,
    /// Its first sector.
    pub sector: u64,
    /// Its sectors.
    pub count: u32,
    /// 0 reads, 1 writes, 2 flushes, 3 discards.
    pub operation: u32,
    /// When it was put into the queue, in ns.
    pub inserted: u64,
    /// When it was given to the device, in ns; without such an event, when it was inserted.
    pub issued: u64,
    /// When the device had done it, in ns.
    pub done: u64,
}

/// An operation of the network: from the last send to the last receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkOperation {
    /// The life that sent and received.
    pub life: u32,
    /// The socket, by its index in [`super::Model::sockets`].
    pub socket: u32,
    /// The last send, in ns.
    pub from: u64,
    /// The last receive, in ns.
    pub to: u64,
    /// Receives.
    pub receives: u32,
}

/// A socket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Socket {
    /// Its address in the kernel.
    pub address: u64,
    /// Own address and the peer's, separated by a space; empty if unknown.
    pub name: Box<[u8]>,
    /// Own port << 16 | the peer's port; 0 unknown.
    pub ports: u32,
}

/// A send.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) at: u64,
    pub(super) life: u32,
    pub(super) place: u32,
}

/// What is known of a socket while the log is read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SocketState {
    last_send: Option<Sent>,
    /// The operation that further receives make longer, by its index plus 1; 0 none.
    open: u32,
}

/// Operations that are not finished, and what leads to peers.
#[derive(Debug, Default)]
pub(super) struct Operations {
    open: HashMap<(u32, u64), Operation, RandomState>,
    sockets: HashMap<u64, u32, RandomState>,
    states: Vec<SocketState>,
    by_name: HashMap<Box<[u8]>, u32, RandomState>,
    by_ports: HashMap<u32, u32, RandomState>,
}

impl Building {
    pub(super) fn insert(&mut self, at: u64, request: &Request) {
        let issuer = self.find(request.thread);
        self.open_operation(request, Operation { issuer, ..begun(request, at, NEVER) });
    }

    pub(super) fn issue(&mut self, at: u64, request: &Request) {
        if let Some(open) = self.operations.open.get_mut(&(request.device, request.sector)) {
            open.issued = open.issued.min(at);
            return;
        }
        let issuer = self.find(request.thread);
        self.open_operation(request, Operation { issuer, ..begun(request, at, at) });
    }

    fn open_operation(&mut self, request: &Request, operation: Operation) {
        let key = (request.device, request.sector);
        let open = &mut self.operations.open;
        if open.len() >= OPEN_COUNT_MAX && !open.contains_key(&key) {
            self.model.counts.left_out += 1;
            return;
        }
        open.insert(key, operation);
    }

    /// Ends an operation. Returns its index in the model; [`NONE`] if its beginning is not known.
    pub(super) fn complete(&mut self, at: u64, request: &Request) -> u32 {
        let key = (request.device, request.sector);
        let Some(mut operation) = self.operations.open.remove(&key) else { return NONE };
        if self.model.operations.len() >= OPERATION_COUNT_MAX {
            self.model.counts.left_out += 1;
            return NONE;
        }
        if operation.issued == NEVER {
            operation.issued = operation.inserted;
        }
        operation.done = at;
        let index = self.model.operations.len() as u32;
        self.model.operations.push(operation);
        if let Some(own) = self.states.get_mut(operation.issuer as usize) {
            own.done = index;
        }
        index
    }

    /// Returns the index of a socket, which it gets now if it is new; [`NONE`] beyond the limit.
    pub(super) fn socket(&mut self, address: u64) -> u32 {
        if let Some(socket) = self.operations.sockets.get(&address) {
            return *socket;
        }
        if self.model.sockets.len() >= SOCKET_COUNT_MAX {
            self.model.counts.left_out += 1;
            return NONE;
        }
        let socket = self.model.sockets.len() as u32;
        self.model.sockets.push(Socket { address, ..Socket::default() });
        self.operations.states.push(SocketState::default());
        self.operations.sockets.insert(address, socket);
        socket
    }

    pub(super) fn name_socket(&mut self, address: u64, name: &[u8]) {
        let socket = self.socket(address);
        let Some(own) = self.model.sockets.get_mut(socket as usize) else { return };
        let name = name.get(..NAME_SIZE_MAX).unwrap_or(name);
        if *own.name != *name {
            own.name = name.into();
            self.operations.by_name.insert(name.into(), socket);
        }
    }

    pub(super) fn state_of_socket(&mut self, address: u64, ports: u32) {
        let socket = self.socket(address);
        let Some(own) = self.model.sockets.get_mut(socket as usize) else { return };
        if ports != 0 {
            own.ports = ports;
            self.operations.by_ports.insert(ports, socket);
        }
    }

    pub(super) fn send(&mut self, at: u64, thread: u32, address: u64) {
        let (socket, life) = (self.socket(address), self.find(thread));
        let place = self.model.life(life).map_or(NONE, |life| life.last);
        let Some(state) = self.operations.states.get_mut(socket as usize) else { return };
        *state = SocketState { last_send: Some(Sent { at, life, place }), open: 0 };
        if let Some(own) = self.states.get_mut(life as usize) {
            own.sent = at;
        }
    }

    pub(super) fn receive(&mut self, at: u64, thread: u32, address: u64) {
        let (socket, life) = (self.socket(address), self.find(thread));
        let Some(state) = self.operations.states.get_mut(socket as usize) else { return };
        let network = &mut self.model.network;
        let open = state.open.checked_sub(1).and_then(|at| network.get_mut(at as usize));
        if let Some(open) = open {
            open.to = open.to.max(at);
            open.receives = open.receives.saturating_add(1);
            return;
        }
        let Some(sent) = state.last_send.filter(|sent| sent.life == life) else { return };
        if network.len() >= OPERATION_COUNT_MAX {
            self.model.counts.left_out += 1;
            return;
        }
        network.push(NetworkOperation { life, socket, from: sent.at, to: at, receives: 1 });
        state.open = network.len() as u32;
    }

    /// Returns the socket at the other end of a connection.
    fn peer(&self, socket: u32) -> Option<u32> {
        let own = self.model.sockets.get(socket as usize)?;
        if let Some(space) = own.name.iter().position(|byte| *byte == b' ') {
            let (here, there) = own.name.split_at(space);
            let reversed = [there.get(1..).unwrap_or_default(), b" ", here].concat();
            if let Some(peer) = self.operations.by_name.get(&*reversed) {
                return Some(*peer);
            }
        }
        let reversed = own.ports.rotate_left(16);
        let peer = self.operations.by_ports.get(&reversed).filter(|_| own.ports != 0);
        peer.copied().filter(|peer| *peer != socket)
    }

    /// Returns the send of a thread that is in a call that sends. On one host the data arrive
    /// within that call, and the kernel tells the send as the call ends.
    fn sends_now(&self, at: u64, life: u32) -> Option<Sent> {
        let call = self.states.get(life as usize)?.call?;
        let name = calls::name(self.model.architecture, call.number)?;
        let place = self.model.life(life)?.last;
        calls::is_send(name).then_some(Sent { at, life, place })
    }

    /// Returns the send that a thread made just before.
    fn has_just_sent(&self, at: u64, life: u32) -> Option<Sent> {
        let sent = self.states.get(life as usize)?.sent;
        let is_near = sent <= at && at - sent <= super::causes::NEAR;
        let place = self.model.life(life)?.last;
        is_near.then_some(Sent { at: sent, life, place })
    }

    fn is_of_process(&self, life: u32, other: u32) -> bool {
        let process = |life| self.model.life(life).map(|life| life.process);
        life == other || process(life) == process(other)
    }

    /// Returns the wake by data for a socket, by its index in the model, and the stretch that sent
    /// the data. `running` is the thread that ran on the processor of the wake.
    pub(super) fn network_wake(&mut self, at: u64, socket: u32, running: u32) -> (u32, u32) {
        let states = &self.operations.states;
        let of_peer = self.peer(socket).and_then(|peer| states.get(peer as usize)?.last_send);
        let sent = match self.sends_now(at, running) {
            // Another process sent the data, and this one happens to send as well.
            Some(now) if of_peer.is_none_or(|sent| self.is_of_process(sent.life, now.life)) => now,
            _ => {
                let just_sent = || self.has_just_sent(at, running);
                let sent = of_peer.or_else(just_sent).filter(|sent| sent.at <= at);
                sent.unwrap_or(Sent { at: NEVER, life: NONE, place: NONE })
            }
        };
        if self.model.network_wakes.len() >= OPERATION_COUNT_MAX {
            self.model.counts.left_out += 1;
            return (NONE, NONE);
        }
        let index = self.model.network_wakes.len() as u32;
        let Sent { at: sent, life: peer, place } = sent;
        self.model.network_wakes.push(NetworkWake { socket, sent, peer });
        (index, place)
    }
}

fn begun(request: &Request, inserted: u64, issued: u64) -> Operation {
    let Request { device, sector, count, operation, .. } = *request;
    Operation { issuer: NONE, device, sector, count, operation, inserted, issued, done: NEVER }
}
