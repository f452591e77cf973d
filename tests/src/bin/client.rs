//! A client of a database, for tests of data that leaves the tool. It counts its own events.
//!
//! ```text
//!  client N    a connection whose parameters have the names of readers' columns, values at their
//!              limits, then N steps, ten to a request; sleeps after each hundred
//! ```
//!
//! After each hundred steps it prints how many it made, and the ns since it began: the truth about
//! its rate, whatever its log still has. The environment selects the output: `.control.env` in
//! `design/telemetry.md`.
#![forbid(unsafe_code)]

use std::env;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};
use telemetry::event;

telemetry::events! {
    /// A client of a database.
    registry "client" version(1, 0, 0);
    kinds standard;

    /// A connection was made.
    Connect(0x0001, always, User) {
        /// which kind it is
        kind: W,
        /// the server's process
        process: W,
        /// the file of its certificate
        filename: U,
        /// a name of pyarrow
        __filename: U,
        /// the server's host, in capitals
        Host: W,
        /// the thread of the server
        thread: U,
        /// its name in capitals
        Thread: U,
        /// the server's host
        host: S,
    }
    /// Values at their limits.
    Limit(0x0002, always, User) {
        /// the greatest word, and others
        word: W,
        /// infinities, and NaN
        real: D,
    }
    /// A step.
    Step(0x0003, always, Object) {
        /// n
        n: W,
    }
    /// A request began. [slice RequestBegin=RequestEnd] [name path]
    RequestBegin(0x0004, always, Trace) {
        /// which
        request: W,
        /// the path that is asked for
        path: S,
    }
    /// It ended.
    RequestEnd(0x0005, always, Trace) {
        /// which
        request: W,
    }
}

fn main() -> ExitCode {
    let Some(count) = env::args().nth(1).and_then(|word| word.parse::<usize>().ok()) else {
        return ExitCode::FAILURE;
    };
    event!(Connect, 1usize, 4711usize, 7u32, 8u32, 9usize, 10u32, 11u32, "db1.example.org");
    let words = [0, 1 << 53, (1 << 63) - 1, 1 << 63, usize::MAX];
    let reals = [0.5, f64::NEG_INFINITY, f64::INFINITY, f64::NAN, -0.0];
    for (word, real) in words.into_iter().zip(reals) {
        event!(Limit, word, real);
    }
    let begin = Instant::now();
    let mut text = String::new();
    for step in 0..count {
        let request = step / 10;
        if step % 10 == 0 {
            event!(RequestBegin, request, ["/", "/cart", "/pay"][request % 3]);
        }
        event!(Step, step);
        if step % 10 == 9 {
            event!(RequestEnd, request);
        }
        if step % 100 == 99 {
            text += &format!("{} {}\n", step + 1, begin.elapsed().as_nanos());
            sleep(Duration::from_millis(1));
        }
    }
    print!("{text}");
    ExitCode::SUCCESS
}
