//! What ended a wait: what the processor of the wake did just before.
//!
//! ```text
//!  Waking, in a thread's context ─────────────────────▶ that thread
//!  TimerFire · BlockComplete · SocketReady, then Waking ▶ timer · disk · network
//!  an interrupt is open ──────────────────────────────▶ hardware
//! ```
//!
//! Design: the table of `.waits.model` in `design/waits.md`.

use super::state::{Building, Just, NEAR, Wake};
use super::{Cause, Did, NEVER, NONE, What};
use crate::waits::calls;

/// The contexts of a waker, as in the registry.
pub(super) const IN_THREAD: u32 = 0;
const IN_SOFT: u32 = 1;
const IN_INTERRUPT: [u32; 2] = [2, 3];
const IN_UNKNOWN: u32 = 4;

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
