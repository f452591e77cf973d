//! Becomes a program that its parent traces: `start PROGRAM ARGUMENT…`.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() -> std::process::ExitCode {
    let words: Vec<std::ffi::OsString> = std::env::args_os().skip(1).collect();
    if let Some((program, arguments)) = words.split_first() {
        eprintln!("{}", record_paths::enter(program, arguments));
    }
    std::process::ExitCode::FAILURE
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() {}
