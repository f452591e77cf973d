//! Graphs in the language of graphviz, as compilers print them, as the text of a graph.
//!
//! ```text
//!  digraph main { a -> b [label="0"]; b:s0 -> c; }      function main, a > b, b > c, exit c
//! ```
//!
//! Each digraph is a function. Its first node is the entry, and it returns after nodes without an
//! edge. Attributes are left out. Design: `.paths.dot` in `design/paths.md`.

use core::fmt::Write;
use core::iter::Peekable;
use core::str::Chars;

/// A token.
#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Arrow,
    Sign(char),
}

/// Returns the text of a graph for the digraphs of a text.
///
/// # Errors
///
/// Fails if a text between quotation marks or a comment does not end.
pub(super) fn text(dot: &str) -> Result<String, String> {
    let tokens = tokens(dot)?;
    let (mut text, mut rest) = (String::new(), tokens.iter().peekable());
    let mut digraph: Option<Digraph> = None;
    let mut depth = 0usize;
    while let Some(token) = rest.next() {
        match token {
            Token::Word(word) if depth == 0 && word == "digraph" => {
                let name = match rest.next_if(|own| matches!(own, Token::Word(_))) {
                    Some(Token::Word(name)) => name.clone(),
                    _ => String::from("main"),
                };
                digraph = Some(Digraph { name, ..Digraph::default() });
            }
            Token::Sign('{') => depth += 1,
            Token::Sign('}') => {
                depth = depth.saturating_sub(1);
                if let Some(own) = digraph.take_if(|_| depth == 0) {
                    own.write(&mut text);
                }
            }
            Token::Sign('[') => while rest.next_if(|own| **own != Token::Sign(']')).is_some() {},
            Token::Word(word) if depth > 0 => {
                // `name = value` and `node [...]` are attributes, `subgraph name` is a group.
                if rest.next_if(|own| **own == Token::Sign('=')).is_some() {
                    rest.next();
                } else if word == "subgraph" {
                    rest.next_if(|own| matches!(own, Token::Word(_)));
                } else if !["graph", "node", "edge"].contains(&word.as_str())
                    && let Some(own) = &mut digraph
                {
                    if rest.next_if(|own| **own == Token::Sign(':')).is_some() {
                        rest.next();
                    }
                    own.node(word, rest.peek() == Some(&&Token::Arrow));
                }
            }
            Token::Sign(';') => {
                if let Some(own) = &mut digraph {
                    own.from = None;
                }
            }
            _ => {}
        }
    }
    Ok(text)
}

/// A digraph.
#[derive(Debug, Default)]
struct Digraph {
    name: String,
    /// Its nodes, by their first mention.
    nodes: Vec<String>,
    edges: Vec<(usize, usize)>,
    numbers: std::collections::HashMap<String, usize>,
    /// The node before an arrow.
    from: Option<usize>,
}

impl Digraph {
    fn node(&mut self, word: &str, is_source: bool) {
        let count = self.nodes.len();
        let number = *self.numbers.entry(word.to_owned()).or_insert(count);
        if number == count {
            self.nodes.push(word.to_owned());
        }
        self.edges.extend(self.from.take().map(|from| (from, number)));
        self.from = is_source.then_some(number);
    }

    fn write(&self, text: &mut String) {
        let quote = |text: &str| format!("\"{}\"", super::text::spelled(text));
        let _ = writeln!(text, "function {}", quote(&self.name));
        for (number, node) in self.nodes.iter().enumerate() {
            let _ = writeln!(text, "block {number} {}", quote(node));
        }
        let mut is_left = vec![false; self.nodes.len()];
        for (from, to) in &self.edges {
            let _ = writeln!(text, "{from} > {to}");
            if let Some(is_left) = is_left.get_mut(*from) {
                *is_left = true;
            }
        }
        for (number, _) in is_left.iter().enumerate().filter(|(_, is_left)| !**is_left) {
            let _ = writeln!(text, "exit {number}");
        }
    }
}

fn tokens(dot: &str) -> Result<Vec<Token>, String> {
    let (mut tokens, mut rest) = (Vec::new(), dot.chars().peekable());
    while let Some(c) = rest.next() {
        match c {
            '"' => tokens.push(Token::Word(quoted(&mut rest)?)),
            '<' => {
                markup(&mut rest)?;
                tokens.push(Token::Word(String::new()));
            }
            '#' => while rest.next_if(|c| *c != '\n').is_some() {},
            '/' if rest.peek() == Some(&'/') => while rest.next_if(|c| *c != '\n').is_some() {},
            '/' if rest.next_if_eq(&'*').is_some() => {
                let mut before = ' ';
                while let Some(c) = rest.next().filter(|c| (before, *c) != ('*', '/')) {
                    before = c;
                }
            }
            '-' if rest.next_if(|c| matches!(c, '>' | '-')).is_some() => tokens.push(Token::Arrow),
            '{' | '}' | '[' | ']' | ';' | ',' | '=' | ':' => tokens.push(Token::Sign(c)),
            c if c.is_whitespace() => {}
            c => {
                let mut word = String::from(c);
                let ends = |c: &char| c.is_whitespace() || "{}[];,=:\"<-".contains(*c);
                while let Some(c) = rest.next_if(|c| !ends(c)) {
                    word.push(c);
                }
                tokens.push(Token::Word(word));
            }
        }
    }
    Ok(tokens)
}

fn quoted(rest: &mut Peekable<Chars<'_>>) -> Result<String, String> {
    let mut text = String::new();
    loop {
        match rest.next() {
            Some('"') => return Ok(text),
            Some('\\') => text.extend(rest.next()),
            Some(c) => text.push(c),
            None => return Err("lacks a closing quotation mark".into()),
        }
    }
}

/// Passes over a label of markup: `<...>`, nested.
fn markup(rest: &mut Peekable<Chars<'_>>) -> Result<(), String> {
    let mut depth = 1u32;
    while depth > 0 {
        match rest.next() {
            Some('<') => depth += 1,
            Some('>') => depth -= 1,
            Some(_) => {}
            None => return Err("lacks the end of a label in <>".into()),
        }
    }
    Ok(())
}
