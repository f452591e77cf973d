//! Checks the version of a registry by its changes.
//!
//! ```text
//!  A: log │ eventdef.h ─┐
//!                       ├─ by name ──▶ differences ──▶ least version ──▶ allowed: 0, not: 1
//!  B: log │ eventdef.h ─┘
//! ```
//!
//! Design: `.sol.version.check` in `design/telemetry.md`.

use crate::open::{input, report};
use cli::Stop;
use eventdef::Version;
use eventlog::reader::{
    Change, Difference, FaultKind, Format, Log, Options, Registry, compare, version_min,
};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const ABOUT: &str = "\
Prints what changed in the event types from A to B, and checks whether B has a version that fits.

A version has three parts. The median part must be higher if an event type or a kind was removed, \
or changed its code, name, kind or parameters: old tools would misread it. The minor part must be \
higher if event types were added, or ceased to be recorded: old tools read what they know. Changed \
descriptions need no new version. A changed meaning needs a higher median part, but no tool can \
tell. The major part is that of the whole format.";

const EXAMPLES: &str = "\
A and B are logs, or an eventdef.h of the Memory Pool System, in any mixture. The command compares
registries of the same name, and lists registries that only one of the two has.

Examples:
  eventcnv check old/eventdef.h new/eventdef.h     two versions of the MPS
  eventcnv check release.log mpsio.log             changes in a program since its release
  eventcnv check old/eventdef.h old.log            a version of the MPS, and that of a log
  eventcnv check - new/eventdef.h < old/eventdef.h   A from standard input

Exit status:
  0  B has a version that fits
  1  B needs a higher version, which the output states
  2  A or B cannot be read, or they have no registry in common";

/// Compare the event types of two logs or MPS versions, and check the version of B
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = EXAMPLES)]
pub(crate) struct Check {
    /// The older log or eventdef.h; "-" is standard input
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

/// Compares two files. Returns whether the second has versions that fit.
pub(crate) fn run(args: &Check) -> Result<bool, Stop> {
    let (a, b) = (read(&args.a)?, read(&args.b)?);
    let (mut text, mut is_allowed, mut is_common) = (String::new(), true, false);
    for new in &b.registries {
        match a.registries.iter().find(|old| old.name == new.name) {
            Some(old) => {
                is_common = true;
                is_allowed &= compare_pair(&mut text, old, new, args.json);
            }
            None => text += &only_line(new, &b.name, args.json),
        }
    }
    for old in &a.registries {
        if !b.registries.iter().any(|new| new.name == old.name) {
            text += &only_line(old, &a.name, args.json);
        }
    }
    if !is_common {
        let names = |side: &Side| {
            side.registries.iter().map(|registry| &*registry.name).collect::<Vec<_>>().join(", ")
        };
        return Err(Stop::Message(format!(
            "no registry in common: {} has {}; {} has {}",
            a.name,
            names(&a),
            b.name,
            names(&b)
        )));
    }
    let out = &mut io::stdout().lock();
    cli::unless_closed(out.write_all(text.as_bytes()).and_then(|()| out.flush()))?;
    Ok(is_allowed)
}

/// Returns the registries in a log or an `eventdef.h`.
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
        return Err(unread(format!("{fault}: cannot compare its registries")));
    }
    let mut registries: Vec<Registry> = Vec::new();
    for registry in log.registries() {
        let stream = log.streams().get(usize::from(registry.stream));
        if log.format() == Format::Mps
            && let Some(version) = stream.map(|stream| stream.version)
            && version != eventdef::mps::REGISTRY.version
        {
            return Err(unread(format!(
                "a log of telemetry version {version} of the Memory Pool System does not declare \
                 its event types; name the eventdef.h of that version instead"
            )));
        }
        match registries.iter_mut().find(|other| other.name == registry.name) {
            // The last of several streams counts.
            Some(other) => *other = registry.clone(),
            None => registries.push(registry.clone()),
        }
    }
    report(&name, &[], &[log.faults()]);
    if registries.is_empty() {
        return Err(unread("declares no event types".to_owned()));
    }
    Ok(Side { name, registries })
}

/// Returns a line about a registry that only one file has.
fn only_line(registry: &Registry, name: &str, is_json: bool) -> String {
    let version = registry.version.to_string();
    match is_json {
        true => {
            let row = json!({ "registry": registry.name, "version": version, "only_in": name });
            format!("{row}\n")
        }
        false => format!("{} {version}: only in {name}\n", registry.name),
    }
}

/// Returns what changed in a registry, and whether its new version fits, as JSON.
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

/// Appends what changed in a registry. Returns whether its new version fits.
fn compare_pair(text: &mut String, old: &Registry, new: &Registry, is_json: bool) -> bool {
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
    // The most severe first.
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
        (true, true) => format!("  allowed: no change needs a version above {}\n", old.version),
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
