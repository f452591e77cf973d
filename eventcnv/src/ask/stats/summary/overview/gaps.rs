//! The longest stretches of time without events.
//!
//! ```text
//!  Timeline of each thread ──▶ gaps of the stream and of each thread, where the history has begun
//! ```
//!
//! Design: `.cnv.gaps`, `.cnv.history` in `design/eventcnv.md`.

use crate::ask::stats::summary::overview::{ThreadNames, thread_name};
use crate::ask::stats::summary::timeline::{Gap, Timeline};
use crate::ask::stats::summary::{OTHERS, Summary, seconds};
use eventlog::reader::{History, Stream};
use std::collections::BTreeMap;

/// Gaps of a stream that an overview lists.
const GAP_COUNT: usize = 3;

/// A stretch without events.
pub(crate) struct GapOverview {
    /// The name of a thread, or "all".
    pub(crate) of: String,
    pub(crate) stream: u16,
    pub(crate) gap: Gap,
    pub(crate) seconds: Option<f64>,
    /// From the first event of the stream to the gap.
    pub(crate) seconds_before: Option<f64>,
}

/// Returns the longest gaps of each stream, and the longest of each thread. Where a buffer lacks
/// its first events, nothing is known of gaps before the others.
pub(super) fn gaps(
    summary: &Summary,
    names: &ThreadNames,
    streams: &[Stream],
    times: &BTreeMap<u16, (u64, u64)>,
    history: &History,
) -> Vec<GapOverview> {
    let mut gaps = Vec::new();
    let since = |stream: u16, thread: Option<u32>| {
        let buffers = summary.buffers.iter().map(|(key, _)| key);
        let buffers =
            buffers.filter(|(of, _, by)| *of == stream && thread.is_none_or(|t| t == *by));
        let begins = buffers.filter_map(|(_, buffer, _)| history.begin_of(stream, buffer));
        begins.max().unwrap_or(0)
    };
    let mut push = |of: String, number: u16, gap: Gap| {
        let stream = streams.get(usize::from(number));
        let first = times.get(&number).map_or(gap.from, |times| times.0);
        let seconds = |from, to| stream.and_then(|stream| seconds(stream, from, to));
        gaps.push(GapOverview {
            of,
            stream: number,
            gap,
            seconds: seconds(gap.from, gap.to),
            seconds_before: seconds(first, gap.from),
        });
    };
    let is_stream_shown = streams.len() > 1;
    for &stream in times.keys() {
        let range = (stream, 0)..=(stream, u32::MAX);
        let timelines = summary.timelines.range(range);
        let of_stream: BTreeMap<u32, &Timeline> =
            timelines.map(|((_, thread), timeline)| (thread, timeline)).collect();
        let Some((_, &first)) = of_stream.first_key_value() else { continue };
        let mut all = first.clone();
        of_stream.values().skip(1).for_each(|timeline| all.merge(timeline));
        let name = if is_stream_shown { format!("stream {stream}: all") } else { "all".to_owned() };
        all.gaps(GAP_COUNT, since(stream, None))
            .into_iter()
            .for_each(|gap| push(name.clone(), stream, gap));
        if of_stream.len() > 1 {
            for (&thread, timeline) in &of_stream {
                let name = thread_name(names, (stream, thread), is_stream_shown);
                let since = since(stream, Some(thread).filter(|thread| *thread != OTHERS));
                let longest = timeline.gaps(1, since).into_iter();
                longest.for_each(|gap| push(format!("thread {name}"), stream, gap));
            }
        }
    }
    gaps
}
