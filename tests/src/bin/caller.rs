//! A program whose calls are recorded, for the tests to run. Its first argument selects its work.
//!
//! ```text
//!  caller forever N FILE      N threads call until killed; FILE has the progress of each
//!  caller times N M           N threads make M rounds of calls each, with a pause in between
//!  caller family N [M]        a call or M, and N generations of children, each forked in a call
//!  caller pause MS            a pause in three calls; prints how long each took, and the pause
//!  caller tree SEED           a random tree of forks; each process tells its calls in truth-PID
//! ```
//!
//! A round is a call with two calls in it, and a job that another thread finishes. The groups
//! `+TURTLES … -TURTLES` select the log: `.calls.release` in `design/calls.md`.
#![expect(unsafe_code, reason = "forks")]

use calls::traced;
use std::ffi::OsString;
use std::fmt::Write;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use telemetry::event;

mod jobs {
    telemetry::events! {
        /// Jobs that one thread starts and another one finishes.
        registry "jobs" version(1, 0, 0);
        kinds standard;

        /// A job began.
        JobStart(0x0001, always, Object) {
            /// its number
            job: W,
        }
        /// A job ended.
        JobFinish(0x0002, always, Object) {
            /// its number
            job: W,
        }
    }
}

/// The jobs that each thread has to finish.
static QUEUES: [Mutex<Vec<usize>>; 8] = [const { Mutex::new(Vec::new()) }; 8];

#[traced]
fn weigh(index: usize) -> usize {
    index.wrapping_mul(31)
}

#[traced]
fn sell(index: usize) -> usize {
    weigh(index) ^ weigh(index + 1)
}

/// Makes a round: three calls, the start of a job, and the end of others.
fn round(thread: usize, thread_count: usize, index: usize) {
    let job = index * thread_count + thread;
    event!(jobs::JobStart, job);
    std::hint::black_box(sell(index));
    let queue = |of: usize| QUEUES[of % thread_count].lock().expect("no thread panics");
    queue(thread + 1).push(job);
    let own = std::mem::take(&mut *queue(thread));
    own.into_iter().for_each(|job| event!(jobs::JobFinish, job));
}

#[traced]
fn serve(thread: usize, thread_count: usize, rounds: usize, told: impl Fn(usize)) {
    for index in 0..rounds {
        round(thread, thread_count, index);
        told(index + 1);
    }
}

#[traced]
fn noop() {}

/// Forks within a call that ends in the child too: `left` generations of children.
#[traced]
fn breed(left: usize) {
    if left == 0 {
        return;
    }
    // SAFETY: the process has one thread, so the child may call what it may.
    let child = unsafe { libc::fork() };
    if child == 0 {
        noop();
        return breed(left - 1);
    }
    let mut status = 0;
    // SAFETY: the child of this process; the status is writable.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
    noop();
}

/// Prints how long something took, in ns, after it.
fn timed(name: &str, what: impl FnOnce()) {
    let begin = Instant::now();
    what();
    println!("{name} {}", begin.elapsed().as_nanos());
}

#[traced]
fn inner(pause: Duration) {
    std::thread::sleep(Duration::from_millis(20));
    timed("pause", || {
        let _pause = calls::pause();
        std::thread::sleep(pause);
    });
}

#[traced]
fn middle(pause: Duration) {
    timed("inner", || inner(pause));
    std::thread::sleep(Duration::from_millis(30));
}

#[traced]
fn outer(pause: Duration) {
    timed("middle", || middle(pause));
    std::thread::sleep(Duration::from_millis(40));
}

/// The functions of a tree: 0 is none, 1 to 3 call nothing, the others call and fork.
const NAMES: [&str; 6] = ["", "ant", "bee", "cat", "dog", "emu"];
/// Forks between the first process and another one, at most.
const GENERATION_MAX: u32 = 3;
/// Forks of a process, at most.
const CHILD_COUNT_MAX: usize = 3;
const DEPTH_MAX: usize = 6;

#[traced]
fn ant() {}

#[traced]
fn bee() {}

#[traced]
fn cat() {}

#[traced]
fn dog(tree: &mut Tree) {
    tree.grow();
}

#[traced]
fn emu(tree: &mut Tree) {
    tree.grow();
}

/// What a process and its ancestors did, by its own account: a fork copies it.
struct Tree {
    random: u64,
    generation: u32,
    children: Vec<libc::pid_t>,
    /// The calls of the functions by each function.
    counts: [[u32; NAMES.len()]; NAMES.len()],
    /// The calls in progress.
    stack: Vec<usize>,
}

impl Tree {
    fn new(seed: u64) -> Tree {
        let random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        Tree {
            random,
            generation: 0,
            children: Vec::new(),
            counts: Default::default(),
            stack: vec![],
        }
    }

    /// Returns a number below a limit.
    fn below(&mut self, limit: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) % limit
    }

    fn call(&mut self, function: usize) {
        let caller = self.stack.last().copied().unwrap_or(0);
        self.counts[caller][function] += 1;
        self.stack.push(function);
        match function {
            1 => ant(),
            2 => bee(),
            3 => cat(),
            4 => dog(self),
            _ => emu(self),
        }
        self.stack.pop();
    }

    /// Calls, and forks in between. All of it goes on in the children.
    fn grow(&mut self) {
        for _ in 0..3 + self.below(5) {
            match self.below(16) {
                0..2 if self.can_fork() => self.fork(),
                2 => std::thread::sleep(Duration::from_millis(self.below(4))),
                3..7 if self.stack.len() < DEPTH_MAX => {
                    let function = 4 + self.below(2) as usize;
                    self.call(function);
                }
                _ => {
                    let function = 1 + self.below(3) as usize;
                    self.call(function);
                }
            }
        }
    }

    fn can_fork(&self) -> bool {
        self.generation < GENERATION_MAX && self.children.len() < CHILD_COUNT_MAX
    }

    /// Forks. Neither process waits for the other one.
    fn fork(&mut self) {
        let (seed, fate) = (self.below(1 << 40), self.below(8));
        // SAFETY: the process has one thread, so the child may call what it may.
        match unsafe { libc::fork() } {
            0 => {
                *self = Tree {
                    random: seed << 1 | 1,
                    generation: self.generation + 1,
                    children: Vec::new(),
                    stack: std::mem::take(&mut self.stack),
                    ..*self
                };
                match fate {
                    // The parent goes on meanwhile.
                    0..3 => std::thread::sleep(Duration::from_millis(20)),
                    3 => self.grow_and(|| {
                        // SAFETY: ends this process.
                        unsafe { libc::raise(libc::SIGKILL) };
                    }),
                    4 => self.grow_and(|| {
                        let this = std::env::current_exe().expect("a path");
                        panic!("{}", Command::new(this).args(["times", "1", "1"]).exec());
                    }),
                    _ => {}
                }
            }
            child => {
                assert!(child > 0, "no process");
                self.children.push(child);
            }
        }
    }

    /// Ends this process after some calls, in the midst of those in progress.
    fn grow_and(&mut self, end: impl FnOnce()) {
        self.grow();
        self.tell();
        end();
    }

    /// Waits for the children, and tells what this process called.
    fn tell(&mut self) {
        let mut text = String::new();
        for (caller, counts) in NAMES.iter().zip(&self.counts) {
            for (function, count) in NAMES.iter().zip(counts).filter(|(_, count)| **count > 0) {
                writeln!(text, "{caller},{function},{count}").expect("a string");
            }
        }
        let open: Vec<&str> = self.stack.iter().map(|function| NAMES[*function]).collect();
        writeln!(text, "{}", open.join(" ")).expect("a string");
        std::fs::write(format!("truth-{}", std::process::id()), text).expect("a file");
        for child in std::mem::take(&mut self.children) {
            // SAFETY: a child of this process; no status is asked for.
            assert_eq!(unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) }, child);
        }
    }
}

fn main() {
    let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let released = calls::release(&mut arguments);
    let words: Vec<String> =
        arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let number = |word: &str| word.parse::<usize>().expect("a number");
    let all = |count: usize, serve: &(dyn Fn(usize) + Sync)| {
        std::thread::scope(|scope| {
            (0..count).for_each(|thread| drop(scope.spawn(move || serve(thread))));
        });
    };
    match &words[..] {
        ["forever", threads, file] => {
            let file = File::options().write(true).open(file).expect("the file can be opened");
            let count = number(threads);
            all(count, &|thread| {
                serve(thread, count, usize::MAX, |done| {
                    let told = (done as u64).to_le_bytes();
                    file.write_all_at(&told, thread as u64 * 8).expect("a writable file");
                    // So that a ring has all of it.
                    if done % 4 == 0 {
                        std::thread::sleep(Duration::from_micros(200));
                    }
                });
            });
        }
        ["times", threads, rounds] => {
            let count = number(threads);
            all(count, &|thread| {
                serve(thread, count, number(rounds), |done| {
                    if done % 4 == 0 {
                        std::thread::sleep(Duration::from_millis(5));
                    }
                });
            });
        }
        ["family", generations, rest @ ..] => {
            (0..rest.first().map_or(1, |before| number(before))).for_each(|_| noop());
            breed(number(generations));
        }
        ["pause", time] => timed("outer", || outer(Duration::from_millis(number(time) as u64))),
        ["tree", seed] => {
            let mut tree = Tree::new(number(seed) as u64);
            tree.call(1);
            tree.call(4);
            tree.call(5);
            tree.tell();
        }
        words => panic!("{words:?}: unknown"),
    }
    drop(released);
}
