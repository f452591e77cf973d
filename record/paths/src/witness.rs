//! Makes profiles that breakpoints can witness.
//!
//! ```text
//!  enter f     ─▶ the first block of f
//!  leave f     ─▶ the blocks after which f returns
//!  from > to   ─▶ from, if it has one way on │ to
//! ```
//!
//! Another witness may tell less. So condition A is checked afterwards.
//!
//! Design: `.collect.sites` in `design/collect.md`.

use crate::sites::Sites;
use lens_paths::Profile;
use lens_paths::binary::Chart;
use lens_paths::graph::{BlockId, Element, ElementId};

/// Returns a profile like another one, in which breakpoints can witness each element.
pub fn trappable(chart: &Chart, profile: &Profile) -> Profile {
    let program = &chart.program;
    let elements = profile.letters().iter().filter_map(|(id, _)| program.element(*id));
    let all = elements.flat_map(|element| instead(chart, element));
    Profile::of(all.filter_map(|element| program.id(element)))
}

fn instead(chart: &Chart, element: Element) -> Vec<Element> {
    if Sites::can_witness(chart, element) {
        return vec![element];
    }
    let blocks = |function| {
        let own = chart.program.function(function);
        (0..).map(BlockId).zip(own.map_or(&[][..], |own| own.blocks()))
    };
    match element {
        Element::Enter(function) => {
            let own = chart.program.function(function);
            own.map(|own| Element::Block(function, own.entry())).into_iter().collect()
        }
        Element::Leave(function) => {
            let returning = blocks(function).filter(|(_, own)| own.returns);
            returning.map(|(block, _)| Element::Block(function, block)).collect()
        }
        Element::Edge(function, edge) => {
            let own = chart.program.function(function);
            let Some(own) = own else { return Vec::new() };
            let Some(edge) = own.edges().get(edge.0 as usize) else { return Vec::new() };
            let is_only = own.leaving(edge.from).len() == 1 && own.way_count(edge.from) == 1;
            vec![Element::Block(function, if is_only { edge.from } else { edge.to })]
        }
        Element::Block(..) => vec![element],
    }
}

/// Returns how often a run stops for an element, for a weight of each element: an edge that the
/// outcome of a jump tells stops the program each time that the jump runs.
pub fn stops(chart: &Chart, element: ElementId, weight: impl Fn(ElementId) -> u64) -> u64 {
    let program = &chart.program;
    let own = program.element(element).map(|own| instead(chart, own)).unwrap_or_default();
    let each = own.into_iter().map(|own| Sites::stopping(chart, own).unwrap_or(own));
    each.filter_map(|own| program.id(own)).map(weight).fold(0, u64::saturating_add)
}
