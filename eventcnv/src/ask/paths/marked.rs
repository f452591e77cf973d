//! Finds the paths of functions with `#[path]` from the log of their program.
//!
//! ```text
//!  LOG ── lens_paths::marked ──▶ log "path", a thread each; or lines on standard output
//! ```
//!
//! Design: `.paths.marked` in `design/paths.md`.

use crate::ask::paths::inputs::stop;
use crate::ask::paths::said::{failed, say_unknown, told};
use crate::open::output::Output;
use crate::open::{Known, Reading};
use cli::Stop;
use eventlog::writer::{Origin, uuid_of};
use lens_paths::answer::Answer;
use lens_paths::graph::{Element, Program};
use lens_paths::marked::{Marked, Thread, ThreadWalked};
use lens_paths::walk::Step;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

/// Walks the calls of all threads. Returns whether the path is whole.
pub(super) fn run(log: &PathBuf, output: Option<&Output>) -> Result<bool, Stop> {
    let reading = Reading::open_paths(std::slice::from_ref(log), &Known::default())?;
    let marked = Marked::read(&reading.log).map_err(|error| stop(log, &error))?;
    reading.finish();
    reading.end_unread();
    let all = match output {
        Some(output) => {
            let all = write(log, &marked, output)?;
            output.print(&summary(&all))?;
            all
        }
        None => print(&marked)?,
    };
    Ok(report(&marked, &all))
}

/// Writes the paths as a log.
fn write(log: &PathBuf, marked: &Marked, output: &Output) -> Result<Vec<ThreadWalked>, Stop> {
    let mut origin = Origin::new();
    let names = marked.program().functions().iter().map(|own| own.name());
    origin.uuid = uuid_of(names.collect::<Vec<_>>().join("\n").as_bytes());
    origin.program = "path".into();
    output.write(std::slice::from_ref(log), |out| {
        let mut answer = Answer::new(marked.program(), &origin, out).map_err(failed)?;
        let mut all = Vec::new();
        for (at, thread) in marked.threads().iter().enumerate() {
            if at > 0 {
                answer.thread("path").map_err(failed)?;
            }
            let mut result = Ok(());
            all.push(marked.walk(thread, &mut |step| {
                if result.is_ok() && matches!(step, Step::Enter(_)) {
                    // Which block made the call is not known.
                    result = answer.end_block();
                }
                if result.is_ok() {
                    result = answer.add(step);
                }
            }));
            result.map_err(failed)?;
        }
        answer.finish().map_err(failed)?;
        Ok(all)
    })
}

/// Prints the paths: a line for each call and each block.
fn print(marked: &Marked) -> Result<Vec<ThreadWalked>, Stop> {
    let mut out = BufWriter::new(io::stdout().lock());
    let mut all = Vec::new();
    for thread in marked.threads() {
        let mut result = line(&mut out, 0, &name(thread));
        let mut depth = 1;
        all.push(marked.walk(thread, &mut |step| {
            if result.is_ok() {
                result = step_line(&mut out, marked.program(), &mut depth, step);
            }
        }));
        result?;
    }
    out.flush()?;
    Ok(all)
}

fn name(thread: &Thread) -> String {
    match thread.stream {
        0 => format!("thread {}", thread.number),
        stream => format!("stream {stream}, thread {}", thread.number),
    }
}

fn step_line(
    out: &mut dyn Write,
    program: &Program,
    depth: &mut usize,
    step: Step,
) -> io::Result<()> {
    match step {
        Step::Enter(function) => {
            *depth += 1;
            line(out, *depth - 1, &program.title(Element::Enter(function)))
        }
        Step::Block(function, block) => {
            let own = program.function(function).and_then(|own| own.block(block));
            let label = own.and_then(|own| own.label.clone());
            line(out, *depth, &label.unwrap_or_else(|| format!("block {}", block.0)))
        }
        Step::Leave(_) => {
            *depth -= usize::from(*depth > 1);
            Ok(())
        }
        Step::Unwound(function) => {
            *depth -= usize::from(*depth > 1);
            let name = program.title(Element::Enter(function));
            line(out, *depth, &format!("{name} did not return"))
        }
        Step::Unknown(cause) => line(out, *depth, &format!("unknown: {cause}")),
    }
}

/// Columns by which lines are moved in, at most.
const INDENT_MAX: usize = 64;

fn line(out: &mut dyn Write, depth: usize, text: &str) -> io::Result<()> {
    writeln!(out, "{:width$}{text}", "", width = (depth * 2).min(INDENT_MAX))
}

fn summary(all: &[ThreadWalked]) -> String {
    let calls = all.iter().map(|own| own.calls).sum();
    let mut sum = lens_paths::walk::Walked::default();
    sum.blocks = all.iter().map(|own| own.walked.blocks).sum();
    sum.letters = all.iter().map(|own| own.walked.letters).sum();
    let threads = cli::units::counted(all.len() as u64, "thread");
    let calls = cli::units::counted_in_groups(calls, "call");
    format!("{threads}, {calls}, {}", told(&sum))
}

/// Reports what is unknown. Returns whether the path is whole.
fn report(marked: &Marked, all: &[ThreadWalked]) -> bool {
    let mut is_whole = marked.strays() == 0;
    for (thread, own) in marked.threads().iter().zip(all) {
        for difference in &own.differences {
            cli::complain(&format!("eventcnv: {}: {difference}\n", name(thread)));
        }
        say_unknown(&own.walked);
        is_whole &= own.walked.is_whole;
    }
    if marked.strays() > 0 {
        let events = cli::units::counted(marked.strays(), "event");
        cli::complain(&format!("eventcnv: {events} of functions whose graph the log lacks\n"));
    }
    is_whole
}
