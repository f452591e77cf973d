//! Writes a Python module that knows the events of a log, and reads logs of its platform.
//!
//! ```text
//!  registries ──▶ _REGISTRIES = [(1, 'heap', (1, 0, 0), …)]     python.py ──▶ the reader
//! ```
//!
//! Declarations of a log may contain any text, so all of them are ASCII literals. Design: `.cnv.py`
//! in `design/eventcnv.md`.

use eventdef::Sort;
use eventlog::reader::{EventType, Log, Platform, Registry, StringEnd};
use std::fmt::Write as _;
use std::io::{self, Write};

/// The code after the declarations.
const READER: &str = include_str!("python.py");

/// Writes the module for the first stream of a log.
pub(crate) fn write(log: &Log, name: &str, out: &mut dyn Write) -> io::Result<()> {
    let Some(stream) = log.streams().first() else { return Ok(()) };
    let Platform { big_endian, word_size, string_end, event_header_size, .. } = stream.platform;
    let is_mps = string_end == StringEnd::Nul;
    let order = if big_endian { ">" } else { "<" };
    let header = match (is_mps, event_header_size) {
        (false, _) => "HHL",
        (true, 8) => "HHL",
        (true, 12) => "HHQ",
        (true, _) => "HH4xQ",
    };
    writeln!(out, "\"\"\"The events of a log: their names, parameters and layout.\n")?;
    writeln!(out, "Made by eventcnv py of {}.", literal(name).trim_matches('\''))?;
    writeln!(
        out,
        "\"\"\"\n\nimport array\nimport bisect\nimport keyword\nimport re\nimport struct"
    )?;
    writeln!(out, "from collections import namedtuple\n")?;
    writeln!(out, "BYTE_ORDER, WORD_SIZE = '{order}', {word_size}")?;
    writeln!(out, "IS_MPS = {}", boolean(is_mps))?;
    writeln!(out, "HEADER_FORMAT = '{order}{header}'")?;
    for (name, fields) in [
        ("HeaderDesc", "code size clock"),
        ("KindDesc", "name code doc"),
        ("EventParam", "sort name doc"),
        ("EventDesc", "name code used kind params maxsize format doc registry record"),
        ("RegistryDesc", "index name version doc kinds events"),
    ] {
        writeln!(out, "{name} = namedtuple('{name}', '{fields}')")?;
    }
    writeln!(out, "\n_REGISTRIES = [")?;
    for registry in log.registries().iter().filter(|registry| registry.stream == 0) {
        write_registry(registry, order, out)?;
    }
    writeln!(out, "]\n")?;
    // The first line is for the file itself.
    let reader = READER.split_once('\n').map_or(READER, |(_, rest)| rest);
    out.write_all(reader.as_bytes())
}

/// Counts the streams that have another platform than the first, or other registries: the module
/// does not read these.
pub(crate) fn other_count(log: &Log) -> usize {
    let Some(first) = log.streams().first() else { return 0 };
    let of = |index: u16| log.registries().iter().filter(move |registry| registry.stream == index);
    let is_known = |one: &Registry| {
        of(0).any(|known| {
            (known.index, &known.name, known.version) == (one.index, &one.name, one.version)
        })
    };
    let others = (0..).zip(log.streams()).skip(1);
    others
        .filter(|(index, stream)| stream.platform != first.platform || !of(*index).all(is_known))
        .count()
}

fn write_registry(registry: &Registry, order: &str, out: &mut dyn Write) -> io::Result<()> {
    let version = registry.version;
    let [name, doc] = [&registry.name, &registry.doc].map(|text| literal(text));
    writeln!(
        out,
        "    ({}, {name}, ({}, {}, {}), {doc}, [",
        registry.index, version.major, version.median, version.minor
    )?;
    for kind in &registry.kinds {
        let [name, doc] = [&kind.name, &kind.doc].map(|text| literal(text));
        writeln!(out, "        ({}, {name}, {doc}),", kind.index)?;
    }
    writeln!(out, "    ], [")?;
    for row in &registry.event_types {
        let (size, format) = format(row, registry.platform);
        let [name, doc] = [&row.name, &row.doc].map(|text| literal(text));
        let always = boolean(row.always);
        writeln!(
            out,
            "        (0x{:04X}, {name}, {always}, {}, {doc}, {size}, '{order}{format}', [",
            row.code, row.kind
        )?;
        for param in &row.params {
            let [name, doc] = [&param.name, &param.doc].map(|text| literal(text));
            writeln!(out, "            ('{}', {name}, {doc}),", param.sort.letter())?;
        }
        writeln!(out, "        ]),")?;
    }
    writeln!(out, "    ]),")
}

/// Returns the layout of the parameters after the event header, as a format of `struct`, and its
/// size. It leaves out a string, which comes last.
fn format(row: &EventType, platform: Platform) -> (u32, String) {
    let begin = u32::from(platform.event_header_size);
    let (mut format, mut end) = (String::new(), begin);
    for param in &row.params {
        if param.offset > end {
            let _ = write!(format, "{}x", param.offset - end);
        }
        let (letter, size) = match (param.sort, platform.word_size) {
            (Sort::P | Sort::A | Sort::W, 8) => ("Q", 8),
            (Sort::P | Sort::A | Sort::W | Sort::U, _) => ("L", 4),
            (Sort::D, _) => ("d", 8),
            (Sort::B, _) => ("?", 1),
            (Sort::S, _) => ("", 0),
        };
        format += letter;
        end = param.offset.saturating_add(size);
    }
    (end - begin, format)
}

fn boolean(is_true: bool) -> &'static str {
    if is_true { "True" } else { "False" }
}

fn literal(text: &str) -> String {
    let mut literal = "'".to_owned();
    for c in text.chars() {
        let _ = match c {
            '\'' | '\\' => write!(literal, "\\{c}"),
            // Three of these would end the doc string of the module.
            '"' => write!(literal, "\\x22"),
            ' '..='~' => write!(literal, "{c}"),
            c => write!(literal, "\\U{:08x}", c as u32),
        };
    }
    literal + "'"
}

#[cfg(test)]
mod tests {
    use super::literal;

    #[test]
    fn no_text_ends_its_literal() {
        assert_eq!(
            literal("it's \"\"\" \\ \n é"),
            r"'it\'s \x22\x22\x22 \\ \U0000000a \U000000e9'"
        );
    }
}
