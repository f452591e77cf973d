//! Coroutines that take turns. Each measures its own busy time: `turns`.
//!
//! ```text
//!  drive ── switch ─▶ body_0 ─ wait ┐ switch ─▶ body_1 ─ wait ┐ … ─ switch ─▶ body_0: wait returns
//! ```
//!
//! The stacks are played by hand: a call or a statement in progress is a value, which its coroutine
//! keeps while it waits. The program prints the busy time of each stack, and of all, in ns.
#![forbid(unsafe_code)]

use calls::{Block, Call, Current, Function, Statement};
use std::ptr;
use std::time::{Duration, Instant};

const COROUTINE_COUNT: u32 = 3;
const TURN_COUNT: u32 = 5;

/// Something of the program: a function, and its one statement.
#[derive(Clone, Copy)]
struct Code(Function, Statement);

impl Code {
    fn new(name: &str, line: u32) -> Code {
        let statement = Statement::new(name, "turns", [line, 1, line * 10, 5]).expect("a row");
        Code(Function::new(name, None), statement)
    }

    fn begin(self) -> (Call, Block) {
        (self.0.call(), self.1.begin())
    }
}

/// A coroutine: its stack, and where it waits. What is open is dropped from its end.
#[derive(Default)]
struct Coroutine {
    current: Current,
    open: Vec<(Call, Block)>,
    busy: Duration,
}

fn work(time: Duration) -> Duration {
    let begin = Instant::now();
    while begin.elapsed() < time {}
    begin.elapsed()
}

fn main() {
    let drive = Code::new("drive", 1);
    let wait = Code::new("wait", 2);
    let bodies: Vec<Code> =
        (0..COROUTINE_COUNT).map(|at| Code::new(&format!("body_{at}"), 3 + at)).collect();
    let mut coroutines: Vec<Coroutine> = Vec::new();
    coroutines.resize_with(bodies.len(), Coroutine::default);
    let begin = Instant::now();
    let driving = drive.begin();
    let mut drive_busy = Duration::ZERO;
    for turn in 0..=TURN_COUNT {
        drive_busy += work(Duration::from_millis(2));
        for (at, (coroutine, body)) in coroutines.iter_mut().zip(&bodies).enumerate() {
            let mine = calls::switch(&raw const *coroutine, coroutine.current);
            match turn {
                0 => coroutine.open.push(body.begin()),
                _ => drop(coroutine.open.pop()),
            }
            coroutine.busy += work(Duration::from_millis(1 + at as u64));
            match turn {
                TURN_COUNT => drop(coroutine.open.pop()),
                _ => coroutine.open.push(wait.begin()),
            }
            coroutine.current = calls::switch(ptr::null::<Coroutine>(), mine);
        }
    }
    drop(driving);
    println!("drive {}", drive_busy.as_nanos());
    for (at, coroutine) in coroutines.iter().enumerate() {
        println!("body_{at} {}", coroutine.busy.as_nanos());
    }
    println!("all {}", begin.elapsed().as_nanos());
}
