//! What a recorded program's allocations cost under other heaps.
//!
//! ```text
//!  LOG ─ source ─▶ operations ─ modify, compile ─▶ workload
//!              table, JSON, page ◀─ measured ◀─ play, each heap
//! ```
//!
//! Design: `.rep.heap`, `.rep.process`, `.rep.pace` in `design/replay.md`.

use crate::facts::{Parts, Touched};
use crate::measured::{Measured, Subject};
use crate::play::Contender;
use crate::play::{self, Check, Library, Mode, Opponent, Touch};
use crate::report;
use crate::script::{self, Modify};
use crate::show::Gather;
use crate::source::input::{Input, Opened};
use crate::workload::Workload;
use cli::output::Pending;
use cli::units::{bytes, number};
use cli::{Stop, complain};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
pub(crate) use values::Threads;
use values::{Pace, Skew, milliseconds, seconds, seconds_above_0, skew, speed};

mod values;

pub(crate) const ABOUT: &str = "\
Plays what a program asked of its memory manager against other heaps, and says what each costs in \
time and memory.

Each heap is played against several times, each time in a process of its own, in turns. What an \
operation takes is the time of a whole run by the number of operations; what the loop itself takes \
is measured with a heap that does nothing. Latencies are those of one more run of each heap, in \
which the processor's counter is read around each operation.";

pub(crate) const EXAMPLES: &str = "\
A heap is a name that `replay heaps` lists, or the path (with a slash) of a shared library that has
malloc and free. The C library's malloc is `system`.

Pace: `max` is as fast as it goes; `recorded` does each operation when the program did, or as soon
as it can; x10 is that, ten times as fast.

Touch: memory that nobody writes to is never resident. `sampled` writes a byte of each cache line,
as far as the program wrote blocks of that size: `replay record` looks at a sample of them. A log
without samples is played as if all was written. `pages` writes a byte of each page of all that was
asked for; `all` every byte; `none` nothing.

Skew: threads stay together in the recorded order, within about --skew operations, and meet where
the most bytes were live. `free` lets each go as fast as it can: then the heaps may never hold as
much at a time as the program did, and a line says so.

Threads are there from the beginning of a run to its end. Of a program that had thousands, one after
the other, heaps that keep memory for each thread take more than they would have; `--threads one`
is the other bound.

Before a heap is measured it plays once and is checked: one that hands out memory that is in use,
not aligned or not zeroed, or loses contents, is told and not measured. --check looks at every byte.

Memory is all that the heap takes, also before the first operation (start-up). Its peak is that
which the kernel keeps (VmHWM); after all is freed it is looked at again, at once and after some
time. `program` is the peak of the whole program with this heap: the recorded peak, less what
`system` takes here, and what this heap takes.

Times are those of the fastest run. `cpu` is processor time of all threads, without waiting for each
other. Where the runs of one heap differ by more than two heaps do, the ratio is `noise`. What a
program gains because its own accesses meet denser memory is not in it.

Examples:
  replay play program.log                             all heaps that are built in
  replay play --heap system,jemalloc program.log      these two
  replay play --heap system,./libmine.so program.log  and a library of one's own
  replay play --touch none program.log                what heaps need for themselves, at most speed
  replay play --check --heap ./libmine.so program.log  is it a heap? look at every byte
  replay play --threads one program.log               in the order of the recording, on one thread
  replay play --pace recorded --runs 1 program.log    as the program did it
  replay play -o page.html program.log                with a page of charts
  replay play --json program.log | jq .loop_ns        for other programs
  replay play --scale-size 1.2 program.log            after a change: see replay compile --help

Exit status:
  0  all heaps played it to the end
  1  some did not, or some of LOG could not be played: what, and how much, is said
  2  nothing could be played";

/// How it is played.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    input: Input,

    /// The heaps, by name, or the paths of libraries; otherwise all that are built in
    #[arg(long, value_name = "HEAP,…", value_delimiter = ',')]
    heap: Vec<String>,

    /// How often each is played against
    #[arg(long, value_name = "N", default_value_t = 3)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1000))]
    runs: u16,

    /// On as many threads as were recorded, or all on one, in order of time
    #[arg(long, value_enum, default_value_t = Threads::Recorded)]
    threads: Threads,

    /// How many operations threads may be apart, about, in the recorded order: a number, or free
    #[arg(long, value_name = "COUNT", default_value = "1024", value_parser = skew)]
    skew: Skew,

    /// How fast: max, recorded, or how many times as fast as recorded, as x2.5
    #[arg(long, value_name = "PACE", default_value = "max", value_parser = speed)]
    pace: Pace,

    /// What is written of the memory that is handed out, used by the program or not
    #[arg(long, value_enum, default_value_t = Touch::Sampled)]
    touch: Touch,

    /// Look at all bytes that heaps hand out, before they are measured: overlap, alignment, zeros,
    /// and that reallocation keeps contents. Without, at the first and the last word of each object
    #[arg(long)]
    check: bool,

    /// Without the run for latency
    #[arg(long)]
    no_latency: bool,

    /// When to look at memory after all is freed, in seconds; but for 0, of first runs only
    #[arg(long, value_name = "S,…", value_delimiter = ',')]
    #[arg(default_value = "0,1,5", value_parser = seconds)]
    settle: Vec<Duration>,

    /// How often to look at memory while it plays, in ms
    #[arg(long, value_name = "MS", default_value = "1", value_parser = milliseconds)]
    sample_interval: Duration,

    /// How long a heap may do nothing, in seconds, until it is given up
    #[arg(long, value_name = "S", default_value = "60", value_parser = seconds_above_0)]
    timeout: Duration,

    /// Also write a page of charts, which needs nothing else
    #[arg(short = 'o', long, value_name = "FILE.html")]
    output: Option<PathBuf>,

    /// Overwrite the page if it is there
    #[arg(long)]
    force: bool,

    /// Print JSON, for other programs
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    modify: Modify,
}

/// Plays it against each heap. Whether all of it was played.
pub(crate) fn run(args: &Args, contenders: &[Contender]) -> Result<bool, Stop> {
    let opponents = opponents(&args.heap, contenders)?;
    // Not after minutes of playing.
    let page = args.output.as_deref().map(|path| Pending::new(path, args.force)).transpose()?;
    let opened = Opened::open(&args.input)?;
    let (workload, subject, is_whole) = read(args, &opened)?;
    if workload.operation_count == 0 {
        let left = if args.modify.list.is_empty() { "" } else { " once it is modified" };
        return Err(Stop::Message(format!("{}: has nothing to play{left}", opened.title)));
    }
    has_room(args, &opened, subject.live_peak, &workload.touched)?;
    let measured = play::play(workload, &opponents, &mode(args))?;
    let about = measured.heaps.iter().map(|heap| &*heap.about).collect::<Vec<&str>>().join("; ");
    let machine = format!("{}; {about}", report::machine());
    let (workload, mode) = (subject, words(args));
    let measured = Measured { workload, mode, machine, ..measured };
    write(args, page, &measured)?;
    Ok(tell_failures(&measured) && is_whole)
}

/// Refuses what would need more memory than there is: the machine would have none left for others.
fn has_room(args: &Args, opened: &Opened, live: u64, touched: &Touched) -> Result<(), Stop> {
    let is_written = args.check || args.touch != Touch::None;
    let Some(available) = play::available().filter(|room| is_written && live > *room) else {
        return Ok(());
    };
    let written = match args.touch {
        Touch::Sampled if !args.check => {
            Parts::new(touched).peak(opened.operations(&args.modify.list)?)
        }
        _ => live,
    };
    if written <= available {
        return Ok(());
    }
    let [live, written, available] = [live, written, available].map(|size| bytes(size as f64));
    Err(Stop::Message(format!(
        "{}: {live} are live at its peak, {written} of that would be written, and {available} of \
         memory are available: it was not played (--touch none writes to none of it, --scale-size \
         and --keep-size make it smaller)",
        opened.title
    )))
}

/// What is played, what it is, and whether it was read whole.
fn read(args: &Args, opened: &Opened) -> Result<(Workload, Subject, bool), Stop> {
    let mut operations = opened.operations(&args.modify.list)?;
    let mut gather = Gather::default();
    let how = script::Mode {
        is_single: args.threads == Threads::One,
        has_times: args.pace.0.is_some(),
        skew: args.skew.0,
    };
    let each = operations.by_ref().inspect(|operation| gather.take(operation));
    let mut workload = script::compile(each, how);
    workload.touched = operations.facts().touched.clone();
    let program = operations.facts().program().filter(|_| args.modify.list.is_empty());
    let skipped = operations.skipped();
    let is_whole = operations.end(true);
    let name = opened.title.clone();
    Ok((workload, Subject { name, skipped, program, ..gather.finish().subject }, is_whole))
}

fn mode(args: &Args) -> Mode {
    Mode {
        touch: args.touch,
        check: if args.check { Check::Full } else { Check::Quick },
        speed: args.pace.0,
        run_count: usize::from(args.runs),
        has_latency: !args.no_latency,
        settle: args.settle.iter().map(|after| after.as_millis() as u64).collect(),
        interval: args.sample_interval,
        timeout: args.timeout,
    }
}

/// How it is played, in words.
fn words(args: &Args) -> String {
    let mut words = vec![match args.pace.0 {
        None => "as fast as it goes".to_owned(),
        Some(1.0) => "at the recorded times".to_owned(),
        Some(times) => format!("{times} times as fast as recorded"),
    }];
    match (args.threads, args.skew.0) {
        (Threads::One, _) => words.push("all on one thread".to_owned()),
        (Threads::Recorded, None) => words.push("threads as far apart as they get".to_owned()),
        (Threads::Recorded, Some(_)) => {}
    }
    words.push(match args.touch {
        Touch::None => "no memory written".to_owned(),
        Touch::Sampled => "memory written as far as the program did".to_owned(),
        Touch::Pages => "a byte of each page written".to_owned(),
        Touch::All => "all memory written".to_owned(),
    });
    words.push(match args.runs {
        1 => "one run".to_owned(),
        count => format!("{count} runs in turns"),
    });
    if !args.no_latency {
        words.push("one more for latency".to_owned());
    }
    if !args.modify.list.is_empty() {
        words.push(format!("modified: {}", args.modify.words()));
    }
    words.join(", ")
}

/// The page, and the table or JSON, which is there even if the page cannot be.
fn write(args: &Args, page: Option<Pending>, measured: &Measured) -> Result<(), Stop> {
    let paged = page.map_or(Ok(()), |page| {
        page.write(|out| report::page(measured, out)).and_then(|()| page.finish())
    });
    let mut out = BufWriter::new(io::stdout().lock());
    match args.json {
        true => report::json(measured, &mut out)?,
        false => report::table(measured, &mut out)?,
    }
    out.flush()?;
    paged
}

/// Says which heaps did not play to the end, and which had no memory. Whether all did well.
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
                "replay: {}: {} allocations failed; {} operations were done, and those of objects \
                 that were not there were skipped\n",
                heap.name,
                number(failed),
                number(done)
            );
        }
    }
    complain(&text);
    text.is_empty()
}

/// The heaps that were asked for: all that is wrong with them is said at once.
fn opponents(asked: &[String], contenders: &[Contender]) -> Result<Vec<Opponent>, Stop> {
    let named = |name: &str| {
        let contender = contenders.iter().find(|heap| heap.name() == name);
        let about = contender.map_or(String::new(), |heap| format!("{name}: {}", heap.about()));
        Opponent { name: name.to_owned(), heap: name.to_owned(), about, library: None }
    };
    if asked.is_empty() {
        let all = contenders.iter().filter(|heap| heap.name() != play::NULL);
        return Ok(all.map(|heap| named(heap.name())).collect());
    }
    let (mut found, mut wrong) = (Vec::<Opponent>::new(), Vec::new());
    for word in asked {
        let opponent = if word.contains('/') {
            Library::open(Path::new(word)).map(|library| preloaded(word, library))
        } else if contenders.iter().any(|heap| heap.name() == word) {
            Ok(named(word))
        } else {
            let names: Vec<&str> = contenders.iter().map(Contender::name).collect();
            Err(format!(
                "{word}: there is no such heap: there are {}, and libraries by their path, as \
                 ./{word}",
                names.join(", ")
            ))
        };
        match opponent {
            Ok(opponent) if found.iter().any(|other| other.name == opponent.name) => {
                wrong.push(format!("{word}: is given twice"));
            }
            Ok(opponent) => found.push(opponent),
            Err(why) => wrong.push(why),
        }
    }
    shorten(&mut found);
    match wrong.is_empty() {
        true => Ok(found),
        false => Err(Stop::Message(wrong.join("\nreplay: "))),
    }
}

/// A library is called by its file's name, unless something else is called so.
fn shorten(opponents: &mut [Opponent]) {
    let file =
        |name: &str| Path::new(name).file_name().map(|file| file.to_string_lossy().into_owned());
    let names: Vec<_> = opponents.iter().map(|opponent| file(&opponent.name)).collect();
    for (opponent, name) in opponents.iter_mut().zip(&names) {
        let is_one = names.iter().filter(|other| *other == name).count() == 1;
        if let Some(name) = name.clone().filter(|_| is_one) {
            opponent.name = name;
        }
    }
}

/// What a library plays as: the system's malloc, which is its own.
fn preloaded(word: &str, library: Library) -> Opponent {
    let about = format!("{word}: {}", library.path.display());
    Opponent { name: word.to_owned(), heap: "system".to_owned(), about, library: Some(library) }
}
