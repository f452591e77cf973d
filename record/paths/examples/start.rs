//! Becomes a program that its parent traces: `start PROGRAM ARGUMENT…`.

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some((program, arguments)) = words.split_first() {
        eprintln!("{}", record_paths::enter(program, arguments));
    }
    ExitCode::FAILURE
}
