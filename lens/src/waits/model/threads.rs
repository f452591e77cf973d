//! Runs and waits of threads, as the rows come: switches, forks, execs, ends, losses.
//!
//! ```text
//!  Switch: prev ├ run ┤ wait …      next … wait ┤ run …
//!  Lost:   … ├ run ┤ lost, until the next switch of that processor
//! ```
//!
//! Design: `.waits.model`, `.waits.lost` in `design/waits.md`.

use super::state::{Building, LifeState, Wake};
use super::{Cause, Life, NEVER, NONE, Stretch, What};

/// States of a thread that has ended: EXIT_DEAD and EXIT_ZOMBIE.
const ENDED: u32 = 0x30;
/// The state of a thread that the kernel switched out while it could run; those of a stop.
const PREEMPTED: u32 = 0x100;
const STOPPED: u32 = 0xC;
/// System calls that are kept, at most.
const CALL_COUNT_MAX: usize = 1 << 24;
/// Gaps in one wait, at most; more are one gap.
const SPLIT_COUNT_MAX: usize = 16;

impl Building {
    /// Returns the last life of a number; [`NONE`] for the idle thread and unknown numbers.
    #[inline]
    pub(super) fn find(&self, thread: u32) -> u32 {
        if thread == 0 { NONE } else { self.threads.get(&thread).copied().unwrap_or(NONE) }
    }

    /// Returns the life of a thread, which begins now with a stretch if it is new.
    #[inline]
    pub(super) fn life_of(&mut self, thread: u32, at: u64, what: What) -> u32 {
        let life = self.find(thread);
        if thread == 0 || self.model.life(life).is_some_and(|life| !life.is_ended) {
            return life;
        }
        let life = self.create(thread, at, 0, NONE);
        self.open(life, at, what);
        life
    }

    /// Begins a life without a stretch. Returns [`NONE`] beyond the limit.
    pub(super) fn create(&mut self, thread: u32, at: u64, process: u32, parent: u32) -> u32 {
        if self.model.lives.len() >= super::LIFE_COUNT_MAX {
            self.model.counts.left_out += 1;
            return NONE;
        }
        let named = self.named.get(&thread);
        let known = named.map_or(0, |named| named.process);
        let name = named.map(|named| named.name.clone()).unwrap_or_default();
        let of_parent = || self.model.life(parent).map(|parent| parent.name.clone());
        let name = if name.is_empty() { of_parent().unwrap_or_default() } else { name };
        let process = if process == 0 { known } else { process };
        let life = self.model.lives.len() as u32;
        self.model.lives.push(Life {
            thread,
            process,
            name,
            begin: at,
            end: at,
            parent,
            last: NONE,
            first: NONE,
            ..Life::default()
        });
        self.states.push(LifeState {
            cpu: NONE,
            kept: None,
            call: None,
            call_index: NONE,
            made: NONE,
            is_parted: false,
            done: NONE,
            called: NEVER,
            renamed: 0,
            waiting: Vec::new(),
            is_exiting: false,
            is_ready: false,
            is_there: false,
            is_full: false,
        });
        self.threads.insert(thread, life);
        life
    }

    /// Returns the open stretch of a life.
    pub(super) fn now(&mut self, life: u32) -> Option<&mut Stretch> {
        let last = self.model.lives.get(life as usize)?.last;
        self.model.stretches.get_mut(last as usize)
    }

    pub(super) fn what(&self, life: u32) -> Option<What> {
        let last = self.model.lives.get(life as usize)?.last;
        self.model.stretch(last).map(|stretch| stretch.what)
    }

    /// Begins a stretch.
    pub(super) fn open(&mut self, life: u32, at: u64, what: What) {
        let Some(own) = self.model.lives.get_mut(life as usize) else { return };
        let Some(state) = self.states.get_mut(life as usize) else { return };
        if state.is_full {
            self.model.counts.not_kept += 1;
            if let Some(rest) = self.model.stretches.get_mut(own.last as usize) {
                rest.end = NEVER;
            }
            return;
        }
        // Beyond the limit, a life has one more stretch, which is unknown and lasts.
        state.is_full = self.model.stretches.len() >= self.options.stretch_count_max;
        let what = if state.is_full { What::Unknown } else { what };
        let place = self.model.stretches.len() as u32;
        self.model.stretches.push(Stretch {
            begin: at,
            end: NEVER,
            woken: NEVER,
            life,
            before: own.last,
            from: NONE,
            aid: NONE,
            call: NONE,
            cpu: state.cpu,
            stack: 0,
            samples: 0,
            what,
            cause: Cause::Unknown,
            is_exec: false,
        });
        own.last = place;
        if own.first == NONE {
            own.first = place;
        }
    }

    pub(super) fn close(&mut self, life: u32, at: u64) {
        if let Some(now) = self.now(life) {
            now.end = at.max(now.begin);
        }
    }

    /// Ends the open stretch of a life at a time in it, and begins another there.
    pub(super) fn cut_at(&mut self, life: u32, at: u64, what: What) {
        let is_full = self.states.get(life as usize).is_none_or(|state| state.is_full);
        let is_ended = self.model.life(life).is_none_or(|own| own.is_ended);
        let Some(now) = self.now(life).filter(|_| !is_ended) else { return };
        if now.begin >= at && !is_full {
            // Nothing is left before.
            (now.what, now.cause, now.woken) = (what, Cause::Unknown, NEVER);
            (now.from, now.aid, now.call, now.stack, now.samples) = (NONE, NONE, NONE, 0, 0);
            return;
        }
        if now.what == What::Wait && now.woken == NEVER {
            now.woken = at;
        }
        now.end = at;
        self.open(life, at, what);
    }

    /// Takes a switch of a processor.
    #[inline]
    pub(super) fn switch(&mut self, at: u64, cpu: u32, pair: [u32; 2], state: u32, stack: u32) {
        let [prev, next] = pair;
        let Some(own) = self.cpu(cpu) else { return };
        let (current, is_known) = (own.current, own.is_known);
        let (gap, since) = (own.gap, own.switched.max(own.last_at));
        (own.just, own.irq, own.left, own.is_known) = (None, NONE, NEVER, true);
        own.interrupts.clear();
        let prev = self.life_of(prev, at, What::Run);
        let missing = if gap.is_some() { What::Lost } else { What::Unknown };
        let from = gap.unwrap_or(since);
        if current != NONE && current != prev {
            if gap.is_none() {
                self.miss(current);
            }
            self.cut_at(current, from, missing);
        }
        if prev != NONE {
            if current == prev && gap.is_some() {
                self.cut_at(prev, from, What::Lost);
            } else if current != prev {
                self.was_running(prev, is_known, from, missing);
            }
            self.switch_out(prev, at, cpu, state, stack);
        }
        if gap.is_some() {
            self.end_gap(cpu, at);
        }
        // Only now: the thread before may have ended, and its number may be used again.
        let next = self.life_of(next, at, What::Wait);
        if next != NONE {
            self.switch_in(next, at, cpu);
        }
        if let Some(own) = self.cpus.get_mut(cpu as usize) {
            (own.current, own.switched) = (next, at);
        }
    }

    /// A switch states that a thread ran, which the rows before did not tell.
    fn was_running(&mut self, life: u32, is_known: bool, from: u64, missing: What) {
        let what = self.what(life);
        let state = self.states.get(life as usize);
        let (is_ready, is_there) = state.map_or((false, false), |s| (s.is_ready, s.is_there));
        match what {
            Some(What::Unknown) if is_ready && !is_known => {
                if let Some(now) = self.now(life) {
                    now.what = What::Run;
                }
            }
            Some(What::Wait) if is_there && !is_known => self.ran_from_the_begin(life),
            Some(What::Run) if self.now(life).is_some_and(|now| now.cpu == NONE) => {}
            Some(What::Run | What::Wait) => {
                if missing == What::Unknown {
                    self.miss(life);
                }
                self.leave(life);
                self.cut_at(life, from, missing);
            }
            Some(What::Unknown | What::Lost) | None => {}
        }
    }

    /// A thread that /proc saw as it was about to sleep: until now it has run.
    fn ran_from_the_begin(&mut self, life: u32) {
        let Some(now) = self.now(life) else { return };
        let Stretch { woken, cause, from, aid, .. } = *now;
        (now.what, now.woken, now.cause) = (What::Run, NEVER, Cause::Unknown);
        (now.from, now.aid) = (NONE, NONE);
        if let Some(state) = self.states.get_mut(life as usize).filter(|_| woken != NEVER) {
            state.kept = Some(Wake { cause, from, aid });
        }
    }

    fn switch_out(&mut self, life: u32, at: u64, cpu: u32, bits: u32, stack: u32) {
        self.close(life, at);
        let since = self.now(life).map_or(at, |now| now.begin);
        let Some(state) = self.states.get_mut(life as usize) else { return };
        if let Some(own) = self.model.lives.get_mut(life as usize) {
            own.renamed_since(at, since.max(state.renamed));
        }
        (state.cpu, state.is_ready, state.is_there) = (cpu, false, false);
        if bits & ENDED != 0 {
            return self.end_life(life, at);
        }
        let is_preempted = bits == 0 || bits == PREEMPTED;
        if !is_preempted {
            state.waiting.clear();
        }
        let kept = state.kept.take();
        if state.call.is_some() && state.call_index == NONE {
            let calls = &mut self.model.calls;
            if let Some(call) = state.call.filter(|_| calls.len() < CALL_COUNT_MAX) {
                state.call_index = calls.len() as u32;
                calls.push(call);
            }
        }
        let call = if state.call.is_some() { state.call_index } else { NONE };
        self.open(life, at, What::Wait);
        let Some(now) = self.now(life).filter(|now| now.what == What::Wait) else { return };
        (now.call, now.stack) = (call, stack);
        if let Some(Wake { cause, from, aid }) = kept {
            (now.woken, now.cause, now.from, now.aid) = (at, cause, from, aid);
        }
        if is_preempted {
            (now.woken, now.cause) = (at, Cause::Preempted);
        } else if bits & STOPPED != 0 {
            (now.woken, now.cause, now.from, now.aid) = (NEVER, Cause::Stopped, NONE, NONE);
        }
    }

    pub(super) fn switch_in(&mut self, life: u32, at: u64, cpu: u32) {
        match self.what(life) {
            Some(What::Run) => {
                // It ran elsewhere: the switch that ended that run is missing.
                let elsewhere = self.states.get(life as usize).map_or(NONE, |state| state.cpu);
                let elsewhere = self.cpus.get(elsewhere as usize);
                let since = elsewhere.map_or(at, |cpu| cpu.last_at.max(cpu.switched)).min(at);
                self.miss(life);
                self.leave(life);
                self.cut_at(life, since, What::Unknown);
                self.close(life, at);
            }
            Some(What::Wait) => self.end_wait(life, at),
            _ => self.close(life, at),
        }
        if let Some(state) = self.states.get_mut(life as usize) {
            (state.cpu, state.is_ready, state.kept) = (cpu, false, None);
            state.is_there = false;
        }
        self.open(life, at, What::Run);
    }

    /// Ends a wait. The time in which events of the thread's processor were lost is lost.
    pub(super) fn end_wait(&mut self, life: u32, at: u64) {
        self.close(life, at);
        let cpu = self.states.get(life as usize).map_or(NONE, |state| state.cpu);
        let Some(now) = self.now(life) else { return };
        let whole = *now;
        let gaps = self.cpus.get(cpu as usize).map(|cpu| &*cpu.gaps).unwrap_or_default();
        let first = gaps.partition_point(|(_, to)| *to <= whole.begin);
        let within = gaps.get(first..).unwrap_or_default();
        let count = within.partition_point(|(from, _)| *from < at);
        let within = within.get(..count).unwrap_or_default();
        if within.is_empty() {
            if let Some(now) = self.now(life) {
                now.woken = now.woken.min(at);
            }
            return;
        }
        let split: Vec<(u64, u64)> = match (within.first(), within.last()) {
            (Some((from, _)), Some((_, to))) if count > SPLIT_COUNT_MAX => vec![(*from, *to)],
            _ => within.to_vec(),
        };
        for (from, to) in split {
            let (from, to) = (from.max(whole.begin), to.min(at));
            if let Some(now) = self.now(life).filter(|_| whole.woken > from) {
                // What woke it counts for the last part.
                (now.cause, now.woken, now.from, now.aid) = (Cause::Unknown, NEVER, NONE, NONE);
            }
            self.cut_at(life, from, What::Lost);
            self.close(life, to);
            self.open(life, to, What::Wait);
        }
        if let Some(now) = self.now(life).filter(|now| now.what == What::Wait) {
            let Stretch { begin, before, .. } = *now;
            let woken = whole.woken.max(begin).min(at);
            *now = Stretch { begin, before, woken, end: at.max(begin), ..whole };
        }
        self.close(life, at);
    }

    /// Takes a wake: for the wait that it ends, or for the next one.
    #[inline]
    pub(super) fn apply(&mut self, life: u32, at: u64, wake: Wake) {
        match self.what(life) {
            Some(What::Run) => {
                if let Some(state) = self.states.get_mut(life as usize) {
                    state.kept = Some(wake);
                }
                return;
            }
            // It sleeps: else the kernel would not wake it.
            Some(What::Unknown | What::Lost) => self.cut_at(life, at, What::Wait),
            _ => {}
        }
        let Some(now) = self.now(life).filter(|now| now.what == What::Wait) else { return };
        // A wake that came before the wait was an earlier attempt.
        let is_kept = !matches!(now.cause, Cause::Preempted | Cause::Forked);
        if now.woken == NEVER || now.woken == now.begin && is_kept {
            let Wake { cause, from, aid } = wake;
            let is_stop = now.cause == Cause::Stopped;
            let aid = if is_stop && cause != Cause::Thread { NONE } else { aid };
            let cause = if is_stop { Cause::Stopped } else { cause };
            (now.woken, now.cause, now.from, now.aid) = (at.max(now.begin), cause, from, aid);
        }
    }
}
