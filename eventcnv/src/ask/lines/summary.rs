//! The statements of a log as rows: chosen, in order, and in groups.
//!
//! ```text
//!  Statements ── all │ executed │ never ──▶ Line ── sort ──▶ rows ── by file, function ──▶ Group
//! ```
//!
//! Design: `.cnv.lines` in `design/eventcnv.md`.

use lens::statements::{Facts, Match, Matched, Method, Statement, Statements, Times, compare};
use std::collections::BTreeMap;

/// The value by which statements are grouped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum By {
    /// A row for each statement
    #[default]
    Statement,
    /// A row for each source file
    File,
    /// A row for each function
    Function,
}

/// A method of correction, on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Correction {
    /// As measured
    #[value(alias = "a")]
    Raw,
    /// Without the cost of the recorder in the statements beneath
    #[value(alias = "b")]
    Outer,
    /// A statement with others in it has their sum; needs a trace
    #[value(alias = "c")]
    Leaves,
    /// Without all cost of the recorder, with an error bar
    #[value(alias = "d")]
    Calibrated,
}

impl Correction {
    pub(crate) fn method(self) -> Method {
        match self {
            Correction::Raw => Method::Raw,
            Correction::Outer => Method::Outer,
            Correction::Leaves => Method::Leaves,
            Correction::Calibrated => Method::Calibrated,
        }
    }
}

/// Returns the name of a method.
pub(crate) fn method_name(method: Method) -> &'static str {
    match method {
        Method::Raw => "raw",
        Method::Outer => "outer",
        Method::Leaves => "leaves",
        Method::Calibrated => "calibrated",
    }
}

/// Which statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    Executed,
    Never,
    All,
}

/// A statement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'s> {
    pub(crate) facts: &'s Facts,
    pub(crate) function: &'s str,
    pub(crate) statement: Statement,
    pub(crate) count: u64,
    pub(crate) times: Option<Times>,
    pub(crate) waits: bool,
}

impl<'s> Line<'s> {
    pub(crate) fn new(found: &'s Statements, statement: Statement) -> Option<Line<'s>> {
        Some(Line {
            facts: found.all().get(statement as usize)?,
            function: found.function_name(statement),
            statement,
            count: found.count(statement),
            times: found.times(statement),
            waits: found.waits(statement),
        })
    }

    /// Returns the times, unless they contain waiting.
    pub(crate) fn busy(&self) -> Option<&Times> {
        self.times.as_ref().filter(|_| !self.waits)
    }

    /// Returns the times, if they contain waiting.
    pub(crate) fn waiting(&self) -> Option<&Times> {
        self.times.as_ref().filter(|_| self.waits)
    }

    /// Returns the own time in ns; what is too short to be measured has none.
    fn own(&self) -> f64 {
        let own = self.busy().map(|times| times.own);
        own.filter(|own| !own.is_below()).map_or(0.0, |own| own.ns)
    }

    /// Returns what orders statements by their places.
    pub(crate) fn place(&self) -> (&str, u32, u32, u32, &str) {
        let Facts { line, column, offset, .. } = *self.facts;
        (
            self.facts.file.as_deref().unwrap_or("\u{10ffff}"),
            line,
            column,
            offset,
            &self.facts.label,
        )
    }
}

/// Returns the statements: by own time, then by count, then by place.
pub(crate) fn lines(found: &Statements, which: Which) -> Vec<Line<'_>> {
    let all = found.iter().filter_map(|(at, _)| Line::new(found, at));
    let mut lines: Vec<Line<'_>> = all
        .filter(|line| match which {
            Which::Executed => line.count > 0,
            Which::Never => line.count == 0 && line.facts.places > 0,
            Which::All => true,
        })
        .collect();
    lines.sort_by(|a, b| {
        let by_own = b.own().total_cmp(&a.own());
        by_own.then(b.count.cmp(&a.count)).then_with(|| a.place().cmp(&b.place()))
    });
    lines
}

/// The statements of a file or of a function.
#[derive(Clone, Debug, Default)]
pub(crate) struct Group<'s> {
    pub(crate) name: &'s str,
    pub(crate) statements: u64,
    pub(crate) executed: u64,
    pub(crate) count: u64,
    /// Own times and their errors, in ns.
    pub(crate) own: Option<(f64, f64)>,
    pub(crate) waiting: f64,
}

/// Returns the statements in groups: by own time, then by count, then by name.
pub(crate) fn groups(found: &Statements, by: By) -> Vec<Group<'_>> {
    let mut groups: BTreeMap<&str, Group<'_>> = BTreeMap::new();
    for line in lines(found, Which::All) {
        let name =
            if by == By::File { line.facts.file.as_deref().unwrap_or("") } else { line.function };
        let group = groups.entry(name).or_insert_with(|| Group { name, ..Group::default() });
        group.statements += 1;
        group.executed += u64::from(line.count > 0);
        group.count = group.count.saturating_add(line.count);
        if let Some(times) = line.busy() {
            let (own, error) = group.own.unwrap_or_default();
            group.own = Some((own + times.own.ns, error + times.own.error));
        }
        group.waiting += line.waiting().map_or(0.0, |times| times.total.bound());
    }
    let mut groups: Vec<Group<'_>> = groups.into_values().collect();
    groups.sort_by(|a, b| {
        let own = |group: &Group<'_>| group.own.map_or(0.0, |(own, error)| own.max(error));
        own(b).total_cmp(&own(a)).then(b.count.cmp(&a.count)).then(a.name.cmp(b.name))
    });
    groups
}

/// A statement of two runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair<'s> {
    pub(crate) old: Option<Line<'s>>,
    pub(crate) new: Option<Line<'s>>,
    pub(crate) how: Match,
}

impl Pair<'_> {
    /// Returns the own times in ns of both runs; the time of a statement that waits.
    pub(crate) fn times(&self) -> [Option<f64>; 2] {
        [self.old, self.new].map(|line| {
            let line = line?;
            let times = line.times?;
            let value = if line.waits { times.total } else { times.own };
            Some(if value.is_below() { 0.0 } else { value.ns })
        })
    }

    /// Returns how much more time, or how many more executions, the new run has.
    pub(crate) fn change(&self, has_times: bool) -> f64 {
        let count = |line: Option<Line<'_>>| line.map_or(0.0, |line| line.count as f64);
        if has_times {
            let [old, new] = self.times().map(|ns| ns.unwrap_or(0.0));
            new - old
        } else {
            count(self.new) - count(self.old)
        }
    }
}

/// Returns the statements of two runs that either executed, or that came or went: those that
/// changed most first.
pub(crate) fn pairs<'s>(old: &'s Statements, new: &'s Statements) -> Vec<Pair<'s>> {
    let has_times = old.has_times() && new.has_times();
    let pair = |Matched { old: was, new: is, how }| Pair {
        old: was.and_then(|at| Line::new(old, at)),
        new: is.and_then(|at| Line::new(new, at)),
        how,
    };
    let mut pairs: Vec<Pair<'_>> = compare(old, new)
        .into_iter()
        .map(pair)
        .filter(|pair| [pair.old, pair.new].into_iter().flatten().any(|line| line.count > 0))
        .collect();
    // Statements stay in the order of their functions and places where nothing changed.
    pairs.sort_by(|a, b| b.change(has_times).abs().total_cmp(&a.change(has_times).abs()));
    pairs
}
