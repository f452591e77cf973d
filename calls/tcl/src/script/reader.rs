//! Reads a text as Tcl does: commands, words, braces, quotes, brackets.

use super::{Command, continuation};

/// Braces and brackets in each other, at most.
const DEPTH_MAX: u32 = 200;
/// Returns the commands in a text, without their lines.
pub(super) fn commands(text: &[u8]) -> Vec<Command> {
    let mut reader = Reader { text, at: 0, commands: Vec::new() };
    reader.script(Place { owner: None, within: None, end: text.len(), depth: 0 }, false);
    reader.commands
}

/// Where a script is.
#[derive(Clone, Copy)]
struct Place {
    owner: Option<u32>,
    within: Option<u32>,
    end: usize,
    depth: u32,
}

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
    commands: Vec<Command>,
}

/// What the words of a command are.
#[derive(Default)]
struct Words {
    count: usize,
    /// With variables, results, or parts of a list.
    computed: usize,
    is_last_braced: bool,
}

impl Reader<'_> {
    fn peek(&self, end: usize) -> Option<u8> {
        self.text[..end].get(self.at).copied()
    }

    /// Passes spaces, and ends of lines after a backslash.
    fn spaces(&mut self, end: usize) {
        while let Some(byte) = self.peek(end) {
            match continuation(&self.text[self.at..end]) {
                0 if matches!(byte, b' ' | b'\t' | b'\x0b' | b'\x0c' | b'\r') => self.at += 1,
                0 => return,
                size => self.at += size,
            }
        }
    }

    /// Reads a script, up to its end or to the bracket that ends it.
    fn script(&mut self, place: Place, is_in_brackets: bool) {
        let end = place.end;
        loop {
            self.spaces(end);
            match self.peek(end) {
                None => return,
                Some(b']') if is_in_brackets => return,
                Some(b'\n' | b';') => self.at += 1,
                Some(b'#') => self.comment(end),
                Some(_) => self.command(place, is_in_brackets),
            }
        }
    }

    fn comment(&mut self, end: usize) {
        while let Some(byte) = self.peek(end) {
            match byte {
                b'\n' => return,
                b'\\' => self.at += continuation(&self.text[self.at..end]).max(2),
                _ => self.at += 1,
            }
        }
        self.at = end;
    }

    fn command(&mut self, place: Place, is_in_brackets: bool) {
        let begin = self.at;
        let index = self.commands.len();
        let Place { owner, within, end, .. } = place;
        let own = Command {
            begin: begin as u32,
            end: 0,
            end_all: 0,
            line: 0,
            owner,
            within,
            is_literal: false,
        };
        self.commands.push(own);
        let mut words = Words::default();
        let end_all = loop {
            self.spaces(end);
            match self.peek(end) {
                None => break self.at,
                Some(b']') if is_in_brackets => break self.at,
                Some(b'\n' | b';') => break self.at + 1,
                Some(_) => self.word(place, index as u32, is_in_brackets, &mut words),
            }
        };
        let first = self.text[begin..].split(u8::is_ascii_whitespace).next().unwrap_or_default();
        let first = first.strip_prefix(b"::").unwrap_or(first);
        // Their last words alone are scripts.
        let is_known = match first {
            b"foreach" | b"lmap" => true,
            b"switch" | b"dict" => words.computed <= 1,
            _ => false,
        };
        let before = self.text[..self.at].strip_suffix(b"\r").map_or(self.at, <[u8]>::len);
        let own = &mut self.commands[index];
        own.end = if end_all > self.at { before } else { self.at } as u32;
        own.end_all = end_all as u32;
        own.is_literal = words.computed == 0 || is_known && words.is_last_braced;
        self.at = end_all;
    }

    fn word(&mut self, place: Place, index: u32, is_in_brackets: bool, words: &mut Words) {
        let end = place.end;
        words.count += 1;
        let is_expanded = self.text[self.at..end].starts_with(b"{*}")
            && self.text[..end].get(self.at + 3).is_some_and(|byte| !byte.is_ascii_whitespace());
        if is_expanded {
            self.at += 3;
        }
        let inside = Place { owner: Some(index), within: None, end, depth: place.depth + 1 };
        words.is_last_braced = false;
        let mut is_computed = is_expanded;
        match self.peek(end) {
            Some(b'{') => {
                let begin = self.at + 1;
                let close = self.braces(end);
                words.is_last_braced = true;
                self.within(inside, begin, close);
            }
            Some(b'"') => {
                self.at += 1;
                let begin = self.at;
                is_computed |= self.substituted(place, index, |byte| byte == b'"');
                let close = self.at;
                self.at = (self.at + 1).min(end);
                if !is_computed {
                    self.within(inside, begin, close);
                }
            }
            _ => {}
        }
        is_computed |= self.substituted(place, index, |byte| {
            byte.is_ascii_whitespace() || byte == b';' || is_in_brackets && byte == b']'
        });
        words.computed += usize::from(is_computed);
    }

    /// Reads the text in braces or quotes as a script.
    fn within(&mut self, place: Place, begin: usize, end: usize) {
        let after = self.at;
        if place.depth < DEPTH_MAX {
            self.at = begin;
            self.script(Place { end, ..place }, false);
        }
        self.at = after;
    }

    /// Passes text in braces; returns where it ends.
    fn braces(&mut self, end: usize) -> usize {
        let mut depth = 0;
        while let Some(byte) = self.peek(end) {
            self.at += 1;
            match byte {
                b'\\' => self.at = (self.at + 1).min(end),
                b'{' => depth += 1,
                b'}' => {
                    depth -= 1;
                    if depth == 0 {
                        return self.at - 1;
                    }
                }
                _ => {}
            }
        }
        end
    }

    /// Passes text with variables and commands in it, up to a byte; returns whether it has any.
    fn substituted(&mut self, place: Place, index: u32, is_end: impl Fn(u8) -> bool) -> bool {
        let end = place.end;
        let mut is_computed = false;
        while let Some(byte) = self.peek(end).filter(|byte| !is_end(*byte)) {
            match byte {
                b'\\' => {
                    // The end of a line after a backslash ends a word.
                    let size = continuation(&self.text[self.at..end]);
                    if size > 0 && is_end(b' ') {
                        return is_computed;
                    }
                    self.at = (self.at + size.max(2)).min(end);
                }
                b'[' => {
                    is_computed = true;
                    self.brackets(place, index);
                }
                b'$' => {
                    is_computed = true;
                    self.variable(place, index);
                }
                _ => self.at += 1,
            }
        }
        is_computed
    }

    fn brackets(&mut self, place: Place, index: u32) {
        self.at += 1;
        if place.depth < DEPTH_MAX {
            let inside = Place { within: Some(index), depth: place.depth + 1, ..place };
            self.script(inside, true);
            self.at = (self.at + 1).min(place.end);
        } else {
            self.at = place.end;
        }
    }

    /// Passes a variable, whose index may have spaces.
    fn variable(&mut self, place: Place, index: u32) {
        let end = place.end;
        self.at += 1;
        if self.peek(end) == Some(b'{') {
            while self.peek(end).is_some_and(|byte| byte != b'}') {
                self.at += 1;
            }
            return;
        }
        while self.peek(end).is_some_and(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | 0x80..)
        }) {
            self.at += 1;
        }
        if self.peek(end) == Some(b'(') && place.depth < DEPTH_MAX {
            self.at += 1;
            let inside = Place { depth: place.depth + 1, ..place };
            self.substituted(inside, index, |byte| matches!(byte, b')' | b'\n'));
            self.at += usize::from(self.peek(end) == Some(b')'));
        }
    }
}
