//! A compiler compiles one file, and nothing of the compiler is in memory.

use crate::truth::Truth;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};
use rustix::fs::{Advice, fadvise};
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::Command;

const PROGRAM: &str = "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\
#include <math.h>\n#include <pthread.h>\n#include <sys/socket.h>\n#include <netdb.h>\n\
int main(void) { return puts(\"one file\") < 0; }\n";

/// Returns the files that the compiler of a file reads.
fn files(source: &Path) -> io::Result<Vec<String>> {
    let ask = |words: &[&str]| -> io::Result<String> {
        let output = Command::new("cc").args(words).arg(source).output()?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let mut files: Vec<String> = ask(&["-M"])?
        .split_whitespace()
        .filter(|word| word.starts_with('/'))
        .map(str::to_owned)
        .collect();
    for program in ["cc1", "as"] {
        let output = Command::new("cc").arg(format!("-print-prog-name={program}")).output()?;
        files.push(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let which = Command::new("sh").args(["-c", "command -v cc as"]).output()?;
    files.extend(String::from_utf8_lossy(&which.stdout).lines().map(str::to_owned));
    for program in files.clone().iter().filter(|path| path.ends_with("/cc1")) {
        let libraries = Command::new("ldd").arg(program).output()?;
        let text = String::from_utf8_lossy(&libraries.stdout).into_owned();
        files.extend(
            text.split_whitespace().filter(|word| word.starts_with('/')).map(str::to_owned),
        );
    }
    Ok(files)
}

/// Takes files out of memory, as far as no process maps them. Others' files stay.
fn forget(files: &[String]) {
    for path in files {
        if let Ok(file) = File::open(path) {
            // A file that stays makes the compiler faster, not the truth wrong.
            let _ = fadvise(&file, 0, None, Advice::DontNeed);
        }
    }
}

/// Returns the processor time of all children that ended, in ns.
fn children() -> io::Result<u64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let us = |time: TimeVal| time.num_microseconds() as u64;
    Ok((us(usage.user_time()) + us(usage.system_time())) * 1000)
}

pub(crate) fn run(folder: &Path) -> io::Result<()> {
    let source = folder.join("one.c");
    fs::write(&source, PROGRAM)?;
    forget(&files(&source)?);
    let before = children()?;
    let mut truth = Truth::begin();
    let status = Command::new("cc")
        .args(["-O2", "-c", "-o"])
        .arg(folder.join("one.o"))
        .arg(&source)
        .status()?;
    truth.share("running", children()? - before);
    truth.end();
    if status.success() { Ok(()) } else { Err(io::Error::other("cc failed")) }
}
