//! The pseudo-stacks of a target, as slices that nest, and as rows with their time.
//!
//! ```text
//!  flame of teller 1:   ├ shop (12) ─────────────────────┤   FrameBegin … FrameEnd
//!                       ├ teller 1 (13) ─────────────────┤
//!                       ├ running ┤ futex ───────────────┤
//!                       Stack     Stack  Stack             frames, ns
//! ```
//!
//! Design: `.waits.flame` in `design/waits.md`.

use super::{Answer, Labels};
use crate::waits::events::waits::{ControlPath as PathRow, FrameBegin, FrameEnd, Stack};
use crate::waits::frames::Frames;
use crate::waits::model::{NEVER, NONE};
use crate::waits::stack::{ControlPath, Kind, Part};
use eventlog::writer::{MakeError, Maker};

/// A stack that waits for the next one, which may be equal.
#[derive(Debug)]
struct Pending {
    from: u64,
    to: u64,
    frames: Vec<u32>,
    part: Part,
}

/// The track of a row of paths.
struct Track<'t, 'o> {
    maker: &'t mut Maker<'o>,
    labels: &'t mut Labels,
    thread: u32,
    /// The open frames.
    open: Vec<u32>,
    pending: Option<Pending>,
}

impl Answer<'_> {
    /// Writes the control paths, each row as a thread of its own, from this index on.
    pub(super) fn write_flame(
        &self,
        maker: &mut Maker<'_>,
        labels: &mut Labels,
        first: u32,
    ) -> Result<(), MakeError> {
        let stacks = self.stacks;
        let mut order: Vec<u32> = (0..stacks.paths.len() as u32).collect();
        let path = |at: u32| stacks.paths.get(at as usize);
        order.sort_by_key(|at| path(*at).map(|path| (path.row, path.from, path.to)));
        let mut frames = Frames::new(self.model, self.names, self.locks);
        let mut row = NONE;
        for at in order {
            let Some(own) = path(at) else { continue };
            let thread = first + own.row;
            if own.row != row {
                let begin = self.ticks(self.model.begin);
                maker.thread(begin, thread, 0, &self.row_name(own))?;
            }
            row = own.row;
            let mut track = Track { maker, labels, thread, open: Vec::new(), pending: None };
            self.write_control_path(&mut track, at, own)?;
            let from = stacks.parts.partition_point(|part| part.path < at);
            let parts = stacks.parts.get(from..).unwrap_or_default().iter();
            let mut result = Ok(());
            for part in parts.take_while(|part| part.path == at) {
                frames.each(stacks, part, |from, to, stack, frames| {
                    if result.is_ok() {
                        let next = Pending { from, to, frames: stack.to_vec(), part: *part };
                        result = self.push(&mut track, next, frames);
                    }
                });
            }
            result?;
            self.end(&mut track, own.to, &frames)?;
        }
        Ok(())
    }

    /// Returns the name of a row: of its thread, if it is one of the target.
    fn row_name(&self, own: &ControlPath) -> String {
        match own.kind {
            Kind::Own => format!("flame of {}", self.names.thread(own.life, NEVER)),
            Kind::Other => "flame of other control paths".to_owned(),
            Kind::Unawaited => "flame of work that nothing waited for".to_owned(),
        }
    }

    fn write_control_path(
        &self,
        track: &mut Track<'_, '_>,
        path: u32,
        own: &ControlPath,
    ) -> Result<(), MakeError> {
        let number = |life: u32| self.model.life(life).map_or(0, |life| life.thread);
        let name = self.names.thread(own.life, own.to.saturating_sub(1));
        let row = PathRow {
            path,
            kind: own.kind as u32,
            thread: number(own.life),
            parent: own.parent,
            waker: number(own.waker),
            ns: own.to.saturating_sub(own.from) as usize,
            name: name.as_bytes(),
        };
        track.maker.add(track.thread, track.thread, self.ticks(own.from), &row)
    }

    /// Adds a stack, or makes the one before it longer.
    fn push(
        &self,
        track: &mut Track<'_, '_>,
        next: Pending,
        frames: &Frames<'_>,
    ) -> Result<(), MakeError> {
        let is_same = |last: &&mut Pending| {
            let life = |part: &Part| self.model.stretch(part.place).map(|own| own.life);
            let of = |part: &Part| (part.share, part.other, life(part));
            last.to == next.from && last.frames == next.frames && of(&last.part) == of(&next.part)
        };
        if let Some(last) = track.pending.as_mut().filter(is_same) {
            last.to = next.to;
            return Ok(());
        }
        match track.pending.replace(next) {
            Some(last) => self.put(track, &last, frames),
            None => Ok(()),
        }
    }

    /// Writes a stack: ends the frames that it does not have, begins those that it has alone.
    fn put(
        &self,
        track: &mut Track<'_, '_>,
        own: &Pending,
        frames: &Frames<'_>,
    ) -> Result<(), MakeError> {
        let shared = track.open.iter().zip(&own.frames).take_while(|(a, b)| a == b).count();
        let from = self.ticks(own.from);
        close(track, shared, from)?;
        for frame in own.frames.get(shared..).unwrap_or_default() {
            let Some(told) = frames.frame(*frame) else { continue };
            let (depth, kind) = (track.open.len() as u32, told.kind as u32);
            let frame_label = track.labels.value(track.maker, &told.text, "frame")?;
            let row = FrameBegin { frame: frame_label, depth, kind };
            track.maker.add(track.thread, track.thread, from, &row)?;
            track.open.push(*frame);
        }
        let part = &own.part;
        let stretch = self.model.stretch(part.place);
        let number = |life: u32| self.model.life(life).map_or(0, |life| life.thread);
        let waker = stretch.map_or(NONE, |own| self.model.waker(own));
        let text = frames.text(&own.frames);
        let row = Stack {
            path: part.path,
            kind: self.stacks.paths.get(part.path as usize).map_or(0, |path| path.kind as u32),
            share: part.share as u32,
            thread: stretch.map_or(0, |own| number(own.life)),
            waker: number(waker),
            other: part.other,
            ns: own.to.saturating_sub(own.from) as usize,
            frames: text.as_bytes(),
        };
        track.maker.add(track.thread, track.thread, from, &row)
    }

    fn end(
        &self,
        track: &mut Track<'_, '_>,
        to: u64,
        frames: &Frames<'_>,
    ) -> Result<(), MakeError> {
        if let Some(last) = track.pending.take() {
            self.put(track, &last, frames)?;
        }
        close(track, 0, self.ticks(to))
    }
}

/// Ends the open frames above a depth.
fn close(track: &mut Track<'_, '_>, depth: usize, at: u64) -> Result<(), MakeError> {
    while track.open.len() > depth {
        track.open.pop();
        let depth = track.open.len() as u32;
        track.maker.add(track.thread, track.thread, at, &FrameEnd { depth })?;
    }
    Ok(())
}
