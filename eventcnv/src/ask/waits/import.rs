//! Makes a log of what other tools recorded of a kernel.
//!
//! ```text
//!  SOURCE ── first bytes: perf.data │ trace.dat │ text ── lens::waits::source ──▶ log "kernel"
//!  a folder, files of one recording ── their parts ──▶ one log
//! ```
//!
//! Design: `.waits.import` in `design/waits.md`.

use crate::open::input::AnySource;
use crate::open::output::Output;
use crate::open::{Known, Reading, input};
use cli::units::counted;
use cli::{Stop, complain};
use eventlog::reader::{OpenError, Source};
use eventlog::writer::{MakeError, uuid_of};
use lens::waits::source::import::{Clock, Form, Identity, ImportError, Imported, uuid_of_source};
use lens::waits::source::{dat, perf, script};
use std::io;
use std::path::{Path, PathBuf};

pub(super) const ABOUT: &str = "\
Makes a log of what other tools recorded of a kernel: perf.data, the text of perf script, \
trace.dat of trace-cmd. The first bytes tell the form. The log has the registry \"kernel\": \
switches, wakes, forks, interrupts, timers, disk, sockets, system calls, samples. Importing a \
source twice gives the same bytes.";

pub(super) const EXAMPLES: &str = "\
Record what threads wait for, then import it:
  perf record -a -k mono -o perf.data \\
      -e 'sched:sched_switch,sched:sched_waking,sched:sched_wakeup' \\
      -e 'sched:sched_process_*,irq:irq_handler_*,timer:hrtimer_expire_entry,block:block_rq_*' \\
      -e 'sock:*,raw_syscalls:*' -- ./program
  eventcnv waits import perf.data -o kernel.log

With -k mono the times are those of CLOCK_MONOTONIC, and can be laid next to other logs. A source
does not tell on which boot it was recorded. The user may say it, or the log of a program that ran
meanwhile tells:
  eventcnv waits explain program.log kernel.log --same-boot
  eventcnv waits import perf.data -o kernel.log --boot-of program.log

The tracepoints of sched alone do not tell timers, interrupts, disks, sockets and system calls: what
ended a wait for one of these is unknown.

Other sources:
  trace-cmd record -C mono -e sched -e irq -e timer:hrtimer_expire_entry -e block -e sock \\
      -e raw_syscalls ./program
  eventcnv waits import trace.dat -o kernel.log
  perf script --ns | eventcnv waits import - -o kernel.log
  perf script -F comm,tid,time,event,trace,sym,ip,dso > events.txt
  eventcnv waits import events.txt -o kernel.log           without processors: found by what runs
  eventcnv waits import perf.data.xz -o kernel.log         also of gzip, zstd and lz4
  eventcnv waits import perf.data/ -o kernel.log           a folder of perf record --threads
  eventcnv waits import perf.data.2* -o kernel.log         files of perf record --switch-output

Of one program alone:
  perf record -k mono -e sched:sched_switch --switch-events -o perf.data -- ./program

Then:
  eventcnv stats kernel.log
  eventcnv query kernel.log \"SELECT count(*) FROM Switch\"

Exit status:
  0  the source was read completely
  1  faults were found and reported on standard error; the log has the readable events
  2  a source could not be read, the log could not be written, or the command line is wrong";

/// Types of events that are left out and named, at most.
const TYPE_COUNT_MAX: usize = 12;

/// Make a log of perf.data, trace.dat or the text of perf script
#[derive(Debug, clap::Args)]
pub(crate) struct Import {
    /// What was recorded: files, or a folder of perf record --threads; "-" is standard input
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<PathBuf>,

    /// A log of a program that ran on the same boot: both can then be read together
    #[arg(long, value_name = "PROGRAM.log")]
    boot_of: Option<PathBuf>,

    #[command(flatten)]
    output: Output,
}

/// Returns the boot that a log states.
fn boot_of(path: &Path) -> Result<[u8; 16], Stop> {
    let reading = Reading::open_paths(&[path.to_owned()], &Known::default())?;
    let mut boots: Vec<_> = reading.log.streams().iter().map(|stream| stream.boot_id).collect();
    boots.dedup();
    match boots[..] {
        [boot] if boot != [0; 16] => Ok(boot),
        [_] => Err(reading.error("does not state its boot")),
        _ => Err(reading.error("has streams of several boots; name a log of one")),
    }
}

/// Makes the log. Returns whether no source had a fault.
pub(crate) fn run(args: &Import) -> Result<bool, Stop> {
    let boot_id = args.boot_of.as_deref().map(boot_of).transpose()?;
    let (mut sources, mut is_whole) = (Vec::<Opened>::new(), true);
    for path in &args.sources {
        let opened = open(path, &mut is_whole)?;
        if sources.iter().any(|other| other.uuid == opened.uuid) {
            let what = format!("{}: is a source twice; name it once", opened.name);
            return Err(Stop::Message(what));
        }
        // Files of one recording are one log, as a thread may run from one to the next.
        let is_perf = |own: &Opened| own.form == Form::Perf;
        let mut known = sources.iter_mut().filter(|own| is_perf(own) && is_perf(&opened));
        match known.find(|own| perf::are_of_one_recording(&*own.source, &*opened.source)) {
            Some(own) => own.join(opened),
            None => sources.push(opened),
        }
    }
    let mut refused = None;
    let written = args.output.write(&args.sources, |out| {
        let mut all = Vec::new();
        for Opened { name, source, others, form, uuid } in &sources {
            let identity = Identity { uuid: *uuid, boot_id: boot_id.unwrap_or_default() };
            let others: Vec<&dyn Source> = others.iter().map(|own| &**own as _).collect();
            let imported = match form {
                Form::Perf => perf::import_parts(&**source, &others, identity, out),
                Form::Dat => dat::import(&**source, identity, out),
                Form::Script => script::import(&**source, identity, out),
            };
            match imported {
                Ok(done)
                    if boot_id.is_some()
                        && ![Clock::Monotonic, Clock::Counter].contains(&done.clock) =>
                {
                    refused = Some(format!("{name}: --boot-of: {}", advice(*form)));
                    return Err(io::ErrorKind::InvalidData.into());
                }
                Ok(done) => all.push(done),
                Err(ImportError::Make(MakeError::Io(error))) => return Err(error),
                Err(error) => {
                    refused = Some(format!("{name}: {error}"));
                    return Err(io::ErrorKind::InvalidData.into());
                }
            }
        }
        Ok(all)
    });
    if let Some(refused) = refused {
        return Err(Stop::Message(refused));
    }
    let all = written?;
    for (Opened { name, form, .. }, done) in sources.iter().zip(&all) {
        is_whole &= done.fault_count == 0;
        report(name, *form, done);
    }
    let events: u64 = all.iter().map(|done| done.made.event_count).sum();
    let size: u64 = all.iter().map(|done| done.made.size).sum();
    args.output.print(&format!("{events} events, {size} bytes"))?;
    Ok(is_whole)
}

/// A source that is open.
struct Opened {
    name: String,
    source: AnySource,
    /// The records of the threads of `perf record --threads`, and further files of the recording.
    others: Vec<AnySource>,
    form: Form,
    uuid: [u8; 16],
}

impl Opened {
    /// Adds another file of the same recording.
    fn join(&mut self, other: Opened) {
        complain(&format!("eventcnv: {}: note: goes on in {}\n", self.name, other.name));
        self.uuid = uuid_of(&[self.uuid, other.uuid].concat());
        self.others.push(other.source);
        self.others.extend(other.others);
    }
}

/// Opens a source: a file, a pipe, or the folder of `perf record --threads`. Reports its damage.
fn open(path: &Path, is_whole: &mut bool) -> Result<Opened, Stop> {
    let name = cli::log::name(path);
    let stop = |what: &dyn std::fmt::Display| Stop::Message(format!("{name}: {what}"));
    let is_folder = path.is_dir() && path.join("data").is_file();
    let head = if is_folder { path.join("data") } else { path.to_owned() };
    // A pipe may be endless: it is read on only if it has a form.
    let mut check = |head: &[u8]| form_of(head).map(drop).map_err(OpenError::Io);
    let (source, damage) = input::open_one(&head, &mut check).map_err(|error| stop(&error))?;
    *is_whole &= damage.is_none();
    input::complain_of(&name, damage);
    let (form, mut uuid) = examine(&source).map_err(|error| stop(&error))?;
    let mut threads = Vec::new();
    if is_folder {
        let mut uuids = uuid.to_vec();
        let mut next = 0;
        for (number, part) in parts(path).map_err(|error| stop(&error))? {
            if number > next {
                let last = number - 1;
                complain(&format!("eventcnv: {name}: data.{next} to data.{last} are missing\n"));
                *is_whole = false;
            }
            next = number.saturating_add(1);
            let (thread, damage) = input::open_one(&part, &mut |_| Ok(())).map_err(|e| stop(&e))?;
            *is_whole &= damage.is_none();
            input::complain_of(&cli::log::name(&part), damage);
            uuids.extend(uuid_of_source(&*thread).map_err(|error| stop(&error))?);
            threads.push(thread);
        }
        uuid = uuid_of(&uuids);
    }
    Ok(Opened { name, source, others: threads, form, uuid })
}

/// Returns the files with the records of threads in a folder, by their numbers.
fn parts(folder: &Path) -> io::Result<Vec<(u32, PathBuf)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let number = path.file_name().and_then(|name| name.to_str()?.strip_prefix("data."));
        if let Some(number) = number.and_then(|number| number.parse().ok()) {
            found.push((number, path));
        }
    }
    found.sort();
    Ok(found)
}

/// Reports faults, losses, and what the log lacks.
fn report(name: &str, form: Form, done: &Imported) {
    let say = |what: &str| complain(&format!("eventcnv: {name}: {what}\n"));
    for fault in &done.faults {
        say(&fault.to_string());
    }
    match done.fault_count.saturating_sub(done.faults.len() as u64) {
        0 => {}
        rest => say(&format!("and {}", counted(rest, "more fault"))),
    }
    if done.unknown_count > 0 {
        let types = left_out(&done.left_out);
        say(&format!("note: events of other types left out: {}{types}", done.unknown_count));
    }
    if done.lost_count > 0 {
        say(&format!("note: events lost while recording: {}", done.lost_count));
    }
    for note in &done.notes {
        say(&format!("note: {note}"));
    }
    // The text does not name its clock.
    if done.clock == Clock::Own && form != Form::Script {
        say(&format!("note: {}", advice(form)));
    }
}

/// Lists types of events that are left out, with their numbers.
fn left_out(types: &[(String, u64)]) -> String {
    let named = types.iter().take(TYPE_COUNT_MAX).map(|(name, count)| format!("{name} ({count})"));
    let named: Vec<String> = named.collect();
    match types.len().saturating_sub(TYPE_COUNT_MAX) {
        _ if named.is_empty() => String::new(),
        0 => format!(": {}", named.join(", ")),
        more => format!(": {}, and {}", named.join(", "), counted(more as u64, "more type")),
    }
}

/// Says how to record times that other logs share.
fn advice(form: Form) -> String {
    let (what, command) = match form {
        Form::Perf => ("its clock is not CLOCK_MONOTONIC", "record with perf record -k mono"),
        Form::Dat => ("its clock is not CLOCK_MONOTONIC", "record with trace-cmd record -C mono"),
        Form::Script => ("the text does not name its clock", "import perf.data instead"),
    };
    format!("{what}, so its times cannot be laid next to other logs; {command}")
}

/// Returns the form of a source, and the UUID of its log.
fn examine(source: &AnySource) -> Result<(Form, [u8; 16]), String> {
    let mut head = vec![0; Form::HEAD_SIZE];
    let read = source.read_at(0, &mut head).map_err(|error| error.to_string())?;
    head.truncate(read);
    let form = form_of(&head).map_err(|error| error.to_string())?;
    let uuid = uuid_of_source(&**source).map_err(|error| error.to_string())?;
    Ok((form, uuid))
}

fn form_of(head: &[u8]) -> io::Result<Form> {
    Form::of(head).ok_or_else(|| {
        io::Error::other(match head {
            [] => "is empty",
            _ => "is not perf.data, trace.dat or the text of perf script",
        })
    })
}
