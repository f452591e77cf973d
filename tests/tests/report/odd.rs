//! Pages of odd logs: calls without a time or an end, functions with muted calls only, coroutines.
//!
//! ```text
//!  calls ──▶ Maker ──▶ log ──▶ page: no error, and a true sentence
//! ```
//!
//! Rules: `.cnv.report.calls` in `design/eventcnv.md`.

use super::calls::{page_of, rows};
use super::events::{CallsMuted, Switch};
use super::large::{Thread, at, make};
use crate::Page;
use eventdef::field::P;

/// Opens the page of the calls of a thread, of three functions.
fn page(record: impl FnOnce(&mut Thread<'_, '_>)) -> Page {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("odd.log");
    make(&log, 3, record);
    let page = Page::open(&page_of(&log, directory.path()), "tab=calls");
    assert_eq!(page.console, [""; 0]);
    let listed = page.said("table").split(" | ").count();
    assert_eq!(rows(&log, &[]).len(), listed, "the command has the same functions");
    page
}

fn function(n: usize) -> String {
    format!("module{n}::&lt;/script&gt;&lt;b&gt;::function{n}")
}

/// `.cnv.report.calls`
#[test]
fn a_page_without_times_states_why() {
    let instant = page(|thread| {
        thread.begin(1);
        thread.end();
    });
    assert!(instant.said("notes").starts_with("Each call took less time than the clock tells."));
    assert_eq!(instant.said("table"), format!("{} 1", function(1)));
    let open = page(|thread| thread.begin(1));
    assert!(open.said("notes").starts_with("The time of no call is known: "));
    assert_eq!(open.said("open"), format!("1: {}", function(1)));
}

/// `.cnv.report.calls`: a function whose calls the filter left out was called.
#[test]
fn a_function_with_muted_calls_only_is_in_the_table() {
    let muted = page(|thread| {
        thread.begin(1);
        thread.ticks += 7;
        let calls = CallsMuted { function: at(2), count: 99 };
        thread.maker.add(1, 1, thread.ticks, &calls).expect("an event");
        thread.end();
    });
    assert_eq!(muted.said("table"), format!("{} 1 | {} 0", function(1), function(2)));
    assert_eq!(muted.said("unused"), format!("{} src/large.rs:1", function(3)));
}

/// `.cnv.report.calls`: stacks of a thread's coroutines differ in their names.
#[test]
fn stacks_in_progress_name_their_coroutines() {
    let open = page(|thread| {
        thread.begin(1);
        let switch = Switch { context: P(0x7f00) };
        thread.maker.add(1, 1, thread.ticks, &switch).expect("an event");
        thread.stack.clear();
        thread.begin(2);
    });
    let stacks = [format!("1: {}", function(1)), format!("1 coroutine 0x7f00: {}", function(2))];
    assert_eq!(open.said("open"), stacks.join(" | "));
}
