//! What a request from outside does, and its answer, piece by piece.
//!
//! ```text
//!  "set Pool" ─▶ perform: masks ─▶ piece 0: the log ─▶ a piece for each registry ─▶ ok
//! ```
//!
//! A piece has a known size at most, so that an answer needs no memory in the measure of the
//! registries. Knows no socket. Design: `.control.tool` in `design/telemetry.md`.

use crate::os::exit;
use crate::os::report::Line;
use crate::os::sync::Entry;
use crate::plinth::PlinthError;
use crate::registry::names::{self, KindNames};
use crate::registry::registration::{self, Registered};
use crate::service::status::{self, Head, RegistryStatus};
use crate::service::{control, flush};
use crate::stream::{self, Standing, account};
use core::cell::Cell;
use core::fmt::{self, Write};
use core::sync::atomic::Ordering;
use eventdef::Registry;
use eventlog::control::{Mask, Request, Verb, Word, write_answer_end};

/// The most that a piece of an answer may have, in bytes: a registry with all kinds.
pub(crate) const PIECE_SIZE_MAX: usize = 8192;

/// Why a request was not done. Its text is one line.
enum Refusal<'a> {
    /// There is no such registry.
    Registry(&'a [u8]),
    /// There is no such kind in the registries that were asked for.
    Kind(&'a [u8], Option<&'a [u8]>),
    /// No more names can be remembered for registries to come.
    Names,
    /// Another thread exits the program.
    Exiting,
    /// The host failed.
    Host(PlinthError),
    /// This process outputs nothing.
    Left,
}

impl fmt::Display for Refusal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Refusal::Registry(name) => {
                write!(f, "there is no registry `{}`; there are:", Word(name))?;
                let mut all = registration::all().skip(1);
                all.try_for_each(|each| {
                    write!(f, " {}", Word(each.control.registry.name.as_bytes()))
                })
            }
            Refusal::Kind(name, registry) => {
                let kinds = KindNames(&|each| is_chosen(registry, each));
                write!(f, "there is no kind `{}`; there are: {kinds}, or `all`", Word(name))
            }
            Refusal::Names => f.write_str(
                "it was done, but is not remembered for registries to come: too many names are",
            ),
            Refusal::Exiting => f.write_str("the program is ending"),
            Refusal::Host(error) => write!(f, "{error}"),
            Refusal::Left => f.write_str("a forked child, which outputs nothing"),
        }
    }
}

/// Whether a registry is the one that is meant, by its name or its index.
fn is_chosen(wanted: Option<&[u8]>, registered: &Registered) -> bool {
    wanted.is_none_or(|wanted| {
        registered.control.registry.name.as_bytes().eq_ignore_ascii_case(wanted)
            || names::number(wanted) == Some(registered.index.into())
    })
}

fn chosen(request: &Request<'_>) -> impl Iterator<Item = &'static Registered> {
    registration::all().skip(1).filter(|each| is_chosen(request.registry, each))
}

/// Does what a request asks for, and begins the answer. Gives the index from which on registries
/// are told of in further pieces; `None`: this is all.
pub(crate) fn begin(line: &[u8], piece: &mut Line<'_>) -> Option<usize> {
    let failed = |piece: &mut Line<'_>, why: &dyn fmt::Display| {
        // An error says that the line was cut; that is seen.
        let _ = write_answer_end(piece, Err(why));
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

/// Goes on with the answer to a request that was performed: tells of the next registry, from
/// `index` on, or ends.
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

/// The kinds that are told of: those that were asked for.
fn shown(request: &Request<'_>, registered: &Registered) -> u64 {
    match request.kinds().next() {
        Some(_) => mask(request, registered.control.registry),
        None => u64::MAX,
    }
}

/// The kinds of a registry that a request names.
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

/// Switches kinds: of one registry, or of all, those to come included.
fn change<'a>(request: &Request<'a>, on: bool) -> Result<(), Refusal<'a>> {
    if exit::is_elsewhere() {
        return Err(Refusal::Exiting);
    }
    if on && request.mask == Mask::Output && stream::standing() == Standing::Left {
        return Err(Refusal::Left);
    }
    if !on && request.mask == Mask::Output {
        // What was recorded so far goes out before.
        let entry = Entry::new();
        chosen(request).for_each(|each| {
            flush::flush_kinds(&entry, each, mask(request, each.control.registry));
        });
    }
    let is_remembered = Cell::new(true);
    let note = || is_remembered.set(request.registry.is_some() || note_as_default(request, on));
    control::change_chosen(
        &Entry::new(),
        &|each| is_chosen(request.registry, each),
        &note,
        &|control| {
            let kinds = mask(request, control.registry);
            match (request.mask, on) {
                (Mask::Output, true) => control.output().fetch_or(kinds, Ordering::Relaxed),
                (Mask::Output, false) => control.output().fetch_and(!kinds, Ordering::Relaxed),
                (Mask::Recorded, true) => control.recorded().fetch_or(kinds, Ordering::Relaxed),
                (Mask::Recorded, false) => control.recorded().fetch_and(!kinds, Ordering::Relaxed),
            }
        },
    );
    if is_remembered.get() { Ok(()) } else { Err(Refusal::Names) }
}

/// Notes what registries to come begin with; false if there was no room for a name. Under the lock
/// of the masks.
fn note_as_default(request: &Request<'_>, on: bool) -> bool {
    let defaults = control::defaults(request.mask);
    request.kinds().filter_map(names::bits).for_each(|bits| defaults.note_bits(bits, on));
    let kind = |word| registration::all().find_map(|each| names::kind(word, each.control.registry));
    let names = request.kinds().filter(|word| names::bits(word).is_none());
    let mut is_noted = true;
    names.filter_map(kind).for_each(|kind| is_noted &= defaults.note_name(kind, on));
    is_noted
}

/// Brings out what was recorded so far, and says whether the host has it.
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

    /// `.control.tool.answer`: also where it is cut.
    #[test]
    fn what_is_wrong_is_one_line() {
        assert_eq!(answer(b""), "error: the request is empty\n");
        let line = "é".repeat(300);
        let text = answer(line.as_bytes());
        assert!(text.starts_with("error: unknown request `éé") && text.ends_with('\n'));
        assert_eq!(text.matches('\n').count(), 1);
        let mut bytes = [0; 20];
        let mut piece = Line::new(&mut bytes);
        begin(b"x", &mut piece);
        assert_eq!(&bytes, b"error: there is no \n");
    }
}
