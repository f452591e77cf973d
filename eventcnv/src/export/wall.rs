//! Finds the wall time of an event: the next event is near the last one.
//!
//! Design: `.cnv.sql`, `.cnv.parquet` in `design/eventcnv.md`.

use eventlog::reader::Log;

/// The wall clocks of the streams of a log.
pub(crate) struct Wall<'l> {
    log: &'l Log,
    /// The position of the last event among the syncs of each stream.
    near: Vec<usize>,
}

impl<'l> Wall<'l> {
    pub(crate) fn new(log: &'l Log) -> Wall<'l> {
        Wall { log, near: vec![0; log.streams().len()] }
    }

    /// Returns the time of ticks in ns since 1970, if their stream states it.
    #[inline]
    pub(crate) fn time(&mut self, stream: u16, ticks: u64) -> Option<u64> {
        let stream = usize::from(stream);
        let (stream, near) = self.log.streams().get(stream).zip(self.near.get_mut(stream))?;
        Some(stream.wall_time_near(ticks, near)?.realtime)
    }
}
