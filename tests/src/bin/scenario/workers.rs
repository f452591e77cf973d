//! A server with 128 threads, and a client with one request at a time.
//!
//! ```text
//!  customer ── TCP ──▶ acceptor ── queue ──▶ one of 128 workers ── TCP ──▶ customer
//! ```

use crate::chain::{Chain, What, Who};
use crate::events::*;
use crate::mail;
use crate::truth::Truth;
use std::collections::VecDeque;
use std::io;
use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use telemetry::event;

const REQUEST_COUNT: u32 = 40;
const WORKER_COUNT: u32 = 128;
const WORK: Duration = Duration::from_millis(20);

pub(crate) fn customer() -> io::Result<()> {
    let (mut server, address) = mail::server(&["server"])?;
    let mut stream = mail::connect(&address)?;
    let mut truth = Truth::begin();
    for number in 0..REQUEST_COUNT {
        event!(WorkBegin, number);
        let mut chain = Chain::default();
        chain.stamp(Who::Customer, What::Work);
        crate::work(Duration::from_millis(4));
        chain.stamp(Who::Customer, What::Work);
        chain.send(&mut stream)?;
        let mut chain = Chain::receive(&mut stream)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        chain.stamp(Who::Customer, What::Arrival);
        event!(WorkEnd, number);
        truth.add(&chain);
    }
    truth.end();
    drop(stream);
    server.wait().map(drop)
}

/// Requests that wait, and whether no more will come.
#[derive(Default)]
struct Queue {
    inner: Mutex<(VecDeque<Chain>, bool)>,
    changed: Condvar,
}

impl Queue {
    fn push(&self, chain: Option<Chain>) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        match chain {
            Some(chain) => {
                inner.0.push_back(chain);
                self.changed.notify_one();
            }
            None => {
                inner.1 = true;
                self.changed.notify_all();
            }
        }
    }

    fn pop(&self) -> Option<Chain> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(chain) = inner.0.pop_front() {
                return Some(chain);
            }
            if inner.1 {
                return None;
            }
            inner = self.changed.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn worker(queue: &Queue, stream: &Mutex<TcpStream>) -> io::Result<()> {
    crate::settle(Who::Worker.name())?;
    let mut number = 0u32;
    while let Some(mut chain) = queue.pop() {
        chain.stamp(Who::Worker, What::Arrival);
        event!(WorkBegin, number);
        crate::work(WORK);
        event!(WorkEnd, number);
        number += 1;
        chain.stamp(Who::Worker, What::Work);
        chain.send(&mut *stream.lock().unwrap_or_else(PoisonError::into_inner))?;
    }
    Ok(())
}

pub(crate) fn server() -> io::Result<()> {
    rustix::thread::set_name(c"acceptor")?;
    let mut stream = mail::accept()?;
    let answers = Arc::new(Mutex::new(stream.try_clone()?));
    let queue = Arc::new(Queue::default());
    let workers: Vec<_> = (0..WORKER_COUNT)
        .map(|_| {
            let (queue, answers) = (queue.clone(), answers.clone());
            thread::spawn(move || worker(&queue, &answers))
        })
        .collect();
    while let Some(mut chain) = Chain::receive(&mut stream)? {
        chain.stamp(Who::Acceptor, What::Arrival);
        queue.push(Some(chain));
    }
    queue.push(None);
    for worker in workers {
        worker.join().map_err(|_| io::Error::other("a worker panicked"))??;
    }
    Ok(())
}
