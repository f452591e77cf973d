//! Makes rows from events, on all processors, and row groups from rows, on one.
//!
//! ```text
//!  event ──▶ RowBuffer: rows by set and process ── 256 KiB? ──▶ Piece
//!  Piece ──▶ Groups: rows by set and process ── full? ──▶ an encoder
//! ```
//!
//! Design: `.cnv.parquet` in `design/eventcnv.md`.

use crate::export::parquet::columns::Group;
use crate::export::parquet::row::Rows;
use crate::export::parquet::sets::{COUNTERS, SLICES, Sets, UNKNOWN_SET};
use crate::export::wall::Wall;
use eventlog::reader::{Event, Log};
use lens::counters::{Counter, Number, Step};
use lens::slices::Slice;
use std::collections::HashMap;

/// Rows of a row group, at most: the usual size for readers.
const GROUP_ROW_COUNT: usize = 1 << 17;
/// Bytes of rows of a row group, about: each encoder has a group.
const GROUP_SIZE_MAX: usize = 16 << 20;
/// Bytes of rows that a worker passes on at once, about.
const PIECE_SIZE: usize = 1 << 18;
/// Bytes of rows that are not written yet, at most; then the largest group is written.
const GROUPS_SIZE_MAX: usize = 96 << 20;

/// Entries of the cache of places: a power of two.
const RECENT_COUNT: usize = 64;
/// No set, and no place.
const NONE: usize = usize::MAX;

/// Rows of consecutive events.
pub(crate) struct Piece {
    parts: Vec<Part>,
}

/// Rows of a set and a process.
struct Part {
    set: usize,
    process: usize,
    rows: Rows,
}

/// Collects the rows of a worker.
pub(crate) struct RowBuffer<'l> {
    sets: &'l Sets,
    wall: Wall<'l>,
    /// Index in `parts`, by set and process.
    places: HashMap<(usize, usize), usize>,
    /// A cache of `places`, by a hash of set and process.
    recent: [((usize, usize), usize); RECENT_COUNT],
    parts: Vec<Part>,
    size: usize,
}

impl<'l> RowBuffer<'l> {
    pub(crate) fn new(log: &'l Log, sets: &'l Sets) -> RowBuffer<'l> {
        RowBuffer {
            sets,
            wall: Wall::new(log),
            places: HashMap::new(),
            recent: [((NONE, NONE), NONE); RECENT_COUNT],
            parts: Vec::new(),
            size: 0,
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, event: &Event<'_, '_>) {
        let (set, wall) = (self.set(event), self.wall.time(event.stream, event.ticks));
        let (columns, with_labels) = (&self.sets.all, self.sets.with_labels);
        let columns = columns.get(set).map_or(0, |of| of.columns.len());
        self.push_to(set, event.stream, |rows| rows.push(event, wall, columns, with_labels));
    }

    /// Adds a slice with its name and its key.
    pub(crate) fn push_slice(&mut self, slice: &Slice<'_>, name: &str, key: Option<&str>) {
        let (stream, ticks) = (slice.begin.id.stream, slice.begin.ticks);
        let wall = self.wall.time(stream, ticks);
        self.push_to(SLICES, stream, |rows| rows.push_slice(slice, wall, name, key));
    }

    /// Adds a change of a counter, with its name, that of its registry, and its key.
    pub(crate) fn push_change(
        &mut self,
        counter: (&Counter, Option<Number>),
        step: &Step,
        names: [&str; 2],
        key: Option<&str>,
    ) {
        let wall = self.wall.time(step.id.stream, step.ticks);
        let push = |rows: &mut Rows| rows.push_change(counter, step, wall, names, key);
        self.push_to(COUNTERS, step.id.stream, push);
    }

    #[inline]
    fn push_to(&mut self, set: usize, stream: u16, push: impl FnOnce(&mut Rows)) {
        let Some(&process) = self.sets.streams.get(usize::from(stream)) else { return };
        let place = self.place((set, process));
        let Some(part) = self.parts.get_mut(place) else { return };
        let before = part.rows.used_size();
        push(&mut part.rows);
        self.size += part.rows.used_size() - before;
    }

    /// Returns whether the rows fill a piece.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.size >= PIECE_SIZE
    }

    pub(crate) fn take(&mut self) -> Piece {
        self.size = 0;
        let parts = self.parts.iter_mut().filter(|part| part.rows.count > 0);
        let take = |part: &mut Part| Part { rows: part.rows.take(), ..*part };
        Piece { parts: parts.map(take).collect() }
    }

    #[inline]
    fn place(&mut self, key: (usize, usize)) -> usize {
        let recent = &mut self.recent[(key.0 ^ key.1 << 3) % RECENT_COUNT];
        if recent.0 != key {
            let new = || {
                let (set, process) = key;
                self.parts.push(Part { set, process, rows: Rows::default() });
                self.parts.len() - 1
            };
            *recent = (key, *self.places.entry(key).or_insert_with(new));
        }
        recent.1
    }

    #[inline]
    fn set(&mut self, event: &Event<'_, '_>) -> usize {
        let codes = self.sets.codes.get(event.registry_index as usize);
        let set = event.event_type.and_then(|row| codes?.get(usize::from(row.code)));
        set.map_or(UNKNOWN_SET, |&set| set as usize)
    }
}

/// Rows that are not written yet.
#[derive(Default)]
pub(crate) struct Groups {
    /// By set and process.
    groups: HashMap<(usize, usize), Group>,
    size: usize,
    /// Rows added so far.
    pub(crate) row_count: u64,
}

impl Groups {
    /// Adds rows, and passes full groups to `write`. Returns false if `write` wants no more.
    pub(crate) fn add(&mut self, piece: Piece, write: &mut impl FnMut(Group) -> bool) -> bool {
        for Part { set, process, rows } in piece.parts {
            let key = (set, process);
            let has_room = |group: &Group| {
                group.row_count + rows.count <= GROUP_ROW_COUNT
                    && group.size + rows.size() <= GROUP_SIZE_MAX
            };
            if !self.groups.get(&key).is_none_or(has_room) && !self.write(key, write) {
                return false;
            }
            self.row_count += rows.count as u64;
            self.size += rows.size();
            self.groups.entry(key).or_insert_with(|| Group::new(set, process)).push(rows);
            if self.size >= GROUPS_SIZE_MAX {
                let largest = self.groups.iter().max_by_key(|(key, group)| (group.size, **key));
                let largest = largest.map(|(key, _)| *key);
                if !largest.is_none_or(|key| self.write(key, write)) {
                    return false;
                }
            }
        }
        true
    }

    fn write(&mut self, key: (usize, usize), write: &mut impl FnMut(Group) -> bool) -> bool {
        self.groups.remove(&key).is_none_or(|group| {
            self.size -= group.size;
            write(group)
        })
    }

    /// Returns the last groups, in order of sets and processes.
    pub(crate) fn finish(self) -> impl Iterator<Item = Group> {
        let mut groups: Vec<_> = self.groups.into_iter().collect();
        groups.sort_by_key(|(key, _)| *key);
        groups.into_iter().map(|(_, group)| group)
    }
}
