//! A progress bar on standard error, for long logs on a terminal.
//!
//! ```text
//!  reader ── read_at ──▶ Progress ──▶ Source
//!  ├─ index: headers, or all ─┤─ print: all ─┤    the bar shows the bytes read in both passes
//! ```
//!
//! Design: `.dumper` in `design/telemetry.md`.

use super::Stdout;
use crate::input::AnySource;
use eventlog::reader::Source;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// A shorter command shows no bar.
const SILENCE: Duration = Duration::from_secs(1);

/// The bar, which disappears when this is dropped.
#[derive(Default)]
pub(crate) struct Progress {
    state: Arc<State>,
}

/// Bytes read, of a total, and the bar.
#[derive(Default)]
struct State {
    done: AtomicU64,
    total: AtomicU64,
    bar: OnceLock<ProgressBar>,
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
        // As an estimate, the log is read twice: for the index and for the output.
        self.state.total.store(source.size().saturating_mul(2), Ordering::Relaxed);
        Watched { source, start: Instant::now(), state: Arc::clone(&self.state) }
    }

    /// Ends the first pass: the second one reads `size` bytes.
    pub(crate) fn begin_events(&self, size: u64) {
        let done = self.state.done.load(Ordering::Relaxed);
        self.state.total.store(done.saturating_add(size), Ordering::Relaxed);
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

/// A source that shows how much of it was read.
struct Watched {
    source: AnySource,
    start: Instant,
    state: Arc<State>,
}

impl Watched {
    fn show(&self, done: u64) {
        if self.start.elapsed() < SILENCE {
            return;
        }
        let total = self.state.total.load(Ordering::Relaxed);
        let bar = self.state.bar.get_or_init(|| {
            let target = ProgressDrawTarget::stderr_with_hz(10);
            let bar = ProgressBar::with_draw_target(Some(total), target);
            let style = ProgressStyle::with_template(
                "{wide_bar} {percent}% {binary_bytes_per_sec} {eta} left",
            );
            bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        bar.set_length(total);
        bar.set_position(done.min(total));
    }
}

impl Source for Watched {
    fn size(&self) -> u64 {
        self.source.size()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let size = self.source.read_at(offset, buf)?;
        let before = self.state.done.fetch_add(size as u64, Ordering::Relaxed);
        self.show(before + size as u64);
        Ok(size)
    }

    fn is_still(&self) -> bool {
        self.source.is_still()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eventlog::reader::{Filter, Log, Options, Order};

    #[test]
    fn the_bar_is_full_after_the_last_event() {
        let log = include_bytes!("../../tests/golden/mps/mpmss-cut.log").to_vec();
        let progress = Progress::default();
        let source = Box::new(progress.watched(Box::new(log)));
        let log = Log::with_source(source, &Options::default()).unwrap();
        progress.begin_events(log.size());
        let mut events = log.events(Order::Time, &Filter::default());
        while events.next().is_some() {}
        let done = progress.state.done.load(Ordering::Relaxed);
        assert_eq!(done, progress.state.total.load(Ordering::Relaxed));
    }
}
