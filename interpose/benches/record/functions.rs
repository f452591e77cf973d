//! The cost of a call of an instrumented function: recorded, with empty hooks, and without hooks,
//! by turns; next to a call of a traced function of Rust.
//!
//! ```text
//!  pair.c ─┬─ no hooks ─┬─ the C library's ─┬─ recorded into a ring        #[traced] ─ in memory
//!          └─ floor     └─ function-hooks   └─ function-pair  ── ratio to ── call-pair
//! ```
//!
//! Design: `.calls.instrumented` in `design/calls.md`.

use crate::row;
use calls::events::Kinds;
use calls::traced;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

const RUN_COUNT: usize = 7;
const CALL_COUNT: u64 = 1_000_000;

#[traced]
#[inline(never)]
fn called(a: u64, b: u64, c: u64) {
    black_box((a, b, c));
}

#[inline(never)]
fn plain(a: u64, b: u64, c: u64) {
    black_box((a, b, c));
}

pub(crate) fn measure(folder: &Path, library: &Path) -> String {
    let programs = ["-fno-instrument-functions", "-finstrument-functions"]
        .map(|option| compile(&folder.join(&option[2..]), option));
    let ring = format!("ring:{}?size=4M", folder.join("pairs").display());
    calls::control().set_recorded(Kinds::Call);
    let mut least = [f64::MAX; 5];
    for _ in 0..RUN_COUNT {
        let mut recorded = Command::new(&programs[1]);
        recorded.env("LD_PRELOAD", library).env("TELEMETRY_CALLS", "1");
        recorded.env("TELEMETRY_CONTROL", "Call").env("TELEMETRY_FILENAME", &ring);
        let times = [
            time(&mut Command::new(&programs[0])),
            time(&mut Command::new(&programs[1])),
            time(&mut recorded),
            run(plain),
            run(called),
        ];
        least.iter_mut().zip(times).for_each(|(least, time)| *least = least.min(time));
    }
    let [bare, hooked, recorded, plain, called] = least;
    let (pair, call_pair) = (recorded - bare, called - plain);
    let mut lines = row::print("function-hooks", hooked - bare, "ns", None);
    lines += &row::print("function-pair", pair, "ns", Some(pair / call_pair));
    lines += &row::print("floor-function-pair", call_pair, "ns", None);
    lines
}

fn compile(program: &Path, option: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/record/pair.c");
    let mut cc = Command::new("cc");
    cc.args(["-O2", option, "-o"]).arg(program).arg(source);
    assert!(cc.status().expect("this needs a C compiler, cc").success());
    program.to_owned()
}

/// The time of a call that the program prints.
fn time(command: &mut Command) -> f64 {
    let output = command.output().expect("the program exists");
    assert!(output.status.success());
    String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number")
}

/// The time of a call in ns.
fn run(function: fn(u64, u64, u64)) -> f64 {
    let begin = Instant::now();
    for index in 0..CALL_COUNT {
        black_box(function)(index, index, index);
    }
    begin.elapsed().as_nanos() as f64 / CALL_COUNT as f64
}
