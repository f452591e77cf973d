//! The commands of the package `turtles`.
//!
//! ```text
//!  argv: a +TURTLES -enabled -TURTLES b ─ consume ─▶ argv: a b, and -enabled
//!                                          hatch ──▶ enabled 1 commitMode staged …
//!                                          release ─▶ the same, and records
//! ```
//!
//! Design: `.calls.tcl` in `design/calls.md`.

use crate::commands::Commands;
use crate::recording;
use crate::tcl::Interp;
use calls::Options;
use core::ffi::CStr;
use core::time::Duration;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::rc::Rc;

const BEGIN: &[u8] = b"+TURTLES";
const END: &[u8] = b"-TURTLES";

/// What the package needs besides its commands.
pub(crate) const SETUP: &CStr = c"
namespace eval ::turtles {namespace export release_the_turtles capture_the_turtles options}
namespace eval ::turtles::options {namespace export consume}
package provide turtles::options 0.1
";

/// A command of the package.
pub(crate) struct PackageCommand {
    pub(crate) name: &'static CStr,
    /// Whether its argument is the name of a variable; else it has none.
    pub(crate) takes_variable: bool,
    /// Runs it; `None` with an error in the result.
    pub(crate) run: fn(&Interp<'_>, &CStr) -> Option<()>,
}

pub(crate) const COMMANDS: [PackageCommand; 4] = [
    PackageCommand { name: c"::turtles::options::consume", takes_variable: true, run: consume },
    PackageCommand { name: c"::turtles::hatch_the_turtles", takes_variable: true, run: hatch },
    PackageCommand { name: c"::turtles::release_the_turtles", takes_variable: true, run: release },
    PackageCommand { name: c"::turtles::capture_the_turtles", takes_variable: false, run: capture },
];

/// Takes the groups out of a variable, and makes the words in them the result.
fn consume(interp: &Interp<'_>, variable: &CStr) -> Option<()> {
    let taken = take(interp, variable)?;
    interp.set_result(&taken);
    Some(())
}

/// Takes the groups out of a variable, and makes all options the result.
fn hatch(interp: &Interp<'_>, variable: &CStr) -> Option<()> {
    options(interp, variable).map(drop)
}

/// Takes the groups out of a variable, and records the calls of procedures that are defined from
/// now on, if a group has `-enabled`. The options are the result.
fn release(interp: &Interp<'_>, variable: &CStr) -> Option<()> {
    let options = options(interp, variable)?;
    let commands = interp.commands().unwrap_or_else(|| {
        let commands = Rc::new(Commands::default());
        interp.set_commands(&commands);
        commands
    });
    if commands.is_traced() {
        return Some(());
    }
    let pairs = options.pairs();
    let value = |name: &str| pairs.iter().find(|(each, _)| *each == name).map(|(_, value)| value);
    let is_loop = value("scheduleMode").is_some_and(|mode| mode == "ev");
    let interval = value("intervalMillis").and_then(|interval| interval.to_str()?.parse().ok());
    if recording::begin(options) {
        // A moment later than the interval, which must be over.
        let interval = interval.filter(|_| is_loop).map(|ms: u64| Duration::from_millis(ms + 1));
        let timer = interval.map(|interval| interp.timer(interval, recording::tick));
        commands.begin_trace(interp, timer);
    }
    Some(())
}

/// Ends the recording of this interpreter's procedures.
fn capture(interp: &Interp<'_>, _: &CStr) -> Option<()> {
    if let Some(commands) = interp.commands() {
        end(interp, &commands);
    }
    interp.set_result(b"");
    Some(())
}

/// Ends the recording of an interpreter, if it is recorded.
pub(crate) fn end(interp: &Interp<'_>, commands: &Commands) {
    if commands.end_trace(interp) {
        recording::end();
    }
}

/// Reads the options in a variable, and makes them the result.
fn options(interp: &Interp<'_>, variable: &CStr) -> Option<Options> {
    let words = interp.words(&take(interp, variable)?)?;
    let words: Vec<OsString> = words.into_iter().map(OsString::from_vec).collect();
    let options = Options::new(&words);
    let pairs = options.pairs();
    interp.set_result_pairs(pairs.iter().map(|(name, value)| (*name, value.as_bytes())));
    Some(options)
}

fn take(interp: &Interp<'_>, variable: &CStr) -> Option<Vec<u8>> {
    let (rest, taken) = take_groups(&interp.variable(variable)?);
    interp.set_variable(variable, &rest)?;
    Some(taken)
}

/// Splits the text of a program's arguments: what is outside of all groups, and what is in them. A
/// group ends with `-TURTLES` at the end of a word.
fn take_groups(mut text: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (mut rest, mut taken) = (Vec::new(), Vec::new());
    while let Some(begin) = position(text, BEGIN, |_| true) {
        let inside = &text[begin + BEGIN.len()..];
        let is_end = |after: &[u8]| after.first().is_none_or(u8::is_ascii_whitespace);
        let Some(size) = position(inside, END, is_end) else { break };
        rest.extend_from_slice(&text[..begin]);
        let group = inside[..size].trim_ascii();
        if !taken.is_empty() && !group.is_empty() {
            taken.push(b' ');
        }
        taken.extend_from_slice(group);
        text = inside[size + END.len()..].get(1..).unwrap_or_default();
    }
    rest.extend_from_slice(text);
    (rest.trim_ascii().to_vec(), taken)
}

/// Returns the place of a word in a text, where what follows is as wanted.
fn position(text: &[u8], word: &[u8], is_wanted: impl Fn(&[u8]) -> bool) -> Option<usize> {
    let mut places = text.windows(word.len()).enumerate();
    let at = |&(at, part): &(usize, &[u8])| part == word && is_wanted(&text[at + word.len()..]);
    places.find(at).map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// T7: several groups, anywhere; a group without its end stays.
    #[test]
    fn each_group_is_taken_out_of_the_arguments() {
        for (arguments, rest, taken) in [
            ("", "", ""),
            ("-i", "-i", ""),
            ("a +TURTLES -x -TURTLES b", "a b", "-x"),
            ("+TURTLES -x -y -TURTLES", "", "-x -y"),
            ("+TURTLES -x -TURTLES +TURTLES -y -TURTLES", "", "-x -y"),
            ("a +TURTLES -x -TURTLES -o b +TURTLES -y z -TURTLES", "a -o b", "-x -y z"),
            ("a +TURTLES -x", "a +TURTLES -x", ""),
            ("-TURTLES a", "-TURTLES a", ""),
            ("+TURTLES -TURTLESx -TURTLES a", "a", "-TURTLESx"),
            ("+TURTLES\n -x\n-TURTLES\na", "a", "-x"),
            ("+TURTLES -TURTLES +TURTLES -x -TURTLES", "", "-x"),
        ] {
            let (found_rest, found) = take_groups(arguments.as_bytes());
            let found = [found_rest, found].map(|text| String::from_utf8(text).unwrap());
            assert_eq!(found, [rest, taken], "{arguments}");
        }
    }
}
