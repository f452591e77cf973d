//! Open flows: an end meets the beginning of its own stream, else that of another stream.
//!
//! ```text
//!  stream 1:  WakeSend 7 ─┐  WakeSend 8 ──▶ WakeReceive 8
//!  stream 2:              └──▶ WakeReceive 7     no beginning in its own stream
//! ```
//!
//! Design: `.cnv.flows` in `design/eventcnv.md`.

use eventlog::reader::marks::Key;
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// What tells a flow from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    pub(crate) stream: u16,
    pub(crate) pair: u32,
    pub(crate) key: Key,
}

/// Open flows, in bounded memory.
#[derive(Debug)]
pub(crate) struct Flows<T> {
    open: HashMap<Place, T, RandomState>,
    /// The last open flow of pairs that meet across streams. Each is in `open`.
    across: HashMap<(u32, Key), Place, RandomState>,
    count_max: usize,
}

impl<T> Flows<T> {
    /// Returns a table without flows, for at most `count_max`.
    pub(crate) fn new(count_max: usize) -> Flows<T> {
        Flows { open: HashMap::default(), across: HashMap::default(), count_max }
    }

    /// Begins a flow, in place of an open one that has this place. `group` is the pair that stands
    /// for the pairs of other streams, if they meet. Returns whether there was room.
    pub(crate) fn begin(&mut self, place: Place, group: Option<u32>, value: T) -> bool {
        if self.open.len() >= self.count_max && !self.open.contains_key(&place) {
            return false;
        }
        self.open.insert(place, value);
        if let Some(group) = group {
            self.across.insert((group, place.key), place);
        }
        true
    }

    /// Ends a flow. Returns what its beginning left.
    pub(crate) fn end(&mut self, place: Place, group: Option<u32>) -> Option<T> {
        let across = group.map(|group| (group, place.key));
        let met = across.as_ref().and_then(|key| self.across.get(key)).copied();
        let own = self.open.remove(&place);
        let is_own = own.is_some();
        let found = own.or_else(|| met.and_then(|met| self.open.remove(&met)));
        if let Some(key) = across.filter(|_| !is_own || met == Some(place)) {
            self.across.remove(&key);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn place(stream: u16, key: u64) -> Place {
        Place { stream, pair: stream.into(), key: [key, 0, 0, 0] }
    }

    #[test]
    fn an_end_meets_its_own_stream_first() {
        let mut flows = Flows::new(9);
        assert!(flows.begin(place(1, 7), Some(0), "a"));
        assert!(flows.begin(place(2, 7), Some(0), "b"));
        assert_eq!(flows.end(place(1, 7), Some(0)), Some("a"));
        assert_eq!(flows.end(place(3, 7), Some(0)), Some("b"));
        assert_eq!(flows.end(place(3, 7), Some(0)), None);
    }

    #[test]
    fn pairs_without_a_group_keep_to_their_stream() {
        let mut flows = Flows::new(9);
        assert!(flows.begin(place(1, 7), None, "a"));
        assert_eq!(flows.end(place(2, 7), None), None);
        assert_eq!(flows.end(place(1, 7), None), Some("a"));
    }

    proptest! {
        /// `.cnv.flows`: as a list of open flows, searched from its end, has them.
        #[test]
        fn flows_meet_as_in_a_naive_list(
            steps in prop::collection::vec((any::<bool>(), 0u16..3, 0u64..3), 0..200),
        ) {
            let mut flows = Flows::new(4);
            // The open flows, and by key the last one that was begun and did not end.
            let mut open: Vec<(Place, usize)> = Vec::new();
            let mut last: HashMap<u64, Place> = HashMap::new();
            for (at, (is_end, stream, key)) in steps.into_iter().enumerate() {
                let own = place(stream, key);
                let find = |open: &[(Place, usize)], of| open.iter().position(|(p, _)| *p == of);
                if is_end {
                    let met = last.get(&key).copied();
                    let found = find(&open, own).map(|at| (at, own));
                    let found = found.or_else(|| met.and_then(|of| Some((find(&open, of)?, of))));
                    let expected = found.map(|(at, of)| {
                        if met == Some(of) {
                            last.remove(&key);
                        }
                        open.remove(at).1
                    });
                    prop_assert_eq!(flows.end(own, Some(0)), expected);
                    continue;
                }
                let known = find(&open, own);
                let has_room = known.is_some() || open.len() < 4;
                prop_assert_eq!(flows.begin(own, Some(0), at), has_room);
                if has_room {
                    known.map(|at| open.remove(at));
                    open.push((own, at));
                    last.insert(key, own);
                }
                prop_assert!(flows.across.len() <= flows.open.len() && flows.open.len() <= 4);
            }
        }
    }
}
