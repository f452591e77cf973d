//! Records in order of time: each processor's records come in their order, but processors by turns.
//!
//! ```text
//!  cpu 0: 1 4 │ cpu 1: 2 3 │ up to the latest time of the round before ──▶ 1 2 …
//! ```
//!
//! A source without rounds is put in order by halves of the memory limit.
//!
//! Design: `.waits.perf` in `design/waits.md`.

/// Bytes of records that wait, at most.
const SIZE_MAX: usize = 64 << 20;
/// Records that wait, at most.
const COUNT_MAX: usize = 1 << 20;

/// A record that waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// In ns; 0 if unknown.
    pub(super) time: u64,
    pub(super) kind: u32,
    pub(super) misc: u16,
    size: u16,
    at: usize,
}

/// The records that wait for their turn.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    entries: Vec<Entry>,
    bytes: Vec<u8>,
    /// The latest time of the records up to now.
    latest: u64,
    /// The other buffer.
    spare: Vec<u8>,
}

impl Rounds {
    /// Adds a record. Its body has at most 64 KiB.
    #[inline]
    pub(super) fn push(&mut self, time: u64, kind: u32, misc: u16, body: &[u8]) {
        let size = body.len().min(usize::from(u16::MAX)) as u16;
        self.entries.push(Entry { time, kind, misc, size, at: self.bytes.len() });
        self.bytes.extend_from_slice(body.get(..usize::from(size)).unwrap_or(body));
        self.latest = self.latest.max(time);
    }

    /// Returns whether the limit is reached.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() >= SIZE_MAX || self.entries.len() >= COUNT_MAX
    }

    /// Passes records up to a time: no further record can precede them.
    pub(super) fn up_to<E>(
        &mut self,
        limit: u64,
        pass: impl FnMut(&Entry, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.sort();
        let count = self.entries.partition_point(|entry| entry.time <= limit);
        self.pass(count, pass)
    }

    /// Passes the older half of the records.
    pub(super) fn half<E>(
        &mut self,
        pass: impl FnMut(&Entry, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.sort();
        self.pass(self.entries.len().div_ceil(2), pass)
    }

    /// Passes all records.
    pub(super) fn end<E>(
        &mut self,
        pass: impl FnMut(&Entry, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.sort();
        self.pass(self.entries.len(), pass)
    }

    /// Sorts the records by time; those of one time keep their order. Records without a time, which
    /// the tool makes of what exists, come before the first that has one, and get its time.
    fn sort(&mut self) {
        self.entries.sort_by_key(|entry| entry.time);
        let count = self.entries.partition_point(|entry| entry.time == 0);
        let first = self.entries.get(count).map_or(self.latest, |entry| entry.time);
        self.entries.iter_mut().take(count).for_each(|entry| entry.time = first);
    }

    /// Passes the first records, and keeps the others.
    fn pass<E>(
        &mut self,
        count: usize,
        mut pass: impl FnMut(&Entry, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let body = |entry: &Entry, bytes: &[u8]| entry.at..bytes.len().min(entry.end());
        for entry in self.entries.iter().take(count) {
            pass(entry, self.bytes.get(body(entry, &self.bytes)).unwrap_or_default())?;
        }
        self.entries.drain(..count);
        self.spare.clear();
        for entry in &mut self.entries {
            let at = self.spare.len();
            self.spare.extend_from_slice(self.bytes.get(entry.at..entry.end()).unwrap_or_default());
            entry.at = at;
        }
        std::mem::swap(&mut self.bytes, &mut self.spare);
        Ok(())
    }
}

impl Entry {
    fn end(&self) -> usize {
        self.at + usize::from(self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn take(into: &mut Vec<(u64, Vec<u8>)>) -> impl FnMut(&Entry, &[u8]) -> Result<(), ()> {
        |entry, body| {
            into.push((entry.time, body.to_vec()));
            Ok(())
        }
    }

    proptest! {
        #[test]
        fn rounds_give_each_record_once_in_order_of_time(
            rounds in prop::collection::vec(prop::collection::vec(1u64..50, 0..20), 0..10),
        ) {
            // Records of round n + 2 are later than those of round n.
            let mut naive: Vec<(u64, Vec<u8>)> = Vec::new();
            let (mut found, mut queue) = (Vec::new(), Rounds::default());
            let (mut before, mut latest) = (0, 0);
            for (round, times) in (0u64..).zip(&rounds) {
                for (index, time) in times.iter().enumerate() {
                    let time = round * 25 + time;
                    let body = vec![index as u8; index];
                    queue.push(time, 9, 0, &body);
                    latest = time.max(latest);
                    naive.push((time, body));
                }
                let limit = std::mem::replace(&mut before, latest);
                queue.up_to(limit, take(&mut found)).unwrap();
            }
            queue.end(take(&mut found)).unwrap();
            naive.sort_by_key(|(time, _)| *time);
            prop_assert_eq!(found, naive);
        }
    }

    #[test]
    fn a_source_without_rounds_never_holds_more_than_its_limit() {
        let mut queue = Rounds::default();
        let (mut count, mut last) = (0, 0);
        for time in 1..=3 * COUNT_MAX as u64 {
            queue.push(time, 9, 0, &[0; 8]);
            if queue.is_full() {
                queue
                    .half(|entry, _| {
                        assert!(entry.time > last);
                        (count, last) = (count + 1, entry.time);
                        Ok::<(), ()>(())
                    })
                    .unwrap();
            }
        }
        assert!(count > 2 * COUNT_MAX && queue.entries.len() <= COUNT_MAX);
    }
}
