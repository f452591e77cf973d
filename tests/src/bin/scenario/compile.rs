//! A compiler compiles one file, and nothing of the compiler is in memory.

use crate::truth::Truth;
use rustix::fs::{Advice, fadvise};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

/// Longer than perf needs to begin. Before that, this process does nothing.
const BEGUN: Duration = Duration::from_millis(500);

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

/// `perf stat`, which counts the time on processors of this process and all that it starts. Unlike
/// their processor time, it has what a hypervisor took meanwhile, which no scheduler knows.
struct Counting(Child, PathBuf);

impl Counting {
    fn begin(folder: &Path) -> io::Result<Counting> {
        let told = folder.join("task-clock");
        let mut perf = Command::new("perf");
        perf.args(["stat", "-x", ",", "-e", "task-clock", "-p"]);
        perf.arg(std::process::id().to_string()).arg("-o").arg(&told);
        let counting = Counting(perf.spawn()?, told);
        std::thread::sleep(BEGUN);
        Ok(counting)
    }

    /// Returns the time in ns.
    fn end(mut self) -> io::Result<u64> {
        kill_process(Pid::from_child(&self.0), Signal::INT)?;
        self.0.wait()?;
        let text = fs::read_to_string(self.1)?;
        let line = text.lines().find(|line| line.contains(",task-clock"));
        let ms = line.and_then(|line| line.split(',').next()?.parse::<f64>().ok());
        Ok((ms.ok_or(io::ErrorKind::InvalidData)? * 1e6) as u64)
    }
}

pub(crate) fn run(folder: &Path) -> io::Result<()> {
    let source = folder.join("one.c");
    fs::write(&source, PROGRAM)?;
    forget(&files(&source)?);
    let counting = Counting::begin(folder)?;
    let mut truth = Truth::begin();
    let status = Command::new("cc")
        .args(["-O2", "-c", "-o"])
        .arg(folder.join("one.o"))
        .arg(&source)
        .status()?;
    truth.close();
    truth.share("running", counting.end()?);
    truth.end();
    if status.success() { Ok(()) } else { Err(io::Error::other("cc failed")) }
}
