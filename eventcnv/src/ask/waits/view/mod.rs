//! What a target waited for: sentences, shares, the critical path.
//!
//! ```text
//!  Explained ──▶ "shop (12) waited 3.00 ms for `arena`, which teller 2 (14) gave up in Flip" …
//!            └─▶ {"total_ns": …, "shares": […], "waits": […], "path": […]}
//! ```
//!
//! Design: `.waits.answer` in `design/waits.md`.

pub(crate) mod tables;

use crate::ask::waits::reading::Explained;
use cli::Stop;
use cli::table::{Around as Lines, Cell, Column, Form, Sheet, Table, count, percent, text, time};
use cli::units::{counted_in_groups, nanoseconds};
use foldhash::fast::RandomState;
use lens::waits::critical::{Piece, Share};
use lens::waits::delay::Holder;
use lens::waits::model::{Cause, Model, NONE, Stretch};
use lens::waits::under::{Around, Own};
use lens::waits::waited::Group;
use serde_json::json;
use std::collections::{BTreeMap, HashMap};

/// Pieces of a critical path in text, at most.
const PIECE_COUNT_MAX: usize = 1000;
/// Sentences of the log of an answer, at most.
const TOLD_COUNT_MAX: usize = 20;
/// The delay of waits is told if it is at least one part in this number.
const DELAY_SHARE: u64 = 20;

/// The columns of the time that something took.
const PIECES: [Column<'static>; 3] =
    [time("").titled("time"), percent("").titled("%"), count("pieces")];

/// What is shown.
pub(crate) struct Shown<'e> {
    pub(crate) explained: &'e Explained<'e>,
    /// Groups of waits that are told, at most.
    pub(crate) top: usize,
    /// Whether the critical path is shown piece by piece.
    pub(crate) has_path: bool,
}

impl Shown<'_> {
    fn model(&self) -> &Model {
        &self.explained.kernel.model
    }

    /// Returns the longest wait of a group, and its index.
    fn longest(&self, group: &Group) -> Option<(usize, &Stretch, u64)> {
        let waited = self.explained.waits.get(group.longest)?;
        Some((group.longest, self.model().stretch(waited.place)?, waited.ns))
    }

    /// Returns the target in words.
    fn target(&self) -> String {
        let Explained { names, windows, .. } = self.explained;
        let mut lives: Vec<u32> = windows.iter().map(|own| own.life).collect();
        lives.sort_unstable();
        lives.dedup();
        // Under the last name in the time that is explained.
        let end = windows.iter().map(|own| own.to).max().unwrap_or(0).saturating_sub(1);
        let process = |life: &u32| self.model().life(*life).map_or(0, |life| life.process);
        let mut processes: Vec<u32> = lives.iter().map(process).collect();
        processes.dedup();
        match (&lives[..], &processes[..]) {
            ([life], _) => names.thread(*life, end),
            (_, [process]) => {
                let count = counted_in_groups(lives.len() as u64, "thread");
                format!("{}, {count}", names.process(*process, end))
            }
            _ => counted_in_groups(lives.len() as u64, "thread"),
        }
    }

    /// Returns the time since the kernel's log began.
    fn at(&self, ns: u64) -> String {
        format!("+{:.6} s", ns.saturating_sub(self.model().begin) as f64 / 1e9)
    }

    /// Returns a sentence about a group of waits.
    fn sentence(&self, at: usize, group: &Group) -> String {
        let names = &self.explained.names;
        let Some((index, wait, longest)) = self.longest(group) else { return String::new() };
        let [own, waker] = self.explained.around(index);
        let [subjects, wakers] = &group.bearers;
        let subject = names.threads(subjects);
        let mut text = format!("{subject} waited {}", nanoseconds(group.ns as f64));
        text += &self.what(wait, own, wakers);
        if wait.cause == Cause::Thread
            && let Some(doing) = waker.and_then(|around| self.doing(around, "in"))
        {
            text += &format!(" {doing}");
        }
        if let Some(doing) = own.and_then(|around| self.doing(around, "under")) {
            text += &format!(", {doing}");
        }
        text += &self.delay(at, group);
        let at = self.at(wait.begin);
        match group.count {
            1 => text + &format!("; at {at}"),
            count => {
                let count = counted_in_groups(count, "time");
                text + &format!("; {count}, the longest {} at {at}", nanoseconds(longest as f64))
            }
        }
    }

    /// Returns who had the processor most of the time while the threads of a group waited for it;
    /// and how long.
    fn holder(&self, at: usize) -> Option<(String, u64)> {
        let names = &self.explained.names;
        let mut kinds: BTreeMap<Holder, (u64, Vec<u32>)> = BTreeMap::new();
        for (holder, ns) in self.explained.holders.get(at)? {
            let (kind, bearer) = match *holder {
                Holder::Thread(bearer) => (Holder::Thread(names.kind(bearer)), Some(bearer)),
                interrupt => (interrupt, None),
            };
            let (sum, bearers) = kinds.entry(kind).or_default();
            *sum = sum.saturating_add(*ns);
            bearers.extend(bearer);
        }
        let (kind, (ns, bearers)) = kinds.into_iter().max_by_key(|(_, (ns, _))| *ns)?;
        Some(match kind {
            Holder::Thread(_) => (names.threads(&bearers), ns),
            Holder::Interrupt(by) => (names.interrupter(by), ns),
        })
    }

    /// Returns the part of waits in which threads could run and had no processor, unless it is
    /// less than a twentieth.
    fn delay(&self, at: usize, group: &Group) -> String {
        let Group { ns, delay, key, .. } = *group;
        if delay == 0 || delay.saturating_mul(DELAY_SHARE) < ns {
            return String::new();
        }
        let holder = self.holder(at).map(|(who, ns)| (who, nanoseconds(ns as f64)));
        let [until, delay] = [ns.saturating_sub(delay), delay].map(|ns| nanoseconds(ns as f64));
        match (key.cause, holder) {
            (Cause::Preempted, Some((who, had))) => format!(", as {who} had it for {had}"),
            (Cause::Forked, Some((who, had))) => format!(", as {who} had the processor for {had}"),
            (Cause::Preempted | Cause::Forked, None) => String::new(),
            (_, holder) => {
                let which = holder.map(|(who, had)| format!(", which {who} had for {had}"));
                let which = which.unwrap_or_default();
                format!(": {until} until it was woken, then {delay} for a processor{which}")
            }
        }
    }

    /// Returns the end of "… waited 3 ms": where, and for what.
    fn what(&self, wait: &Stretch, own: Option<&Around>, wakers: &[u32]) -> String {
        let names = &self.explained.names;
        let call = match (names.call(wait), names.object(wait)) {
            (Some(call), Some(object)) if names.futex(wait).is_none() => {
                format!(" in {call} of {object}")
            }
            (Some(call), _) => format!(" in {call}"),
            _ => String::new(),
        };
        let cause = names.cause_by(wait, wakers);
        match wait.cause {
            Cause::Thread => {
                let waker = names.threads(wakers);
                let label = own.and_then(|own| own.label).map(|at| self.explained.under.name(at));
                match (names.futex(wait), label) {
                    (Some(_), Some(label)) => format!(" for `{label}`, which {waker} gave up"),
                    (Some(futex), None) => {
                        format!(" for the lock at {futex:#x}, which {waker} gave up")
                    }
                    _ => format!("{call}, until {waker} woke it"),
                }
            }
            Cause::Forked => format!(" for its first run ({cause})"),
            Cause::Slept => format!("{call}, as it wanted to sleep"),
            Cause::TimedOut => format!("{call}, until its time was over"),
            Cause::Timer => format!("{call}, until a timer of the kernel fired"),
            Cause::Disk | Cause::Network | Cause::Hardware => format!("{call} for {cause}"),
            Cause::Stopped => format!(", {cause}"),
            Cause::Preempted => " for a processor, while it could run".to_owned(),
            Cause::Open => format!("{call}, until the end of the log"),
            Cause::Unknown => format!("{call} for something that the log does not tell"),
        }
    }

    /// Returns what a thread of the program was doing.
    fn doing(&self, around: &Around, preposition: &str) -> Option<String> {
        let name = |own: Own| self.explained.under.name(own.name).to_owned();
        if let Some(open) = around.open {
            return Some(format!("{preposition} {}", name(open)));
        }
        match (around.before, around.after) {
            (Some(before), Some(after)) => {
                Some(format!("between {} and {}", name(before), name(after)))
            }
            (Some(before), None) => Some(format!("after {}", name(before))),
            (None, Some(after)) => Some(format!("before {}", name(after))),
            (None, None) => None,
        }
    }

    /// Returns when the critical path ends, in ns.
    fn path_end(&self) -> u64 {
        self.explained.path.pieces.last().map_or(0, |piece| piece.to.saturating_sub(1))
    }

    /// Says how much of the time in which the target ran interrupts took, unless it is less than a
    /// twentieth.
    fn interrupted(&self) -> Option<String> {
        let (ran, all) = &self.explained.interrupted;
        let sum: u64 = all.values().sum();
        let (most, ns) = all.iter().max_by_key(|(_, ns)| **ns)?;
        let most = self.explained.names.interrupter(*most);
        let [of, ran, ns] = [sum, *ran, *ns].map(|ns| nanoseconds(ns as f64));
        let is_told = sum.saturating_mul(DELAY_SHARE) >= self.explained.interrupted.0;
        is_told.then(|| {
            format!("Of the {ran} in which it ran, interrupts took {of}; {most} took {ns}.")
        })
    }

    fn shares(&self, has_empty: bool) -> Table<'static> {
        let mut table = Table::new([text("share")].into_iter().chain(PIECES));
        let account = &self.explained.account;
        for (name, sum) in account.named().filter(|(_, sum)| has_empty || sum.ns > 0) {
            let percent = sum.ns as f64 * 100.0 / account.total.max(1) as f64;
            table.row([name.to_owned().into(), sum.ns.into(), percent.into(), sum.count.into()]);
        }
        table
    }

    /// Returns the bearer that has a piece of the critical path; [`NONE`] if that is not known.
    fn bearer(&self, piece: &Piece) -> u32 {
        let own = self.model().stretch(piece.place);
        own.map_or(NONE, |own| self.explained.names.bearer(own.life, piece.from))
    }

    fn owner(&self, bearer: u32) -> String {
        if bearer == NONE { "–".to_owned() } else { self.explained.names.threads(&[bearer]) }
    }

    /// Returns the critical path by thread and share, the longest first.
    fn path_by_owner(&self) -> Table<'static> {
        // A bearer has one name: it is asked once.
        let mut of_bearers: HashMap<(u32, Share), (u64, u64), RandomState> = HashMap::default();
        for piece in &self.explained.path.pieces {
            let sum = of_bearers.entry((self.bearer(piece), piece.share)).or_default();
            sum.0 = sum.0.saturating_add(piece.to - piece.from);
            sum.1 += 1;
        }
        let mut sums: BTreeMap<(String, Share), (u64, u64)> = BTreeMap::new();
        for ((bearer, share), (ns, count)) in of_bearers {
            let sum = sums.entry((self.owner(bearer), share)).or_default();
            (sum.0, sum.1) = (sum.0.saturating_add(ns), sum.1 + count);
        }
        let total: u64 = sums.values().fold(0, |sum, own| sum.saturating_add(own.0));
        let mut sums: Vec<_> = sums.into_iter().collect();
        sums.sort_by_key(|(_, (ns, _))| std::cmp::Reverse(*ns));
        let mut table = Table::new([text("thread"), text("what")].into_iter().chain(PIECES));
        for ((owner, share), (ns, count)) in sums {
            let percent = ns as f64 * 100.0 / total.max(1) as f64;
            let names = [owner, share.name().to_owned()].map(Cell::from).into_iter();
            table.row(names.chain([ns.into(), percent.into(), count.into()]));
        }
        table
    }

    fn path_by_time(&self) -> Table<'static> {
        let columns = [time("at"), time("").titled("time"), text("thread"), text("what")];
        let mut table = Table::new(columns);
        for piece in &self.explained.path.pieces {
            let from = piece.from.saturating_sub(self.model().begin);
            let at = Cell::Words(self.at(piece.from), json!(from));
            let owner = self.owner(self.bearer(piece));
            let [thread, what] = [owner, piece.share.name().to_owned()];
            table.row([at, (piece.to - piece.from).into(), thread.into(), what.into()]);
        }
        table
    }

    /// Returns the answer in a form; CSV has the groups of waits.
    pub(crate) fn answer(&self, form: &Form) -> Result<Vec<u8>, Stop> {
        let (mut waits, mut by_owner) = (self.waits(), self.path_by_owner());
        // `--sort` may mean either.
        form.arrange(&mut waits).or_else(|why| form.arrange(&mut by_owner).map_err(|_| why))?;
        let Explained { account, path, path_of, names, .. } = self.explained;
        let told = self.interrupted().map_or_else(String::new, |told| format!("\n{told}\n"));
        let shares = Sheet::new("shares", self.shares(!form.is_text())).whole();
        let path_of = names.thread(*path_of, self.path_end());
        let of = format!("\nThe critical path of {path_of}:\n\n");
        let mut sheets = vec![
            shares.between("\nWhere the time went:\n\n".to_owned(), told),
            Sheet::new("path_by_thread", by_owner).between(of, String::new()),
        ];
        let by_time = || Sheet::new("path", self.path_by_time()).most(PIECE_COUNT_MAX).whole();
        sheets.extend((self.has_path || form.json).then(by_time));
        let mut before = String::new();
        if form.is_text() {
            let total = nanoseconds(account.total as f64);
            before = format!("{}: {total} in all\n\n{}", self.target(), self.sentences(&waits));
        } else {
            sheets.push(Sheet::new("waits", waits));
        }
        let none = "\nWhere the time went:\n\nnowhere: the target has no time";
        let facts = self.facts(&path_of, path.is_whole);
        form.answer_all("waits", sheets, Lines { before, none, facts, ..Lines::default() })
    }

    /// Returns the target, and the sentences about waits; each with its time.
    pub(crate) fn told(&self) -> Vec<(u64, String)> {
        let total = self.explained.account.total;
        let first = (total, format!("{}: {} in all", self.target(), nanoseconds(total as f64)));
        let groups = self.groups().take(TOLD_COUNT_MAX);
        let all = groups.map(|(at, group)| (group.ns, format!("{}.", self.sentence(at, group))));
        std::iter::once(first).chain(all).collect()
    }

    /// Returns the lines about waits.
    fn sentences(&self, waits: &Table<'_>) -> String {
        let mut text = String::new();
        for (at, row) in (1..).zip(&waits.rows) {
            if let Some(Cell::Text(sentence)) = row.last() {
                text += &format!("{at:>3}. {sentence}.\n");
            }
        }
        let count = self.explained.groups.iter().filter(|group| group.ns > 0).count();
        match count.saturating_sub(waits.rows.len()) as u64 {
            _ if count == 0 && self.explained.kernel.model.counts.switches > 0 => {
                text += "It never waited.\n";
            }
            _ if count == 0 => text += "Its waits are unknown.\n",
            0 => {}
            more => {
                let more = counted_in_groups(more, "further group");
                text += &format!("     and {more} of waits; --top N prints more\n");
            }
        }
        text
    }

    /// Returns the groups that are told, with their places.
    fn groups(&self) -> impl Iterator<Item = (usize, &Group)> {
        let all = self.explained.groups.iter().take(self.top).enumerate();
        all.filter(|(_, group)| group.ns > 0)
    }
}
