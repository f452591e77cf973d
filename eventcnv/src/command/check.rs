//! Whether event types may have the version that they claim.
//!
//! ```text
//!  A: log │ eventdef.h ─┐
//!                       ├─ by name ──▶ differences ──▶ least version ──▶ allowed: 0, not: 1
//!  B: log │ eventdef.h ─┘
//! ```
//!
//! Design: `.sol.version.check` in `design/telemetry.md`.

use crate::input;
use crate::reading::report;
use cli::Stop;
use eventdef::Version;
use eventlog::reader::{
    Change, Difference, FaultKind, Format, Log, Options, Registry, compare, version_min,
};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub(crate) const ABOUT: &str = "\
Says what changed in the event types from A to B, and whether B may claim the version that it does.

A version has three parts. The median part must be higher if an event type, or a kind, was removed \
or changed in code, name, kind or parameters: old tools would misread it. The minor part must be \
higher if event types were added, or are no longer recorded: old tools read what they know. Other \
words need nothing; but if the meaning changed, that too asks for a higher median, and only people \
can tell. The major part is that of the format of everything.";

pub(crate) const EXAMPLES: &str = "\
A and B are logs, or an eventdef.h of the Memory Pool System, in any mixture. The registries in a
log are compared with those of the same name in the other; what one of them lacks is said.

Examples:
  eventcnv check old/eventdef.h new/eventdef.h     two versions of the MPS
  eventcnv check release.log mpsio.log             what a program declares since its release
  eventcnv check old/eventdef.h old.log            a version of the MPS, and that of a log
  eventcnv check - new/eventdef.h < old/eventdef.h   what comes from another program

Exit status:
  0  B may claim its version, after A
  1  it may not: the least version that it may claim is said
  2  A or B cannot be read, or they have no registry in common";

/// What is compared with what.
#[derive(Debug, clap::Args)]
pub(crate) struct Check {
    /// The log or eventdef.h that was before; "-" is standard input
    #[arg(value_name = "A")]
    a: PathBuf,

    /// The log or eventdef.h whose version is checked
    #[arg(value_name = "B")]
    b: PathBuf,

    /// Print JSON, an object a line for each registry
    #[arg(long)]
    json: bool,
}

/// Registries of one file.
struct Side {
    name: String,
    registries: Vec<Registry>,
}

/// Compares two files. Whether the second may claim its versions.
pub(crate) fn run(args: &Check) -> Result<bool, Stop> {
    if args.a.as_os_str() == "-" && args.b.as_os_str() == "-" {
        return Err(Stop::Message("A and B cannot both be standard input".to_owned()));
    }
    let (a, b) = (read(&args.a)?, read(&args.b)?);
    let (mut text, mut is_allowed, mut is_common) = (String::new(), true, false);
    for new in &b.registries {
        match a.registries.iter().find(|old| old.name == new.name) {
            Some(old) => {
                is_common = true;
                is_allowed &= pair(&mut text, old, new, args.json);
            }
            None => text += &only(new, &b.name, args.json),
        }
    }
    for old in &a.registries {
        if !b.registries.iter().any(|new| new.name == old.name) {
            text += &only(old, &a.name, args.json);
        }
    }
    if !is_common {
        let names = |side: &Side| {
            side.registries.iter().map(|registry| &*registry.name).collect::<Vec<_>>().join(", ")
        };
        return Err(Stop::Message(format!(
            "there is no registry in common: {} has {}; {} has {}",
            a.name,
            names(&a),
            b.name,
            names(&b)
        )));
    }
    let out = &mut io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(is_allowed)
}

/// The registries in a log or an `eventdef.h`.
fn read(path: &Path) -> Result<Side, Stop> {
    let options = Options::default();
    let input::Opened { name, source, .. } = input::open(&[path.to_owned()], &options);
    let unread = |what: String| Stop::Message(format!("{name}: {what}"));
    let source = source.map_err(|error| unread(error.to_string()))?;
    if let Some(registry) = input::registry_of(source.as_ref()) {
        return Ok(Side { registries: vec![registry.map_err(unread)?], name });
    }
    let log = Log::with_source(source, &options).map_err(|error| unread(error.to_string()))?;
    let is_registry = |kind: &FaultKind| matches!(kind, FaultKind::Registry { .. });
    if let Some(fault) = log.faults().iter().find(|fault| is_registry(&fault.kind)) {
        return Err(unread(format!("{fault}: what it declares cannot be compared")));
    }
    let mut registries: Vec<Registry> = Vec::new();
    for registry in log.registries() {
        let stream = log.streams().get(usize::from(registry.stream));
        if log.format() == Format::Mps
            && let Some(version) = stream.map(|stream| stream.version)
            && version != eventdef::mps::REGISTRY.version
        {
            return Err(unread(format!(
                "is a log of telemetry version {version} of the Memory Pool System, which does not \
                 say what its event types are: give eventdef.h of that version in its place"
            )));
        }
        match registries.iter_mut().find(|other| other.name == registry.name) {
            // Of several streams the last says how things are.
            Some(other) => *other = registry.clone(),
            None => registries.push(registry.clone()),
        }
    }
    report(&name, &[log.faults()]);
    if registries.is_empty() {
        return Err(unread("declares no event types".to_owned()));
    }
    Ok(Side { name, registries })
}

/// Tells that one file alone has a registry.
fn only(registry: &Registry, name: &str, is_json: bool) -> String {
    let version = registry.version.to_string();
    match is_json {
        true => {
            let row = json!({ "registry": registry.name, "version": version, "onlyIn": name });
            format!("{row}\n")
        }
        false => format!("{} {version}: is only in {name}\n", registry.name),
    }
}

/// What changed in a registry, and whether the new one may claim its version, as JSON.
fn as_json(old: &Registry, new: &Registry, differences: &[Difference], least: Version) -> Value {
    let row = |Difference { change, code, name, what }: &Difference| {
        let change = word(*change);
        json!({ "change": change, "code": code, "name": name, "what": what })
    };
    json!({
        "registry": new.name, "from": old.version.to_string(), "to": new.version.to_string(),
        "differences": differences.iter().map(row).collect::<Value>(),
        "least": least.to_string(), "allowed": new.version >= least,
    })
}

/// Tells what changed in a registry. Whether the new one may claim its version.
fn pair(text: &mut String, old: &Registry, new: &Registry, is_json: bool) -> bool {
    let mut differences = compare(old, new);
    if is_json {
        let least = version_min(old.version, &differences);
        *text += &format!("{}\n", as_json(old, new, &differences, least));
        return new.version >= least;
    }
    if differences.is_empty() && old.version == new.version {
        *text += &format!("{} {}: the same\n", new.name, new.version);
        return true;
    }
    *text += &format!("{} {} -> {}\n", new.name, old.version, new.version);
    // The gravest first.
    differences.sort_by_key(|difference| std::cmp::Reverse(difference.change.part()));
    let width = differences.iter().map(|difference| difference.name.chars().count()).max();
    for Difference { change, code, name, what } in &differences {
        let code = code.map_or("kind".to_owned(), |code| format!("{code:04X}"));
        let line =
            format!("  {:9}  {code}  {name:w$}  {what}", word(*change), w = width.unwrap_or(0));
        *text += line.trim_end();
        text.push('\n');
    }
    let least = version_min(old.version, &differences);
    let (is_allowed, claim) = (new.version >= least, new.version);
    *text += &match (is_allowed, least == old.version) {
        (true, true) => format!("  allowed: nothing needs a version above {}\n", old.version),
        (true, false) => format!("  allowed: this needs {least} or above\n"),
        (false, _) if claim < old.version => {
            format!("  not allowed: {claim} is below {}; is B the older one?\n", old.version)
        }
        (false, _) => format!("  not allowed: this needs {least} or above\n"),
    };
    is_allowed
}

fn word(change: Change) -> &'static str {
    match change {
        Change::Added => "added",
        Change::Removed => "removed",
        Change::Changed => "changed",
        Change::Retired => "retired",
        Change::Described => "described",
    }
}
