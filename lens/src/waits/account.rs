//! Where the time of a target went: ten categories, unknown, and lost. Their sum is its time.
//!
//! ```text
//!  --of shop ──▶ lives ──▶ windows ── walk ──▶ pieces ──▶ a sum for each share
//! ```
//!
//! Design: `.waits.account` in `design/waits.md`.

use crate::waits::critical::{Piece, Share, Walker};
use crate::waits::model::{Life, Model, NONE};
pub use crate::waits::parts::Window;
use crate::waits::parts::{STEP, parts};
use std::collections::BTreeMap;

/// The words before a number that say what it means.
const OF_THREAD: &str = "tid:";
const OF_PROCESS: &str = "pid:";

/// A share of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// The time in ns.
    pub ns: u64,
    /// Its pieces.
    pub count: u64,
}

/// Where time went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// The sum of each share, in the order of [`Share::ALL`].
    pub shares: [Sum; Share::ALL.len()],
    /// The whole time: the sum of the shares.
    pub total: u64,
    /// The time that each other life, and the target itself, took: by life, in ns.
    pub owners: BTreeMap<u32, u64>,
    /// The part of it that a life took under a former name: by life and the name's place in
    /// [`Life::former`], in ns.
    pub former: BTreeMap<(u32, u32), u64>,
}

impl Account {
    /// Adds a piece.
    #[inline]
    fn add(&mut self, piece: &Piece) {
        let ns = piece.to.saturating_sub(piece.from);
        if let Some(sum) = self.shares.get_mut(piece.share as usize) {
            sum.ns = sum.ns.saturating_add(ns);
            sum.count += 1;
        }
        self.total = self.total.saturating_add(ns);
    }

    /// Adds the time that a life took.
    fn own(&mut self, (life, ns): (u32, u64)) {
        if ns > 0 {
            add(self.owners.entry(life).or_default(), ns);
        }
    }

    /// Returns the sums of both.
    fn with(mut self, other: Account) -> Account {
        for (own, other) in self.shares.iter_mut().zip(other.shares) {
            add(&mut own.ns, other.ns);
            own.count += other.count;
        }
        add(&mut self.total, other.total);
        other.owners.into_iter().for_each(|own| self.own(own));
        for (name, ns) in other.former {
            add(self.former.entry(name).or_default(), ns);
        }
        self
    }

    /// Returns the shares with their names.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, Sum)> {
        Share::ALL.iter().zip(self.shares).map(|((name, _), sum)| (*name, sum))
    }
}

/// Returns where the time of windows went.
pub fn account(model: &Model, windows: &[Window], walker: &mut Walker<'_>) -> Account {
    let parts = parts(model, windows, STEP);
    let (all, _) = walker.side_by_side(parts.len(), Account::default, |walker, account, at| {
        // Neighbours often have one owner.
        let mut last = (NONE, 0);
        let Some(part) = parts.get(at) else { return };
        walker.walk_part(part, |piece| {
            account.add(piece);
            let Some(life) = model.stretch(piece.place).map(|own| own.life) else { return };
            let ns = piece.to - piece.from;
            if last.0 != life {
                account.own(std::mem::replace(&mut last, (life, 0)));
            }
            last.1 += ns;
            let is_renamed = |own: &&Life| !own.former.is_empty();
            let Some(own) = model.life(life).filter(is_renamed) else { return };
            let (name, _) = own.name_at(piece.from);
            if name < own.former.len() {
                add(account.former.entry((life, name as u32)).or_default(), ns);
            }
        });
        account.own(last);
    });
    all.into_iter().reduce(Account::with).unwrap_or_default()
}

fn add(sum: &mut u64, ns: u64) {
    *sum = sum.saturating_add(ns);
}

/// Returns the lives that a name or a number means: a process, else a thread; `tid:` and `pid:`
/// before a number say which. A name is that of threads, or of the first thread of a process.
pub fn lives_of(model: &Model, target: &str) -> Vec<u32> {
    let all = || (0..).zip(&model.lives);
    let of = |is_it: &dyn Fn(&Life) -> bool| -> Vec<u32> {
        all().filter(|(_, life)| is_it(life)).map(|(at, _)| at).collect()
    };
    let thread = |number: u32| of(&|life| life.thread == number);
    let process = |number: u32| of(&|life| life.process == number || life.thread == number);
    if let Some(number) = target.strip_prefix(OF_THREAD) {
        return number.parse().map(thread).unwrap_or_default();
    }
    if let Some(number) = target.strip_prefix(OF_PROCESS) {
        return number.parse().map(process).unwrap_or_default();
    }
    if let Ok(number) = target.parse::<u32>() {
        let is_process = model.lives.iter().any(|life| life.process == number);
        return if is_process { process(number) } else { thread(number) };
    }
    let named = of(&|life| *life.name == *target.as_bytes());
    let leads = |at: &u32| {
        let life = model.life(*at);
        life.filter(|life| life.process == life.thread).map(|life| life.process)
    };
    let mut processes: Vec<u32> = named.iter().filter_map(leads).collect();
    processes.sort_unstable();
    let is_meant = |at: u32, life: &Life| {
        processes.binary_search(&life.process).is_ok() || named.binary_search(&at).is_ok()
    };
    all().filter(|(at, life)| is_meant(*at, life)).map(|(at, _)| at).collect()
}

/// Returns the time in which threads, or the first threads of processes, had a name that they have
/// no more.
pub fn windows_of_former(model: &Model, target: &str) -> Vec<Window> {
    let mut windows = Vec::new();
    let all = || (0..).zip(&model.lives);
    for (leader, own) in all() {
        for (at, (until, name)) in own.former.iter().enumerate() {
            if **name != *target.as_bytes() {
                continue;
            }
            let before = at.checked_sub(1).and_then(|at| own.former.get(at));
            let since = before.map_or(own.begin, |(until, _)| *until);
            let is_process = own.process == own.thread;
            let is_meant = |life: u32, other: &Life| {
                life == leader || is_process && other.process == own.process
            };
            windows.extend(all().filter(|(life, other)| is_meant(*life, other)).map(
                |(life, other)| {
                    let (from, to) = (since.max(other.begin), other.end.min(*until));
                    Window { life, from, to }
                },
            ));
        }
    }
    windows.retain(|own| own.from < own.to);
    windows
}

/// Returns the whole time of lives, without those that have none.
pub fn windows_of(model: &Model, lives: &[u32]) -> Vec<Window> {
    let window = |&life: &u32| {
        let own = model.life(life)?;
        Some(Window { life, from: own.begin, to: own.end }).filter(|window| window.from < window.to)
    };
    lives.iter().filter_map(window).collect()
}
