//! A thread from its beginning to its end, and the names that it has meanwhile.
//!
//! ```text
//!  fork ── "shop" ──── rename ── "server" ──── exec ── "true" ── end
//!          former[0]             former[1]             name
//! ```
//!
//! Design: `.waits.names` in `design/waits.md`.

/// Former names of a life, at most.
const FORMER_COUNT_MAX: usize = 1 << 12;
/// Bytes of the names that a kernel tells of threads, at most: that of a program may be longer.
const SHORT_SIZE: usize = 15;

/// A thread, from its beginning to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Life {
    /// The kernel's number of the thread.
    pub thread: u32,
    /// The process; 0 unknown.
    pub process: u32,
    /// The number by which the thread knows itself, in its namespace of processes; 0 unknown.
    pub number: u32,
    /// The last name.
    pub name: Box<[u8]>,
    /// The names before, in order of time, each with the time in ns at which the next one followed.
    pub former: Vec<(u64, Box<[u8]>)>,
    /// When it begins in the log, in ns.
    pub begin: u64,
    /// When it ends, in ns.
    pub end: u64,
    /// The life that made it; [`NONE`](super::NONE) if the log does not tell.
    pub parent: u32,
    /// Its last stretch; [`NONE`](super::NONE) if it has none.
    pub last: u32,
    /// The first stretch that is kept.
    pub first: u32,
    /// Whether it ended in the log.
    pub is_ended: bool,
    /// Switches of it that the log lacks: the time between is unknown.
    pub missing: u32,
    /// Samples of it that belong to no run.
    pub samples_dropped: u32,
}

impl Life {
    /// Returns the name that it has at a time in ns, and the place of that name: its index among
    /// the former names, or their number for the last name.
    pub fn name_at(&self, ns: u64) -> (usize, &[u8]) {
        let at = self.former.partition_point(|(until, _)| *until <= ns);
        (at, self.former.get(at).map_or(&*self.name, |(_, name)| name))
    }

    /// Gives it a name from now on. Returns whether the name before is kept, or was the same.
    pub(super) fn rename(&mut self, at: u64, name: Box<[u8]>) -> bool {
        let is_short = name.len() == SHORT_SIZE && self.name.starts_with(&name);
        if is_short || self.name == name {
            return true;
        }
        let former = std::mem::replace(&mut self.name, name);
        if former.is_empty() || at <= self.begin {
            return true;
        }
        let is_full = self.former.len() >= FORMER_COUNT_MAX;
        match self.former.last_mut() {
            // It never ran under that name.
            Some((until, _)) if *until >= at => {}
            _ if is_full => return false,
            _ => self.former.push((at, former)),
        }
        true
    }

    /// The switch at this time told the last name: it got that name in the run before, after
    /// `since`.
    pub(super) fn renamed_since(&mut self, at: u64, since: u64) {
        let Some(((until, _), before)) = self.former.split_last_mut() else { return };
        if *until == at {
            let floor = before.last().map_or(0, |(until, _)| *until);
            *until = since.max(floor).min(at);
        }
    }
}
