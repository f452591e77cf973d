//! The differences between two logs.
//!
//! ```text
//!  Overview A ─┬─▶ counts of kinds, event types    z = |b − a| / √(a + b), of Poisson's law
//!  Overview B ─┤   values of parameters            Kolmogorov–Smirnov; strings: which part differs
//!              └─▶ labels, registries, losses       came, went, changed
//! ```
//!
//! The most significant comes first. Durations, rates, pointers and addresses differ in each run,
//! and do not count. Design: `.cnv.diff` in `design/eventcnv.md`.

use crate::ask::stats::summary::Count;
use crate::ask::stats::summary::overview::{Overview, ParamOverview};
use crate::ask::stats::summary::params::TopOf;
use eventdef::Sort;
use eventlog::reader::marks::Unit;
use eventlog::reader::{CAUSES, Losses, Registry, compare};
use std::collections::{BTreeMap, BTreeSet};

/// A name in one or both logs, with its values.
pub(crate) type Both<T> = (String, [T; 2]);

#[derive(Default)]
pub(crate) struct Difference {
    pub(crate) kinds: Vec<Both<Count>>,
    pub(crate) types: Vec<Both<Count>>,
    pub(crate) params: Vec<ParamDifference>,
    /// Labels only in A, and only in B.
    pub(crate) labels: [Vec<String>; 2],
    /// Name of a registry, and what changed in it.
    pub(crate) registries: Vec<(String, String)>,
    /// Kind and cause.
    pub(crate) losses: Vec<Both<u64>>,
}

/// A parameter whose values differ.
pub(crate) struct ParamDifference {
    pub(crate) name: String,
    /// The part of the values that differs, from 0 to 1.
    pub(crate) distance: f64,
    pub(crate) sort: Sort,
    /// The unit that both logs declare.
    pub(crate) unit: Option<Unit>,
    pub(crate) values: [Values; 2],
}

/// Statistics of the values of a parameter.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Values {
    pub(crate) count: u64,
    pub(crate) mean: Option<f64>,
    /// And whether it is exact.
    pub(crate) median: Option<(f64, bool)>,
    pub(crate) max: Option<f64>,
}

/// A log to compare.
pub(crate) struct Side<'a> {
    pub(crate) overview: &'a Overview<'a>,
    pub(crate) registries: &'a [Registry],
    pub(crate) labels: &'a BTreeSet<Vec<u8>>,
}

impl Difference {
    /// Compares two logs. A difference of less than `tolerance` percent does not count.
    pub(crate) fn new(sides: [&Side<'_>; 2], tolerance: f64) -> Difference {
        let [a, b] = sides;
        let far = |counts: [Count; 2]| {
            let [a, b] = counts.map(|count| count.events as f64);
            (b - a).abs() > a.max(b) * tolerance / 100.0
        };
        let counts = |of: fn(&Overview<'_>) -> Vec<(String, Count)>| {
            let mut both = pair([of(a.overview), of(b.overview)]);
            both.retain(|(_, counts)| far(*counts));
            both.sort_by(|a, b| significance(b.1).total_cmp(&significance(a.1)));
            both
        };
        let losses = |side: &Side<'_>| {
            let causes = |(kind, losses): &(String, Losses)| {
                let name = |(&cause, count): (&&str, u64)| (format!("{kind} {cause}"), count);
                CAUSES.iter().zip(losses.causes()).map(name).collect::<Vec<_>>()
            };
            side.overview.losses.iter().flat_map(causes).collect::<Vec<_>>()
        };
        let mut losses = pair([losses(a), losses(b)]);
        losses.retain(|(_, [a, b])| a != b);
        losses.sort_by_key(|(_, [a, b])| std::cmp::Reverse(a.abs_diff(*b)));
        let only = |own: &BTreeSet<Vec<u8>>, other: &BTreeSet<Vec<u8>>| {
            let text = |label: &Vec<u8>| String::from_utf8_lossy(label).into_owned();
            own.difference(other).map(text).collect()
        };
        Difference {
            kinds: counts(|overview| {
                overview.kinds.iter().map(|row| (row.name.clone(), row.count)).collect()
            }),
            types: counts(|overview| {
                overview.types.iter().map(|row| (row.name.clone(), row.count)).collect()
            }),
            params: params(a.overview, b.overview, tolerance),
            labels: [only(a.labels, b.labels), only(b.labels, a.labels)],
            registries: registries(a.registries, b.registries),
            losses,
        }
    }

    pub(crate) fn is_none(&self) -> bool {
        self.kinds.is_empty()
            && self.types.is_empty()
            && self.params.is_empty()
            && self.labels.iter().all(Vec::is_empty)
            && self.registries.is_empty()
            && self.losses.is_empty()
    }
}

/// Returns the distance of two counts in standard deviations, if both follow Poisson's law.
pub(crate) fn significance(counts: [Count; 2]) -> f64 {
    let [a, b] = counts.map(|count| count.events as f64);
    (b - a).abs() / (a + b).sqrt().max(1.0)
}

/// Returns the values of both sides by name.
fn pair<T: Default + Copy>(sides: [Vec<(String, T)>; 2]) -> Vec<Both<T>> {
    let mut both: BTreeMap<String, [T; 2]> = BTreeMap::new();
    for (side, rows) in sides.into_iter().enumerate() {
        for (name, row) in rows {
            if let Some(place) = both.entry(name).or_default().get_mut(side) {
                *place = row;
            }
        }
    }
    both.into_iter().collect()
}

fn params(a: &Overview<'_>, b: &Overview<'_>, tolerance: f64) -> Vec<ParamDifference> {
    let mut found = Vec::new();
    // Events of the runtime itself have the numbers of threads, which differ in each run.
    for row in a.types.iter().filter(|row| !row.is_own) {
        let Some(other) = b.types.iter().find(|other| other.name == row.name) else { continue };
        for param in &row.params {
            let same = other.params.iter().find(|other| other.name == param.name);
            let Some(same) = same.filter(|same| same.sort == param.sort) else { continue };
            let Some(distance) = distance(param, same) else { continue };
            if distance * 100.0 > tolerance {
                let name = format!("{} {}", row.name, param.name);
                let unit = param.unit.filter(|unit| same.unit == Some(*unit));
                let (sort, values) = (param.sort, [param, same].map(values));
                found.push(ParamDifference { name, distance, sort, unit, values });
            }
        }
    }
    let weight = |found: &ParamDifference| {
        let [a, b] = found.values.map(|values| values.count as f64);
        found.distance * (a * b / (a + b).max(1.0)).sqrt()
    };
    found.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    found
}

/// Returns the part of the values that differs; `None` if none, or unknown.
fn distance(a: &ParamOverview, b: &ParamOverview) -> Option<f64> {
    let distance = match (a.sort, &a.values.top, &b.values.top) {
        (Sort::P | Sort::A, _, _) => return None,
        (Sort::W | Sort::U | Sort::D, _, _) => a.values.numbers.distance(&b.values.numbers),
        (_, TopOf::Numbers(a), TopOf::Numbers(b)) => a.distance(b)?,
        (_, TopOf::Strings(a), TopOf::Strings(b)) => a.distance(b)?,
        _ => return None,
    };
    // A sum of parts may not be exactly zero.
    (distance > 1e-9).then_some(distance)
}

fn values(param: &ParamOverview) -> Values {
    let numbers = &param.values.numbers;
    Values {
        count: param.values.count,
        mean: numbers.mean(),
        median: param.values.percentile(50.0, param.sort),
        max: numbers.range().map(|range| range.1),
    }
}

fn registries(a: &[Registry], b: &[Registry]) -> Vec<(String, String)> {
    let by_name = |registries: &[Registry]| {
        let named = registries.iter().map(|registry| (registry.name.to_string(), registry.clone()));
        named.collect::<BTreeMap<String, Registry>>()
    };
    let (a, b) = (by_name(a), by_name(b));
    let mut found = Vec::new();
    for name in a.keys().chain(b.keys().filter(|name| !a.contains_key(*name))) {
        let mut say = |what: String| found.push((name.clone(), what));
        match (a.get(name), b.get(name)) {
            (Some(_), None) => say("only in A".to_owned()),
            (None, Some(_)) => say("only in B".to_owned()),
            (Some(a), Some(b)) => compare_registries(a, b, &mut say),
            (None, None) => {}
        }
    }
    found
}

fn compare_registries(a: &Registry, b: &Registry, say: &mut dyn FnMut(String)) {
    if a.version != b.version {
        say(format!("version {} in A, {} in B", a.version, b.version));
    }
    for change in compare(a, b) {
        let code = change.code.map_or_else(String::new, |code| format!("{code:04X} "));
        say(format!("{code}{}: {}", change.name, change.what));
    }
}
