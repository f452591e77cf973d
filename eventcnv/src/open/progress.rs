//! A progress bar on standard error, for long logs on a terminal.
//!
//! ```text
//!  reader ── read_at ──▶ Progress ──▶ Source
//!  ├ index ┤── pass ──┤── pass ──┤── step ──┤     bytes done of bytes known, over all passes
//!                   ↑ rate: of this pass     what the command does after it has read all
//! ```
//!
//! Design: `.dumper` in `design/telemetry.md`.

use crate::open::Stdout;
use crate::open::input::AnySource;
use eventlog::reader::Source;
use indicatif::{BinaryBytes, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// A shorter command shows no bar.
const SILENCE: Duration = Duration::from_secs(1);
/// Time between two drawings: also while nothing is read.
const TICK: Duration = Duration::from_millis(100);
/// Times are shown from this one on, and a pass tells its rate after as long.
const MOMENT: Duration = Duration::from_secs(1);

/// The bar, which disappears when this is dropped.
#[derive(Default)]
pub(crate) struct Progress {
    state: Arc<State>,
}

/// Bytes read, of a total, and the bar.
#[derive(Default)]
struct State {
    /// When the command began to read, if a bar may appear.
    start: OnceLock<Instant>,
    /// Bytes of the log, which each pass reads at most.
    size: AtomicU64,
    /// Bytes of the passes before this one, and bytes that this one has read.
    before: AtomicU64,
    read: AtomicU64,
    /// Passes that follow.
    left: AtomicU64,
    /// The beginnings of the last pass and of the one before: time and bytes. The index is none: it
    /// reads headers alone, at another rate.
    passes: Mutex<[Option<(Instant, u64)>; 2]>,
    /// What the command does after it has read the log, and since when.
    step: Mutex<Option<(&'static str, Instant)>>,
    bar: OnceLock<ProgressBar>,
    /// Held by the one thread that draws the bar: whether the bar has disappeared.
    drawing: Mutex<bool>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Progress {
    /// Returns the source with a bar: only if standard error is a terminal and the output meanwhile
    /// does not go to one.
    pub(crate) fn watch(&self, source: AnySource, stdout: Stdout) -> AnySource {
        let is_disturbing = stdout == Stdout::Used && io::stdout().is_terminal();
        if !io::stderr().is_terminal() || is_disturbing {
            return source;
        }
        Box::new(self.watched(source))
    }

    fn watched(&self, source: AnySource) -> Watched {
        self.state.start.get_or_init(Instant::now);
        self.state.size.store(source.size(), Ordering::Relaxed);
        self.expect(1);
        Watched { source, state: Arc::clone(&self.state) }
    }

    /// States how many passes follow the one that runs now.
    pub(crate) fn expect(&self, passes: u64) {
        self.state.left.store(passes, Ordering::Relaxed);
    }

    /// Begins a pass over the log.
    pub(crate) fn begin_pass(&self) {
        let State { size, before, read, left, passes, .. } = &*self.state;
        let (mut passes, read) = (lock(passes), read.swap(0, Ordering::Relaxed));
        let done = match passes[0] {
            None => read,
            Some(_) => size.load(Ordering::Relaxed),
        };
        let done = before.fetch_add(done, Ordering::Relaxed).saturating_add(done);
        *passes = [Some((Instant::now(), done)), passes[0]];
        // A pass that was not expected is one more.
        self.expect(left.load(Ordering::Relaxed).saturating_sub(1));
    }

    /// States what the command does from now on, when it has read the log.
    pub(crate) fn step(&self, what: &'static str) {
        let state = &self.state;
        let Some(start) = state.start.get() else { return };
        *lock(&state.step) = Some((what, Instant::now()));
        state.read.store(state.size.load(Ordering::Relaxed), Ordering::Relaxed);
        self.expect(0);
        // A step may read nothing, and so draw no bar.
        let (state, silence) = (Arc::downgrade(state), SILENCE.saturating_sub(start.elapsed()));
        let show = move || {
            thread::sleep(silence);
            state.upgrade().inspect(State::show);
        };
        // Without a thread the bar is missing, and nothing else.
        let _ = thread::Builder::new().spawn(show);
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        *lock(&self.state.drawing) = true;
        if let Some(bar) = self.state.bar.get() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}

impl State {
    /// Returns the bytes that are done, and all bytes of all passes.
    fn done(&self) -> (u64, u64) {
        let [size, before, read, left] =
            [&self.size, &self.before, &self.read, &self.left].map(|n| n.load(Ordering::Relaxed));
        let end = before.saturating_add(size);
        (before.saturating_add(read).min(end), end.saturating_add(left.saturating_mul(size)))
    }

    /// Returns the bytes a second, and the time that is left to read at this rate: that of this
    /// pass; at its beginning, that of the pass before too.
    fn pace(&self) -> (u64, Option<Duration>) {
        let passes = *lock(&self.passes);
        let told = passes.into_iter().flatten().find(|(since, _)| since.elapsed() >= MOMENT);
        let begin = self.start.get().map(|start| (*start, 0));
        let Some((since, before)) = told.or(passes[0]).or(begin) else { return (0, None) };
        let (done, total) = self.done();
        let rate = done.saturating_sub(before) as f64 / since.elapsed().as_secs_f64();
        let left = Duration::try_from_secs_f64(total.saturating_sub(done) as f64 / rate).ok();
        (rate as u64, left)
    }

    /// Returns what the bar tells next to the percentage.
    fn told(&self) -> String {
        if let Some((what, since)) = *lock(&self.step) {
            return format!("{what}, {} s", since.elapsed().as_secs());
        }
        let (rate, left) = self.pace();
        let reading = format!("reading, {}/s", BinaryBytes(rate));
        match left {
            Some(left) if left >= MOMENT => format!("{reading}, {} s left", left.as_secs()),
            _ => reading,
        }
    }

    fn show(self: &Arc<State>) {
        if self.start.get().is_none_or(|start| start.elapsed() < SILENCE) {
            return;
        }
        // Another thread draws it: what it draws may be later.
        let Ok(has_disappeared) = self.drawing.try_lock() else { return };
        if *has_disappeared {
            return;
        }
        let bar = self.bar.get_or_init(|| self.bar());
        let (done, total) = self.done();
        // No part of the bar is taken back.
        let total = total.max(1);
        let shown = bar.position() as f64 / bar.length().unwrap_or(total) as f64;
        bar.set_length(total);
        bar.set_position(done.max((shown * total as f64) as u64).min(total));
    }

    fn bar(self: &Arc<State>) -> ProgressBar {
        let state = Arc::downgrade(self);
        let style = ProgressStyle::with_template("{wide_bar} {percent}% {told}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        let style = style.with_key("told", move |_: &ProgressState, out: &mut dyn Write| {
            let _ = write!(out, "{}", state.upgrade().map_or(String::new(), |state| state.told()));
        });
        let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr_with_hz(10));
        let bar = bar.with_style(style);
        bar.enable_steady_tick(TICK);
        bar
    }
}

/// A source that shows how much of it was read.
struct Watched {
    source: AnySource,
    state: Arc<State>,
}

impl Source for Watched {
    fn late(&self) -> &[Range<u64>] {
        self.source.late()
    }

    fn size(&self) -> u64 {
        self.source.size()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let size = self.source.read_at(offset, buf)?;
        self.state.read.fetch_add(size as u64, Ordering::Relaxed);
        self.state.show();
        Ok(size)
    }

    fn size_now(&self) -> io::Result<u64> {
        self.source.size_now()
    }

    fn is_still(&self) -> bool {
        self.source.is_still()
    }

    fn copied(&self) -> Option<bool> {
        self.source.copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eventlog::reader::{Filter, Log, Options, Order};

    #[test]
    fn the_bar_is_full_after_the_last_event_of_all_passes() {
        let log =
            include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/mps/mpmss-cut.log"))
                .to_vec();
        let progress = Progress::default();
        let source = Box::new(progress.watched(Box::new(log)));
        let log = Log::with_source(source, &Options::default()).unwrap();
        progress.expect(3);
        let share = || {
            let (done, total) = progress.state.done();
            done as f64 / total as f64
        };
        let mut shares = vec![share()];
        for _ in 0..3 {
            progress.begin_pass();
            shares.push(share());
            let mut events = log.events(Order::Time, &Filter::default());
            while events.next().is_some() {}
            shares.push(share());
        }
        assert!(shares.is_sorted(), "{shares:?}");
        assert_eq!(shares.last(), Some(&1.0));
    }
    /// A log that takes a while to read.
    struct Slow {
        log: Vec<u8>,
        pause: Arc<AtomicU64>,
    }

    impl Source for Slow {
        fn size(&self) -> u64 {
            self.log.len() as u64
        }

        fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
            thread::sleep(Duration::from_millis(self.pause.load(Ordering::Relaxed)));
            self.log.read_at(offset, buf)
        }
    }

    /// `.dumper`: a pass is slower than the one before, and a step follows.
    #[test]
    fn the_time_that_is_left_follows_the_pass_that_runs() {
        let (size, count) = (1 << 20, 64);
        let (progress, pause) = (Progress::default(), Arc::new(AtomicU64::new(1)));
        let log = Slow { log: vec![0; size], pause: Arc::clone(&pause) };
        let source = progress.watched(Box::new(log));
        progress.expect(2);
        let mut buf = vec![0; size / count];
        let mut promises = Vec::new();
        for ms in [1, 60] {
            pause.store(ms, Ordering::Relaxed);
            progress.begin_pass();
            let begin = Instant::now();
            for at in 0..count {
                source.read_at((at * buf.len()) as u64, &mut buf).unwrap();
                let left = progress.state.pace().1.unwrap_or_default();
                let told = progress.state.told();
                assert!(!told.contains(" 0 s left"), "{told}");
                promises.push((begin.elapsed(), left));
            }
        }
        let (end, _) = *promises.last().unwrap();
        let slow = promises.iter().skip(count).filter(|(at, _)| *at > MOMENT);
        for (at, left) in slow.clone() {
            let truth = (end - *at).as_secs_f64();
            let left = left.as_secs_f64();
            assert!((left - truth).abs() < 0.5 * truth + 0.5, "{left} s for {truth} s");
        }
        assert!(slow.count() > count / 4, "{promises:?}");
        progress.step("building");
        assert!(progress.state.told().starts_with("building, 0 s"));
        assert_eq!(progress.state.done(), (2 * size as u64, 2 * size as u64));
    }
}
