//! A form of lines: what stands in a line, stated once, and the page that it is written on.
//!
//! ```text
//!  Line ── recipe ──▶ Recipes, one for each event type ┐
//!    └─ begin │ head │ steps and tail of the recipe │ end ──▶ Page          (a line of an event)
//! ```
//!
//! Design: `.cnv.speed` in `design/eventcnv.md`.

use super::View;
use super::recipe::{Own, Recipe, Recipes};
use super::row::Row;
use crate::text::page::{Page, Pen};
use eventlog::reader::{Event, Registry};

/// A form of lines, stated once: as the recipes of its lines.
pub(crate) trait Line: Own {
    /// The recipe of the lines of a row.
    fn recipe(&self, row: Row<'_>) -> Recipe;

    /// Writes what stands before all that a pen writes. Returns the ticks that the pen writes
    /// first, in 16 digits, if it does.
    fn begin(&self, event: &Event<'_, '_>, page: &mut Page) -> Option<u64>;

    /// Writes what stands before the first step of the recipe.
    #[inline(always)]
    fn head(&self, _event: &Event<'_, '_>, _: &Recipe, _: &mut Pen<'_>) {}

    /// Writes what stands after the recipe, by whether something is called anything.
    #[inline(always)]
    fn end(&self, _event: &Event<'_, '_>, _is_called: bool, _page: &mut Page) {}
}

/// Writes the lines of events in a form.
pub(crate) struct Lines<L> {
    line: L,
    recipes: Recipes,
}

impl<L: Line> Lines<L> {
    /// For events of a log with these registries; of others too, but slower.
    pub(crate) fn new(line: L, registries: &[Registry]) -> Lines<L> {
        let recipes = Recipes::new(registries, |row| line.recipe(row));
        Lines { line, recipes }
    }

    #[inline(always)]
    fn by(&self, recipe: &Recipe, event: &Event<'_, '_>, page: &mut Page) {
        let ticks = self.line.begin(event, page);
        let head = |recipe: &Recipe, pen: &mut Pen<'_>| {
            if let Some(ticks) = ticks {
                pen.hex16(ticks);
            }
            self.line.head(event, recipe, pen);
        };
        let is_called = recipe.write::<L>(event, page, head);
        self.line.end(event, is_called, page);
    }

    #[cold]
    #[inline(never)]
    fn by_its_own(&self, event: &Event<'_, '_>, page: &mut Page) {
        self.by(&self.line.recipe(Row::of(event)), event, page);
    }
}

impl<L: Line> View for Lines<L> {
    #[inline]
    fn write(&self, event: &Event<'_, '_>, page: &mut Page) {
        match self.recipes.of(event) {
            Some(recipe) => self.by(recipe, event, page),
            None => self.by_its_own(event, page),
        }
    }
}
