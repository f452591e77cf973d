//! The lens against a naive twin: random programs of calls, coroutines, tasks and panics.
//!
//! ```text
//!  random steps ─┬─▶ Maker ──▶ log ──▶ lens ──▶ calls, tree, graph ─┐
//!                └─▶ stacks of the program itself ──▶ Truth ────────┴─ the same
//! ```
//!
//! The truth comes from the program, not from its events. Design: `.calls.lens` in
//! `design/calls.md`.

mod program;
mod repairs;

use super::events::{
    CallEnter, CallLeave, CallSlow, CallUnwind, CallsMuted, PollEnter, PollLeave, Switch,
};
use eventdef::field::P;
use eventlog::reader::{Clock, Log};
use eventlog::writer::{Maker, Origin};
use lens::calls::{Calls, Function, Graph, NONE, OpenStack, Owners, Told, Tree};
use lens::slices::{Id, Verdict};
use program::{NAMES, Program, True, Truth, at, label, sync};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A call as the lens told it.
#[derive(Clone, Debug)]
struct Heard {
    id: Id,
    function: Function,
    caller: Function,
    depth: u32,
    context: u64,
    task: Option<u64>,
    duration: Option<u64>,
    own: Option<u64>,
    verdict: Verdict,
    is_unwound: bool,
}

struct Found {
    calls: Calls,
    open: Vec<OpenStack>,
    heard: Vec<Heard>,
    owners: Owners,
}

fn lens(bytes: Vec<u8>) -> Found {
    let log = Log::from_source(bytes).unwrap();
    let clock = Clock::new(&log);
    let marks = lens::calls::marks(&log, false);
    let (mut heard, mut owners) = (Vec::new(), Owners::default());
    let (calls, open) = lens::calls::read(&log, &clock, &marks, &mut |_, told| {
        owners.add(&told);
        let Told::Call(call) = told else { return };
        heard.push(Heard {
            id: call.begin.id,
            function: call.function,
            caller: call.caller,
            depth: call.depth,
            context: call.context,
            task: call.task,
            duration: call.duration,
            own: call.own,
            verdict: call.verdict,
            is_unwound: call.is_unwound,
        });
    });
    Found { calls, open, heard, owners }
}

/// Counts, total, own, outermost: by function, by edge, and by path (without outermost).
type Sums<K> = BTreeMap<K, [u64; 4]>;

fn add<K: Ord>(sums: &mut Sums<K>, key: K, values: [u64; 4]) {
    let sum = sums.entry(key).or_default();
    sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
}

fn path_name(path: &[usize]) -> String {
    path.iter().map(|function| NAMES[*function]).collect::<Vec<_>>().join(";")
}

/// The sums of a program, by their definitions.
fn expected(truth: &Truth) -> (Sums<&'static str>, Sums<[&'static str; 2]>, Sums<String>) {
    let (mut functions, mut edges, mut paths) = Default::default();
    for call in &truth.calls {
        let total = call.end.map_or(0, |end| end - call.begin);
        let own = call.end.map_or(0, |_| total - call.inner);
        let (function, around) = call.path.split_last().unwrap();
        let edge = [around.last().map_or("", |caller| NAMES[*caller]), NAMES[*function]];
        let is_inner = around.contains(function);
        let pairs = |path: &[usize]| -> Vec<[usize; 2]> {
            [0].iter().chain(path).zip(path).map(|(a, b)| [*a, *b]).collect()
        };
        let own_pair = *pairs(&call.path).last().unwrap();
        let is_edge_inner = pairs(around).contains(&own_pair);
        let outermost = |is_inner| if is_inner { 0 } else { total };
        add(&mut functions, NAMES[*function], [1, total, own, outermost(is_inner)]);
        add(&mut edges, edge, [1, total, own, outermost(is_edge_inner)]);
        add(&mut paths, path_name(&call.path), [1, total, own, 0]);
    }
    (functions, edges, paths)
}

fn values(sum: &lens::calls::Sum) -> [u64; 4] {
    [sum.count, sum.total, sum.own, sum.outermost]
}

fn sums(calls: &Calls) -> (Sums<String>, Sums<[String; 2]>) {
    let (mut functions, mut edges) = Default::default();
    let graph = Graph::of(calls.tree());
    for (function, facts) in calls.functions().iter() {
        let sum = graph.function(function);
        if sum.count > 0 {
            add(&mut functions, facts.name.to_string(), values(&sum));
        }
    }
    let name = |function| calls.functions().name(function).to_owned();
    for edge in graph.edges().iter().filter(|edge| edge.sum.count > 0) {
        add(&mut edges, [name(edge.caller), name(edge.function)], values(&edge.sum));
    }
    (functions, edges)
}

fn paths(calls: &Calls) -> Sums<String> {
    let mut paths = Sums::new();
    let mut names: Vec<String> = vec![String::new()];
    for node in calls.tree().nodes().iter().skip(1) {
        let above = &names[node.parent as usize];
        let space = if above.is_empty() { "" } else { ";" };
        names.push(format!("{above}{space}{}", calls.functions().name(node.function)));
        if node.sum.count > 0 {
            add(&mut paths, names[names.len() - 1].clone(), values(&node.sum));
        }
    }
    paths
}

fn owned<K: Ord + ToString>(sums: Sums<K>) -> Sums<String> {
    sums.into_iter().map(|(key, values)| (key.to_string(), values)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200, failure_persistence: None, ..ProptestConfig::default()
    })]

    /// T1, T2, T16: nested calls, recursion, threads, coroutines, tasks, panics.
    #[test]
    fn the_lens_finds_what_the_program_did(
        steps in prop::collection::vec(any::<(u8, u8, u8)>(), 0..400),
    ) {
        let (mut bytes, mut truth) = (Vec::new(), Truth::default());
        let mut program = Program::new(&mut bytes);
        truth.play(&steps, false, &mut program);
        program.finish();
        let found = lens(bytes);
        let (functions, edges, true_paths) = expected(&truth);
        let own = sums(&found.calls);
        prop_assert_eq!(own.0, owned(functions));
        let edges: Sums<[String; 2]> =
            edges.into_iter().map(|(key, values)| (key.map(str::to_owned), values)).collect();
        prop_assert_eq!(own.1, edges);
        prop_assert_eq!(paths(&found.calls), true_paths);
        // Each call by itself.
        let heard = found.heard.iter().map(|heard| (heard.id, heard.clone()));
        let mut heard: BTreeMap<Id, Heard> = heard.collect();
        prop_assert_eq!(heard.len(), found.heard.len());
        for call in &truth.calls {
            let own = heard.remove(&call.id.unwrap()).unwrap();
            let name = |function: Function| found.calls.functions().name(function).to_owned();
            let caller = call.path.iter().rev().nth(1).map_or("", |caller| NAMES[*caller]);
            prop_assert_eq!(name(own.function), NAMES[*call.path.last().unwrap()]);
            prop_assert_eq!(name(own.caller), caller);
            prop_assert_eq!(own.depth as usize + 1, call.path.len());
            prop_assert_eq!((own.context, own.task), (call.context as u64, call.task));
            prop_assert_eq!(own.duration, call.end.map(|end| end - call.begin));
            prop_assert_eq!(own.own, call.end.map(|end| end - call.begin - call.inner));
            prop_assert_eq!(own.is_unwound, call.is_unwound);
            let verdict = if call.end.is_some() { Verdict::Whole } else { Verdict::Unfinished };
            prop_assert_eq!(own.verdict, verdict);
        }
        // T5: what is open at the end, by stack.
        let expected: BTreeMap<(u32, u64), Vec<Option<Id>>> = truth
            .stacks
            .iter()
            .filter(|(_, stack)| !stack.is_empty())
            .map(|((thread, context), stack)| {
                let ids = stack.iter().map(|index| truth.calls[*index].id).collect();
                ((*thread, *context as u64), ids)
            })
            .collect();
        let open: BTreeMap<(u32, u64), Vec<Option<Id>>> = found
            .open
            .iter()
            .map(|stack| {
                let ids = stack.calls.iter().map(|call| call.begin.map(|edge| edge.id)).collect();
                ((stack.thread, stack.context), ids)
            })
            .collect();
        prop_assert_eq!(open, expected);
        // Threads and tasks.
        for (&(_, thread), sum) in found.owners.threads() {
            let of = || truth.calls.iter().filter(|call| call.thread == thread);
            prop_assert_eq!(sum.count, of().count() as u64);
            let own = of().filter_map(|call| Some(call.end? - call.begin - call.inner));
            let busy = own.sum::<u64>();
            prop_assert_eq!(sum.busy, busy);
            prop_assert_eq!(sum.depth as usize, of().map(|call| call.path.len()).max().unwrap());
        }
        prop_assert_eq!(found.owners.tasks().len() as u64, truth.tasks);
        for (&(_, number, _), sum) in found.owners.tasks() {
            let of = || truth.calls.iter().filter(|call| call.task == number);
            let ended = of().filter(|call| call.end.is_some()).count() as u64;
            prop_assert_eq!((sum.tasks, sum.polls, sum.ended), (1, 1, ended));
            let ready = u64::from(number.unwrap() % 2 == 0) * ended;
            prop_assert_eq!(sum.ready, ready);
        }
    }

    /// Lost events make no wrong time, and cost no other call its time.
    #[test]
    fn a_gap_costs_times_and_makes_none_wrong(
        steps in prop::collection::vec(any::<(u8, u8, u8)>(), 0..400),
    ) {
        let (mut bytes, mut truth) = (Vec::new(), Truth::default());
        let mut program = Program::new(&mut bytes);
        truth.play(&steps, true, &mut program);
        program.finish();
        let found = lens(bytes);
        let heard: BTreeMap<Id, &Heard> = found.heard.iter().map(|h| (h.id, h)).collect();
        prop_assert_eq!(heard.len(), found.heard.len());
        let seen: Vec<&True> = truth.calls.iter().filter(|call| call.id.is_some()).collect();
        prop_assert_eq!(heard.len(), seen.len());
        for call in seen {
            let own = heard[&call.id.unwrap()];
            let truly = call.end.map(|end| end - call.begin);
            if own.duration.is_some() {
                prop_assert_eq!(own.duration, truly);
            }
            if call.is_whole && call.end.is_some() {
                prop_assert_eq!(own.duration, truly, "{:?}", call);
            }
            // The beginning states its caller.
            let caller = call.path.iter().rev().nth(1).map_or("", |caller| NAMES[*caller]);
            prop_assert_eq!(found.calls.functions().name(own.caller), caller);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 100, failure_persistence: None, ..ProptestConfig::default()
    })]

    /// Events in any order and with any values: each beginning is told once, and no time is wrong.
    #[test]
    fn events_without_sense_are_told_once(
        steps in prop::collection::vec(any::<(u8, u8, u8, u8)>(), 0..300),
    ) {
        let mut bytes = Vec::new();
        let mut program = Program::new(&mut bytes);
        let any = [0, 0x5640, 0x5680, 0x77, usize::MAX, 1];
        let mut begun = 0;
        for (thread, what, first, second) in steps {
            let thread = u32::from(thread % 2) + 1;
            let [one, two] = [first, second].map(|at| any[usize::from(at) % any.len()]);
            let (function, caller, task) = (P(one), P(two), two);
            begun += u64::from(matches!(what % 10, 0..4));
            match what % 10 {
                0 | 1 => program.add(thread, &CallEnter { function, caller }),
                2 => program.add(thread, &PollEnter { function, caller, task }),
                3 => program.add(thread, &CallSlow { function, caller, elapsed: one }),
                4 => program.add(thread, &CallUnwind { function }),
                5 => program.add(thread, &Switch { context: caller }),
                6 => program.add(thread, &PollLeave { function, task }),
                7 => program.add(thread, &CallsMuted { function, count: two }),
                _ => program.add(thread, &CallLeave { function }),
            };
        }
        program.finish();
        let found = lens(bytes);
        prop_assert_eq!(found.heard.len() as u64, begun);
        let graph = Graph::of(found.calls.tree());
        let all = 0..found.calls.functions().count() as Function;
        prop_assert_eq!(all.map(|function| graph.function(function).count).sum::<u64>(), begun);
        for heard in &found.heard {
            prop_assert!(heard.own <= heard.duration);
            prop_assert_eq!(heard.own.is_some(), heard.duration.is_some());
        }
    }

    /// A damaged log gives fewer calls, and no panic.
    #[test]
    fn a_damaged_log_is_read_as_far_as_possible(
        steps in prop::collection::vec(any::<(u8, u8, u8)>(), 100..400),
        places in prop::collection::vec(any::<(u32, u8)>(), 1..8),
    ) {
        let (mut bytes, mut truth) = (Vec::new(), Truth::default());
        let mut program = Program::new(&mut bytes);
        truth.play(&steps, true, &mut program);
        program.finish();
        for (place, value) in places {
            let at = place as usize % bytes.len();
            bytes[at] = value;
        }
        if Log::from_source(bytes.clone()).is_ok() {
            prop_assert!(lens(bytes).heard.len() <= truth.calls.len());
        }
    }
}

/// Random programs have all that the twin checks.
#[test]
fn random_programs_have_gaps_of_every_kind() {
    let mut state = 77u64;
    let mut byte = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as u8
    };
    let steps: Vec<_> = (0..3000).map(|_| (byte(), byte(), byte())).collect();
    let (mut bytes, mut truth) = (Vec::new(), Truth::default());
    let mut program = Program::new(&mut bytes);
    truth.play(&steps, true, &mut program);
    program.finish();
    let found = lens(bytes);
    for verdict in [Verdict::Whole, Verdict::Doubtful] {
        let count = found.heard.iter().filter(|heard| heard.verdict == verdict).count();
        assert!(count > 20, "{verdict:?}: {count}");
    }
    let counts = found.calls.counts();
    assert!(counts.alone > 5 && counts.gaps > 20, "{counts:?}");
}

/// Recursion to a depth of a million: the tree is full, and the sums of functions are exact.
#[test]
fn recursion_of_a_million_calls_is_counted() {
    let depth = 1_000_000u64;
    let mut bytes = Vec::new();
    let mut program = Program::new(&mut bytes);
    program.add(1, &CallEnter { function: at(1), caller: at(0) });
    for step in 0..depth {
        let caller = at(if step == 0 { 1 } else { 2 });
        program.add(1, &CallEnter { function: at(2), caller });
    }
    (0..depth).for_each(|_| {
        program.add(1, &CallLeave { function: at(2) });
    });
    program.finish();
    let found = lens(bytes);
    assert!(found.calls.tree().is_full());
    assert!(found.calls.tree().nodes().len() <= lens::calls::NODE_COUNT_MAX + 10);
    let (functions, edges) = sums(&found.calls);
    // The times 7, 21, 35 and so on; the outermost is the longest.
    let total = 7 * depth * depth;
    assert_eq!(functions["sell"], [depth, total, 7 * (2 * depth - 1), 7 * (2 * depth - 1)]);
    let outer = edges[&["main".to_owned(), "sell".to_owned()]];
    assert_eq!(outer[..2], [1, 7 * (2 * depth - 1)]);
    let inner = edges[&["sell".to_owned(), "sell".to_owned()]];
    assert_eq!((inner[0], inner[3]), (depth - 1, 7 * (2 * depth - 3)));
    assert_eq!(found.open.len(), 1);
    assert_eq!(found.open[0].calls.len(), 1);
}

/// A leave without its enter is counted; calls in it state their caller.
#[test]
fn missing_beginnings_are_assumed() {
    let mut bytes = Vec::new();
    let mut program = Program::new(&mut bytes);
    program.lose(1);
    program.add(1, &CallEnter { function: at(3), caller: at(2) });
    program.add(1, &CallLeave { function: at(3) });
    program.add(1, &CallEnter { function: at(4), caller: at(2) });
    program.add(1, &CallLeave { function: at(4) });
    program.add(1, &CallLeave { function: at(2) });
    program.add(1, &CallLeave { function: at(1) });
    program.add(1, &CallEnter { function: at(3), caller: at(5) });
    program.finish();
    let found = lens(bytes);
    let (functions, edges) = sums(&found.calls);
    assert_eq!(functions.keys().collect::<Vec<_>>(), ["db::get", "hash"]);
    assert_eq!(edges[&["sell".to_owned(), "hash".to_owned()]][..2], [1, 7]);
    assert_eq!(found.calls.counts().alone, 2);
    let number = |name| found.calls.functions().iter().find(|(_, f)| &*f.name == name).unwrap().0;
    assert_eq!(found.calls.alone(number("sell")), 1);
    // The open stack names the function whose beginning is missing.
    let open: Vec<_> =
        found.open[0].calls.iter().map(|c| (c.function, c.begin.is_some())).collect();
    assert_eq!(open, [(number("step"), false), (number("hash"), true)]);
}

/// The end of a call is missing, as its recording was switched off: its caller goes on without it.
#[test]
fn a_caller_repairs_its_stack() {
    let mut bytes = Vec::new();
    let mut program = Program::new(&mut bytes);
    program.add(1, &CallEnter { function: at(1), caller: at(0) });
    program.add(1, &CallEnter { function: at(2), caller: at(1) });
    program.add(1, &CallEnter { function: at(3), caller: at(2) });
    program.add(1, &CallEnter { function: at(4), caller: at(1) });
    program.add(1, &CallLeave { function: at(4) });
    program.add(1, &CallLeave { function: at(1) });
    program.add(1, &CallEnter { function: at(5), caller: at(0) });
    program.finish();
    let found = lens(bytes);
    let (functions, _) = sums(&found.calls);
    assert_eq!(functions["main"], [1, 35, 28, 35]);
    assert_eq!((&functions["sell"][..2], &functions["hash"][..2]), (&[1, 0][..], &[1, 0][..]));
    let doubtful = found.heard.iter().filter(|heard| heard.verdict == Verdict::Doubtful);
    assert_eq!(doubtful.count(), 2);
    assert_eq!(found.open.len(), 1);
}

/// A call above its threshold is recorded at its end, with the calls in it before it.
#[test]
fn a_slow_call_takes_the_calls_in_it() {
    let mut bytes = Vec::new();
    let mut program = Program::new(&mut bytes);
    program.add(1, &CallEnter { function: at(1), caller: at(0) });
    program.add(1, &CallEnter { function: at(3), caller: at(2) });
    program.add(1, &CallLeave { function: at(3) });
    program.add(1, &CallSlow { function: at(2), caller: at(1), elapsed: 20 });
    program.add(1, &CallLeave { function: at(1) });
    program.add(1, &CallsMuted { function: at(4), count: 5 });
    program.add(1, &CallsMuted { function: at(4), count: 9 });
    program.finish();
    let found = lens(bytes);
    let (functions, _) = sums(&found.calls);
    assert_eq!(functions["sell"], [1, 20, 13, 20]);
    assert_eq!(functions["main"], [1, 28, 8, 28]);
    assert_eq!(paths(&found.calls)["main;sell;hash"][0], 1);
    let number = found.calls.functions().iter().find(|(_, f)| &*f.name == "db::get").unwrap().0;
    assert_eq!(found.calls.muted(number), 9);
}

/// T13, T15: a function has its place; two streams of one process number stay apart, and functions
/// of one name are one.
#[test]
fn streams_of_one_process_number_share_functions_alone() {
    let mut bytes = Vec::new();
    let mut maker = Maker::new(&mut bytes);
    for stream in 1..=2u8 {
        let mut origin = Origin::new();
        (origin.pid, origin.start, origin.uuid) = (4711, 12, [stream; 16]);
        maker.begin(&origin).unwrap();
        sync(&mut maker, 1);
        label(&mut maker);
        // A function without a label: the same address, not the same function.
        let unknown = P(0x99);
        maker.add(1, 1, 100, &CallEnter { function: at(1), caller: P(0) }).unwrap();
        maker.add(1, 1, 101, &CallEnter { function: unknown, caller: at(1) }).unwrap();
        if stream == 1 {
            maker.add(1, 1, 104, &CallLeave { function: unknown }).unwrap();
            maker.add(1, 1, 105, &CallLeave { function: at(1) }).unwrap();
        }
        sync(&mut maker, 1000);
    }
    maker.finish().unwrap();
    let found = lens(bytes);
    let graph = Graph::of(found.calls.tree());
    let of = |name: &str| -> Vec<(u64, u64)> {
        let all = found.calls.functions().iter().filter(|(_, facts)| &*facts.name == name);
        all.map(|(at, _)| (graph.function(at).count, graph.function(at).total)).collect()
    };
    assert_eq!(of("main"), [(2, 5)]);
    assert_eq!(of("0x99"), [(1, 3), (1, 0)]);
    assert_eq!(found.open.len(), 1);
    assert_eq!((found.open[0].stream, found.open[0].calls.len()), (1, 2));
    let (_, main) = found.calls.functions().iter().find(|(_, f)| &*f.name == "main").unwrap();
    assert_eq!((main.file.as_deref(), main.line), (Some("src/main.rs"), 10));
    assert!(main.is_stated && main.since == Some((0, 12)));
}

/// A full tree shares nodes, and its sums of functions and edges are those of a large one.
#[test]
fn a_full_tree_keeps_the_sums_of_functions_and_edges() {
    let steps: Vec<(u8, u8, u8)> =
        (0..2000u32).map(|n| ((n % 7) as u8, (n * n % 251) as u8, (n * 31 % 256) as u8)).collect();
    let (mut bytes, mut truth) = (Vec::new(), Truth::default());
    let mut program = Program::new(&mut bytes);
    truth.play(&steps, false, &mut program);
    program.finish();
    let large = lens(bytes.clone());
    let log = Log::from_source(bytes).unwrap();
    let (clock, marks) = (Clock::new(&log), lens::calls::marks(&log, false));
    let mut small = Calls::with_limits(&log, &marks, lens::slices::Limits::default(), 3);
    let mut source = lens::calls::Source::new(&log, &clock, &marks);
    let mut batch = lens::calls::Batch::new(&log);
    let all = eventlog::reader::Filter::default();
    log.events(eventlog::reader::Order::Time, &all).each(|event| {
        source.add(event, true, &mut batch);
        // Batches of any size.
        if event.number % 5 == 0 {
            small.take(&batch.take(), &mut |_, _| {});
        }
    });
    small.take(&batch, &mut |_, _| {});
    small.finish(&mut |_, _| {});
    assert!(small.tree().is_full() && !large.calls.tree().is_full());
    assert_eq!(sums(&small), sums(&large.calls));
    assert_eq!((NONE, Tree::ROOT), (0, 0));
}
