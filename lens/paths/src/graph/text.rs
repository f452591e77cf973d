//! The text of a graph, read and written.
//!
//! ```text
//!  function main @0x1000        a function; the address is optional
//!  block 0 @0x1000 "start"      a block, its address and label; lines for edges also make blocks
//!  0 > 1:taken 2:next*7         edges, each with its kind and its weight, if known
//!  call 1 parse "a b" ?         the block ends with a call: of these, or (?) of code outside
//!  exit 3                       the function returns after these blocks
//!  stop 2                       the program ends after these blocks
//!  entry 0                      default: the first block
//!  main main                    default: the function called main, else the first
//! ```
//!
//! A block is its number, or another word, which is its label. `#` begins a comment. Names with
//! spaces stand between quotation marks. Design: `.paths.text` in `design/paths.md`.

use super::{BlockId, Builder, Edge, EdgeKind, FunctionId, GraphError, Program};
use core::fmt::Write;
use std::collections::HashMap;

/// Reads a graph.
///
/// ```
/// let program = lens_paths::graph::text::read("function main\n0 > 1 2\n1 > 2\nexit 2\n")?;
/// assert_eq!(program.functions()[0].edges().len(), 3);
/// # Ok::<(), lens_paths::graph::GraphError>(())
/// ```
///
/// # Errors
///
/// Fails at the first line that is not such text; if a function has no block; if a call or `main`
/// names a function that the text lacks; if two functions have one name.
pub fn read(text: &str) -> Result<Program, GraphError> {
    let mut reader = Reader { room: text.len(), ..Reader::default() };
    for (line, words) in (1..).zip(text.lines()).map(|(line, text)| (line, words(text))) {
        let words = words.map_err(|what| GraphError::Line { line, what })?;
        reader.line(line, &words).map_err(|what| GraphError::Line { line, what })?;
    }
    for (line, function, block, callee) in core::mem::take(&mut reader.calls) {
        let missing = || format!("calls {callee}, which is not a function of the graph");
        let found = reader.functions.get(&callee).copied();
        let callee = found.ok_or_else(missing).map_err(|what| GraphError::Line { line, what })?;
        reader.builder.call(function, block, callee)?;
    }
    if let Some((line, name)) = reader.main.take() {
        let missing = || GraphError::Line { line, what: format!("the graph has no {name}") };
        reader.builder.main(reader.functions.get(&name).copied().ok_or_else(missing)?)?;
    }
    reader.builder.build()
}

/// A word of a line, or a text between quotation marks.
#[derive(Debug, PartialEq)]
enum Word {
    Plain(String),
    Quoted(String),
}

impl Word {
    fn text(&self) -> &str {
        let (Word::Plain(text) | Word::Quoted(text)) = self;
        text
    }
}

/// Splits a line into words.
fn words(line: &str) -> Result<Vec<Word>, String> {
    let (mut found, mut rest) = (Vec::new(), line.chars().peekable());
    while let Some(first) = rest.next() {
        if first == '#' {
            break;
        } else if first == '"' {
            let mut text = String::new();
            loop {
                match rest.next() {
                    Some('"') => break,
                    Some('\\') => text.push(rest.next().map(escaped).unwrap_or('\\')),
                    Some(other) => text.push(other),
                    None => return Err("lacks the closing quotation mark".into()),
                }
            }
            found.push(Word::Quoted(text));
        } else if !first.is_whitespace() {
            let mut text = String::from(first);
            while let Some(next) = rest.next_if(|c| !c.is_whitespace() && *c != '#' && *c != '"') {
                text.push(next);
            }
            found.push(Word::Plain(text));
        }
    }
    Ok(found)
}

fn escaped(letter: char) -> char {
    match letter {
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        other => other,
    }
}

/// Reads lines into a builder.
#[derive(Default)]
struct Reader {
    builder: Builder,
    functions: HashMap<String, FunctionId>,
    current: Option<FunctionId>,
    /// The blocks of the current function by their words.
    blocks: HashMap<String, BlockId>,
    block_count: u32,
    /// Blocks that the text can still have.
    room: usize,
    /// Calls wait for the functions that the text has later.
    calls: Vec<(usize, FunctionId, BlockId, String)>,
    main: Option<(usize, String)>,
}

impl Reader {
    fn line(&mut self, line: usize, words: &[Word]) -> Result<(), String> {
        let Some((first, rest)) = words.split_first() else { return Ok(()) };
        let is_edge = matches!(rest.first(), Some(Word::Plain(word)) if word == ">");
        match first.text() {
            _ if is_edge => self.edges(first.text(), rest.get(1..).unwrap_or_default()),
            "function" => self.function(rest),
            "block" => self.block_line(rest),
            "call" => self.call(line, rest),
            "exit" => self.each(rest, Builder::returns),
            "stop" => self.each(rest, Builder::stops),
            "entry" => match rest {
                [_] => self.each(rest, Builder::entry),
                _ => Err("entry takes one block".into()),
            },
            "main" => match rest {
                [name] => {
                    self.main = Some((line, name.text().to_owned()));
                    Ok(())
                }
                _ => Err("main takes one function".into()),
            },
            other => Err(format!(
                "{other:?} is not function, block, call, exit, stop, entry, main or BLOCK > BLOCK"
            )),
        }
    }

    fn function(&mut self, words: &[Word]) -> Result<(), String> {
        let Some((name, rest)) = words.split_first() else { return Err("lacks a name".into()) };
        let name = name.text();
        if self.functions.contains_key(name) {
            return Err(format!("function {name} already exists"));
        }
        let address = rest.first().map(|word| address(word.text())).transpose()?;
        if rest.len() > 1 {
            return Err("a function has a name and an address".into());
        }
        let id = self.builder.function(name, address).map_err(|error| error.to_string())?;
        self.functions.insert(name.to_owned(), id);
        self.current = Some(id);
        self.blocks.clear();
        self.block_count = 0;
        Ok(())
    }

    fn current(&self) -> Result<FunctionId, String> {
        self.current.ok_or_else(|| "stands before the first function".into())
    }

    /// Returns the block of a word, and makes it at its first mention: a number is that of the
    /// block, another word the label of the next block.
    fn block(&mut self, word: &str) -> Result<BlockId, String> {
        let function = self.current()?;
        if let Some(block) = self.blocks.get(word) {
            return Ok(*block);
        }
        let block = match word.parse::<u32>() {
            Ok(number) => {
                while self.block_count <= number {
                    self.new_block(function, None)?;
                }
                BlockId(number)
            }
            Err(_) => self.new_block(function, Some(word))?,
        };
        self.blocks.insert(word.to_owned(), block);
        Ok(block)
    }

    fn new_block(&mut self, function: FunctionId, label: Option<&str>) -> Result<BlockId, String> {
        // A text without gaps in its numbers mentions each block.
        self.room = self.room.checked_sub(1).ok_or("its number is too high")?;
        self.block_count += 1;
        self.builder.block(function, None, label).map_err(|error| error.to_string())
    }

    fn block_line(&mut self, words: &[Word]) -> Result<(), String> {
        let Some((word, rest)) = words.split_first() else { return Err("lacks a block".into()) };
        let (mut at, mut label) = (None, None);
        for word in rest {
            match word {
                Word::Plain(word) => at = Some(address(word)?),
                Word::Quoted(text) => label = Some(text.as_str()),
            }
        }
        let (block, function) = (self.block(word.text())?, self.current()?);
        self.builder.describe(function, block, at, label).map_err(|error| error.to_string())
    }

    fn edges(&mut self, from: &str, targets: &[Word]) -> Result<(), String> {
        let from = self.block(from)?;
        if targets.is_empty() {
            return Err("lacks a block after >".into());
        }
        for target in targets {
            let (rest, weight) = match target.text().split_once('*') {
                Some((rest, weight)) => (rest, Some(weight)),
                None => (target.text(), None),
            };
            let not_a_number = |weight| format!("{weight:?} is not a weight");
            let weight = weight
                .map(|weight| weight.parse::<u64>().map_err(|_| not_a_number(weight)))
                .transpose()?;
            let (to, kind) = match rest.split_once(':') {
                Some((to, word)) => (to, kind(word)?),
                None => (rest, EdgeKind::Jump),
            };
            if to.is_empty() {
                return Err("lacks a block before the weight".into());
            }
            let to = self.block(to)?;
            let function = self.current()?;
            let added = self.builder.weighted_edge(function, Edge { from, to, kind, weight });
            added.map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn call(&mut self, line: usize, words: &[Word]) -> Result<(), String> {
        let Some((block, callees)) = words.split_first() else {
            return Err("lacks a block".into());
        };
        let (block, function) = (self.block(block.text())?, self.current()?);
        if callees.is_empty() {
            return Err("lacks a function after the block".into());
        }
        for callee in callees {
            if *callee == Word::Plain("?".into()) {
                let added = self.builder.call_outside(function, block);
                added.map_err(|error| error.to_string())?;
            } else {
                self.calls.push((line, function, block, callee.text().to_owned()));
            }
        }
        Ok(())
    }

    fn each(
        &mut self,
        words: &[Word],
        mut set: impl FnMut(&mut Builder, FunctionId, BlockId) -> Result<(), GraphError>,
    ) -> Result<(), String> {
        if words.is_empty() {
            return Err("lacks a block".into());
        }
        for word in words {
            let (block, function) = (self.block(word.text())?, self.current()?);
            set(&mut self.builder, function, block).map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

fn kind(word: &str) -> Result<EdgeKind, String> {
    let found = EdgeKind::WORDS.iter().find(|(_, known)| *known == word);
    found.map(|(kind, _)| *kind).ok_or_else(|| {
        let known = EdgeKind::WORDS.map(|(_, word)| word).join(", ");
        format!("{word:?} is not a kind of edge: {known}")
    })
}

fn address(word: &str) -> Result<u64, String> {
    let digits = word.strip_prefix("@0x").or_else(|| word.strip_prefix("@0X"));
    let number = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    number.ok_or_else(|| format!("{word:?} is not an address such as @0x1000"))
}

/// Returns the text of a graph. Reading it gives equal functions, if all their names differ.
pub fn write(program: &Program) -> String {
    let mut text = String::new();
    for function in program.functions() {
        let _ = write!(text, "function {}", quoted(function.name()));
        at(&mut text, function.address());
        for (index, block) in function.blocks().iter().enumerate() {
            let _ = write!(text, "block {index}");
            at(&mut text, block.address);
            if let Some(label) = &block.label {
                text.truncate(text.trim_end().len());
                let _ = writeln!(text, " \"{}\"", spelled(label));
            }
        }
        if function.entry().0 != 0 {
            let _ = writeln!(text, "entry {}", function.entry().0);
        }
        for (index, block) in (0..).zip(function.blocks()) {
            let edges = function.leaving(BlockId(index));
            if !edges.is_empty() {
                let _ = write!(text, "{index} >");
                edges.iter().for_each(|edge| edge_word(&mut text, edge));
                text.push('\n');
            }
            if let Some(call) = &block.call {
                let _ = write!(text, "call {index}");
                for name in call.targets.iter().filter_map(|id| program.function(*id)) {
                    let _ = write!(text, " {}", quoted(name.name()));
                }
                text.push_str(if call.outside { " ?\n" } else { "\n" });
            }
            if block.returns {
                let _ = writeln!(text, "exit {index}");
            }
            if block.stops {
                let _ = writeln!(text, "stop {index}");
            }
        }
    }
    if let Some(main) = program.function(program.main()) {
        let _ = writeln!(text, "main {}", quoted(main.name()));
    }
    text
}

fn at(text: &mut String, address: Option<u64>) {
    if let Some(address) = address {
        let _ = write!(text, " @{address:#x}");
    }
    text.push('\n');
}

fn edge_word(text: &mut String, edge: &Edge) {
    let _ = write!(text, " {}", edge.to.0);
    if edge.kind != EdgeKind::Jump {
        let _ = write!(text, ":{}", edge.kind);
    }
    if let Some(weight) = edge.weight {
        let _ = write!(text, "*{weight}");
    }
}

pub(super) fn quoted(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | ':' | '$' | '@');
    if !name.is_empty() && name.chars().all(is_plain) {
        name.to_owned()
    } else {
        format!("\"{}\"", spelled(name))
    }
}

pub(super) fn spelled(text: &str) -> String {
    let mut spelled = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => spelled.extend(['\\', c]),
            '\n' => spelled.push_str("\\n"),
            '\r' => spelled.push_str("\\r"),
            other => spelled.push(other),
        }
    }
    spelled
}
