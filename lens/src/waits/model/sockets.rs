//! Sockets: which thread ended a wait for data, for room, for a connection.
//!
//! ```text
//!  one host      Syscall ├ Ready ─ Waking ┤ SocketSend      told as the call of the sender ends
//!  a full peer   Syscall ├ Waking ┤ SocketReceive           as the call of the reader ends
//!  connect, close        SocketState ─ Ready ─ Waking       as the call begins
//!  from outside  IrqLeave ─ Ready ─ Waking                  by no thread of this kernel
//! ```
//!
//! A soft interrupt that wakes a thread runs on the processor of the sender, in the sender's call.
//! So the row that names the sender comes after the wake: wakes wait for it.
//!
//! Design: `.waits.model` in `design/waits.md`.

use super::state::{Act, Building, NEAR, SocketState, Waiting};
use super::things::{Did, NetworkOperation, NetworkWake, OPERATION_COUNT_MAX, Socket};
use super::{Cause, NEVER, NONE};
use crate::waits::calls;

/// Sockets, at most.
const SOCKET_COUNT_MAX: usize = 1 << 18;
/// Bytes of the name of a socket.
const NAME_SIZE_MAX: usize = 256;
/// Wakes that wait for one row, at most.
const WAITING_COUNT_MAX: usize = 64;
/// Stretches in which a thread may have been switched out during one call, at most.
const BACK_COUNT_MAX: usize = 64;

// The states of a socket; net/tcp_states.h.
const ESTABLISHED: u32 = 1;
const SYN_SENT: u32 = 2;
const SYN_RECV: u32 = 3;
const FIN_WAIT1: u32 = 4;
const CLOSE: u32 = 7;
const CLOSE_WAIT: u32 = 8;
const LAST_ACK: u32 = 9;
const LISTEN: u32 = 10;

impl Building {
    /// Returns the index of a socket, which it gets now if it is new; [`NONE`] beyond the limit.
    fn socket(&mut self, address: u64) -> u32 {
        if let Some(socket) = self.sockets.by_address.get(&address) {
            return *socket;
        }
        if self.model.sockets.len() >= SOCKET_COUNT_MAX {
            self.model.counts.left_out += 1;
            return NONE;
        }
        let socket = self.model.sockets.len() as u32;
        self.model.sockets.push(Socket { address, ..Socket::default() });
        self.sockets.states.push(SocketState::default());
        self.sockets.by_address.insert(address, socket);
        socket
    }

    /// Takes the row of data that arrived. Returns the socket.
    pub(super) fn ready_socket(&mut self, address: u64) -> u32 {
        self.model.has.data = true;
        self.socket(address)
    }

    pub(super) fn name_socket(&mut self, address: u64, name: &[u8]) {
        let socket = self.socket(address);
        let Some(own) = self.model.sockets.get_mut(socket as usize) else { return };
        let name = name.get(..NAME_SIZE_MAX).unwrap_or(name);
        if *own.name != *name {
            own.name = name.into();
            self.sockets.by_name.insert(name.into(), socket);
        }
    }

    /// Takes the row of a socket's state. Returns the socket if the state may end a wait.
    pub(super) fn state_of_socket(
        &mut self,
        at: u64,
        cpu: u32,
        (address, state, ports): (u64, u32, u32),
    ) -> Option<u32> {
        let mut socket = self.socket(address);
        let has_begun = matches!(state, SYN_SENT | SYN_RECV | LISTEN);
        if has_begun && self.model.sockets.get(socket as usize).is_some_and(|own| own.ports != 0) {
            // The kernel uses an address again.
            self.sockets.by_address.remove(&address);
            socket = self.socket(address);
        }
        let own = self.model.sockets.get_mut(socket as usize)?;
        if ports != 0 {
            own.ports = ports;
            self.sockets.by_ports.insert(ports, socket);
        }
        let current = self.cpus.get(cpu as usize).map_or(NONE, |own| own.current);
        if matches!(state, SYN_SENT | LISTEN) {
            self.attach(at, current, socket);
        }
        // A thread makes these states of its own sockets.
        let did = match state {
            SYN_SENT => Some(Did::Connected),
            FIN_WAIT1 | LAST_ACK | CLOSE => Some(Did::Closed),
            _ => None,
        };
        if let Some(did) = did {
            let place = self.model.life(current).map_or(NONE, |life| life.last);
            let state = self.sockets.states.get_mut(socket as usize)?;
            let act = Act { at, life: current, place, did };
            state.last = Some(act).filter(|_| current != NONE);
        }
        matches!(state, ESTABLISHED | CLOSE | CLOSE_WAIT).then_some(socket)
    }

    /// The call of a thread handles a socket: its file number is this socket.
    fn attach(&mut self, at: u64, life: u32, socket: u32) {
        let Some(call) = self.states.get(life as usize).and_then(|own| own.call) else { return };
        let name = calls::name(self.model.architecture, call.number);
        if !name.is_some_and(calls::is_of_socket) {
            return;
        }
        let process = self.model.life(life).map_or(0, |life| life.process);
        if process != 0 && socket != NONE {
            self.model.files.attach((process, call.object as u32), at, socket);
        }
    }

    /// A thread has sent to a socket: its call ends. Wakes by data of this socket were its doing.
    pub(super) fn send(&mut self, at: u64, thread: u32, address: u64) {
        let (socket, life) = (self.socket(address), self.find(thread));
        let place = self.model.life(life).map_or(NONE, |life| life.last);
        self.settle_own(at, life, socket, Did::Sent);
        self.attach(at, life, socket);
        let called = self.states.get(life as usize).and_then(|own| own.call.and(Some(own.called)));
        let Some(state) = self.sockets.states.get_mut(socket as usize) else { return };
        state.last = Some(Act { at, life, place, did: Did::Sent });
        state.open = 0;
        for own in std::mem::take(&mut state.waiting) {
            // It was in this call as the data arrived, though another thread brought them.
            if called.is_some_and(|called| called <= own.at) {
                self.settle(own, life, Did::Sent);
            }
        }
    }

    /// A thread has read from a socket: its call ends. A wake in it was for room at the peer.
    pub(super) fn receive(&mut self, at: u64, thread: u32, address: u64) {
        let (socket, life) = (self.socket(address), self.find(thread));
        self.settle_own(at, life, socket, Did::Read);
        self.attach(at, life, socket);
        let sent = self.sockets.states.get(socket as usize).and_then(|state| state.last);
        let is_own = |sent: &Act| sent.did == Did::Sent && self.is_of_process(sent.life, life);
        let sent = sent.filter(is_own);
        let Some(state) = self.sockets.states.get_mut(socket as usize) else { return };
        let network = &mut self.model.network;
        let open = state.open.checked_sub(1).and_then(|at| network.get_mut(at as usize));
        if let Some(open) = open {
            open.to = open.to.max(at);
            open.receives = open.receives.saturating_add(1);
            return;
        }
        let Some(sent) = sent else { return };
        if network.len() >= OPERATION_COUNT_MAX {
            self.model.counts.left_out += 1;
            return;
        }
        let (life, from, to) = (sent.life, sent.at, at);
        network.push(NetworkOperation { life, socket, from, to, receives: 1 });
        state.open = network.len() as u32;
    }

    /// Returns the socket at the other end of a connection; of a socket that listens, the last one
    /// that asked for a connection.
    fn peer(&self, socket: u32) -> Option<u32> {
        let own = self.model.sockets.get(socket as usize)?;
        if let Some(space) = own.name.iter().position(|byte| *byte == b' ') {
            let (here, there) = own.name.split_at(space);
            let reversed = [there.get(1..).unwrap_or_default(), b" ", here].concat();
            if let Some(peer) = self.sockets.by_name.get(&*reversed) {
                return Some(*peer);
            }
        }
        // A socket that listens has the port of its peers to come.
        let is_by_ports = own.ports != 0 && (own.name.is_empty() || own.ports as u16 == 0);
        let peer = self.sockets.by_ports.get(&own.ports.rotate_left(16));
        peer.copied().filter(|peer| is_by_ports && *peer != socket)
    }

    fn is_of_process(&self, life: u32, other: u32) -> bool {
        let process = |life| self.model.life(life).map(|life| life.process).filter(|own| *own != 0);
        life == other || process(life).is_some_and(|own| process(other) == Some(own))
    }

    /// Returns whether a socket has another end on this host.
    pub(super) fn has_peer(&self, socket: u32) -> bool {
        self.peer(socket).is_some()
    }

    /// Returns the wake by data for a socket, by its index in the model. `running` is the thread
    /// that ran on the processor of the wake, unless it only passed the data on.
    pub(super) fn network_wake(&mut self, at: u64, cpu: u32, socket: u32, running: u32) -> u32 {
        let peer = self.peer(socket);
        let is_interrupted = self.cpus.get(cpu as usize).is_some_and(|own| own.is_interrupted(at));
        let has_name = self.model.sockets.get(socket as usize).is_some_and(|s| !s.name.is_empty());
        let is_outside = peer.is_none() && (is_interrupted || has_name);
        let did = if is_outside { Did::Outside } else { Did::Unknown };
        let last = peer.and_then(|peer| self.sockets.states.get(peer as usize)?.last);
        // Others may ask a listening socket for a connection, too.
        let last = last.filter(|act| act.did != Did::Connected || act.life == running);
        let act = last.unwrap_or(Act { at: NEVER, life: NONE, place: NONE, did });
        let wake = self.push_wake(socket, act);
        let own = Waiting { wake, at };
        if let Some(peer) = peer.and_then(|peer| self.sockets.states.get_mut(peer as usize)) {
            wait(&mut peer.waiting, own);
        }
        let is_its = peer.is_some() || !is_interrupted;
        if let Some(running) = self.states.get_mut(running as usize).filter(|_| is_its) {
            wait(&mut running.waiting, own);
        }
        wake
    }

    /// Returns the wake by a soft interrupt in a call of the thread that ran, by its index in the
    /// model. The row that ends the call may name a socket; else `did` tells what the wake is.
    pub(super) fn soft_wake(&mut self, at: u64, running: u32, did: Did) -> u32 {
        let sends_now = self.sends_now(at, running).filter(|_| !self.model.has.data);
        let act = sends_now.unwrap_or(Act { at: NEVER, life: NONE, place: NONE, did });
        let wake = self.push_wake(NONE, act);
        if let Some(running) = self.states.get_mut(running as usize) {
            wait(&mut running.waiting, Waiting { wake, at });
        }
        wake
    }

    fn push_wake(&mut self, socket: u32, act: Act) -> u32 {
        if self.model.network_wakes.len() >= OPERATION_COUNT_MAX {
            self.model.counts.left_out += 1;
            return NONE;
        }
        let wake = self.model.network_wakes.len() as u32;
        let Act { at: sent, life: peer, place: from, did } = act;
        self.model.network_wakes.push(NetworkWake { socket, did, sent, peer, from });
        wake
    }

    /// Returns the send of a thread that is in a call that sends. Kernels before 6.3 tell of no
    /// send, and of no data that arrive.
    fn sends_now(&self, at: u64, life: u32) -> Option<Act> {
        let call = self.states.get(life as usize)?.call?;
        let name = calls::name(self.model.architecture, call.number)?;
        let place = self.model.life(life)?.last;
        calls::is_send(name).then_some(Act { at, life, place, did: Did::Sent })
    }

    /// The call of a thread has handled a socket: the wakes in it were its doing.
    fn settle_own(&mut self, at: u64, life: u32, socket: u32, did: Did) {
        let Some(own) = self.states.get_mut(life as usize) else { return };
        if own.waiting.is_empty() {
            return;
        }
        // Without system calls, nothing tells when the call began.
        let from = if own.call.is_some() { own.called } else { at.saturating_sub(NEAR) };
        for own in std::mem::take(&mut own.waiting).into_iter().filter(|own| own.at >= from) {
            let of = self.model.network_wakes.get(own.wake as usize).map_or(NONE, |w| w.socket);
            let peer = self.peer(of);
            let is_its = match did {
                // Data arrived at the other end of this socket, or at a socket without a name.
                Did::Sent => of != socket && peer.is_none_or(|peer| peer == socket),
                _ => of == NONE,
            };
            if is_its {
                self.settle(own, life, did);
            }
            if is_its && of == NONE {
                let socket = self.peer(socket).unwrap_or(NONE);
                if let Some(wake) = self.model.network_wakes.get_mut(own.wake as usize) {
                    wake.socket = socket;
                }
            }
        }
    }

    /// States which life did a wake, as it was in a call.
    fn settle(&mut self, own: Waiting, life: u32, did: Did) {
        let mut place = self.model.life(life).map_or(NONE, |life| life.last);
        for _ in 0..BACK_COUNT_MAX {
            let Some(now) = self.model.stretch(place).filter(|now| now.begin > own.at) else {
                break;
            };
            place = now.before;
        }
        if let Some(wake) = self.model.network_wakes.get_mut(own.wake as usize) {
            (wake.did, wake.sent, wake.peer, wake.from) = (did, own.at, life, place);
        }
    }

    /// At the end, each wait by network learns which stretch ended it. An interrupt that no row
    /// tells is one of hardware only if the log has the rows of timers and of devices.
    pub(super) fn finish_causes(&mut self) {
        let wakes = &self.model.network_wakes;
        let has_all = self.model.has.timers && self.model.has.interrupts;
        for own in &mut self.model.stretches {
            if own.cause == Cause::Hardware && own.aid == NONE && !has_all {
                own.cause = Cause::Unknown;
            }
            if own.cause != Cause::Network {
                continue;
            }
            match wakes.get(own.aid as usize) {
                // A soft interrupt that no row explains.
                Some(wake) if wake.did == Did::Timer => (own.cause, own.aid) = (Cause::Timer, NONE),
                Some(wake) if wake.socket == NONE && wake.peer == NONE => {
                    (own.cause, own.aid) = (Cause::Unknown, NONE);
                }
                Some(wake) => own.from = wake.from,
                None => {}
            }
        }
    }
}

fn wait(waiting: &mut Vec<Waiting>, own: Waiting) {
    if waiting.len() < WAITING_COUNT_MAX {
        waiting.push(own);
    }
}
