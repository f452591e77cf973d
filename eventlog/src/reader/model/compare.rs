//! The differences of two registries, and the version number that they need.
//!
//! ```text
//!  Registry A ─┐   by code, kinds by index
//!              ├──▶ [Difference] ──▶ Part ──▶ the least version that B may claim
//!  Registry B ─┘    added │ changed …   minor │ median
//! ```
//!
//! Rule: `.version.parts` in `design/format.md`, `.sol.version.check` in `design/telemetry.md`.

use super::registry::{EventType, Kind, Param, Registry};
use eventdef::Version;
use std::collections::HashMap;

/// Parameters that are reported one by one. More differences are reported as two whole lists.
const PARAM_COUNT_TOLD: usize = 2;
const OTHER_WORDS: &str = "is described in other words";

/// The part of a version that a change increments (`.version.parts`). A change of the whole format,
/// which increments the major part, is not in a registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// An addition: a tool that knows the old version still decodes the rest.
    Minor,
    /// A change of what existed before.
    Median,
}

/// What happened to an event type or a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is new.
    Added,
    /// Its code or index is not used any more.
    Removed,
    /// Its form, its name or the meaning of its code changed.
    Changed,
    /// It keeps its code and is not recorded any more, or it is recorded again.
    Retired,
    /// Its description, its varieties or the precision of its times changed.
    Described,
}

impl Change {
    /// Returns the part of the version that the change increments.
    pub fn part(self) -> Option<Part> {
        match self {
            Change::Added | Change::Retired => Some(Part::Minor),
            Change::Removed | Change::Changed => Some(Part::Median),
            Change::Described => None,
        }
    }
}

/// A difference of two registries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What happened.
    pub change: Change,
    /// The code of the event type; `None` for a kind.
    pub code: Option<u16>,
    /// The name of the event type or kind: the new name if there is one.
    pub name: Box<str>,
    /// The difference in words.
    pub what: String,
}

/// Returns how registry `b` differs from `a`: kinds first, then event types in order of code.
pub fn compare(a: &Registry, b: &Registry) -> Vec<Difference> {
    let kinds = (0..=u8::MAX).filter_map(|index| kind(a.kind(index), b.kind(index)));
    let (a_names, b_names) = (names(a), names(b));
    let codes = 0..=u16::MAX;
    let event_types = codes.filter_map(|code| match (a.event_type(code), b.event_type(code)) {
        (Some(old), Some(new)) => event_type(a, b, old, new),
        (Some(old), None) => Some(match b_names.get(&*old.name) {
            Some(new) => difference(Change::Changed, new, format!("its code was {code:04X}")),
            None => difference(Change::Removed, old, String::new()),
        }),
        (None, Some(new)) => {
            let what = format!("{}{}", kind_name(b, new), signature(&new.params));
            // If no event type has the old code, the difference is reported there.
            let old = a_names.get(&*new.name);
            let is_new = old.is_none_or(|old| b.event_type(old.code).is_some());
            is_new.then(|| difference(Change::Added, new, what))
        }
        (None, None) => None,
    });
    kinds.chain(event_types).collect()
}

/// Returns the least version that a registry may claim which differs in this way from version
/// `old`.
pub fn version_min(old: Version, differences: &[Difference]) -> Version {
    match differences.iter().filter_map(|difference| difference.change.part()).max() {
        None => old,
        Some(Part::Minor) if old.minor < u16::MAX => Version { minor: old.minor + 1, ..old },
        Some(_) => Version { median: old.median.saturating_add(1), minor: 0, ..old },
    }
}

fn kind(old: Option<&Kind>, new: Option<&Kind>) -> Option<Difference> {
    let kind = new.or(old)?;
    let (change, what) = match (old, new) {
        (Some(old), Some(new)) if old.name != new.name => {
            (Change::Changed, format!("kind {} was {}", new.index, old.name))
        }
        (Some(old), Some(new)) if old.doc != new.doc => (Change::Described, OTHER_WORDS.to_owned()),
        (Some(_), Some(_)) => return None,
        (Some(_), None) => (Change::Removed, format!("kind {}", kind.index)),
        (None, _) => (Change::Added, format!("kind {}", kind.index)),
    };
    Some(Difference { change, code: None, name: kind.name.clone(), what })
}

fn difference(change: Change, event_type: &EventType, what: String) -> Difference {
    Difference { change, code: Some(event_type.code), name: event_type.name.clone(), what }
}

fn names(registry: &Registry) -> HashMap<&str, &EventType> {
    registry.event_types.iter().map(|event_type| (&*event_type.name, event_type)).collect()
}

fn kind_name<'r>(registry: &'r Registry, event_type: &EventType) -> &'r str {
    registry.kind(event_type.kind).map_or("?", |kind| &kind.name)
}

/// Returns how an event type with an unchanged code differs.
fn event_type(a: &Registry, b: &Registry, old: &EventType, new: &EventType) -> Option<Difference> {
    let mut whats = params(&old.params, &new.params);
    if old.name != new.name {
        let other = if whats.is_empty() { "" } else { ", of other parameters" };
        let what = format!("its code was {}'s{other}", old.name);
        return Some(difference(Change::Changed, new, what));
    }
    let kinds = (kind_name(a, old), kind_name(b, new));
    if kinds.0 != kinds.1 {
        whats.insert(0, format!("its kind is {}, was {}", kinds.1, kinds.0));
    }
    if !whats.is_empty() {
        return Some(difference(Change::Changed, new, whats.join("; ")));
    }
    if old.retired != new.retired {
        let what = if new.retired { "is not recorded any more" } else { "is recorded again" };
        return Some(difference(Change::Retired, new, what.to_owned()));
    }
    if old.doc != new.doc || old.params.iter().zip(&new.params).any(|(a, b)| a.doc != b.doc) {
        whats.push(OTHER_WORDS.to_owned());
    }
    if old.always != new.always {
        let what = if new.always { "is in the hot variety now" } else { "left the hot variety" };
        whats.push(what.to_owned());
    }
    if old.coarse != new.coarse {
        let what = if new.coarse { "its times are coarse now" } else { "its times are exact now" };
        whats.push(what.to_owned());
    }
    (!whats.is_empty()).then(|| difference(Change::Described, new, whats.join("; ")))
}

/// Returns how the parameters of an event type differ.
fn params(old: &[Param], new: &[Param]) -> Vec<String> {
    let places = 0..old.len().max(new.len());
    let what = |index: usize| match (old.get(index).map(short), new.get(index).map(short)) {
        (old, new) if old == new => None,
        (Some(old), Some(new)) => Some(format!("parameter {index} is {new}, was {old}")),
        (Some(old), None) => Some(format!("parameter {index}, {old}, is gone")),
        (_, new) => Some(format!("parameter {index}, {}, is new", new?)),
    };
    let whats: Vec<String> = places.filter_map(what).collect();
    if whats.len() > PARAM_COUNT_TOLD {
        return vec![format!("its parameters are {}, were {}", signature(new), signature(old))];
    }
    whats
}

fn short(param: &Param) -> String {
    format!("{} {}", param.sort.letter(), param.name)
}

fn signature(params: &[Param]) -> String {
    format!("({})", params.iter().map(short).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::Change::{Added, Changed, Described, Removed, Retired};
    use super::*;

    const BASE: [&str; 3] = [
        "Alloc, 0x0001, TRUE, Object|P pool, W size",
        "Free, 0x0002, TRUE, Object|P pool",
        "Intern, 0x0005, TRUE, User|W id, S text",
    ];

    /// A registry of rows: the row of the list, then its parameters.
    fn registry(rows: &[&str]) -> Registry {
        let mut text = "#define EVENT_VERSION_MAJOR 2\n#define EVENT_VERSION_MEDIAN 3\n\
                        #define EVENT_VERSION_MINOR 4\n"
            .to_owned();
        for row in rows {
            let (row, params) = row.split_once('|').unwrap();
            let name = row.split(',').next().unwrap();
            text += &format!("EVENT(X, {row})\n#define EVENT_{name}_PARAMS(PARAM, X)");
            for (index, param) in params.split(", ").filter(|param| !param.is_empty()).enumerate() {
                let (sort, name) = param.split_once(' ').unwrap();
                text += &format!(" PARAM(X, {index}, {sort}, {name})");
            }
            text.push('\n');
        }
        Registry::from_mps_header(&text).unwrap()
    }

    /// The differences from [`BASE`] if the first row is replaced.
    fn changed(to: &str) -> Vec<(Change, String, String)> {
        told(&registry(&BASE), &registry(&[to, BASE[1], BASE[2]]))
    }

    fn told(a: &Registry, b: &Registry) -> Vec<(Change, String, String)> {
        let told = |difference: Difference| {
            let code = difference.code.map_or("kind".to_owned(), |code| format!("{code:04X}"));
            (difference.change, format!("{code} {}", difference.name), difference.what)
        };
        compare(a, b).into_iter().map(told).collect()
    }

    fn one(change: Change, name: &str, what: &str) -> Vec<(Change, String, String)> {
        vec![(change, name.to_owned(), what.to_owned())]
    }

    #[test]
    fn a_difference_names_the_old_and_the_new() {
        // `.version.parts`
        assert_eq!(told(&registry(&BASE), &registry(&BASE)), []);
        let size = "parameter 1 is A size, was W size";
        let bytes = "parameter 1 is W bytes, was W size";
        let all = "its parameters are (A at, P pool, W size), were (P pool, W size)";
        let kind = "its kind is Seg, was Object; parameter 1, W size, is gone";
        let other = "its code was Alloc's, of other parameters";
        for (row, what) in [
            ("Alloc, 0x0001, TRUE, Object|P pool, A size", size),
            ("Alloc, 0x0001, TRUE, Object|P pool, W bytes", bytes),
            ("Alloc, 0x0001, TRUE, Object|P pool", "parameter 1, W size, is gone"),
            ("Alloc, 0x0001, TRUE, Object|P pool, W size, B new", "parameter 2, B new, is new"),
            ("Alloc, 0x0001, TRUE, Object|A at, P pool, W size", all),
            ("Alloc, 0x0001, TRUE, Seg|P pool", kind),
            ("Take, 0x0001, TRUE, Object|P pool, W size", "its code was Alloc's"),
            ("Take, 0x0001, TRUE, Seg|A at", other),
            ("Alloc, 0x0003, TRUE, Object|P pool, W size", "its code was 0001"),
        ] {
            let (name, rest) = row.split_once(", 0x").unwrap();
            let name = format!("{} {name}", &rest[..4]);
            assert_eq!(changed(row), one(Changed, &name, what));
        }
        let row = "Alloc, 0x0001, FALSE, Object|P pool, W size";
        assert_eq!(changed(row), one(Retired, "0001 Alloc", "is not recorded any more"));
        let removed = told(&registry(&BASE), &registry(&BASE[1..]));
        assert_eq!(removed, one(Removed, "0001 Alloc", ""));
    }

    #[test]
    fn two_swapped_event_types_are_both_changed() {
        let rows = [
            "Free, 0x0001, TRUE, Object|P pool",
            "Alloc, 0x0002, TRUE, Object|P pool, W size",
            BASE[2],
        ];
        let found = told(&registry(&BASE), &registry(&rows));
        assert_eq!(found.len(), 2);
        assert!(found.iter().all(|(change, ..)| *change == Changed), "{found:?}");
    }

    #[test]
    fn kinds_and_descriptions_are_compared_too() {
        let a = registry(&BASE);
        let mut b = a.clone();
        b.kinds[1].name = "Heap".into();
        b.kinds[2].doc = "other words".into();
        b.event_types[0].doc = "what it says".into();
        b.event_types[1].params[0].doc = "its pool".into();
        b.event_types[2].always = false;
        b.event_types[2].coarse = true;
        let last = b.kinds.pop().unwrap();
        let other = "is described in other words";
        // Intern is of the last kind, which was removed.
        let expected = [
            (Changed, "kind Heap", "kind 1 was Pool"),
            (Described, "kind Trace", other),
            (Removed, "kind User", "kind 6"),
            (Described, "0001 Alloc", other),
            (Described, "0002 Free", other),
            (Changed, "0005 Intern", "its kind is ?, was User"),
        ];
        let expected = expected.map(|(a, b, c)| (a, b.to_owned(), c.to_owned()));
        assert_eq!(told(&a, &b), expected);
        b.kinds = a.kinds.clone();
        assert_eq!(
            told(&a, &b)[2..],
            one(Described, "0005 Intern", "left the hot variety; its times are coarse now")
        );
        b.kinds.push(Kind { index: 7, ..last });
        assert_eq!(told(&a, &b)[..1], one(Added, "kind User", "kind 7"));
        // `.version.parts`, `.sol.version.check`: a description needs no higher version.
        assert_eq!(version_min(a.version, &compare(&a, &b)[1..]), a.version);
    }

    #[test]
    fn registries_of_all_codes_are_compared_in_linear_time() {
        let mut a = registry(&BASE);
        let row = a.event_types[0].clone();
        let all = |skip: u16| {
            let name = |code: u16| format!("E{}", code ^ skip).into();
            (1..=u16::MAX).map(|code| EventType { code, name: name(code), ..row.clone() }).collect()
        };
        a.event_types = all(0);
        let mut b = a.clone();
        b.event_types = all(1);
        a.event_types.retain(|row| row.code % 3 != 0);
        a.lay_out(a.platform);
        b.lay_out(b.platform);
        // Each code has another code's name: searching for each name would compare 4 × 10⁹ pairs.
        assert_eq!(compare(&a, &b).len(), 65535);
    }
}
