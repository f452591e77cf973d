//! Events into rows, by many, and rows into row groups, by one.
//!
//! ```text
//!  event ──▶ Sheet: the rows of its set and process ── 1 MiB? ──▶ Piece ┐ of another worker
//!  Piece ──▶ Groups: what there is of its sets and processes ── full? ──▶ to be written
//! ```
//!
//! Design: `.cnv.parquet` in `design/eventcnv.md`.

use super::columns::{Group, Rows};
use super::sets::Sets;
use super::{GROUP_ROW_COUNT, GROUPS_SIZE_MAX, PIECE_SIZE};
use crate::export::places::Places;
use eventlog::reader::{Event, Log};
use std::collections::HashMap;

/// Places that are found without looking them up: a power of two.
const RECENT_COUNT: usize = 64;
/// No set, no place.
const NONE: usize = usize::MAX;

/// Rows of events that follow on one another.
pub(crate) struct Piece {
    parts: Vec<Part>,
}

/// Rows of a set and a process.
struct Part {
    set: usize,
    process: usize,
    rows: Rows,
}

/// Where events are put down.
pub(crate) struct Sheet<'l> {
    log: &'l Log,
    sets: &'l Sets,
    registries: Places<'l>,
    /// By set and process: where in `parts`.
    places: HashMap<(usize, usize), usize>,
    /// The same of some, each where its set and process lead to.
    recent: [((usize, usize), usize); RECENT_COUNT],
    parts: Vec<Part>,
    /// For each stream where its last event was among its syncs.
    near: Vec<usize>,
    size: usize,
}

impl<'l> Sheet<'l> {
    pub(crate) fn new(log: &'l Log, sets: &'l Sets) -> Sheet<'l> {
        Sheet {
            log,
            sets,
            registries: Places::new(log),
            places: HashMap::new(),
            recent: [((NONE, NONE), NONE); RECENT_COUNT],
            parts: Vec::new(),
            near: vec![0; log.streams().len()],
            size: 0,
        }
    }

    /// Takes an event in.
    #[inline]
    pub(crate) fn push(&mut self, event: &Event<'_, '_>) {
        let stream = usize::from(event.stream);
        let Some(&process) = self.sets.streams.get(stream) else { return };
        let set = self.set(event);
        let place = self.place((set, process));
        let (Some(part), Some(of)) = (self.parts.get_mut(place), self.sets.all.get(set)) else {
            return;
        };
        let clock = self.log.streams().get(stream).zip(self.near.get_mut(stream));
        let wall = clock.and_then(|(stream, near)| stream.wall_time_near(event.ticks, near));
        let wall = wall.map(|wall| wall.realtime);
        let before = part.rows.used_size();
        part.rows.push(event, wall, of.columns.len(), self.sets.with_labels);
        self.size += part.rows.used_size() - before;
    }

    /// Whether there is enough for a piece.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.size >= PIECE_SIZE
    }

    /// Takes the rows out.
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
        let codes = self.sets.codes.get(self.registries.of(event));
        let set = event.event_type.and_then(|row| codes?.get(usize::from(row.code)));
        set.map_or(0, |&set| set as usize)
    }
}

/// Rows that are not written yet.
#[derive(Default)]
pub(crate) struct Groups {
    /// By set and process.
    groups: HashMap<(usize, usize), Group>,
    size: usize,
    /// Rows that were taken in.
    pub(crate) row_count: u64,
}

impl Groups {
    /// Takes rows in, and gives groups that are full to `write`, as long as it says that it wants
    /// more. Whether it does.
    pub(crate) fn add(&mut self, piece: Piece, write: &mut impl FnMut(Group) -> bool) -> bool {
        for Part { set, process, rows } in piece.parts {
            let key = (set, process);
            let has_room = |group: &Group| group.row_count + rows.count <= GROUP_ROW_COUNT;
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

    /// What is left, in order of sets and processes.
    pub(crate) fn finish(self) -> impl Iterator<Item = Group> {
        let mut groups: Vec<_> = self.groups.into_iter().collect();
        groups.sort_by_key(|(key, _)| *key);
        groups.into_iter().map(|(_, group)| group)
    }
}
