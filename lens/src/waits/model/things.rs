//! What a model tells of disks, interrupts and the network: operations, sockets, ends of waits.
//!
//! ```text
//!  insert ├ queue ┤ issue ├ device ┤ complete ──▶ Operation
//!  last send ├ a peer works ┤ last receive ────▶ NetworkOperation
//!  IrqEnter ├ a device, a soft interrupt ┤ IrqLeave ──▶ Interrupt
//!  data, room, a connection, its end ──▶ NetworkWake: which life did it, and when
//! ```
//!
//! Design: `.waits.network` in `design/waits.md`.

use foldhash::fast::RandomState;
use std::collections::HashMap;

/// Finished operations that are kept, at most.
pub(super) const OPERATION_COUNT_MAX: usize = 1 << 22;

/// An operation of a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The life that asked for it; [`NONE`](super::NONE) if that is not known.
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

/// Operations that are not finished, by device and sector.
pub(super) type Open = HashMap<(u32, u64), Operation, RandomState>;

/// An operation of the network: from the last send to the last receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkOperation {
    /// The life that sent.
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

/// What ended a wait for a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Did {
    /// The log does not tell.
    Unknown,
    /// The peer sent data.
    Sent,
    /// The peer read data, so that there is room for more.
    Read,
    /// The peer connected.
    Connected,
    /// The peer closed its end.
    Closed,
    /// Data came from outside of this kernel.
    Outside,
    /// Nothing: a timer had fired, and no row names a socket.
    Timer,
}

/// A wake by network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkWake {
    /// The socket of the woken thread, by its index in [`super::Model::sockets`];
    /// [`NONE`](super::NONE) if it is not known.
    pub socket: u32,
    /// What ended the wait.
    pub did: Did,
    /// When the peer did it, in ns; [`NEVER`](super::NEVER) if that is not known.
    pub sent: u64,
    /// The life that did; [`NONE`](super::NONE) if that is not known.
    pub peer: u32,
    /// The stretch in which it did; [`NONE`](super::NONE) if that is not known.
    pub from: u32,
}

/// What interrupted a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Interrupter {
    /// A device, by its index in [`super::Model::irqs`].
    Device(u32),
    /// A soft interrupt, by its number.
    Soft(u32),
}

impl Interrupter {
    /// Returns the name of a soft interrupt.
    pub fn soft_name(vector: u32) -> Option<&'static str> {
        const NAMES: [&str; 10] = [
            "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER",
            "RCU",
        ];
        NAMES.get(vector as usize).copied()
    }
}

/// A time in which a processor was interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Interrupt {
    /// The processor.
    pub cpu: u32,
    /// From this time on, in ns.
    pub from: u64,
    /// Until this time, in ns.
    pub to: u64,
    /// What interrupted it.
    pub by: Interrupter,
}
