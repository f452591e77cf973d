//! What ended a wait: what the processor of the wake did just before.
//!
//! ```text
//!  Waking, in a thread's context ─────────────────────▶ that thread
//!  TimerFire · BlockComplete · SocketReady, then Waking ▶ timer · disk · network
//!  an interrupt is open ──────────────────────────────▶ hardware
//! ```
//!
//! Design: the table of `.waits.model` in `design/waits.md`.

use super::building::Building;
use super::things::Interrupter;
use super::threads::Wake;
use super::{Cause, Did, NEVER, NONE, What};
use crate::waits::calls;

/// The time from an event of an interrupt to the wakes that it causes, at most, in ns.
pub(super) const NEAR: u64 = 100_000;

/// The contexts of a waker, as in the registry.
pub(super) const IN_THREAD: u32 = 0;
const IN_SOFT: u32 = 1;
const IN_INTERRUPT: [u32; 2] = [2, 3];
const IN_UNKNOWN: u32 = 4;

/// What a processor did just before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Just {
    /// A timer fired.
    Timer {
        /// Whether it ends a sleep.
        is_wakeup: bool,
    },
    /// A block device has done an operation.
    Done {
        /// Its index in the model; [`NONE`] if its beginning is not known.
        operation: u32,
    },
    /// Data for a socket arrived.
    Ready {
        /// Its index in the model.
        socket: u32,
    },
}

/// What is known of a processor now.
#[derive(Clone, Debug)]
pub(super) struct Cpu {
    /// The life that runs; [`NONE`] for the idle thread.
    pub(super) current: u32,
    /// Whether any switch told what runs.
    pub(super) is_known: bool,
    /// The time of its last row.
    pub(super) last_at: u64,
    /// The time of its last switch.
    pub(super) switched: u64,
    /// Rows were lost from this time on, and no switch came since.
    pub(super) gap: Option<u64>,
    /// Times from which a gap began, until the next switch, in order.
    pub(super) gaps: Vec<(u64, u64)>,
    pub(super) just: Option<(Just, u64)>,
    /// The open interrupt; [`NONE`].
    pub(super) irq: u32,
    /// The interrupts that have not ended, the innermost last, and since when they have the
    /// processor.
    pub(super) interrupts: Vec<(Interrupter, u64)>,
    /// When the last interrupt of hardware ended, unless a thread made a row since; else
    /// [`NEVER`].
    pub(super) left: u64,
}

impl Default for Cpu {
    fn default() -> Cpu {
        Cpu {
            current: NONE,
            is_known: false,
            last_at: 0,
            switched: 0,
            gap: None,
            gaps: Vec::new(),
            just: None,
            irq: NONE,
            interrupts: Vec::new(),
            left: NEVER,
        }
    }
}

impl Cpu {
    /// Returns whether an interrupt of hardware may have brought what happens now.
    pub(super) fn is_interrupted(&self, at: u64) -> bool {
        self.irq != NONE || self.left <= at && at - self.left <= NEAR
    }
}

impl Building {
    /// Takes the row of a wake.
    #[inline]
    pub(super) fn wake(&mut self, at: u64, cpu: u32, waker: u32, target: u32, context: u32) {
        let life = self.life_of(target, at, What::Wait);
        if life == NONE || self.cpu(cpu).is_none() {
            return;
        }
        let wake = self.cause(at, cpu, waker, life, context);
        self.apply(life, at, wake);
    }

    /// Returns what a wake means: the first line of the table that fits.
    fn cause(&mut self, at: u64, cpu: u32, waker: u32, target: u32, context: u32) -> Wake {
        let by = |cause| Wake { cause, from: NONE, aid: NONE };
        let Some(own) = self.cpus.get(cpu as usize) else { return by(Cause::Unknown) };
        let (irq, is_interrupted) = (own.irq, own.is_interrupted(at));
        let near = own.just.filter(|(_, then)| at.saturating_sub(*then) <= NEAR);
        // The row itself names the thread that ran: a switch may be missing.
        let running = if waker == 0 { own.current } else { self.find(waker) };
        let is_called = self.states.get(running as usize).is_some_and(|own| own.call.is_some());
        match near.map(|(just, _)| just) {
            // Data came while the thread held the lock of the socket: it passes them on.
            Some(Just::Ready { socket }) if context == IN_THREAD && self.has_peer(socket) => {
                let aid = self.network_wake(at, cpu, socket, NONE);
                Wake { aid, ..by(Cause::Network) }
            }
            _ if context == IN_THREAD && waker != 0 => self.by_thread(at, waker),
            Some(Just::Timer { is_wakeup: true }) => {
                // It ends one sleep.
                self.resume(cpu);
                let is_sleep = self.is_asleep(target);
                by(if is_sleep { Cause::Slept } else { Cause::TimedOut })
            }
            Some(Just::Done { operation }) => {
                let aid = self.operation_for(target, operation);
                Wake { aid, ..by(Cause::Disk) }
            }
            Some(Just::Ready { socket }) if socket != NONE => {
                let aid = self.network_wake(at, cpu, socket, running);
                Wake { aid, ..by(Cause::Network) }
            }
            Some(Just::Timer { is_wakeup: false }) if irq == NONE => {
                if !(is_called && context == IN_SOFT) {
                    return by(Cause::Timer);
                }
                let aid = self.soft_wake(at, running, Did::Timer);
                Wake { aid, ..by(Cause::Network) }
            }
            _ if irq != NONE => Wake { aid: irq, ..by(Cause::Hardware) },
            _ if context == IN_UNKNOWN && waker != 0 => self.by_thread(at, waker),
            _ if context == IN_SOFT && (is_called || !self.model.has.calls) && !is_interrupted => {
                let aid = self.soft_wake(at, running, Did::Unknown);
                Wake { aid, ..by(Cause::Network) }
            }
            // Without rows of timers: nothing else ends this call by an interrupt.
            _ if IN_INTERRUPT.contains(&context)
                && !self.model.has.timers
                && self.is_asleep(target) =>
            {
                by(Cause::Slept)
            }
            _ if IN_INTERRUPT.contains(&context) => by(Cause::Hardware),
            _ => by(Cause::Unknown),
        }
    }

    /// The thread of a processor goes on: interrupts before are over, and their effects.
    #[inline]
    pub(super) fn resume(&mut self, cpu: u32) {
        if let Some(own) = self.cpus.get_mut(cpu as usize) {
            (own.just, own.left) = (None, NEVER);
        }
    }

    /// Returns the wake by a thread.
    fn by_thread(&mut self, at: u64, waker: u32) -> Wake {
        let life = self.life_of(waker, at, What::Run);
        let from = self.model.life(life).map_or(NONE, |life| life.last);
        Wake { cause: Cause::Thread, from, aid: life }
    }

    /// Returns whether a thread is in a call whose purpose is to sleep.
    fn is_asleep(&self, life: u32) -> bool {
        let call = self.states.get(life as usize).and_then(|state| state.call);
        let name = call.and_then(|call| calls::name(self.model.architecture, call.number));
        name.is_some_and(calls::is_sleep)
    }

    /// Returns the operation that a thread waited for: the one that just ended if it was issued for
    /// the thread; else the last that was, if it ended in the thread's wait; else the first.
    fn operation_for(&self, target: u32, ended: u32) -> u32 {
        let operation = |at: u32| self.model.operations.get(at as usize);
        if operation(ended).is_some_and(|operation| operation.issuer == target) {
            return ended;
        }
        let own = self.states.get(target as usize).map_or(NONE, |state| state.done);
        let last = self.model.life(target).map_or(NONE, |life| life.last);
        let begin = self.model.stretch(last).map_or(NEVER, |stretch| stretch.begin);
        if operation(own).is_some_and(|own| own.done >= begin) { own } else { ended }
    }
}
