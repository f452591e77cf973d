//! A form of lines: the text of a line, and the page that it is written on.
//!
//! ```text
//!  Line ── recipe ──▶ Recipes, one for each event type ┐
//!    └─ begin │ head │ steps and tail of the recipe │ end ──▶ Page          (the line of an event)
//! ```
//!
//! Design: `.cnv.speed` in `design/eventcnv.md`.

use crate::show::clock::{Clock, Stamp};
use crate::show::recipe::{Custom, Recipe, Recipes};
use crate::show::{Row, View};
use crate::text::page::{Page, Pen};
use eventlog::reader::{Event, Registry};

/// A form of lines.
pub(crate) trait Line: Custom {
    fn clock(&self) -> &Clock<'_>;

    fn recipe(&self, row: Row<'_>) -> Recipe;

    /// Returns the line before all events.
    fn heading(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Writes the text before everything that a pen writes. Returns the time, if the pen has to
    /// write it first.
    #[inline(always)]
    fn begin(&self, event: &Event<'_, '_>, page: &mut Page) -> Stamp {
        self.clock().begin(event, page)
    }

    /// Writes the text before the first step of the recipe.
    #[inline(always)]
    fn head(&self, _event: &Event<'_, '_>, _: &Recipe, _: &mut Pen<'_>) {}

    /// Writes the text after the recipe, by whether a value has a label.
    #[inline(always)]
    fn end(&self, _event: &Event<'_, '_>, _has_label: bool, _page: &mut Page) {}
}

/// Writes the lines of events in a form.
pub(crate) struct Lines<L> {
    line: L,
    recipes: Recipes,
}

impl<L: Line> Lines<L> {
    /// Returns a view for the events of a log with these registries. For other events it is slower.
    pub(crate) fn new(line: L, registries: &[Registry]) -> Lines<L> {
        let recipes = Recipes::new(registries, |row| line.recipe(row));
        Lines { line, recipes }
    }

    #[inline(always)]
    fn write_with(&self, recipe: &Recipe, event: &Event<'_, '_>, page: &mut Page) {
        let stamp = self.line.begin(event, page);
        let head = |recipe: &Recipe, pen: &mut Pen<'_>| {
            stamp.write(pen);
            self.line.head(event, recipe, pen);
        };
        let has_label = recipe.write::<L>(event, page, head);
        self.line.end(event, has_label, page);
    }

    #[cold]
    #[inline(never)]
    fn write_alone(&self, event: &Event<'_, '_>, page: &mut Page) {
        self.write_with(&self.line.recipe(Row::from_event(event)), event, page);
    }
}

impl<L: Line> View for Lines<L> {
    /// Always inlined: a call for each event costs 8 % of a dump.
    #[inline(always)]
    fn write(&self, event: &Event<'_, '_>, page: &mut Page) {
        match self.recipes.get(event) {
            Some(recipe) => self.write_with(recipe, event, page),
            None => self.write_alone(event, page),
        }
    }
}
