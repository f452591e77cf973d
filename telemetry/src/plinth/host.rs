//! From what the environment says to the plinth that does it.
//!
//! ```text
//!  MPS_TELEMETRY_FILENAME ─▶ destination ─▶ plinth ─ %p ─▶ name
//! ```
//!
//! Allocates nothing: a plinth and the text that it keeps are mapped, for ever.
//! Design: `.sol.plinth` in `design/telemetry.md`.

use crate::os::report::{self, Text};
use crate::os::{pages, sockets, sys};
use crate::plinth::destination::{self, Destination, TEE_COUNT_MAX};
use crate::plinth::{
    DirectoryPlinth, FilePlinth, MappedPlinth, PATH_SIZE_MAX, Plinth, SocketPlinth, TeePlinth,
};
use core::ffi::CStr;

/// The environment variable with the name of the log.
pub const FILENAME_VARIABLE: &CStr = c"MPS_TELEMETRY_FILENAME";
/// The default name of the log.
pub const FILENAME_DEFAULT: &str = "mpsio.log";
/// The environment names an invalid destination; this was reported.
pub(crate) struct Refused;

/// Returns the plinth that the environment names; `Ok(None)` if the system has no memory for it,
/// and `Err` if the name is invalid.
pub(crate) fn of_environment() -> Result<Option<&'static dyn Plinth>, Refused> {
    let Some(text) = pages::map_bytes(PATH_SIZE_MAX + 1) else { return Ok(None) };
    // A name that is too long for the operating system is cut there; the system then reports it. A
    // `%p` stays: it differs in a forked child.
    sys::with_environment(FILENAME_VARIABLE, |value| {
        let value = value.filter(|value| !value.is_empty()).unwrap_or(FILENAME_DEFAULT.as_bytes());
        let size = value.len().min(PATH_SIZE_MAX);
        text[..size].copy_from_slice(&value[..size]);
    });
    let Ok(text) = CStr::from_bytes_until_nul(text) else { return Ok(None) };
    match destination::parse(text.to_bytes()).and_then(|place| of(text.to_bytes(), place)) {
        Ok(plinth) => Ok(plinth),
        Err(what) => Err(refuse(text.to_bytes(), what)),
    }
}

/// Returns the plinth of a destination and its text; `Ok(None)` if the system has no memory for it.
fn of(
    text: &'static [u8],
    destination: Destination<'static>,
) -> Result<Option<&'static dyn Plinth>, &'static str> {
    Ok(match destination {
        Destination::File { path, volumes } => c_string(path)
            .and_then(|path| place(FilePlinth::named(path.into(), true).with_volumes(volumes))),
        Destination::Directory { path, file_count, volumes } => c_string(path)
            .and_then(|path| place(DirectoryPlinth::named(path, true).with(file_count, volumes))),
        Destination::Ring { path, size, keeps } => c_string(path).and_then(|path| {
            let ring = MappedPlinth::named(path.into(), true, size);
            place(if keeps { ring.keeping() } else { ring })
        }),
        Destination::Tcp { .. } => {
            c_string(text).and_then(|text| place(SocketPlinth::named(text.into(), false)))
        }
        Destination::Unix { .. } => {
            c_string(text).and_then(|text| place(SocketPlinth::named(text.into(), true)))
        }
        Destination::Tee { list } => return of_each(list),
    })
}

/// Returns whether the environment names a file, which begins without being looked for, or nothing.
pub(crate) fn begins_with_a_file() -> bool {
    sys::with_environment(FILENAME_VARIABLE, |value| {
        let value = value.filter(|value| !value.is_empty());
        let place = value.map(destination::parse);
        place.is_none_or(|place| {
            matches!(place, Ok(Destination::File { .. } | Destination::Directory { .. }))
        })
    })
}

/// Returns whether the environment names a host that needs the system's resolver, which may
/// allocate, and wait.
pub(crate) fn asks_resolver() -> bool {
    fn asks(place: Destination<'_>) -> bool {
        match place {
            Destination::Tcp { host, .. } => !sockets::is_known(host),
            Destination::Tee { list } => {
                destination::each(list).any(|text| destination::parse(text).is_ok_and(asks))
            }
            _ => false,
        }
    }
    sys::with_environment(FILENAME_VARIABLE, |value| {
        value.is_some_and(|value| destination::parse(value).is_ok_and(asks))
    })
}

fn place(plinth: impl Plinth + 'static) -> Option<&'static dyn Plinth> {
    Some(pages::place(plinth)?)
}

fn of_each(list: &'static [u8]) -> Result<Option<&'static dyn Plinth>, &'static str> {
    let mut plinths = [None; TEE_COUNT_MAX];
    for (plinth, text) in plinths.iter_mut().zip(destination::each(list)) {
        let destination = destination::parse(text)?;
        if matches!(destination, Destination::Ring { .. }) {
            return Err("a ring cannot be one of several places");
        }
        *plinth = of(text, destination)?;
    }
    Ok(TeePlinth::placed(plinths.into_iter().flatten()).and_then(place))
}

fn refuse(text: &[u8], what: &str) -> Refused {
    let text = Text(text);
    report::say(format_args!(
        "MPS_TELEMETRY_FILENAME: `{text}`: {what}; nothing is output, the program goes on"
    ));
    Refused
}

fn c_string(part: &'static [u8]) -> Option<&'static CStr> {
    let copy = pages::map_bytes(part.len() + 1)?;
    copy[..part.len()].copy_from_slice(part);
    CStr::from_bytes_until_nul(copy).ok()
}
