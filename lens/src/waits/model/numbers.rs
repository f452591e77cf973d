//! The numbers that threads have in their own namespaces of processes: what their calls return.
//!
//! ```text
//!  thread 4713: gettid() = 2 ──▶ it is 2 for itself      clone() = 3, Fork 4713 4720 ──▶ 4720 is 3
//! ```
//!
//! A program begins with such a call, so its number is known if the log has its beginning. Design:
//! `.waits.same` in `design/waits.md`.

use super::building::NAME_COUNT_MAX;
use super::state::Building;
use super::{Model, NONE};
use crate::waits::calls::{self, NEW_NAMESPACE, Number};

/// System calls that have a meaning here, at most.
const CALL_COUNT_MAX: u32 = 1024;

impl Building {
    /// Takes the number that a thread has for itself.
    pub(super) fn inside(&mut self, thread: u32, number: u32) {
        let life = self.find(thread);
        if let Some(own) = self.model.lives.get_mut(life as usize) {
            own.number = number;
        }
    }

    /// Takes a thread that /proc told. If it is in another namespace, a row says so next.
    pub(super) fn is_first(&mut self, thread: u32) {
        let number = self.model.life(self.find(thread)).map(|life| life.number);
        if self.tells_numbers && number == Some(0) {
            self.inside(thread, thread);
        }
    }

    /// Takes the result of a system call.
    #[inline]
    pub(super) fn tell_number(&mut self, thread: u32, call: u32, result: u64) {
        if self.results.is_empty() {
            let name = |call| calls::name(self.model.architecture, call).unwrap_or_default();
            self.results = (0..CALL_COUNT_MAX).map(|call| calls::number(name(call))).collect();
        }
        let told = self.results.get(call as usize).copied().unwrap_or(Number::None);
        if told != Number::None {
            self.tell(thread, told, result);
        }
    }

    fn tell(&mut self, thread: u32, told: Number, result: u64) {
        let life = self.find(thread);
        let Some(state) = self.states.get_mut(life as usize) else { return };
        let flags = state.call.map_or(0, |call| call.object);
        let is_number = i32::try_from(result as i64).is_ok_and(|number| number > 0);
        match told {
            Number::Parted if result == 0 => {
                state.is_parted |= flags & NEW_NAMESPACE != 0;
            }
            Number::Child if is_number => {
                let made = std::mem::replace(&mut state.made, NONE);
                let is_parted = state.is_parted || flags & NEW_NAMESPACE != 0;
                self.made(life, made, result as u32, is_parted);
            }
            Number::Thread if is_number => self.inside(thread, result as u32),
            Number::Process if is_number => {
                let process = self.model.life(life).map_or(0, |own| own.process);
                self.inside(process, result as u32);
            }
            _ => {}
        }
    }

    /// A thread made another, for which it has this number.
    fn made(&mut self, life: u32, made: u32, number: u32, is_parted: bool) {
        let process = self.model.life(life).map_or(0, |own| own.process);
        let Some(own) = self.model.lives.get_mut(made as usize) else { return };
        if own.number == 0 && !is_parted {
            own.number = number;
        }
        let children = &mut self.model.children;
        if own.process != own.thread {
            return;
        }
        if children.len() < NAME_COUNT_MAX || children.contains_key(&(process, number)) {
            children.entry((process, number)).or_default().push(made);
        } else {
            self.model.counts.left_out += 1;
        }
    }
}

impl Model {
    /// Returns the child that a process has by a number at a time: its life.
    pub fn child(&self, process: u32, number: u32, at: u64) -> Option<u32> {
        let began = |life: &&u32| self.life(**life).is_some_and(|own| own.begin <= at);
        self.children.get(&(process, number))?.iter().rev().find(began).copied()
    }
}
