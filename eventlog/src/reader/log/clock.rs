//! Ticks of all streams as nanoseconds of one clock.
//!
//! ```text
//!  all streams of one boot ─ yes ─▶ CLOCK_MONOTONIC, through the syncs
//!                          └ no ──▶ do all have syncs? ─ yes ─▶ CLOCK_REALTIME
//!                                   a rate? ─ yes ─▶ ns since the first event, else ticks as ns
//!
//!  streams of one boot and one counter ──▶ the lines of one of them, for all
//! ```
//!
//! Times between two syncs lie on the line through them; times beyond lie on the nearest line.
//! Design: `.cnv.clock` in `design/eventcnv.md`, `.rep.time` in `design/replay.md`.

use super::Log;
use crate::format::{ClockSource, ClockSync};
use crate::reader::model::stream::Stream;
use crate::reader::model::time::on_line;
use std::sync::Arc;

/// The zero of a [`Clock`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockBase {
    /// CLOCK_MONOTONIC.
    Monotonic,
    /// CLOCK_REALTIME: ns since 1970.
    Realtime,
    /// The first event of each stream.
    Start,
    /// The log does not tell how long a tick is: each counts as a ns.
    Ticks,
}

/// A point of a line: ticks and ns.
type Point = (u64, u64);
/// The lines of a stream: points in ascending order of ticks.
type Lines = Arc<[Point]>;

/// The common clock of the streams of a log, in ns.
#[derive(Debug)]
pub struct Clock {
    /// The zero of the clock.
    pub base: ClockBase,
    /// CLOCK_MONOTONIC and CLOCK_REALTIME of one moment, if both are known.
    pub sync: Option<(u64, u64)>,
    /// At least two points for each stream.
    lines: Vec<Lines>,
    /// The stream whose lines each stream has.
    leads: Vec<u16>,
}

impl Clock {
    /// Returns the clock of a log.
    pub fn new(log: &Log) -> Clock {
        Clock::of(log, None, false, true)
    }

    /// Returns the clock of a log in which a stream leads: all streams of its boot and its counter
    /// have its lines. With `is_one_boot` the caller knows that streams which do not state their
    /// boot are of the boot of the others.
    pub fn led_by(log: &Log, lead: u16, is_one_boot: bool) -> Clock {
        Clock::of(log, Some(lead), is_one_boot, true)
    }

    /// Returns the same by CLOCK_REALTIME: a namespace of times has a CLOCK_MONOTONIC of its own.
    pub fn led_by_realtime(log: &Log, lead: u16, is_one_boot: bool) -> Clock {
        Clock::of(log, Some(lead), is_one_boot, false)
    }

    fn of(log: &Log, lead: Option<u16>, is_one_boot: bool, has_monotonic: bool) -> Clock {
        let spans: Vec<Option<Point>> = log.spans();
        let boots = boots(log.streams(), is_one_boot);
        let counted = || (0..).zip(&spans).filter(|(_, span)| span.is_some()).map(|(at, _)| at);
        let first = counted().next();
        let boot = |at: usize| boots.get(at).copied().unwrap_or_default();
        let is_same = |at| boot(at) != [0; 16] && Some(boot(at)) == first.map(boot);
        let is_one_boot = counted().count() == 1 || counted().all(is_same);
        let led = |ns| {
            let (lines, leads) = led(log.streams(), (&boots, &spans), lead, ns);
            let has_lines = |at: usize| lines.get(at).is_some_and(|lines| lines.len() > 1);
            counted().all(has_lines).then_some((lines, leads))
        };
        let alone = |lines: Vec<Lines>| (lines, (0..log.streams().len() as u16).collect());
        let monotonic = || led(|sync| sync.monotonic).filter(|_| is_one_boot && has_monotonic);
        let realtime = || led(|sync| sync.realtime);
        let (base, (lines, leads)) = if first.is_none() {
            (ClockBase::Ticks, alone(Vec::new()))
        } else if let Some(led) = monotonic() {
            (ClockBase::Monotonic, led)
        } else if let Some(led) = realtime() {
            (ClockBase::Realtime, led)
        } else if counted().all(|at| log.streams().get(at).is_some_and(|own| own.clock_rate > 0)) {
            let start = |(stream, span): (&Stream, &Option<Point>)| {
                at_rate((span.map_or(0, |(first, _)| first), 0), stream.clock_rate).into()
            };
            (ClockBase::Start, alone(log.streams().iter().zip(&spans).map(start).collect()))
        } else {
            (ClockBase::Ticks, alone(Vec::new()))
        };
        let told = first.and_then(|at| leads.get(at)).and_then(|lead| {
            log.streams().get(usize::from(*lead)).and_then(|stream| stream.syncs.first())
        });
        let sync = told.filter(|_| base == ClockBase::Monotonic);
        let sync = sync.map(|sync| (sync.monotonic, sync.realtime));
        Clock { base, sync, lines, leads }
    }

    /// Returns the stream whose lines a stream has. Ticks of streams with the same lines compare.
    pub fn lead(&self, stream: u16) -> u16 {
        self.leads.get(usize::from(stream)).copied().unwrap_or(stream)
    }

    /// Returns the first ticks of a stream whose ns are not less than these.
    pub fn ticks(&self, stream: u16, ns: u64) -> u64 {
        let points = self.lines.get(usize::from(stream)).map_or(&[][..], |points| points);
        let after = points.partition_point(|(_, at)| *at < ns);
        let pair = after.saturating_sub(1).min(points.len().saturating_sub(2));
        let (Some(&from), Some(&to)) = (points.get(pair), points.get(pair + 1)) else { return ns };
        let way = i128::from(ns) - i128::from(from.1);
        let (run, rise) = (i128::from(to.0) - i128::from(from.0), i128::from(to.1 - from.1));
        let up = way.checked_mul(run).and_then(|product| product.checked_add(rise - 1));
        let Some(ticks) = up.and_then(|product| product.checked_div_euclid(rise)) else {
            return from.0;
        };
        i128::from(from.0).saturating_add(ticks).clamp(0, u64::MAX.into()) as u64
    }

    /// Returns the ns of ticks of a stream.
    pub fn ns(&self, stream: u16, ticks: u64) -> u64 {
        self.ns_near(stream, ticks, &mut 0)
    }

    /// Returns the length of ticks of a stream in all: ticks, and their ns. Of (1, 1) each tick
    /// counts as a ns.
    pub fn scale(&self, stream: u16) -> (u64, u64) {
        let points = self.lines.get(usize::from(stream)).map_or(&[][..], |points| points);
        match points {
            [(from, start), .., (to, end)] if to > from => (to - from, end.saturating_sub(*start)),
            _ => (1, 1),
        }
    }

    /// Returns the ns of ticks of a stream, faster for ascending ticks. `near` keeps the index of
    /// the last line of the stream; it begins as 0.
    #[inline]
    pub fn ns_near(&self, stream: u16, ticks: u64, near: &mut usize) -> u64 {
        let Some(points) = self.lines.get(usize::from(stream)) else { return ticks };
        let pair_at = |pair: usize| Some((*points.get(pair)?, *points.get(pair + 1)?));
        let pair = pair_at(*near).filter(|(from, to)| (from.0..to.0).contains(&ticks));
        let pair = pair.or_else(|| {
            let after = points.partition_point(|(at, _)| *at <= ticks);
            *near = after.saturating_sub(1).min(points.len().saturating_sub(2));
            pair_at(*near)
        });
        let Some((from, to)) = pair else { return ticks };
        on_line(from, to, ticks).unwrap_or(if ticks < from.0 { 0 } else { u64::MAX })
    }
}

/// Returns the boot of each stream. With `is_one_boot`, streams that state none are of the boot of
/// another.
fn boots(streams: &[Stream], is_one_boot: bool) -> Vec<[u8; 16]> {
    let stated = streams.iter().map(|stream| stream.boot_id).find(|boot| *boot != [0; 16]);
    let other = stated.filter(|_| is_one_boot).unwrap_or_default();
    let boot = |stream: &Stream| if stream.boot_id == [0; 16] { other } else { stream.boot_id };
    streams.iter().map(boot).collect()
}

/// Returns the lines of each stream, and the stream that they are of. Ticks of one counter have one
/// order and one length, and the clocks that the syncs read may differ: by the time between the
/// readings, and by the whole offset of a namespace of times. So streams of a counter that overlap
/// have the lines of one of them: of the one whose syncs lie furthest apart. With `lead`, all
/// streams of its counter have its lines.
fn led(
    streams: &[Stream],
    (boots, spans): (&[[u8; 16]], &[Option<Point>]),
    lead: Option<u16>,
    ns: fn(&ClockSync) -> u64,
) -> (Vec<Lines>, Vec<u16>) {
    let own = |stream: &Stream| -> Lines {
        let is_known = stream.syncs.iter().all(|sync| ns(sync) > 0);
        if is_known { through(stream, ns).into() } else { Arc::default() }
    };
    let lines: Vec<Lines> = streams.iter().map(own).collect();
    let counters = [ClockSource::Tsc, ClockSource::ArmTimer].map(|source| source as u32);
    let counted = |at: usize| {
        let (boot, source) = (*boots.get(at)?, streams.get(at)?.clock_source);
        let span = spans.get(at).copied().flatten()?;
        let is_counter = boot != [0; 16] && counters.contains(&source);
        is_counter.then_some(((boot, source), span, at))
    };
    let mut all: Vec<_> = (0..streams.len()).filter_map(counted).collect();
    all.sort_unstable();
    let worth = |at: usize| {
        let own = lines.get(at).filter(|own| own.len() > 1)?;
        let is_measured = streams.get(at).is_some_and(|stream| stream.syncs.len() > 1);
        let length = own.last()?.0.saturating_sub(own.first()?.0);
        Some((lead == Some(at as u16), is_measured, length))
    };
    // Streams that overlap, one after the other: counter, end, members.
    let mut groups: Vec<(_, u64, Vec<usize>)> = Vec::new();
    for (counter, (first, last), at) in all {
        let is_in =
            |group: &&mut (_, u64, _)| group.0 == counter && (lead.is_some() || first <= group.1);
        match groups.last_mut().filter(is_in) {
            Some((_, end, members)) => {
                *end = last.max(*end);
                members.push(at);
            }
            None => groups.push((counter, last, vec![at])),
        }
    }
    let mut leads: Vec<u16> = (0..streams.len() as u16).collect();
    for (.., members) in groups {
        // Of equals, the first in the log.
        let best = members.iter().copied().max_by_key(|at| (worth(*at), std::cmp::Reverse(*at)));
        let Some(best) = best.filter(|best| worth(*best).is_some()) else { continue };
        for at in members {
            leads.get_mut(at).into_iter().for_each(|lead| *lead = best as u16);
        }
    }
    let of = |lead: &u16| lines.get(usize::from(*lead)).cloned().unwrap_or_default();
    (leads.iter().map(of).collect(), leads)
}

/// Returns the points of a stream's syncs; from a single sync, a line by the stream's rate.
fn through(stream: &Stream, ns: fn(&ClockSync) -> u64) -> Vec<Point> {
    let mut points: Vec<Point> = Vec::with_capacity(stream.syncs.len());
    for sync in &stream.syncs {
        let point = (sync.ticks, ns(sync));
        // A line never goes back: a clock that was set back stands still.
        match points.last() {
            Some(last) if point.0 <= last.0 => {}
            Some(last) => points.push((point.0, point.1.max(last.1))),
            None => points.push(point),
        }
    }
    match points.as_slice() {
        [one] => at_rate(*one, stream.clock_rate),
        _ => points,
    }
}

/// Returns the line from a point on, at a rate in ticks a second.
fn at_rate(from: Point, rate: u64) -> Vec<Point> {
    match rate {
        0 => Vec::new(),
        rate => vec![from, (from.0.saturating_add(rate), from.1.saturating_add(1_000_000_000))],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::writer::{Maker, Origin};

    fn clock(line: Vec<Point>) -> Clock {
        let lines = vec![line.into()];
        Clock { base: ClockBase::Monotonic, sync: Some((1000, 5000)), lines, leads: vec![0] }
    }

    /// `.cnv.clock`
    #[test]
    fn ticks_lie_on_the_lines_through_the_syncs() {
        let clock = clock(vec![(100, 1000), (200, 2000), (300, 2500)]);
        for (ticks, ns) in
            [(0, 0), (50, 500), (100, 1000), (150, 1500), (200, 2000), (250, 2250), (400, 3000)]
        {
            assert_eq!(clock.ns(0, ticks), ns, "{ticks}");
        }
        assert_eq!(clock.ns(7, 42), 42, "an unknown stream");
        assert_eq!([clock.scale(0), clock.scale(7)], [(200, 1500), (1, 1)]);
        assert!(clock.ns(0, u64::MAX) > 1 << 60);
        for (ticks, ns) in [(0, 0), (50, 500), (100, 1000), (151, 1501), (202, 2010), (400, 3000)] {
            assert_eq!(clock.ticks(0, ns), ticks, "{ns}");
        }
        assert!(clock.ticks(0, u64::MAX) > 1 << 60);
        assert_eq!(clock.ticks(7, 42), 42, "an unknown stream");
        assert_eq!(at_rate((7, 70), 0), []);
        assert_eq!(at_rate((7, 70), 500), [(7, 70), (507, 1_000_000_070)]);
    }

    /// Returns a log of streams of one counter of 2 ticks a ns: boot, and what the clock of a
    /// stream is ahead at its syncs, in ns.
    fn log(streams: &[(u8, ClockSource, [u64; 2])]) -> Log {
        let mut bytes = Vec::new();
        let mut maker = Maker::new(&mut bytes);
        for (at, (boot, source, ahead)) in (1..).zip(streams) {
            let mut origin = Origin::new();
            (origin.uuid, origin.boot_id) = ([at; 16], [*boot; 16]);
            (origin.clock_source, origin.block_size_log2) = (*source, 12);
            maker.begin(&origin).unwrap();
            maker.thread(5000, 1, 1, "thread").unwrap();
            for (ticks, ahead) in [1000 * u64::from(at), 100_000].into_iter().zip(*ahead) {
                let monotonic = ticks / 2 + ahead;
                let realtime = monotonic + 1_000_000;
                let sync = ClockSync { ticks, monotonic, realtime, uncertainty: 0 };
                maker.sync(sync).unwrap();
            }
        }
        maker.finish().unwrap();
        Log::from_source(bytes).unwrap()
    }

    /// `.cnv.clock`, `.time.order`: two syncs of one moment differ by the time of their reading,
    /// and in a namespace of times by all of its offset.
    #[test]
    fn streams_of_one_counter_keep_the_order_of_its_ticks() {
        let tsc = |boot, ahead| (boot, ClockSource::Tsc, ahead);
        let log = log(&[tsc(7, [0, 0]), tsc(7, [700, 3]), tsc(7, [70_000_000, 70_000_000])]);
        let clock = Clock::new(&log);
        assert_eq!(clock.base, ClockBase::Monotonic);
        for ticks in [0, 1000, 5001, 99_999, 1 << 40] {
            assert_eq!([0, 1, 2].map(|stream| clock.ns(stream, ticks)), [ticks / 2; 3], "{ticks}");
        }
        let leads = |clock: &Clock| [0, 1, 2].map(|stream| clock.lead(stream));
        assert_eq!(leads(&clock), [0; 3], "the one whose syncs lie furthest apart");
        let clock = Clock::led_by(&log, 2, false);
        assert_eq!(leads(&clock), [2; 3]);
        assert_eq!(clock.ns(0, 5000), 70_002_500);
        assert_eq!(clock.sync, Some((70_001_500, 71_001_500)));
    }

    /// `.cnv.clock`: its own syncs tell more than those of a time long before.
    #[test]
    fn streams_of_one_counter_apart_have_their_own_lines() {
        let mut bytes = Vec::new();
        let mut maker = Maker::new(&mut bytes);
        for (at, begin) in [(1, 1000), (2, 1 << 40)] {
            let mut origin = Origin::new();
            (origin.uuid, origin.boot_id) = ([at; 16], [7; 16]);
            (origin.clock_source, origin.block_size_log2) = (ClockSource::Tsc, 12);
            maker.begin(&origin).unwrap();
            maker.thread(begin, 1, 1, "thread").unwrap();
            // The first stream has a line of another slope.
            for ticks in [begin, begin + 1000] {
                let monotonic = ticks / 2 + u64::from(at == 1 && ticks > begin);
                let (realtime, uncertainty) = (monotonic + 1_000_000, 0);
                maker.sync(ClockSync { ticks, monotonic, realtime, uncertainty }).unwrap();
            }
        }
        maker.finish().unwrap();
        let log = Log::from_source(bytes).unwrap();
        assert_eq!(Clock::new(&log).ns(1, 1 << 40), 1 << 39);
        assert_ne!(Clock::led_by(&log, 0, false).ns(1, 1 << 40), 1 << 39);
    }

    #[test]
    fn streams_of_other_boots_and_clocks_have_their_own_lines() {
        let ahead = [0, 0];
        let streams = [(7, ClockSource::Tsc), (7, ClockSource::Monotonic), (0, ClockSource::Tsc)];
        let log = log(&streams.map(|(boot, source)| (boot, source, ahead)));
        let clock = Clock::new(&log);
        assert_eq!((clock.base, clock.lead(2)), (ClockBase::Realtime, 2));
        // The caller knows that the third stream is of the boot of the others.
        let clock = Clock::led_by(&log, 1, true);
        assert_eq!(clock.base, ClockBase::Monotonic);
        assert_eq!([0, 1, 2].map(|stream| clock.lead(stream)), [0, 1, 0]);
    }
}
