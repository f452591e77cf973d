//! Writes how often lines ran, in the format of lcov.
//!
//! ```text
//!  SF:src/shop.rs
//!  FN:9,shop::sell          the line of the function
//!  FNDA:3,shop::sell        how often its first statement ran
//!  DA:10,3                  a line in which statements begin: the greatest count of these
//! ```
//!
//! man geninfo. Design: `.cnv.export.statements` in `design/eventcnv.md`.

use crate::export::calls::names::named;
use eventlog::format::text::OneLine;
use lens::statements::{Facts, Statement, Statements};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// What ran in a file.
#[derive(Default)]
struct File {
    /// By name: the line of a function, and how often its first statement ran.
    functions: BTreeMap<String, (u32, u64)>,
    /// By line.
    lines: BTreeMap<u32, u64>,
}

/// Writes the statements of a log. Returns notes for the user.
pub(crate) fn write(found: &Statements, out: &mut dyn Write) -> io::Result<Vec<String>> {
    let mut files: BTreeMap<String, File> = BTreeMap::new();
    let mut left_count = 0u64;
    for (function, statements) in found.by_function() {
        let own = |at: Statement| found.all().get(at as usize);
        let placed = |facts: &&Facts| facts.file.is_some() && facts.line > 0;
        let (mut first, count) = (None, statements.len() as u64);
        let mut placed_count = 0;
        for at in statements {
            let Some(facts) = own(at).filter(placed) else { continue };
            placed_count += 1;
            let name = OneLine(facts.file.as_deref().unwrap_or_default().as_bytes()).to_string();
            let file = files.entry(name.clone()).or_default();
            let line = file.lines.entry(facts.line).or_default();
            *line = found.count(at).max(*line);
            first.get_or_insert((name, facts.line, found.count(at)));
        }
        left_count += count - placed_count;
        let site = found.functions().facts(function).filter(|facts| facts.is_stated);
        if let Some((file, line, count)) = first
            && let Some(file) = files.get_mut(&file)
        {
            let line = site.map_or(line, |site| site.line.min(line));
            file.functions.insert(named(found.functions().name(function)), (line, count));
        }
    }
    for (name, File { functions, lines }) in &files {
        writeln!(out, "TN:\nSF:{name}")?;
        for (name, (line, _)) in functions {
            writeln!(out, "FN:{line},{name}")?;
        }
        for (name, (_, count)) in functions {
            writeln!(out, "FNDA:{count},{name}")?;
        }
        let hit = functions.values().filter(|(_, count)| *count > 0).count();
        writeln!(out, "FNF:{}\nFNH:{hit}", functions.len())?;
        for (line, count) in lines {
            writeln!(out, "DA:{line},{count}")?;
        }
        let hit = lines.values().filter(|count| **count > 0).count();
        writeln!(out, "LF:{}\nLH:{hit}\nend_of_record", lines.len())?;
    }
    let note = format!("{left_count} statements are left out: the log does not state their places");
    Ok(Vec::from_iter((left_count > 0).then_some(note)))
}
