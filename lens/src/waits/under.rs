//! The program's own events around moments: the innermost open slice, else the events before and
//! after.
//!
//! ```text
//!  thread 1   ├ GetBegin ───── ? ──── GetEnd      under Get
//!  thread 2     FileRead       ?     FileClose     between FileRead and FileClose
//! ```
//!
//! Design: `.waits.under` in `design/waits.md`.

use crate::slices::{Edge, Id, Limits, Pairing};
use crate::waits::account::Window;
use crate::waits::tracks::{Track, Tracks};
use eventlog::reader::marks::{Form, Marks};
use eventlog::reader::{Clock, Event, Filter, Log, Order, Value};
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// Names of events and labels that an answer keeps, at most.
const NAME_COUNT_MAX: usize = 1 << 20;
/// Bytes of a label.
const LABEL_SIZE_MAX: usize = 256;
/// Intervals, at most.
const INTERVAL_COUNT_MAX: usize = 1 << 20;
/// The registry of threads, strings and labels in each stream.
const STORE: u16 = 0;

/// A moment of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The thread.
    pub track: Track,
    /// The time in ns.
    pub ns: u64,
    /// An address whose label is wanted; 0 none.
    pub object: u64,
}

/// An event of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Own {
    /// Its name, by its index in [`Under::names`].
    pub name: u32,
    /// The event.
    pub id: Id,
}

/// The events around a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// The event that began the innermost open slice; its name is that of the slice.
    pub open: Option<Own>,
    /// The last event of the thread before.
    pub before: Option<Own>,
    /// The first event of the thread after.
    pub after: Option<Own>,
    /// The label of the object, by its index in [`Under::names`].
    pub label: Option<u32>,
}

/// Answers for moments.
#[derive(Debug, Default)]
pub struct Under {
    /// Names of events, slices and labels.
    pub names: Vec<Box<str>>,
    /// The events around each moment.
    pub around: Vec<Around>,
    numbers: HashMap<Box<str>, u32, RandomState>,
}

impl Under {
    /// Returns a name.
    pub fn name(&self, name: u32) -> &str {
        self.names.get(name as usize).map_or("?", |name| name)
    }

    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        if self.names.len() >= NAME_COUNT_MAX {
            return u32::MAX;
        }
        let number = self.names.len() as u32;
        self.names.push(name.into());
        self.numbers.insert(name.into(), number);
        number
    }
}

/// What is known of a thread while its log is read.
#[derive(Debug, Default)]
struct Now {
    before: Option<Own>,
    /// Moments whose next event is not known yet.
    waiting: Vec<u32>,
}

/// Returns the events around moments, in one pass.
pub fn under(log: &Log, clock: &Clock, kernel: u16, moments: &[Moment]) -> Under {
    let mut under = Under { around: vec![Around::default(); moments.len()], ..Under::default() };
    if moments.is_empty() {
        return under;
    }
    let mut order: Vec<u32> = (0..moments.len() as u32).collect();
    let moment = |at: u32| moments.get(at as usize);
    order.sort_by_key(|at| moment(*at).map(|moment| (moment.ns, moment.track)));
    let mut queues: Vec<Vec<u32>> = vec![Vec::new(); log.streams().len()];
    for at in order {
        let stream = moment(at).map_or(0, |moment| moment.track.0);
        if let Some(queue) = queues.get_mut(usize::from(stream)) {
            queue.push(at);
        }
    }
    let mut queues: Vec<_> = queues.into_iter().map(|own| own.into_iter().peekable()).collect();
    let marks = Marks::of(log.registries());
    let mut source = crate::slices::Source::new(log, clock, &marks);
    let mut pairing = Pairing::new(Limits::default());
    let mut threads: HashMap<Track, Now, RandomState> = HashMap::default();
    let mut labels: Vec<HashMap<u64, Box<str>, RandomState>> =
        vec![HashMap::default(); queues.len()];
    let mut near = vec![0; queues.len()];
    let filter = others(log, kernel).labels(true);
    log.events(Order::Time, &filter).each(|event| {
        let stream = usize::from(event.stream);
        let Some(near) = near.get_mut(stream) else { return };
        let ns = clock.ns_near(event.stream, event.ticks, near);
        if let (Some(queue), Some(labels)) = (queues.get_mut(stream), labels.get(stream)) {
            while let Some(at) = queue.next_if(|at| moment(*at).is_some_and(|own| own.ns < ns)) {
                answer(&mut under, &marks, &pairing, &mut threads, labels, (at, moment(at)));
            }
        }
        if event.registry.index == STORE {
            if let Some(labels) = labels.get_mut(stream) {
                keep_label(event, labels);
            }
            return;
        }
        let track = (event.stream, event.thread);
        if let Some(edge) = source.edge(event) {
            pairing.take(&edge, |_| {});
        }
        let id = Id { stream: event.stream, buffer: event.buffer, number: event.number };
        let own = Own { name: under.number(event.name()), id };
        let now = threads.entry(track).or_default();
        now.before = Some(own);
        for at in now.waiting.drain(..) {
            if let Some(around) = under.around.get_mut(at as usize) {
                around.after = Some(own);
            }
        }
    });
    for (queue, labels) in queues.iter_mut().zip(&labels) {
        for at in queue {
            answer(&mut under, &marks, &pairing, &mut threads, labels, (at, moment(at)));
        }
    }
    under
}

/// Answers for a moment: all events before it were read.
fn answer(
    under: &mut Under,
    marks: &Marks,
    pairing: &Pairing,
    threads: &mut HashMap<Track, Now, RandomState>,
    labels: &HashMap<u64, Box<str>, RandomState>,
    (at, moment): (u32, Option<&Moment>),
) {
    let Some(moment) = moment else { return };
    let is_slice = |edge: &&Edge| {
        marks.pairs.get(edge.pair as usize).is_some_and(|pair| pair.form == Form::Slice)
    };
    let open = pairing.stack(moment.track).map(|(_, edge)| edge).find(is_slice).copied();
    let open = open.map(|edge| Own { name: under.number(marks.name(edge.pair)), id: edge.id });
    let label = labels.get(&moment.object).map(|label| under.number(label));
    let now = threads.entry(moment.track).or_default();
    now.waiting.push(at);
    let before = now.before;
    if let Some(around) = under.around.get_mut(at as usize) {
        *around = Around { open, before, after: None, label };
    }
}

fn keep_label(event: &Event<'_, '_>, labels: &mut HashMap<u64, Box<str>, RandomState>) {
    if event.name() != "Label" {
        return;
    }
    if let (Some(Value::A(address)), Some(Value::W(string))) =
        (event.param_at(0), event.param_at(1))
    {
        match event.labels.string(string) {
            Some(label) if labels.len() < NAME_COUNT_MAX => {
                let label = label.get(..LABEL_SIZE_MAX).unwrap_or(label);
                labels.insert(address, String::from_utf8_lossy(label).into());
            }
            _ => {
                labels.remove(&address);
            }
        }
    }
}

/// Returns a filter for all streams but that of the kernel.
fn others(log: &Log, kernel: u16) -> Filter {
    let times = |stream: usize| {
        let (from, to) = if stream == usize::from(kernel) { (1, 0) } else { (0, u64::MAX) };
        from..=to
    };
    let mut filter = Filter::new();
    filter.times = (0..log.streams().len()).map(times).collect();
    filter
}

/// Returns the time from each event of a type to the next event of another type on the same thread,
/// as windows of the lives of a target. Names may have any case.
pub fn intervals(
    log: &Log,
    clock: &Clock,
    (kernel, tracks): (u16, &Tracks),
    [from, to]: [&str; 2],
    target: &[Window],
) -> Vec<Window> {
    let mut begun: HashMap<Track, u64, RandomState> = HashMap::default();
    let mut windows = Vec::new();
    log.events(Order::Time, &others(log, kernel).events([from, to])).each(|event| {
        let track = (event.stream, event.thread);
        let ns = clock.ns(event.stream, event.ticks);
        if event.name().eq_ignore_ascii_case(to)
            && let Some(begin) = begun.remove(&track)
            && windows.len() < INTERVAL_COUNT_MAX
        {
            windows.push((track, begin, ns));
        }
        if event.name().eq_ignore_ascii_case(from) {
            begun.entry(track).or_insert(ns);
        }
    });
    let of_life: HashMap<u32, &Window, RandomState> =
        target.iter().map(|window| (window.life, window)).collect();
    let window = |(track, from, to): (Track, u64, u64)| {
        let own = of_life.get(&tracks.life(track)?)?;
        let (from, to) = (from.max(own.from), to.min(own.to));
        Some(Window { life: own.life, from, to }).filter(|window| window.from < window.to)
    };
    windows.into_iter().filter_map(window).collect()
}
