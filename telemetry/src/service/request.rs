//! The requests of tools, and their answers, piece by piece.
//!
//! ```text
//!  "set Pool" ─▶ perform: masks ─▶ piece 0: the log ─▶ a piece for each registry ─▶ ok
//! ```
//!
//! Each piece has a maximum size, so the memory for an answer does not grow with the registries.
//! Knows no socket. Design: `.control.tool` in `design/telemetry.md`.

use crate::offered::Moment;
use crate::os::entry::Entry;
use crate::os::report::Line;
use crate::os::{exit, observers};
use crate::plinth::PlinthError;
use crate::registry::names::{self, KindNames};
use crate::registry::registration::{self, Registered};
use crate::rings::thread;
use crate::service::status::{self, Head, RegistryStatus};
use crate::service::{control, flush};
use crate::stream::{self, Standing, account};
use core::cell::Cell;
use core::fmt::{self, Write};
use eventdef::Registry;
use eventlog::control::{Mask, Request, Verb, Word, write_answer_end};

/// The greatest size of a piece of an answer, in bytes: a registry with all kinds.
pub(crate) const PIECE_SIZE_MAX: usize = 8192;

/// Why a request was refused. Its text is one line.
enum Refusal<'a> {
    /// No registry has this name or index.
    Registry(&'a [u8]),
    /// No chosen registry has this kind.
    Kind(&'a [u8], Option<&'a [u8]>),
    /// No more names can be kept for later registries.
    Names,
    /// Another thread exits the program.
    Exiting,
    Host(PlinthError),
    /// This process outputs nothing.
    Left,
}

impl fmt::Display for Refusal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Refusal::Registry(name) => {
                write!(f, "unknown registry `{}`; known:", Word(name))?;
                registration::all().skip(1).enumerate().try_for_each(|(index, each)| {
                    let before = if index == 0 { "" } else { "," };
                    write!(f, "{before} {}", Word(each.control.registry.name.as_bytes()))
                })
            }
            Refusal::Kind(name, registry) => {
                let kinds = KindNames(&|each| is_chosen(registry, each));
                write!(f, "unknown kind `{}`; known: {kinds}, all", Word(name))
            }
            Refusal::Names => f.write_str(
                "done, but not kept for registries that register later: too many names are kept",
            ),
            Refusal::Exiting => f.write_str("the program is ending"),
            Refusal::Host(error) => write!(f, "{error}"),
            Refusal::Left => f.write_str("this process is a forked child that outputs nothing"),
        }
    }
}

/// Returns whether a request means this registry, by its name or its index.
fn is_chosen(wanted: Option<&[u8]>, registered: &Registered) -> bool {
    wanted.is_none_or(|wanted| {
        registered.control.registry.name.as_bytes().eq_ignore_ascii_case(wanted)
            || names::number(wanted) == Some(registered.index.into())
    })
}

fn chosen(request: &Request<'_>) -> impl Iterator<Item = &'static Registered> {
    registration::all().skip(1).filter(|each| is_chosen(request.registry, each))
}

/// Performs a request, and begins the answer. Returns the index of the first registry that further
/// pieces describe; `None`: the answer is complete.
pub(crate) fn begin(line: &[u8], piece: &mut Line<'_>) -> Option<usize> {
    let failed = |piece: &mut Line<'_>, cause: &dyn fmt::Display| {
        // An error means that the line was cut, which shows.
        let _ = write_answer_end(piece, Err(cause));
        piece.end();
        None
    };
    let request = match Request::parse(line) {
        Ok(request) => request,
        Err(error) => return failed(piece, &error),
    };
    if let Err(refusal) = perform(&request) {
        return failed(piece, &refusal);
    }
    let (_, size) = account::written();
    let _ = match request.verb {
        Verb::Status => write!(piece, "{}", Head(&status::status())),
        Verb::Flush => status::write_log(piece).and_then(|()| writeln!(piece, "bytes: {size}")),
        Verb::Get | Verb::Set | Verb::Reset => status::write_log(piece),
    };
    piece.end();
    match request.verb {
        Verb::Flush => {
            let _ = write_answer_end(piece, Ok(()));
            None
        }
        _ => Some(1),
    }
}

/// Continues the answer to a performed request: describes the next registry, from `index` on, or
/// ends.
pub(crate) fn go_on(line: &[u8], index: usize, piece: &mut Line<'_>) -> Option<usize> {
    let request = Request::parse(line).ok();
    let next =
        |request: &Request<'_>| chosen(request).find(|each| usize::from(each.index) >= index);
    let Some((request, next)) = request.and_then(|request| Some((request, next(&request)?))) else {
        let _ = write_answer_end(piece, Ok(()));
        return None;
    };
    let status = RegistryStatus::of(next);
    let _ = match request.verb {
        Verb::Status => write!(piece, "{status}"),
        _ => status.write_masks(shown(&request, next), piece),
    };
    piece.end();
    Some(usize::from(next.index) + 1)
}

/// Returns the kinds to show: the requested ones, or all.
fn shown(request: &Request<'_>, registered: &Registered) -> u64 {
    match request.kinds().next() {
        Some(_) => mask(request, registered.control.registry),
        None => u64::MAX,
    }
}

fn mask(request: &Request<'_>, registry: &Registry) -> u64 {
    let named = |word| names::mask(word, registry).unwrap_or(0);
    request.kinds().map(named).fold(0, |mask, word| mask | word)
}

fn perform<'a>(request: &Request<'a>) -> Result<(), Refusal<'a>> {
    if let Some(name) = request.registry.filter(|_| chosen(request).next().is_none()) {
        return Err(Refusal::Registry(name));
    }
    for word in request.kinds() {
        let is_in = |each: &Registered| names::mask(word, each.control.registry).is_some();
        if !chosen(request).any(is_in) {
            return Err(Refusal::Kind(word, request.registry));
        }
    }
    match request.verb {
        Verb::Get | Verb::Status => Ok(()),
        Verb::Set => change(request, true),
        Verb::Reset => change(request, false),
        Verb::Flush => flush_to_host(),
    }
}

/// Switches kinds, in one registry or in all, registered now or later.
fn change<'a>(request: &Request<'a>, on: bool) -> Result<(), Refusal<'a>> {
    if exit::is_elsewhere() {
        return Err(Refusal::Exiting);
    }
    if on && request.mask == Mask::Output && stream::standing() == Standing::Left {
        return Err(Refusal::Left);
    }
    if !on && request.mask == Mask::Output {
        // Events recorded so far are output first.
        observers::tell(Moment::Flush);
        let entry = Entry::new();
        chosen(request).for_each(|each| {
            thread::flush_kinds(&entry, each, mask(request, each.control.registry));
        });
    }
    let is_remembered = Cell::new(true);
    let note = || is_remembered.set(request.registry.is_some() || note_as_default(request, on));
    control::change_chosen(
        &Entry::new(),
        &|each| is_chosen(request.registry, each),
        &note,
        &|each| control::switch(each, request.mask, mask(request, each.registry), on),
    );
    if is_remembered.get() { Ok(()) } else { Err(Refusal::Names) }
}

/// Changes the defaults of later registries; returns false if no more names can be kept. Call it
/// under the lock of the masks.
fn note_as_default(request: &Request<'_>, on: bool) -> bool {
    let defaults = control::defaults(request.mask);
    request.kinds().filter_map(names::bits).for_each(|bits| defaults.note_bits(bits, on));
    let kind = |word| registration::all().find_map(|each| names::kind(word, each.control.registry));
    let names = request.kinds().filter(|word| names::bits(word).is_none());
    let mut is_noted = true;
    names.filter_map(kind).for_each(|kind| is_noted &= defaults.note_name(kind, on));
    is_noted
}

/// Outputs the events recorded so far, and checks that the host has them.
fn flush_to_host<'a>() -> Result<(), Refusal<'a>> {
    let (error_count, ..) = account::errors();
    flush::flush();
    let (error_count_after, error, _) = account::errors();
    if exit::is_elsewhere() {
        Err(Refusal::Exiting)
    } else if stream::standing() == Standing::Left {
        Err(Refusal::Left)
    } else if stream::standing() == Standing::Failed || error_count != error_count_after {
        Err(Refusal::Host(error))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(line: &[u8]) -> String {
        let mut bytes = [0; 200];
        let mut piece = Line::new(&mut bytes);
        assert_eq!(begin(line, &mut piece), None);
        piece.text().to_owned()
    }

    /// `.control.tool.answer`: even if it is cut.
    #[test]
    fn an_error_is_one_line() {
        assert_eq!(answer(b""), "error: the request is empty\n");
        let line = "é".repeat(300);
        let text = answer(line.as_bytes());
        assert!(text.starts_with("error: unknown request `éé") && text.ends_with('\n'));
        assert_eq!(text.matches('\n').count(), 1);
        let mut bytes = [0; 20];
        let mut piece = Line::new(&mut bytes);
        begin(b"x", &mut piece);
        assert_eq!(&bytes, b"error: unknown requ\n");
    }
}
