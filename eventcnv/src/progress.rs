//! A bar on standard error, for long logs on a terminal.
//!
//! ```text
//!  reader ── read_at ──▶ Progress ──▶ Source        how much was read, of two passes over the log
//! ```
//!
//! Design: `.dumper` in `design/telemetry.md`.

use crate::input::AnySource;
use eventlog::reader::Source;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// What takes less goes without a bar.
const SILENCE: Duration = Duration::from_secs(1);

/// The bar, once there is one. It goes away with this.
#[derive(Default)]
pub(crate) struct Progress {
    bar: Arc<OnceLock<ProgressBar>>,
}

impl Progress {
    /// The same source, which shows how far it was read: unless standard error is no terminal, or
    /// would be disturbed because standard output is one.
    pub(crate) fn watch(&self, source: AnySource) -> AnySource {
        if !io::stderr().is_terminal() || io::stdout().is_terminal() {
            return source;
        }
        let (start, done, bar) = (Instant::now(), AtomicU64::new(0), Arc::clone(&self.bar));
        Box::new(Watched { source, start, done, bar })
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}

/// A source that shows how far it was read.
struct Watched {
    source: AnySource,
    start: Instant,
    done: AtomicU64,
    bar: Arc<OnceLock<ProgressBar>>,
}

impl Watched {
    /// The log is read twice: to find what is where, and to print it.
    fn total(&self) -> u64 {
        2 * self.source.size()
    }

    fn show(&self, done: u64) {
        if self.start.elapsed() < SILENCE {
            return;
        }
        let bar = self.bar.get_or_init(|| {
            let target = ProgressDrawTarget::stderr_with_hz(10);
            let bar = ProgressBar::with_draw_target(Some(self.total()), target);
            let style = ProgressStyle::with_template("{wide_bar} {percent}% {eta} left");
            bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        bar.set_position(done.min(self.total()));
    }
}

impl Source for Watched {
    fn size(&self) -> u64 {
        self.source.size()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let size = self.source.read_at(offset, buf)?;
        let before = self.done.fetch_add(size as u64, Ordering::Relaxed);
        self.show(before + size as u64);
        Ok(size)
    }
}
