//! Recognises the platform of a raw MPS stream by its first events.
//!
//! ```text
//!  first bytes ─┬─ as 64-bit little-endian ── walk: how many events fit? ─┐
//!               ├─ as 32-bit little-endian ── …                           ├─▶ the best
//!               └─ … (ten platforms)                                      ┘
//!                    EventInit on the way says the version and the word width: it wins
//! ```
//!
//! An MPS stream has no header. Design: `.req.port`, `.sol.head` in `design/telemetry.md`.

use super::platform::{
    Clocks, Fit, Head, PLATFORMS, Shapes, align, head, is_short_clock, of_version,
};
use crate::format::StreamHeader;
use crate::reader::fault::kind::is_decoded_by;
use crate::reader::model::registry::{Platform, Registry};
use crate::reader::model::stream::Stream;
use bytemuck::Zeroable;
use eventdef::Version;
use std::cmp::Reverse;

/// Bytes that are examined.
pub(super) const PREFIX_SIZE: usize = 1 << 17;
/// Events that are walked on each platform, at most.
const EVENT_COUNT_MAX: usize = 1024;
/// Consecutive events that must fit after other bytes.
const CHAIN_COUNT_MIN: usize = 8;
/// If only sizes tell: right sizes for each wrong one, at least.
const EXACT_PER_WRONG: usize = 16;
/// Adjacent places that compete: one more than a word has bytes.
const PLACE_COUNT: usize = 9;

/// A recognised raw MPS stream.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Recognised {
    pub(super) platform: Platform,
    /// Other platforms that the first events fit.
    pub(super) alternatives: Vec<Platform>,
    /// The version, if the stream states it.
    pub(super) version: Option<Version>,
    /// Whether the registry describes the events.
    pub(super) is_registry_right: bool,
    /// Offset of the first event.
    pub(super) offset: usize,
}

/// How good an interpretation is: whether it begins with its version; whether it states the version
/// later (maybe of another stream); whether clocks agree; how many events fit; and the range of
/// 32-bit clocks.
type Score = (bool, bool, bool, usize, Reverse<u64>);

/// The result of a walk on one platform.
#[derive(Clone, Copy, Debug, Default)]
struct Walk {
    exact: usize,
    unknown: usize,
    wrong: usize,
    version: Option<Version>,
    begins_with_version: bool,
    /// Whether the walk reached the end of the bytes or of its limit, and not bytes that cannot be
    /// an event.
    is_whole: bool,
    clocks: Clocks,
    /// Whether the events have different codes.
    is_varied: bool,
    /// Whether clocks have 32 bits: then all clocks are near, which proves nothing.
    is_short: bool,
}

impl Walk {
    fn count(&self) -> usize {
        self.exact + self.unknown + self.wrong
    }

    /// Returns the score. Codes and sizes of one byte order, read from one byte earlier, look like
    /// those of the other. But then the lowest byte of clocks becomes the highest: 32-bit clocks
    /// are farther apart.
    fn score(&self) -> Score {
        let fit = (2 * self.exact + self.unknown).saturating_sub(2 * self.wrong);
        let span = if self.is_short { self.clocks.span() } else { 0 };
        let is_near = self.are_clocks_near();
        (self.begins_with_version, self.version.is_some(), is_near, fit, Reverse(span))
    }

    /// Returns whether the clocks are evidence. All 32-bit clocks are near, so sizes must tell
    /// instead.
    fn are_clocks_near(&self) -> bool {
        match self.is_short {
            true => self.is_of_registry() && self.exact >= EXACT_PER_WRONG * self.wrong,
            false => self.clocks.are_near(),
        }
    }

    /// Returns whether this can be a stream of the registry's version.
    fn is_of_registry(&self) -> bool {
        let is_long = self.is_whole || self.exact >= CHAIN_COUNT_MIN;
        self.exact > 0 && self.exact >= 4 * self.wrong && self.exact >= self.unknown && is_long
    }

    /// Returns whether this can be a stream of any version.
    fn is_stream(&self) -> bool {
        let is_long = self.count() >= 4 * CHAIN_COUNT_MIN
            && self.clocks.are_weeks()
            && (!self.is_short || self.is_varied && self.clocks.are_in_order());
        // One or a few bytes, repeated to the end, are not events, though they have a code and a
        // size.
        let is_alive = self.count() < 2 || self.is_varied || self.clocks.span() > 0;
        self.version.is_some() || is_alive && (self.is_of_registry() || is_long)
    }
}

/// Returns the platform of the raw MPS stream that begins with these bytes; `None` if they do not
/// begin one. `is_all`: the stream has no more bytes.
pub(super) fn recognise(bytes: &[u8], is_all: bool, registry: &Registry) -> Option<Recognised> {
    let mut laid_out = registry.clone();
    let shapes = PLATFORMS.map(|platform| {
        laid_out.lay_out(of_version(platform, registry.version));
        Shapes::new(&laid_out)
    });
    let first = at(bytes, is_all, registry, &shapes);
    if let Some((first, (_, has_version, is_near, ..))) = &first
        && (*has_version || *is_near && !is_short_clock(first.platform))
    {
        return Some(first.clone());
    }
    // Bytes that are not an event may still contain a size that leads to one.
    let later = later(bytes, is_all, registry, &shapes);
    let found = match (first, later) {
        (Some(first), Some(later)) => {
            let ((.., was_near, before, _), (.., is_near, fit, _)) = (first.1, later.1);
            // A difference of one event proves nothing.
            if is_near && (!was_near || fit > before + before / 8) { later } else { first }
        }
        (first, later) => first.or(later)?,
    };
    Some(found.0)
}

/// Finds the first place from which many events fit, if the first bytes are damaged.
fn later(
    bytes: &[u8],
    is_all: bool,
    registry: &Registry,
    shapes: &[Shapes],
) -> Option<(Recognised, Score)> {
    for (offset, rest) in (0..bytes.len()).filter_map(|offset| Some((offset, bytes.get(offset..)?)))
    {
        if shapes.iter().any(|shapes| shapes.is_chain(rest, CHAIN_COUNT_MIN, false)) {
            return near(bytes, offset, is_all, registry, shapes);
        }
    }
    None
}

/// Returns the best of adjacent places. On a wrong platform, events may seem to begin slightly
/// earlier.
fn near(
    bytes: &[u8],
    place: usize,
    is_all: bool,
    registry: &Registry,
    shapes: &[Shapes],
) -> Option<(Recognised, Score)> {
    let walks = |offset: usize| walks(bytes.get(offset..).unwrap_or_default(), is_all, shapes);
    let score = |offset: usize| walks(offset).iter().map(|(_, walk)| walk.score()).max();
    // The first of equals.
    let best = (place..place + PLACE_COUNT).rev().max_by_key(|&offset| score(offset))?;
    let (found, score) = at(bytes.get(best..)?, is_all, registry, shapes)?;
    Some((Recognised { offset: best, ..found }, score))
}

/// Walks the bytes on each platform on which they can be a stream.
fn walks(bytes: &[u8], is_all: bool, shapes: &[Shapes]) -> Vec<(Platform, Walk)> {
    let walks = shapes.iter().map(|shapes| (shapes.platform, walk(bytes, is_all, shapes)));
    walks.filter(|(_, walk)| walk.is_stream()).collect()
}

/// Returns the best interpretation of these bytes, with its score.
fn at(
    bytes: &[u8],
    is_all: bool,
    registry: &Registry,
    shapes: &[Shapes],
) -> Option<(Recognised, Score)> {
    let walks = walks(bytes, is_all, shapes);
    let best = walks.iter().map(|(_, walk)| walk.score()).max()?;
    let equals: Vec<_> = walks.iter().filter(|(_, walk)| walk.score() == best).copied().collect();
    let &(first, walk) = equals.first()?;
    let is_twin = |other: Platform| Platform { align_max: first.align_max, ..other } == first;
    // With 32-bit clocks, only doubles tell the alignment of 64-bit values, and they may come late.
    // Without a double, all alignments are right.
    let twins = shapes.iter().filter(|shapes| is_short_clock(first) && is_twin(shapes.platform));
    let twins = twins.filter(|shapes| equals.iter().any(|(equal, _)| *equal == shapes.platform));
    let doubles = |shapes: &&Shapes| shapes.double_count(bytes);
    // The first of equals.
    let platform = twins.rev().max_by_key(doubles).map_or(first, |shapes| shapes.platform);
    let others = equals.iter().skip(1).map(|(other, _)| *other);
    let version = walk.version;
    let is_version_right = version.is_none_or(|found| is_decoded_by(found, registry.version));
    let found = Recognised {
        platform,
        alternatives: others.filter(|&other| !is_short_clock(first) || !is_twin(other)).collect(),
        version,
        is_registry_right: is_version_right && (version.is_some() || walk.is_of_registry()),
        offset: 0,
    };
    Some((found, best))
}

fn walk(bytes: &[u8], is_all: bool, shapes: &Shapes) -> Walk {
    let mut walk = Walk { is_short: is_short_clock(shapes.platform), ..Walk::default() };
    let mut rest = bytes;
    let mut code_first = None;
    while walk.count() < EVENT_COUNT_MAX {
        let Some(head) = head(shapes.platform, rest) else {
            walk.is_whole = true;
            return walk;
        };
        match shapes.fit(head, rest) {
            // The stream ends here: bytes beyond its end are not an event, or were cut, and do not
            // count.
            fit if head.size > rest.len() && is_all => {
                walk.is_whole = walk.count() > 0 && fit == Fit::Exact;
                return walk;
            }
            Fit::Exact => walk.exact += 1,
            Fit::Unknown => walk.unknown += 1,
            Fit::Wrong => walk.wrong += 1,
            Fit::Impossible => return walk,
        }
        walk.version = walk.version.or_else(|| version_of(shapes.platform, head, rest));
        walk.begins_with_version |= walk.count() == 1 && walk.version.is_some();
        walk.clocks.add(head.clock);
        walk.is_varied |= *code_first.get_or_insert(head.code) != head.code;
        rest = rest.get(head.size..).unwrap_or_default();
    }
    walk.is_whole = true;
    walk
}

/// Size of an EventInit on any platform, at most.
pub(super) const INIT_SIZE_MAX: u8 = 48;

/// Returns the version in an EventInit of any version (`.mps.init`). Its code was not always the
/// same.
pub(super) fn version_of(platform: Platform, head: Head, bytes: &[u8]) -> Option<Version> {
    let word = usize::from(platform.word_size);
    let end = usize::from(platform.event_header_size) + 6 * 4;
    let align = usize::from(align(platform, false));
    let with_clocks = (end.next_multiple_of(word) + word).next_multiple_of(align);
    if head.size != with_clocks && head.size != end.next_multiple_of(align) {
        return None;
    }
    let unsigned = |index: usize| {
        let offset = usize::from(platform.event_header_size) + 4 * index;
        platform.u32(bytes.get(offset..)?)
    };
    let small = |index: usize, max: u16| u16::try_from(unsigned(index)?).ok().filter(|&n| n <= max);
    let version = Version { major: small(0, 99)?, median: small(1, 999)?, minor: small(2, 999)? };
    let (_code_max, name_max) = (small(3, u16::MAX)?, small(4, 99)?);
    let is_plausible = version.major > 0 && name_max >= 8 && unsigned(5)? == 8 * word as u32;
    is_plausible.then_some(version)
}

/// Returns the stream at an offset. It has no header.
pub(super) fn mps_stream(offset: u64, platform: Platform, version: Version) -> Stream {
    let unknown = Stream::of_header(&StreamHeader::zeroed(), offset, platform, 0);
    Stream { version, producer: "Memory Pool System".into(), closed: true, ..unknown }
}
