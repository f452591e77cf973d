//! All events in memory as text, oldest first, with memory of a fixed size.
//!
//! ```text
//!  all rings ─▶ the oldest events, up to a number ─ in order ─▶ lines
//!            ─▶ the oldest of those after that … ─▶ lines, until none is left
//!  store ─▶ (event type, first word, time) ─ sort ─▶ an index: strings, labels and threads
//! ```
//!
//! Design: `.debug.dump` in `design/telemetry.md`; `.store` in `design/format.md`.

use super::Out;
use crate::block::walk::Spot;
use crate::inspect::history;
use crate::inspect::text::{self, EVENT_SIZE_SHOWN, Now};
use crate::os::link::Link;
use crate::os::pages::Temporary;
use crate::os::sys::Errno;
use crate::rings::ring::Ring;
use crate::store::intern;
use bytemuck::{Pod, Zeroable};
use core::cmp::Reverse;
use core::ffi::c_int;
use core::fmt::Write;
use eventdef::{Event, store};

/// The number of events that are sorted at once.
const SPOT_COUNT: usize = 1 << 16;
/// The number of rings that are cached by their buffers.
const RING_COUNT: usize = 1 << 10;
const THREAD_COUNT_MAX: usize = 1 << 16;

struct Dump {
    out: Out,
    event: Temporary<u8>,
    index: Option<Index>,
    rings: Temporary<Link<Ring>>,
    threads: Temporary<u64>,
    thread_count: usize,
    /// Whether a thread has an index of `THREAD_COUNT_MAX` or more.
    has_more_threads: bool,
    event_count: usize,
    overwritten_count: usize,
}

/// Writes all events in memory to a file, as many at a time as can be sorted. Returns their number.
pub(super) fn events(file: c_int) -> Result<usize, Errno> {
    let mut spots = Temporary::<Spot>::map(SPOT_COUNT).ok_or(libc::ENOMEM)?;
    let mut dump = Dump::new(file)?;
    let now = Now::read();
    dump.out.line(|line| line.write_str("telemetry: all events in memory, oldest first:"))?;
    let mut after = None;
    loop {
        let count = history::oldest(&mut spots, after, now.ticks);
        let Some(last) = spots[..count].last() else { return dump.end() };
        after = Some(*last);
        spots[..count].iter().try_for_each(|spot| dump.write(spot, now))?;
    }
}

impl Dump {
    fn new(file: c_int) -> Result<Dump, Errno> {
        Ok(Dump {
            out: Out::new(file)?,
            event: Temporary::map(EVENT_SIZE_SHOWN).ok_or(libc::ENOMEM)?,
            index: Index::of_store(),
            rings: Temporary::map(RING_COUNT).ok_or(libc::ENOMEM)?,
            threads: Temporary::map(THREAD_COUNT_MAX / 64).ok_or(libc::ENOMEM)?,
            thread_count: 0,
            has_more_threads: false,
            event_count: 0,
            overwritten_count: 0,
        })
    }

    fn write(&mut self, spot: &Spot, now: Now) -> Result<(), Errno> {
        let ring = self.ring_of(spot);
        let event = ring.and_then(|ring| spot.read_in_ring(ring, &mut self.event));
        let Some(event) = event else {
            self.overwritten_count += 1;
            return Ok(());
        };
        let thread = event.thread as usize;
        let find = |code, ticks, first| match &self.index {
            Some(index) => index.find(code, ticks, first),
            None => text::scan(code, ticks, first),
        };
        self.out.line(|line| text::write_event(line, spot.ticks, &event, now, &find))?;
        self.event_count += 1;
        match self.threads.get_mut(thread / 64) {
            Some(word) => {
                self.thread_count += usize::from(*word & 1 << (thread % 64) == 0);
                *word |= 1 << (thread % 64);
            }
            None => self.has_more_threads = true,
        }
        Ok(())
    }

    /// Returns the ring of an event, mostly from the cache.
    fn ring_of(&self, spot: &Spot) -> Option<&'static Ring> {
        let place = &self.rings[spot.buffer as usize % RING_COUNT];
        let known = place.get().filter(|ring| ring.buffer() == spot.buffer);
        known.or_else(|| {
            let ring = spot.ring()?;
            place.set(Some(ring));
            Some(ring)
        })
    }

    fn end(&mut self) -> Result<usize, Errno> {
        let (events, threads) = (self.event_count, self.thread_count);
        let (more, overwritten) = (self.has_more_threads, self.overwritten_count);
        self.out.line(|line| {
            let plural = |count| if count == 1 { "" } else { "s" };
            write!(line, "telemetry: {events} event{} of ", plural(events))?;
            line.write_str(if more { "at least " } else { "" })?;
            write!(line, "{threads} thread{}", plural(threads))?;
            if overwritten != 0 {
                write!(line, "; {overwritten} more were overwritten meanwhile")?;
            }
            Ok(())
        })?;
        self.out.flush()?;
        Ok(events)
    }
}

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Place {
    first: u64,
    ticks: u64,
    sequence: u32,
    /// Its offset in the block, a multiple of 8; the low bits have the event type.
    offset: u32,
}

/// The free bits of an offset.
const MARKS: u32 = 7;

/// Returns the low bits of an offset for an event type that the index has.
fn mark(code: u16) -> Option<u32> {
    let codes = [store::Intern::TYPE.code, store::Label::TYPE.code, store::Thread::TYPE.code];
    codes.iter().position(|each| *each == code).map(|index| index as u32)
}

impl Place {
    fn key(&self) -> (u32, u64, u64) {
        (self.offset & MARKS, self.first, self.ticks)
    }
}

/// An index of the store's events about strings, addresses and threads.
struct Index {
    places: Temporary<Place>,
    count: usize,
}

impl Index {
    fn of_store() -> Option<Index> {
        let counts = intern::kept().map(|(_, block)| block.state().1 as usize);
        let mut places = Temporary::<Place>::map(counts.sum::<usize>().max(1))?;
        let found = history::of_store().filter_map(|spot| {
            let (code, first) = text::first_word(&spot)?;
            let (sequence, offset) = (spot.sequence as u32, spot.offset | mark(code)?);
            Some(Place { first, ticks: spot.ticks, sequence, offset })
        });
        let mut count = 0;
        for (place, found) in places.iter_mut().zip(found) {
            *place = found;
            count += 1;
        }
        // A block fills towards lower offsets.
        places[..count]
            .sort_unstable_by_key(|place| (place.key(), place.sequence, Reverse(place.offset)));
        Some(Index { places, count })
    }

    /// Returns the newest such event that is not after that time ([`text::Find`]).
    fn find(&self, code: u16, ticks: u64, first: u64) -> Option<Spot> {
        let mark = mark(code)?;
        let places = &self.places[..self.count];
        let end = places.partition_point(|place| place.key() <= (mark, first, ticks));
        let place = places[..end].last().filter(|place| place.key() >= (mark, first, 0))?;
        let (sequence, offset) = (place.sequence.into(), place.offset & !MARKS);
        Some(Spot { ticks: place.ticks, number: 0, sequence, buffer: 0, offset })
    }
}
