//! Finds the place after damage from which events follow one another again.
//!
//! ```text
//!  event │ ???????????? 0000000000000000 ???? │ event │ event │ event │ event
//!        └ each place: at a glance, then a ──┘ chain of events, or another stream's EventInit
//! ```
//!
//! Design: `.req.robust` in `design/telemetry.md`.

use super::index::{
    CLOCK_DISTANCE_MAX, Indexer, LOOKAHEAD_SIZE, LOOSE_CHAIN_COUNT, STREAM_COUNT_MAX, TRY_COUNT_MAX,
};
use super::platform::{PLATFORMS, head, is_chain_of, is_size, size};
use super::recognise::{INIT_SIZE_MAX, PREFIX_SIZE, Recognised, recognise, version_of};
use super::window::Window;
use crate::reader::fault::kind::FaultKind;
use crate::reader::model::registry::Platform;

/// Consecutive events that must fit after damage.
const CHAIN_COUNT: usize = 4;
/// The same, once a log has too many segments to be anything but damage: the index must not grow
/// large.
const CHAIN_COUNT_LATE: usize = 128;
/// Segments before that.
const SEGMENT_COUNT_LATE: usize = 1 << 18;

impl Indexer {
    /// Skips bytes that are not events, up to a place from which events follow one another.
    pub(super) fn skip(&mut self, window: &mut Window, what: &'static str) {
        self.cut();
        let start = window.offset();
        if let Some(other) = self.other_stream(window.rest(), window.is_last()) {
            self.begin_platform(start, &other);
            return;
        }
        let mut found = None;
        window.at += 1;
        while found.is_none() {
            window.need(LOOKAHEAD_SIZE + 1);
            let is_last = window.is_last();
            let safe = if is_last { 0 } else { LOOKAHEAD_SIZE };
            loop {
                let end = window.rest().len().saturating_sub(safe);
                window.at += self.distance(window.rest(), end);
                if window.rest().len() <= safe {
                    break;
                }
                if self.is_place(window.rest(), is_last) {
                    found = Some(None);
                    break;
                }
                if let Some(other) = self.other_stream(window.rest(), is_last) {
                    found = Some(Some(other));
                    break;
                }
                window.at += 1;
            }
            if is_last && found.is_none() {
                break;
            }
        }
        let size = window.offset() - start;
        self.faults.push(start, FaultKind::Mps { what, size });
        if let Some(Some(other)) = found {
            self.begin_platform(window.offset(), &other);
        }
    }

    /// Returns the distance to the next place before `end` that is worth a full check.
    fn distance(&self, rest: &[u8], end: usize) -> usize {
        let mut at = 0;
        while at < end {
            // Code and size of an event are not 0.
            let zeros = zeros(rest.get(at..).unwrap_or_default());
            if zeros > 1 {
                at += zeros - 1;
                continue;
            }
            let Some(&start) = rest.get(at..).and_then(|rest| rest.first_chunk()) else { break };
            let is_worth = match self.is_registry_right {
                true => self.shapes.may_begin(start),
                false => is_size(self.shapes.platform, size(self.shapes.platform, start)),
            };
            if is_worth || may_begin_stream(start) {
                return at;
            }
            at += 1;
        }
        end.max(at.min(rest.len()))
    }

    /// Returns whether reading can go on here.
    fn is_place(&self, rest: &[u8], is_last: bool) -> bool {
        if self.is_registry_right {
            let is_late = self.segments.len() >= SEGMENT_COUNT_LATE;
            let count = if is_late { CHAIN_COUNT_LATE } else { CHAIN_COUNT };
            return self.shapes.is_chain(rest, count, is_last);
        }
        let platform = self.shapes.platform;
        is_chain_of(platform, rest, LOOSE_CHAIN_COUNT, is_last, |event, _| {
            let is_near = event.clock.abs_diff(self.clock) < CLOCK_DISTANCE_MAX >> 8;
            is_near && is_size(platform, event.size)
        })
    }

    /// Recognises another stream here, by an EventInit of another platform or version.
    fn other_stream(&mut self, rest: &[u8], is_last: bool) -> Option<Recognised> {
        if self.tries >= TRY_COUNT_MAX || self.streams.len() >= STREAM_COUNT_MAX {
            return None;
        }
        let is_init = |&platform: &Platform| {
            let event = head(platform, rest)?;
            version_of(platform, event, rest)
        };
        PLATFORMS.iter().find_map(is_init)?;
        self.tries += 1;
        let prefix = rest.get(..PREFIX_SIZE);
        let is_all = is_last && prefix.is_none();
        let found = recognise(prefix.unwrap_or(rest), is_all, &self.known)?;
        (found.offset == 0 && found.version.is_some()).then_some(found)
    }
}

/// Returns the number of zeros at the start of `bytes`, or a few fewer.
#[inline]
fn zeros(bytes: &[u8]) -> usize {
    let (words, _) = bytes.as_chunks::<8>();
    let words = words.iter().take_while(|&&word| word == [0; 8]).count();
    let next = bytes.get(8 * words..).unwrap_or_default();
    8 * words + next.iter().take(8).take_while(|&&byte| byte == 0).count()
}

/// Returns whether an event with these first bytes may be an EventInit on any platform.
#[inline]
fn may_begin_stream([_, _, low, high]: [u8; 4]) -> bool {
    (high == 0) != (low == 0) && low.max(high) <= INIT_SIZE_MAX
}
