//! Writes the call graph in the language of graphviz.
//!
//! ```text
//!  subgraph cluster_0 { label="shop::sell"; n2 [label="shop::sell\n3 calls, own 90 ns"]; … }
//!  n1 -> n2 [label="3", penwidth=2.6];
//! ```
//!
//! graphviz.org/doc/info/lang.html. Design: `.cnv.export.calls` in `design/eventcnv.md`.

use crate::ask::calls::summary::links;
use crate::export::calls::names::name;
use lens::calls::{Calls, Function, Graph, Link, clusters};
use std::io::{self, Write};

/// The greatest width of an edge, in points, in addition to 1.
const WIDTH_MAX: f64 = 7.0;

/// Writes the functions, each in its cluster, and their edges.
pub(super) fn write(calls: &Calls, graph: &Graph, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "digraph calls {{\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];")?;
    let links = links(graph, |sum| sum.count > 0);
    let groups = clusters(&links, |function| calls.functions().name(function), false);
    let mut drawn = vec![false; calls.functions().count()];
    for (index, (leader, members)) in groups.iter().enumerate() {
        if members.len() > 1 {
            writeln!(out, "  subgraph cluster_{index} {{")?;
            writeln!(out, "    label=\"{}\";", escaped(&name(calls, *leader)))?;
        }
        for member in members {
            node(calls, graph, *member, out)?;
            if let Some(is_drawn) = drawn.get_mut(*member as usize) {
                *is_drawn = true;
            }
        }
        if members.len() > 1 {
            writeln!(out, "  }}")?;
        }
    }
    // Functions that no function calls, and that call none.
    for edge in graph.edges().iter().filter(|edge| edge.sum.count > 0) {
        if let Some(is_drawn) = drawn.get_mut(edge.function as usize).filter(|drawn| !**drawn) {
            *is_drawn = true;
            node(calls, graph, edge.function, out)?;
        }
    }
    let most = links.iter().map(|link| link.count).max().unwrap_or(1).max(1);
    for Link { caller, function, count } in links {
        let width = 1.0 + WIDTH_MAX * (count as f64).ln_1p() / (most as f64).ln_1p();
        writeln!(out, "  n{caller} -> n{function} [label=\"{count}\", penwidth={width:.1}];")?;
    }
    writeln!(out, "}}")
}

fn node(calls: &Calls, graph: &Graph, at: Function, out: &mut dyn Write) -> io::Result<()> {
    let sum = graph.function(at);
    let (text, count, own) = (escaped(&name(calls, at)), sum.count, sum.own);
    writeln!(out, "    n{at} [label=\"{text}\\n{count} calls, own {own} ns\"];")
}

/// Returns text without line ends as a part of a quoted string. Graphviz takes `&lt;` for `<`.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('&', "&amp;")
}
