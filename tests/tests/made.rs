//! A log that `Maker` makes event by event equals the one that the runtime recorded.
//!
//! ```text
//!  event!, label ─▶ runtime ─▶ MemoryPlinth ─▶ reader ─┬──────────────────────────┐
//!                                     the same calls ──┴▶ Maker ─▶ bytes ─▶ reader ┴▶ equal
//! ```
//!
//! A process has one stream, so this file has one test. Rules: `.made` in `design/format.md`.

use eventlog::reader::{Difference, Event, Filter, Log, Order, Value, compare};
use eventlog::writer::{Maker, Origin};
use std::num::NonZero;
use telemetry::__private::eventdef::field::{A, P};
use telemetry::__private::eventdef::store;
use telemetry::{MemoryPlinth, control, event};

telemetry::events! {
    /// Events of both logs.
    registry "both" version(1, 0, 0);
    kinds standard;

    /// One of every sort.
    Sorts(1, always, User) {
        /// a pointer
        p: P,
        /// a Boolean
        b: B,
        /// a number of 32 bits
        u: U,
        /// a double
        d: D,
        /// a word
        w: W,
        /// an address
        a: A,
        /// a string
        s: S,
    }
    /// A number.
    Rare(2, always, Arena) {
        /// which
        index: W,
    }
}

/// Records on this thread, with labels.
fn record(from: usize) {
    for index in from..from + 400 {
        let text = "text ".repeat(index % 20);
        let address = 0x7000 + index % 7;
        if index % 9 == 0 {
            telemetry::label_address(address, telemetry::add_string(&text));
        }
        let pointer = std::ptr::without_provenance::<u8>(address);
        event!(Sorts, pointer, index % 2 == 0, 7u32, index as f64, index, address, &text);
        if index % 5 == 0 {
            event!(Rare, index);
        }
    }
}

/// Adds an event that was read.
fn add(maker: &mut Maker<'_>, event: &Event<'_, '_>) {
    let values: Vec<Value<'_>> = event.params().map(|(_, value)| value).collect();
    let word = |at: usize| values[at].as_u64().expect("a number") as usize;
    let number = |at: usize| word(at) as u32;
    let string = || match values.last() {
        Some(Value::S(string)) => *string,
        other => panic!("{other:?}"),
    };
    let (buffer, thread, ticks) = (event.buffer, event.thread, event.ticks);
    let added = match event.name() {
        "Sorts" => {
            let Value::D(d) = values[3] else { panic!("{values:?}") };
            let (p, b, a) = (P(word(0)), word(1) == 1, A(word(5)));
            let sorts = Sorts { p, b, u: number(2), d, w: word(4), a, s: string() };
            maker.add(buffer, thread, ticks, &sorts)
        }
        "Rare" => maker.add(buffer, thread, ticks, &Rare { index: word(0) }),
        "Intern" => {
            assert_eq!(maker.intern(ticks, string()).expect("an id"), word(0));
            Ok(())
        }
        "Label" => maker.label(ticks, word(0), word(1)),
        "Thread" => {
            let name = String::from_utf8_lossy(string());
            maker.thread(ticks, number(0), word(1), &name)
        }
        "Control" => maker.add(
            buffer,
            thread,
            ticks,
            &store::Control {
                registry: number(0),
                recordedLow: number(1),
                recordedHigh: number(2),
                outputLow: number(3),
                outputHigh: number(4),
            },
        ),
        name => panic!("{name}"),
    };
    added.expect("no error");
}

/// Returns everything about an event except its delta, which depends on its block.
fn told(event: &Event<'_, '_>) -> String {
    let label = event.param_at(0).and_then(|value| event.labels.label_id_of(value));
    let label = label.and_then(|id| event.labels.string(id)).map(String::from_utf8_lossy);
    let values: Vec<Value<'_>> = event.params().map(|(_, value)| value).collect();
    format!(
        "{} {} {} {} {} {} {} {} {values:?} {label:?}",
        event.ticks,
        event.buffer,
        event.number,
        event.thread,
        event.kind,
        event.registry.name,
        event.name(),
        event.bytes.len(),
    )
}

fn all(log: &Log) -> Vec<String> {
    let mut found = Vec::new();
    let mut events = log.events(Order::Time, &Filter::new().labels(true));
    while let Some(event) = events.next() {
        found.push(told(&event));
    }
    assert!(events.faults().is_empty(), "{:?}", events.faults());
    found
}

/// `.made`
#[test]
fn a_made_log_equals_the_recorded_one() {
    let plinth = MemoryPlinth::new();
    telemetry::setup().block_size_log2(12).plinth(plinth.clone()).start().unwrap();
    control::of(&CONTROL).set_output(Kinds::all());
    record(0);
    std::thread::spawn(|| record(400)).join().expect("the thread ends");
    telemetry::flush();
    let recorded = Log::from_source(plinth.bytes()).expect("a log");
    assert!(recorded.faults().is_empty(), "{:?}", recorded.faults());

    let stream = &recorded.streams()[0];
    let mut origin = Origin::new();
    (origin.uuid, origin.boot_id) = (stream.uuid, stream.boot_id);
    (origin.pid, origin.parent_pid, origin.start) = (stream.pid, stream.parent_pid, stream.start);
    origin.sync = stream.syncs[0];
    (origin.producer, origin.host) = ((*stream.producer).into(), (*stream.host).into());
    (origin.program, origin.block_size_log2) = ((*stream.program).into(), 12);
    let mut bytes = Vec::new();
    let mut maker = Maker::new(&mut bytes);
    maker.begin(&origin).expect("a new log");
    for sync in &stream.syncs[1..] {
        maker.sync(*sync).expect("no error");
    }
    let mut events = recorded.events(Order::Time, &Filter::default());
    while let Some(event) = events.next() {
        add(&mut maker, &event);
    }
    drop(events);
    let done = maker.finish().expect("a whole log");

    let made = Log::from_source(bytes).expect("a log");
    let verified = made.verify(NonZero::new(1));
    assert!(made.faults().is_empty() && verified.faults.is_empty(), "{:?}", verified.faults);
    let (found, expected) = (all(&made), all(&recorded));
    assert_eq!(done.event_count, expected.len() as u64);
    let at = found.iter().zip(&expected).position(|(found, expected)| found != expected);
    assert_eq!(found, expected, "{at:?}");
    assert!(expected.iter().filter(|it| it.contains("both")).count() == 960, "{}", expected.len());
    for (made, recorded) in made.registries().iter().zip(recorded.registries()) {
        let differences: Vec<Difference> = compare(recorded, made);
        assert!(differences.is_empty(), "{differences:?}");
    }
    let [made, recorded] = [&made, &recorded].map(|log| &log.streams()[0]);
    assert_eq!(made.syncs, recorded.syncs);
    assert_eq!((made.uuid, made.pid, made.start), (recorded.uuid, recorded.pid, recorded.start));
    assert_eq!((&made.host, &made.program), (&recorded.host, &recorded.program));
}
