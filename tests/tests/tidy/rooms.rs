//! The rooms of a crate: imports run from a higher room to a lower one, and circles of imports
//! within a room are small.
//!
//! ```text
//!  ARCHITECTURE.md: "Rooms of `telemetry/src`", a picture, the highest room first
//!  files ──▶ paths that they name (`use`, `crate::…`, `super::…`, a child) ──▶ files ──▶ verdict
//! ```
//!
//! A name that a module re-exports from its child belongs to the child. Tests may name anything.
//! Rules: `ARCHITECTURE.md`, Invariants.

use super::tree::{File, judge, read, rust_files};
use std::collections::{BTreeMap, BTreeSet};

/// The folders whose rooms `ARCHITECTURE.md` draws. A further one needs its picture there, below
/// "Rooms of `FOLDER`", and its name in this list.
const HOUSES: [&str; 13] = [
    "telemetry/src",
    "calls/src",
    "eventlog/src/reader",
    "lens/src/slices",
    "lens/src/calls",
    "lens/src/statements",
    "lens/src/waits",
    "lens/paths/src",
    "record/paths/src",
    "record/waits/src",
    "record/command/src",
    "eventcnv/src",
    "replay/src",
];
/// The greatest number of files in one circle of imports.
const CIRCLE_MAX: usize = 3;

/// Returns the rooms of a folder, the highest first: the first words of the picture's lines.
fn order_of(architecture: &str, house: &str) -> Vec<String> {
    let mark = format!("Rooms of `{house}`");
    let after = architecture.split_once(&mark).map_or("", |(_, after)| after);
    let picture = after.split("```").nth(1).unwrap_or_default();
    let first = |line: &str| line.split_whitespace().next().map(str::to_owned);
    picture.lines().filter_map(first).collect()
}

/// Modules of a house by their paths (`["os", "sync"]`), each with its file.
struct House<'a> {
    order: Vec<String>,
    /// The path of the house in its crate: `reader` of `eventlog/src/reader`.
    root: Vec<String>,
    files: BTreeMap<Vec<String>, &'a File>,
    /// Names that a module re-exports from a child: module and name to the child.
    passed_on: BTreeMap<(Vec<String>, String), Vec<String>>,
}

/// Returns the code of a file without its unit tests, in one line.
fn code_of(file: &File) -> String {
    let end = file.tests_begin();
    let code = file.code().take_while(|(number, _)| *number < end);
    code.map(|(_, line)| line).collect::<Vec<_>>().join(" ")
}

fn module_of(path: &str) -> Vec<String> {
    let mut parts: Vec<String> =
        path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if ["mod", "lib", "main"].iter().any(|root| parts.last().is_some_and(|last| last == root)) {
        parts.pop();
    }
    parts
}

/// Returns the paths of a `use`, with its braces expanded, each as segments.
fn opened(tree: &str) -> Vec<Vec<String>> {
    let (mut found, mut depth, mut part) = (Vec::new(), 0, String::new());
    for c in tree.chars().chain([',']) {
        depth += i32::from(c == '{') - i32::from(c == '}');
        if c != ',' || depth != 0 {
            part.push(c);
            continue;
        }
        let text = core::mem::take(&mut part);
        let (head, inside) = text.split_once('{').map_or((text.as_str(), None), |(head, rest)| {
            (head, Some(rest.trim_end().trim_end_matches('}')))
        });
        let head = head.split(" as ").next().unwrap_or_default();
        let names = head.split("::").map(str::trim).filter(|name| !name.is_empty());
        let head: Vec<String> = names.map(str::to_owned).collect();
        match inside {
            Some(inside) => {
                found.extend(opened(inside).into_iter().map(|rest| [head.clone(), rest].concat()));
            }
            None if !head.is_empty() => found.push(head),
            None => {}
        }
    }
    found
}

/// Returns the `use`s of code, public or not, and the code without them.
fn split_uses(code: &str) -> (Vec<(bool, String)>, String) {
    let (mut uses, mut rest) = (Vec::new(), String::new());
    for (index, statement) in code.split_inclusive(';').enumerate() {
        let at = statement.find("use ").filter(|at| {
            let before = statement[..*at].trim_end();
            index == 0 && before.is_empty()
                || before.is_empty()
                || [")", "]", "}", "{", "pub"].iter().any(|end| before.ends_with(end))
        });
        let Some(at) = at else {
            rest.push_str(statement);
            continue;
        };
        rest.push_str(&statement[..at]);
        let before = statement[..at].trim_end();
        let is_public = before.ends_with("pub") || before.ends_with(')') && before.contains("pub(");
        uses.push((is_public, statement[at + 4..].trim_end_matches(';').to_owned()));
    }
    (uses, rest)
}

impl<'a> House<'a> {
    fn new(root: &str, order: Vec<String>, files: &'a [File]) -> House<'a> {
        let roots = ["lib", "main", "mod"].map(|name| format!("{root}/{name}.rs"));
        let parents = || files.iter().filter(|file| roots.contains(&file.path));
        let is_test = |file: &File| {
            let name = file.path[root.len() + 1..].trim_end_matches(".rs");
            file.is_test()
                || name.ends_with("/tests")
                || parents()
                    .any(|parent| parent.text.contains(&format!("#[cfg(test)]\nmod {name};")))
        };
        let below = |file: &&File| file.path.starts_with(&format!("{root}/")) && !is_test(file);
        let of = |file: &'a File| (module_of(&file.path[root.len() + 1..]), file);
        let prefix = root.split_once("/src/").map_or(Vec::new(), |(_, below)| module_of(below));
        let mut house = House {
            order,
            root: prefix,
            files: files.iter().filter(below).map(of).collect(),
            passed_on: BTreeMap::new(),
        };
        for (module, file) in &house.files {
            for (_, tree) in split_uses(&code_of(file)).0.iter().filter(|(public, _)| *public) {
                for path in opened(tree) {
                    let full = house.full(module, &path);
                    if let (Some(full), Some(name)) = (full, path.last()) {
                        let child = full[..full.len() - 1].to_vec();
                        house.passed_on.insert((module.clone(), name.clone()), child);
                    }
                }
            }
        }
        house
    }

    /// Returns a path from the house's root if the path leads into the house: from the root, from a
    /// parent, or into a child.
    fn full(&self, module: &[String], path: &[String]) -> Option<Vec<String>> {
        let mut base = match path.first()?.as_str() {
            "crate" => {
                let below = path[1..].strip_prefix(self.root.as_slice())?;
                return Some(below.to_vec());
            }
            "super" => module.split_last()?.1.to_vec(),
            "self" => module.to_vec(),
            child => {
                let child = [module, &[child.to_owned()]].concat();
                self.files.get(&child)?;
                return Some([module, path].concat());
            }
        };
        for name in &path[1..] {
            if name == "super" {
                base.pop()?;
            } else if name != "self" {
                base.push(name.clone());
            }
        }
        Some(base)
    }

    /// Returns the module to which a path belongs.
    fn owner(&self, path: &[String]) -> Vec<String> {
        let mut at = path.to_vec();
        for _ in 0..4 {
            let mut module = at.clone();
            while !module.is_empty() && !self.files.contains_key(&module) {
                module.pop();
            }
            let name = at.get(module.len());
            let passed_on =
                name.and_then(|name| self.passed_on.get(&(module.clone(), name.clone())));
            let Some(next) = passed_on.filter(|next| **next != module) else { return module };
            at = [next.as_slice(), &at[module.len()..]].concat();
        }
        at
    }

    /// Returns the modules that a module names.
    fn named_by(&self, module: &[String]) -> BTreeSet<Vec<String>> {
        let (uses, rest) = split_uses(&code_of(self.files[module]));
        // The module need not know the names that it re-exports.
        let private = uses.iter().filter(|(public, _)| !public);
        let mut paths: Vec<Vec<String>> = private.flat_map(|(_, tree)| opened(tree)).collect();
        let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        for (at, word) in words(&rest, is_path) {
            // `$crate` stands for this crate in a macro that another crate uses.
            if word.contains("::") && !rest[..at].ends_with('$') {
                paths.extend(opened(word));
            }
        }
        let full = paths.iter().filter_map(|path| self.full(module, path));
        full.map(|path| self.owner(&path)).filter(|other| other != module).collect()
    }

    /// Returns imports that run upward, modules without a room, and circles that are too large.
    fn breaches(&self) -> Vec<String> {
        let rank = |module: &[String]| {
            let room = module.first()?;
            self.order.iter().rev().position(|other| other == room)
        };
        let (mut found, mut inside) = (Vec::new(), BTreeMap::new());
        for (module, file) in self.files.iter().filter(|(module, _)| !module.is_empty()) {
            let Some(own) = rank(module) else {
                found.push(format!("{}: its room is not in the picture", file.path));
                continue;
            };
            let named = self.named_by(module);
            for other in named.iter().filter(|other| rank(other).is_none_or(|rank| rank > own)) {
                let other = if other.is_empty() { "the root".into() } else { other.join("::") };
                found.push(format!("{}: names {other}, which is above it", file.path));
            }
            let same = named.into_iter().filter(|other| rank(other) == Some(own));
            inside.insert(module.clone(), same.collect::<BTreeSet<_>>());
        }
        found.extend(circles(&inside));
        found
    }
}

/// Returns the words of certain characters, with their offsets.
fn words(text: &str, is_part: impl Fn(char) -> bool) -> impl Iterator<Item = (usize, &str)> {
    let start = text.as_ptr().addr();
    text.split(move |c: char| !is_part(c))
        .filter(|word| !word.is_empty())
        .map(move |word| (word.as_ptr().addr() - start, word))
}

/// Returns circles with too many files.
fn circles(named: &BTreeMap<Vec<String>, BTreeSet<Vec<String>>>) -> Vec<String> {
    let reach = |from: &Vec<String>| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(next) = open.pop() {
            for other in named.get(&next).into_iter().flatten() {
                if seen.insert(other.clone()) {
                    open.push(other.clone());
                }
            }
        }
        seen
    };
    let reached: BTreeMap<_, _> = named.keys().map(|module| (module, reach(module))).collect();
    let circle_of = |module: &&Vec<String>| -> BTreeSet<String> {
        let back = |other: &&Vec<String>| reached.get(*other).is_some_and(|r| r.contains(*module));
        reached[*module].iter().filter(back).map(|other| other.join("::")).collect()
    };
    let all: BTreeSet<BTreeSet<String>> = named.keys().map(|module| circle_of(&module)).collect();
    let large = all.into_iter().filter(|circle| circle.len() > CIRCLE_MAX);
    large
        .map(|circle| {
            let names: Vec<String> = circle.into_iter().collect();
            format!("a circle of {} files: {}", names.len(), names.join(", "))
        })
        .collect()
}

#[test]
fn imports_run_downward_between_rooms() {
    let (files, architecture) = (rust_files(), read("ARCHITECTURE.md"));
    let mut breaches = Vec::new();
    for house in HOUSES {
        let order = order_of(&architecture, house);
        assert!(order.len() > 2, "ARCHITECTURE.md draws no \"Rooms of `{house}`\"");
        breaches.extend(House::new(house, order, &files).breaches());
    }
    judge(
        "An import runs to a lower room (ARCHITECTURE.md), and no circle has over 3 files.",
        breaches,
    );
}

#[cfg(test)]
fn house(files: &[(&str, &str)]) -> Vec<String> {
    let picture = "Rooms of `a/src`, the highest first:\n\n```\n top   all\n low   little\n```\n";
    let file = |(path, text): &(&str, &str)| File {
        path: format!("a/src/{path}"),
        text: (*text).to_owned(),
    };
    let files: Vec<File> = files.iter().map(file).collect();
    House::new("a/src", order_of(picture, "a/src"), &files).breaches()
}

#[test]
fn the_rule_finds_an_upward_import_in_every_form() {
    let upward = "a/src/low/x.rs: names top::y, which is above it";
    let judged = |code: &str| {
        house(&[("lib.rs", ""), ("low/mod.rs", "mod x;"), ("low/x.rs", code), ("top/y.rs", "")])
    };
    for code in [
        "use crate::top::y;",
        "use crate::{\n    low::z,\n    top::y::{self, f},\n};",
        "fn f() { crate::top::y::g() }",
        "use super::super::top::y::g;",
        "pub(crate) fn f() { if true { crate::top::y::g(); } }",
    ] {
        assert_eq!(judged(code), [upward], "{code}");
    }
    for code in [
        "use super::z;",
        "// use crate::top::y;",
        "macro_rules! m { () => { $crate::top::y::g() }; }",
        "#[cfg(test)]\nmod tests { use crate::top::y; }",
    ] {
        assert_eq!(judged(code), [""; 0], "{code}");
    }
}

#[test]
fn a_re_exported_name_belongs_to_its_module() {
    let text = [
        ("top/mod.rs", "pub(crate) mod y; pub(crate) use y::f;"),
        ("top/y.rs", "use crate::low::g;"),
        ("low/mod.rs", "mod x; pub(crate) use x::g;"),
        ("low/x.rs", "use crate::top::f;"),
        ("else.rs", ""),
    ];
    assert_eq!(
        house(&text),
        [
            "a/src/else.rs: its room is not in the picture",
            "a/src/low/x.rs: names top::y, which is above it"
        ]
    );
}

#[test]
fn a_house_may_be_a_folder_of_a_crate() {
    let picture = "Rooms of `a/src/b`:\n```\n top\n low\n```\n";
    let file = |path: &str, text: &str| File { path: path.into(), text: text.into() };
    let files = [
        file("a/src/lib.rs", "pub mod b; pub mod top;"),
        file("a/src/b/mod.rs", "mod low; mod top; pub use top::Event;"),
        file("a/src/b/top.rs", "use crate::b::low::g; use crate::top::h;"),
        file("a/src/b/low.rs", "use crate::top::h; use super::Event;"),
    ];
    let judged = House::new("a/src/b", order_of(picture, "a/src/b"), &files).breaches();
    assert_eq!(judged, ["a/src/b/low.rs: names top, which is above it"]);
}

#[test]
fn the_rule_finds_a_circle_of_four_files_but_not_of_three() {
    let circle = |count: usize| {
        let files = (0..count).map(|at| {
            let next = (at + 1) % count;
            (format!("low/f{at}.rs"), format!("use crate::low::f{next}::g;"))
        });
        let files: Vec<(String, String)> = files.collect();
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        house(&files)
    };
    assert_eq!(circle(3), [""; 0]);
    assert_eq!(circle(4), ["a circle of 4 files: low::f0, low::f1, low::f2, low::f3"]);
}
