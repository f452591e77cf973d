//! A client, two servers on the way, and one that checks passwords: over TCP.
//!
//! ```text
//!  client ─▶ front ─▶ back ─▶ auth: sha512, then a record on the disk
//! ```

use crate::chain::{Chain, What, Who};
use crate::events::*;
use crate::truth::Truth;
use sha2::{Digest, Sha512};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Child;
use std::time::Duration;
use telemetry::event;

const REQUEST_COUNT: u32 = 10;
const WORK: Duration = Duration::from_millis(10);
/// Rounds of a password's hash.
const HASH_COUNT: u32 = 2400;

pub(crate) fn client(folder: &Path) -> io::Result<()> {
    let folder = folder.to_str().ok_or(io::ErrorKind::InvalidInput)?;
    let (mut auth, address) = server(&["auth", folder])?;
    let (mut back, address) = server(&["back", &address])?;
    let (mut front, address) = server(&["front", &address])?;
    let mut stream = connect(&address)?;
    let mut truth = Truth::begin();
    for number in 0..REQUEST_COUNT {
        event!(WorkBegin, number);
        let mut chain = Chain::default();
        chain.stamp(Who::Client, What::Work);
        crate::work(WORK);
        chain.stamp(Who::Client, What::Work);
        chain.send(&mut stream)?;
        let mut chain = Chain::receive(&mut stream)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        chain.stamp(Who::Client, What::Arrival);
        event!(WorkEnd, number);
        truth.add(&chain);
    }
    truth.end();
    drop(stream);
    for server in [&mut front, &mut back, &mut auth] {
        server.wait()?;
    }
    Ok(())
}

/// Starts a server. Returns it with its address.
pub(crate) fn server(words: &[&str]) -> io::Result<(Child, String)> {
    let mut child = crate::start(words)?;
    let out = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let mut address = String::new();
    BufReader::new(out).read_line(&mut address)?;
    Ok((child, address.trim().to_owned()))
}

/// Connects without a delay of small messages.
pub(crate) fn connect(address: &str) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Listens, tells the address, and takes one connection.
pub(crate) fn accept() -> io::Result<TcpStream> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?);
    let (stream, _) = listener.accept()?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Passes requests on to another server, and answers back.
pub(crate) fn relay(who: Who, address: &str) -> io::Result<()> {
    let mut other = connect(address)?;
    let mut stream = accept()?;
    while let Some(mut chain) = Chain::receive(&mut stream)? {
        chain.stamp(who, What::Arrival);
        crate::work(WORK);
        chain.stamp(who, What::Work);
        chain.send(&mut other)?;
        let mut chain = Chain::receive(&mut other)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        chain.stamp(who, What::Arrival);
        crate::work(WORK);
        chain.stamp(who, What::Work);
        chain.send(&mut stream)?;
    }
    Ok(())
}

pub(crate) fn auth(folder: &Path) -> io::Result<()> {
    let mut journal = File::create(folder.join("journal"))?;
    let mut stream = accept()?;
    while let Some(mut chain) = Chain::receive(&mut stream)? {
        chain.stamp(Who::Auth, What::Arrival);
        event!(AuthBegin);
        let mut hash = Sha512::digest(b"password");
        for _ in 0..HASH_COUNT {
            hash = Sha512::digest(hash);
        }
        journal.write_all(&hash)?;
        chain.stamp(Who::Auth, What::Work);
        event!(SyncBegin);
        journal.sync_all()?;
        event!(SyncEnd);
        chain.stamp(Who::Auth, What::Sync);
        event!(AuthEnd);
        chain.send(&mut stream)?;
    }
    Ok(())
}
