//! Reads the statements of a log: adds up the sums of all threads, and pairs executions.
//!
//! ```text
//!  Batch ─┬─ sums ──▶ Tables ─▶ Sum ─┐
//!         └─ edges ─▶ Trace ─────────┴─▶ Statements
//! ```
//!
//! Design: `.statements.lens` in `design/statements.md`.

use super::correct::{Method, Times, Value};
use super::model::{Costs, Facts, Statement, Sum};
use super::series::Trace;
use super::source::{self, Aside, Batch, Source, address_of, marks};
use super::tables::Tables;
use crate::calls::functions::Functions;
use crate::calls::model::{Function, NONE};
use crate::calls::source::PROFILE;
use crate::slices::{Group, Holes, Limits, Numbers, Percent, Step};
use eventlog::reader::{Clock, Filter, Log, Order};
use foldhash::fast::RandomState;
use std::collections::{BTreeMap, HashMap};

/// Statements, at most; further ones are one statement.
pub const STATEMENT_COUNT_MAX: usize = 1 << 20;
/// Sums of a table and a statement, at most; further ones are left out.
pub const ROW_COUNT_MAX: usize = 1 << 20;
/// Events of a batch, about.
const BATCH_COUNT: usize = 1 << 12;
/// The label of the statement beyond the limit.
const OTHERS: &str = "(others)";
/// What a recorder costs that states no costs.
const FREE: Costs = Costs { inner: 0.0, outer: 0.0, spread: 0.0, block_spread: 0.0 };

/// What was left out, or is doubtful.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Streams with times whose recorder states no costs: their times are raw.
    pub without_costs: Vec<u16>,
    /// Streams whose recorder states impossible costs.
    pub wrong_costs: Vec<u16>,
    /// Sums that found no room.
    pub sums: u64,
    /// Ends of statements whose beginning is not in the log.
    pub alone: u64,
    /// Executions that began while too many were open.
    pub full: u64,
}

/// How times of a stream are corrected, and become ns.
#[derive(Clone, Copy, Debug)]
struct Scale {
    costs: Costs,
    /// Of a tick.
    ns: f64,
}

/// The statements of a log.
#[derive(Clone, Debug)]
pub struct Statements {
    functions: Functions,
    all: Vec<Facts>,
    by_label: HashMap<Box<str>, Statement, RandomState>,
    by_address: HashMap<(u16, u64), Statement, RandomState>,
    method: Method,
    /// By stream.
    costs: BTreeMap<u16, Costs>,
    scales: Vec<Scale>,
    tables: Tables,
    sums: BTreeMap<(Statement, u16), Sum>,
    trace: Trace,
    numbers: Numbers,
}

/// Reads all statements of a log on one thread. Without a method, times are calibrated if the log
/// states the costs of the recorder, else raw.
pub fn read(log: &Log, clock: &Clock, method: Option<Method>) -> Statements {
    let marks = marks(log);
    let mut statements = Statements::new(log, clock, method);
    let (mut source, mut batch) = (Source::new(log, clock, &marks), Batch::new(log));
    log.events(Order::Time, &Filter::default()).each(|event| {
        source.add(event, true, &mut batch);
        if batch.len() >= BATCH_COUNT {
            statements.take(&batch.take());
        }
    });
    statements.take(&batch);
    statements.finish();
    statements
}

impl Statements {
    /// Returns a lens for a log; the method as in [`read`].
    pub fn new(log: &Log, clock: &Clock, method: Option<Method>) -> Statements {
        Statements::with_limits(log, clock, method, Limits::default(), ROW_COUNT_MAX)
    }

    /// As [`Statements::new`], with limits for open statements and for sums that are kept apart.
    pub fn with_limits(
        log: &Log,
        clock: &Clock,
        method: Option<Method>,
        limits: Limits,
        row_count_max: usize,
    ) -> Statements {
        let costs = source::costs(log);
        let has_costs = costs.values().any(Costs::is_right);
        let method = method.unwrap_or(if has_costs { Method::Calibrated } else { Method::Raw });
        let scale = |stream: u16| {
            let (ticks, ns) = clock.scale(stream);
            let costs = costs.get(&stream).copied().filter(Costs::is_right).unwrap_or(FREE);
            Scale { costs, ns: ns as f64 / ticks as f64 }
        };
        let scales = (0..).zip(log.streams()).map(|(stream, _)| scale(stream)).collect();
        let mut statements = Statements {
            functions: Functions::new(log),
            all: Vec::new(),
            by_label: HashMap::default(),
            by_address: HashMap::default(),
            method,
            costs,
            scales,
            tables: Tables::new(row_count_max),
            sums: BTreeMap::new(),
            trace: Trace::new(limits, Holes::new(log, &marks(log))),
            numbers: Numbers::new(log),
        };
        statements.learn();
        statements
    }

    /// Takes the statements that the store states.
    fn learn(&mut self) {
        let mut places: HashMap<(Statement, u16), u32, RandomState> = HashMap::default();
        for place in self.functions.take_statements() {
            if self.by_address.contains_key(&(place.stream, place.address)) {
                continue;
            }
            let at = self.labelled(&place.label);
            self.by_address.insert((place.stream, place.address), at);
            let function = place.label.get(..place.function_size).unwrap_or_default();
            let function = self.functions.named(function);
            let count = places.entry((at, place.stream)).or_default();
            *count += 1;
            let Some(facts) = self.all.get_mut(at as usize) else { continue };
            let found = (&place.file, place.offset, place.size);
            if facts.places == 0 {
                facts.function = function;
                facts.file = place.file;
                (facts.line, facts.column) = (place.line, place.column);
                (facts.offset, facts.size) = (place.offset, place.size);
            } else if (&facts.file, facts.offset, facts.size) != found {
                facts.is_ambiguous = true;
            }
            facts.places = facts.places.max(*count);
        }
    }

    /// Returns the statement with a label.
    fn labelled(&mut self, label: &str) -> Statement {
        if let Some(statement) = self.by_label.get(label) {
            return *statement;
        }
        if self.all.len() >= STATEMENT_COUNT_MAX && label != OTHERS {
            return self.labelled(OTHERS);
        }
        let statement = self.add(label.into(), None);
        self.by_label.insert(label.into(), statement);
        statement
    }

    fn add(&mut self, label: Box<str>, stream: Option<u16>) -> Statement {
        self.all.push(Facts { label, stream, function: NONE, ..Facts::default() });
        self.all.len() as Statement - 1
    }

    /// Returns the statement at an address of a stream.
    #[inline]
    fn number(&mut self, stream: u16, address: u64) -> Statement {
        match self.by_address.get(&(stream, address)) {
            Some(statement) => *statement,
            None => self.find(stream, address),
        }
    }

    /// Returns a statement whose place the store does not state.
    #[cold]
    fn find(&mut self, stream: u16, address: u64) -> Statement {
        let label = self.functions.label(stream, address).map(str::to_owned);
        let is_full = self.by_address.len() >= STATEMENT_COUNT_MAX;
        let statement = match label {
            _ if is_full => return self.labelled(OTHERS),
            Some(label) => self.labelled(&label),
            None => self.add(format!("{address:#x}").into(), Some(stream)),
        };
        self.by_address.insert((stream, address), statement);
        statement
    }

    /// Takes the next batch.
    pub fn take(&mut self, batch: &Batch) {
        let mut asides = batch.asides.iter().peekable();
        let mut edge_count = 0;
        for step in batch.edges.steps() {
            match step {
                Step::Jump(jump) => {
                    if let Some(gap) = self.numbers.gap(jump) {
                        self.trace.gap(&gap, PROFILE);
                    }
                }
                Step::Edge(edge) => {
                    while let Some((_, when, aside)) =
                        asides.next_if(|(before, ..)| *before <= edge_count)
                    {
                        self.aside(*when, aside);
                    }
                    edge_count += 1;
                    let stream = edge.id.stream;
                    let statement = self.number(stream, address_of(edge));
                    let place = self.all.get(statement as usize);
                    let place = place.map_or((NONE, 0), |facts| (facts.function, facts.offset));
                    let scale = self.scales.get(usize::from(stream));
                    let ns = scale.map_or(1.0, |scale| scale.ns);
                    self.trace.take(edge, statement, place, (self.method, ns));
                }
            }
        }
        asides.for_each(|(_, when, aside)| self.aside(*when, aside));
        self.numbers.follow(&batch.edges);
    }

    fn aside(&mut self, source::When { thread, ticks }: source::When, aside: &Aside) {
        match aside {
            Aside::Pause { is_end } => self.trace.clocks.pause(thread, thread.0, *is_end, ticks),
            Aside::Switch { context } => self.trace.clocks.switch(thread, *context, ticks),
            Aside::Sum { address, table, sum } => self.tables.take(thread.0, *table, *address, sum),
        }
    }

    /// Ends the log: call it once, after the last batch.
    pub fn finish(&mut self) {
        let rows: Vec<_> = self.tables.drain().collect();
        for (stream, address, sum) in rows {
            let statement = self.number(stream, address);
            self.sums.entry((statement, stream)).or_default().add(&sum);
        }
        for (place, traced) in &self.trace.sums {
            self.sums.entry(*place).or_insert(traced.sum);
        }
        self.trace.durations.settle();
    }

    /// Returns the method of the times.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Returns the functions.
    pub fn functions(&self) -> &Functions {
        &self.functions
    }

    /// Returns the name of the function of a statement; empty if it is not known.
    pub fn function_name(&self, statement: Statement) -> &str {
        self.functions.name(self.all.get(statement as usize).map_or(NONE, |facts| facts.function))
    }

    /// Returns all statements with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (Statement, &Facts)> {
        (0..).zip(&self.all)
    }

    /// Returns all statements, by number.
    pub fn all(&self) -> &[Facts] {
        &self.all
    }

    /// Returns the statements of each function, by their places.
    pub fn by_function(&self) -> BTreeMap<Function, Vec<Statement>> {
        let mut functions: BTreeMap<Function, Vec<Statement>> = BTreeMap::new();
        for (statement, facts) in self.iter() {
            functions.entry(facts.function).or_default().push(statement);
        }
        for statements in functions.values_mut() {
            statements.sort_by_key(|at| {
                self.all.get(*at as usize).map(|facts| {
                    (facts.offset, facts.line, facts.column, std::cmp::Reverse(facts.size), *at)
                })
            });
        }
        functions
    }

    /// Returns the raw sums of a statement, by stream, in ticks: no method changes them.
    pub fn sums(&self, statement: Statement) -> impl Iterator<Item = (u16, &Sum)> {
        let all = self.sums.range((statement, 0)..=(statement, u16::MAX));
        all.map(|((_, stream), sum)| (*stream, sum))
    }

    /// Returns how many executions of a statement began.
    pub fn count(&self, statement: Statement) -> u64 {
        self.sums(statement).fold(0, |count, (_, sum)| count.saturating_add(sum.count))
    }

    /// Returns whether the times of a statement contain waiting.
    pub fn waits(&self, statement: Statement) -> bool {
        self.sums(statement).any(|(_, sum)| sum.waits)
    }

    /// Returns the times of a statement, in all streams; `None` if none was timed. The method of
    /// leaves needs a trace.
    pub fn times(&self, statement: Statement) -> Option<Times> {
        let scale = |stream: u16| self.scales.get(usize::from(stream));
        let of = |sum: &Sum, scale: &Scale| Times::of(sum, self.method, &scale.costs, scale.ns);
        let all = self.sums(statement).filter_map(|(stream, sum)| match self.method {
            Method::Leaves => {
                of(&self.trace.sums.get(&(statement, stream))?.leaves, scale(stream)?)
            }
            _ => of(sum, scale(stream)?),
        });
        all.reduce(|one, other| one.plus(&other))
    }

    /// Returns whether the log has a trace of statements.
    pub fn has_trace(&self) -> bool {
        !self.trace.sums.is_empty()
    }

    /// Returns whether any execution was timed.
    pub fn has_times(&self) -> bool {
        self.sums.values().any(|sum| sum.timed > 0)
    }

    /// Returns how the sums of a statement contradict each other, if they do.
    pub fn contradiction(&self, statement: Statement) -> Option<&'static str> {
        self.sums(statement).find_map(|(_, sum)| sum.contradiction())
    }

    /// Returns what was left out, or is doubtful.
    pub fn left(&self) -> Left {
        let is_timed =
            |stream: u16| self.sums.iter().any(|((_, own), sum)| *own == stream && sum.timed > 0);
        let streams = 0..self.scales.len() as u16;
        let without = streams.filter(|at| !self.costs.contains_key(at) && is_timed(*at));
        let wrong = self.costs.iter().filter(|(_, costs)| !costs.is_right());
        let (alone, full) = self.trace.counts();
        Left {
            without_costs: without.collect(),
            wrong_costs: wrong.map(|(stream, _)| *stream).collect(),
            sums: self.tables.full,
            alone,
            full,
        }
    }
}

impl Statements {
    /// Returns the durations of a statement's executions in a trace; without durations if the log
    /// has no trace. They are raw, or those of the leaves.
    pub fn durations(&self, statement: Statement) -> &Group {
        self.trace.durations.group(statement as usize)
    }

    /// Returns a percentile of the times of a statement in a trace, corrected by the method.
    pub fn percentile(&self, statement: Statement, percent: Percent) -> Option<(Value, bool)> {
        let found = self.durations(statement).percentile(percent)?;
        let ns = found.ns as f64;
        let value = match self.method {
            Method::Raw | Method::Leaves => Value { ns, error: 0.0 },
            _ => self.times(statement)?.one(ns),
        };
        Some((value, found.is_exact))
    }

    /// Returns how many executions of a statement the trace has with a time, and how many were
    /// timed, if these are more: the trace was cut, or began later. `None` also for a statement
    /// that waits: no trace has it.
    pub fn cut(&self, statement: Statement) -> Option<(u64, u64)> {
        let timed =
            self.sums(statement).fold(0u64, |timed, (_, sum)| timed.saturating_add(sum.timed));
        let traced = self.durations(statement).count();
        let is_cut = self.has_trace() && traced < timed && !self.waits(statement);
        is_cut.then_some((traced, timed))
    }
}
