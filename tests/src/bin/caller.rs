//! A program whose calls are recorded, for the tests to run. Its first argument selects its work.
//!
//! ```text
//!  caller forever N FILE      N threads call until killed; FILE has the progress of each
//!  caller times N M           N threads make M rounds of calls each, with a pause in between
//!  caller family N            a call, and N generations of children, each forked within a call
//! ```
//!
//! A round is a call with two calls in it, and a job that another thread finishes. The groups
//! `+TURTLES … -TURTLES` select the log: `.calls.release` in `design/calls.md`.
#![expect(unsafe_code, reason = "forks")]

use calls::traced;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;
use std::time::Duration;
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
        ["family", generations] => {
            noop();
            breed(number(generations));
        }
        words => panic!("{words:?}: unknown"),
    }
    drop(released);
}
