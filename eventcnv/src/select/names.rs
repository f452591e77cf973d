//! Names on the command line to a filter.
//!
//! ```text
//!  --kinds pool,Arena  --events PoolAlloc,1F ──▶ what the log declares ──▶ Filter
//!                                                        └─▶ or what there is to choose from
//! ```
//!
//! Design: `.control.output` in `design/telemetry.md`.

use eventlog::reader::{Filter, Pick, Registry};
use std::collections::HashSet;

/// The filter for these kinds and event types of a log.
pub(crate) fn filter(
    kinds: &[String],
    events: &[String],
    registries: &[Registry],
    labels: bool,
) -> Result<Filter, String> {
    let kinds = kinds.iter().map(|kind| pick_kind(kind, registries)).collect::<Result<_, _>>()?;
    let event_types =
        events.iter().map(|event| pick_event_type(event, registries)).collect::<Result<_, _>>()?;
    Ok(Filter { kinds, event_types, labels })
}

fn pick_kind(asked: &str, registries: &[Registry]) -> Result<Pick, String> {
    let kinds = || registries.iter().flat_map(|registry| &registry.kinds);
    if kinds().any(|kind| kind.name.eq_ignore_ascii_case(asked)) {
        return Ok(Pick::Name(asked.to_owned()));
    }
    match asked.parse() {
        Ok(index) if kinds().any(|kind| u16::from(kind.index) == index) => Ok(Pick::Number(index)),
        _ => Err(unknown("kind", asked, kinds().map(|kind| &*kind.name))),
    }
}

fn pick_event_type(asked: &str, registries: &[Registry]) -> Result<Pick, String> {
    let types = || registries.iter().flat_map(|registry| &registry.event_types);
    if types().any(|row| row.name.eq_ignore_ascii_case(asked)) {
        return Ok(Pick::Name(asked.to_owned()));
    }
    let is_known = |registry: Option<u16>, code: u16| {
        let is_in = |found: &&Registry| registry.is_none_or(|index| found.index == index);
        registries.iter().filter(is_in).any(|registry| registry.event_type(code).is_some())
    };
    // As the numeric form prints it: with the index of the registry before the code.
    let (index, code) = match asked.split_once(':') {
        Some((index, code)) => (index.parse().ok(), code),
        None => (None, asked),
    };
    let prefixed = code.strip_prefix("0x").or_else(|| code.strip_prefix("0X"));
    match (index, u16::from_str_radix(prefixed.unwrap_or(code), 16)) {
        (Some(index), Ok(code)) if is_known(Some(index), code) => Ok(Pick::NumberIn(index, code)),
        // With the prefix it can be nothing else: events of unknown type are found by their code
        // alone.
        (None, Ok(code)) if prefixed.is_some() || is_known(None, code) => Ok(Pick::Number(code)),
        _ => Err(unknown("event type", asked, types().map(|row| &*row.name))),
    }
}

fn unknown<'a>(what: &str, asked: &str, known: impl Iterator<Item = &'a str>) -> String {
    let mut seen = HashSet::new();
    let known: Vec<&str> = known.filter(|name| seen.insert(*name)).collect();
    if known.is_empty() {
        return format!("no {what} is called {asked:?}: the log declares none");
    }
    format!("no {what} is called {asked:?}; there are {}", known.join(", "))
}
