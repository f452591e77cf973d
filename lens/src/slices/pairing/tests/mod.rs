//! A naive pairing over random logs: nested, crossing, unfinished, repeated, lost.
//!
//! ```text
//!  random steps ─┬─▶ Maker ──▶ log ──▶ Source, Holes ──▶ Pairing ─┐
//!                └─▶ what was lost, edges ────────────▶ Twin ─────┴─ the same slices
//! ```
//!
//! The twin keeps what is open in a list, and searches it from its end. Design: `.slice.pair`.

use super::{Counts, Holes, Pairing, Turn};
use crate::slices::model::{Edge, Id, Limits, Slice, Verdict};
use crate::slices::source::{Batch, Source, Step};
use eventdef::field::P;
use eventlog::reader::marks::{Form, Marks};
use eventlog::reader::{Clock, Filter, Log, Order};
use eventlog::writer::{Cause, Maker, Origin};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

mod play {
    eventdef::events! {
        /// What begins and ends.
        registry "play" version(1, 0, 0);
        kinds {
            /// Slices and spans.
            Play = 0,
            /// Others.
            Aside = 1,
        }

        /// A slice, by its part.
        PartBegin(1, always, Play) {
            /// it
            part: P,
        }
        /// A slice, by its part.
        PartEnd(2, always, Play) {
            /// it
            part: P,
        }
        /// A slice without a key, which ends in another kind.
        WorkEnter(3, always, Play) {}
        /// A slice without a key.
        WorkLeave(4, always, Aside) {}
        /// A span, by its thing.
        ThingCreate(5, always, Play) {
            /// it
            thing: P,
        }
        /// A span, by its thing.
        ThingDestroy(6, always, Aside) {
            /// it
            thing: P,
        }
        /// A span without a key: one a thread.
        TurnStart(7, always, Aside) {}
        /// A span without a key.
        TurnEnd(8, always, Aside) {}
        /// Neither begins nor ends anything.
        Noise(9, always, Play) {}
    }
}
use play::{
    Noise, PartBegin, PartEnd, ThingCreate, ThingDestroy, TurnEnd, TurnStart, WorkEnter, WorkLeave,
};

/// The types whose kind is Aside.
const ASIDE: [u8; 4] = [4, 6, 7, 8];

/// A step of a play.
#[derive(Clone, Copy)]
struct Play {
    stream: u16,
    thread: u32,
    buffer: u32,
    what: u8,
    key: u8,
    ticks: u64,
    is_lost: bool,
}

/// Returns what steps mean.
fn plays(steps: &[(u8, u8, u8, u8)], is_mixed: bool) -> impl Iterator<Item = Play> {
    steps.iter().zip(1000u64..).map(move |(&(stream, thread, what, key), ticks)| {
        let (thread, what) = (u32::from(thread % 3) + 1, what % 11);
        let buffer = if ASIDE.contains(&what) && !is_mixed { thread + 10 } else { thread };
        let is_lost = what == 10 && key % 5 == 0;
        // Some events have the same time.
        let (stream, ticks) = (u16::from(stream % 2), ticks / 2 * 2);
        Play { stream, thread, buffer, what, key, ticks, is_lost }
    })
}

/// A time in which a thread lost events: stream, thread, kinds, from, to.
type Lost = (u16, u32, BTreeSet<u8>, u64, u64);

/// Returns when the steps lost events: between the neighbours of each lost one in its buffer.
fn lost(steps: &[(u8, u8, u8, u8)], is_mixed: bool) -> Vec<Lost> {
    let mut buffers: BTreeMap<(u16, u32), Vec<Play>> = BTreeMap::new();
    for play in plays(steps, is_mixed) {
        buffers.entry((play.stream, play.buffer)).or_default().push(play);
    }
    let mut lost = Vec::new();
    for plays in buffers.values() {
        let held = || plays.iter().filter(|play| !play.is_lost);
        let mut kinds: BTreeSet<u8> =
            held().map(|play| u8::from(ASIDE.contains(&play.what))).collect();
        if kinds.is_empty() {
            kinds.insert(0);
        }
        for (at, play) in plays.iter().enumerate().filter(|(_, play)| play.is_lost) {
            let from = plays[..at].iter().rfind(|play| !play.is_lost).map_or(0, |play| play.ticks);
            let to = plays[at..].iter().find(|play| !play.is_lost);
            let to = to.map_or(u64::MAX, |play| play.ticks);
            lost.push((play.stream, play.thread, kinds.clone(), from, to));
        }
    }
    lost
}

/// Makes a log of steps: stream, thread, event type, key. Each kind of a thread has a buffer, or
/// both share one if `is_mixed`. Event type 10 loses an event.
fn log(steps: &[(u8, u8, u8, u8)], is_mixed: bool) -> Log {
    let mut bytes = Vec::new();
    let mut maker = Maker::new(&mut bytes);
    let mut origin = Origin::new();
    (origin.boot_id, origin.pid, origin.start) = ([7; 16], 4711, 12);
    let mut streams = Vec::new();
    for uuid in [[1; 16], [2; 16]] {
        origin.uuid = uuid;
        streams.push(maker.begin(&origin).unwrap());
    }
    for Play { stream, thread, buffer, what, key, ticks, is_lost } in plays(steps, is_mixed) {
        maker.turn(streams[usize::from(stream)]).unwrap();
        let item = P(usize::from(key % 3));
        let added = match what {
            1 => maker.add(buffer, thread, ticks, &PartBegin { part: item }),
            2 => maker.add(buffer, thread, ticks, &PartEnd { part: item }),
            3 => maker.add(buffer, thread, ticks, &WorkEnter {}),
            4 => maker.add(buffer, thread, ticks, &WorkLeave {}),
            5 => maker.add(buffer, thread, ticks, &ThingCreate { thing: item }),
            6 => maker.add(buffer, thread, ticks, &ThingDestroy { thing: item }),
            7 => maker.add(buffer, thread, ticks, &TurnStart {}),
            8 => maker.add(buffer, thread, ticks, &TurnEnd {}),
            _ if is_lost => maker.lose::<Noise>(buffer, thread, Cause::Io, 1),
            _ => maker.add(buffer, thread, ticks, &Noise {}),
        };
        added.unwrap();
    }
    maker.finish().unwrap();
    Log::from_source(bytes).unwrap()
}

/// A slice as it was passed on.
type Found = (Id, Option<Id>, Verdict, u32);

fn found(slice: &Slice<'_>) -> Found {
    (slice.begin.id, slice.end.map(|end| end.id), slice.verdict, slice.depth)
}

/// What is open, in the order of its beginning.
struct TwinOpen {
    edge: Edge,
    /// How many slices had left their stacks when this one did.
    left: Option<u64>,
    /// Beginnings in it that found no room.
    dropped: u32,
    depth: u32,
}

#[derive(Default)]
struct Twin {
    open: Vec<TwinOpen>,
    lost: Vec<Lost>,
    left_count: u64,
    open_count_max: usize,
    /// Whether open slices give way to what begins.
    makes_room: bool,
    /// The pairs of slices without room, whose ends did not come.
    missing: Vec<u32>,
    found: Vec<Found>,
    counts: Counts,
}

impl Twin {
    fn take(&mut self, edge: &Edge) {
        if self.makes_room && !edge.is_end {
            self.make_room();
        }
        let same = |open: &TwinOpen| {
            let (a, b) = (&open.edge, edge);
            let owner = if a.is_span { a.id.stream == b.id.stream } else { a.track == b.track };
            a.pair == b.pair && a.key == b.key && owner
        };
        let at = self.open.iter().rposition(same);
        match (edge.is_end, at) {
            (true, Some(at)) => self.end(edge, at),
            (true, None) => match self.missing.iter().position(|pair| *pair == edge.pair) {
                Some(at) => {
                    self.missing.remove(at);
                    self.counts.late += 1;
                }
                None => self.counts.alone += 1,
            },
            (false, at) => self.begin(edge, at),
        }
    }

    /// Gives up what crosses, else a part of the slices of the most frequent pair.
    fn make_room(&mut self) {
        if self.open.len() < self.open_count_max {
            return;
        }
        let left = self.open.iter().enumerate().filter(|(_, open)| open.left.is_some());
        if let Some((oldest, _)) = left.min_by_key(|(_, open)| open.left) {
            return self.give_way(oldest);
        }
        let count_of = |pair| self.open.iter().filter(|open| open.edge.pair == pair).count();
        let counts: Vec<usize> = (0..64).map(count_of).collect();
        for _ in 0..(self.open_count_max / 16).max(1) {
            let key = |open: &TwinOpen| {
                let pair = open.edge.pair;
                (usize::MAX - counts[pair as usize], pair)
            };
            // The first one of the least keys is the oldest.
            let found = (0..self.open.len()).min_by_key(|at| key(&self.open[*at]));
            self.give_way(found.unwrap());
        }
    }

    fn give_way(&mut self, at: usize) {
        let gone = self.open.remove(at);
        self.missing.push(gone.edge.pair);
        self.counts.gave_way += 1;
        self.found.push((gone.edge.id, None, Verdict::Unfinished, gone.depth));
    }

    fn begin(&mut self, edge: &Edge, at: Option<usize>) {
        if let Some(at) = at.filter(|_| edge.is_span) {
            let before = self.open.remove(at);
            self.found.push((before.edge.id, None, Verdict::Again, 0));
        } else if self.open.len() >= self.open_count_max {
            let left = self.open.iter().enumerate().filter(|(_, open)| open.left.is_some());
            let Some((oldest, _)) = left.min_by_key(|(_, open)| open.left) else {
                self.counts.full += 1;
                match at {
                    Some(at) => self.open[at].dropped += 1,
                    None => self.missing.push(edge.pair),
                }
                return;
            };
            self.give_way(oldest);
        }
        let is_around = |open: &&TwinOpen| {
            !open.edge.is_span && open.edge.track == edge.track && open.left.is_none()
        };
        let around = self.open.iter().rfind(is_around).filter(|_| !edge.is_span);
        let depth = around.map_or(0, |open| open.depth + 1);
        self.open.push(TwinOpen { edge: *edge, left: None, dropped: 0, depth });
    }

    fn end(&mut self, edge: &Edge, at: usize) {
        if self.open[at].dropped > 0 {
            self.open[at].dropped -= 1;
            return;
        }
        let ended = self.open.remove(at);
        if ended.left.is_none() && !edge.is_span {
            let is_in = |open: &&mut TwinOpen| {
                !open.edge.is_span && open.edge.track == edge.track && open.left.is_none()
            };
            for open in self.open[at..].iter_mut().rev().filter(is_in) {
                self.left_count += 1;
                open.left = Some(self.left_count);
            }
        }
        let is_of = |(stream, thread, kinds, ..): &&Lost, of: &Edge| {
            let is_own = of.is_shared || *thread == of.thread;
            *stream == of.id.stream && kinds.contains(&of.kind) && is_own
        };
        let (begin, end) = (ended.edge.ticks, edge.ticks);
        let is_between = |&(.., from, to): &Lost| {
            from < end && begin < to || from == to && (begin..=end).contains(&from)
        };
        let of = |lost: &&Lost| is_of(lost, &ended.edge) || is_of(lost, edge);
        let verdict = if self.lost.iter().filter(of).any(is_between) {
            Verdict::Doubtful
        } else if ended.left.is_some() {
            Verdict::Crossing
        } else {
            Verdict::Whole
        };
        self.found.push((ended.edge.id, Some(edge.id), verdict, ended.depth));
    }

    fn finish(mut self) -> (Vec<Found>, Counts) {
        let left =
            self.open.iter().map(|open| (open.edge.id, None, Verdict::Unfinished, open.depth));
        self.found.extend(left);
        (self.found, self.counts)
    }
}

/// Pairs a log as a user does, event by event.
fn paired(log: &Log, marks: &Marks, limits: Limits, makes_room: bool) -> (Vec<Found>, Counts) {
    let clock = Clock::new(log);
    let mut source = Source::new(log, &clock, marks);
    let mut pairing = Pairing::new(limits).with_holes(Holes::new(log, marks));
    let mut all = Vec::new();
    log.events(Order::Time, &Filter::default()).each(|event| {
        let Some(edge) = source.edge(event) else { return };
        if makes_room && !edge.is_end {
            pairing.make_room(|slice| all.push(found(&slice)));
        }
        let before = all.len();
        let turn = pairing.take(&edge, |slice| all.push(found(&slice)));
        check(&pairing, &edge, turn, &all[before..]);
    });
    pairing.finish(|slice| all.push(found(&slice)));
    (all, pairing.counts())
}

/// Checks what a turn states.
fn check(pairing: &Pairing, edge: &Edge, turn: Turn, passed: &[Found]) {
    match turn {
        Turn::Begun { slot, within } => {
            assert_eq!(pairing.begin_of(slot), Some(edge));
            let stack: Vec<_> = pairing.stack(edge.track).map(|(slot, _)| slot).collect();
            if edge.is_span {
                assert!(!stack.contains(&slot) && within.is_none());
            } else {
                assert_eq!((stack.first(), stack.get(1)), (Some(&slot), within.as_ref()));
            }
        }
        Turn::Ended { slot, was_on_stack, crossed } => {
            assert_eq!(pairing.begin_of(slot), None);
            let (_, end, verdict, _) = passed[passed.len() - 1];
            assert_eq!(end, Some(edge.id));
            assert!(was_on_stack || verdict != Verdict::Whole);
            assert!(was_on_stack || crossed == 0);
        }
        Turn::Alone | Turn::Full => assert!(passed.is_empty()),
    }
}

/// Pairs a log in batches of `size` entries; the twin, which knows what was lost, takes the same
/// edges.
fn twin(
    (log, lost): (&Log, Vec<Lost>),
    marks: &Marks,
    limits: Limits,
    makes_room: bool,
    size: usize,
) -> [(Vec<Found>, Counts); 2] {
    let clock = Clock::new(log);
    let mut source = Source::new(log, &clock, marks);
    let (mut batch, mut batches) = (Batch::new(log), Vec::new());
    log.events(Order::Time, &Filter::default()).each(|event| {
        batch.note(event);
        if let Some(edge) = source.edge(event) {
            batch.push(edge);
        }
        if batch.len() >= size {
            batches.push(batch.take());
            assert!(batch.is_empty());
        }
    });
    batches.push(batch);
    let mut pairing = Pairing::new(limits).with_holes(Holes::new(log, marks));
    let mut twin = Twin { lost, open_count_max: limits.open_count, makes_room, ..Twin::default() };
    let mut all = Vec::new();
    for batch in &batches {
        for step in batch.steps() {
            match step {
                Step::Jump(_) => {}
                Step::Edge(edge) => {
                    if makes_room && !edge.is_end {
                        pairing.make_room(|slice| all.push(found(&slice)));
                    }
                    pairing.take(edge, |slice| all.push(found(&slice)));
                    twin.take(edge);
                }
            }
        }
    }
    pairing.finish(|slice| all.push(found(&slice)));
    // Only threads with open slices have an entry.
    assert!(pairing.tops.keys().all(|track| pairing.stack(*track).next().is_some()));
    [(all, pairing.counts()), twin.finish()]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 150, failure_persistence: None, ..ProptestConfig::default()
    })]

    /// `.slice.pair`, `.slice.gap`, `.slice.bounds`
    #[test]
    fn a_pairing_finds_the_slices_of_its_twin(
        steps in prop::collection::vec(any::<(u8, u8, u8, u8)>(), 0..400),
        is_mixed: bool,
        open_count in prop_oneof![Just(1usize), 2..12usize, 12..70usize, Just(1 << 20)],
        makes_room: bool,
        size in 1..40usize,
    ) {
        let log = log(&steps, is_mixed);
        let marks = Marks::of(log.registries());
        let limits = Limits { open_count, ..Limits::default() };
        let both = twin((&log, lost(&steps, is_mixed)), &marks, limits, makes_room, size);
        let [(own, counts), (expected, expected_counts)] = both;
        prop_assert_eq!(&own, &expected);
        prop_assert_eq!(counts, expected_counts);
        // Batches of any size give what single events give.
        prop_assert_eq!(paired(&log, &marks, limits, makes_room), (own, counts));
    }
}

/// Every verdict, and every kind of count, occurs in random logs.
#[test]
fn random_logs_have_slices_of_every_verdict() {
    let mut state = 99u64;
    let mut byte = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as u8
    };
    let steps: Vec<_> = (0..4000).map(|_| (byte(), byte(), byte(), byte())).collect();
    let log = log(&steps, false);
    let marks = Marks::of(log.registries());
    let of = |open_count, makes_room| {
        paired(&log, &marks, Limits { open_count, ..Limits::default() }, makes_room)
    };
    let ((slices, _), (_, counts)) = (of(60, false), of(20, false));
    for (name, verdict) in Verdict::ALL {
        let count = slices.iter().filter(|(_, _, found, _)| *found == verdict).count();
        assert!(count > 2, "{name}: {count}");
    }
    assert!(counts.alone > 10 && counts.full > 10, "{counts:?}");
    let (_, counts) = of(20, true);
    assert!(counts.full == 0 && counts.gave_way > 10 && counts.late > 10, "{counts:?}");
}

/// `.slice.bounds`: no order of edges takes more than a bounded number of steps each.
#[test]
fn many_open_slices_end_in_any_order() {
    let count = 1 << 18;
    let edge = |number: u64, key: u64, is_end: bool| Edge {
        id: Id { number, ..Id::default() },
        key: [key, 0, 0, 0],
        is_end,
        ..Edge::default()
    };
    let mut pairing = Pairing::new(Limits { open_count: count, ..Limits::default() });
    let mut verdicts = [0u64; 2];
    for round in 0..2 {
        (0..count as u64).for_each(|key| {
            pairing.take(&edge(key, key, false), |_| {});
        });
        assert_eq!(pairing.take(&edge(0, u64::MAX, false), |_| {}), Turn::Full);
        // The outermost ends first, which all others cross.
        for key in 0..count as u64 {
            let alone = if key == 0 { Turn::Full } else { Turn::Alone };
            assert_eq!(pairing.take(&edge(key, u64::MAX, true), |_| {}), alone);
            let key = if round == 0 { key } else { count as u64 - 1 - key };
            pairing.take(&edge(key, key, true), |slice| {
                verdicts[usize::from(slice.verdict == Verdict::Whole)] += 1;
            });
        }
    }
    assert_eq!(verdicts, [count as u64 - 1, count as u64 + 1]);
    // Recursion: the newest ends first.
    (0..count as u64).for_each(|number| {
        pairing.take(&edge(number, 1, false), |_| {});
    });
    for number in (0..count as u64).rev() {
        pairing.take(&edge(0, 1, true), |slice| assert_eq!(slice.begin.id.number, number));
    }
    pairing.finish(|slice| panic!("{slice:?}"));
}

/// What crosses gives way in a full table, the first that left its stack before the others.
#[test]
fn a_full_table_gives_up_what_crosses() {
    let edge = |key: u64, is_end| Edge { key: [key, 0, 0, 0], is_end, ..Edge::default() };
    let mut pairing = Pairing::new(Limits { open_count: 3, ..Limits::default() });
    let mut passed = Vec::new();
    let mut take = |key, is_end| {
        pairing.take(&edge(key, is_end), |slice| passed.push((slice.begin.key[0], slice.verdict)))
    };
    for (key, is_end) in [(1, false), (2, false), (3, false), (1, true), (4, false), (5, false)] {
        take(key, is_end);
    }
    assert_eq!(take(3, true), Turn::Full);
    assert!(matches!(take(2, true), Turn::Ended { was_on_stack: false, crossed: 0, .. }));
    assert_eq!(passed, [(1, Verdict::Whole), (3, Verdict::Unfinished), (2, Verdict::Crossing)]);
    let left: Vec<_> = pairing.stack((0, 0)).map(|(_, edge)| edge.key[0]).collect();
    assert_eq!(left, [5, 4]);
    let slot = pairing.stack((0, 0)).next().unwrap().0;
    pairing.give_up(slot, |slice| assert_eq!(slice.begin.key[0], 5));
    pairing.give_up(slot, |slice| panic!("{slice:?}"));
}

/// `.slice.bounds`: what never ends does not keep out the slices of other pairs.
#[test]
fn a_pair_that_fills_the_table_gives_way_to_others() {
    let edge = |pair, number, is_end| Edge {
        id: Id { number, ..Id::default() },
        pair,
        key: [number, 0, 0, 0],
        is_end,
        ..Edge::default()
    };
    let mut pairing = Pairing::new(Limits { open_count: 64, ..Limits::default() });
    let (mut gone, mut whole) = (Vec::new(), 0);
    for number in 0..200 {
        let (job, call) = (edge(0, number, false), edge(1, number, false));
        let end = edge(1, number, true);
        for edge in [job, call] {
            pairing.make_room(|slice| gone.push((slice.begin.pair, slice.begin.id.number)));
            assert!(matches!(pairing.take(&edge, |_| {}), Turn::Begun { .. }));
        }
        pairing.take(&end, |slice| whole += u64::from(slice.verdict == Verdict::Whole));
    }
    assert_eq!(whole, 200);
    // The oldest jobs, four at a time.
    let expected: Vec<_> = (0..gone.len() as u64).map(|number| (0, number)).collect();
    assert!(gone.len() > 130 && gone.len() % 4 == 0, "{}", gone.len());
    assert_eq!(gone, expected);
    // An end of what gave way is not without its beginning in the log.
    assert_eq!(pairing.take(&edge(0, 0, true), |_| {}), Turn::Full);
    assert_eq!(pairing.take(&edge(1, 0, true), |_| {}), Turn::Alone);
    let counts = Counts { alone: 1, gave_way: gone.len() as u64, late: 1, ..Counts::default() };
    assert_eq!(pairing.counts(), counts);
}

/// `.slice.source`: marks of the caller; the pairs are those of the marks.
#[test]
fn a_caller_gives_its_own_marks() {
    let steps = [(0, 0, 9, 0), (0, 0, 3, 0), (0, 0, 9, 0), (0, 1, 9, 0)];
    let log = log(&steps, false);
    let mut marks = Marks::default();
    marks.add(Form::Slice, "Noise=WorkEnter", log.registries()).unwrap();
    let (slices, counts) = paired(&log, &marks, Limits::default(), false);
    let verdicts: Vec<_> = slices.iter().map(|(_, _, verdict, _)| *verdict).collect();
    assert_eq!(verdicts, [Verdict::Whole, Verdict::Unfinished, Verdict::Unfinished]);
    assert_eq!(counts, Counts::default());
}
