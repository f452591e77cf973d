//! Plans for people: a table, and a drawing of the graph.
//!
//! ```text
//!  plan          runs  witnesses  cost │ run  machine  witnesses  cost │ SVG: blocks in rows by
//!  one profile *    1          5   100 │   0        0          5   100 │ their distance, witnesses
//! ```
//!
//! Design: `.paths.plan` in `design/paths.md`.

use cli::table::Table;
use lens_paths::graph::{BlockId, EdgeId, Element, ElementId, Function, FunctionId, Program};
use lens_paths::plan::{Plan, Plans};
use lens_paths::{Profile, Weights};
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
/// Colours of machines.
const COLOURS: [&str; 6] = ["#c0392b", "#2471a3", "#1e8449", "#b9770e", "#7d3c98", "#117a65"];

/// Returns all plans, and the runs and witnesses of the best.
pub(crate) fn table(program: &Program, weights: &Weights, plans: &Plans) -> String {
    let mut all = Table::new(1, &["plan", "machines", "runs", "witnesses", "cost"]);
    for (at, plan) in plans.all.iter().enumerate() {
        let name = format!("{}{}", plan.strategy, if at == plans.best { " *" } else { "" });
        let size: usize = plan.runs.iter().map(|run| run.profile.size()).sum();
        let machines = plan.loads().iter().filter(|load| **load > 0).count().max(1);
        let numbers = [machines as u64, plan.runs.len() as u64, size as u64, plan.cost()];
        all.row(std::iter::once(name).chain(numbers.map(|own| own.to_string())));
    }
    let mut text = all.to_string();
    let Some(best) = plans.best() else { return text };
    let mut runs = Table::new(0, &["run", "machine", "witnesses", "cost"]);
    for (number, run) in best.runs.iter().enumerate() {
        let numbers = [number as u64, run.machine as u64, run.profile.size() as u64, run.cost];
        runs.row(numbers.map(|own| own.to_string()));
    }
    let mut witnesses = Table::new(0, &["run", "weight", "element", "witness"]);
    witnesses.end_left();
    let own = best.runs.iter().enumerate();
    let mut each =
        own.flat_map(|(run, own)| own.profile.letters().iter().map(move |at| (run, at.0)));
    for (run, element) in each.by_ref().take(SHOWN_COUNT_MAX) {
        let name = program.element(element).map_or("?".into(), |own| program.say(own));
        let numbers = [run as u64, weights.of(element), u64::from(element.0)];
        witnesses.row(numbers.map(|own| own.to_string()).into_iter().chain([name]));
    }
    let _ = write!(text, "\n{runs}\n{witnesses}");
    match each.count() {
        0 => {}
        more => {
            let _ = writeln!(text, "and {more} more: -o PLAN writes all");
        }
    }
    text
}

/// Returns which events of a run tell nothing.
pub(crate) fn spare(
    program: &Program,
    weights: &Weights,
    profile: &Profile,
    spare: &[ElementId],
) -> String {
    let (count, size) = (spare.len(), profile.size());
    let mut text = format!("\nof {size} elements with events, {count} tell nothing");
    if count == 0 {
        return text + "\n";
    }
    let mut table = Table::new(0, &["weight", "element", "event"]);
    table.end_left();
    for element in spare.iter().take(SHOWN_COUNT_MAX) {
        let name = program.element(*element).map_or("?".into(), |own| program.say(own));
        table.row([weights.of(*element).to_string(), element.0.to_string(), name]);
    }
    let _ = write!(text, " that the others leave open:\n{table}");
    if let more @ 1.. = count.saturating_sub(SHOWN_COUNT_MAX) {
        let _ = writeln!(text, "and {more} more");
    }
    text
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
pub(crate) fn drawing(program: &Program, weights: &Weights, plan: &Plan) -> String {
    let (mut body, mut top, mut width, mut drawn) = (String::new(), 30, 600, 0);
    let loads = plan.loads();
    let greatest = loads.iter().copied().max().unwrap_or(0).max(1);
    for (machine, load) in loads.iter().enumerate() {
        let bar = (*load as f64 / greatest as f64 * 300.0).round();
        let colour = COLOURS[machine % COLOURS.len()];
        let y = top + 4;
        let _ = writeln!(
            body,
            "<rect x='110' y='{top}' width='{bar}' height='14' fill='{colour}'/>\
             <text x='10' y='{y}' dy='8'>machine {machine}</text>\
             <text x='{}' y='{y}' dy='8'>{load}</text>",
            bar + 118.0
        );
        top += 22;
    }
    for (id, function) in program.ids().zip(program.functions()) {
        if drawn + function.blocks().len() > DRAWN_COUNT_MAX {
            top += 24;
            let _ = writeln!(body, "<text x='10' y='{top}'>further functions are left out</text>");
            break;
        }
        drawn += function.blocks().len();
        top += 34;
        let name = escaped(function.name());
        let _ = writeln!(body, "<text x='10' y='{top}' class='name'>{name}</text>");
        top += 14;
        let places = places(function);
        draw(&mut body, (program, weights, plan), (id, function), &places, top);
        let columns = places.iter().map(|own| own.0 + 1).max().unwrap_or(1);
        let rows = places.iter().map(|own| own.1 + 1).max().unwrap_or(1);
        width = width.max(columns * COLUMN + 40);
        top += rows * ROW;
    }
    top += 20;
    format!(
        "<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{top}' \
         viewBox='0 0 {width} {top}'>\n<style>text{{font:11px sans-serif}}\
         .name{{font:bold 13px sans-serif}}.block{{fill:#fff;stroke:#555}}\
         .edge{{fill:none;stroke:#999}}</style>\n\
         <text x='10' y='18' class='name'>{}: cost {}</text>\n\
         {body}</svg>\n",
        plan.strategy,
        plan.cost()
    )
}

/// Draws a function: edges, then blocks with their weights; witnesses in the colours of machines.
fn draw(
    body: &mut String,
    (program, weights, plan): (&Program, &Weights, &Plan),
    (id, function): (FunctionId, &Function),
    places: &[(usize, usize)],
    top: usize,
) {
    let weight = |element: Element| program.id(element).map_or(0, |own| weights.of(own));
    let machines = |element: Element| -> Vec<usize> {
        let Some(own) = program.id(element) else { return Vec::new() };
        let has = |own: ElementId, run: &&lens_paths::plan::Run| run.profile.letter(own).is_some();
        plan.runs.iter().filter(|run| has(own, run)).map(|run| run.machine).collect()
    };
    let marks = |body: &mut String, element: Element, x: usize, y: usize| {
        for (at, machine) in machines(element).into_iter().enumerate() {
            let colour = COLOURS[machine % COLOURS.len()];
            let x = x + at * 9;
            let _ = writeln!(body, "<circle cx='{x}' cy='{y}' r='4' fill='{colour}'/>");
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
        let label = block.label.as_deref().map_or_else(|| at.0.to_string(), escaped);
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

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
