//! Phrases that make text hard to read, and the plain ones that replace them.
//!
//! ```text
//!  *.md without code ──────────────┐
//!  *.rs comments and strings ──────┼──▶ words ──▶ no banned phrase
//!  *.py, *.toml, scripts as a whole┘
//! ```
//!
//! A phrase may begin on one line and end on the next. The rule skips code between backquotes.
//! The rules: `CONTRIBUTING.md`, Plain English.

use super::tree::{File, files, judge};
use std::collections::BTreeMap;

/// Banned phrases in lower case, and the plain words. `^` stands for the beginning of a sentence.
/// `!word` is a word that allows the phrase after it.
const PHRASES: [(&str, &str); 33] = [
    ("anew", "again"),
    ("are no", "!there; are not, or the positive statement"),
    ("are said", "are reported"),
    ("are there", "exist"),
    ("be said", "be reported"),
    ("beside", "next to, with"),
    ("but for", "except"),
    ("did not do it", "failed"),
    ("does not take all", "could not be written"),
    ("for whoever", "for the user, or another noun"),
    ("has not what", "lacks, with a noun"),
    ("is no", "!there; is not, or the positive statement"),
    ("is not understood", "is invalid"),
    ("is otherwise", "differs"),
    ("is said", "is reported"),
    ("is there", "exists"),
    ("is to be", "the noun and an active verb"),
    ("of which", "a second sentence, or whose"),
    ("so many", "that number of, N"),
    ("to be had", "available"),
    ("was said", "was reported"),
    ("was there", "existed"),
    ("were said", "were reported"),
    ("what comes", "a noun"),
    ("what has", "a noun"),
    ("what listens", "the socket, or another noun"),
    ("what is a", "a noun"),
    ("what is no", "a noun"),
    ("what is not", "a noun"),
    ("whoever", "the user, or another noun"),
    ("^who", "the actor: the writer thread, the player"),
    ("which never saw", "even one that never saw"),
    ("with whom", "the actor"),
];

/// A word in lower case with its line, or the end of a sentence or of a text.
#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(usize, String),
    Code,
    End,
}

/// Turns prose into words: text between backquotes on one line is one token.
#[derive(Default)]
struct Words {
    tokens: Vec<Token>,
    word: String,
    in_code: bool,
}

impl Words {
    fn push(&mut self, line: usize, c: char) {
        let joins = c == '\'' && !self.word.is_empty();
        if c == '\n' {
            self.in_code = false;
        }
        if !self.in_code && (c.is_alphanumeric() || c == '_' || joins) {
            self.word.extend(c.to_lowercase());
            return;
        }
        self.close(line);
        match c {
            '`' => {
                self.in_code = !self.in_code;
                self.tokens.push(Token::Code);
            }
            _ if self.in_code => {}
            '.' | ':' | ';' | '?' | '!' | '|' | '─' | '▶' => self.tokens.push(Token::End),
            ',' | '(' | ')' | '"' => self.tokens.push(Token::Code),
            _ => {}
        }
    }

    fn close(&mut self, line: usize) {
        if !self.word.is_empty() {
            self.tokens.push(Token::Word(line, core::mem::take(&mut self.word)));
        }
    }

    /// Begins another text.
    fn end(&mut self, line: usize) {
        self.close(line);
        self.in_code = false;
        self.tokens.push(Token::End);
    }
}

/// Returns the words of a document or script, without blocks of code in a document.
fn words_of_text(file: &File) -> Vec<Token> {
    let mut words = Words::default();
    let mut in_block = false;
    for (number, line) in file.lines() {
        let is_mark = file.path.ends_with(".md") && line.trim_start().starts_with("```");
        in_block ^= is_mark;
        let begins = line.trim().is_empty() || line.starts_with(['#', '|']) || is_mark;
        if begins || line.trim_start().starts_with("- ") {
            words.end(number);
        }
        if !in_block && !is_mark {
            line.chars().chain(['\n']).for_each(|c| words.push(number, c));
        }
    }
    words.end(0);
    words.tokens
}

/// The place of the scan in a Rust file.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Code,
    Comment,
    Block,
    Text,
    /// A raw string, with its number of `#`.
    Raw(usize),
}

/// Returns the words of the comments and strings of Rust code.
fn words_of_code(text: &str) -> Vec<Token> {
    let mut words = Words::default();
    let (mut place, mut line, mut at) = (Place::Code, 1, 0);
    let characters: Vec<char> = text.chars().collect();
    let starts = |at: usize, mark: &str| {
        mark.chars().enumerate().all(|(n, c)| characters.get(at + n) == Some(&c))
    };
    while let Some(&c) = characters.get(at) {
        at += 1;
        match place {
            Place::Code => {
                let hashes = characters[at..].iter().take_while(|c| **c == '#').count();
                if c == '/' && starts(at, "/") {
                    place = Place::Comment;
                    // The mark of the comment is not prose.
                    at += 1;
                    at += characters[at..].iter().take_while(|c| matches!(c, '/' | '!')).count();
                } else if c == '/' && starts(at, "*") {
                    place = Place::Block;
                } else if c == 'r' && characters.get(at + hashes) == Some(&'"') {
                    (place, at) = (Place::Raw(hashes), at + hashes + 1);
                } else if c == '"' {
                    place = Place::Text;
                } else if c == '\'' {
                    at += character_length(&characters[at..]);
                } else if !c.is_whitespace() {
                    words.end(line);
                }
                if !matches!(place, Place::Code | Place::Comment) {
                    words.end(line);
                }
            }
            Place::Comment if c == '\n' => {
                // An empty line of a comment ends a paragraph.
                let rest: String = characters[at..].iter().take_while(|c| **c != '\n').collect();
                words.push(line, '\n');
                if matches!(rest.trim(), "" | "//" | "///" | "//!") {
                    words.end(line);
                }
                place = Place::Code;
            }
            Place::Block if c == '*' && starts(at, "/") => place = Place::Code,
            Place::Text if c == '"' => place = Place::Code,
            Place::Text if c == '\\' => {
                line += usize::from(starts(at, "\n"));
                words.push(line, ' ');
                at += 1;
            }
            Place::Raw(hashes) if c == '"' && starts(at, &"#".repeat(hashes)) => {
                (place, at) = (Place::Code, at + hashes);
            }
            _ => words.push(line, c),
        }
        line += usize::from(c == '\n');
    }
    words.end(line);
    words.tokens
}

/// Returns the size of the rest of a character literal after an apostrophe; 0 for a lifetime.
fn character_length(rest: &[char]) -> usize {
    match rest {
        ['\\', _, more @ ..] => more.iter().position(|c| *c == '\'').map_or(0, |n| n + 3),
        [_, '\'', ..] => 2,
        _ => 0,
    }
}

/// A phrase in the form of the search.
struct Phrase {
    text: &'static str,
    words: Vec<&'static str>,
    /// Whether the phrase counts only at the beginning of a sentence.
    at_beginning: bool,
    /// The word that allows the phrase.
    exception: Option<&'static str>,
    instead: &'static str,
}

/// Returns the phrases by their first words.
fn phrases() -> BTreeMap<&'static str, Vec<Phrase>> {
    let mut all = BTreeMap::<_, Vec<Phrase>>::new();
    for (text, instead) in PHRASES {
        let words: Vec<&str> = text.trim_start_matches('^').split(' ').collect();
        let exception = instead.strip_prefix('!').and_then(|rest| rest.split_once("; "));
        all.entry(words[0]).or_default().push(Phrase {
            text,
            words,
            at_beginning: text.starts_with('^'),
            exception: exception.map(|(word, _)| word),
            instead: exception.map_or(instead, |(_, rest)| rest),
        });
    }
    all
}

impl Phrase {
    /// Returns whether the phrase stands at the beginning of these words, after that token.
    fn is_in(&self, tokens: &[Token], before: Option<&Token>) -> bool {
        let mut words = self.words.iter().enumerate();
        let allowed = match before {
            Some(Token::Word(_, word)) => {
                self.at_beginning || self.exception == Some(word.as_str())
            }
            Some(Token::Code) => self.at_beginning,
            Some(Token::End) | None => false,
        };
        let mut is_next = |(n, word): (usize, &&str)| match tokens.get(n) {
            Some(Token::Word(_, found)) => found == word,
            _ => false,
        };
        !allowed && words.all(&mut is_next)
    }
}

/// Returns the banned phrases in a file: line, phrase, and plain words.
fn hits(file: &File) -> Vec<(usize, &'static str, &'static str)> {
    let is_rust = file.path.ends_with(".rs");
    let tokens = if is_rust { words_of_code(&file.text) } else { words_of_text(file) };
    let phrases = phrases();
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let Token::Word(line, word) = token else { continue };
        let before = at.checked_sub(1).and_then(|before| tokens.get(before));
        let candidates = phrases.get(word.as_str()).into_iter().flatten();
        let here = candidates.filter(|phrase| phrase.is_in(&tokens[at..], before));
        found.extend(here.map(|phrase| (*line, phrase.text, phrase.instead)));
    }
    found
}

/// Returns all files except these rules, which name banned phrases, and the messages of compilers.
fn texts() -> impl Iterator<Item = File> {
    let is_rule = |path: &str| path.starts_with("tests/tests/tidy/");
    files().into_iter().filter(move |f| !is_rule(&f.path) && !f.path.ends_with(".stderr"))
}

#[test]
fn no_file_has_a_banned_phrase() {
    let mut breaches = Vec::new();
    for file in texts() {
        let found = hits(&file).into_iter();
        breaches.extend(found.map(|(line, phrase, instead)| {
            format!("{}:{line}: \"{phrase}\": write: {instead}", file.path)
        }));
    }
    judge("These phrases are hard to read: CONTRIBUTING.md, Plain English.", breaches);
}

#[test]
fn the_rule_finds_a_deliberate_phrase_in_prose_and_code() {
    let found = |path: &str, text: &str| {
        let file = File { path: path.into(), text: text.into() };
        hits(&file).into_iter().map(|(line, phrase, _)| (line, phrase)).collect::<Vec<_>>()
    };
    let page = "# A page\n\nA log is begun\nanew. Who plays\nends. `beside` and\n\n\
                ```text\nso many\n```\n";
    assert_eq!(found("docs/x.md", page), [(3 + 1, "anew"), (4, "^who")]);
    let code = "//! It stands be\n//! side. It is\n//! said once.\nfn beside() {\n    \
                print(\"{name} is no \\\n     socket\", 'b', r#\"but for \"this\"\"#);\n\
                // of which\n}\n";
    assert_eq!(
        found("x.rs", code),
        [(2, "is said"), (5, "is no"), (6, "but for"), (7, "of which")]
    );
    assert_eq!(found("x.toml", "# Whoever builds it\n"), [(1, "whoever")]);
}

#[test]
fn the_rule_accepts_plain_text() {
    let plain = "There is no lock. The thread is not there; a user who reads, and which of them.\n\
                 | is | no |\n";
    let file = File { path: "docs/x.md".into(), text: plain.into() };
    let found: Vec<&str> = hits(&file).into_iter().map(|(_, phrase, _)| phrase).collect();
    assert_eq!(found, [""; 0]);
    let code =
        "let anew = beside; // is\nlet no = '\"'; let a: &'static str = \"plain\"; // again\n";
    let file = File { path: "x.rs".into(), text: code.into() };
    assert!(hits(&file).is_empty());
}
