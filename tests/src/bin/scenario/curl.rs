//! A thread looks up a host's address, and its parent asks again and again whether it is known; or
//! is told by an eventfd.
//!
//! ```text
//!  curl     poll 1 ms, 2 ms, … 5 ms, 5 ms: known?    mended: poll until the asker writes
//!  asker    ask ┐                  ┌ known
//!  resolver     └────── work ──────┘      over UDP
//! ```

use crate::chain::{Chain, What, Who};
use crate::events::*;
use crate::mail;
use crate::truth::Truth;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use std::io;
use std::net::UdpSocket;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;
use telemetry::event;

const LOOKUP_COUNT: u32 = 20;
const MESSAGE_SIZE_MAX: usize = 4096;
/// How long the parent polls for, at most, in ms.
const POLL_MAX: i64 = 5;

fn receive(socket: &UdpSocket) -> io::Result<(Option<Chain>, std::net::SocketAddr)> {
    let mut bytes = [0; MESSAGE_SIZE_MAX];
    let (size, from) = socket.recv_from(&mut bytes)?;
    Ok((Chain::receive(&mut &bytes[..size])?, from))
}

fn send(socket: &UdpSocket, chain: &Chain, to: std::net::SocketAddr) -> io::Result<()> {
    let mut bytes = Vec::new();
    chain.send(&mut bytes)?;
    socket.send_to(&bytes, to).map(drop)
}

/// Answers until an empty message comes.
pub(crate) fn resolver() -> io::Result<()> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    println!("{}", socket.local_addr()?);
    let mut number = 0u32;
    loop {
        let (chain, from) = receive(&socket)?;
        let Some(mut chain) = chain.filter(|chain| !chain.0.is_empty()) else { return Ok(()) };
        chain.stamp(Who::Resolver, What::Arrival);
        // 27 to 45 ms: an answer comes somewhere in a poll.
        crate::work(Duration::from_micros(27_000 + u64::from(number * 5100 % 18_000)));
        number += 1;
        chain.stamp(Who::Resolver, What::Work);
        send(&socket, &chain, from)?;
    }
}

/// Asks the resolver, and tells the parent.
fn asker(
    resolver: std::net::SocketAddr,
    mut chain: Chain,
    tell: &Sender<Chain>,
    signal: Option<&OwnedFd>,
) -> io::Result<()> {
    crate::settle(Who::Asker.name())?;
    chain.stamp(Who::Asker, What::Arrival);
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    chain.stamp(Who::Asker, What::Work);
    send(&socket, &chain, resolver)?;
    let mut chain = receive(&socket)?.0.ok_or(io::ErrorKind::UnexpectedEof)?;
    chain.stamp(Who::Asker, What::Arrival);
    tell.send(chain).map_err(io::Error::other)?;
    if let Some(signal) = signal {
        rustix::io::write(signal, &1u64.to_ne_bytes())?;
    }
    Ok(())
}

/// Polls until the asker is done. Returns the stamps of this thread alone.
fn wait_polling(known: &Receiver<Chain>) -> io::Result<Chain> {
    let mut own = Chain::default();
    let mut ms = 1;
    own.stamp(Who::Curl, What::Work);
    while known.try_recv().is_err() {
        own.stamp(Who::Curl, What::Work);
        poll(&mut [], Some(&Timespec { tv_sec: 0, tv_nsec: ms * 1_000_000 }))?;
        own.stamp(Who::Curl, What::Timeout);
        ms = (ms + 1).min(POLL_MAX);
    }
    own.stamp(Who::Curl, What::Work);
    Ok(own)
}

/// Waits for the asker's signal. Returns the stamps of all threads.
fn wait_told(known: &Receiver<Chain>, signal: &OwnedFd) -> io::Result<Chain> {
    poll(&mut [PollFd::new(signal, PollFlags::IN)], None)?;
    rustix::io::read(signal, &mut [0; 8])?;
    let mut chain = known.recv().map_err(io::Error::other)?;
    chain.stamp(Who::Curl, What::Arrival);
    Ok(chain)
}

pub(crate) fn run(is_mended: bool) -> io::Result<()> {
    let (mut resolver, address) = mail::server(&["resolver"])?;
    let address = address.parse().map_err(io::Error::other)?;
    let signal = eventfd(0, EventfdFlags::empty())?;
    let mut truth = Truth::begin();
    for number in 0..LOOKUP_COUNT {
        event!(LookupBegin, number);
        let (tell, known) = channel();
        let mut begin = Chain::default();
        begin.stamp(Who::Curl, What::Work);
        crate::work(Duration::from_micros(500));
        begin.stamp(Who::Curl, What::Work);
        let chain = thread::scope(|scope| {
            let (chain, signal) = (begin.clone(), &signal);
            let told = is_mended.then_some(signal);
            let asker = thread::Builder::new()
                .spawn_scoped(scope, move || asker(address, chain, &tell, told))?;
            let chain = if is_mended {
                wait_told(&known, signal)?
            } else {
                begin.0.extend(wait_polling(&known)?.0);
                begin
            };
            asker.join().map_err(|_| io::Error::other("the asker panicked"))??;
            io::Result::Ok(chain)
        })?;
        truth.add(&chain);
        event!(LookupEnd, number);
    }
    truth.end();
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    send(&socket, &Chain::default(), address)?;
    resolver.wait().map(drop)
}
