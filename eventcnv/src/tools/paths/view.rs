//! Plans for people: tables, and their markup in a page with a drawing of the graph.
//!
//! ```text
//!  plan          runs  witnesses  cost │ run  machine  witnesses  cost │ SVG: blocks in rows by
//!  one profile *    1          5   100 │   0        0          5   100 │ their distance, witnesses
//! ```
//!
//! Design: `.paths.plan` in `design/paths.md`.

use cli::Stop;
use cli::page::chart::{Bar, bars, series};
use cli::page::section;
use cli::table::{Around, Cell, Form, Sheet, Table, count, text};
use cli::units::{Unit, counted};
use lens_paths::graph::{BlockId, EdgeId, Element, ElementId, Function, FunctionId, Program};
use lens_paths::plan::{Plans, Run, loads};
use lens_paths::{Profile, Weights};
use maud::{Markup, PreEscaped, html};
use serde_json::json;
use std::collections::VecDeque;
use std::fmt::Write;

/// Witnesses that the table names, at most.
const SHOWN_COUNT_MAX: usize = 40;
/// Blocks of a drawing, at most.
const DRAWN_COUNT_MAX: usize = 2000;
const COLUMN: usize = 150;
const ROW: usize = 64;
const BOX_WIDTH: usize = 120;
const BOX_HEIGHT: usize = 30;
/// Returns all plans, and the runs and witnesses of the best; with the profile of a run, the
/// elements whose events tell nothing.
pub(crate) fn answer(
    program: &Program,
    weights: &Weights,
    plans: &Plans,
    spared: Option<(&Profile, &[ElementId])>,
    form: &Form,
) -> Result<Vec<u8>, Stop> {
    let counts = ["machines", "runs", "witnesses", "cost"].map(count);
    let columns = [text("plan")].into_iter().chain(counts);
    let mut all = Table::new(columns.chain([text("best").for_programs()]));
    for (at, plan) in plans.all.iter().enumerate() {
        let (name, is_best) = (plan.strategy.to_string(), at == plans.best);
        let shown = if is_best { format!("{name} *") } else { name.clone() };
        let size: usize = plan.runs.iter().map(|run| run.profile.size()).sum();
        let machines = loads(&plan.runs).iter().filter(|load| **load > 0).count().max(1);
        let numbers = [machines as u64, plan.runs.len() as u64, size as u64, plan.cost()];
        let cells = [Cell::Words(shown, json!(name))].into_iter().chain(numbers.map(Cell::from));
        all.row(cells.chain([is_best.into()]));
    }
    let plans_sheet = Sheet::new("plans", all).between(String::new(), String::new());
    let mut sheets = vec![plans_sheet];
    if let Some(best) = plans.best() {
        let [runs, witnesses] = tables(program, weights, &best.runs);
        sheets.push(Sheet::new("runs", runs));
        sheets.push(Sheet::new("witnesses", witnesses).most(SHOWN_COUNT_MAX));
    }
    let mut around = Around { facts: json!({}), ..Around::default() };
    if let Some((profile, spare)) = spared {
        let (count, size) = (spare.len(), profile.size());
        let what = format!("\nof {size} elements with events, {count} tell nothing");
        if spare.is_empty() {
            around.after = format!("{what}\n");
        }
        let mut table = elements(["weight", "element", "event"]);
        spare.iter().for_each(|own| table.row(element(program, weights, *own)));
        let before = format!("{what} that the others leave open:\n");
        let sheet = Sheet::new("spare", table).between(before, String::new());
        sheets.push(sheet.most(SHOWN_COUNT_MAX));
    }
    form.answer_all("plans", sheets, around)
}

/// Returns a table of elements of a program.
fn elements<const N: usize>(names: [&'static str; N]) -> Table<'static> {
    let column = |(at, name)| if at + 1 == N { text(name) } else { count(name) };
    Table::new(names.into_iter().enumerate().map(column))
}

/// Returns the weight, the number and the name of an element.
fn element(program: &Program, weights: &Weights, own: ElementId) -> [Cell; 3] {
    let name = program.element(own).map_or("?".into(), |own| program.say(own));
    [weights.of(own).into(), u64::from(own.0).into(), name.into()]
}

/// Returns runs, and their witnesses.
fn tables(program: &Program, weights: &Weights, own: &[Run]) -> [Table<'static>; 2] {
    let mut runs = Table::new(["run", "machine", "witnesses", "cost"].map(count));
    let mut witnesses = elements(["run", "weight", "element", "witness"]);
    for (number, run) in (0u64..).zip(own) {
        let numbers = [number, run.machine as u64, run.profile.size() as u64, run.cost];
        runs.row(numbers.map(Cell::from));
        for (at, _) in run.profile.letters() {
            witnesses.row([number.into()].into_iter().chain(element(program, weights, *at)));
        }
    }
    [runs, witnesses]
}

/// Returns the runs of a plan as markup: their tables, and the drawing of the graph.
pub(crate) fn markup(program: &Program, weights: &Weights, runs: &[Run]) -> Markup {
    let [runs_table, mut witnesses] = tables(program, weights, runs);
    let count = witnesses.rows.len();
    let told = format!(
        "{} on {} tell the path, by {count} witness{}",
        counted(runs.len() as u64, "run"),
        counted(loads(runs).len() as u64, "machine"),
        if count == 1 { "" } else { "es" }
    );
    witnesses.rows.truncate(DRAWN_COUNT_MAX);
    let bar = |(machine, load): (usize, &u64)| Bar {
        name: format!("machine {machine}"),
        value: *load,
        class: series(machine),
    };
    let machines: Vec<Bar> = loads(runs).iter().enumerate().map(bar).collect();
    let drawing = PreEscaped(drawing(program, weights, runs));
    html! {
        p.lead { (told) }
        section aria-label="Graph" {
            (bars("Machines", "the cost of each", &machines, Unit::Count))
            (drawing)
        }
        (section("Runs", &runs_table))
        (section("Witnesses", &witnesses))
    }
}

/// The place of each block of a function: column and row.
fn places(function: &Function) -> Vec<(usize, usize)> {
    let count = function.blocks().len();
    let mut rows = vec![usize::MAX; count];
    let mut open = VecDeque::from([function.entry()]);
    if let Some(row) = rows.get_mut(function.entry().0 as usize) {
        *row = 0;
    }
    while let Some(block) = open.pop_front() {
        let next = rows.get(block.0 as usize).map_or(0, |row| row + 1);
        for edge in function.leaving(block) {
            if let Some(row) = rows.get_mut(edge.to.0 as usize).filter(|row| **row == usize::MAX) {
                *row = next;
                open.push_back(edge.to);
            }
        }
    }
    let last = rows.iter().filter(|row| **row != usize::MAX).max().map_or(0, |row| row + 1);
    let mut filled = vec![0; last + 1];
    let place = |row: usize| {
        let row = row.min(last);
        let column = filled.get_mut(row).map_or(0, |count| std::mem::replace(count, *count + 1));
        (column, row)
    };
    rows.into_iter().map(place).collect()
}

/// Returns a drawing of a plan.
fn drawing(program: &Program, weights: &Weights, runs: &[Run]) -> String {
    let (mut body, mut top, mut width, mut drawn) = (String::new(), 0, 600, 0);
    for (id, function) in program.ids().zip(program.functions()) {
        if drawn + function.blocks().len() > DRAWN_COUNT_MAX {
            top += 24;
            let _ = writeln!(body, "<text x='10' y='{top}'>further functions are left out</text>");
            break;
        }
        drawn += function.blocks().len();
        top += 34;
        let name = html! { (function.name()) }.into_string();
        let _ = writeln!(body, "<text x='10' y='{top}' class='name'>{name}</text>");
        top += 14;
        let places = places(function);
        draw(&mut body, (program, weights, runs), (id, function), &places, top);
        let columns = places.iter().map(|own| own.0 + 1).max().unwrap_or(1);
        let rows = places.iter().map(|own| own.1 + 1).max().unwrap_or(1);
        width = width.max(columns * COLUMN + 40);
        top += rows * ROW;
    }
    top += 20;
    format!(
        "<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{top}' \
         viewBox='0 0 {width} {top}'>\n{body}</svg>\n"
    )
}

/// Draws a function: edges, then blocks with their weights; witnesses in the colours of machines.
fn draw(
    body: &mut String,
    (program, weights, runs): (&Program, &Weights, &[Run]),
    (id, function): (FunctionId, &Function),
    places: &[(usize, usize)],
    top: usize,
) {
    let weight = |element: Element| program.id(element).map_or(0, |own| weights.of(own));
    let machines = |element: Element| -> Vec<usize> {
        let Some(own) = program.id(element) else { return Vec::new() };
        let has = |own: ElementId, run: &&Run| run.profile.letter(own).is_some();
        runs.iter().filter(|run| has(own, run)).map(|run| run.machine).collect()
    };
    let marks = |body: &mut String, element: Element, x: usize, y: usize| {
        for (at, machine) in machines(element).into_iter().enumerate() {
            let (x, class) = (x + at * 9, series(machine));
            let _ = writeln!(body, "<circle class='{class}' cx='{x}' cy='{y}' r='4'/>");
        }
    };
    let corner = |block: BlockId| {
        let (column, row) = places.get(block.0 as usize).copied().unwrap_or((0, 0));
        (20 + column * COLUMN, top + row * ROW)
    };
    for (at, edge) in (0..).map(EdgeId).zip(function.edges()) {
        let ((x1, y1), (x2, y2)) = (corner(edge.from), corner(edge.to));
        let (x1, y1, x2) = (x1 + BOX_WIDTH / 2, y1 + BOX_HEIGHT, x2 + BOX_WIDTH / 2);
        // An edge upwards goes around the right side.
        let bend = if y2 > y1 { 0 } else { BOX_WIDTH / 2 + 20 };
        let (c1, c2) = (x1 + bend, x2 + bend);
        let (below, above) = (y1 + 20, y2.saturating_sub(20));
        let _ = writeln!(
            body,
            "<path class='edge' d='M{x1} {y1} C{c1} {below} {c2} {above} {x2} {y2}'>\
             <title>{} &gt; {}: {}</title></path>",
            edge.from.0,
            edge.to.0,
            weight(Element::Edge(id, at))
        );
        marks(body, Element::Edge(id, at), (x1 + x2 + bend) / 2, (y1 + y2) / 2);
    }
    for (at, block) in (0..).map(BlockId).zip(function.blocks()) {
        let (x, y) = corner(at);
        let label = block
            .label
            .as_deref()
            .map_or_else(|| at.0.to_string(), |own| html! { (own) }.into_string());
        let short: String = label.chars().take(14).collect();
        let weight = weight(Element::Block(id, at));
        let _ = writeln!(
            body,
            "<rect class='block' x='{x}' y='{y}' width='{BOX_WIDTH}' height='{BOX_HEIGHT}' rx='4'/>\
             <text x='{}' y='{}'>{short} · {weight}</text>",
            x + 16,
            y + 19
        );
        marks(body, Element::Block(id, at), x + 8, y + BOX_HEIGHT / 2);
    }
    let (x, y) = corner(function.entry());
    marks(body, Element::Enter(id), x + BOX_WIDTH / 2, y.saturating_sub(5));
    marks(body, Element::Leave(id), x + BOX_WIDTH + 8, y + BOX_HEIGHT / 2);
}
