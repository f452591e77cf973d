//! Reads the pseudo-stacks of a log of waits, for the flame of waits in the report.
//!
//! ```text
//!  ControlPath, FrameBegin, Stack of the registry "waits" ── in order of time ──▶ Flame
//! ```
//!
//! Design: `.cnv.report.flame` in `design/eventcnv.md`.

use crate::page::flame::{ControlPath, Flame, Limits, NONE, Stack};
use eventlog::reader::{Clock, Event, Filter, Log, Order, Pick};

/// The registry of answers about waits.
pub(super) const REGISTRY: &str = "waits";
/// What is read of it.
const NAMES: [&str; 3] = ["ControlPath", "FrameBegin", "Stack"];

/// Reads the pseudo-stacks between two times. Returns nothing if the log has none.
pub(super) fn read(log: &Log, clock: &Clock, range: (u64, u64)) -> Option<Flame> {
    let is_waits = |name: &str| name == REGISTRY;
    if !log.registries().iter().any(|registry| is_waits(&registry.name)) {
        return None;
    }
    let filter = Filter::new().events(NAMES.map(|name| Pick::Name(name.to_owned())));
    let mut flame = Flame::new(Limits::default());
    let mut events = log.events(Order::Time, &filter);
    events.each(|event| {
        if is_waits(&event.registry.name) {
            take(&mut flame, event, clock.ns(event.stream, event.ticks), range);
        }
    });
    flame.settle();
    (flame.count > 0).then_some(flame)
}

fn take(flame: &mut Flame, event: &Event<'_, '_>, at: u64, range: (u64, u64)) {
    let place = (event.stream, event.thread);
    let number = |name: &str| event.param(name).and_then(|value| value.as_u64());
    let small = |name: &str, other: u32| {
        number(name).and_then(|number| u32::try_from(number).ok()).unwrap_or(other)
    };
    let text = |name: &str| {
        let bytes = event.param(name).and_then(|value| value.as_bytes()).unwrap_or_default();
        String::from_utf8_lossy(bytes)
    };
    match event.name() {
        "FrameBegin" => flame.begin_frame(place, small("depth", NONE), small("kind", NONE)),
        "ControlPath" => {
            let path = ControlPath {
                row: 0,
                kind: small("kind", 0),
                thread: small("thread", 0),
                parent: small("parent", NONE),
                waker: small("waker", 0),
                begin: at,
                length: number("ns").unwrap_or(0),
                name: text("name").into_owned(),
            };
            flame.add_path(place, small("path", NONE), path);
        }
        _ => {
            let stack = Stack {
                begin: at,
                ns: number("ns").unwrap_or(0),
                path: small("path", NONE),
                kind: small("kind", 0),
                share: small("share", NONE),
                thread: small("thread", 0),
                waker: small("waker", 0),
                other: small("other", NONE),
                frames: &text("frames"),
            };
            flame.add(place, &stack, range);
        }
    }
}
