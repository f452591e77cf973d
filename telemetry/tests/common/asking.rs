//! A client of this process's own control service, for the tests of control from outside.
//!
//! ```text
//!  ask("get") ──▶ ./PID.sock ──▶ answer ── value(answer, key)
//! ```
#![allow(dead_code, missing_docs, unreachable_pub, reason = "each test uses some of it")]

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

pub const HERE: (&str, &str) = ("MPS_TELEMETRY_SOCKET", ".");
pub const WRITER: (&str, &str) = ("MPS_TELEMETRY_WRITER", "thread");

pub fn socket_of(process: u32) -> String {
    format!("{process}.sock")
}

pub fn connect() -> UnixStream {
    let stream = UnixStream::connect(socket_of(std::process::id())).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    stream
}

/// Sends bytes, and returns the answer up to the end of the connection.
pub fn answer_to(bytes: &[u8]) -> String {
    let mut stream = connect();
    // The service may close before it has read a request that is too long.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

pub fn ask(request: &str) -> String {
    answer_to(format!("{request}\n").as_bytes())
}

/// Returns the value of a key in an answer that ends with `ok`.
pub fn value(answer: &str, key: &str) -> String {
    assert!(answer.ends_with("\nok\n"), "{answer}");
    let start = format!("{key}: ");
    let mut values = answer.lines().filter_map(|line| line.strip_prefix(&start));
    values.next().unwrap_or_else(|| panic!("no {key}: {answer}")).to_owned()
}

pub fn number(answer: &str, key: &str) -> u64 {
    value(answer, key).parse().unwrap()
}
