//! Which threads of a kernel's log are the threads of a program's log.
//!
//! ```text
//!  program  thread 1     e    e   e        e        a running thread records an event
//!  kernel   life 40    ├ run ┤  ├ run ┤  ├ run ┤    each event lies in a run: the same thread
//!           life 41         ├ run ┤      ├ run ┤    two events lie in none: another thread
//! ```
//!
//! Numbers alone do not tell: in a namespace of processes a program has numbers of its own, a
//! number is used again, and a log may be of another host. Design: `.waits.same` in
//! `design/waits.md`.

mod moments;

use crate::waits::model::{Life, Model, NONE, What};
use eventlog::reader::{Clock, Log};
use foldhash::fast::RandomState;
use moments::{Thread, threads};
use std::collections::{BTreeMap, HashMap};

/// An event this close to the begin or the end of a run, in ns, proves nothing: if both logs have
/// one counter, and else.
const GRACE_SAME: u64 = 1_000;
const GRACE: u64 = 50_000;
/// Events in as many runs of a thread prove that it is the thread, without its number or name.
const RUN_COUNT: u64 = 8;
/// The bytes of a thread's name that a kernel keeps.
const NAME_SIZE: usize = 15;

/// A thread of a program's log: its stream and its index there.
pub type Track = (u16, u32);

/// How many events of a program lie in the runs of a thread, and how many where it did not run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fit {
    /// In runs.
    pub hits: u64,
    /// These runs.
    pub runs: u64,
    /// In waits, or before and after the life of the thread.
    pub misses: u64,
}

impl Fit {
    fn add(&mut self, other: Fit) {
        self.hits += other.hits;
        self.runs += other.runs;
        self.misses += other.misses;
    }

    /// Returns whether it is the thread. A kernel that leaves out switches makes some misses.
    fn is_it(self) -> bool {
        self.hits > 0 && self.misses * 4 <= self.hits
    }

    /// Returns whether it is another thread.
    fn is_other(self) -> bool {
        self.hits < self.misses
    }
}

/// Which process of the kernel's log recorded a program's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The process with this first life.
    Process(u32),
    /// One of these processes, by their first lives: the log does not tell which.
    Several(Vec<u32>),
    /// The log has no events from the time of the kernel's log, and the process of its number has
    /// another name, or none exists.
    Untold,
    /// None: the events lie where the process of its number did not run.
    Stranger(Fit),
}

/// The threads of programs.
#[derive(Debug, Default)]
pub struct Tracks {
    /// The life of each thread.
    lives: HashMap<Track, u32, RandomState>,
    /// The thread of each life; of several, the last.
    tracks: HashMap<u32, Track, RandomState>,
    /// The number that each thread has for itself.
    numbers: HashMap<Track, u32, RandomState>,
    /// By stream.
    verdicts: BTreeMap<u16, Verdict>,
    /// The first life of the process of each life.
    firsts: Vec<u32>,
}

impl Tracks {
    /// Finds the threads of all streams except that of the kernel.
    pub fn of(log: &Log, clock: &Clock, kernel: u16, model: &Model) -> Tracks {
        let mut tracks = Tracks { firsts: firsts(model), ..Tracks::default() };
        let mut streams: BTreeMap<u16, Vec<Thread>> = BTreeMap::new();
        for stream in (0..log.streams().len() as u16).filter(|stream| *stream != kernel) {
            streams.insert(stream, Vec::new());
        }
        for thread in threads(log, clock, kernel, model) {
            tracks.numbers.insert(thread.track, thread.number);
            streams.entry(thread.track.0).or_default().push(thread);
        }
        let mut numbered: HashMap<u32, Vec<u32>, RandomState> = HashMap::default();
        for (at, life) in (0..).zip(&model.lives) {
            numbered.entry(life.thread).or_default().push(at);
        }
        let mut left = Vec::new();
        for (stream, threads) in &streams {
            let is_same = clock.lead(*stream) == clock.lead(kernel);
            let grace = if is_same { GRACE_SAME } else { GRACE };
            let of = Program { log, model, stream: *stream, threads, grace };
            let (fit, lives) = of.by_numbers(&numbered);
            if fit.is_it() {
                tracks.keep(&of, &lives);
            } else {
                left.push((of, fit, lives));
            }
        }
        let found = running(model, &left.iter().map(|(of, ..)| *of).collect::<Vec<_>>());
        for ((of, fit, lives), found) in left.iter().zip(found) {
            tracks.decide(of, (*fit, lives), &found);
        }
        tracks
    }

    /// Decides on a program that the lives of its numbers do not fit.
    fn decide(&mut self, of: &Program<'_>, (fit, lives): (Fit, &[u32]), found: &[Vec<u32>]) {
        let fits = of.by_runs(&self.firsts, found);
        let verdict = match &fits[..] {
            [(_, lives)] => return self.keep(of, lives),
            [_, _, ..] => Verdict::Several(fits.into_iter().map(|(first, _)| first).collect()),
            [] if fit.is_other() => Verdict::Stranger(fit),
            // The log has no events there, or the kernel's log lacks what the threads did.
            [] if fit.hits > 0 || of.has_name(lives) => return self.keep(of, lives),
            [] => Verdict::Untold,
        };
        self.verdicts.insert(of.stream, verdict);
    }

    /// Notes the lives of a program's threads.
    fn keep(&mut self, of: &Program<'_>, lives: &[u32]) {
        let first = |life: u32| self.firsts.get(life as usize).copied();
        let first = lives.iter().find_map(|life| first(*life)).unwrap_or(NONE);
        self.verdicts.insert(of.stream, Verdict::Process(first));
        for (thread, life) in of.threads.iter().zip(lives) {
            if *life != NONE {
                self.lives.insert(thread.track, *life);
                self.tracks.insert(*life, thread.track);
            }
        }
    }

    /// Returns the thread of a program's log that a life is.
    pub fn track(&self, life: u32) -> Option<Track> {
        self.tracks.get(&life).copied()
    }

    /// Returns the life that a thread of a program's log is.
    pub fn life(&self, track: Track) -> Option<u32> {
        self.lives.get(&track).copied()
    }

    /// Returns the number that a life has for itself, as its program's log tells it.
    pub fn number(&self, life: u32) -> Option<u32> {
        self.numbers.get(self.tracks.get(&life)?).copied()
    }

    /// Returns which process recorded each stream.
    pub fn verdicts(&self) -> impl Iterator<Item = (u16, &Verdict)> {
        self.verdicts.iter().map(|(stream, verdict)| (*stream, verdict))
    }

    /// Returns the stream of the process of a life.
    pub fn stream(&self, life: u32) -> Option<u16> {
        let first = self.firsts.get(life as usize)?;
        let is_its = |verdict: &Verdict| *verdict == Verdict::Process(*first);
        self.verdicts().find(|(_, verdict)| is_its(verdict)).map(|(stream, _)| stream)
    }

    /// Returns the lives of the process with this first life.
    pub fn process(&self, first: u32) -> Vec<u32> {
        (0..).zip(&self.firsts).filter(|(_, own)| **own == first).map(|(life, _)| life).collect()
    }

    /// Returns whether no thread is known.
    pub fn is_empty(&self) -> bool {
        self.lives.is_empty()
    }
}

/// A program's log, and what it is compared with.
#[derive(Clone, Copy)]
struct Program<'p> {
    log: &'p Log,
    model: &'p Model,
    stream: u16,
    threads: &'p [Thread],
    grace: u64,
}

impl Program<'_> {
    fn pid(&self) -> u32 {
        let stream = self.log.streams().get(usize::from(self.stream));
        stream.map_or(0, |stream| u32::try_from(stream.pid).unwrap_or(0))
    }

    /// Returns the life of each thread by its number in the log, and how they fit.
    fn by_numbers(&self, numbered: &HashMap<u32, Vec<u32>, RandomState>) -> (Fit, Vec<u32>) {
        let (mut sum, pid) = (Fit::default(), self.pid());
        let life = |thread: &Thread| {
            let lives = numbered.get(&thread.number).map(|lives| &lives[..]).unwrap_or_default();
            let is_of = |life: &&u32| {
                // A log that was imported may lack the process.
                let own = self.model.life(**life);
                own.is_some_and(|own| own.process == pid || own.process == 0)
            };
            let fits = lives.iter().filter(is_of).map(|life| (self.fit(*life, thread), *life));
            let best = fits.max_by_key(|(fit, _)| (fit.is_it(), std::cmp::Reverse(fit.misses)));
            let Some((fit, life)) = best else {
                let misses = thread.moments.len() as u64;
                sum.add(Fit { misses, ..Fit::default() });
                return NONE;
            };
            sum.add(fit);
            life
        };
        let lives = self.threads.iter().map(life).collect();
        (sum, lives)
    }

    /// Returns the processes whose threads ran as the program recorded its events: the first life
    /// of each, and the lives of the program's threads. They have the program's own number or its
    /// name, or many runs prove it. Of several, the one with the number counts, else with the name.
    /// `found` has the lives that ran at any moment of each thread.
    fn by_runs(&self, firsts: &[u32], found: &[Vec<u32>]) -> Vec<(u32, Vec<u32>)> {
        let mut all: BTreeMap<u32, (Fit, Vec<u32>)> = BTreeMap::new();
        for (at, (thread, found)) in self.threads.iter().zip(found).enumerate() {
            for life in found {
                let Some(first) = firsts.get(*life as usize) else { continue };
                let fit = self.fit(*life, thread);
                let none = || (Fit::default(), vec![NONE; self.threads.len()]);
                let (sum, lives) = all.entry(*first).or_insert_with(none);
                // A thread is one thread.
                let is_new = fit.is_it() && !lives.contains(life);
                if let Some(own) = lives.get_mut(at).filter(|own| **own == NONE && is_new) {
                    *own = *life;
                    sum.add(fit);
                }
            }
        }
        let number = |first: &u32| self.model.life(*first).map_or(0, |own| own.number);
        let is_numbered = |first: &u32| number(first) != 0 && number(first) == self.pid();
        let is_named = |first: &u32| self.has_name(&[*first]);
        all.retain(|first, (sum, lives)| {
            // Threads of the program that the process lacks.
            let lacking = self.threads.iter().zip(&*lives).filter(|(_, life)| **life == NONE);
            sum.misses += lacking.map(|(thread, _)| thread.moments.len() as u64).sum::<u64>();
            let is_told = is_numbered(first) || is_named(first) || sum.runs >= RUN_COUNT;
            sum.is_it() && is_told && [0, self.pid()].contains(&number(first))
        });
        // Some event may lie in a run of each of two threads. All of them lie in those of one.
        let most = all.values().map(|(sum, _)| sum.hits).max().unwrap_or(0);
        all.retain(|_, (sum, _)| sum.hits == most);
        let mut all: Vec<(u32, Vec<u32>)> =
            all.into_iter().map(|(first, (_, lives))| (first, lives)).collect();
        for is_it in [&is_numbered as &dyn Fn(&u32) -> bool, &is_named] {
            if all.len() > 1 && all.iter().any(|(first, _)| is_it(first)) {
                all.retain(|(first, _)| is_it(first));
            }
        }
        all
    }

    /// Returns whether any of these lives has the name of the program.
    fn has_name(&self, lives: &[u32]) -> bool {
        let stream = self.log.streams().get(usize::from(self.stream));
        let program = stream.map_or("", |stream| &*stream.program);
        let name = program.rsplit('/').next().unwrap_or_default().as_bytes();
        let name = name.get(..NAME_SIZE).unwrap_or(name);
        let is_it = |own: &[u8]| own.get(..NAME_SIZE).unwrap_or(own) == name && !name.is_empty();
        let is_it =
            |life: &Life| is_it(&life.name) || life.former.iter().any(|(_, former)| is_it(former));
        lives.iter().filter_map(|life| self.model.life(*life)).any(is_it)
    }

    /// Returns how the moments of a thread lie in the runs of a life.
    fn fit(&self, life: u32, thread: &Thread) -> Fit {
        let mut fit = Fit::default();
        let mut left = thread.moments.iter().rev().copied().peekable();
        let is_near = |a: u64, b: u64| a.abs_diff(b) <= self.grace;
        for (_, own) in self.model.backwards(life) {
            let before = fit.hits;
            while let Some(ns) = left.next_if(|ns| *ns >= own.begin) {
                match own.what {
                    What::Run if ns <= own.end => fit.hits += 1,
                    What::Unknown | What::Lost if ns <= own.end => {}
                    _ if is_near(ns, own.begin) || is_near(ns, own.end) => {}
                    _ => fit.misses += 1,
                }
            }
            fit.runs += u64::from(fit.hits > before);
        }
        // What was not kept of a life proves nothing.
        let begin = self.model.life(life).map_or(0, |own| own.begin);
        let is_before = |ns: &u64| *ns < begin.saturating_sub(self.grace);
        fit.misses += left.filter(is_before).count() as u64;
        fit
    }
}

/// Returns the lives that ran at any moment of each thread of each program.
fn running(model: &Model, programs: &[Program<'_>]) -> Vec<Vec<Vec<u32>>> {
    let none = |of: &Program<'_>| vec![Vec::new(); of.threads.len()];
    let mut found: Vec<Vec<Vec<u32>>> = programs.iter().map(none).collect();
    let mut all: Vec<(u64, usize, usize)> = Vec::new();
    for (program, of) in programs.iter().enumerate() {
        for (at, thread) in of.threads.iter().enumerate() {
            all.extend(thread.moments.iter().map(|ns| (*ns, program, at)));
        }
    }
    all.sort_unstable();
    let runs = model.stretches.iter().filter(|own| own.what == What::Run && !all.is_empty());
    for run in runs {
        let from = all.partition_point(|(ns, ..)| *ns < run.begin);
        for (_, program, at) in all.iter().skip(from).take_while(|(ns, ..)| *ns <= run.end) {
            let lives = found.get_mut(*program).and_then(|own| own.get_mut(*at));
            if let Some(lives) = lives.filter(|lives| !lives.contains(&run.life)) {
                lives.push(run.life);
            }
        }
    }
    found
}

/// Returns the first life of the process of each life. A number that was used again is another
/// process.
fn firsts(model: &Model) -> Vec<u32> {
    let mut leaders: HashMap<u32, Vec<u32>, RandomState> = HashMap::default();
    for (at, life) in (0..).zip(&model.lives).filter(|(_, life)| life.thread == life.process) {
        let known = leaders.entry(life.process).or_default();
        let last = known.last().and_then(|last| model.life(*last));
        // A thread that runs another program takes the number of the first one, which ends.
        if last.is_none_or(|last| last.is_ended && last.end <= life.begin) {
            known.push(at);
        }
    }
    let first = |(at, life): (u32, &Life)| {
        let known = leaders.get(&life.process).filter(|_| life.process != 0);
        let began = |leader: &u32| model.life(*leader).is_some_and(|own| own.begin <= life.begin);
        let known = known
            .and_then(|all| all.get(all.partition_point(began).saturating_sub(1)).or(all.first()));
        known.copied().unwrap_or(at)
    };
    (0..).zip(&model.lives).map(first).collect()
}
