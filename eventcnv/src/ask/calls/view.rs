//! The calls of a log as tables: by function, edge, path, cluster, thread and task.
//!
//! ```text
//!  tree, graph, clusters, durations, owners ──▶ Table
//! ```
//!
//! Design: `.cnv.calls` in `design/eventcnv.md`.

use crate::ask::calls::reading::Found;
use crate::ask::calls::summary::{By, Cutoff, Extra, demangled, links};
use crate::ask::pairs::summary::{Row, Tally, Threads};
use crate::ask::pairs::view::PERCENTS;
use crate::show::percentile;
use cli::table::{Cell, Column, Table, count, percent, text, time};
use eventlog::reader::{Clock, Log};
use lens::calls::{Function, Functions, Graph, Sum, Tree, clusters};
use std::cmp::Reverse;

/// The columns of counts and times of functions and edges.
const TIMES: [Column<'static>; 16] = [
    count("calls"),
    time("own"),
    percent("own"),
    time("total"),
    time("outermost"),
    time("mean"),
    time("min"),
    time("p50"),
    time("p90"),
    time("p99"),
    time("p99.9"),
    time("max"),
    count("unfinished").if_any(),
    count("doubtful").if_any(),
    count("unwound").if_any(),
    count("polls").if_any(),
];

/// The calls of a log.
pub(crate) struct Summary<'l> {
    pub(crate) log: &'l Log,
    pub(crate) clock: &'l Clock,
    pub(crate) found: &'l Found,
    pub(crate) graph: &'l Graph,
    pub(crate) extra: &'l Extra,
    pub(crate) cutoff: Option<Cutoff>,
    pub(crate) is_undirected: bool,
}

impl Summary<'_> {
    fn functions(&self) -> &Functions {
        self.found.calls.functions()
    }

    fn name(&self, function: Function) -> String {
        demangled(self.functions().name(function)).into_owned()
    }

    /// Returns the time in which any call ran, in all threads.
    fn time(&self) -> u64 {
        let nodes = self.found.calls.tree().nodes().iter().skip(1);
        nodes.fold(0, |sum, node| node.sum.own.saturating_add(sum))
    }

    fn is_shown(&self, sum: &Sum, time: u64) -> bool {
        let Cutoff::Count(least) = self.cutoff.unwrap_or(Cutoff::Count(0)) else {
            return sum.count > 0
                && self.cutoff.is_none_or(|cutoff| cutoff.has(sum.count, sum.outermost, time));
        };
        sum.count > least
    }

    /// Returns a table, without rows.
    fn table(&self, columns: impl IntoIterator<Item = Column<'static>>) -> Table<'static> {
        Table::new(columns).of(self.clock.base)
    }

    /// Returns the rows of the groups that are asked for.
    pub(crate) fn groups(&self) -> Table<'static> {
        match self.extra.by() {
            By::Function => self.by_function(),
            By::Edge => self.by_edge(),
            By::Path => self.by_path(),
            By::Cluster => self.by_cluster(),
            By::Thread => self.by_thread(),
            By::Task => self.by_task(),
        }
    }

    /// Returns the cells of [`TIMES`].
    fn times(&self, at: u32, sum: &Sum, all: u64) -> [Cell; TIMES.len()] {
        let group = self.extra.durations.group(at as usize);
        let percent = (all > 0).then(|| sum.own as f64 * 100.0 / all as f64);
        let [p50, p90, p99, p99_9] =
            PERCENTS.map(|(_, percent)| Cell::from(group.percentile(percent).map(percentile)));
        [
            sum.count.into(),
            sum.own.into(),
            percent.into(),
            sum.total.into(),
            sum.outermost.into(),
            group.mean().into(),
            group.range().map(|(min, _)| min).into(),
            p50,
            p90,
            p99,
            p99_9,
            group.range().map(|(_, max)| max).into(),
            sum.unfinished.into(),
            sum.doubtful.into(),
            sum.unwound.into(),
            self.extra.polls(at).into(),
        ]
    }

    fn by_function(&self) -> Table<'static> {
        let last = ["without beginning", "muted"].map(|name| count(name).if_any());
        let columns = [text("function")].into_iter().chain(TIMES).chain(last);
        let mut table = self.table(columns);
        let time = self.time();
        let mut rows: Vec<(Function, Sum)> = self
            .functions()
            .iter()
            .map(|(function, _)| (function, self.graph.function(function)))
            .filter(|(function, sum)| {
                let calls = &self.found.calls;
                self.is_shown(sum, time)
                    || self.cutoff.is_none() && calls.alone(*function) + calls.muted(*function) > 0
            })
            .collect();
        rows.sort_by_key(|(function, sum)| {
            (Reverse(sum.own), Reverse(sum.count), self.functions().name(*function))
        });
        for (function, sum) in rows {
            let name = [self.name(function).into()].into_iter();
            let calls = &self.found.calls;
            let last = [calls.alone(function), calls.muted(function)].map(Cell::from);
            table.row(name.chain(self.times(function, &sum, time)).chain(last));
        }
        table
    }

    fn by_edge(&self) -> Table<'static> {
        let names = ["caller", "function"].map(text);
        let mut table = self.table(names.into_iter().chain(TIMES));
        let time = self.time();
        let edges = (0..).zip(self.graph.edges());
        let mut rows: Vec<_> = edges.filter(|(_, edge)| self.is_shown(&edge.sum, time)).collect();
        rows.sort_by_key(|(_, edge)| {
            let names = [edge.caller, edge.function].map(|at| self.functions().name(at));
            (Reverse(edge.sum.total), Reverse(edge.sum.count), names)
        });
        for (at, edge) in rows {
            let names = [edge.caller, edge.function].map(|at| self.name(at).into()).into_iter();
            table.row(names.chain(self.times(at, &edge.sum, time)));
        }
        table
    }

    /// Returns the tree in the order of its paths, the longest time first.
    fn by_path(&self) -> Table<'static> {
        let mut table = self.table([
            text("path"),
            count("depth"),
            count("calls"),
            time("own"),
            percent("own"),
            time("total"),
            time("mean"),
            count("unfinished").if_any(),
            count("doubtful").if_any(),
            count("unwound").if_any(),
        ]);
        let (tree, time) = (self.found.calls.tree(), self.time());
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); tree.nodes().len()];
        for (at, node) in (0..).zip(tree.nodes()).skip(1) {
            if let Some(children) = children.get_mut(node.parent as usize) {
                children.push(at);
            }
        }
        let mut left = vec![(Tree::ROOT, 0u64)];
        while let Some((at, depth)) = left.pop() {
            let Some(node) = tree.nodes().get(at as usize) else { continue };
            let sum = Sum { outermost: node.sum.total, ..node.sum };
            if at != Tree::ROOT && self.is_shown(&sum, time) {
                let percent = (time > 0).then(|| sum.own as f64 * 100.0 / time as f64);
                // Deep recursion would make lines without end.
                let space = "  ".repeat(depth.saturating_sub(1).min(32) as usize);
                table.rows.push(vec![
                    format!("{space}{}", self.name(node.function)).into(),
                    depth.into(),
                    sum.count.into(),
                    sum.own.into(),
                    percent.into(),
                    sum.total.into(),
                    sum.mean().into(),
                    sum.unfinished.into(),
                    sum.doubtful.into(),
                    sum.unwound.into(),
                ]);
            }
            let own = children.get_mut(at as usize).map(std::mem::take).unwrap_or_default();
            let mut own: Vec<_> = own
                .into_iter()
                .filter_map(|at| {
                    let node = tree.nodes().get(at as usize)?;
                    Some((node.sum.total, Reverse(self.functions().name(node.function)), at))
                })
                .collect();
            own.sort_unstable();
            left.extend(own.into_iter().map(|(_, _, at)| (at, depth + 1)));
        }
        table
    }

    fn by_cluster(&self) -> Table<'static> {
        let mut table =
            self.table([text("cluster"), text("function"), count("size"), count("calls")]);
        let functions = self.functions();
        let time = self.time();
        let links = links(self.graph, |sum| self.is_shown(sum, time));
        for (leader, members) in clusters(&links, |at| functions.name(at), self.is_undirected) {
            for member in &members {
                table.rows.push(vec![
                    self.name(leader).into(),
                    self.name(*member).into(),
                    (members.len() as u64).into(),
                    self.graph.function(*member).count.into(),
                ]);
            }
        }
        table
    }

    fn by_thread(&self) -> Table<'static> {
        let last = count("unfinished").if_any();
        let mut table =
            self.table([text("thread"), count("calls"), time("busy"), count("depth"), last]);
        let threads = Threads::new(self.log);
        for (&(stream, thread), sum) in self.extra.owners.threads() {
            table.rows.push(vec![
                threads.name(stream, thread).into(),
                sum.count.into(),
                sum.busy.into(),
                u64::from(sum.depth).into(),
                sum.unfinished.into(),
            ]);
        }
        table
    }

    fn by_task(&self) -> Table<'static> {
        let mut table = self.table([
            text("task"),
            text("function"),
            count("tasks"),
            count("polls"),
            time("busy"),
            time("life"),
            count("ended"),
            count("ready"),
        ]);
        let is_several = self.log.streams().len() > 1;
        for (&(stream, number, _), sum) in self.extra.owners.tasks() {
            let number = number.map_or("(others)".to_owned(), |number| number.to_string());
            let number = if is_several { format!("stream {stream}: {number}") } else { number };
            table.rows.push(vec![
                number.into(),
                self.name(sum.function).into(),
                sum.tasks.into(),
                sum.polls.into(),
                sum.busy.into(),
                sum.life.into(),
                sum.ended.into(),
                sum.ready.into(),
            ]);
        }
        table
    }

    /// Returns the functions that the log knows, and that have no call.
    pub(crate) fn unused(&self) -> Table<'static> {
        let mut table = self.table(["function", "place"].map(text));
        let is_unused = |function: Function| {
            let calls = &self.found.calls;
            let counts = [calls.alone(function), calls.muted(function)];
            self.graph.function(function).count == 0 && counts == [0, 0]
        };
        let all = self.functions().iter();
        let mut rows: Vec<_> =
            all.filter(|(at, facts)| facts.is_stated && is_unused(*at)).collect();
        rows.sort_by_key(|(_, facts)| &facts.name);
        for (function, facts) in rows {
            table.rows.push(vec![self.name(function).into(), facts.place().into()]);
        }
        table
    }

    /// Returns the calls in progress at the end, by stack, the outermost first.
    pub(crate) fn unfinished(&self) -> Table<'static> {
        let mut table = self.table([
            text("thread"),
            text("function"),
            text("coroutine").if_any(),
            count("task").if_any(),
            count("depth"),
            count("since ticks"),
            time("running"),
        ]);
        let threads = Threads::new(self.log);
        for stack in &self.found.open {
            let last = self.log.span(stack.stream).map(|(_, last)| last);
            let last = last.map(|ticks| self.clock.ns(stack.stream, ticks));
            for (depth, call) in (1u64..).zip(&stack.calls) {
                let running = call.begin.zip(last).map(|(begin, ns)| ns.saturating_sub(begin.ns));
                let context = Some(stack.context).filter(|context| *context > 0);
                table.rows.push(vec![
                    threads.name(stack.stream, stack.thread).into(),
                    self.name(call.function).into(),
                    context.map(|context| format!("{context:#x}")).into(),
                    call.task.into(),
                    depth.into(),
                    call.begin.map(|begin| begin.ticks).into(),
                    running.into(),
                ]);
            }
        }
        table
    }

    /// Returns rows to compare with those of another log.
    pub(crate) fn rows(&self) -> Vec<Row<'_>> {
        let tally = |sum: &Sum| Tally {
            unfinished: sum.unfinished,
            doubtful: sum.doubtful,
            ..Default::default()
        };
        let group = |at| self.extra.durations.group(at);
        let mut rows: Vec<Row<'_>> = if self.extra.by() == By::Edge {
            let edges = self.graph.edges().iter().enumerate().filter(|(_, e)| e.sum.count > 0);
            let row = |(at, edge): (usize, &lens::calls::CallEdge)| Row {
                place: at,
                pair: "",
                name: self.functions().name(edge.function).into(),
                value: self.name(edge.caller),
                tally: tally(&edge.sum),
                durations: group(at),
                means: self.extra.runs.means(at),
                seconds: None,
            };
            edges.map(row).collect()
        } else {
            let all = self.functions().iter().map(|(at, _)| (at, self.graph.function(at)));
            let called = all.filter(|(_, sum)| sum.count > 0);
            let row = |(at, sum): (Function, Sum)| Row {
                place: at as usize,
                pair: "",
                name: self.functions().name(at).into(),
                value: String::new(),
                tally: tally(&sum),
                durations: group(at as usize),
                means: self.extra.runs.means(at as usize),
                seconds: None,
            };
            called.map(row).collect()
        };
        rows.sort_by(|a, b| {
            let key = |row: &Row<'_>| Reverse(row.durations.sum());
            key(a).cmp(&key(b)).then_with(|| (&a.name, &a.value).cmp(&(&b.name, &b.value)))
        });
        rows
    }
}
