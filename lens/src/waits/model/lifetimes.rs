//! How threads begin, change and end: forks, execs, exits, losses, the end of the log.
//!
//! ```text
//!  Fork ──▶ a life, ready to run     Exec ──▶ another run     Exit, then a switch ──▶ the end
//! ```
//!
//! Design: `.waits.model`, `.waits.lost` in `design/waits.md`.

use super::building::cut;
use super::state::Building;
use super::{Call, Cause, NEVER, NONE, Stretch, What};
use crate::waits::calls::{self, Effect};

/// The result of a call whose file number is not open: `-EBADF`.
const BAD_FILE: i64 = -9;
/// The commands of `fcntl` that copy a file number.
const COPY_COMMANDS: [u64; 2] = [0, 1030];
/// Gaps of a processor that are kept, at most; further ones make the last one longer.
const GAP_COUNT_MAX: usize = 1 << 16;

impl Building {
    pub(super) fn fork(&mut self, at: u64, parent: u32, child: u32, process: u32) {
        let parent = self.life_of(parent, at, What::Unknown);
        let old = self.find(child);
        if child == 0 {
            return;
        }
        if self.model.life(old).is_some_and(|old| !old.is_ended) {
            self.model.counts.contradictions += 1;
            self.close(old, at);
            self.end_life(old, at);
            self.named.remove(&child);
        }
        let of_parent = self.model.life(parent).map_or(0, |parent| parent.process);
        let process = if process == 0 { of_parent } else { process };
        self.model.files.fork(of_parent, process, at);
        let from = self.model.life(parent).map_or(NONE, |parent| parent.last);
        let life = self.create(child, at, process, parent);
        if let Some(state) = self.states.get_mut(parent as usize) {
            state.made = life;
        }
        self.open(life, at, What::Wait);
        if let Some(now) = self.now(life).filter(|now| now.what == What::Wait) {
            (now.woken, now.cause, now.from, now.aid) = (at, Cause::Forked, from, parent);
        }
    }

    /// A new thread can run: until now its parent was making it.
    pub(super) fn ready(&mut self, at: u64, target: u32) {
        let life = self.find(target);
        let is_new = |now: &&mut Stretch| now.what == What::Wait && now.cause == Cause::Forked;
        if let Some(now) = self.now(life).filter(is_new).filter(|now| now.woken == now.begin) {
            now.woken = at;
        }
    }

    /// A thread runs another program: another run follows, without a wait.
    pub(super) fn exec(&mut self, at: u64, thread: u32, was: u32, path: &[u8]) {
        let former = self.find(was);
        if was != thread && self.model.life(former).is_some_and(|life| !life.is_ended) {
            // A thread that was not the first one takes its number.
            let leader = self.find(thread);
            self.close(leader, at);
            self.end_life(leader, at);
            self.threads.remove(&was);
            self.threads.insert(thread, former);
            if let Some(life) = self.model.lives.get_mut(former as usize) {
                life.thread = thread;
            }
        }
        let life = self.life_of(thread, at, What::Run);
        self.model.files.exec(thread, at);
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        if let Some(own) = self.model.lives.get_mut(life as usize).filter(|_| !name.is_empty()) {
            let is_kept = own.rename(at, cut(name));
            self.model.counts.left_out += u64::from(!is_kept);
        }
        if self.what(life) == Some(What::Run) {
            self.close(life, at);
            self.open(life, at, What::Run);
            if let Some(now) = self.now(life) {
                now.is_exec = now.before != NONE && now.what == What::Run;
            }
        }
    }

    pub(super) fn exit(&mut self, at: u64, thread: u32) {
        let life = self.life_of(thread, at, What::Unknown);
        if let Some(state) = self.states.get_mut(life as usize) {
            state.is_exiting = true;
        }
    }

    /// The processor on which a life ran does not run it any more.
    pub(super) fn leave(&mut self, life: u32) {
        let cpu = self.states.get(life as usize).map_or(NONE, |state| state.cpu);
        if let Some(cpu) = self.cpus.get_mut(cpu as usize).filter(|cpu| cpu.current == life) {
            cpu.current = NONE;
        }
    }

    pub(super) fn end_life(&mut self, life: u32, at: u64) {
        self.leave(life);
        if let Some(life) = self.model.lives.get_mut(life as usize) {
            (life.end, life.is_ended) = (at.max(life.begin), true);
            self.named.remove(&life.thread);
        }
    }

    pub(super) fn there(&mut self, at: u64, thread: u32, process: u32, bits: u32) {
        if thread == 0 || self.model.life(self.find(thread)).is_some_and(|life| !life.is_ended) {
            return;
        }
        let life = self.create(thread, at, process, NONE);
        self.open(life, at, if bits == 0 { What::Unknown } else { What::Wait });
        if let Some(state) = self.states.get_mut(life as usize) {
            (state.is_ready, state.is_there) = (bits == 0, true);
        }
    }

    /// A call that ends may have opened or closed file numbers.
    pub(super) fn handle_files(&mut self, at: u64, thread: u32, call: u32, result: i64) {
        let architecture = self.model.architecture;
        let effect = calls::effect(architecture, call);
        if effect == Effect::None {
            return;
        }
        let life = self.find(thread);
        let process = self.model.life(life).map_or(0, |life| life.process);
        let Some(state) = self.states.get(life as usize).filter(|_| process != 0) else { return };
        let (called, own) = (state.called, state.call.filter(|own| own.number == call));
        let files = &mut self.model.files;
        match (effect, own, u32::try_from(result)) {
            (Effect::Open, _, Ok(file)) => files.open((process, file), at, None),
            (Effect::Copy, Some(own), Ok(file)) if is_copy(architecture, &own) => {
                files.open((process, file), at, Some(own.object as u32));
            }
            (Effect::Close, Some(own), _) if result != BAD_FILE => {
                files.close((process, own.object as u32), called, at);
            }
            (Effect::CloseRange, Some(own), Ok(_)) => {
                files.close_range(process, [own.object, own.value], at);
            }
            _ => {}
        }
    }

    pub(super) fn call(&mut self, at: u64, thread: u32, call: Option<Call>) {
        let life = self.life_of(thread, at, What::Unknown);
        let architecture = self.model.architecture;
        let is_naming =
            call.is_some_and(|call| calls::is_naming(architecture, call.number, call.object));
        if let Some(state) = self.states.get_mut(life as usize) {
            (state.call, state.call_index, state.called) = (call, NONE, at);
            if is_naming {
                state.renamed = at;
            }
            state.waiting.clear();
        }
    }

    /// Events of a processor are missing.
    pub(super) fn lose(&mut self, at: u64, cpu: u32, from: u64) {
        self.model.counts.gaps += 1;
        self.model.files.lose(at);
        let begin = self.model.begin;
        if let Some(own) = self.cpu(cpu) {
            // What the processor told is known.
            let from = from.max(own.last_at).max(begin).min(at);
            own.interrupts.clear();
            own.gap = Some(own.gap.map_or(from, |gap| gap.min(from)));
        }
    }

    /// Ends the gap of a processor, if it has one.
    pub(super) fn end_gap(&mut self, cpu: u32, at: u64) {
        let Some(own) = self.cpus.get_mut(cpu as usize) else { return };
        let Some(from) = own.gap.take() else { return };
        let is_full = own.gaps.len() >= GAP_COUNT_MAX;
        match own.gaps.last_mut().filter(|last| is_full || last.1 >= from) {
            Some(last) => last.1 = at,
            None => own.gaps.push((from, at)),
        }
    }

    /// Ends a life that is open at the end of the log.
    pub(super) fn end_life_open(&mut self, life: u32, end: u64) {
        let Some(own) = self.model.life(life).filter(|own| !own.is_ended) else { return };
        let (begin, last) = (own.begin, own.last);
        let Some(state) = self.states.get(life as usize) else { return };
        let (cpu, is_exiting) = (state.cpu, state.is_exiting);
        let (what, woken, since) = self
            .model
            .stretch(last)
            .map_or((What::Unknown, NEVER, begin), |now| (now.what, now.woken, now.begin));
        let mut until = end;
        match what {
            // After its exit it never ran again.
            What::Wait if is_exiting && woken == NEVER => {
                (until, _) = (since, self.close(life, since));
            }
            What::Wait => {
                self.end_wait(life, end);
                if let Some(now) = self.now(life).filter(|_| woken == NEVER) {
                    (now.cause, now.woken) = (Cause::Open, NEVER);
                }
            }
            What::Run => {
                let cpu = self.cpus.get(cpu as usize);
                let gap = cpu.and_then(|cpu| cpu.gaps.last()).filter(|gap| gap.1 == end);
                if let Some((from, _)) = gap.copied().filter(|(from, _)| *from < end) {
                    self.cut_at(life, from.max(since), What::Lost);
                }
                self.close(life, end);
            }
            What::Unknown | What::Lost => self.close(life, end),
        }
        if let Some(own) = self.model.lives.get_mut(life as usize) {
            own.end = until.max(begin);
            own.is_ended = is_exiting && until < end;
        }
    }
}

/// Returns whether a call copies a file number: `fcntl` does many other things.
fn is_copy(architecture: u16, call: &Call) -> bool {
    calls::name(architecture, call.number) != Some("fcntl") || COPY_COMMANDS.contains(&call.value)
}
