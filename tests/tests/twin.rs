//! Random programs are recorded and read back, and compared with a naive twin: a `Vec` for each
//! thread and kind.
//!
//! ```text
//!  steps ─▶ two threads, one after the other ─▶ runtime ─▶ MemoryPlinth ─▶ reader ─┐
//!                                                        └▶ DirectoryPlinth ────────┤
//!        └▶ twin: Vec<(index, text)> ───────────────────────────────────────────────┴▶ equal
//! ```
//!
//! A process has one stream, so each program runs in a separate process, which checks itself.
//! Design: `.req.loss`, `.sol.buffer` in `design/telemetry.md`.

use eventlog::reader::{Filter, Log, Order, Value};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::process::Command;
use std::sync::mpsc;
use telemetry::{DirectoryPlinth, MemoryPlinth, control, event};

telemetry::events! {
    /// Events of random programs.
    registry "twin" version(1, 0, 0);
    kinds standard;

    /// Of a kind that is often recorded.
    Often(1, always, Object) {
        /// which
        index: W,
        /// whatever
        text: S,
    }
    /// Of another.
    Seldom(2, always, Arena) {
        /// which
        index: W,
        /// whatever
        text: S,
    }
}

/// Set in the process of a program, to the program.
const VARIABLE: &str = "TELEMETRY_TWIN";
/// Set if it has a log of several files, to their directory.
const DIRECTORY: &str = "TELEMETRY_TWIN_DIRECTORY";
const BLOCK_SIZE: usize = 4096;
const BLOCK_HEADER_SIZE: usize = 128;

/// A step: a letter, a thread, a number.
///
/// `o` and `s` record a number of events of a kind; `l` records one with a text of that size; `f`
/// flushes; `+` and `-` switch the output of a kind, `r` and `n` its recording; `i` interns and
/// labels; `e` ends the thread.
type Step = (char, usize, usize);

fn step() -> impl Strategy<Value = Step> {
    let thread = 0..2usize;
    prop_oneof![
        6 => (Just('o'), thread.clone(), 1..300usize),
        3 => (Just('s'), thread.clone(), 1..120usize),
        2 => (Just('l'), thread.clone(), 0..4200usize),
        3 => (Just('f'), thread.clone(), Just(0)),
        4 => (prop::sample::select(vec!['+', '-', 'r', 'n']), thread.clone(), 0..2usize),
        1 => (Just('i'), thread.clone(), 0..50usize),
        1 => (Just('e'), thread, Just(0)),
    ]
}

/// The expected state of the runtime.
#[derive(Default)]
struct Twin {
    /// Recorded events, by thread and kind.
    recorded: BTreeMap<(usize, u8), Vec<(usize, String)>>,
    requested: u64,
    large: u64,
    interned: u64,
    is_recorded: [bool; 2],
    next: usize,
}

const KINDS: [Kinds; 2] = [Kinds::Object, Kinds::Arena];

impl Twin {
    /// Notes an event of the first or second kind, and returns its text.
    fn event(&mut self, thread: usize, which: usize, size: usize) -> (usize, String) {
        let index = self.next;
        self.next += 1;
        let text: String =
            (0..size).map(|at| char::from(b'a' + ((index + at) % 26) as u8)).collect();
        if self.is_recorded[which] {
            self.requested += 1;
            if (8 + 8 + size + 1).next_multiple_of(8) > BLOCK_SIZE - BLOCK_HEADER_SIZE {
                self.large += 1;
            } else {
                let kind = KINDS[which].bits().trailing_zeros() as u8;
                self.recorded.entry((thread, kind)).or_default().push((index, text.clone()));
            }
        }
        (index, text)
    }
}

type Job = Box<dyn FnOnce() + Send>;

/// A thread that runs one job after the other.
struct Worker {
    /// Its place among all threads of the program.
    number: usize,
    jobs: mpsc::Sender<Job>,
    done: mpsc::Receiver<()>,
    thread: std::thread::JoinHandle<()>,
}

impl Worker {
    fn start(number: usize) -> Worker {
        let (jobs, rest) = mpsc::channel::<Job>();
        let (told, done) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            for job in rest {
                job();
                told.send(()).unwrap();
            }
        });
        Worker { number, jobs, done, thread }
    }

    fn work(&self, job: impl FnOnce() + Send + 'static) {
        self.jobs.send(Box::new(job)).unwrap();
        self.done.recv().unwrap();
    }

    fn end(self) {
        drop(self.jobs);
        self.thread.join().unwrap();
    }
}

fn run(steps: &[Step]) {
    let setup = telemetry::setup().block_size_log2(12);
    if let Some(path) = std::env::var_os(DIRECTORY) {
        let plinth = DirectoryPlinth::new(&path).and_then(|plinth| plinth.files(3)).unwrap();
        setup.plinth(plinth).start().unwrap();
        return go_through(steps, || Log::open(path).unwrap());
    }
    let plinth = MemoryPlinth::new();
    setup.plinth(plinth.clone()).start().unwrap();
    go_through(steps, || Log::from_source(plinth.bytes()).unwrap());
}

fn go_through(steps: &[Step], open: impl FnOnce() -> Log) {
    let mut twin = Twin { is_recorded: [true; 2], ..Twin::default() };
    let mut workers = [Worker::start(0), Worker::start(1)];
    let mut worker_count = 2;
    for (what, thread, number) in steps.iter().copied() {
        let worker = &workers[thread];
        let (count, which, size) = match what {
            'o' => (number, 0, 3),
            's' => (number, 1, 40),
            'l' => (1, 0, number),
            _ => (0, number % 2, 0),
        };
        for _ in 0..count {
            let (index, text) = twin.event(worker.number, which, size);
            worker.work(move || match which {
                0 => event!(Often, index, &text),
                _ => event!(Seldom, index, &text),
            });
        }
        let kinds = KINDS[which];
        match what {
            'f' => worker.work(telemetry::flush),
            '+' => worker.work(move || {
                control::of(&CONTROL).set_output(kinds);
            }),
            '-' => worker.work(move || {
                control::of(&CONTROL).reset_output(kinds);
            }),
            'r' | 'n' => {
                twin.is_recorded[which] = what == 'r';
                worker.work(move || match what {
                    'r' => {
                        control::of(&CONTROL).set_recorded(kinds);
                    }
                    _ => {
                        control::of(&CONTROL).reset_recorded(kinds);
                    }
                });
            }
            'i' => {
                twin.interned += 1;
                worker
                    .work(move || telemetry::label_address(number, telemetry::add_string("text")));
            }
            'e' => {
                std::mem::replace(&mut workers[thread], Worker::start(worker_count)).end();
                worker_count += 1;
            }
            _ => {}
        }
    }
    control::of(&CONTROL).set_output(KINDS[0] | KINDS[1]);
    workers.into_iter().for_each(Worker::end);
    telemetry::flush();
    judge(&twin, &open());
}

fn judge(twin: &Twin, log: &Log) {
    let losses = telemetry::losses_of(&CONTROL, Kinds::all());
    let recorded = twin.recorded.values().map(|events| events.len() as u64).sum::<u64>();
    let told = (losses.requested, losses.recorded, losses.large);
    assert_eq!(told, (twin.requested, recorded, twin.large), "{losses:?}");
    assert_eq!((losses.full, losses.nested, losses.io), (0, 0, 0), "{losses:?}");
    assert!(log.faults().is_empty(), "{:?}", log.faults());
    let of_twin = |registry: u32| &*log.registries()[registry as usize].name == "twin";
    let accounts: Vec<_> = log.accounts().iter().filter(|a| of_twin(a.registry)).collect();
    assert_eq!(accounts.iter().map(|a| a.overwritten).sum::<u64>(), losses.overwritten);
    assert_eq!(accounts.iter().map(|a| a.lost).sum::<u64>(), 0);
    let mut found = BTreeMap::<(u32, u8), Vec<(usize, String)>>::new();
    let mut interned = 0;
    let mut events = log.events(Order::Time, &Filter::default());
    while let Some(event) = events.next() {
        interned += u64::from(event.name() == "Intern");
        if let (true, Some(Value::W(index)), Some(Value::S(text))) =
            (&*event.registry.name == "twin", event.param_at(0), event.param_at(1))
        {
            let text = String::from_utf8(text.to_vec()).unwrap();
            found.entry((event.thread, event.kind)).or_default().push((index as usize, text));
        }
    }
    assert!(events.faults().is_empty(), "{:?}", events.faults());
    assert_eq!(interned, twin.interned);
    let found_count = found.values().map(|events| events.len() as u64).sum::<u64>();
    assert_eq!(found_count + losses.overwritten, recorded);
    for ((thread, kind), events) in &found {
        let is_of = |(_, twin): &(&(usize, u8), &Vec<_>)| twin.contains(&events[0]);
        let all = twin.recorded.iter().find(is_of).expect("a thread's events");
        assert_eq!(all.0.1, *kind);
        // In the order of the twin; missing events were overwritten.
        let mut rest = all.1.iter();
        assert!(events.iter().all(|event| rest.any(|twin| twin == event)), "thread {thread}");
    }
}

fn parse(program: &str) -> Vec<Step> {
    let step = |step: &str| {
        let (thread, number) = step[1..].split_once(',').unwrap();
        (step.chars().next().unwrap(), thread.parse().unwrap(), number.parse().unwrap())
    };
    program.split_whitespace().map(step).collect()
}

/// A failure saves its seed next to this file, and the panic shows the program.
#[test]
fn a_random_program_records_the_events_of_its_twin() {
    if let Ok(program) = std::env::var(VARIABLE) {
        return run(&parse(&program));
    }
    let config = ProptestConfig { cases: 150, max_shrink_iters: 500, ..ProptestConfig::default() };
    let steps = prop::collection::vec(step(), 1..40);
    proptest!(config, |(steps in steps, has_directory in any::<bool>())| {
        let step = |(what, thread, number): &Step| format!("{what}{thread},{number}");
        let program = steps.iter().map(step).collect::<Vec<_>>().join(" ");
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "a_random_program_records_the_events_of_its_twin", "--nocapture"]);
        let folder = tempfile::tempdir().unwrap();
        if has_directory {
            command.env(DIRECTORY, folder.path().join("log"));
        }
        let output = command.env(VARIABLE, &program).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        prop_assert!(output.status.success(), "{}\n{}", program, stderr);
    });
}
