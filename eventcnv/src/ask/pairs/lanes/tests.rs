//! Lanes of random slices, events and flows, judged by naive sums.
//!
//! ```text
//!  random slices, nested by lane ──▶ Lanes ──▶ bars, cells ─┐
//!                                └─▶ sums of each lane ─────┴─ the same counts and times
//! ```
//!
//! Design: `.cnv.report.threads` in `design/eventcnv.md`.

use crate::ask::pairs::lanes::*;
use eventlog::reader::marks::Key;
use proptest::prelude::*;

/// Small tables, so that all of them fill up.
const SMALL: Limits = Limits {
    span_count: 1,
    row_count: 3,
    name_count: 2,
    rare_count: 2,
    longest_count: 6,
    cell_count: 40,
    tick_count: 10,
    flow_count: 5,
    open_flow_count: 3,
};

fn shapes(count: u32) -> Vec<Shape> {
    (0..count).map(|pair| Shape { class: u8::from(pair == 1), ..Shape::default() }).collect()
}

fn lanes(threads: u32, limits: Limits) -> Lanes {
    let threads: Vec<_> = (1..=threads).map(|thread| (0, thread)).collect();
    Lanes::new(&threads, shapes(4), vec![Some(10_000), None], limits)
}

/// A slice: stream and thread, pair, depth, begin, length, verdict.
type Thing = ((u16, u32), u32, u32, u64, u64, usize);

fn add(lanes: &mut Lanes, number: u64, thing: &Thing, is_span: bool) {
    let &((stream, thread), pair, depth, ns, length, verdict) = thing;
    let id = Id { stream, buffer: thread, number };
    let begin = Edge { ns, id, thread, pair, is_span, ..Edge::default() };
    let end = Edge { ns: ns + length, ..begin };
    let verdict = Verdict::ALL[verdict % Verdict::ALL.len()].1;
    let is_ended = !matches!(verdict, Verdict::Again | Verdict::Unfinished);
    let end = is_ended.then_some(&end);
    lanes.add(&Slice { slot: 0, depth, begin: &begin, end, verdict }, pair % 2, false);
}

proptest! {
    /// `.cnv.report.threads`: what is merged and what is kept are all slices, and all their time.
    #[test]
    fn bars_and_cells_have_all_slices(
        things in prop::collection::vec(
            ((0u16..2, 0u32..6), 0u32..3, 0u32..5, 0u64..9000, 0u64..1000, 0usize..8),
            0..150,
        ),
    ) {
        let mut lanes = lanes(3, SMALL);
        let mut expected: HashMap<(u16, u32), (u64, u64, u64)> = HashMap::new();
        let mut elsewhere = 0;
        for (number, thing) in (0..).zip(&things) {
            add(&mut lanes, number, thing, false);
            let &(place, _, depth, _, length, verdict) = thing;
            let is_chosen = place.0 == 0 && (1..=3).contains(&place.1);
            elsewhere += u64::from(!is_chosen);
            if is_chosen {
                let verdict = Verdict::ALL[verdict % Verdict::ALL.len()].1;
                let is_known = matches!(verdict, Verdict::Whole | Verdict::Crossing);
                let busy = if is_known { length } else { 0 };
                let sums = expected.entry(place).or_default();
                sums.0 += 1;
                sums.1 += busy;
                sums.2 += if depth == 0 { busy } else { 0 };
            }
        }
        prop_assert_eq!(lanes.rest.slice_count, elsewhere);
        let (bars, cells) = (lanes.bars(), lanes.cells.sorted());
        prop_assert!(bars.len() <= 2 * 2 + 6 && cells.len() <= 40);
        prop_assert!(bars.is_sorted_by(|a, b| a >= b));
        for (at, lane) in (0u32..).zip(&lanes.lanes) {
            let Owner::Thread(stream, thread) = lane.owner else { continue };
            let sums = expected.get(&(stream, thread)).copied().unwrap_or_default();
            prop_assert_eq!((lane.slice_count, lane.busy, lane.time), sums);
            let own_bars = bars.iter().filter(|bar| bar.lane == at);
            let own_cells = cells.iter().filter(|((lane, ..), _)| *lane == at);
            let mut found = (0, 0);
            own_bars.for_each(|bar| {
                found.0 += 1;
                found.1 += bar.duration();
            });
            own_cells.for_each(|(_, cell)| {
                found.0 += cell.count;
                found.1 += cell.busy;
            });
            if lanes.cells.left == 0 {
                prop_assert_eq!(found, (sums.0, sums.1));
            }
        }
        // The longest slice with a known end is a bar.
        let in_lanes = things.iter().filter(|thing| thing.0.0 == 0 && (1..4).contains(&thing.0.1));
        let ended = in_lanes.filter(|thing| {
            let verdict = Verdict::ALL[thing.5 % Verdict::ALL.len()].1;
            !matches!(verdict, Verdict::Again | Verdict::Unfinished)
        });
        if let Some(longest) = ended.map(|thing| thing.4).max() {
            prop_assert!(bars.iter().any(|bar| bar.length >= longest));
        }
    }

    /// `.cnv.report.threads`: a naive twin keeps all open flows, and all that arrived.
    #[test]
    fn flows_link_lanes(
        halves in prop::collection::vec((0u32..5, 0u64..4, any::<bool>()), 0..80),
    ) {
        let limits = Limits { flow_count: 1000, open_flow_count: 1000, ..SMALL };
        let mut lanes = lanes(3, limits);
        let mut open: Vec<(u64, (u64, u32))> = Vec::new();
        let (mut expected, mut elsewhere) = (Vec::new(), 0);
        for (ns, (thread, key, is_end)) in (0..).zip(halves) {
            let mut of = Key::default();
            of[0] = key;
            let half = Half { key: of, ns, pair: 2, thread, stream: 0, is_end };
            lanes.add_half(&half);
            let before = open.iter().position(|(own, _)| *own == key);
            let before = before.map(|at| open.remove(at).1);
            let is_chosen = |thread: u32| (1..4).contains(&thread);
            match (is_end, before) {
                (false, _) => open.push((key, (ns, thread))),
                (true, Some((from, of))) if is_chosen(of) && is_chosen(thread) => {
                    expected.push(((from, of - 1), (ns, thread - 1)));
                }
                (true, Some(_)) => elsewhere += 1,
                (true, None) => {}
            }
        }
        let arrow = |arrow: &Arrow| (arrow.from, (arrow.to.0.0, arrow.to.1));
        prop_assert_eq!(lanes.arrows().iter().map(arrow).collect::<Vec<_>>(), expected);
        prop_assert_eq!(lanes.rest.flow_count, elsewhere);
    }
}

/// `.cnv.report.threads`
#[test]
fn what_came_after_a_pause_stays_an_arrow() {
    let mut lanes = lanes(2, SMALL);
    for (number, ns) in [1, 2, 3, 100, 101, 102, 500, 501, 900].into_iter().enumerate() {
        let mut key = Key::default();
        key[0] = number as u64;
        for (is_end, thread) in [(false, 1), (true, 2)] {
            lanes.add_half(&Half { key, ns, pair: 0, thread, stream: 0, is_end });
        }
    }
    let kept: Vec<u64> = lanes.arrows().iter().map(|arrow| arrow.to.0.0).collect();
    assert_eq!(kept, [1, 2, 100, 500, 900]);
}

/// `.cnv.report.threads`
#[test]
fn open_flows_and_lanes_of_spans_have_limits() {
    let mut lanes = lanes(1, SMALL);
    for key in 0..5u64 {
        let half = |is_end| Half { key: [key; 4], ns: key, pair: 0, thread: 1, stream: 0, is_end };
        lanes.add_half(&half(false));
    }
    assert_eq!(lanes.rest.full_count, 2);
    for pair in [2, 2, 3, 3] {
        add(&mut lanes, pair.into(), &((0, 9), pair, 0, 5, 7, 0), true);
    }
    let spans = lanes.lanes.iter().filter(|lane| matches!(lane.owner, Owner::Spans(..)));
    assert_eq!(spans.map(|lane| lane.slice_count).collect::<Vec<_>>(), [2]);
    assert_eq!(lanes.rest.slice_count, 2);
}

/// `.cnv.report.threads`: what is open lasts to the end of its stream; what gave way, no time.
#[test]
fn unfinished_slices_last_to_the_end() {
    let mut lanes = lanes(1, SMALL);
    let id = Id { buffer: 1, ..Id::default() };
    let begin = Edge { ns: 4000, id, thread: 1, ..Edge::default() };
    for (depth, gave_way) in [(0, false), (9, true)] {
        let verdict = Verdict::Unfinished;
        let slice = Slice { slot: 0, depth, begin: &begin, end: None, verdict };
        lanes.add(&slice, 0, gave_way);
    }
    let found: Vec<_> = lanes.bars().iter().map(|bar| (bar.length, bar.row.0)).collect();
    assert_eq!((found, lanes.rest.deep_count), (vec![(6000, 0), (0, 2)], 1));
    assert_eq!(lanes.lanes[0].busy, 0);
}
