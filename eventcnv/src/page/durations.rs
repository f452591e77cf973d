//! Adds up how long the slices of a log lasted, and how they lie in each other.
//!
//! ```text
//!  slices, as the lanes get them ─┬─ Groups of `pairs` ──▶ counts, percentiles, bars
//!                                 └─ begin, end ── Nesting ──▶ paths of names: total, own time
//! ```
//!
//! Design: `.cnv.report.durations` in `design/eventcnv.md`.

use crate::ask::pairs::lanes::Shape;
use crate::ask::pairs::reading::{By, Told, Values, is_selected};
use crate::ask::pairs::summary::Groups;
use eventlog::reader::Log;
use eventlog::reader::marks::Marks;
use lens::calls::{Function, Nesting};
use lens::slices::{Edge, Limits};

/// Paths of names, at most: their table stays in the cache of a processor, and the page has fewer.
const NODE_COUNT_MAX: usize = 1 << 15;

/// The durations of a log.
pub(crate) struct Timed {
    pub(crate) groups: Groups,
    pub(crate) nesting: Nesting,
    shapes: Vec<Shape>,
}

impl Timed {
    pub(crate) fn new(log: &Log, marks: &Marks, shapes: Vec<Shape>) -> Timed {
        let groups = Groups::new(log.registries(), marks, By::Event, 0, Limits::default());
        Timed { groups, nesting: Nesting::new(NODE_COUNT_MAX), shapes }
    }

    /// Returns the number of the group of the slice that an event begins.
    fn place(&mut self, begin: &Edge, values: &Values) -> usize {
        self.groups.place_of(begin.pair, values.name_of(begin), 0)
    }

    fn shape(&self, begin: &Edge) -> Shape {
        self.shapes.get(begin.pair as usize).copied().unwrap_or_default()
    }

    /// Takes what an event meant, of slices that the selection lacks too.
    pub(crate) fn add(&mut self, told: Told<'_>, values: &Values) {
        let edge = match told {
            Told::Begun { begin, slot, within } => {
                let is_counted = self.shape(begin).is_own && is_selected(begin);
                let name = is_counted.then(|| self.place(begin, values) as Function);
                return self.nesting.begin(slot, within, name);
            }
            Told::Slice(slice) | Told::GaveWay(slice) => {
                self.nesting.end(&slice);
                slice.begin
            }
            Told::Alone(edge) => edge,
        };
        if is_selected(edge) && !self.shape(edge).is_told {
            self.groups.add(told, values);
        }
    }
}
