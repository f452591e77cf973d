//! The commands in the text of a script, as Tcl would find them.
//!
//! ```text
//!  while {$n > 0} {          command, owner: –
//!      set a [f $n]          command, owner: while     f $n: owner: while, within: set
//!  }
//! ```
//!
//! The text in braces or quotes may be a script, an expression or a word: it is read as a script,
//! too. So more commands are found than run. Design: `.statements.tcl` in `design/statements.md`.

mod reader;

use foldhash::HashMap;

/// A command in a text, or what looks like one.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    pub(crate) begin: u32,
    /// Without and with the end of the line, or the semicolon.
    pub(crate) end: u32,
    pub(crate) end_all: u32,
    pub(crate) line: u32,
    /// The command that has the braces or the quotes around this one.
    pub(crate) owner: Option<u32>,
    /// The command that has the brackets around this one.
    pub(crate) within: Option<u32>,
    /// Whether all scripts in its words are in its text: no variable or result can be one.
    pub(crate) is_literal: bool,
}

/// The text of a script, and its commands in the order of their beginnings.
#[derive(Debug)]
pub(crate) struct Script {
    path: Vec<u8>,
    text: Vec<u8>,
    commands: Vec<Command>,
    by_text: HashMap<Vec<u8>, Vec<u32>>,
    /// Where each line begins.
    lines: Vec<u32>,
}

/// Bytes of a script, at most.
pub(crate) const SIZE_MAX: usize = 16 << 20;
/// Bytes of a text that is looked up, at most: longer ones by their beginnings.
const KEY_SIZE_MAX: usize = 200;

impl Script {
    pub(crate) fn new(path: &[u8], text: Vec<u8>) -> Script {
        let mut commands = reader::commands(&text);
        let ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        let lines: Vec<u32> = [0].into_iter().chain(ends.map(|(at, _)| at as u32 + 1)).collect();
        let mut by_text = HashMap::<Vec<u8>, Vec<u32>>::default();
        for (index, command) in commands.iter_mut().enumerate() {
            command.line = lines.partition_point(|begin| *begin <= command.begin) as u32;
            let own = &text[command.begin as usize..command.end as usize];
            by_text.entry(key(own)).or_default().push(index as u32);
        }
        Script { path: path.to_vec(), text, commands, by_text, lines }
    }

    pub(crate) fn path(&self) -> &[u8] {
        &self.path
    }

    pub(crate) fn command(&self, index: u32) -> &Command {
        &self.commands[index as usize]
    }

    /// Returns line, column, offset and size, with the end of the line or the semicolon.
    pub(crate) fn place(&self, index: u32) -> [u32; 4] {
        let Command { begin, end_all, line, .. } = *self.command(index);
        self.place_at(line, begin, end_all)
    }

    fn place_at(&self, line: u32, begin: u32, end: u32) -> [u32; 4] {
        let line_begin = self.lines[line as usize - 1];
        let before = String::from_utf8_lossy(&self.text[line_begin as usize..begin as usize]);
        [line, before.chars().count() as u32 + 1, begin, end - begin]
    }

    /// Returns the place of the last word of a line with this text.
    pub(crate) fn word(&self, line: u32, text: &[u8]) -> Option<[u32; 4]> {
        let begin = *self.lines.get((line as usize).checked_sub(1)?)?;
        let end = self.lines.get(line as usize).map_or(self.text.len(), |next| *next as usize);
        let words = self.text[begin as usize..end].split(|byte| !byte.is_ascii_graphic());
        let (mut at, mut found) = (begin, None);
        for word in words {
            let inside = word.iter().take_while(|byte| b"\"{[".contains(byte)).count();
            let rest = &word[inside..];
            if rest.strip_prefix(text).is_some_and(|rest| rest.iter().all(|b| b"\"}];".contains(b)))
            {
                found = Some(at + inside as u32);
            }
            at += word.len() as u32 + 1;
        }
        let begin = found.filter(|_| !text.is_empty())?;
        Some(self.place_at(line, begin, begin + text.len() as u32))
    }

    /// Returns the commands with a text, as Tcl tells it.
    pub(crate) fn with_text(&self, text: &[u8]) -> &[u32] {
        self.by_text.get(&key(text)).map_or(&[], |found| &**found)
    }

    /// Returns the commands with a text that a command may run: those that it is the owner of, else
    /// those in its text.
    pub(crate) fn with_text_in(&self, owner: u32, text: &[u8]) -> Vec<u32> {
        let all = self.with_text(text).iter().copied();
        let own: Vec<u32> =
            all.clone().filter(|each| self.command(*each).owner == Some(owner)).collect();
        if !own.is_empty() {
            return own;
        }
        let Command { begin, end, .. } = *self.command(owner);
        let is_inside = |each: &u32| (begin..end).contains(&self.command(*each).begin);
        // What is in its own brackets has run before.
        all.filter(|each| *each != owner && is_inside(each) && !self.is_within(*each, owner))
            .collect()
    }

    fn name(&self, index: u32) -> &[u8] {
        let Command { begin, end, .. } = *self.command(index);
        let own = &self.text[begin as usize..end as usize];
        own.split(u8::is_ascii_whitespace).next().unwrap_or_default()
    }

    /// Returns whether a command runs the next method of a class.
    pub(crate) fn is_next(&self, index: u32) -> bool {
        matches!(self.name(index), b"next" | b"nextto")
    }

    /// Returns whether the braces of a command have a list of scripts.
    pub(crate) fn is_switch(&self, index: u32) -> bool {
        matches!(self.name(index), b"switch" | b"::switch")
    }

    /// Returns whether what looks like a command may be one, and not an expression.
    pub(crate) fn is_named(&self, index: u32) -> bool {
        let word = self.name(index);
        let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || b":_".contains(byte);
        word.first().is_some_and(is_letter) && !word.contains(&b'(')
    }

    /// Returns whether a command is in the brackets of another one, at any depth.
    pub(crate) fn is_within(&self, inner: u32, outer: u32) -> bool {
        self.enclosing(inner).any(|each| each == outer)
    }

    /// Returns the commands whose brackets are around a command, the innermost first.
    pub(crate) fn enclosing(&self, index: u32) -> impl Iterator<Item = u32> {
        core::iter::successors(self.command(index).within, |each| self.command(*each).within)
    }
}

/// Returns what is the same in a file and in Tcl: Tcl makes a space of a line's end after a
/// backslash, if it is in braces; it reads the ends of Windows' lines, and the letters of the
/// system's encoding.
fn key(text: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(text.len().min(KEY_SIZE_MAX));
    let mut rest = text;
    while let [first, after @ ..] = rest {
        if key.len() >= KEY_SIZE_MAX {
            break;
        }
        let size = continuation(rest);
        if size > 0 {
            key.push(b' ');
            rest = &rest[size..];
            continue;
        }
        rest = after;
        match first {
            b'\r' if after.first() == Some(&b'\n') => {}
            0x80.. if key.last() == Some(&0xff) => {}
            0x80.. => key.push(0xff),
            byte => key.push(*byte),
        }
    }
    key
}

/// Returns the size of a backslash, the end of its line, and the spaces after it; 0 if the text
/// does not begin so.
fn continuation(text: &[u8]) -> usize {
    let end = match text {
        [b'\\', b'\n', ..] => 2,
        [b'\\', b'\r', b'\n', ..] => 3,
        _ => return 0,
    };
    end + text[end..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(text: &str) -> Vec<(&str, Option<u32>, Option<u32>)> {
        let script = Script::new(b"", text.as_bytes().to_vec());
        let text = |each: &Command| &text[each.begin as usize..each.end as usize];
        script.commands.iter().map(|each| (text(each), each.owner, each.within)).collect()
    }

    /// The example of the paper on TDK, and the numbers of its table.
    #[test]
    fn the_example_has_the_places_of_the_seed() {
        let text = "\nproc multiply {n m} {\n    set res 0\n    while {$n > 0} {\n\tincr n -1\n\
                    \tincr res $m\n    }\n    return $res\n}\n\nputs \"    2 x  3 = [multiply     \
                    2  3]\"\n";
        let script = Script::new(b"", text.as_bytes().to_vec());
        let expected = [
            ("proc", 2, 1, 105),
            ("set", 3, 27, 10),
            ("while", 4, 41, 47),
            ("incr n", 5, 59, 10),
            ("incr res", 6, 70, 12),
            ("return", 8, 92, 12),
            ("multiply", 11, 127, 17),
            ("puts", 11, 107, 40),
        ];
        for (begin, line, offset, size) in expected {
            let is_it =
                |index: &u32| text[script.command(*index).begin as usize..].starts_with(begin);
            let all = 0..script.commands.len() as u32;
            let index = all.clone().find(is_it).unwrap();
            let [found_line, _, found_offset, found_size] = script.place(index);
            assert_eq!((found_line, found_offset, found_size), (line, offset, size), "{begin}");
        }
    }

    #[test]
    fn commands_are_found_as_tcl_finds_them() {
        let none = |text| (text, None, None);
        for (text, expected) in [
            ("", vec![]),
            ("# no\\\nno\na;b # c\n;;d", vec![none("a"), none("b # c"), none("d")]),
            ("set a \\\n  [b]", vec![none("set a \\\n  [b]"), ("b", None, Some(0))]),
            (
                "a [b [c]; d]e",
                vec![
                    none("a [b [c]; d]e"),
                    ("b [c]", None, Some(0)),
                    ("c", None, Some(1)),
                    ("d", None, Some(0)),
                ],
            ),
            (
                "if {[a]} {b\n c}",
                vec![
                    none("if {[a]} {b\n c}"),
                    ("[a]", Some(0), None),
                    ("a", Some(0), Some(1)),
                    ("b", Some(0), None),
                    ("c", Some(0), None),
                ],
            ),
            ("a {b \\} c}", vec![none("a {b \\} c}"), ("b \\} c", Some(0), None)]),
            ("a \"b;$c [d]\";e", vec![none("a \"b;$c [d]\""), ("d", None, Some(0)), none("e")]),
            ("a $b([c d] e) f", vec![none("a $b([c d] e) f"), ("c d", None, Some(0))]),
            ("a {*}$b ${c d};e\r\nf", vec![none("a {*}$b ${c d}"), none("e"), none("f")]),
        ] {
            assert_eq!(commands(text), expected, "{text}");
        }
    }

    #[test]
    fn a_command_is_literal_if_its_scripts_are() {
        for (text, expected) in [
            ("if {$a} {b}", true),
            ("if {$a} $b", false),
            ("foreach a $b {c}", true),
            ("foreach a $b c$d", false),
            ("switch $a {b {c}}", true),
            ("switch $a $b {c}", false),
            ("eval {*}{a b}", false),
        ] {
            let script = Script::new(b"", text.as_bytes().to_vec());
            assert_eq!(script.commands[0].is_literal, expected, "{text}");
        }
    }

    #[test]
    fn any_bytes_are_a_script() {
        let mut state = 1_u64;
        let alphabet = b"{}[]\"\\$();# \n\r\ta\xc3*:";
        for size in 0..3000 {
            let byte = |_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                alphabet[(state >> 33) as usize % alphabet.len()]
            };
            let script = Script::new(b"", (0..size % 100).map(byte).collect());
            for index in 0..script.commands.len() as u32 {
                let Command { begin, end, end_all, .. } = *script.command(index);
                assert!(begin <= end && end <= end_all && end_all as usize <= script.text.len());
                let [line, column, ..] = script.place(index);
                assert!(line > 0 && column > 0);
            }
        }
        for deep in ["{", "[", "\"[", "a $b([", "a {b "] {
            Script::new(b"", deep.repeat(10_000).into_bytes());
        }
    }
}
