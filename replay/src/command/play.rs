//! Measures what a recorded program's allocations cost under other heaps.
//!
//! ```text
//!  LOG ─ source ─▶ operations ─ modify, compile ─▶ workload
//!              table, JSON, page ◀─ measured ◀─ play, each heap
//! ```
//!
//! Design: `.rep.heap`, `.rep.process`, `.rep.pace` in `design/replay.md`.

use crate::facts::{Parts, Touched};
use crate::measured::{Measured, Subject};
use crate::play::{self, Contender, Library, Mode, SelectedHeap, Threads, Touch};
use crate::report;
use crate::script::{self, Modify};
use crate::show::Gather;
use crate::source::input::{Input, Opened};
use crate::workload::Workload;
use cli::output::{self, Pending};
use cli::table::Form;
use cli::units::{bytes, number};
use cli::{Stop, complain};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub(crate) const ABOUT: &str = "\
Plays what a program asked of its memory manager against other heaps, and prints the time and \
memory of each.

Each heap has several runs, each in its own process, in turns. The time of an operation is the \
time of a run over the number of operations. A heap that does nothing shows the cost of the loop \
itself. One more run of each heap measures latencies, with the processor's counter.";

pub(crate) const EXAMPLES: &str = "\
A heap is a name that `replay heaps` lists, or the path (with a slash) of a shared library with
malloc and free. The C library's malloc is `system`.

Pace: `max` is as fast as possible. `recorded` does each operation at its recorded time, or as soon
as possible; x10 does so ten times as fast.

Touch: memory without writes is never resident. `sampled` writes a byte of each cache line, as far
as the program wrote blocks of that size: `replay record` examines a sample of them. A log without
samples counts as completely written. `all` writes every byte, `none` nothing.

Skew: threads stay together in the recorded order, within about --skew operations, and meet at the
peak of live bytes. `free` lets each thread run as fast as possible. The heaps may then never hold
as much at a time as the program did; a warning reports this.

A thread that began after another one had ended plays in its place, so that heaps which keep memory
for each thread take no more than in the program. Where a log has no ends of threads (`alloc`,
`mps`, saved operations), and with --threads all, all threads exist from the beginning of a run to
its end; --threads one is the other bound.

Before a heap is measured, one run checks it. A heap that hands out memory that is in use, not
aligned or not zeroed, or that loses contents, is reported and not measured. --check checks every
byte.

Memory is all that a heap takes, also before the first operation (start-up). The peak is the
kernel's (VmHWM). Memory is measured again after all is freed, at once and later. `program` is the
predicted peak of the whole program with this heap: the recorded peak without the recorder's part,
less the peak of the heap that stands for the malloc of the program (`system`, or the library that
it had in place of the C library's malloc), plus the peak of this heap.

Times are those of the fastest run. `cpu` is processor time of all threads, without waits for each
other. A ratio is `noise` if the runs of one heap differ by more than the two heaps do. What a
program gains because its own accesses meet denser memory is not included.

Examples:
  replay play program.log                             all built-in heaps
  replay play --heap system,jemalloc program.log      two heaps
  replay play --heap system,./libmine.so program.log  your own library
  replay play --touch none program.log                only the heaps' own memory, at most speed
  replay play --check --heap ./libmine.so program.log  check every byte of a heap
  replay play --threads one program.log               in the recorded order, on one thread
  replay play --pace recorded --runs 1 program.log    at the recorded times
  replay play -o page.html program.log                with a page of charts
  replay play --json program.log | jq .loop_ns        for other programs
  replay play --scale-size 1.2 program.log            modified: see replay compile --help

Exit status:
  0  all heaps played all operations
  1  a heap failed, or parts of LOG could not be played; standard error has the causes
  2  nothing could be played";

/// The arguments of `replay play`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    input: Input,

    /// The heaps, by name, or paths of libraries [default: all built-in heaps]
    #[arg(long, value_name = "HEAP,…", value_delimiter = ',')]
    heap: Vec<String>,

    #[command(flatten)]
    mode: Mode,

    /// Also write a page of charts
    #[arg(short = 'o', long, value_name = "FILE.html")]
    output: Option<PathBuf>,

    /// Overwrite the page if it exists
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    form: Form,

    #[command(flatten)]
    modify: Modify,
}

/// Plays a log against each heap. Returns whether all of it was played.
pub(crate) fn run(args: &Args, contenders: &[Contender]) -> Result<bool, Stop> {
    let selection = select(&args.heap, contenders)?;
    report::answer(&Measured::default(), &args.form)?;
    // An error here must not come after minutes of playing.
    let begin = |path: &Path| {
        output::refuse_inputs(path, &args.input.logs)?;
        Pending::new(path, args.force)
    };
    let page = args.output.as_deref().map(begin).transpose()?;
    let opened = Opened::open(&args.input)?;
    let (workload, subject, is_whole) = read(args, &opened)?;
    if workload.operation_count == 0 {
        let left = if args.modify.list.is_empty() { "" } else { " after the modifications" };
        return Err(Stop::Message(format!("{}: has nothing to play{left}", opened.title)));
    }
    has_room(args, &opened, subject.live_peak, &workload.touched)?;
    let measured = play::play(workload, &selection, &args.mode)?;
    let about = measured.heaps.iter().map(|heap| &*heap.about).collect::<Vec<&str>>().join("; ");
    let machine = format!("{}; {about}", report::machine());
    let (workload, mode) = (subject, words(args));
    let measured = Measured { workload, mode, machine, ..measured };
    write(args, page, &measured)?;
    Ok(tell_failures(&measured) && is_whole)
}

/// Refuses a workload that needs more memory than is available, so that other programs keep theirs.
fn has_room(args: &Args, opened: &Opened, live: u64, touched: &Touched) -> Result<(), Stop> {
    let is_written = args.mode.check || args.mode.touch != Touch::None;
    let Some(available) = play::available().filter(|room| is_written && live > *room) else {
        return Ok(());
    };
    let written = match args.mode.touch {
        Touch::Sampled if !args.mode.check => {
            Parts::new(touched).peak(opened.operations(&args.modify))
        }
        _ => live,
    };
    if written <= available {
        return Ok(());
    }
    let [live, written, available] = [live, written, available].map(|size| bytes(size as f64));
    Err(Stop::Message(format!(
        "{}: needs too much memory (its peak has {live} live, {written} of that written; \
         {available} are available); use --touch none, or make it smaller by --scale-size or \
         --keep-size",
        opened.title
    )))
}

/// Returns the workload, its facts, and whether it was read completely.
fn read(args: &Args, opened: &Opened) -> Result<(Workload, Subject, bool), Stop> {
    let mut operations = opened.operations(&args.modify);
    if args.mode.threads == Threads::Recorded {
        operations.share_threads();
    }
    let mut gather = Gather::default();
    let how = script::Mode {
        is_single: args.mode.threads == Threads::One,
        has_times: args.mode.pace.0.is_some(),
        skew: args.mode.skew.0,
    };
    let each = operations.by_ref().inspect(|operation| gather.take(operation));
    let mut workload = script::compile(each, how);
    workload.touched = operations.facts().touched.clone();
    let program = operations.facts().program().filter(|_| args.modify.list.is_empty());
    let malloc = operations.facts().malloc();
    let skipped = operations.skipped();
    let is_whole = operations.end(true);
    let name = opened.title.clone();
    let subject = Subject { name, skipped, program, malloc, ..gather.finish().subject };
    Ok((workload, subject, is_whole))
}

fn words(args: &Args) -> String {
    let mut words = vec![match args.mode.pace.0 {
        None => "as fast as possible".to_owned(),
        Some(1.0) => "at the recorded times".to_owned(),
        Some(times) => format!("{times} times as fast as recorded"),
    }];
    match (args.mode.threads, args.mode.skew.0) {
        (Threads::One, _) => words.push("all on one thread".to_owned()),
        (_, None) => words.push("threads any distance apart".to_owned()),
        (_, Some(_)) => {}
    }
    words.push(match args.mode.touch {
        Touch::None => "no memory written".to_owned(),
        Touch::Sampled => "memory written as in the program".to_owned(),
        Touch::All => "all memory written".to_owned(),
    });
    words.push(match args.mode.runs {
        1 => "one run".to_owned(),
        count => format!("{count} runs in turns"),
    });
    if !args.mode.no_latency {
        words.push("one more for latency".to_owned());
    }
    if !args.modify.list.is_empty() {
        words.push(format!("modified: {}", args.modify));
    }
    words.join(", ")
}

/// Writes the page, and the tables, even if the page cannot be written.
fn write(args: &Args, page: Option<Pending>, measured: &Measured) -> Result<(), Stop> {
    let paged = page.map_or(Ok(()), |page| {
        page.write(|out| report::page(measured, out)).and_then(|()| page.finish())
    });
    let mut out = io::stdout().lock();
    out.write_all(&report::answer(measured, &args.form)?)?;
    out.flush()?;
    paged
}

/// Prints the heaps that failed or lacked memory. Returns whether none did.
fn tell_failures(measured: &Measured) -> bool {
    let mut text = String::new();
    for heap in &measured.heaps {
        if let Some(failure) = &heap.failure {
            text += &format!("replay: {}: {failure}\n", heap.name);
        }
        let failed = heap.runs.iter().map(|run| run.failure_count).max().unwrap_or(0);
        if failed > 0 {
            let operation_count = heap.runs.iter().map(|run| run.operation_count).min();
            let done = operation_count.unwrap_or(0);
            text += &format!(
                "replay: {}: {} allocations failed; {} operations were done, and operations on the \
                 missing objects were skipped\n",
                heap.name,
                number(failed),
                number(done)
            );
        }
    }
    complain(&text);
    text.is_empty()
}

/// Returns the selected heaps, or all errors in their names at once.
fn select(asked: &[String], contenders: &[Contender]) -> Result<Vec<SelectedHeap>, Stop> {
    let named = |name: &str| {
        let contender = contenders.iter().find(|heap| heap.name() == name);
        let about = contender.map_or(String::new(), |heap| format!("{name}: {}", heap.about()));
        SelectedHeap { name: name.to_owned(), heap: name.to_owned(), about, library: None }
    };
    if asked.is_empty() {
        let all = contenders.iter().filter(|heap| heap.name() != play::NULL);
        return Ok(all.map(|heap| named(heap.name())).collect());
    }
    let (mut found, mut wrong) = (Vec::<SelectedHeap>::new(), Vec::new());
    for word in asked {
        let selected = if word.contains('/') {
            Library::open(Path::new(word)).map(|library| preloaded(word, library))
        } else if contenders.iter().any(|heap| heap.name() == word) {
            Ok(named(word))
        } else {
            let names: Vec<&str> = contenders.iter().map(Contender::name).collect();
            Err(format!(
                "{word}: unknown heap; use {}, or the path of a library, as ./{word}",
                names.join(", ")
            ))
        };
        match selected {
            Ok(selected) if found.iter().any(|other| other.name == selected.name) => {
                wrong.push(format!("{word}: the same heap twice; name it once"));
            }
            Ok(selected) => found.push(selected),
            Err(why) => wrong.push(why),
        }
    }
    shorten(&mut found);
    match wrong.is_empty() {
        true => Ok(found),
        false => Err(Stop::Message(wrong.join("\nreplay: "))),
    }
}

/// Names a library by its file, unless another heap has that name.
fn shorten(selection: &mut [SelectedHeap]) {
    let file =
        |name: &str| Path::new(name).file_name().map(|file| file.to_string_lossy().into_owned());
    let names: Vec<_> = selection.iter().map(|selected| file(&selected.name)).collect();
    for (selected, name) in selection.iter_mut().zip(&names) {
        let is_one = names.iter().filter(|other| *other == name).count() == 1;
        if let Some(name) = name.clone().filter(|_| is_one) {
            selected.name = name;
        }
    }
}

/// Returns a library as a heap: it is the system's malloc of the process that preloads it.
fn preloaded(word: &str, library: Library) -> SelectedHeap {
    let about = format!("{word}: {}", library.path.display());
    SelectedHeap { name: word.to_owned(), heap: "system".to_owned(), about, library: Some(library) }
}
