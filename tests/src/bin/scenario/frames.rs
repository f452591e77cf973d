//! A player shows a frame each 16 ms, which a decoder makes: over a Unix socket.
//!
//! ```text
//!  player   timer ─ ask ┐            ┌ show: in time? ─ timer …
//!  decoder              └── decode ──┘     each eighth frame takes too long
//! ```

use crate::chain::{Chain, What, Who, now};
use crate::events::*;
use crate::truth::Truth;
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::Duration;
use telemetry::event;

const FRAME_COUNT: u32 = 64;
/// The time between two frames, in ns.
const PERIOD: u64 = 16_000_000;
const DECODE: Duration = Duration::from_millis(4);
const DECODE_LONG: Duration = Duration::from_millis(22);

fn timer() -> io::Result<File> {
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::empty())?;
    let time = Timespec { tv_sec: 0, tv_nsec: PERIOD as _ };
    let times = Itimerspec { it_interval: time, it_value: time };
    timerfd_settime(&timer, TimerfdTimerFlags::empty(), &times)?;
    Ok(File::from(timer))
}

pub(crate) fn player() -> io::Result<()> {
    let (mut stream, other) = UnixStream::pair()?;
    let other = Stdio::from(OwnedFd::from(other));
    let mut decoder = crate::process(&["decoder"])?.stdin(other).spawn()?;
    Chain::default().send(&mut stream)?;
    Chain::receive(&mut stream)?;
    let mut truth = Truth::begin();
    let mut timer = timer()?;
    let mut due = now(ClockId::Monotonic);
    for number in 0..FRAME_COUNT {
        let mut chain = Chain::default();
        chain.stamp(Who::Player, What::Work);
        let mut ticks = [0; 8];
        timer.read_exact(&mut ticks)?;
        due += u64::from_le_bytes(ticks) * PERIOD;
        chain.stamp(Who::Player, What::Timer);
        event!(FrameBegin, number);
        chain.send(&mut stream)?;
        let mut chain = Chain::receive(&mut stream)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        chain.stamp(Who::Player, What::Arrival);
        crate::work(Duration::from_micros(500));
        chain.stamp(Who::Player, What::Work);
        event!(FrameEnd, number);
        let late = now(ClockId::Monotonic).saturating_sub(due + PERIOD);
        if late > 0 {
            event!(DeadlineMissed, number, (late / 1000) as u32);
            println!("missed\t{number}\t{late}");
        }
        truth.add(&chain);
    }
    truth.end();
    drop(stream);
    decoder.wait().map(drop)
}

pub(crate) fn decoder() -> io::Result<()> {
    // Standard input is the socket.
    let socket = rustix::io::dup(io::stdin())?;
    let mut stream = UnixStream::from(socket);
    let mut number = 0u32;
    while let Some(mut chain) = Chain::receive(&mut stream)? {
        let is_first = chain.0.is_empty();
        chain.stamp(Who::Decoder, What::Arrival);
        if !is_first {
            event!(WorkBegin, number);
            crate::work(if number % 8 == 7 { DECODE_LONG } else { DECODE });
            event!(WorkEnd, number);
            number += 1;
        }
        chain.stamp(Who::Decoder, What::Work);
        chain.send(&mut stream)?;
    }
    Ok(())
}
