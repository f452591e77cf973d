//! The text protocol by which a tool controls a running program.
//!
//! ```text
//!  DIR/4711.sock   tool ── set registry:heap Pool Arena ⏎ ──▶ program
//!                  tool ◀── registry.1.output: Arena Pool ⏎ … ok ⏎ ── program
//! ```
//!
//! A connection carries one request, of one line. The answer is lines of key and value, and a last
//! line that states the result. An answer without a last line was cut. This module opens no socket.
//! Design: `.control.tool` in `design/telemetry.md`.

use crate::format::text::{OneLine, OneLineWriter};
use core::fmt;

/// Size limit of a request in bytes, newline included (`.control.tool.request`).
pub const REQUEST_SIZE_MAX: usize = 4096;
/// The end of a socket's name, after the process identifier.
const SOCKET_NAME_END: &str = ".sock";
/// The last line of an answer to a request that succeeded.
const DONE: &str = "ok";
/// The beginning of the last line of an answer to a request that failed.
const FAILED: &str = "error: ";
const REGISTRY: &[u8] = b"registry:";
const MASK: &[u8] = b"mask:";
/// Bytes of a word that an error message repeats, at most.
const WORD_SIZE_MAX: usize = 64;

/// The name of a process's socket in the socket directory (`.control.tool.socket`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketName(
    /// The process identifier.
    pub u64,
);

impl SocketName {
    /// Reads a name. Returns `None` if the name is not one of ours.
    pub fn parse(name: &str) -> Option<SocketName> {
        let digits = name.strip_suffix(SOCKET_NAME_END)?;
        let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
        digits.parse().ok().filter(|_| is_plain).map(SocketName)
    }
}

impl fmt::Display for SocketName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{SOCKET_NAME_END}", self.0)
    }
}

/// The action that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Report the masks.
    Get,
    /// Switch kinds on.
    Set,
    /// Switch kinds off.
    Reset,
    /// Write what was recorded so far.
    Flush,
    /// Report the state of the runtime.
    Status,
}

impl Verb {
    /// All verbs.
    pub const ALL: [Verb; 5] = [Verb::Get, Verb::Set, Verb::Reset, Verb::Flush, Verb::Status];

    /// Returns the verb's word.
    pub const fn word(self) -> &'static str {
        match self {
            Verb::Get => "get",
            Verb::Set => "set",
            Verb::Reset => "reset",
            Verb::Flush => "flush",
            Verb::Status => "status",
        }
    }
}

/// One of the two masks of a registry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mask {
    /// The kinds that are output.
    #[default]
    Output,
    /// The kinds that are recorded in memory.
    Recorded,
}

impl Mask {
    /// Both masks.
    pub const ALL: [Mask; 2] = [Mask::Output, Mask::Recorded];

    /// Returns the mask's word.
    pub const fn word(self) -> &'static str {
        match self {
            Mask::Output => "output",
            Mask::Recorded => "recorded",
        }
    }
}

/// A request (`.control.tool.request`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// The action.
    pub verb: Verb,
    /// The registry that the request is limited to: its name, or its index in the stream.
    pub registry: Option<&'a [u8]>,
    /// The mask to change.
    pub mask: Mask,
    /// All words after the verb.
    rest: &'a [u8],
}

impl<'a> Request<'a> {
    /// Reads a request, without its newline.
    pub fn parse(line: &'a [u8]) -> Result<Request<'a>, RequestError<'a>> {
        if line.len() >= REQUEST_SIZE_MAX {
            return Err(RequestError::TooLong);
        }
        let line = line.trim_ascii();
        let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
        let (word, rest) = line.split_at(end);
        if word.is_empty() {
            return Err(RequestError::Empty);
        }
        let is_match = |verb: &Verb| verb.word().as_bytes() == word;
        let verb = Verb::ALL.into_iter().find(is_match).ok_or(RequestError::Verb(word))?;
        let mut request = Request { verb, registry: None, mask: Mask::Output, rest };
        for word in words(rest).filter(|word| word.contains(&b':')) {
            if let Some(name) = word.strip_prefix(REGISTRY).filter(|_| verb != Verb::Flush) {
                request.registry = Some(name);
            } else if let Some(name) = word.strip_prefix(MASK).filter(|_| verb.changes()) {
                let is_match = |mask: &Mask| mask.word().as_bytes() == name;
                let mask = Mask::ALL.into_iter().find(is_match);
                request.mask = mask.ok_or(RequestError::Word(verb, word))?;
            } else {
                return Err(RequestError::Word(verb, word));
            }
        }
        match (verb, request.kinds().next()) {
            (Verb::Set | Verb::Reset, None) => Err(RequestError::NoKinds(verb)),
            (Verb::Flush | Verb::Status, Some(word)) => Err(RequestError::Word(verb, word)),
            _ => Ok(request),
        }
    }

    /// Returns the kinds: words as in `MPS_TELEMETRY_CONTROL` (`.control.env`).
    pub fn kinds(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        words(self.rest).filter(|word| !word.contains(&b':'))
    }

    /// Writes a request with its newline. `kinds` are words separated by spaces.
    pub fn write(
        out: &mut dyn fmt::Write,
        verb: Verb,
        registry: Option<&str>,
        mask: Mask,
        kinds: &str,
    ) -> fmt::Result {
        out.write_str(verb.word())?;
        if let Some(name) = registry {
            write!(out, " registry:{name}")?;
        }
        if mask != Mask::default() {
            write!(out, " mask:{}", mask.word())?;
        }
        for word in kinds.split_ascii_whitespace() {
            write!(out, " {word}")?;
        }
        out.write_char('\n')
    }
}

impl Verb {
    fn changes(self) -> bool {
        matches!(self, Verb::Set | Verb::Reset)
    }
}

fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// Why a request is invalid. The text is one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestError<'a> {
    /// The request is empty.
    Empty,
    /// The request has no newline within its size limit.
    TooLong,
    /// The first word is not a verb.
    Verb(&'a [u8]),
    /// The verb does not take this word.
    Word(Verb, &'a [u8]),
    /// The verb needs kinds.
    NoKinds(Verb),
}

impl fmt::Display for RequestError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            RequestError::Empty => f.write_str("the request is empty"),
            RequestError::TooLong => {
                write!(f, "the request is longer than {REQUEST_SIZE_MAX} bytes")
            }
            RequestError::Verb(word) => {
                write!(f, "unknown request `{}`; use one of:", Word(word))?;
                Verb::ALL.iter().try_for_each(|verb| write!(f, " {}", verb.word()))
            }
            RequestError::Word(verb, word) => {
                write!(f, "`{}` means nothing after `{}`", Word(word), verb.word())
            }
            RequestError::NoKinds(verb) => {
                write!(f, "`{}` needs kinds: names, numbers, or `all`", verb.word())
            }
        }
    }
}

impl core::error::Error for RequestError<'_> {}

/// A word of a request as an error message repeats it: cut, and on one line.
#[derive(Clone, Copy, Debug)]
pub struct Word<'a>(
    /// The word.
    pub &'a [u8],
);

impl fmt::Display for Word<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let beginning = self.0.get(..WORD_SIZE_MAX);
        write!(f, "{}", OneLine(beginning.unwrap_or(self.0)))?;
        f.write_str(if beginning.is_some_and(|b| b.len() < self.0.len()) { "…" } else { "" })
    }
}

/// A line of an answer, without its newline (`.control.tool.answer`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerLine<'a> {
    /// A key and its value.
    Data(&'a str, &'a str),
    /// The last line: the request succeeded.
    Done,
    /// The last line: the request failed, for this reason.
    Failed(&'a str),
}

impl<'a> AnswerLine<'a> {
    /// Reads a line. Returns `None` if the line is not part of an answer.
    pub fn parse(line: &'a str) -> Option<AnswerLine<'a>> {
        if line == DONE {
            return Some(AnswerLine::Done);
        }
        if let Some(why) = line.strip_prefix(FAILED) {
            return Some(AnswerLine::Failed(why));
        }
        let (key, value) = line.split_once(": ")?;
        (!key.is_empty() && !key.contains(' ')).then_some(AnswerLine::Data(key, value))
    }
}

/// Writes the last line of an answer.
pub fn write_answer_end(
    out: &mut dyn fmt::Write,
    result: Result<(), &dyn fmt::Display>,
) -> fmt::Result {
    match result {
        Ok(()) => out.write_str(DONE)?,
        Err(why) => {
            out.write_str(FAILED)?;
            fmt::Write::write_fmt(&mut OneLineWriter(out), format_args!("{why}"))?;
        }
    }
    out.write_char('\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds<'a>(request: &Request<'a>) -> Vec<&'a [u8]> {
        request.kinds().collect()
    }

    /// `.control.tool.socket`
    #[test]
    fn a_socket_name_has_the_process_identifier() {
        assert_eq!(SocketName(4711).to_string(), "4711.sock");
        assert_eq!(SocketName::parse("4711.sock"), Some(SocketName(4711)));
        let max = SocketName(u64::MAX);
        assert_eq!(SocketName::parse(&max.to_string()), Some(max));
        for name in ["", ".sock", "0.sock", "04711.sock", "+1.sock", "1.socket", "x1.sock", "1"] {
            assert_eq!(SocketName::parse(name), None, "{name}");
        }
        assert_eq!(SocketName::parse("99999999999999999999.sock"), None);
    }

    /// `.control.tool.request`
    #[test]
    fn a_request_has_a_verb_limits_and_kinds() {
        let request = Request::parse(b"  set registry:heap Pool\t0x20  mask:recorded \r").unwrap();
        assert_eq!((request.verb, request.mask), (Verb::Set, Mask::Recorded));
        assert_eq!(request.registry, Some(&b"heap"[..]));
        assert_eq!(kinds(&request), [&b"Pool"[..], b"0x20"]);
        let request = Request::parse(b"get").unwrap();
        assert_eq!((request.verb, request.registry, request.mask), (Verb::Get, None, Mask::Output));
        assert!(kinds(&request).is_empty());
        assert_eq!(Request::parse(b"status registry:1").unwrap().registry, Some(&b"1"[..]));
    }

    /// `.control.tool.request`
    #[test]
    fn an_invalid_request_is_answered_by_its_error() {
        let table: &[(&[u8], &str)] = &[
            (b"", "the request is empty"),
            (b" \t", "the request is empty"),
            (b"GET", "unknown request `GET`; use one of: get set reset flush status"),
            (b"set", "`set` needs kinds: names, numbers, or `all`"),
            (b"reset mask:output", "`reset` needs kinds: names, numbers, or `all`"),
            (b"set mask:other Pool", "`mask:other` means nothing after `set`"),
            (b"get mask:output", "`mask:output` means nothing after `get`"),
            (b"set colour:red", "`colour:red` means nothing after `set`"),
            (b"flush Pool", "`Pool` means nothing after `flush`"),
            (b"flush registry:1", "`registry:1` means nothing after `flush`"),
            (b"status all", "`all` means nothing after `status`"),
            (b"\x1b[2J\xff", "unknown request `\u{fffd}[2J\u{fffd}`; use one of: get"),
        ];
        for (line, expected) in table {
            let text = Request::parse(line).expect_err("no request").to_string();
            assert!(text.starts_with(expected), "{line:?}: {text}");
        }
        let long = [b'x'; REQUEST_SIZE_MAX - 1];
        let text = Request::parse(&long).expect_err("no request").to_string();
        assert!(text.contains(&format!("`{}…`", "x".repeat(64))) && text.len() < 200, "{text}");
        let error = Request::parse(&[b'x'; REQUEST_SIZE_MAX]).expect_err("too long");
        assert_eq!(error, RequestError::TooLong);
    }

    /// `.control.tool.request`: a program reads what a tool writes.
    #[test]
    fn a_written_request_is_read_unchanged() {
        for verb in Verb::ALL {
            for (registry, mask, words) in [
                (None, Mask::Output, ""),
                (Some("heap"), Mask::Recorded, " Pool  Arena 1\n"),
                (Some("1"), Mask::Output, "all"),
            ] {
                let fits = match verb {
                    Verb::Get => mask == Mask::Output,
                    Verb::Set | Verb::Reset => !words.is_empty(),
                    Verb::Flush => registry.is_none() && words.is_empty(),
                    Verb::Status => words.is_empty(),
                };
                let mut text = String::new();
                Request::write(&mut text, verb, registry, mask, words).unwrap();
                let line = text.strip_suffix('\n').unwrap();
                assert!(!line.contains('\n'));
                let Ok(request) = Request::parse(line.as_bytes()) else {
                    assert!(!fits, "{line}");
                    continue;
                };
                assert!(fits, "{line}");
                assert_eq!((request.verb, request.mask), (verb, mask));
                assert_eq!(request.registry, registry.map(str::as_bytes));
                let expected: Vec<_> = words.split_whitespace().map(str::as_bytes).collect();
                assert_eq!(kinds(&request), expected);
            }
        }
    }

    /// `.control.tool.answer`
    #[test]
    fn the_last_line_of_an_answer_states_the_result() {
        let mut text = String::new();
        write_answer_end(&mut text, Ok(())).unwrap();
        write_answer_end(&mut text, Err(&"no\nkind\u{7} `x`")).unwrap();
        let lines: Vec<_> = text.lines().map(AnswerLine::parse).collect();
        let why = "no kind\u{fffd} `x`";
        assert_eq!(lines, [Some(AnswerLine::Done), Some(AnswerLine::Failed(why))]);
        let data = AnswerLine::parse("registry.1.output: Pool Arena: x");
        assert_eq!(data, Some(AnswerLine::Data("registry.1.output", "Pool Arena: x")));
        for line in ["", "oK", "no colon", "two words: x", ": x"] {
            assert_eq!(AnswerLine::parse(line), None, "{line}");
        }
    }
}
