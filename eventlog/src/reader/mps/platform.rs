//! The platforms of raw MPS streams, and the layout of their events.
//!
//! ```text
//!  0      2      4        clock at 8 (4 where 64 bits are aligned to 4)
//!  │ code │ size │ (gap) │ clock: u64 │ parameters at their natural alignment │ padding │
//!  │ code │ size │ clock: u32 │ parameters …    where the MPS has no counter of the processor
//!  └─ all in the writer's byte order; `size` is that of the whole event ────────────────┘
//! ```
//!
//! The stream consists of the C structures of the MPS as in memory. Layout: `.mps.event`,
//! `.mps.params` in `design/format.md`.

use crate::reader::model::registry::{EventType, Platform, Registry, StringEnd};
use byteorder::ByteOrder;
use eventdef::{Sort, Version};
use std::cmp::Ordering;

/// The platforms to try, the likelier first.
pub(super) const PLATFORMS: [Platform; 10] = [
    platform(false, 8, 8),
    platform(false, 4, 4),
    platform(false, 4, 8),
    platform(true, 8, 8),
    platform(true, 4, 8),
    platform(true, 4, 4),
    short_clock(true, 8),
    short_clock(false, 8),
    short_clock(true, 4),
    short_clock(false, 4),
];

/// A platform whose 64-bit values are aligned to 8, or to 4 as on a 32-bit x86.
pub(super) const fn platform(big_endian: bool, word_size: u8, align_max: u8) -> Platform {
    // The clock follows code and size at its alignment.
    let event_header_size = align_max + 8;
    Platform {
        big_endian,
        word_size,
        event_header_size,
        string_end: StringEnd::Nul,
        align_max,
        packed_booleans: false,
    }
}

/// A 32-bit platform with a clock of 32 bits: the MPS does not use a counter of the processor.
pub(super) const fn short_clock(big_endian: bool, align_max: u8) -> Platform {
    Platform { event_header_size: SHORT_HEADER_SIZE, ..platform(big_endian, 4, align_max) }
}

/// Size of a string that the MPS records by default, NUL included, at most.
const STRING_SIZE_MAX: usize = 256;

/// The size of an event's header where the clock has 32 bits.
const SHORT_HEADER_SIZE: u8 = 8;

/// Whether the clock has 32 bits.
pub(super) fn is_short_clock(platform: Platform) -> bool {
    platform.event_header_size == SHORT_HEADER_SIZE
}

/// The alignment of an event's structure, with a double in it or without: the greatest of its
/// members', and a pointer's at least.
pub(super) fn align(platform: Platform, has_double: bool) -> u8 {
    let has_64_bits = has_double || !is_short_clock(platform);
    if has_64_bits { platform.align_max.max(platform.word_size) } else { platform.word_size }
}

/// Returns the platform with the event layout of a version: before 2.0, Booleans are bits
/// (`.mps.bool`).
pub(super) fn of_version(platform: Platform, version: Version) -> Platform {
    Platform { packed_booleans: version.major < 2, ..platform }
}

pub(super) fn name(platform: Platform) -> &'static str {
    if is_short_clock(platform) {
        return match (platform.big_endian, platform.align_max) {
            (false, 4) => "32-bit little-endian, 32-bit clock, 64-bit values aligned to 4",
            (false, _) => "32-bit little-endian, 32-bit clock, 64-bit values aligned to 8",
            (true, 4) => "32-bit big-endian, 32-bit clock, 64-bit values aligned to 4",
            (true, _) => "32-bit big-endian, 32-bit clock, 64-bit values aligned to 8",
        };
    }
    match (platform.word_size, platform.big_endian, platform.align_max) {
        (8, false, _) => "64-bit little-endian",
        (8, true, _) => "64-bit big-endian",
        (_, false, 4) => "32-bit little-endian, 64-bit values aligned to 4",
        (_, false, _) => "32-bit little-endian, 64-bit values aligned to 8",
        (_, true, 4) => "32-bit big-endian, 64-bit values aligned to 4",
        (_, true, _) => "32-bit big-endian, 64-bit values aligned to 8",
    }
}

/// The beginning of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) code: u16,
    pub(super) size: usize,
    pub(super) clock: u64,
}

impl Head {
    /// Reads the beginning of an event with a header of `SIZE` bytes: 16, 12, or 8 if the clock has
    /// 32 bits.
    #[inline(always)]
    pub(super) fn read<O: ByteOrder, const SIZE: usize>(bytes: &[u8; 16]) -> Head {
        let ((code, size), (_, clock)) = (bytes.split_at(2), bytes.split_at(4.max(SIZE - 8)));
        let clock = if SIZE == 8 { O::read_u32(clock).into() } else { O::read_u64(clock) };
        Head { code: O::read_u16(code), size: O::read_u16(size).into(), clock }
    }
}

/// Calls a function that is compiled for each byte order and size of an event's header.
macro_rules! on_platform {
    ($platform:expr, $($function:ident).+ ($($arg:expr),*)) => {{
        use byteorder::{BigEndian, LittleEndian};
        match ($platform.big_endian, $platform.event_header_size) {
            (false, 16) => $($function).+::<LittleEndian, 16>($($arg),*),
            (false, 12) => $($function).+::<LittleEndian, 12>($($arg),*),
            (false, _) => $($function).+::<LittleEndian, 8>($($arg),*),
            (true, 16) => $($function).+::<BigEndian, 16>($($arg),*),
            (true, 12) => $($function).+::<BigEndian, 12>($($arg),*),
            (true, _) => $($function).+::<BigEndian, 8>($($arg),*),
        }
    }};
}
pub(super) use on_platform;

/// Reads the beginning of the event at the start of `bytes`.
#[inline]
pub(super) fn head(platform: Platform, bytes: &[u8]) -> Option<Head> {
    let (code, size) = (platform.u16(bytes)?, platform.u16(bytes.get(2..)?)?);
    let clock = if is_short_clock(platform) {
        platform.u32(bytes.get(4..)?)?.into()
    } else {
        platform.u64(bytes.get(usize::from(platform.event_header_size) - 8..)?)?
    };
    Some(Head { code, size: size.into(), clock })
}

/// Returns the size that an event states.
#[inline]
pub(super) fn size(platform: Platform, [_, _, size @ ..]: [u8; 4]) -> usize {
    platform.u16(&size).unwrap_or_default().into()
}

/// The range of the clocks of some events.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clocks {
    min: u64,
    max: u64,
    /// The sum of the distances of consecutive clocks.
    way: u64,
    last: Option<u64>,
    count: u64,
}

impl Default for Clocks {
    fn default() -> Clocks {
        Clocks { min: u64::MAX, max: 0, way: 0, last: None, count: 0 }
    }
}

impl Clocks {
    #[inline]
    pub(super) fn add(&mut self, clock: u64) {
        (self.min, self.max) = (self.min.min(clock), self.max.max(clock));
        let way = self.last.replace(clock).map_or(0, |last| last.abs_diff(clock));
        self.way = self.way.saturating_add(way);
        self.count += 1;
    }

    pub(super) fn span(self) -> u64 {
        self.max.saturating_sub(self.min)
    }

    /// Returns whether the clocks may be of consecutive events: within hours. Pointers next to
    /// clocks are not.
    #[inline]
    pub(super) fn are_near(self) -> bool {
        self.span() < 1 << 46
    }

    /// Returns whether all are set, within a few weeks.
    pub(super) fn are_weeks(self) -> bool {
        self.min != 0 && self.span() < 1 << 52
    }

    /// Returns whether each clock is near to the previous one, compared with the range. Random
    /// numbers are a third of the range apart.
    pub(super) fn are_in_order(self) -> bool {
        self.way / self.count.max(1) <= self.span() / 8
    }
}

/// Returns whether an event may have this size.
#[inline]
pub(super) fn is_size(platform: Platform, size: usize) -> bool {
    // A word has four or eight bytes.
    let below_word = usize::from(platform.word_size) - 1;
    size >= usize::from(platform.event_header_size) && size & below_word == 0
}

/// The shape of the events of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// The registry lacks the code.
    Unknown,
    /// The event has this size.
    Fixed(u16),
    /// A string at this offset gives the event its size.
    Text(u16),
}

/// How well an event fits the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// The code is known, and the size is right.
    Exact,
    /// The code is unknown; the size may be right.
    Unknown,
    /// The code is known, and the size is wrong.
    Wrong,
    /// No event has this size.
    Impossible,
}

/// The shapes of a registry's events on a platform, by code.
#[derive(Clone, Debug)]
pub(super) struct Shapes {
    pub(super) platform: Platform,
    by_code: Vec<Shape>,
    /// Codes of events with a double.
    doubles: Vec<u16>,
}

impl Shapes {
    /// Returns the shapes of a registry that is laid out for a platform.
    pub(super) fn new(registry: &Registry) -> Shapes {
        let code_last = registry.event_types.last().map_or(0, |row| row.code);
        let mut by_code = vec![Shape::Unknown; usize::from(code_last) + 1];
        for row in &registry.event_types {
            if let Some(shape) = by_code.get_mut(usize::from(row.code)) {
                *shape = shape_of(row, registry.platform);
            }
        }
        let has_double = |row: &&EventType| row.params.iter().any(|param| param.sort == Sort::D);
        let doubles = registry.event_types.iter().filter(has_double).map(|row| row.code).collect();
        Shapes { platform: registry.platform, by_code, doubles }
    }

    /// Counts the places where an event with a double may begin.
    pub(super) fn double_count(&self, bytes: &[u8]) -> usize {
        let may_begin = |start: &&[u8]| {
            let Some(&start) = start.first_chunk() else { return false };
            self.may_begin(start)
                && self.platform.u16(&start).is_some_and(|code| self.doubles.contains(&code))
        };
        bytes.windows(4).filter(may_begin).count()
    }

    #[inline]
    pub(super) fn shape(&self, code: u16) -> Shape {
        self.by_code.get(usize::from(code)).copied().unwrap_or(Shape::Unknown)
    }

    /// Returns the size of a code's events, if it is fixed.
    pub(super) fn size_of(&self, code: u16) -> Option<u16> {
        match self.shape(code) {
            Shape::Fixed(size) => Some(size),
            Shape::Text(_) | Shape::Unknown => None,
        }
    }

    /// Returns whether an event of the registry may begin with this code and size.
    #[inline]
    pub(super) fn may_begin(&self, start: [u8; 4]) -> bool {
        let size = size(self.platform, start);
        match self.shape(self.platform.u16(&start).unwrap_or_default()) {
            Shape::Fixed(fixed) => usize::from(fixed) == size,
            Shape::Text(offset) => size > offset.into(),
            Shape::Unknown => false,
        }
    }

    /// Returns how well the event at the start of `bytes` fits. It may extend beyond `bytes`.
    #[inline]
    pub(super) fn fit(&self, head: Head, bytes: &[u8]) -> Fit {
        match self.shape(head.code) {
            Shape::Fixed(size) if usize::from(size) == head.size => Fit::Exact,
            _ if !is_size(self.platform, head.size) => Fit::Impossible,
            Shape::Fixed(_) => Fit::Wrong,
            Shape::Text(offset) => self.fit_text(offset.into(), head.size, bytes),
            Shape::Unknown => Fit::Unknown,
        }
    }

    /// Checks a string: it ends with a NUL, which takes four bytes, and at most a word of padding.
    fn fit_text(&self, offset: usize, size: usize, bytes: &[u8]) -> Fit {
        let word = usize::from(self.platform.word_size);
        if size <= offset {
            return Fit::Wrong;
        }
        let Some(string) = bytes.get(offset..size) else { return Fit::Exact };
        match memchr::memchr(0, string) {
            // A string that contains NULs is longer than it looks: as long as the MPS records it.
            Some(nul) => match (offset + nul + 4).next_multiple_of(word).cmp(&size) {
                Ordering::Equal => Fit::Exact,
                Ordering::Less if string.len() <= STRING_SIZE_MAX + word => Fit::Exact,
                _ => Fit::Wrong,
            },
            None => Fit::Wrong,
        }
    }

    /// Returns whether `count` consecutive events of the registry begin `bytes`, at near times.
    /// Fewer suffice if they end at the end of the stream (`is_all`).
    pub(super) fn is_chain(&self, bytes: &[u8], count: usize, is_all: bool) -> bool {
        let mut clocks = Clocks::default();
        is_chain_of(self.platform, bytes, count, is_all, |head, rest| {
            clocks.add(head.clock);
            self.fit(head, rest) == Fit::Exact && clocks.are_near()
        })
    }
}

/// Returns whether `count` consecutive events begin `bytes`, and `is_right` accepts each. Fewer
/// suffice if they end at the end of the stream (`is_all`).
pub(super) fn is_chain_of(
    platform: Platform,
    bytes: &[u8],
    count: usize,
    is_all: bool,
    mut is_right: impl FnMut(Head, &[u8]) -> bool,
) -> bool {
    let mut rest = bytes;
    for index in 0..count {
        if rest.is_empty() && is_all {
            return index > 0;
        }
        let Some(head) = head(platform, rest).filter(|head| is_right(*head, rest)) else {
            return false;
        };
        let Some(next) = rest.get(head.size..) else { return false };
        rest = next;
    }
    true
}

fn shape_of(row: &EventType, platform: Platform) -> Shape {
    if let Some(string) = row.params.last().filter(|param| param.sort == Sort::S) {
        return u16::try_from(string.offset).map_or(Shape::Unknown, Shape::Text);
    }
    let has_double = row.params.iter().any(|param| param.sort == Sort::D);
    let size = row.size_min.checked_next_multiple_of(align(platform, has_double).into());
    size.and_then(|size| u16::try_from(size).ok()).map_or(Shape::Unknown, Shape::Fixed)
}
