//! The longest calls of a log, for a drawing in order of time.
//!
//! ```text
//!  calls ──▶ a heap of the N longest ──▶ by thread and coroutine, in order of time
//! ```
//!
//! A call lasts as long as the calls in it. So the callers of a kept call are kept too, if their
//! ends are known. Design: `.cnv.report.calls` in `design/eventcnv.md`.

use eventlog::reader::{Clock, Log};
use lens::calls::{Call, Function};
use lens::slices::Verdict;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A thread of a stream, and the coroutine in it; 0: the thread's own stack.
pub(crate) type Lane = (u16, u32, u64);

/// A call. Longer calls are greater; of equal ones, those that began earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Span {
    pub(crate) length: u64,
    pub(crate) begin: Reverse<u64>,
    pub(crate) depth: Reverse<u32>,
    pub(crate) lane: Lane,
    pub(crate) function: Function,
    pub(crate) is_open: bool,
}

/// Keeps the longest calls.
pub(crate) struct Longest {
    count_max: usize,
    kept: BinaryHeap<Reverse<Span>>,
    /// The end of each stream in ns.
    lasts: Vec<Option<u64>>,
    /// The time of the first beginning of a call in ns.
    pub(crate) first: Option<u64>,
    pub(crate) call_count: u64,
}

impl Longest {
    /// Returns a keeper of `count_max` calls.
    pub(crate) fn new(log: &Log, clock: &Clock, count_max: usize) -> Longest {
        let spans = (0..).zip(log.spans());
        let lasts = spans.map(|(stream, span)| span.map(|(_, last)| clock.ns(stream, last)));
        let kept = BinaryHeap::new();
        Longest { count_max, kept, lasts: lasts.collect(), first: None, call_count: 0 }
    }

    /// Keeps a call if it is one of the longest. A call in progress lasts to the end of its stream.
    #[inline]
    pub(crate) fn add(&mut self, call: &Call<'_>) {
        let begin = call.begin.ns;
        self.call_count += 1;
        self.first = Some(self.first.map_or(begin, |first| first.min(begin)));
        let is_open = call.verdict == Verdict::Unfinished;
        let last = || self.lasts.get(usize::from(call.begin.id.stream)).copied().flatten();
        let end = if is_open { last() } else { call.end.map(|end| end.ns) };
        let Some(length) = end.map(|end| end.saturating_sub(begin)) else { return };
        let is_full = self.kept.len() >= self.count_max;
        let least = || self.kept.peek().map_or(u64::MAX, |Reverse(least)| least.length);
        if is_full && length < least() {
            return;
        }
        self.kept.push(Reverse(Span {
            length,
            begin: Reverse(begin),
            depth: Reverse(call.depth),
            lane: (call.begin.id.stream, call.begin.thread, call.context),
            function: call.function,
            is_open,
        }));
        if is_full {
            self.kept.pop();
        }
    }

    /// Returns the calls in order of lanes and time, callers before the calls in them.
    pub(crate) fn sorted(&self) -> Vec<Span> {
        let mut spans: Vec<Span> = self.kept.iter().map(|Reverse(span)| *span).collect();
        spans.sort_unstable_by_key(|span| {
            let Span { begin: Reverse(begin), depth: Reverse(depth), .. } = *span;
            (span.lane, begin, depth)
        });
        spans
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lens::slices::{Edge, Id};

    /// `.cnv.report.calls`: a naive twin sorts all calls.
    #[test]
    fn the_longest_calls_are_kept_in_order_of_time() {
        let log =
            include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/calls/shop.log"));
        let log = Log::from_source(&log[..]).unwrap();
        let mut longest = Longest::new(&log, &Clock::new(&log), 50);
        let mut all: Vec<(u64, Reverse<u64>)> = Vec::new();
        for n in 0..400u64 {
            let (ns, length) = (7 + n * 3, n * 7919 % 101);
            let begin = Edge { ns, id: Id { number: n, ..Id::default() }, ..Edge::default() };
            let end = Edge { ns: ns + length, ..begin };
            all.push((length, Reverse(ns)));
            longest.add(&Call {
                function: 1,
                caller: 0,
                edge: 0,
                node: 0,
                depth: 0,
                context: 0,
                task: None,
                is_unwound: false,
                begin: &begin,
                end: Some(&end),
                verdict: Verdict::Whole,
                duration: Some(length),
                own: None,
            });
        }
        all.sort_unstable();
        let mut expected: Vec<_> = all.split_off(350);
        expected.sort_unstable_by_key(|(_, Reverse(begin))| *begin);
        let found = longest.sorted();
        let found: Vec<_> = found.iter().map(|span| (span.length, span.begin)).collect();
        assert_eq!(found, expected);
        assert_eq!((longest.first, longest.call_count), (Some(7), 400));
    }
}
