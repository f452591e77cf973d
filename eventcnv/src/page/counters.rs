//! Values of counters over time, in cells of the time: for a page of bounded size.
//!
//! ```text
//!  steps ── Counters of the lens ──▶ counter, value ──▶ its cell: least, greatest, last
//!  too many cells ──▶ two neighbours of each counter become one
//! ```
//!
//! Design: `.cnv.report.counters` in `design/eventcnv.md`.

use eventlog::reader::Log;
use eventlog::reader::marks::Marks;
use lens::counters::{Counter, Counters, Steps};
use lens::slices::Gap;
use std::cmp::Reverse;
use std::collections::HashMap;

/// Parts of the time, at most.
pub(crate) const CELL_COUNT: usize = 1024;
/// Cells of all counters together, at most; and of those of the page.
const CELLS_COUNT_MAX: usize = 1 << 20;
const PAGE_CELLS_COUNT_MAX: usize = 1 << 14;
/// Counters of the page, at most.
const COUNTER_COUNT_MAX: usize = 32;

/// The values in a part of the time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cell {
    pub(crate) at: u16,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) last: f64,
}

/// The values of a counter.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chart {
    pub(crate) cells: Vec<Cell>,
    pub(crate) change_count: u64,
}

impl Chart {
    /// Returns the difference between its greatest and its least value.
    fn change(&self) -> f64 {
        let low = self.cells.iter().map(|cell| cell.low).fold(f64::INFINITY, f64::min);
        let high = self.cells.iter().map(|cell| cell.high).fold(f64::NEG_INFINITY, f64::max);
        (high - low).max(0.0)
    }

    /// Returns whether there is a new cell.
    fn add(&mut self, at: u16, value: f64) -> bool {
        if let Some(cell) = self.cells.last_mut().filter(|cell| cell.at >= at) {
            (cell.low, cell.high, cell.last) = (cell.low.min(value), cell.high.max(value), value);
            return false;
        }
        self.cells.push(Cell { at, low: value, high: value, last: value });
        true
    }

    /// Makes one cell of two neighbours.
    fn halve(&mut self) {
        self.cells.iter_mut().for_each(|cell| cell.at /= 2);
        self.cells.dedup_by(|next, cell| {
            let is_one = next.at == cell.at;
            if is_one {
                (cell.low, cell.high) = (cell.low.min(next.low), cell.high.max(next.high));
                cell.last = next.last;
            }
            is_one
        });
    }
}

/// The counters of a log, with their values over time.
pub(crate) struct Charts {
    pub(crate) counters: Counters,
    /// By counter.
    charts: Vec<Chart>,
    /// The first and the last moment in ns.
    range: (u64, u64),
    /// How often cells were halved.
    shift: u32,
    cell_count: usize,
}

impl Charts {
    pub(crate) fn new(log: &Log, marks: &Marks, range: (u64, u64)) -> Charts {
        let counters = Counters::new(log, marks, |_, _| true);
        Charts { counters, charts: Vec::new(), range, shift: 0, cell_count: 0 }
    }

    /// Takes changes, in order of time, and the gaps in the numbers of their events.
    pub(crate) fn take(&mut self, steps: &mut Steps, gaps: &[Gap]) {
        gaps.iter().for_each(|gap| self.counters.gap(gap));
        let Charts { counters, charts, range: (first, last), shift, cell_count } = self;
        let length = u128::from(last.saturating_sub(*first)) + 1;
        counters.take(steps, |_, counter, step| {
            if charts.len() <= counter.index {
                charts.resize_with(counter.index + 1, Chart::default);
            }
            let Some(chart) = charts.get_mut(counter.index) else { return };
            if step.ns > *last {
                return;
            }
            chart.change_count += 1;
            if step.ns < *first {
                // Of the time before, the last value counts.
                *cell_count -= chart.cells.len();
                chart.cells.clear();
            }
            let after = u128::from(step.ns.saturating_sub(*first));
            let at = (after * CELL_COUNT as u128 / length) as u16 >> *shift;
            *cell_count += usize::from(chart.add(at, counter.value.as_f64()));
            if *cell_count > CELLS_COUNT_MAX && *shift < CELL_COUNT.ilog2() {
                *shift += 1;
                charts.iter_mut().for_each(Chart::halve);
                *cell_count = charts.iter().map(|chart| chart.cells.len()).sum();
            }
        });
    }

    /// Returns the number of counters with a value in the time of the page.
    pub(crate) fn count(&self) -> usize {
        self.charts.iter().filter(|chart| !chart.cells.is_empty()).count()
    }

    /// Returns the counters of the page, those of each mark that changed most first, and the number
    /// of parts of the time.
    pub(crate) fn chosen(&self) -> (Vec<(&Counter, Chart)>, usize) {
        let mut all: Vec<(&Counter, &Chart, f64)> = (self.counters.all().iter().zip(&self.charts))
            .filter(|(_, chart)| !chart.cells.is_empty())
            .map(|(counter, chart)| (counter, chart, chart.change()))
            .collect();
        all.sort_by(|a, b| b.2.total_cmp(&a.2).then(a.0.index.cmp(&b.0.index)));
        let mut ranks: HashMap<u32, u32> = HashMap::new();
        let mut ranked: Vec<(u32, &Counter, &Chart, f64)> = Vec::new();
        for (counter, chart, change) in all {
            let rank = ranks.entry(counter.pair).or_default();
            ranked.push((*rank, counter, chart, change));
            *rank += 1;
        }
        // Units differ, so each mark has its greatest before another has its second.
        ranked.sort_by_key(|(rank, ..)| *rank);
        ranked.truncate(COUNTER_COUNT_MAX);
        let mut chosen: Vec<(&Counter, Chart)> =
            ranked.into_iter().map(|(_, counter, chart, _)| (counter, chart.clone())).collect();
        chosen.sort_by_key(|(counter, chart)| (Reverse(chart.change() > 0.0), counter.pair));
        let mut parts = CELL_COUNT >> self.shift;
        let sum =
            |all: &[(&Counter, Chart)]| all.iter().map(|one| one.1.cells.len()).sum::<usize>();
        while sum(&chosen) > PAGE_CELLS_COUNT_MAX && parts > 1 {
            chosen.iter_mut().for_each(|(_, chart)| chart.halve());
            parts /= 2;
        }
        (chosen, parts)
    }
}
