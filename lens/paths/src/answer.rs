//! A path as a log: calls and blocks as slices.
//!
//! ```text
//!  steps ─▶ CallBegin ┬ BlockBegin … BlockEnd ┬ CallEnd      1000 ticks a block: an order, no time
//!                     └ calls of the block ───┘
//! ```
//!
//! Design: `.paths.answer` in `design/paths.md`.

use crate::graph::{BlockId, Element, ElementId, FunctionId, Program};
use crate::walk::{Divergence, Step};
use eventdef::path::{BlockBegin, BlockEnd, CallBegin, CallEnd, Differs, REGISTRY, Unknown};
use eventlog::format::ClockSource;
use eventlog::writer::{Made, MakeError, Maker, Origin};

/// The ticks of a block.
const BLOCK_TICKS: u64 = 1000;
/// The value whose label is the first element; values of other parameters are lower.
const LABEL_FIRST: usize = 0x7061_7468_0000_0000;
/// Labels of a log, at most. Further elements have numbers alone.
const LABEL_COUNT_MAX: usize = 1 << 20;
/// Bytes of a name or a place, at most.
const NAME_SIZE_MAX: usize = 4000;

/// Returns the element that a label's value of such a log stands for.
pub fn element_of(value: u64) -> Option<ElementId> {
    let offset = usize::try_from(value).ok()?.checked_sub(LABEL_FIRST)?;
    u32::try_from(offset).ok().map(ElementId)
}

/// Returns the origin of a log whose ticks tell an order and no times.
pub fn ordered(mut origin: Origin) -> Origin {
    (origin.clock_source, origin.clock_rate) = (ClockSource::C, 0);
    origin
}

/// A function that is open in the log.
#[derive(Clone, Copy, Debug)]
struct Frame {
    function: FunctionId,
    block: Option<BlockId>,
}

/// A path that becomes a log.
#[must_use = "a log is whole only after `finish`"]
pub struct Answer<'a> {
    program: &'a Program,
    maker: Maker<'a>,
    is_labelled: Vec<bool>,
    label_count: usize,
    frames: Vec<Frame>,
    ticks: u64,
    /// The buffer of the current thread, and its number.
    thread: u32,
}

impl std::fmt::Debug for Answer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answer").field("ticks", &self.ticks).finish_non_exhaustive()
    }
}

impl<'a> Answer<'a> {
    /// Begins a log. The origin has the identity of the stream; its clock is that of the log, which
    /// counts steps.
    ///
    /// # Errors
    ///
    /// Fails as [`Maker::begin`] does.
    pub fn new(
        program: &'a Program,
        origin: &Origin,
        out: &'a mut dyn std::io::Write,
    ) -> Result<Answer<'a>, MakeError> {
        let mut maker = Maker::new(out);
        maker.begin(&ordered(origin.clone()))?;
        maker.registry(&REGISTRY)?;
        let is_labelled = vec![false; program.element_count()];
        let (frames, ticks) = (Vec::new(), BLOCK_TICKS);
        let mut answer =
            Answer { program, maker, is_labelled, label_count: 0, frames, ticks, thread: 1 };
        answer.maker.thread(1, 1, 1, "path")?;
        Ok(answer)
    }

    /// Goes on with the path of another thread, which begins with the log.
    ///
    /// # Errors
    ///
    /// Fails as [`Maker::add`] does.
    pub fn thread(&mut self, name: &str) -> Result<(), MakeError> {
        self.end_calls()?;
        self.thread = self.thread.saturating_add(1);
        self.ticks = BLOCK_TICKS;
        self.maker.thread(1, self.thread, self.thread as usize, name)
    }

    /// Adds a step.
    ///
    /// # Errors
    ///
    /// Fails as [`Maker::add`] does.
    pub fn add(&mut self, step: Step) -> Result<(), MakeError> {
        match step {
            Step::Enter(function) => self.enter(function),
            Step::Block(function, block) => {
                if self.frames.last().is_none_or(|frame| frame.function != function) {
                    // Its call is unknown.
                    self.enter(function)?;
                }
                self.end_block()?;
                let value = self.value(Element::Block(function, block))?;
                self.ticks += 1;
                let event = BlockBegin { block: value, number: block.0 };
                self.maker.add(self.thread, self.thread, self.ticks, &event)?;
                if let Some(frame) = self.frames.last_mut() {
                    frame.block = Some(block);
                }
                Ok(())
            }
            Step::Leave(function) => self.leave(function, 0),
            Step::Unwound(function) => self.leave(function, 1),
            Step::Unknown(cause) => {
                let cause = cause.to_string();
                self.maker.add(
                    self.thread,
                    self.thread,
                    self.ticks,
                    &Unknown { cause: cause.as_bytes() },
                )
            }
        }
    }

    /// Adds a divergence, at the end of the path so far.
    ///
    /// # Errors
    ///
    /// Fails as [`Maker::add`] does.
    pub fn differs(&mut self, divergence: &Divergence) -> Result<(), MakeError> {
        let mut place = divergence.say(self.program);
        place.truncate(place.floor_char_boundary(NAME_SIZE_MAX));
        let run = u32::try_from(divergence.run).unwrap_or(u32::MAX);
        let event = Differs { run, agreed: divergence.agreed, place: place.as_bytes() };
        self.maker.add(self.thread, self.thread, self.ticks, &event)
    }

    /// Ends the open calls, and the log.
    ///
    /// # Errors
    ///
    /// Fails as [`Maker::finish`] does.
    pub fn finish(mut self) -> Result<Made, MakeError> {
        self.end_calls()?;
        self.maker.finish()
    }

    fn end_calls(&mut self) -> Result<(), MakeError> {
        while let Some(Frame { function, .. }) = self.frames.last().copied() {
            self.leave(function, 1)?;
        }
        Ok(())
    }

    fn enter(&mut self, function: FunctionId) -> Result<(), MakeError> {
        let value = self.value(Element::Enter(function))?;
        self.ticks += 1;
        self.maker.add(self.thread, self.thread, self.ticks, &CallBegin { function: value })?;
        self.frames.push(Frame { function, block: None });
        Ok(())
    }

    fn leave(&mut self, function: FunctionId, how: u32) -> Result<(), MakeError> {
        if self.frames.last().is_none_or(|frame| frame.function != function) {
            return Ok(());
        }
        self.end_block()?;
        self.frames.pop();
        let value = self.value(Element::Enter(function))?;
        self.ticks += 1;
        self.maker.add(self.thread, self.thread, self.ticks, &CallEnd { function: value, how })
    }

    /// Ends the open block: what follows is in its function, and in no block.
    ///
    /// # Errors
    ///
    /// Fails as [`Maker::add`] does.
    pub fn end_block(&mut self) -> Result<(), MakeError> {
        let open = self.frames.last_mut().and_then(|own| Some((own.function, own.block.take()?)));
        let Some((function, block)) = open else { return Ok(()) };
        let value = self.value(Element::Block(function, block))?;
        self.ticks += BLOCK_TICKS;
        self.maker.add(self.thread, self.thread, self.ticks, &BlockEnd { block: value })
    }

    /// Returns the value that stands for an element; its label is written at first.
    fn value(&mut self, element: Element) -> Result<usize, MakeError> {
        let ElementId(id) = self.program.id(element).unwrap_or(ElementId(0));
        let value = LABEL_FIRST + id as usize;
        let Some(is_labelled) = self.is_labelled.get_mut(id as usize) else { return Ok(value) };
        if core::mem::replace(is_labelled, true) || self.label_count >= LABEL_COUNT_MAX {
            return Ok(value);
        }
        self.label_count += 1;
        let mut name = self.program.title(element);
        name.truncate(name.floor_char_boundary(NAME_SIZE_MAX));
        let string = self.maker.intern(self.ticks, name.as_bytes())?;
        self.maker.label(self.ticks, value, string)?;
        Ok(value)
    }
}
