//! The program's own events around moments: the innermost open slice, else the events before and
//! after.
//!
//! ```text
//!  thread 1   ├ GetBegin ───── ? ──── GetEnd      under Get
//!  thread 2     FileRead       ?     FileClose     between FileRead and FileClose
//! ```
//!
//! A thread of the program's log and one of the kernel's are the same if boot, process and number
//! are. Design: `.waits.under` in `design/waits.md`.

use crate::account::Window;
use crate::model::Model;
use eventlog::reader::marks::{Form, Marks};
use eventlog::reader::{Clock, Event, Filter, Log, Order, Value};
use foldhash::fast::RandomState;
use slices::{Edge, Id, Limits, Pairing};
use std::collections::HashMap;

/// Threads of programs, at most.
const THREAD_COUNT_MAX: usize = 1 << 20;
/// Names of events and labels that an answer keeps, at most.
const NAME_COUNT_MAX: usize = 1 << 20;
/// Bytes of a label.
const LABEL_SIZE_MAX: usize = 256;
/// Intervals, at most.
const INTERVAL_COUNT_MAX: usize = 1 << 20;
/// The registry of threads, strings and labels in each stream.
const STORE: u16 = 0;

/// A thread of a program's log: its stream and its index there.
pub type Track = (u16, u32);

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

/// The threads of programs, by their numbers in the kernel.
#[derive(Debug, Default)]
pub struct Threads {
    /// By process and thread.
    tracks: HashMap<(u32, u32), Vec<Track>, RandomState>,
    numbers: HashMap<Track, (u32, u32), RandomState>,
}

impl Threads {
    /// Finds the threads of the streams of a boot, except those of the kernel.
    pub fn of(log: &Log, kernel: u16) -> Threads {
        let mut threads = Threads::default();
        let streams = log.streams();
        let Some(own) = streams.get(usize::from(kernel)) else { return threads };
        let is_meant = |at: u16| {
            let stream = streams.get(usize::from(at));
            at != kernel && stream.is_some_and(|s| s.boot_id == own.boot_id && s.boot_id != [0; 16])
        };
        let mut events = log.events(Order::Time, &Filter::new().event("Thread"));
        while let Some(event) = events.next() {
            let number = |name| event.param(name).and_then(|value| value.as_u64());
            let stream = event.stream;
            let pid = streams.get(usize::from(stream)).map_or(0, |stream| stream.pid);
            if let (STORE, Some(index), Some(os), true) =
                (event.registry.index, number("thread"), number("osThread"), is_meant(stream))
                && let (Ok(index), Ok(os), Ok(pid)) =
                    (u32::try_from(index), u32::try_from(os), u32::try_from(pid))
                && threads.numbers.len() < THREAD_COUNT_MAX
            {
                threads.tracks.entry((pid, os)).or_default().push((stream, index));
                threads.numbers.insert((stream, index), (pid, os));
            }
        }
        threads
    }

    /// Returns the thread of a program's log that a life is; of several, the one that began last
    /// is not distinguished.
    pub fn track(&self, model: &Model, life: u32) -> Option<Track> {
        let life = model.life(life)?;
        let of_process = self.tracks.get(&(life.process, life.thread));
        // A log that was imported may lack the process.
        let alone = || self.tracks.get(&(life.thread, life.thread));
        of_process.or_else(alone)?.last().copied()
    }

    /// Returns whether no thread is known.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
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
    let mut source = slices::Source::new(log, clock, &marks);
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
    (kernel, model, threads): (u16, &Model, &Threads),
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
    // The windows of a thread's number: few, as a number is seldom used again.
    let mut by_thread: HashMap<u32, Vec<&Window>, RandomState> = HashMap::default();
    for window in target {
        let thread = model.life(window.life).map_or(0, |life| life.thread);
        by_thread.entry(thread).or_default().push(window);
    }
    let window = |(track, from, to): (Track, u64, u64)| {
        let (_, thread) = threads.numbers.get(&track)?;
        let windows = by_thread.get(thread)?;
        let after = windows.partition_point(|window| window.from <= from);
        let own = windows.get(after.saturating_sub(1))?;
        let (from, to) = (from.max(own.from), to.min(own.to));
        Some(Window { life: own.life, from, to }).filter(|window| window.from < window.to)
    };
    windows.into_iter().filter_map(window).collect()
}
