//! The groups of waits as a table, and what the JSON has next to the tables.
//!
//! Design: `.waits.answer` in `design/waits.md`.

use crate::ask::waits::view::Shown;
use cli::table::{Table, count, text, time};
use lens::waits::model::{Cause, NEVER};
use lens::waits::under::Around;
use serde_json::{Value, json};

impl Shown<'_> {
    /// Returns the time that a thread took, by its names.
    fn owners(&self, life: u32, ns: u64) -> Vec<Value> {
        let own = self.model().life(life);
        let thread = own.map_or(0, |life| life.thread);
        let mut rest = ns;
        let mut all = Vec::new();
        let named = |name: String, ns: u64| json!({ "thread": thread, "name": name, "ns": ns });
        for (at, (until, _)) in (0..).zip(own.map_or(&[][..], |own| &own.former)) {
            let Some(ns) = self.explained.account.former.get(&(life, at)) else { continue };
            rest = rest.saturating_sub(*ns);
            all.push(named(self.explained.names.thread(life, until.saturating_sub(1)), *ns));
        }
        if rest > 0 {
            all.push(named(self.explained.names.thread(life, NEVER), rest));
        }
        all
    }

    /// Returns the time that interrupts took while the target ran.
    fn interrupts(&self) -> Vec<Value> {
        let (_, all) = &self.explained.interrupted;
        let name = |by| self.explained.names.interrupter(by);
        all.iter().map(|(by, ns)| json!({ "name": name(*by), "ns": ns })).collect()
    }

    /// Returns the groups of waits as a table.
    pub(super) fn waits(&self) -> Table<'static> {
        let texts =
            ["process", "call", "object", "label", "cause", "by", "event", "waker event"].map(text);
        let numbers = [time(""), time("delay"), count("count"), time("longest")];
        let who = [text("thread"), text("processor had by"), time("processor"), text("sentence")];
        let mut table = Table::new(texts.into_iter().chain(numbers).chain(who));
        for (at, group) in self.groups() {
            let Some((index, wait, longest)) = self.longest(group) else { continue };
            let names = &self.explained.names;
            let [own, waker] = self.explained.around(index);
            let (who, had) = self.holder(at).unzip();
            let label = own.and_then(|own| own.label);
            let label = label.map(|at| self.explained.under.name(at).to_owned());
            let waker = waker.filter(|_| wait.cause == Cause::Thread);
            let doing =
                |around: Option<&Around>| around.and_then(|around| self.doing(around, "in"));
            table.row([
                names.process(group.process, wait.begin).into(),
                names.call(wait).into(),
                names.object(wait).into(),
                label.into(),
                wait.cause.name().to_owned().into(),
                names.cause_by(wait, &group.bearers[1]).into(),
                doing(own).into(),
                doing(waker).into(),
                group.ns.into(),
                group.delay.into(),
                group.count.into(),
                longest.into(),
                names.threads(&group.bearers[0]).into(),
                who.into(),
                had.into(),
                self.sentence(at, group).into(),
            ]);
        }
        table
    }

    /// Returns the members of the JSON next to the tables.
    pub(super) fn facts(&self, path_of: &str, is_path_whole: bool) -> Value {
        let account = &self.explained.account;
        let owners: Vec<Value> =
            account.owners.iter().flat_map(|(life, ns)| self.owners(*life, *ns)).collect();
        let counts = &self.model().counts;
        json!({
            "target": self.target(),
            "total_ns": account.total,
            "owners": owners,
            "interrupts": self.interrupts(),
            "path_of": path_of,
            "is_path_whole": is_path_whole,
            "events": counts.rows,
            "gaps": counts.gaps,
            "contradictions": counts.contradictions,
            "missing_switches": counts.missing,
            "samples_dropped": counts.samples_dropped,
            "stolen_ns": counts.stolen_ns,
        })
    }
}
