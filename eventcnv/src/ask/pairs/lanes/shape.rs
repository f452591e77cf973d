//! What a pair of event types is on a lane: a slice, a run, a wait; and whether its flows leave a
//! stream.
//!
//! ```text
//!  registry "waits": RunBegin, WaitBegin ──▶ class     marks ──▶ group
//! ```
//!
//! Design: `.cnv.report.threads` in `design/eventcnv.md`.

use eventlog::reader::Registry;
use eventlog::reader::marks::{Form, Marks, Pair};

/// The registry whose slices are runs and waits.
const WAITS: &str = "waits";
/// Registries whose slices a lens shows in another way.
const LENSES: [&str; 3] = [WAITS, "calls", "kernel"];

/// Facts of a pair of event types.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shape {
    /// 0: a slice or span; 1: a run; 2: a wait.
    pub(crate) class: u8,
    pub(super) is_span: bool,
    /// Whether it is a slice that a program names, of its own work.
    pub(crate) is_own: bool,
    /// Whether it is a part of an answer: a frame of the flame of waits, a stretch of a critical
    /// path. Nothing lasted so long.
    pub(crate) is_told: bool,
    /// The pair that stands for all whose flows may meet across streams.
    pub(super) group: Option<u32>,
}

impl Shape {
    /// Returns whether the name of the pair stands before the names of its slices: they are not
    /// what a thread does itself.
    pub(crate) fn is_apart(&self) -> bool {
        self.class > 0 || self.is_span
    }

    /// Returns the facts of all pairs.
    pub(crate) fn of(registries: &[Registry], marks: &Marks) -> Vec<Shape> {
        let shape = |(pair, at): (&Pair, u32)| {
            let (is_span, group) = (pair.form == Form::Span, marks.group(at));
            Shape { class: 0, is_span, is_own: !is_span, is_told: false, group }
        };
        let mut shapes: Vec<Shape> = marks.pairs.iter().zip(0..).map(shape).collect();
        for registry in registries.iter().filter(|registry| LENSES.contains(&&*registry.name)) {
            for row in &registry.event_types {
                let class = match &*row.name {
                    "RunBegin" if &*registry.name == WAITS => 1,
                    "WaitBegin" if &*registry.name == WAITS => 2,
                    _ => 0,
                };
                let part = marks.role_of(registry, row.code).part.filter(|side| !side.is_end);
                if let Some(shape) = part.and_then(|side| shapes.get_mut(side.pair as usize)) {
                    (shape.class, shape.is_own) = (class, false);
                    shape.is_told = class == 0 && &*registry.name == WAITS;
                }
            }
        }
        shapes
    }
}
