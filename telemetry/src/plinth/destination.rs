//! Where a stream goes: what `MPS_TELEMETRY_FILENAME` says.
//!
//! ```text
//!  mpsio.log    file:PATH?size=64M&count=8    ring:PATH?size=64M&keep=all
//!  dir:PATH?files=16&size=1G&count=4
//!  tcp://HOST:PORT    unix:PATH               tee:DESTINATION,DESTINATION,…
//! ```
//!
//! What begins with none of these words is the name of a file, whatever is in it. Pure.
//! Design: `.sol.plinth`, `.req.multi` in `design/telemetry.md`.

use crate::plinth::{COUNT_MAX, COUNT_MIN, FILE_COUNT_MIN, Volumes};
use crate::registry::names;
use core::ops::RangeInclusive;
use eventlog::format::FILE_COUNT_MAX;

pub(crate) const TEE_COUNT_MAX: usize = 8;
/// The size of a ring without a size option, in bytes.
pub(crate) const RING_SIZE_DEFAULT: u64 = 64 << 20;
/// The number of files of a stream in volumes without a count option.
pub(crate) const VOLUME_COUNT_DEFAULT: u32 = 8;

/// The destination of a stream. Paths may contain a `%p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destination<'a> {
    /// A file. With options: the greatest size of a volume in bytes, and the greatest number of
    /// volumes.
    File {
        path: &'a [u8],
        volumes: Option<Volumes>,
    },
    /// A directory of files that are written side by side: how many; without a number, as many as
    /// the machine has processors. And the greatest size of a volume, of all of them, in bytes, and
    /// the greatest number of volumes.
    Directory {
        path: &'a [u8],
        file_count: Option<u32>,
        volumes: Option<Volumes>,
    },
    /// A bounded ring in a mapped file of this size, and whether the file grows to keep all.
    Ring {
        path: &'a [u8],
        size: u64,
        keeps: bool,
    },
    /// A host, by name or number, and a port.
    Tcp {
        host: &'a [u8],
        port: u16,
    },
    Unix {
        path: &'a [u8],
    },
    /// Several, separated by commas: see [`each`].
    Tee {
        list: &'a [u8],
    },
}

/// Parses a destination; returns the reason if it is invalid.
pub(crate) fn parse(text: &[u8]) -> Result<Destination<'_>, &'static str> {
    if let Some(rest) = text.strip_prefix(b"file:") {
        let (path, options) = split(rest);
        let options = read_options(options)?;
        if path.is_empty() {
            return Err("the file has no name");
        }
        match options {
            Options { keeps: true, .. } => Err("a file has no `keep`"),
            Options { file_count: Some(_), .. } => Err("a file has no `files`"),
            _ => Ok(Destination::File { path, volumes: options.volumes()? }),
        }
    } else if let Some(rest) = text.strip_prefix(b"dir:") {
        let (path, options) = split(rest);
        let options = read_options(options)?;
        // A forked child's directory is called as this one, with something added.
        let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
        let name = path[..end].rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        match options {
            _ if matches!(name, b"" | b"." | b"..") => Err("the directory has no name"),
            Options { keeps: true, .. } => Err("a directory has no `keep`"),
            Options { file_count, .. } => Ok(Destination::Directory {
                path: &path[..end],
                file_count,
                volumes: options.volumes()?,
            }),
        }
    } else if let Some(rest) = text.strip_prefix(b"ring:") {
        let (path, options) = split(rest);
        match read_options(options)? {
            _ if path.is_empty() => Err("the ring has no name"),
            Options { count: Some(_), .. } => Err("a ring has no `count`"),
            Options { file_count: Some(_), .. } => Err("a ring has no `files`"),
            Options { size, keeps, .. } => {
                Ok(Destination::Ring { path, size: size.unwrap_or(RING_SIZE_DEFAULT), keeps })
            }
        }
    } else if let Some(rest) = text.strip_prefix(b"tcp://") {
        parse_tcp(rest)
    } else if let Some(path) = text.strip_prefix(b"unix:") {
        if path.is_empty() { Err("the socket has no name") } else { Ok(Destination::Unix { path }) }
    } else if let Some(list) = text.strip_prefix(b"tee:") {
        parse_tee(list)
    } else {
        Ok(Destination::File { path: text, volumes: None })
    }
}

/// Returns the texts of the destinations of a tee.
pub(crate) fn each(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|byte| *byte == b',')
}

fn parse_tee(list: &[u8]) -> Result<Destination<'_>, &'static str> {
    let mut count = 0;
    for text in each(list) {
        match parse(text)? {
            Destination::Tee { .. } => return Err("a tee in a tee"),
            Destination::File { path: b"", .. } => return Err("an empty place in the list"),
            _ => count += 1,
        }
    }
    if count > TEE_COUNT_MAX { Err("more than 8 places") } else { Ok(Destination::Tee { list }) }
}

/// Parses `HOST:PORT`, with the host in brackets if it contains colons.
fn parse_tcp(text: &[u8]) -> Result<Destination<'_>, &'static str> {
    const WRONG: &str = "it is not tcp://HOST:PORT";
    let colon = text.iter().rposition(|byte| *byte == b':').ok_or(WRONG)?;
    let (host, port) = (&text[..colon], &text[colon + 1..]);
    let host = match host {
        [b'[', host @ .., b']'] => host,
        host if host.contains(&b':') => return Err("an IPv6 address must be in brackets"),
        host => host,
    };
    let port = names::number(port).and_then(|port| u16::try_from(port).ok());
    match port {
        Some(port) if port != 0 && !host.is_empty() => Ok(Destination::Tcp { host, port }),
        _ => Err(WRONG),
    }
}

/// The options after a question mark.
struct Options {
    size: Option<u64>,
    count: Option<u32>,
    file_count: Option<u32>,
    keeps: bool,
}

impl Options {
    fn volumes(&self) -> Result<Option<Volumes>, &'static str> {
        match (self.size, self.count) {
            (None, None) => Ok(None),
            (None, Some(_)) => Err("`count` needs a `size`"),
            (Some(size), count) => {
                Ok(Some(Volumes { size, count: count.unwrap_or(VOLUME_COUNT_DEFAULT) }))
            }
        }
    }
}

fn split(text: &[u8]) -> (&[u8], &[u8]) {
    match text.iter().position(|byte| *byte == b'?') {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, b""),
    }
}

fn read_options(text: &[u8]) -> Result<Options, &'static str> {
    let mut options = Options { size: None, count: None, file_count: None, keeps: false };
    for option in text.split(|byte| *byte == b'&').filter(|option| !option.is_empty()) {
        if let Some(value) = option.strip_prefix(b"size=") {
            let size = size(value).filter(|size| *size != 0);
            options.size = Some(size.ok_or("`size` is not like 64M (units: K, M, G)")?);
        } else if let Some(value) = option.strip_prefix(b"count=") {
            let count = number(value, COUNT_MIN..=COUNT_MAX);
            options.count = Some(count.ok_or("`count` is not from 2 to 1000")?);
        } else if let Some(value) = option.strip_prefix(b"files=") {
            let count = number(value, FILE_COUNT_MIN..=FILE_COUNT_MAX);
            options.file_count = Some(count.ok_or("`files` is not from 2 to 64")?);
        } else if let Some(value) = option.strip_prefix(b"keep=") {
            options.keeps = value == b"all";
            if !options.keeps {
                return Err("`keep` is not `all`");
            }
        } else {
            return Err("there are only the options `size`, `count`, `files` and `keep`");
        }
    }
    Ok(options)
}

/// Parses a number in a range.
fn number(text: &[u8], range: RangeInclusive<u32>) -> Option<u32> {
    let number = names::number(text).and_then(|number| u32::try_from(number).ok());
    number.filter(|number| range.contains(number))
}

/// Parses a size: a number, and K, M or G for powers of 1024.
fn size(text: &[u8]) -> Option<u64> {
    let (number, shift) = match text {
        [number @ .., b'K' | b'k'] => (number, 10),
        [number @ .., b'M' | b'm'] => (number, 20),
        [number @ .., b'G' | b'g'] => (number, 30),
        number => (number, 0),
    };
    names::number(number)?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str) -> Result<Destination<'_>, &'static str> {
        Ok(Destination::File { path: path.as_bytes(), volumes: None })
    }

    #[test]
    fn any_name_without_a_known_prefix_is_a_file() {
        for name in ["mpsio.log", "a b?size=3.log", "C:log", "files:x", "%p"] {
            assert_eq!(parse(name.as_bytes()), file(name), "{name}");
        }
        assert_eq!(parse(b"file:ring:x"), file("ring:x"));
    }

    #[test]
    fn sizes_and_counts_are_read_with_their_units() {
        let volumes = |size, count| Some(Volumes { size, count });
        let path = &b"a.log"[..];
        for (text, expected) in [
            ("file:a.log?size=64M&count=3", volumes(64 << 20, 3)),
            ("file:a.log?count=3&size=0x10k", volumes(16 << 10, 3)),
            ("file:a.log?size=2G", volumes(2 << 30, VOLUME_COUNT_DEFAULT)),
        ] {
            let expected = Ok(Destination::File { path, volumes: expected });
            assert_eq!(parse(text.as_bytes()), expected, "{text}");
        }
        let directory =
            |file_count, volumes| Ok(Destination::Directory { path: b"run", file_count, volumes });
        assert_eq!(parse(b"dir:run"), directory(None, None));
        assert_eq!(parse(b"dir:run//?files=16"), directory(Some(16), None));
        let all = parse(b"dir:run?files=2&size=1M&count=3");
        assert_eq!(all, directory(Some(2), volumes(1 << 20, 3)));
        let ring = |size, keeps| Ok(Destination::Ring { path, size, keeps });
        assert_eq!(parse(b"ring:a.log?size=1M"), ring(1 << 20, false));
        assert_eq!(parse(b"ring:a.log"), ring(RING_SIZE_DEFAULT, false));
        assert_eq!(parse(b"ring:a.log?keep=all&size=1M"), ring(1 << 20, true));
    }

    #[test]
    fn hosts_have_a_port() {
        let tcp = |host: &'static str, port| Ok(Destination::Tcp { host: host.as_bytes(), port });
        assert_eq!(parse(b"tcp://localhost:4711"), tcp("localhost", 4711));
        assert_eq!(parse(b"tcp://[::1]:80"), tcp("::1", 80));
        assert_eq!(parse(b"unix:/run/log"), Ok(Destination::Unix { path: b"/run/log" }));
    }

    #[test]
    fn a_tee_lists_several_destinations() {
        let Ok(Destination::Tee { list }) = parse(b"tee:a.log,tcp://h:1,ring:r?size=1M") else {
            panic!("a tee")
        };
        let kinds: Vec<_> = each(list).map(parse).collect::<Result<_, _>>().expect("destinations");
        assert!(matches!(
            kinds[..],
            [Destination::File { .. }, Destination::Tcp { port: 1, .. }, Destination::Ring { .. }]
        ));
    }

    #[test]
    fn an_invalid_destination_is_refused() {
        for text in [
            "file:",
            "file:?size=1M",
            "file:a?count=3",
            "file:a?size=0",
            "file:a?size=M",
            "file:a?size=99999999999G",
            "file:a?count=1&size=1M",
            "file:a?count=1001&size=1M",
            "file:a?colour=red",
            "dir:",
            "dir:/",
            "dir:.",
            "dir:a/..",
            "dir:a?files=1",
            "dir:a?files=65",
            "dir:a?count=2",
            "dir:a?keep=all",
            "file:a?files=2",
            "ring:a?files=2",
            "ring:",
            "ring:a?count=2",
            "ring:a?keep=some",
            "file:a?keep=all",
            "tcp://",
            "tcp://host",
            "tcp://:1",
            "tcp://h:0",
            "tcp://h:65536",
            "tcp://::1:80",
            "unix:",
            "tee:",
            "tee:a,",
            "tee:tee:a",
            "tee:a,b,c,d,e,f,g,h,i",
        ] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
