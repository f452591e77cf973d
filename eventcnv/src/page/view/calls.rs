//! The calls of a log, as the tab *Calls* of the page has them.
//!
//! ```text
//!  tree ──▶ weights ──┬─ the functions with the most time ── their callers, percentiles, cluster
//!                     ├─ the paths with the most time, of these functions
//!                     └─ the longest calls, in order of time
//! ```
//!
//! Design: `.cnv.report.calls` in `design/eventcnv.md`.

use crate::ask::calls::longest::{Lane, Longest};
use crate::ask::calls::reading::Found;
use crate::ask::calls::summary::{Extra, demangled, links};
use crate::ask::calls::view::Summary;
use crate::ask::pairs::summary::Threads;
use crate::page::view::encoded::{encoded, end_of};
use crate::page::view::weights::Weights;
use cli::table::Cell;
use eventlog::format::text::OneLine;
use eventlog::reader::{Clock, ClockBase, Log};
use lens::calls::{
    Facts, Function, Graph, NONE, OpenCall, OpenStack, Sum, Tree, clusters, overwritten,
};
use lens::slices::Percent;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::HashMap;

/// Functions of the page, at most; and paths, edges, functions that are never called, threads in
/// order of time, stacks in progress, calls of such a stack.
const FUNCTION_COUNT_MAX: usize = 2048;
const NODE_COUNT_MAX: usize = 6000;
const EDGE_COUNT_MAX: usize = 6000;
const UNUSED_COUNT_MAX: usize = 1000;
const LANE_COUNT_MAX: usize = 100;
const STACK_COUNT_MAX: usize = 50;
const OPEN_COUNT_MAX: usize = 20;
/// Calls in order of time, at most.
pub(crate) const SPAN_COUNT_MAX: usize = 10_000;
/// Bytes of a name in the page, and of all names of functions together, at most.
const NAME_SIZE_MAX: usize = 2000;
const NAMES_SIZE_MAX: usize = 1_500_000;
/// Bytes of other texts; and of such a name, where all are too long together.
const SHORT_SIZE: usize = 160;
/// No number of the page.
const NO_PLACE: u32 = u32::MAX;

/// The calls of a log.
pub(crate) struct Calls<'l> {
    pub(crate) log: &'l Log,
    pub(crate) clock: &'l Clock,
    pub(crate) found: &'l Found,
    pub(crate) graph: &'l Graph,
    pub(crate) extra: &'l Extra,
    pub(crate) longest: &'l Longest,
    /// Whether a selection leaves calls out.
    pub(crate) is_part: bool,
}

/// The functions of the page, in order of their weights, and the number of each on the page.
struct Chosen {
    functions: Vec<Function>,
    places: Vec<u32>,
}

impl Chosen {
    fn place(&self, function: Function) -> Option<u32> {
        self.places.get(function as usize).copied().filter(|place| *place != NO_PLACE)
    }
}

impl Calls<'_> {
    pub(super) fn data(&self) -> Value {
        let tree = self.found.calls.tree();
        let weights = Weights::new(tree, self.graph, self.found.calls.functions().count());
        let (chosen, left) = self.choose(&weights);
        let all = self.found.calls.functions().iter().map(|(at, _)| self.graph.function(at));
        let all: Vec<Sum> = all.filter(|sum| sum.count > 0).collect();
        let sum = |of: fn(&Sum) -> u64| all.iter().map(of).sum::<u64>();
        json!({
            "isNs": self.clock.base != ClockBase::Ticks,
            "count": self.longest.call_count,
            "time": Weights::of(&weights.nodes, Tree::ROOT),
            "left": left,
            "names": names(chosen.functions.iter().map(|at| self.name(*at)).collect()),
            "places": chosen.functions.iter().map(|at| self.source(*at)).collect::<Value>(),
            "functions": self.functions(&chosen, &weights),
            "nodes": nodes(tree, &weights, |at| chosen.place(at)),
            "edges": self.edges(&chosen, &weights),
            "spans": self.spans(&chosen),
            "unused": self.unused(),
            "open": self.open(),
            "calledCount": all.len(),
            "openCount": sum(|sum| sum.unfinished),
            "untimedCount": sum(|sum| sum.doubtful),
            "full": self.found.calls.counts().full,
            "isFull": tree.is_full(),
            "isPart": self.is_part,
        })
    }

    /// Returns the name of a function, on one line of a limited length.
    fn name(&self, function: Function) -> String {
        let name = demangled(self.found.calls.functions().name(function));
        let name = OneLine(name.as_bytes()).to_string();
        if name.is_empty() { "(no name)".to_owned() } else { elided(name, NAME_SIZE_MAX) }
    }

    /// Returns the place of a function in its source, or nothing.
    fn source(&self, function: Function) -> String {
        let facts = self.found.calls.functions().facts(function);
        let place = facts.and_then(Facts::place);
        place.map_or(String::new(), |place| text(&place))
    }

    /// Chooses the functions with the most time, a quarter of them by their own time. Also returns
    /// the number of the others, and their own time.
    fn choose(&self, weights: &Weights) -> (Chosen, Value) {
        let (calls, all) = (&self.found.calls, self.found.calls.functions());
        let has_any = |at: &Function| {
            self.graph.function(*at).count + calls.alone(*at) + calls.muted(*at) > 0
        };
        let mut functions: Vec<Function> = all.iter().map(|(at, _)| at).filter(has_any).collect();
        functions.sort_by_cached_key(|at| {
            let sum = self.graph.function(*at);
            let weight = Weights::of(&weights.functions, *at);
            (Reverse((weight, sum.own, sum.count)), all.name(*at).to_owned())
        });
        let mut rest = functions.split_off(functions.len().min(FUNCTION_COUNT_MAX * 3 / 4));
        rest.sort_by_key(|at| Reverse(self.graph.function(*at).own));
        let others = rest.split_off(rest.len().min(FUNCTION_COUNT_MAX / 4));
        functions.extend(rest);
        let own = |sum: u64, at: &Function| sum.saturating_add(self.graph.function(*at).own);
        let left = json!({ "count": others.len(), "own": others.iter().fold(0, own) });
        let mut places = vec![NO_PLACE; all.count()];
        for (place, function) in (0..).zip(&functions) {
            if let Some(at) = places.get_mut(*function as usize) {
                *at = place;
            }
        }
        (Chosen { functions, places }, left)
    }

    /// Returns a row of numbers for each function.
    fn functions(&self, chosen: &Chosen, weights: &Weights) -> Value {
        let calls = &self.found.calls;
        let links = links(self.graph, |sum| sum.count > 0);
        let mut clusters_of: HashMap<Function, usize> = HashMap::new();
        let groups = clusters(&links, |at| calls.functions().name(at), false);
        let groups = groups.into_iter().filter(|(_, members)| members.len() > 1);
        for (cluster, (_, members)) in groups.enumerate() {
            clusters_of.extend(members.into_iter().map(|member| (member, cluster)));
        }
        let row = |at: &Function| {
            let sum = self.graph.function(*at);
            let group = self.extra.durations.group(*at as usize);
            let percentiles = [Percent::P50, Percent::P99].map(|part| group.percentile(part));
            let ns = percentiles.map(|found| found.map(|found| found.ns));
            let is_exact = percentiles.iter().flatten().all(|found| found.is_exact);
            json!({
                "n": [sum.count, sum.own, Weights::of(&weights.functions, *at), sum.unfinished,
                    sum.doubtful, sum.unwound, calls.muted(*at), calls.alone(*at)],
                "mean": group.mean().map(f64::round),
                "p50": ns[0],
                "p99": ns[1],
                "max": group.range().map(|(_, max)| max),
                "isExact": is_exact,
                "cluster": clusters_of.get(at),
            })
        };
        chosen.functions.iter().map(row).collect()
    }

    /// Returns callers and functions, with the number and the time of the calls. The caller −1
    /// stands for none.
    fn edges(&self, chosen: &Chosen, weights: &Weights) -> Value {
        let mut rows: Vec<(Reverse<u64>, i64, u32, u64)> = Vec::new();
        for (at, edge) in (0..).zip(self.graph.edges()) {
            let caller = match edge.caller {
                NONE => Some(-1),
                caller => chosen.place(caller).map(i64::from),
            };
            let (Some(caller), Some(function)) = (caller, chosen.place(edge.function)) else {
                continue;
            };
            if edge.sum.count > 0 {
                let weight = Reverse(Weights::of(&weights.edges, at));
                rows.push((weight, caller, function, edge.sum.count));
            }
        }
        rows.sort_unstable();
        let row = |&(Reverse(weight), caller, function, count): &(Reverse<u64>, i64, u32, u64)| {
            json!([caller, function, count, weight])
        };
        rows.iter().take(EDGE_COUNT_MAX).map(row).collect()
    }

    /// Returns the longest calls, by thread and in order of time.
    fn spans(&self, chosen: &Chosen) -> Value {
        let spans = self.longest.sorted();
        let mut times: HashMap<Lane, u64> = HashMap::new();
        for span in &spans {
            let sum = times.entry(span.lane).or_default();
            *sum = span.length.saturating_add(*sum);
        }
        let mut lanes: Vec<(Lane, u64)> = times.into_iter().collect();
        lanes.sort_unstable_by_key(|(lane, time)| (Reverse(*time), *lane));
        let lane_count = lanes.len();
        lanes.truncate(LANE_COUNT_MAX);
        let lane_places: HashMap<Lane, usize> =
            lanes.iter().enumerate().map(|(place, (lane, _))| (*lane, place)).collect();
        let threads = Threads::new(self.log);
        let name = |(lane, _): &(Lane, u64)| lane_name(&threads, *lane);
        let first = self.longest.first.unwrap_or(0);
        let (mut begins, mut lengths) = (Vec::new(), Vec::new());
        let mut columns: [Vec<u32>; 3] = Default::default();
        let (mut open, mut least) = (Vec::new(), u64::MAX);
        for span in &spans {
            let (lane, function) = (lane_places.get(&span.lane), chosen.place(span.function));
            let (Some(lane), Some(function)) = (lane, function) else { continue };
            least = least.min(span.length);
            if span.is_open {
                open.push(begins.len());
            }
            begins.push(span.begin.0.saturating_sub(first) as f64);
            lengths.push(span.length as f64);
            let cells = [*lane as u32, function, span.depth.0];
            columns.iter_mut().zip(cells).for_each(|(column, cell)| column.push(cell));
        }
        let [of_lane, functions, depths] = columns;
        let doubles = |all: &[f64]| encoded(all, |number| number.to_le_bytes().to_vec());
        json!({
            "lanes": lanes.iter().map(name).collect::<Value>(), "laneCount": lane_count,
            "begins": doubles(&begins), "lengths": doubles(&lengths),
            "ofLane": of_lane, "functions": functions, "depths": depths, "open": open,
            "least": if begins.is_empty() { 0 } else { least },
        })
    }

    /// Returns the functions that are never called, with their places; and the number of all.
    fn unused(&self) -> Value {
        let Calls { log, clock, found, graph, extra, .. } = self;
        let (cutoff, is_undirected) = (None, false);
        let summary = Summary { log, clock, found, graph, extra, cutoff, is_undirected };
        let rows = summary.unused().rows;
        let shown = || rows.iter().take(UNUSED_COUNT_MAX);
        let cell = |row: &Vec<Cell>, at| match row.get(at) {
            Some(Cell::Text(text)) => OneLine(text.as_bytes()).to_string(),
            _ => String::new(),
        };
        let name = |row| elided(cell(row, 0), NAME_SIZE_MAX);
        let places = shown().map(|row| text(&cell(row, 1)));
        let shown = names(shown().map(name).collect()).into_iter().zip(places);
        json!({
            "count": rows.len(),
            "rows": shown.map(|row| json!(row)).collect::<Value>(),
            "overwritten": overwritten(log),
        })
    }

    /// Returns the stacks of calls in progress: thread, the innermost calls with the outermost of
    /// them first, the number of all, and for how long the innermost one runs.
    fn open(&self) -> Value {
        let threads = Threads::new(self.log);
        let stacks = &self.found.open;
        let row = |stack: &OpenStack| {
            let left = stack.calls.len().saturating_sub(OPEN_COUNT_MAX);
            let name = |call: &OpenCall| {
                let task = call.task.map_or(String::new(), |task| format!(" (task {task})"));
                format!("{}{task}", short(self.name(call.function)))
            };
            let names = stack.calls.iter().skip(left).map(name).collect::<Value>();
            let last = self.log.span(stack.stream).map(|(_, last)| last);
            let begin = stack.calls.last().and_then(|call| call.begin);
            let running = begin
                .zip(last)
                .map(|(begin, ticks)| self.clock.ns(stack.stream, ticks).saturating_sub(begin.ns));
            let thread = lane_name(&threads, (stack.stream, stack.thread, stack.context));
            json!([thread, names, stack.calls.len(), running])
        };
        let shown = stacks.iter().take(STACK_COUNT_MAX).map(row).collect::<Value>();
        json!({ "count": stacks.len(), "rows": shown })
    }
}

/// Returns the paths with the most time, a caller before its callees.
pub(super) fn nodes(
    tree: &Tree,
    weights: &Weights,
    place: impl Fn(Function) -> Option<u32>,
) -> Value {
    let nodes = tree.nodes();
    let weight = |at: u32| Weights::of(&weights.nodes, at);
    let mut order: Vec<u32> = (1..nodes.len() as u32).filter(|at| !tree.is_shared(*at)).collect();
    order.sort_unstable_by_key(|at| (Reverse(weight(*at)), *at));
    let mut places: HashMap<u32, i64> = HashMap::from([(Tree::ROOT, -1)]);
    let mut columns: [Vec<i64>; 5] = Default::default();
    let (mut left_count, mut left) = (0u64, 0u64);
    let mut rest = nodes.first().map_or(0, |root| root.rest);
    for at in order {
        let Some(node) = nodes.get(at as usize) else { continue };
        let parent = places.get(&node.parent).copied();
        let (Some(function), Some(parent), true) =
            (place(node.function), parent, places.len() <= NODE_COUNT_MAX)
        else {
            left_count += u64::from(node.sum.count > 0);
            left = left.saturating_add(node.sum.own).saturating_add(node.rest);
            continue;
        };
        rest = rest.saturating_add(node.rest);
        places.insert(at, places.len() as i64 - 1);
        let cells = [
            function.into(),
            parent,
            number(node.sum.count),
            number(node.sum.own),
            number(weight(at)),
        ];
        columns.iter_mut().zip(cells).for_each(|(column, cell)| column.push(cell));
    }
    let [functions, parents, counts, owns, weights] = columns;
    json!({
        "functions": functions, "parents": parents, "counts": counts, "owns": owns,
        "weights": weights, "leftCount": left_count, "left": left,
        "rest": rest,
    })
}

fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Returns the name of a thread, and of the coroutine in it.
fn lane_name(threads: &Threads, (stream, thread, context): Lane) -> String {
    let coroutine = if context > 0 { format!(" coroutine {context:#x}") } else { String::new() };
    text(&format!("{}{coroutine}", threads.name(stream, thread)))
}

/// Returns text on one line of a limited length.
pub(super) fn text(text: &str) -> String {
    short(OneLine(text.as_bytes()).to_string())
}

fn short(text: String) -> String {
    elided(text, SHORT_SIZE)
}

/// Shortens names that are too long together.
fn names(mut names: Vec<String>) -> Vec<String> {
    if end_of(names.iter().flat_map(|name| name.as_bytes()), NAMES_SIZE_MAX).is_some() {
        names = names.into_iter().map(short).collect();
    }
    names
}

/// Returns the beginning and the end of a text that takes more than `size_max` bytes in the page.
fn elided(mut text: String, size_max: usize) -> String {
    let bytes = text.as_bytes();
    if end_of(bytes.iter(), size_max).is_some()
        && let Some(mut begin) = end_of(bytes.iter(), size_max / 2)
        && let Some(count) = end_of(bytes.iter().rev(), size_max / 2)
    {
        let mut end = bytes.len() - count;
        while !text.is_char_boundary(begin) {
            begin -= 1;
        }
        while !text.is_char_boundary(end) {
            end += 1;
        }
        text.replace_range(begin..end, "…");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `.cnv.report.calls`: a name keeps its end, and its letters are whole.
    #[test]
    fn long_names_keep_their_ends() {
        for name in ["\u{e9}".repeat(2500), format!("a{}", "\u{1f980}".repeat(1250))] {
            let cut = elided(format!("{name}end"), NAME_SIZE_MAX);
            assert!(cut.len() < NAME_SIZE_MAX + 4 && cut.ends_with("end"), "{cut}");
            assert!(cut.contains('\u{2026}') && !cut.contains('\u{fffd}'), "{cut}");
        }
        let long = |n: usize| format!("{}{n:04}", "x".repeat(NAME_SIZE_MAX - 4));
        assert_eq!(elided("<".repeat(100), 60), format!("{0}…{0}", "<".repeat(5)));
        for (count, size) in [(700, NAME_SIZE_MAX), (2048, SHORT_SIZE + 3)] {
            let names = names((0..count).map(long).collect());
            assert!((0..).zip(&names).all(|(n, name)| name.ends_with(&format!("{n:04}"))));
            assert!(names.iter().all(|name| name.len() == size));
        }
    }
}
