//! Makes a filter from names on the command line.
//!
//! ```text
//!  --kinds pool,Arena  --events PoolAlloc,1F ──▶ what the log declares ──▶ Filter
//!                                                        └─▶ or an error with similar names
//! ```
//!
//! Design: `.control.output` in `design/telemetry.md`.

use crate::open::input::threads;
use crate::open::select::condition::{Expression, Operand};
use eventlog::format::text::OneLine;
use eventlog::reader::{EventType, Filter, Log, Order, Pick, Registry, Value};
use std::collections::{BTreeSet, HashSet};

/// Names that an error lists, at most.
const NAME_COUNT_MAX: usize = 24;
/// Labels that an error considers, at most.
const LABEL_COUNT_MAX: usize = 1 << 16;
/// Letters that are added, left out, changed or swapped in a similar name, at most.
const DISTANCE_MAX: usize = 2;

/// Returns the filter for these kinds and event types of a log, or an error with similar names.
pub(crate) fn filter(
    kinds: &[String],
    events: &[String],
    registries: &[Registry],
    labels: bool,
) -> Result<Filter, String> {
    let kinds = picked(kinds, |kind| pick_kind(kind, registries))?;
    let event_types = picked(events, |event| pick_event_type(event, registries))?;
    Ok(Filter::new().kinds(kinds).events(event_types).labels(labels))
}

fn picked(
    names: &[String],
    pick: impl Fn(&str) -> Result<Vec<Pick>, String>,
) -> Result<Vec<Pick>, String> {
    let picked = names.iter().map(|name| pick(name)).collect::<Result<Vec<_>, _>>()?;
    Ok(picked.into_iter().flatten().collect())
}

/// Returns the names that match a pattern, in any case: `*` stands for any characters, `?` for one.
fn named<'a>(pattern: &str, known: impl Iterator<Item = &'a str>) -> Vec<Pick> {
    // A bracket stands for itself; two stars would stand for folders.
    let mut pattern = pattern.replace('[', "[[]");
    while pattern.contains("**") {
        pattern = pattern.replace("**", "*");
    }
    let pattern = glob::Pattern::new(&pattern).unwrap_or_default();
    let options = glob::MatchOptions { case_sensitive: false, ..Default::default() };
    let is_match = |name: &&str| pattern.matches_with(name, options);
    let found: BTreeSet<&str> = known.filter(is_match).collect();
    found.into_iter().map(|name| Pick::Name(name.to_owned())).collect()
}

fn pick_kind(asked: &str, registries: &[Registry]) -> Result<Vec<Pick>, String> {
    let kinds = || registries.iter().flat_map(|registry| &registry.kinds);
    let found = named(asked, kinds().map(|kind| &*kind.name));
    if !found.is_empty() {
        return Ok(found);
    }
    match asked.parse() {
        Ok(index) if kinds().any(|kind| u16::from(kind.index) == index) => {
            Ok(vec![Pick::Number(index)])
        }
        _ => Err(unknown("kind", asked, kinds().map(|kind| &*kind.name))),
    }
}

fn pick_event_type(asked: &str, registries: &[Registry]) -> Result<Vec<Pick>, String> {
    let types = || registries.iter().flat_map(|registry| &registry.event_types);
    let found = named(asked, types().map(|row| &*row.name));
    if !found.is_empty() {
        return Ok(found);
    }
    let is_known = |registry: Option<u16>, code: u16| {
        let is_in = |found: &&Registry| registry.is_none_or(|index| found.index == index);
        registries.iter().filter(is_in).any(|registry| registry.event_type(code).is_some())
    };
    // The numeric form prints the index of the registry before the code.
    let (index, code) = match asked.split_once(':') {
        Some((index, code)) => (index.parse().ok(), code),
        None => (None, asked),
    };
    let prefixed = code.strip_prefix("0x").or_else(|| code.strip_prefix("0X"));
    match (index, u16::from_str_radix(prefixed.unwrap_or(code), 16)) {
        (Some(index), Ok(code)) if is_known(Some(index), code) => {
            Ok(vec![Pick::NumberIn(index, code)])
        }
        // A prefix marks a code, also of events of unknown type.
        (None, Ok(code)) if prefixed.is_some() || is_known(None, code) => {
            Ok(vec![Pick::Number(code)])
        }
        _ => Err(unknown("event type", asked, types().map(|row| &*row.name))),
    }
}

/// Returns the named threads, by stream and index.
pub(super) fn threads(asked: &[String], log: &Log) -> Result<Vec<(u16, u32)>, String> {
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let known = threads::recorded(log);
    let recorded: HashSet<(u16, u32)> =
        log.accounts().iter().map(|account| (account.stream, account.thread)).collect();
    let mut found = Vec::new();
    for asked in asked {
        let before = found.len();
        let index: Option<u32> = asked.parse().ok();
        found.extend(recorded.iter().filter(|(_, thread)| Some(*thread) == index));
        let os_thread: Option<u64> = asked.strip_prefix("tid:").and_then(|tid| tid.parse().ok());
        let is_named = |thread: &&threads::Thread| {
            thread.name == *asked || os_thread == Some(thread.os_thread)
        };
        let index =
            |thread: &threads::Thread| Some((thread.stream, u32::try_from(thread.index).ok()?));
        found.extend(known.iter().filter(is_named).filter_map(index));
        if found.len() == before {
            let mut names: Vec<String> = known
                .iter()
                .map(|thread| format!("{} {}", thread.index, thread.name).trim_end().to_owned())
                .collect();
            if names.is_empty() {
                names.extend(recorded.iter().map(|(_, thread)| thread.to_string()));
            }
            if names.is_empty() {
                return Err("the log does not record threads".to_owned());
            }
            return Err(unknown("thread", asked, names.iter().map(String::as_str)));
        }
    }
    Ok(found)
}

fn is_of_kinds(filter: &Filter, registry: &Registry, kind: u8) -> bool {
    let name = registry.kind(kind).map_or("", |kind| &kind.name);
    filter.kinds.is_empty()
        || filter.kinds.iter().any(|pick| pick.matches(registry.index, name, kind.into()))
}

pub(crate) fn is_selected(filter: &Filter, registry: &Registry, row: &EventType) -> bool {
    let is_of_types = is_of_types(&filter.event_types, registry, row);
    is_of_types && is_of_kinds(filter, registry, row.kind)
}

fn is_of_types(picks: &[Pick], registry: &Registry, row: &EventType) -> bool {
    picks.is_empty() || picks.iter().any(|pick| pick.matches(registry.index, &row.name, row.code))
}

/// Checks that the log has every parameter and event type of a condition, and that comparisons can
/// be true of the event types that a filter has.
pub(super) fn check(
    condition: &Expression,
    filter: &Filter,
    registries: &[Registry],
) -> Result<(), String> {
    let types = || registries.iter().flat_map(|registry| &registry.event_types);
    let (mut result, mut has_known) = (Ok(()), false);
    condition.operands(&mut |operand| {
        has_known |= matches!(operand, Operand::Fact(_));
        let Operand::Param { of, name } = operand else { return };
        let is_of =
            |row: &&EventType| of.as_ref().is_none_or(|of| row.name.eq_ignore_ascii_case(of));
        let is_known = types().filter(is_of).any(|row| row.param(name).is_some());
        has_known |= is_known;
        if is_known || result.is_err() {
            return;
        }
        let names = || types().filter(is_of).flat_map(|row| &row.params).map(|param| &*param.name);
        result = Err(match of {
            Some(of) if !types().any(|row| is_of(&row)) => {
                unknown("event type", of, types().map(|row| &*row.name))
            }
            Some(of) => unknown(&format!("parameter of {of}"), name, names()),
            None => {
                let what = unknown("parameter", name, names());
                // Next to known parameters, a word that resembles none may be a string.
                let is_string = has_known && near(name, names()).is_empty();
                let quotes = if is_string {
                    format!("; a string has quotes: \"{name}\"")
                } else {
                    String::new()
                };
                what + &quotes
            }
        });
    });
    result?;
    let selected = registries.iter().flat_map(|registry| {
        registry.event_types.iter().filter(|row| is_selected(filter, registry, row))
    });
    condition.misfit(selected).map_or(Ok(()), Err)
}

/// Returns the picked event types for which a condition can be true; or the picks themselves, if it
/// can be true of an event of unknown type.
pub(super) fn possible(
    picked: &[Pick],
    condition: &Expression,
    registries: &[Registry],
) -> Vec<Pick> {
    if condition.can_hold(None) {
        return picked.to_vec();
    }
    let rows = registries.iter().flat_map(|registry| {
        let is_possible = move |row: &&EventType| {
            is_of_types(picked, registry, row) && condition.can_hold(Some(row))
        };
        let pick = |row: &EventType| Pick::NumberIn(registry.index, row.code);
        registry.event_types.iter().filter(is_possible).map(pick).collect::<Vec<_>>()
    });
    rows.collect()
}

/// Returns the error for an unknown name, with similar names, or the first known ones.
pub(crate) fn unknown<'a>(what: &str, asked: &str, known: impl Iterator<Item = &'a str>) -> String {
    let mut seen = HashSet::new();
    let mut known: Vec<&str> = known.filter(|name| seen.insert(*name)).collect();
    if known.is_empty() {
        return format!("unknown {what} {asked:?}: the log declares none");
    }
    let near = near(asked, known.iter().copied());
    if !near.is_empty() {
        return format!("unknown {what} {asked:?}; did you mean {}?", near.join(" or "));
    }
    let more = match known.len().saturating_sub(NAME_COUNT_MAX) {
        0 => String::new(),
        more => {
            let lister = match what {
                "label" => "-v --events Intern",
                "thread" => "stats",
                _ => "registry",
            };
            format!(" and {more} more (eventcnv {lister} lists them)")
        }
    };
    known.truncate(NAME_COUNT_MAX);
    format!("unknown {what} {asked:?}; the log has {}{more}", known.join(", "))
}

/// Returns the text about labels in a condition that the log lacks, with similar labels.
pub(super) fn unknown_labels(asked: &[Vec<u8>], log: &Log) -> String {
    if asked.is_empty() {
        return String::new();
    }
    let filter = Filter::new().event("Intern");
    let mut events = log.events(Order::File, &filter);
    let mut labels = BTreeSet::new();
    while let Some(event) = events.next()
        && labels.len() < LABEL_COUNT_MAX
    {
        if let Some(Value::S(label)) = event.param_at(1) {
            labels.insert(OneLine(label).to_string());
        }
    }
    let mut hints = String::new();
    for asked in asked.iter().map(|asked| OneLine(asked).to_string()) {
        if !labels.is_empty() && !labels.contains(&asked) {
            hints += "; ";
            hints += &unknown("label", &asked, labels.iter().map(String::as_str));
        }
    }
    hints
}

/// Returns the known names that are similar to a name, the most similar first.
pub(crate) fn near<'a>(asked: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let distance = |name: &str| strsim::osa_distance(&name.to_lowercase(), &asked.to_lowercase());
    let is_near = |name: &&str| distance(name) <= DISTANCE_MAX.min(asked.len().div_ceil(4));
    let mut near: Vec<&str> = known.filter(is_near).collect();
    near.sort_by_key(|name| distance(name));
    near
}
