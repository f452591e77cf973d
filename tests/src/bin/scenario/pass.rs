//! Two processes work in turn, and pass a message over pipes.

use crate::chain::{Chain, What, Who};
use crate::events::*;
use crate::truth::Truth;
use std::io;
use std::time::Duration;
use telemetry::event;

const ROUND_COUNT: u32 = 20;
const WORK: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(12)];

fn work(number: u32, time: Duration) {
    event!(WorkBegin, number);
    crate::work(time);
    event!(WorkEnd, number);
}

pub(crate) fn first() -> io::Result<()> {
    let mut other = crate::start(&["pass-b"])?;
    let (Some(mut to), Some(mut from)) = (other.stdin.take(), other.stdout.take()) else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    // The other one has begun.
    Chain::default().send(&mut to)?;
    Chain::receive(&mut from)?;
    let mut truth = Truth::begin();
    for number in 0..ROUND_COUNT {
        let mut chain = Chain::default();
        chain.stamp(Who::PassA, What::Work);
        work(number, WORK[0]);
        chain.stamp(Who::PassA, What::Work);
        chain.send(&mut to)?;
        let mut chain = Chain::receive(&mut from)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        chain.stamp(Who::PassA, What::Arrival);
        truth.add(&chain);
    }
    truth.end();
    drop(to);
    other.wait().map(drop)
}

pub(crate) fn second() -> io::Result<()> {
    let (mut from, mut to) = (io::stdin(), io::stdout());
    let mut number = 0;
    while let Some(mut chain) = Chain::receive(&mut from)? {
        let is_first = chain.0.is_empty();
        chain.stamp(Who::PassB, What::Arrival);
        if !is_first {
            work(number, WORK[1]);
            number += 1;
        }
        chain.stamp(Who::PassB, What::Work);
        chain.send(&mut to)?;
    }
    Ok(())
}
