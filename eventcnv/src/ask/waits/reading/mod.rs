//! Reads what a kernel told, next to the logs of programs.
//!
//! ```text
//!  log ──▶ the stream of the kernel ──▶ Model
//!      └─▶ streams of the same boot ──▶ threads, the events around moments ──▶ Explained
//! ```
//!
//! Design: `.waits.answer`, `.waits.under` in `design/waits.md`.

pub(crate) mod logs;
pub(crate) mod notes;

use crate::ask::waits::reading::logs::{check_clocks, check_overlap, check_strangers};
use crate::open::parallel::{self, Emit};
use crate::open::select::{Selected, Selection};
use eventlog::reader::{Clock, ClockBase, Faults, Log, Order};
use foldhash::fast::RandomState;
use lens::waits::account::{Account, Window, account, lives_of, windows_of, windows_of_former};
use lens::waits::critical::Walker;
use lens::waits::delay::{Holder, Ready, holders};
use lens::waits::frames::Locks;
use lens::waits::model::{
    self, Batch, Builder, Cause, Interrupter, Life, Model, NONE, Options, Source,
};
use lens::waits::names::Names;
use lens::waits::parts::{ranges, side_by_side};
use lens::waits::path::{Path, path};
use lens::waits::tracks::Tracks;
use lens::waits::under::{Around, Moment, Own, Under, intervals, under};
use lens::waits::waited::{Group, Groups, Waited, Waits, groups, waits_of};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Why a log tells no times.
const NO_TIMES: &str = "the clock of the kernel's log counts events, or ticks of an unknown rate: \
                        the log tells no times; record with `trace-cmd record -C mono`, or state \
                        the rate: --clock-rate";
/// What is wrong with a log that has too many wakes.
const TOO_MANY: &str = "the log has too many wakes: some waits for threads are not followed";
/// Waits at which a worker looks in one piece.
const CHUNK: usize = 1 << 16;
/// The second number of the event that was open.
const OPEN: u32 = NONE - 1;
/// A question about a target.
#[derive(Debug)]
pub(crate) struct Question<'q> {
    /// The name or number of a process or a thread; if none, the process of the only program log.
    pub(crate) of: Option<&'q str>,
    /// The event types between which the time counts.
    pub(crate) between: Option<[&'q str; 2]>,
    /// How far a child may lie outside of its parent, in ns.
    pub(crate) grace: u64,
    /// Groups of waits that are wanted, at most.
    pub(crate) top: usize,
}

/// A kernel's log, read.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(crate) stream: u16,
    pub(crate) model: Model,
    pub(crate) faults: Faults,
    pub(crate) tracks: Tracks,
}

/// What is known of a target.
#[derive(Debug)]
pub(crate) struct Explained<'k> {
    pub(crate) kernel: &'k Kernel,
    pub(crate) names: Names<'k>,
    pub(crate) windows: Vec<Window>,
    pub(crate) account: Account,
    pub(crate) waits: Vec<Waited>,
    pub(crate) groups: Vec<Group>,
    /// For each of the first groups: what had the processor while threads waited for it, and how
    /// long, in ns.
    pub(crate) holders: Vec<BTreeMap<Holder, u64>>,
    /// How long the target ran, in ns, and the part of it that interrupts took.
    pub(crate) interrupted: (u64, BTreeMap<Interrupter, u64>),
    pub(crate) path: Path,
    pub(crate) path_of: u32,
    pub(crate) under: Under,
    /// The program's event that was open at each wait, by the place of the wait.
    pub(crate) open: HashMap<u32, Own, RandomState>,
    /// The moments of each wait and of its waker, by their indices in `under`.
    moments: Vec<[Option<u32>; 2]>,
    pub(crate) notes: Vec<String>,
}

impl Kernel {
    /// Reads the kernel of a log. Says what is wrong with the logs. With `is_same_boot` the user
    /// says that all logs are of one boot.
    pub(crate) fn read(log: &Log, is_same_boot: bool) -> Result<(Kernel, Clock), String> {
        let streams = model::kernel_streams(log);
        let [stream] = streams[..] else {
            return Err(match streams.len() {
                0 => {
                    "none of the inputs is a kernel log; record one with `eventcnv record --kernel`"
                        .into()
                }
                count => format!("{count} logs of a kernel are among the logs; name one"),
            });
        };
        let clock = Clock::led_by(log, stream, is_same_boot);
        let refused = match Kernel::on(log, (&clock, ClockBase::Monotonic), stream, is_same_boot) {
            Ok(kernel) => return Ok((kernel, clock)),
            Err(refused) => refused,
        };
        // The program may have been in a namespace of times: the other clock has none.
        let other = Clock::led_by_realtime(log, stream, is_same_boot);
        match Kernel::on(log, (&other, ClockBase::Realtime), stream, is_same_boot) {
            Ok(kernel) => Ok((kernel, other)),
            Err(_) => Err(refused),
        }
    }

    /// Reads the kernel of a log on a clock, if the clock is of this base.
    fn on(
        log: &Log,
        (clock, base): (&Clock, ClockBase),
        stream: u16,
        is_same_boot: bool,
    ) -> Result<Kernel, String> {
        check_clocks(log, (clock, base), stream, is_same_boot)?;
        if clock.base == ClockBase::Ticks && log.spans().iter().any(Option::is_some) {
            return Err(NO_TIMES.into());
        }
        let Some(source) = Source::of(log, stream, clock) else {
            return Err("the log of a kernel is empty".into());
        };
        let (model, faults) = build(log, &source);
        check_overlap(log, clock, stream, &model)?;
        let tracks = Tracks::of(log, clock, stream, &model);
        check_strangers(log, &tracks)?;
        Ok(Kernel { stream, model, faults, tracks })
    }

    /// Returns the time that is asked for, or what is wrong with the question.
    fn windows(&self, log: &Log, of: Option<&str>) -> Result<Vec<Window>, String> {
        let lives = match of {
            Some(target) => lives_of(&self.model, target),
            None => self.lives_of_program(log)?,
        };
        let Some(target) = of.filter(|_| lives.is_empty()) else {
            return Ok(windows_of(&self.model, &lives));
        };
        let former = windows_of_former(&self.model, target);
        if !former.is_empty() {
            return Ok(former);
        }
        let names: BTreeSet<String> = self.model.lives.iter().flat_map(names_of).collect();
        let known = names.iter().map(String::as_str).filter(|name| !name.is_empty());
        Err(format!("--of: {}", crate::open::select::unknown("thread", target, known)))
    }
}

/// Builds the model of a kernel's log, whose events all processors read.
fn build(log: &Log, source: &Source<'_>) -> (Model, Faults) {
    let mut builder = Builder::new(source, &Options::default());
    let work = |events: &mut Selected<'_>, emit: Emit<'_, Batch>| {
        let (mut batch, mut is_wanted) = (Batch::default(), true);
        events.each_while(|event| {
            if source.add(&mut batch, event) {
                is_wanted = emit(std::mem::take(&mut batch));
            }
            is_wanted
        });
        if is_wanted {
            emit(batch);
        }
    };
    let take = |batch: Batch| {
        builder.take(source, &batch);
        Ok(())
    };
    let faults = parallel::run(log, &Selection::of(source.filter()), Order::Time, work, take);
    (builder.finish(), faults.unwrap_or_default())
}

fn names_of(life: &Life) -> impl Iterator<Item = String> {
    let former = life.former.iter().map(|(_, name)| name);
    former.chain([&life.name]).map(|name| String::from_utf8_lossy(name).into_owned())
}

impl<'k> Explained<'k> {
    /// Explains the time of a target; or says what is wrong with the question.
    pub(crate) fn new(
        log: &Log,
        clock: &Clock,
        kernel: &'k Kernel,
        question: &Question<'_>,
    ) -> Result<Explained<'k>, String> {
        let (model, top) = (&kernel.model, question.top);
        let mut windows = kernel.windows(log, question.of)?;
        if let Some(between) = question.between {
            check_events(log, kernel.stream, between)?;
            let of = (kernel.stream, &kernel.tracks);
            windows = intervals(log, clock, of, between, &windows);
            if windows.is_empty() {
                let [from, to] = between;
                return Err(format!("no thread of the target has a {from} before a {to}"));
            }
        }
        let mut walker = Walker::new(model, question.grace);
        let account = account(model, &windows, &mut walker);
        let Waits { all: waits, dropped, ran, interrupted, unknown } =
            waits_of(model, &windows, &mut walker);
        let names = Names::new(model);
        let (moments, all) = moments_of(kernel, &names, &waits);
        let under = under(log, clock, kernel.stream, &all);
        let events = |moment: Option<u32>| {
            let around = moment.and_then(|at| under.around.get(at as usize));
            let Around { open, before, after, .. } = around.copied().unwrap_or_default();
            let name = |own: Option<Own>| own.map_or(NONE, |own| own.name);
            // The events around matter only where none is open.
            if open.is_some() { [name(open), OPEN] } else { [before, after].map(name) }
        };
        let events = |at: usize| moments.get(at).copied().unwrap_or_default().map(events);
        let Groups { all: mut groups, of } = groups(model, &names, &waits, events);
        let busy = Busy { most: ran.values().copied().max().unwrap_or(0), ran };
        groups.sort_by_key(|group| !busy.has(group.process));
        let shown = &groups[..groups.len().min(top)];
        let holders = holders_of(model, &names, &windows, (&waits, &of), shown);
        let window = longest(model, &windows, question.between.is_some(), &busy);
        let (path_of, path) = match window {
            Some(own) => (own.life, path(model, own.life, (own.from, own.to), &mut walker)),
            None => (NONE, Path::default()),
        };
        let open = open_at(&waits, &moments, &under);
        let mut notes = notes::of(model, &windows, dropped, unknown);
        notes.extend(notes::of_clock(log, kernel.stream, clock));
        notes.extend(kernel.doubts(log));
        notes.extend(Some(TOO_MANY.into()).filter(|_| !walker.is_complete()));
        Ok(Explained {
            kernel,
            names,
            account,
            waits,
            groups,
            holders,
            interrupted: (
                busy.ran.values().fold(0, |sum, ns| sum.saturating_add(*ns)),
                interrupted,
            ),
            path,
            path_of,
            under,
            open,
            moments,
            notes,
            windows,
        })
    }

    /// Returns the names of the locks that were waited for.
    pub(crate) fn locks(&self) -> Locks {
        let mut locks = Locks::default();
        for (at, waited) in self.waits.iter().enumerate() {
            let [own, _] = self.around(at);
            let Some(label) = own.and_then(|own| own.label) else { continue };
            let model = &self.kernel.model;
            let Some(wait) = model.stretch(waited.place) else { continue };
            let process = model.life(wait.life).map_or(0, |life| life.process);
            if let Some(futex) = self.names.futex(wait) {
                locks.insert((process, futex), self.under.name(label).to_owned());
            }
        }
        locks
    }

    /// Returns the program's events around a wait, and around the wake of its waker.
    pub(crate) fn around(&self, wait: usize) -> [Option<&Around>; 2] {
        let own = self.moments.get(wait).copied().unwrap_or_default();
        own.map(|at| at.and_then(|at| self.under.around.get(at as usize)))
    }
}

/// Returns who had the processor while the threads of each group waited for it.
fn holders_of(
    model: &Model,
    names: &Names<'_>,
    windows: &[Window],
    (waits, of): (&[Waited], &[u32]),
    groups: &[Group],
) -> Vec<BTreeMap<Holder, u64>> {
    let (Some(begin), Some(end)) = (
        windows.iter().map(|window| window.from).min(),
        windows.iter().map(|window| window.to).max(),
    ) else {
        return Vec::new();
    };
    let places: HashMap<u32, usize, RandomState> =
        groups.iter().map(|group| group.number).zip(0..).collect();
    let ready = |(waited, of): (&Waited, &u32)| {
        let of = *places.get(of)?;
        let wait = model.stretch(waited.place).filter(|wait| wait.delay() > 0)?;
        let from = wait.woken.max(wait.begin).max(begin);
        let (cpu, to, life) = (waited.cpu, wait.end.min(end), wait.life);
        Some(Ready { cpu, from, to, life, of })
    };
    let chunks = ranges(waits.len(), CHUNK);
    let work = |at: usize| {
        let chunk = chunks.get(at)?;
        let all = waits.get(chunk.clone())?.iter().zip(of.get(chunk.clone())?);
        Some(all.filter_map(ready).collect::<Vec<_>>())
    };
    let (_, all) = side_by_side(chunks.len(), || (), |(), at| work(at));
    let ready = all.into_iter().flatten().flatten().collect();
    holders(model, ready, groups.len(), |life, ns| names.bearer(life, ns))
}

/// Returns the program's event that was open at each wait, by the place of the wait.
fn open_at(
    waits: &[Waited],
    moments: &[[Option<u32>; 2]],
    under: &Under,
) -> HashMap<u32, Own, RandomState> {
    let open = |(waited, [own, _]): (&Waited, &[Option<u32>; 2])| {
        let around = under.around.get((*own)? as usize)?;
        Some((waited.place, around.open.or(around.before)?))
    };
    waits.iter().zip(moments).filter_map(open).collect()
}

/// Returns the moments of waits: where each began, and where its waker was as it woke it.
fn moments_of(
    kernel: &Kernel,
    names: &Names<'_>,
    waits: &[Waited],
) -> (Vec<[Option<u32>; 2]>, Vec<Moment>) {
    let mut all: Vec<Moment> = Vec::new();
    if kernel.tracks.is_empty() {
        return (vec![[None; 2]; waits.len()], all);
    }
    let model = &kernel.model;
    let moments = waits.iter().map(|waited| {
        let Some(wait) = model.stretch(waited.place) else { return [None; 2] };
        let object = names.futex(wait).unwrap_or(0);
        let waker = if wait.cause == Cause::Thread { wait.aid } else { NONE };
        let both = [(wait.life, waited.begin), (waker, wait.woken)];
        both.map(|(life, ns)| {
            let track = kernel.tracks.track(life)?;
            all.push(Moment { track, ns, object });
            Some(all.len() as u32 - 1)
        })
    });
    let moments = moments.collect();
    (moments, all)
}

/// Fails if the logs of programs lack an event type.
fn check_events(log: &Log, kernel: u16, between: [&str; 2]) -> Result<(), String> {
    let registries = log.registries().iter().filter(|registry| registry.stream != kernel);
    let names: Vec<&str> =
        registries.flat_map(|registry| &registry.event_types).map(|row| &*row.name).collect();
    if names.is_empty() {
        return Err("--from and --to need the log of the program".into());
    }
    for name in between {
        if !names.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            return Err(crate::open::select::unknown("event", name, names.iter().copied()));
        }
    }
    Ok(())
}

/// The run time in ns of each process of a target. A name may fit a stranger too, which slept all
/// the time: its few long waits come after those of processes that worked.
struct Busy {
    ran: HashMap<u32, u64, RandomState>,
    most: u64,
}

impl Busy {
    /// Returns whether a process ran for at least a hundredth of the time of the busiest one.
    fn has(&self, process: u32) -> bool {
        self.ran.get(&process).is_some_and(|ns| ns.saturating_mul(100) >= self.most)
    }
}

fn process_of(model: &Model, window: &Window) -> u32 {
    model.life(window.life).map_or(0, |life| life.process)
}

/// Returns the window whose critical path is shown: of a busy process the longest interval; of
/// whole lives, that of the first thread of a process, else the longest.
fn longest(model: &Model, windows: &[Window], is_interval: bool, busy: &Busy) -> Option<Window> {
    let leads = |window: &Window| {
        let life = model.life(window.life);
        !is_interval && life.is_some_and(|life| life.process == life.thread)
    };
    let is_busy = |window: &Window| busy.has(process_of(model, window));
    windows.iter().max_by_key(|own| (is_busy(own), leads(own), own.to - own.from)).copied()
}
