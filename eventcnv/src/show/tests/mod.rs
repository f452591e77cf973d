//! The text of events in each form.

pub(crate) mod naive;

use crate::ask::stats::summary::overview::{Overview, Parts};
use crate::ask::stats::summary::{Summary, Wanted};
use crate::ask::stats::view;
use crate::show::clock::{Clock, Form as Time};
use crate::show::columns::Columns;
use crate::show::csv::Csv;
use crate::show::json::Json;
use crate::show::line::Lines;
use crate::show::lisp::Lisp;
use crate::show::named::Named;
use crate::show::numeric::Numeric;
use crate::show::readable::Readable;
use crate::show::tests::naive::{naive, naive_csv};
use crate::show::{View, name_width};
use crate::text::page::Page;
use eventdef::{EventType, Kind, Param, Sort, Version};
use eventlog::reader::marks::Marks;
use eventlog::reader::{Event, Filter, History, Platform, Registry, StringEnd};

const fn param(sort: Sort, name: &'static str) -> Param {
    Param { sort, name, doc: "" }
}

const fn row(name: &'static str, code: u16, params: &'static [Param]) -> EventType {
    EventType { name, code, kind: 0, always: true, retired: false, coarse: false, doc: "", params }
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
        EventType {
            coarse: true,
            ..row("ANameLongerThanTheMpsHas", 0x121, &[param(Sort::U, "unsigned")])
        },
    ],
};

/// Returns the line of an event at a time. The recipe of its type and its own recipe agree.
fn line(ticks: u64, view: impl Form, code: u16, params: &[u8]) -> String {
    let registry = Registry::new(&REGISTRY, Platform::stream(false, 8));
    let (mut alone, mut page) = (Page::new(), Page::new());
    with_event(ticks, &registry, code, params, |event| {
        view(&[]).write(event, &mut alone);
        view(std::slice::from_ref(&registry)).write(event, &mut page);
    });
    assert_eq!(page.text(), alone.text());
    String::from_utf8(page.text().to_vec()).unwrap()
}

/// Makes a view for the events of registries.
trait Form: Fn(&[Registry]) -> Box<dyn View> {}
impl<F: Fn(&[Registry]) -> Box<dyn View>> Form for F {}

fn numeric(registries: &[Registry]) -> Box<dyn View> {
    Box::new(Lines::new(Numeric { clock: Clock::Ticks }, registries))
}

fn columns(registries: &[Registry]) -> Box<dyn View> {
    Box::new(Lines::new(Columns { clock: Clock::Ticks, name_width: 19 }, registries))
}

fn named(registries: &[Registry]) -> Box<dyn View> {
    Box::new(Lines::new(Named { clock: Clock::Ticks, name_width: 19 }, registries))
}

fn json(registries: &[Registry]) -> Box<dyn View> {
    Box::new(Lines::new(Json { clock: Clock::Ticks, time: Time::Ticks }, registries))
}

fn lisp(registries: &[Registry]) -> Box<dyn View> {
    Box::new(Lines::new(Lisp { clock: Clock::Ticks, name_width: 19 }, registries))
}

fn readable(registries: &[Registry]) -> Box<dyn View> {
    let (clock, threads, is_coloured, marks) = (Clock::Ticks, None, false, Marks::default());
    let readable = Readable { clock, threads, name_width: 12, is_coloured, marks };
    Box::new(Lines::new(readable, registries))
}

/// Returns views with the recipes of registries, each with its twin that makes a recipe an event.
fn twins(registries: &[Registry]) -> [[Box<dyn View>; 2]; 6] {
    let twin = |form: fn(&[Registry]) -> Box<dyn View>| [form(registries), form(&[])];
    [twin(numeric), twin(columns), twin(named), twin(json), twin(lisp), twin(readable)]
}

fn assert_same(twins: &[[Box<dyn View>; 2]], event: &Event<'_, '_>) {
    for (views, expected) in twins.iter().zip(naive(event)) {
        for view in views {
            assert_line(&**view, event, &expected);
        }
    }
}

fn assert_line(view: &dyn View, event: &Event<'_, '_>, expected: &str) {
    let mut page = Page::new();
    view.write(event, &mut page);
    assert_eq!(String::from_utf8_lossy(page.text()), expected, "{event:?}");
}

#[test]
fn recipes_agree_with_the_twin_on_every_platform_and_size() {
    let platforms = [(false, 8), (true, 8), (false, 4), (true, 4)];
    let mps = [(false, 4), (true, 8)].map(|(big_endian, align_max)| Platform {
        event_header_size: align_max + 8,
        string_end: StringEnd::Nul,
        align_max,
        packed_booleans: big_endian,
        ..Platform::stream(big_endian, 4)
    });
    let ours = platforms.map(|(big_endian, word_size)| Platform::stream(big_endian, word_size));
    let mut state = 1_u64;
    let mut random = move || {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        // A quarter are zeros, which change the number of digits.
        if state >> 62 == 0 { 0 } else { (state >> 40) as u8 }
    };
    for platform in ours.into_iter().chain(mps) {
        // A later registry has its index before the code.
        let mut registry = Registry::new(&REGISTRY, platform);
        registry.index = 1 + u16::from(platform.big_endian);
        let registries = [registry];
        let twins = twins(&registries);
        let csv = || Csv::new(Clock::Ticks, &registries, &Filter::default()).unwrap();
        let csv = [Lines::new(csv(), &registries), Lines::new(csv(), &[])];
        for code in [0x1F, 0x120, 0x121, 0x122, 0xAB] {
            for size in 8..100 {
                let bytes: Vec<u8> = (0..size).map(|_| random()).collect();
                let kind = u8::from(size == 50);
                let mut event = event(&registries[0], code, &bytes);
                (event.kind, event.stream) = (kind, size & 1);
                assert_same(&twins, &event);
                csv.iter().for_each(|csv| assert_line(csv, &event, &naive_csv(&event)));
            }
        }
    }
}

fn with_event(
    ticks: u64,
    registry: &Registry,
    code: u16,
    params: &[u8],
    then: impl FnOnce(&Event<'_, '_>),
) {
    let mut bytes = code.to_le_bytes().to_vec();
    bytes.extend((8 + params.len() as u16).to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(params);
    let mut event = event(registry, code, &bytes);
    event.ticks = ticks;
    then(&event);
}

/// Returns an event of the first registry of a log.
fn event<'a>(registry: &'a Registry, code: u16, bytes: &'a [u8]) -> Event<'a, 'a> {
    let mut event = Event::new(registry, 0xABC, bytes);
    event.event_type = registry.event_type(code);
    event.event_type_index = registry.event_type_index(code).map_or(u16::MAX, |row| row as u16);
    (event.kind, event.registry_index) = (0, 0);
    event
}

#[test]
fn the_column_form_agrees_with_the_requirement() {
    let params: Vec<u8> =
        [0x9C0D8_u64, 0x9C000, 0x1000, 0xC].into_iter().flat_map(u64::to_le_bytes).collect();
    let found = line(0x178E_A03C_2825, columns, 0x122, &params);
    let expected = "0000178EA03C2825 PoolInitMFS             9C0D8    9C000     1000        C\n";
    assert_eq!(found, expected);
}

#[test]
fn names_are_padded_to_the_longest_name() {
    let registry = Registry::new(&REGISTRY, Platform::stream(false, 8));
    assert_eq!(name_width([&registry]), "ANameLongerThanTheMpsHas".len());
}

/// Returns the statistics of an event of each of these registries, without the lines of streams.
fn counted(registries: &[Registry], fault_count: u64) -> String {
    let mut summary = Summary::new(Wanted::default(), &[]);
    for registry in registries {
        with_event(1, registry, 0x120, &[], |event| summary.add(event));
    }
    let history = &History::default();
    let parts = Parts { streams: &[], registries, history, recorded: &[] };
    let overview = Overview::of(summary, &parts, Default::default(), fault_count);
    String::from_utf8(view::answer(&overview, &cli::table::Form::default()).unwrap()).unwrap()
}

#[test]
fn registries_are_counted_apart_unless_they_are_the_same() {
    let of = |stream, index, name: &str| {
        let mut registry = Registry::new(&REGISTRY, Platform::stream(false, 8));
        (registry.stream, registry.index, registry.name) = (stream, index, name.into());
        registry
    };
    let found = counted(&[of(0, 1, "same"), of(1, 1, "same")], 0);
    assert!(found.contains("\nKind       2     16\n") && !found.contains("same"), "{found}");
    assert!(found.contains("\nWithNothing       2     16\n"), "{found}");
    let found = counted(&[of(0, 1, "one"), of(1, 1, "other")], 0);
    for name in ["one 1.0.0:Kind", "other 1.0.0:Kind", "other 1.0.0:WithNothing"] {
        assert!(found.contains(&format!("\n{name}")), "{name} is not in {found}");
    }
    let found = counted(&[of(0, 1, "one"), of(0, 2, "other")], 0);
    assert!(found.contains("\n2:Kind") && found.contains("\nKind"), "{found}");
}

#[test]
fn the_last_line_states_the_faults() {
    let registries = [Registry::new(&REGISTRY, Platform::stream(false, 8))];
    let found = counted(&registries, 2);
    assert!(found.ends_with("\n2 faults were found, which may have cost events\n"), "{found}");
    let found = counted(&registries, 0);
    assert!(found.ends_with("\nnothing is known to be lost\n"), "{found}");
}
