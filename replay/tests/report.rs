//! Tests of the report: golden files of its table and JSON, and its page in a real browser.
//!
//! ```text
//!  Measured, invented ──▶ table, JSON ──▶ tests/golden/replay/
//!                     └─▶ page + a script that uses it ── chromium, headless ──▶ its values
//! ```
//!
//! Rules: `.rep.report`, `.rep.json`, `.rep.page` in `design/replay.md`.

#[path = "report/browser.rs"]
mod browser;
#[path = "report/design.rs"]
mod design;
#[path = "report/made.rs"]
mod made;

use browser::Page;
use cli::table::Form;
use design::{are_of, headings, stated};
use made::{Shape, measured, small};
use replay::measured::{HeapMeasured, Measured, Quantiles, Run, Sample};
use replay::report;
use serde_json::Value;
use std::path::Path;

fn text(measured: &Measured) -> String {
    let out = report::answer(measured, &Form::default()).expect("no column is asked for");
    String::from_utf8(out).expect("a table is text")
}

fn json(measured: &Measured) -> String {
    let form = Form { json: true, ..Form::default() };
    let out = report::answer(measured, &form).expect("no column is asked for");
    String::from_utf8(out).expect("JSON is text")
}

fn page(measured: &Measured) -> String {
    let mut out = Vec::new();
    report::page(measured, &mut out).expect("memory takes all");
    String::from_utf8(out).expect("a page is text")
}

/// Compares with a golden file, or rewrites it if `BLESS` is set.
fn assert_golden(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/replay").join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, found).expect("the golden file can be written");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "{name} differs; BLESS=1 rewrites it. Found:\n{found}");
}

/// Returns extreme results.
fn extremes() -> Vec<(&'static str, Measured)> {
    let alone = Measured { heaps: vec![HeapMeasured::default()], ..Measured::default() };
    let one = |of: Measured| Measured { heaps: of.heaps[..1].to_vec(), ..of };
    let mut nothing_sampled = small();
    nothing_sampled.heaps.iter_mut().for_each(|heap| heap.timeline.clear());
    let mut no_number = small();
    no_number.loop_ns = f64::NAN;
    no_number.heaps[0].latency.all.mean = f64::INFINITY;
    let mut huge = small();
    for heap in &mut huge.heaps {
        heap.latency.curve = vec![(0.5, 1), (0.99, 1_000_000), (1.0, 1_000_000_000_000)];
        heap.latency.all.count = u64::MAX;
        heap.latency.all.max = u64::MAX;
        heap.timeline.push(Sample {
            time_ns: u64::MAX,
            operation_count: u64::MAX,
            live: u64::MAX,
            resident: u64::MAX,
        });
        heap.runs.push(Run {
            duration_ns: 1,
            operation_count: u64::MAX,
            resident_peak: u64::MAX,
            live_at_peak: 1,
            ..Run::default()
        });
    }
    huge.workload.allocation_count = 1_000_000_000_000;
    huge.workload.sizes = vec![(1, 1_000_000_000_000), (1 << 40, 1), (1 << 63, 1)];
    vec![
        ("nothing", Measured::default()),
        ("a heap without results", alone),
        ("one heap", one(small())),
        ("no samples", nothing_sampled),
        ("no numbers", no_number),
        ("the greatest numbers", huge),
        ("twelve heaps", measured(Shape { heap_count: 12, ..Shape::default() })),
        ("twenty heaps", measured(Shape { heap_count: 20, ..Shape::default() })),
    ]
}

/// `.rep.report`
#[test]
fn the_table_equals_the_golden_file() {
    assert_golden("table.txt", &text(&small()));
}

/// `.rep.json`
#[test]
fn the_document_equals_the_golden_file() {
    assert_golden("measured.json", &json(&small()));
}

/// `.rep.json`
#[test]
fn results_are_read_back_from_the_document() {
    let measured = measured(Shape::default());
    let document = json(&measured);
    let read: Measured = serde_json::from_str(&document).expect("the document parses");
    assert!(read == measured, "something was lost in the document");
    let value: Value = serde_json::from_str(&document).expect("it is JSON");
    assert_eq!(value["format"], 2);
    let median = value["time"][1]["per_op_median_ns"].as_f64().expect("a number");
    let mut runs: Vec<f64> = measured.heaps[1]
        .runs
        .iter()
        .map(|run| run.duration_ns as f64 / run.operation_count as f64)
        .collect();
    runs.sort_by(f64::total_cmp);
    assert!((median - runs[runs.len() / 2]).abs() < 1e-9, "{median} is not the median of {runs:?}");
}

/// `.output.fields`
#[test]
fn json_csv_and_the_page_have_the_columns_of_the_design() {
    let measured = measured(Shape::default());
    let document: Value = serde_json::from_str(&json(&measured)).expect("it is JSON");
    let csv = Form { csv: true, ..Form::default() };
    let csv = report::answer(&measured, &csv).expect("no column is asked for");
    let csv = String::from_utf8(csv).expect("CSV is text");
    let names: Vec<&str> = csv.lines().next().expect("a heading").split(',').collect();
    assert_eq!(names, stated(&["replay play"]));
    let page = page(&measured);
    let found = headings(&page);
    for (at, name) in ["time", "latencies", "memory", "left"].into_iter().enumerate() {
        let table: &[&str] = if name == "time" { &["replay play"] } else { &["replay play", name] };
        let members = document[name][0].as_object().expect("a row").keys();
        let mut fields = stated(table);
        fields.sort();
        assert_eq!(members.cloned().collect::<Vec<_>>(), fields, "{name}");
        assert!(are_of(&found[at], table), "{name}: {:?}", found[at]);
    }
}

/// `.rep.report`: columns are aligned for any numbers.
#[test]
fn every_row_of_a_table_is_aligned() {
    for (name, measured) in extremes() {
        let text = text(&measured);
        let mut tables = text.split("\n\n").skip(1).filter(|table| table.lines().count() > 2);
        let aligned = |table: &str| {
            let lines = table.lines().skip(1).filter(|line| !line.starts_with("and "));
            let ends: Vec<usize> = lines.map(|line| line.chars().count()).collect();
            ends.windows(2).all(|pair| pair[0] == pair[1])
        };
        assert!(tables.all(aligned), "{name}:\n{text}");
        assert!(!text.contains("NaN") && !text.contains("inf"), "{name}:\n{text}");
    }
}

/// `.rep.report`: control characters do not reach a terminal.
#[test]
fn a_name_cannot_move_the_cursor() {
    let mut measured = small();
    measured.workload.name = "a\u{1b}[2Jb\nc\u{202e}".to_owned();
    measured.heaps[0].name = "d\u{1b}]0;e\u{7}".to_owned();
    measured.heaps[0].failure = Some("f\rg".to_owned());
    let text = text(&measured);
    assert!(!text.contains('\u{1b}') && !text.contains('\r') && !text.contains('\u{7}'));
    assert!(text.starts_with("a\u{fffd}[2Jb c\u{fffd}: "), "{text}");
}

/// `.rep.page`
#[test]
fn the_page_makes_no_network_request() {
    let page = page(&measured(Shape::default()));
    assert!(page.contains("default-src 'none'"));
    let namespace = "http://www.w3.org/2000/svg";
    assert_eq!(page.replace(namespace, "").matches("://").count(), 0);
    for asks in [" src=", "<link", "@import", "url(", "fetch(", "<img", "<iframe"] {
        assert!(!page.contains(asks), "{asks}");
    }
    assert!((20_000..1_500_000).contains(&page.len()), "{} bytes", page.len());
}

/// `.rep.page`: 50 of 100 bytes at half of the time is in the middle, except for the
/// headroom.
#[test]
fn a_line_is_drawn_where_its_values_are() {
    let sample = |part: u64| Sample {
        time_ns: part,
        operation_count: part * 10,
        live: part / 2,
        resident: part,
    };
    let heap = HeapMeasured { timeline: [0, 50, 100].map(sample).to_vec(), ..Default::default() };
    let page = page(&Measured { heaps: vec![heap], ..Measured::default() });
    let path = page.split("<path class=\"line s0 c0\" d=\"").nth(1).expect("memory is the first");
    let path = path.split('"').next().expect("an end");
    let places: Vec<(f64, f64)> = path
        .trim_start_matches('M')
        .split('L')
        .map(|place| place.split_once(' ').expect("a pair"))
        .map(|(x, y)| (x.parse().expect("a number"), y.parse().expect("a number")))
        .collect();
    assert_eq!(places.len(), 200);
    for (x, y) in &places {
        let expected = 1000.0 - x / 1.06;
        assert!((y - expected).abs() < 3.0, "{x} {y}, not {expected}");
    }
    assert!(page.contains("&quot;100 B&quot;") && page.contains("&quot;50 B&quot;"), "as texts");
}

/// `.rep.page`
#[test]
fn a_reader_without_scripts_sees_all_charts() {
    let opened = Page::still(&page(&measured(Shape::default())));
    assert_eq!(opened.console, [""; 0]);
    let expected = ["Latency", "Memory", "Fragmentation", "Sizes", "Lifetimes"];
    for title in expected {
        assert!(opened.dom.contains(&format!("<b>{title}</b>")), "{title}");
    }
    assert!(opened.dom.matches("<path class=\"line s0").count() == 3);
}

/// `.rep.page`
#[test]
fn a_heap_is_hidden_by_its_name_in_the_legend() {
    let script = "
        const shown = (heap) => [...document.querySelectorAll(`.s${heap}`)]
          .filter((of) => getComputedStyle(of).display !== 'none').length;
        say('before', shown(1)); say('other', shown(0));
        document.getElementById('series1').click();
        say('after', shown(1)); say('same', shown(0));
        document.getElementById('series1').click();
        say('again', shown(1));";
    let opened = Page::used(&page(&measured(Shape::default())), script);
    assert_eq!(opened.console, [""; 0]);
    assert!(opened.number("before") > 5.0);
    assert_eq!(opened.number("after"), 0.0);
    assert_eq!(opened.said("again"), opened.said("before"));
    assert_eq!(opened.said("same"), opened.said("other"));
}

/// `.rep.page`: once the greatest heap is hidden, the others are not flat.
#[test]
fn an_axis_ends_at_the_shown_values() {
    let mut measured = measured(Shape { heap_count: 2, ..Shape::default() });
    measured.heaps[1].timeline.iter_mut().for_each(|sample| sample.resident *= 10);
    let script = "
        const chart = document.querySelector('section[aria-label=Memory] svg.chart');
        const highest = () => [...chart.querySelectorAll('text.y')]
          .filter((text) => text.getClientRects().length > 0).pop().textContent;
        const path = chart.querySelector('path.s0');
        const tall = (of) => of.getBoundingClientRect().height;
        const part = () => tall(path) / tall(chart);
        say('top', highest()); say('part', part());
        const box = document.getElementById('series1');
        box.click(); say('nearer', highest()); say('larger', part());
        box.click(); say('again', highest());";
    let opened = Page::used(&page(&measured), script);
    assert_eq!(opened.console, [""; 0]);
    assert_eq!([opened.said("top"), opened.said("nearer")], ["1 GiB", "100 MiB"]);
    assert_eq!(opened.said("again"), opened.said("top"));
    assert!(opened.number("part") < 0.15 && (0.5..=1.0).contains(&opened.number("larger")));
}

/// `.rep.page`
#[test]
fn the_pointer_shows_the_values_of_visible_heaps() {
    let script = "
        const chart = document.querySelector('section[aria-label=Memory] svg.chart');
        const box = chart.getBoundingClientRect();
        const move = (part) => chart.dispatchEvent(new PointerEvent('pointermove',
          { clientX: box.left + part * box.width, clientY: box.top + 20, bubbles: true }));
        const tip = document.getElementById('tip');
        const names = () => [...tip.querySelectorAll('div')]
          .map((row) => row.children[1].textContent).sort().join(' ');
        move(0.5);
        say('at', tip.querySelector('b').textContent); say('names', names());
        say('inside', tip.getBoundingClientRect().right <= innerWidth && !tip.hidden);
        document.getElementById('series0').click(); move(0.5); say('fewer', names());
        chart.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }));
        say('next', tip.querySelector('b').textContent);
        move(1); say('end', tip.getBoundingClientRect().right <= innerWidth);
        chart.dispatchEvent(new PointerEvent('pointerleave'));
        say('gone', tip.hidden && !chart.querySelector('.cross'));";
    let measured = measured(Shape::default());
    let opened = Page::used(&page(&measured), script);
    assert_eq!(opened.console, [""; 0]);
    let middle = opened.said("at").to_owned();
    let ms: u64 = middle.trim_end_matches(" ms").parse().expect("a time");
    let all = measured.heaps[0].timeline.last().expect("there are samples").time_ns / 1_000_000;
    assert!(ms.abs_diff(all / 2) <= all / 100, "{ms} ms of {all}");
    assert_eq!(opened.said("names"), "jemalloc live (system) mimalloc snmalloc system");
    assert_eq!(opened.said("fewer"), "jemalloc live (system) mimalloc snmalloc");
    assert_ne!(opened.said("next"), middle);
    assert_eq!(["inside", "end", "gone"].map(|name| opened.said(name)), ["true"; 3]);
}

/// `.rep.page`
#[test]
fn the_reader_chooses_light_or_dark() {
    let script = "
        const scheme = () => getComputedStyle(document.documentElement).colorScheme;
        say('light', scheme()); document.getElementById('theme').click(); say('dark', scheme());";
    let opened = Page::used(&page(&measured(Shape::default())), script);
    assert_eq!([opened.said("light"), opened.said("dark")], ["light", "dark"]);
}

/// `.rep.page`: names of files and heaps stay text.
#[test]
fn no_result_becomes_markup_or_a_request() {
    let evil = "</title></style></script><script>document.title='evil'</script>\
                <img src=http://a.example/ onerror=alert(1)>\"'&amp;";
    let mut measured = small();
    measured.workload.name = evil.to_owned();
    measured.mode = evil.to_owned();
    measured.machine = evil.to_owned();
    measured.workload.skipped.push((evil.to_owned(), 1));
    for heap in &mut measured.heaps {
        heap.name = evil.to_owned();
        heap.failure = Some(evil.to_owned());
    }
    let page = page(&measured);
    assert_eq!(page.matches("</script>").count(), 1);
    let script = "say('title', document.title === document.querySelector('h1').textContent);
        say('elements', document.querySelectorAll('img, script').length);";
    let opened = Page::used(&page, script);
    assert_eq!(opened.console, [""; 0]);
    assert_eq!(opened.said("title"), "true", "the name is the title, as text");
    assert_eq!(opened.said("elements"), "2", "the page's script and that of the test");
}

/// `.rep.page`
#[test]
fn any_page_is_complete_and_fits_its_window() {
    let script = "
        const root = document.documentElement;
        say('wide', root.scrollWidth - root.clientWidth);
        const texts = [...document.querySelectorAll('svg text')]
          .filter((text) => text.getClientRects().length > 0);
        say('outside', texts.filter((text) => {
          const box = text.getBoundingClientRect();
          return box.left < 0 || box.right > innerWidth;
        }).length);
        const labels = [...document.querySelectorAll('svg.chart')].map((chart) =>
          [...chart.querySelectorAll('text.x')].map((text) => text.getBoundingClientRect())
            .filter((box) => box.width > 0));
        say('overlaps', labels.map((boxes) => boxes.filter((box, i) =>
          i > 0 && boxes[i - 1].right > box.left).length).reduce((a, b) => a + b, 0));
        const wrong = '[d*=NaN], [d*=inf], [width*=NaN], [cx*=NaN], [cy*=NaN], [y*=inf]';
        say('wrong', document.querySelectorAll(wrong).length);
        say('end', document.getElementById('tip') !== null);";
    let pages: Vec<String> = extremes().iter().map(|(_, measured)| page(measured)).collect();
    let opened = Page::used_in_frames(&pages, script, &[390, 1280]);
    assert_eq!(opened.console, [""; 0]);
    let mut found = Vec::new();
    for (index, (name, _)) in extremes().iter().enumerate() {
        for width in [390, 1280] {
            for what in ["wide", "outside", "overlaps", "wrong"] {
                let number = opened.said(&format!("{what}-{index}-{width}"));
                if number != "0" {
                    found.push(format!("{name}, {width} wide: {what}: {number}"));
                }
            }
            assert_eq!(opened.said(&format!("end-{index}-{width}")), "true", "{name}");
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// `.rep.report`: a heap without results does not hide the others.
#[test]
fn a_heap_that_died_is_reported_with_its_reason() {
    let mut measured = small();
    let failure = "died of SIGSEGV after 1,234 operations";
    measured.heaps[1] = HeapMeasured {
        name: "mine".to_owned(),
        failure: Some(failure.to_owned()),
        ..HeapMeasured::default()
    };
    measured.heaps[1].latency.all = Quantiles::default();
    let (text, page) = (text(&measured), page(&measured));
    assert!(text.contains(&format!("  mine (!): {failure}\n")), "{text}");
    assert!(text.lines().any(|line| line.starts_with("mine (!)") && line.contains('–')), "{text}");
    assert!(page.contains(failure) && page.contains("role=\"alert\""));
}
