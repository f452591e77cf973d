//! A progress bar on standard error, for long logs on a terminal.
//!
//! ```text
//!  reader ── read_at ──▶ Progress ──▶ Source
//!  ├ index ┤── pass ──┤── pass ──┤     bytes done of bytes known, over all passes
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
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::{Duration, Instant};

/// A shorter command shows no bar.
const SILENCE: Duration = Duration::from_secs(1);
/// Time between two drawings: also while nothing is read.
const TICK: Duration = Duration::from_millis(100);
/// Times are shown from this one on.
const LEFT_MIN: Duration = Duration::from_secs(1);

/// The bar, which disappears when this is dropped.
#[derive(Default)]
pub(crate) struct Progress {
    state: Arc<State>,
}

/// Bytes read, of a total, and the bar.
#[derive(Default)]
struct State {
    /// Bytes of the log, which each pass reads at most.
    size: AtomicU64,
    /// Bytes of the passes before this one, and bytes that this one has read.
    before: AtomicU64,
    read: AtomicU64,
    /// Passes that follow.
    left: AtomicU64,
    /// The end of the index: time and bytes. It reads headers alone, at another rate.
    indexed: OnceLock<(Instant, u64)>,
    bar: OnceLock<ProgressBar>,
    /// Held by the one thread that draws the bar.
    drawing: Mutex<()>,
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
        self.state.size.store(source.size(), Ordering::Relaxed);
        self.expect(1);
        Watched { source, start: Instant::now(), state: Arc::clone(&self.state) }
    }

    /// States how many passes follow the one that runs now.
    pub(crate) fn expect(&self, passes: u64) {
        self.state.left.store(passes, Ordering::Relaxed);
    }

    /// Begins a pass over the log.
    pub(crate) fn begin_pass(&self) {
        let State { size, before, read, left, indexed, .. } = &*self.state;
        let read = read.swap(0, Ordering::Relaxed);
        let done = match indexed.get() {
            None => read,
            Some(_) => size.load(Ordering::Relaxed),
        };
        let done = before.fetch_add(done, Ordering::Relaxed).saturating_add(done);
        indexed.get_or_init(|| (Instant::now(), done));
        // A pass that was not expected is one more.
        self.expect(left.load(Ordering::Relaxed).saturating_sub(1));
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
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

    /// Returns the bytes a second, and the time that is left at this rate: since the index, if that
    /// is known.
    fn pace(&self, start: Instant) -> (u64, Option<Duration>) {
        let (since, before) = self.indexed.get().copied().unwrap_or((start, 0));
        let (done, total) = self.done();
        let rate = done.saturating_sub(before) as f64 / since.elapsed().as_secs_f64();
        let left = Duration::try_from_secs_f64(total.saturating_sub(done) as f64 / rate).ok();
        (rate as u64, left)
    }
}

/// A source that shows how much of it was read.
struct Watched {
    source: AnySource,
    start: Instant,
    state: Arc<State>,
}

impl Watched {
    fn show(&self) {
        if self.start.elapsed() < SILENCE {
            return;
        }
        // Another thread draws it: what it draws may be later.
        let Ok(_drawing) = self.state.drawing.try_lock() else { return };
        let bar = self.state.bar.get_or_init(|| self.bar());
        let (done, total) = self.state.done();
        // No part of the bar is taken back.
        let total = total.max(1);
        let shown = bar.position() as f64 / bar.length().unwrap_or(total) as f64;
        bar.set_length(total);
        bar.set_position(done.max((shown * total as f64) as u64).min(total));
    }

    fn bar(&self) -> ProgressBar {
        let (state, start) = (Arc::downgrade(&self.state), self.start);
        let pace = move || Weak::upgrade(&state).map(|state| state.pace(start));
        let left = pace.clone();
        let style = ProgressStyle::with_template("{wide_bar} {percent}% {rate}, {left}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        let style = style
            .with_key("rate", move |_: &ProgressState, out: &mut dyn Write| {
                let rate = pace().map_or(0, |(rate, _)| rate);
                let _ = write!(out, "{}/s", BinaryBytes(rate));
            })
            .with_key("left", move |_: &ProgressState, out: &mut dyn Write| {
                let _ = match left().and_then(|(_, left)| left) {
                    Some(left) if left < LEFT_MIN => write!(out, "almost done"),
                    Some(left) => write!(out, "{} s left", left.as_secs()),
                    None => Ok(()),
                };
            });
        let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr_with_hz(10));
        let bar = bar.with_style(style);
        bar.enable_steady_tick(TICK);
        bar
    }
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
        self.show();
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
}
