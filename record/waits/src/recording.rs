//! A recording of the kernel's events, from its begin to its log.
//!
//! ```text
//!  begin ─ instance, events, clock ─ threads ───── finish ─ threads ─ off ─ last pages ─ log
//!             ├ threads drain, each a few processors
//!             └ a thread looks at the program's files; once a second: a clock sync
//! ```
//!
//! Design: `.waits.record` in `design/waits.md`.

use crate::clock::Clocks;
use crate::decode::{Decoded, Recorded, Trace, Work, decode};
use crate::drain::{Drain, Pace, Spill, look};
use crate::error::CollectError;
use crate::rings::{Of, Pump};
use crate::stolen::Stolen;
use crate::threads::{self, Places, Symbols, Thread};
use crate::tracefs::{Instance, Tracefs};
use lens::waits::source::format::{Format, Machine};
use lens::waits::source::page::Layout;
use lens::waits::source::stats::Stats;
use lens::waits::source::tracepoints::{RECORDED, Tracepoints};
use std::fs::{self, File};
use std::io::{PipeWriter, Write, pipe};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

/// Clock syncs at the begin and at the end: the best of them counts.
const MARK_COUNT: usize = 8;
/// Threads that drain, at most.
const DRAIN_COUNT_MAX: usize = 16;
/// Fill of a buffer at which the drain wakes, in percent.
const FILL: &str = "25";
/// The function that ends sleeps.
const WAKEUP: &[u8] = b"hrtimer_wakeup";

/// How the kernel's events are recorded.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Whether switches and wakes have stacks.
    pub has_stacks: bool,
    /// Bytes of the buffer of each processor.
    pub buffer_size: usize,
    /// Processors that one thread drains, at least; 16 threads drain at most.
    pub cpus_per_drain: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { has_stacks: false, buffer_size: 8 << 20, cpus_per_drain: 4 }
    }
}

/// A recording that is under way. Dropped, it leaves nothing in the kernel.
#[derive(Debug)]
pub struct Recording {
    /// Dropped before the instance, which cannot be removed while its pages are open.
    running: Running,
    /// The process whose files are looked at; 0: none.
    target: Arc<AtomicU32>,
    instance: Instance,
    tracefs: Tracefs,
    cpus: Vec<u32>,
    trace: Trace,
    notes: Vec<String>,
    before: Vec<Thread>,
    stolen: Stolen,
    has_stacks: bool,
    samples: Option<Pump>,
    spill: Arc<Spill>,
}

/// The threads that drain and look, until this is dropped.
#[derive(Debug, Default)]
struct Running {
    drains: Vec<JoinHandle<Drain>>,
    work: Option<JoinHandle<Work>>,
    /// The threads end when this is closed.
    stop: Option<PipeWriter>,
}

impl Running {
    fn end(&mut self) -> Option<(Vec<Drain>, Work)> {
        drop(self.stop.take());
        let drains: Vec<_> = self.drains.drain(..).map(|drain| drain.join().ok()).collect();
        let work = self.work.take()?.join().ok()?;
        Some((drains.into_iter().collect::<Option<_>>()?, work))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

impl Recording {
    /// Begins to record. Pages go to `spill`, an empty file that the caller removes.
    ///
    /// # Errors
    ///
    /// Fails if the rights are missing, or tracefs; if the kernel refuses the instance or its
    /// buffers. Nothing is left in the kernel then.
    pub fn begin(options: &Options, spill: File) -> Result<Recording, CollectError> {
        let tracefs = Tracefs::find()?;
        tracefs.clean();
        let instance = tracefs.instance()?;
        instance.write("tracing_on", "0")?;
        let is_tsc = set_clock(&instance)?;
        let kib = (options.buffer_size / 1024).max(1).to_string();
        instance.write("buffer_size_kb", &kib)?;
        // Kernels before 4.20 wake at each page.
        let _ = instance.write("buffer_percent", FILL);
        let mut notes = Vec::new();
        if options.has_stacks {
            for option in ["stacktrace", "userstacktrace"] {
                if instance.write(&format!("options/{option}"), "1").is_err() {
                    notes.push(format!("this kernel has no option {option}: stacks are missing"));
                }
            }
        }
        let (layout, tracepoints) = events(&tracefs, &instance, &mut notes)?;
        let cpus = cpus(&instance)?;
        let spill = Spill::new(spill);
        let size = options.cpus_per_drain.max(cpus.len().div_ceil(DRAIN_COUNT_MAX)).max(1);
        let drain = |cpus| Drain::new(&instance, cpus, layout.page_size, Arc::clone(&spill));
        let drains = cpus.chunks(size).map(drain).collect::<Result<_, _>>()?;
        let clocks = Clocks::new(&instance)?;
        let trace = Trace { layout, tracepoints, is_tsc };
        let mut recording = Recording {
            running: Running::default(),
            target: Arc::default(),
            instance,
            tracefs,
            cpus,
            trace,
            notes,
            before: Vec::new(),
            stolen: Stolen::read(),
            has_stacks: options.has_stacks,
            samples: None,
            spill,
        };
        recording.start(drains, clocks)?;
        Ok(recording)
    }

    /// Switches the events on, and drains them from now on.
    fn start(&mut self, drains: Vec<Drain>, mut clocks: Clocks) -> Result<(), CollectError> {
        let (end, stop) = pipe().map_err(CollectError::Spill)?;
        let end = Arc::new(end);
        self.running.stop = Some(stop);
        let target = Arc::clone(&self.target);
        let places = Places::new(self.has_stacks);
        self.instance.write("tracing_on", "1")?;
        clocks.mark(MARK_COUNT);
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
        for mut drain in drains {
            let end = Arc::clone(&end);
            let body = move || {
                drain.run(&end);
                drain
            };
            let drain = thread("waits-drain").spawn(body).map_err(CollectError::Spill)?;
            self.running.drains.push(drain);
        }
        let mut work = Work { clocks, places };
        let body = move || {
            let mut pace = Pace::begin();
            look(&end, || {
                let is_whole = pace.is_due();
                if is_whole {
                    work.clocks.mark(1);
                }
                let begun = Instant::now();
                match target.load(Ordering::Relaxed) {
                    0 => {}
                    process => work.places.look(process, is_whole),
                }
                pace.pause(begun.elapsed())
            });
            work
        };
        self.running.work = Some(thread("waits-look").spawn(body).map_err(CollectError::Spill)?);
        if threads::has_kernel_numbers() {
            self.before = threads::all();
        } else {
            let note = "this process is in a namespace of its own: the log lacks threads that do \
                        not run, and names of files";
            self.notes.push(note.to_owned());
        }
        Ok(())
    }

    /// Takes samples of all running threads with their stacks, from now on: `rate` a second on each
    /// processor. They go to `spill`, an empty file that the caller removes.
    ///
    /// # Errors
    ///
    /// Fails if the kernel refuses samples of the whole system. The recording goes on without.
    pub fn sample(&mut self, rate: u32, spill: File) -> Result<(), CollectError> {
        self.samples = Some(Pump::start(Of::All, rate.max(1), spill)?);
        Ok(())
    }

    /// Names the program: from now on, the files of its process, and of those that it makes, are
    /// looked at. The looks take a hundredth of the time, at most.
    pub fn watch(&self, process: u32) {
        if threads::has_kernel_numbers() {
            self.target.store(process, Ordering::Relaxed);
        }
    }

    /// Returns the path of the private instance of tracefs, as this process reaches it.
    pub fn instance(&self) -> PathBuf {
        self.instance.path("")
    }

    /// Ends the recording, removes the instance, and writes the log.
    ///
    /// # Errors
    ///
    /// Fails if the pages or the log cannot be written. The instance is gone in any case.
    pub fn finish(mut self, out: &mut dyn Write) -> Result<Recorded, CollectError> {
        let target = self.target.load(Ordering::Relaxed);
        let mut samples = self.samples.take();
        let has_code = samples.is_some();
        let samples = samples.as_mut().and_then(Pump::end);
        let after = if self.before.is_empty() { Vec::new() } else { threads::all() };
        let has_stopped = self.instance.write("tracing_on", "0");
        let Some((mut drains, mut work)) = self.running.end() else {
            return Err(CollectError::Spill(std::io::ErrorKind::BrokenPipe.into()));
        };
        let stolen = Stolen::read().since(&self.stolen);
        has_stopped?;
        // The last clock syncs are records themselves; nothing else is recorded with them.
        for event in RECORDED {
            let _ = self.instance.write(&format!("events/{}/{}/enable", event.0, event.1), "0");
        }
        self.instance.write("tracing_on", "1")?;
        work.clocks.mark(MARK_COUNT);
        self.instance.write("tracing_on", "0")?;
        drains.iter_mut().for_each(|drain| drain.all(true));
        let text = |cpu| self.instance.read(&format!("per_cpu/cpu{cpu}/stats")).unwrap_or_default();
        let stats = self.cpus.iter().map(|cpu| Stats::parse(*cpu, &text(cpu))).collect();
        let failed = drains.iter().find_map(|drain| drain.failed.as_ref());
        if let Some(error) = failed {
            self.notes.push(format!("events are missing at the end: cannot keep them ({error})"));
        }
        work.places.has_code |= has_code;
        if target == 0 && !self.before.is_empty() {
            work.places.look_at_all();
        }
        let is_cut = failed.is_some();
        let chunks = drains.into_iter().map(|drain| drain.chunks).collect();
        work.clocks.close();
        let Recording { instance, tracefs, trace, notes, before, has_stacks, spill, .. } = self;
        drop(instance);
        drop(tracefs);
        let symbols =
            if has_stacks || has_code { Symbols::read(|_| true) } else { Symbols::default() };
        let decoded =
            Decoded { spill, chunks, work, before, after, stolen, symbols, samples, stats, is_cut };
        decode(trace, decoded, notes, out)
    }
}

/// Chooses the clock. Returns whether it is the processor's counter.
fn set_clock(instance: &Instance) -> Result<bool, CollectError> {
    let offered = instance.read("trace_clock")?;
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = info.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    let has = |flag| flags.split_ascii_whitespace().any(|word| word == flag);
    // The recorder itself takes the counter as its clock where its rate is constant.
    let is_constant = has("constant_tsc") && has("nonstop_tsc");
    let is_tsc = is_constant && offered.split_ascii_whitespace().any(|word| word == "x86-tsc");
    instance.write("trace_clock", if is_tsc { "x86-tsc" } else { "mono" })?;
    Ok(is_tsc)
}

/// Switches the events on that the registry has, and learns their formats.
fn events(
    tracefs: &Tracefs,
    instance: &Instance,
    notes: &mut Vec<String>,
) -> Result<(Layout, Tracepoints), CollectError> {
    let unread = |path: &str, error| CollectError::Format { path: instance.path(path), error };
    let header = tracefs.read("events/header_page")?;
    let order = Machine::HERE.order;
    let layout = Layout::parse(order, &header).map_err(|error| unread("header_page", error))?;
    let mut tracepoints = Tracepoints::new(layout.machine);
    let learn = |tracepoints: &mut Tracepoints, system: &str, name: &str| {
        let path = format!("events/{system}/{name}/format");
        let text = tracefs.read(&path)?;
        let format = Format::parse(system, &text).map_err(|error| unread(&path, error))?;
        Ok::<bool, CollectError>(tracepoints.learn(&format))
    };
    for name in ["kernel_stack", "user_stack", "print"] {
        learn(&mut tracepoints, "ftrace", name)?;
    }
    let mut missing = Vec::new();
    for (system, name) in RECORDED {
        let is_needed = matches!(name, "sched_switch" | "sched_waking");
        let enable = format!("events/{system}/{name}/enable");
        let learned = learn(&mut tracepoints, system, name);
        match learned.and_then(|is_known| Ok((is_known, instance.write(&enable, "1")?))) {
            Ok((true, ())) => {}
            Err(error) if is_needed => return Err(error),
            _ => missing.push(format!("{system}:{name}")),
        }
    }
    if !missing.is_empty() {
        notes.push(format!("this kernel does not tell of {}", missing.join(", ")));
    }
    let wakeup = Symbols::read(|name| name == WAKEUP);
    if let Some(address) = wakeup.first() {
        tracepoints.wakeup_at(address);
    }
    Ok((layout, tracepoints))
}

/// Returns the processors that have a buffer.
fn cpus(instance: &Instance) -> Result<Vec<u32>, CollectError> {
    let path = instance.path("per_cpu");
    let entries = match fs::read_dir(&path) {
        Ok(entries) => entries,
        Err(error) => return Err(CollectError::File { path, what: "cannot be read", error }),
    };
    let number = |name: &str| name.strip_prefix("cpu")?.parse().ok();
    let mut cpus: Vec<u32> =
        entries.flatten().filter_map(|entry| number(entry.file_name().to_str()?)).collect();
    cpus.sort_unstable();
    Ok(cpus)
}
