//! Reads the events that are still in memory from within the program.
//!
//! ```text
//!  record ─▶ rings ─▶ postmortem ─┐
//!     └────▶ a list ─ the twin ───┴─▶ the same, newest first
//! ```
//!
//! Design: `.req.pm`, `.debug.buffer` in `design/telemetry.md`.

mod common;

use common::{CONTROL, Pooled, Rare, Sorts, Three, ThreeSeg, ran};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use telemetry::postmortem::{Event, Value};
use telemetry::{event, postmortem};

const SMALL: (&str, &str) = ("MPS_TELEMETRY_BLOCK_SIZE", "4096");

fn word(event: &Event, name: &str) -> usize {
    match event.param(name) {
        Some(Value::W(word)) => word,
        other => panic!("{event}: {name} is {other:?}"),
    }
}

fn name(event: &Event) -> &'static str {
    event.event_type().expect("a type of the test").name
}

/// Checks the events of each thread, newest first: their indexes have no gap, and all events are in
/// the order of time.
fn judge(events: &[Event]) {
    assert!(events.is_sorted_by(|a, b| a.ticks() >= b.ticks()));
    let mut before = BTreeMap::new();
    for event in events.iter().filter(|event| matches!(name(event), "Three" | "ThreeSeg")) {
        let [thread, index, value] = ["thread", "index", "value"].map(|name| word(event, name));
        assert_eq!(value, index ^ thread, "{event}: torn");
        if let Some(before) = before.insert((name(event), thread), index) {
            assert_eq!(index + 1, before, "{event}");
        }
    }
}

/// Other threads record meanwhile: they cannot overwrite this thread's events, the twin's.
/// Returns a word as the runtime prints it: all digits of this platform.
fn digits(word: usize) -> String {
    format!("{word:0width$X}", width = 2 * size_of::<usize>())
}

#[test]
fn postmortem_gives_newest_events_first_during_recording() {
    let test = "postmortem_gives_newest_events_first_during_recording";
    ran(test, &[SMALL], || {
        let done = &AtomicBool::new(false);
        std::thread::scope(|scope| {
            for thread in 1..4usize {
                scope.spawn(move || {
                    for index in 0usize.. {
                        event!(Three, thread, index, index ^ thread);
                        if done.load(Ordering::Relaxed) {
                            return;
                        }
                    }
                });
            }
            let mut twin = Vec::new();
            for index in 0..50usize {
                event!(ThreeSeg, 0usize, index, index);
                event!(Pooled, index);
                twin.extend([("ThreeSeg", index), ("Pooled", index)]);
                let mut given = postmortem();
                let events: Vec<Event> = given.by_ref().collect();
                let is_mine = |event: &&Event| name(event) != "Three";
                let mine = events.iter().filter(is_mine).map(|e| (name(e), word(e, "index")));
                assert_eq!(
                    mine.collect::<Vec<_>>(),
                    twin.iter().rev().copied().collect::<Vec<_>>()
                );
                if given.overwritten() == 0 {
                    judge(&events);
                }
            }
            done.store(true, Ordering::Relaxed);
        });
        let (mut given, mut events) = (postmortem(), Vec::new());
        events.extend(given.by_ref());
        assert_eq!(given.overwritten(), 0, "events overwritten without a recording thread");
        judge(&events);
    });
}

/// `.debug.buffer`: rare kinds keep old events, whatever other kinds overwrite.
#[test]
fn postmortem_gives_the_events_of_each_kind() {
    let test = "postmortem_gives_the_events_of_each_kind";
    ran(test, &[SMALL], || {
        const COUNT: usize = 10_000;
        event!(Rare, 4711usize);
        (0..COUNT).for_each(|index| event!(Three, 7usize, index, index ^ 7));
        let rare: Vec<Event> = postmortem().of_kind("aReNa").collect();
        assert_eq!(rare.iter().map(|event| word(event, "index")).collect::<Vec<_>>(), [4711]);
        let objects: Vec<Event> = postmortem().of_kind("Object").collect();
        judge(&objects);
        assert_eq!(word(&objects[0], "index"), COUNT - 1, "the newest comes first");
        let losses = telemetry::losses_of(&CONTROL, telemetry::Kinds::Object);
        assert_eq!(objects.len() as u64, losses.recorded - losses.overwritten);
        assert!(objects.len() >= (4096 - 128) / 32, "a block of history at least");
        assert_eq!(postmortem().count(), objects.len() + 1);
        assert_eq!(postmortem().of_kind("Pool").count(), 0);
        assert_eq!(postmortem().of_kind("no such kind").count(), 0);
        assert_eq!(postmortem().take(3).map(|event| word(&event, "index")).max(), Some(COUNT - 1));
    });
}

/// `.reg.param.sort`, `.event.string`
#[test]
fn postmortem_gives_values_of_every_sort() {
    let test = "postmortem_gives_values_of_every_sort";
    ran(test, &[], || {
        let pool = std::ptr::without_provenance::<u8>(0x1000);
        telemetry::label(pool, telemetry::add_string("a pool"));
        let long = "s".repeat(20_000);
        event!(Sorts {
            p: pool,
            b: true,
            u: u32::MAX,
            d: -0.5,
            w: usize::MAX,
            a: 0x2000usize,
            s: long.as_str(),
        });
        let elsewhere = std::thread::Builder::new().name("elsewhere".into()).spawn(|| {
            let p = std::ptr::null::<u8>();
            event!(Sorts { p, b: false, u: 0u32, d: 0.0, w: 0usize, a: 0usize, s: "" });
        });
        elsewhere.unwrap().join().unwrap();
        let [new, old] = postmortem().collect::<Vec<_>>().try_into().expect("two events");
        let values: Vec<Value<'_>> = old.params().map(|(_, value)| value).collect();
        let expected = [
            Value::P(0x1000),
            Value::B(true),
            Value::U(u32::MAX),
            Value::D(-0.5),
            Value::W(usize::MAX),
            Value::A(0x2000),
            Value::S(long.as_bytes()),
        ];
        assert_eq!(values, expected);
        assert_eq!(new.param("s"), Some(Value::S(b"")));
        assert_eq!((new.param("none"), new.code(), new.thread()), (None, 3, 2));
        assert_eq!(new.kind().map(|kind| kind.name), Some("User"));
        assert_eq!(new.registry().name, "test");
        assert_eq!(new.thread_name().as_deref(), Some("elsewhere"));
        assert_eq!(
            usize::from(u16::from_ne_bytes([new.bytes()[2], new.bytes()[3]])),
            new.bytes().len()
        );
        let text = old.to_string();
        let p = digits(0x1000);
        let expected = format!("Sorts p:{p}[\"a pool\"] b:True u:4294967295 d:-0.5 ");
        assert!(text.contains(&expected), "{text}");
        assert!(text.ends_with("sss\""), "the string is whole");
        let mut traceback = String::new();
        telemetry::traceback(2, &mut traceback).unwrap();
        let without_age = |text: &str| text.split_once(" s  ").expect("an age").1.to_owned();
        let last = traceback.lines().last().expect("a line");
        assert_eq!(without_age(&new.to_string()), without_age(last));
    });
}

#[test]
fn a_panic_hook_may_call_postmortem() {
    let test = "a_panic_hook_may_call_postmortem";
    let Some(ran) = ran(test, &[], || {
        std::panic::set_hook(Box::new(|info| {
            eprintln!("{}", info.payload_as_str().unwrap_or_default());
            postmortem().take(2).for_each(|event| eprintln!("{event}"));
        }));
        (0..5usize).for_each(|index| event!(Pooled, index));
        assert!(std::panic::catch_unwind(|| panic!("on purpose")).is_err());
    }) else {
        return;
    };
    let lines: Vec<&str> = ran.stderr.lines().skip_while(|line| *line != "on purpose").collect();
    for (line, index) in lines[1..].iter().zip([4, 3]) {
        assert!(line.ends_with(&format!("Pooled index:{}", digits(index))), "{lines:?}");
    }
    assert_eq!(lines.len(), 3, "{lines:?}");
}

#[test]
fn postmortem_gives_nothing_before_the_first_event() {
    let test = "postmortem_gives_nothing_before_the_first_event";
    ran(test, &[], || assert_eq!(postmortem().count(), 0));
}
