//! The truth of a scenario: its sums by share and by thread.
//!
//! ```text
//!  stamps ──▶ share ⇥ running ⇥ ns      owner ⇥ pass-b ⇥ ns      total ⇥ window ⇥ ns
//! ```

use crate::chain::{Chain, What, now};
use crate::events::*;
use rustix::time::ClockId;
use std::collections::BTreeMap;
use telemetry::event;

/// Sums of time in ns.
#[derive(Debug, Default)]
pub(crate) struct Truth {
    sums: BTreeMap<(&'static str, &'static str), u64>,
    begin: u64,
    /// The length of the window; 0: it is open.
    total: u64,
}

impl Truth {
    /// Begins the window.
    pub(crate) fn begin() -> Truth {
        event!(WindowBegin);
        Truth { sums: BTreeMap::new(), begin: now(ClockId::Monotonic), total: 0 }
    }

    /// Adds time to a share.
    pub(crate) fn share(&mut self, name: &'static str, ns: u64) {
        *self.sums.entry(("share", name)).or_default() += ns;
    }

    /// Adds the time between stamps.
    pub(crate) fn add(&mut self, chain: &Chain) {
        for pair in chain.0.windows(2) {
            let [before, stamp] = pair else { continue };
            let ns = stamp.at.saturating_sub(before.at);
            *self.sums.entry(("owner", stamp.who.name())).or_default() += ns;
            if stamp.what == What::Arrival {
                self.share("hand-over", ns);
                continue;
            }
            // Of the same thread: else its clock says nothing.
            let is_same = before.who == stamp.who;
            let ran = match (is_same, stamp.what) {
                // Not the processor time, which lacks what a hypervisor took meanwhile: of that
                // no scheduler knows.
                (true, What::Work) => ns.saturating_sub(stamp.delay.saturating_sub(before.delay)),
                (true, _) => stamp.cpu.saturating_sub(before.cpu).min(ns),
                (false, _) => 0,
            };
            self.share("running", ran);
            let rest = match stamp.what {
                What::Work => "involuntary",
                What::Sync => "sync",
                What::Timer => "timer",
                What::Timeout => "timed out",
                What::Arrival => "hand-over",
            };
            self.share(rest, ns - ran);
        }
    }

    /// Ends the window.
    pub(crate) fn close(&mut self) {
        self.total = now(ClockId::Monotonic).saturating_sub(self.begin);
        event!(WindowEnd);
    }

    /// Ends the window if it is open, and prints the sums.
    pub(crate) fn end(mut self) {
        if self.total == 0 {
            self.close();
        }
        for ((what, name), ns) in &self.sums {
            println!("{what}\t{name}\t{ns}");
        }
        println!("total\twindow\t{}", self.total);
    }
}
