//! What an event looks like in each form, by the registry that it belongs to.

use super::clock::Clock;
use super::columns::Columns;
use super::named::Named;
use super::numeric::Numeric;
use super::{View, name_width, stats};
use crate::summary::overview::Overview;
use crate::summary::{Summary, Wanted};
use eventdef::{EventType, Kind, Param, Sort, Version};
use eventlog::reader::{Account, Event, Labels, Platform, Registry};

const fn param(sort: Sort, name: &'static str) -> Param {
    Param { sort, name, doc: "" }
}

const fn row(name: &'static str, code: u16, params: &'static [Param]) -> EventType {
    EventType { name, code, kind: 0, always: true, retired: false, doc: "", params }
}

static REGISTRY: eventdef::Registry = eventdef::Registry {
    name: "test",
    version: Version { major: 1, median: 0, minor: 0 },
    doc: "",
    kinds: &[Kind { index: 0, name: "Kind", doc: "" }],
    event_types: &[
        row(
            "All",
            0x1F,
            &[
                param(Sort::P, "pointer"),
                param(Sort::W, "word"),
                param(Sort::U, "unsigned"),
                param(Sort::B, "boolean"),
                param(Sort::D, "double"),
                param(Sort::S, "string"),
            ],
        ),
        row("WithNothing", 0x120, &[]),
        row(
            "PoolInitMFS",
            0x122,
            &[
                param(Sort::P, "pool"),
                param(Sort::P, "arena"),
                param(Sort::W, "extendBy"),
                param(Sort::W, "unitSize"),
            ],
        ),
        row("ANameLongerThanTheMpsHas", 0x121, &[param(Sort::U, "unsigned")]),
    ],
};

/// The line of an event of a 64-bit little-endian stream of ours, whose registry has this index.
fn line(view: impl View, index: u16, code: u16, params: &[u8]) -> String {
    line_at(0xABC, view, index, code, params)
}

fn line_at(ticks: u64, view: impl View, index: u16, code: u16, params: &[u8]) -> String {
    let mut registry = Registry::new(&REGISTRY, Platform::stream(false, 8));
    registry.index = index;
    let mut out = Vec::new();
    with_event(ticks, &registry, code, params, |event| view.line(event, &mut out));
    String::from_utf8(out).unwrap()
}

fn with_event(
    ticks: u64,
    registry: &Registry,
    code: u16,
    params: &[u8],
    then: impl FnOnce(&Event<'_>),
) {
    let mut bytes = code.to_le_bytes().to_vec();
    bytes.extend((8 + params.len() as u16).to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(params);
    then(&Event {
        ticks,
        registry,
        event_type: registry.event_type(code),
        bytes: &bytes,
        labels: &Labels::default(),
        offset: 0,
        number: 0,
        buffer: 0,
        thread: 0,
        stream: registry.stream,
        kind: 0,
    });
}

fn all() -> Vec<u8> {
    let mut params = 0x1234_5678_9ABC_u64.to_le_bytes().to_vec();
    params.extend(7_u64.to_le_bytes());
    params.extend(255_u32.to_le_bytes());
    params.extend([1, 0, 0, 0]);
    params.extend(2.5_f64.to_le_bytes());
    params.extend(b"a\"b\n\0\0\0\x03");
    params
}

#[test]
fn every_sort_has_its_text_in_each_form() {
    let columns = || Columns { clock: Clock::Ticks, name_width: 19 };
    let named = || Named { clock: Clock::Ticks, name_width: 19 };
    assert_eq!(
        line(Numeric { clock: Clock::Ticks }, 1, 0x1F, &all()),
        "0000000000000ABC   1F 123456789ABC 7 FF 1 2.5 \"a\\\"b\\x0A\"\n"
    );
    assert_eq!(
        line(columns(), 1, 0x1F, &all()),
        "0000000000000ABC All                  123456789ABC        7       FF     True      2.5 \
         \"a\\\"b\\x0A\"\n"
    );
    assert_eq!(
        line(named(), 1, 0x1F, &all()),
        "0000000000000ABC 001F All                 pointer:0000123456789ABC word:0000000000000007 \
         unsigned:255 boolean:True double:    2.50 string:\"a\\\"b\\x0A\" \n"
    );
    assert_eq!(line(columns(), 1, 0x120, &[]), "0000000000000ABC WithNothing\n");
}

#[test]
fn the_column_form_is_that_of_the_requirement_document() {
    let params: Vec<u8> =
        [0x9C0D8_u64, 0x9C000, 0x1000, 0xC].into_iter().flat_map(u64::to_le_bytes).collect();
    let found = line_at(
        0x178E_A03C_2825,
        Columns { clock: Clock::Ticks, name_width: 19 },
        1,
        0x122,
        &params,
    );
    let expected = "0000178EA03C2825 PoolInitMFS             9C0D8    9C000     1000        C\n";
    assert_eq!(found, expected);
}

#[test]
fn codes_of_the_first_registry_and_the_runtimes_own_stand_alone() {
    for (index, numeric, named) in
        [(0, " 120", "0120"), (1, " 120", "0120"), (2, "2:120", "2:0120")]
    {
        assert_eq!(
            line(Numeric { clock: Clock::Ticks }, index, 0x120, &[]),
            format!("0000000000000ABC {numeric}\n")
        );
        let expected = format!("0000000000000ABC {named} WithNothing         \n");
        assert_eq!(
            line(Named { clock: Clock::Ticks, name_width: 19 }, index, 0x120, &[]),
            expected
        );
    }
}

#[test]
fn an_event_of_unknown_type_is_given_by_its_code() {
    assert_eq!(line(Numeric { clock: Clock::Ticks }, 1, 0xAB, &[0; 8]), "0000000000000ABC   AB\n");
    assert_eq!(
        line(Columns { clock: Clock::Ticks, name_width: 19 }, 1, 0xAB, &[0; 8]),
        "0000000000000ABC [Unknown 00AB]\n"
    );
    let expected = "0000000000000ABC 00AB [Unknown]           Unknown event.\n";
    assert_eq!(line(Named { clock: Clock::Ticks, name_width: 19 }, 1, 0xAB, &[0; 8]), expected);
}

#[test]
fn names_are_padded_to_the_longest_of_the_registry() {
    let registry = Registry::new(&REGISTRY, Platform::stream(false, 8));
    let name_width = name_width([&registry]);
    assert_eq!(name_width, "ANameLongerThanTheMpsHas".len());
    let value = 0xFFFF_u32.to_le_bytes();
    let expected = "0000000000000ABC ANameLongerThanTheMpsHas      FFFF\n";
    assert_eq!(line(Columns { clock: Clock::Ticks, name_width }, 1, 0x121, &value), expected);
}

/// What is counted of an event of each of these registries, without the lines of the streams.
fn counted(registries: &[Registry], accounts: &[Account], fault_count: u64) -> String {
    let mut summary = Summary::new(Wanted::default(), &[]);
    for registry in registries {
        with_event(1, registry, 0x120, &[], |event| summary.add(event));
    }
    let accounts: Vec<Account> = accounts.iter().map(|account| summary.settled(account)).collect();
    let mut out = Vec::new();
    let overview = Overview::of(summary, &[], registries, &accounts, fault_count);
    stats::write(&overview, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn registries_of_several_streams_are_counted_apart_unless_they_are_the_same() {
    let of = |stream, index, name: &str| {
        let mut registry = Registry::new(&REGISTRY, Platform::stream(false, 8));
        (registry.stream, registry.index, registry.name) = (stream, index, name.into());
        registry
    };
    let found = counted(&[of(0, 1, "same"), of(1, 1, "same")], &[], 0);
    assert!(found.contains("\nKind       2     16\n") && !found.contains("same"), "{found}");
    assert!(found.contains("\nWithNothing       2     16\n"), "{found}");
    let found = counted(&[of(0, 1, "one"), of(1, 1, "other")], &[], 0);
    for name in ["one 1.0.0:Kind", "other 1.0.0:Kind", "other 1.0.0:WithNothing"] {
        assert!(found.contains(&format!("\n{name}")), "{name} is not in {found}");
    }
    let found = counted(&[of(0, 1, "one"), of(0, 2, "other")], &[], 0);
    assert!(found.contains("\n2:Kind") && found.contains("\nKind"), "{found}");
}

#[test]
fn what_the_headers_promised_and_is_not_here_is_lost() {
    let registry = Registry::new(&REGISTRY, Platform::stream(false, 8));
    let account = Account { recorded: 5, found: 5, ..Account::default() };
    let found = counted(std::slice::from_ref(&registry), &[account], 1);
    assert!(found.contains("\nKind               0       0      0   0     4            0\n"));
    let found = counted(std::slice::from_ref(&registry), &[], 2);
    assert!(found.ends_with("\n2 faults were found, which may have cost events\n"), "{found}");
    let found = counted(std::slice::from_ref(&registry), &[], 0);
    assert!(found.ends_with("\nnothing is known to be lost\n"), "{found}");
}
