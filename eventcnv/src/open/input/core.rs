//! Cores: the process, its signal, and the missing blocks.
//!
//! ```text
//!  CORE ── mod.rs ──▶ Core ──▶ "core of heap, process 4711, died of SIGSEGV in thread 3"
//! ```
//!
//! Design: `.debug.core` in `design/telemetry.md`.

use crate::open::input::threads;
use crate::open::input::threads::Thread;
use cli::complain;
use cli::units::counted;
use eventlog::reader::Log;
use eventlog::reader::core::{Core, CoreFault, InMemory};
use signal_hook::low_level::signal_name;
use std::fmt::Write as _;

/// Signals by which a debugger stops a process to take its core.
const STOPS: [i32; 2] = [signal_hook::consts::SIGSTOP, signal_hook::consts::SIGTRAP];
/// Kinds and threads in a line, at most.
const NAME_COUNT_MAX: usize = 8;

/// A core, with its name in messages.
pub(crate) struct Opened {
    pub(crate) name: String,
    pub(crate) core: Core,
    /// Whether the mapped ring of its stream is another input.
    pub(crate) has_ring: bool,
}

/// Reports what cores are, and what they lack. Returns the number of faults that cost events.
pub(crate) fn report_all(cores: &[Opened], log: &Log) -> u64 {
    cores.iter().map(|opened| report(opened, log)).sum()
}

/// Reports what each core is by itself, and what it lacks.
pub(crate) fn report_each(cores: &[Opened]) {
    for opened in cores {
        if let Ok(log) = Log::from_source(opened.core.log()) {
            report(opened, &log);
        }
    }
}

/// Returns whether each stream has a core of its end, and no core lacks anything.
pub(crate) fn have_all(cores: &[Opened], log: &Log) -> bool {
    let is_whole = |opened: &Opened| {
        fatal_signal(&opened.core).is_some()
            && opened.core.faults().iter().all(CoreFault::is_warning)
    };
    let uuids = cores.iter().flat_map(|opened| opened.core.streams().map(|found| found.uuid));
    let uuids: Vec<_> = uuids.collect();
    !cores.is_empty()
        && cores.iter().all(is_whole)
        && log.streams().iter().all(|stream| uuids.contains(&stream.uuid))
}

fn report(opened: &Opened, log: &Log) -> u64 {
    let (name, core) = (&opened.name, &opened.core);
    let threads = if log.streams().is_empty() { Vec::new() } else { threads_of(core, log) };
    let mut text = format!("eventcnv: {name}: {}\n", describe(core, &threads));
    let mut loss_count = 0;
    for fault in core.faults() {
        if opened.has_ring && matches!(fault, CoreFault::Mapped { .. }) {
            continue;
        }
        loss_count += u64::from(!fault.is_warning());
        let weight = if fault.is_warning() { "warning: " } else { "" };
        let _ = writeln!(text, "eventcnv: {name}: {weight}{fault}{}", missing(fault, core, log));
    }
    for stream in core.streams() {
        let count: u64 = stream.unhoused.iter().fold(0, |sum, count| sum.saturating_add(*count));
        if count > 0 {
            let _ = writeln!(
                text,
                "eventcnv: {name}: note: {count} events were discarded before their buffer \
                 existed"
            );
        }
    }
    complain(&text);
    loss_count
}

fn threads_of(core: &Core, log: &Log) -> Vec<Thread> {
    let uuids: Vec<_> = core.streams().map(|stream| stream.uuid).collect();
    let uuid = |index: u16| log.streams().get(usize::from(index)).map(|stream| stream.uuid);
    let mut found = threads::recorded(log);
    found.retain(|thread| uuid(thread.stream).is_some_and(|uuid| uuids.contains(&uuid)));
    found
}

/// Returns the signal that killed a process; `None` if the process may have run on.
fn fatal_signal(core: &Core) -> Option<i32> {
    let signal = i32::try_from(core.signal()).unwrap_or(0);
    Some(signal).filter(|signal| *signal != 0 && !STOPS.contains(signal))
}

/// Returns a line about the process of a core.
fn describe(core: &Core, threads: &[Thread]) -> String {
    let program = if core.program().is_empty() { "a program" } else { core.program() };
    let mut text = format!("core of {program}, process {}", core.pid());
    if let Some(signal) = fatal_signal(core) {
        let _ = match signal_name(signal) {
            Some(name) => write!(text, ", died of {name}"),
            None => write!(text, ", died of signal {signal}"),
        };
        if let Some(&os_thread) = core.threads().first() {
            let thread = threads.iter().rev().find(|thread| thread.os_thread == os_thread);
            let _ = match thread {
                Some(Thread { index, name, .. }) if name.is_empty() => {
                    write!(text, " in thread {index} ({os_thread})")
                }
                Some(Thread { index, name, .. }) => {
                    write!(text, " in thread {index} \"{name}\" ({os_thread})")
                }
                None => write!(text, " in thread {os_thread}, which recorded nothing"),
            };
        }
    } else {
        text += ", taken while it ran";
    }
    let count: u64 = core.streams().map(|stream| stream.block_count).sum();
    let streams = core.streams().count();
    let of = if streams > 1 { format!(" of {streams} streams") } else { String::new() };
    let threads = counted(core.threads().len() as u64, "thread");
    text + &format!("; {threads}, {}{of}", counted(count, "block"))
}

/// Returns the kinds and threads of missing blocks, as text.
fn missing(fault: &CoreFault, core: &Core, log: &Log) -> String {
    let CoreFault::Blocks { .. } = fault else { return String::new() };
    let mut kinds: Vec<String> = Vec::new();
    let mut numbers: Vec<String> = Vec::new();
    let add = |list: &mut Vec<String>, text: String| {
        if !list.contains(&text) {
            list.push(text);
        }
    };
    for stream in core.streams() {
        for missing in &stream.missing {
            add(&mut kinds, kind(stream, missing.registry, missing.kind, log));
            if let Some(thread) = missing.thread {
                add(&mut numbers, thread.to_string());
            }
        }
    }
    let mut text = format!("; of {}", listed(&kinds));
    if !numbers.is_empty() {
        let plural = if numbers.len() == 1 { "" } else { "s" };
        let _ = write!(text, "; thread{plural} {}", listed(&numbers));
    }
    text
}

/// Returns the name of a kind, or its number if the log lacks its registry.
fn kind(stream: &InMemory, registry: u16, kind: u8, log: &Log) -> String {
    if registry == 0 {
        return "the store".to_owned();
    }
    let of_stream = |index: u16| {
        log.streams().get(usize::from(index)).is_some_and(|found| found.uuid == stream.uuid)
    };
    let found =
        log.registries().iter().find(|found| found.index == registry && of_stream(found.stream));
    match found.and_then(|registry| Some((registry, registry.kind(kind)?))) {
        Some((registry, kind)) => format!("{} ({})", kind.name, registry.name),
        None => format!("kind {kind} of registry {registry}"),
    }
}

fn listed(names: &[String]) -> String {
    let shown = names.iter().take(NAME_COUNT_MAX).map(String::as_str).collect::<Vec<_>>();
    let more = names.len() - shown.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_many_names_counts_the_rest() {
        let names: Vec<String> = (0..10).map(|name| name.to_string()).collect();
        assert_eq!(listed(&names[..2]), "0, 1");
        assert_eq!(listed(&names), "0, 1, 2, 3, 4, 5, 6, 7 and 2 more");
    }
}
