//! A shell, and gdb in it: commands go in, what each printed comes out.
//!
//! ```text
//!  step ─▶ bash ─▶ gdb           one input, one output for all, as on a terminal
//!            └───────┴─▶ text, a mark when the command is done
//!                          └─ of what runs in the background, more may come
//! ```
//!
//! Rules: the beginning of `design/postmortem.md`.

use crate::page::{Prompt, Step, is_as_shown};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};
use tests::programs::{eventcnv, release, root, system};

/// How long a command may take: far longer than on any machine.
const DEADLINE: Duration = Duration::from_secs(150);
/// Comes when a command is done.
const MARK: &str = "\u{1}\n";
/// Lines that are told of a long output that is wrong, at its beginning and end.
const END_COUNT: usize = 20;
const SHELL_MARK: &str = "printf '\\001\\n'";
const GDB_MARK: &str = "echo \\001\\n";
const GDB_PROMPT: &str = "(gdb) ";

/// Programs die by `dies`: their core is called `core`, and where the system gives cores to another
/// program, gdb takes it.
const DIES_TO_KERNEL: &str = "dies() { \"$@\"; if [ -e core.* ]; then mv core.* core; fi; }";
const DIES_TO_GDB: &str = "dies() { gdb -q -batch -ex run -ex 'gcore core' --args \"$@\" \
    >gdb.out 2>&1; echo 'Segmentation fault (core dumped)'; }";

/// A shell in a directory of its own.
pub(crate) struct Terminal {
    child: Child,
    input: ChildStdin,
    output: Receiver<Vec<u8>>,
    /// Read, and not yet given.
    text: String,
    is_gdb: bool,
    _home: tempfile::TempDir,
}

impl Terminal {
    /// A shell in what looks like the root of the repository.
    pub(crate) fn open() -> Terminal {
        system("gdb");
        let home = tempfile::tempdir().expect("a directory can be made");
        lay_out(home.path());
        let (mut reader, writer) = io::pipe().expect("a pipe can be made");
        let mut shell = Command::new("bash");
        shell.args(["--noprofile", "--norc"]).current_dir(home.path()).process_group(0);
        shell.env("HOME", home.path()).env("TMPDIR", home.path()).env("LC_ALL", "C.UTF-8");
        shell.env_remove("XDG_CONFIG_HOME").env_remove("DEBUGINFOD_URLS");
        for (name, _) in env::vars_os().filter(|(name, _)| is_ours(name)) {
            shell.env_remove(name);
        }
        shell.stdin(Stdio::piped()).stderr(writer.try_clone().expect("a pipe has two names"));
        let mut child = shell.stdout(writer).spawn().expect("bash can be run");
        drop(shell); // which has the pipe open
        let (sender, output) = channel();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        let input = child.stdin.take().expect("it is a pipe");
        let mut terminal =
            Terminal { child, input, output, text: String::new(), is_gdb: false, _home: home };
        terminal.send(if kernel_writes_cores() { DIES_TO_KERNEL } else { DIES_TO_GDB });
        terminal
    }

    /// Runs a command, and fails if it does not print what the page shows.
    pub(crate) fn run(&mut self, step: &Step) {
        assert_eq!(self.is_gdb, step.prompt == Prompt::Gdb, "{step}: typed into the other one");
        let command = &step.command;
        if self.is_gdb {
            self.send(command);
            self.is_gdb = command != "quit";
        } else {
            let is_dying = command.ends_with(" crash");
            let at = command.rfind("bank crash").map_or(0, |at| at);
            let (before, program) = command.split_at(if is_dying { at } else { 0 });
            let dies = if is_dying { "dies " } else { "" };
            self.is_gdb = program.starts_with("gdb ");
            let separator = if program.ends_with('&') { ' ' } else { ';' };
            self.send(&format!("{before}{dies}{program}{separator} {SHELL_MARK}"));
        }
        if self.is_gdb {
            self.send(GDB_MARK);
        }
        self.judge(step);
    }

    fn send(&mut self, line: &str) {
        writeln!(self.input, "{line}").expect("the shell reads");
    }

    /// Reads until the output has all that the page shows.
    fn judge(&mut self, step: &Step) {
        let begin = Instant::now();
        let may_follow = step.command.ends_with('&');
        loop {
            if self.text.contains(MARK) {
                let printed = lines(&self.text.replacen(MARK, "", 1));
                if is_refused(&step.command, &printed) {
                    self.text.clear();
                    self.send(&format!("{} --force", step.command));
                    self.send(GDB_MARK);
                    continue;
                }
                let (shown, printed) = without_what_gdb_cannot(&step.shown, printed);
                if is_as_shown(&shown, &printed) {
                    self.text.clear();
                    return;
                }
                assert!(
                    may_follow,
                    "design/postmortem.md, {step} shows\n{}\nand it printed\n{}",
                    shown.join("\n"),
                    ends(&printed)
                );
            }
            let left = DEADLINE.saturating_sub(begin.elapsed());
            match self.output.recv_timeout(left) {
                Ok(bytes) => self.text.push_str(&String::from_utf8_lossy(&bytes)),
                Err(error) => panic!("{step}: {error}, and until then\n{}", self.text),
            }
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let group = format!("-{}", self.child.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        let _ = self.child.wait();
    }
}

/// Makes a directory look like the root of the repository with all programs built.
fn lay_out(home: &Path) {
    let bank = Path::new(env!("CARGO_BIN_EXE_bank"));
    let target = home.join("target");
    fs::create_dir(&target).expect("a directory can be made");
    let eventcnv = Path::new(eventcnv().get_program()).parent().expect("a folder").to_owned();
    assert_eq!(bank.parent(), Some(&*eventcnv), "all programs are in one folder");
    let shipped = release("bank", &[]).parent().expect("a folder").to_owned();
    let links = [
        (eventcnv, target.join("debug")),
        (shipped, target.join("release")),
        (root().join("telemetry"), home.join("telemetry")),
    ];
    for (from, to) in links {
        symlink(from, to).expect("a link can be made");
    }
}

fn is_ours(name: &OsString) -> bool {
    name.to_string_lossy().starts_with("MPS_TELEMETRY_")
}

/// Whether the kernel itself writes cores, where the program runs.
fn kernel_writes_cores() -> bool {
    let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    let pattern = pattern.trim();
    pattern.starts_with("core") && !pattern.contains('/')
}

/// The lines that a reader at a terminal sees. A shell that reads no terminal says more of jobs
/// that die, and in other words.
fn lines(text: &str) -> Vec<String> {
    let text = text.replace(GDB_PROMPT, "");
    let shell = |line: &str| match line.split_once(": line ") {
        Some((_, said)) if said.contains(" Killed ") => None,
        Some((_, said))
            if said.contains("Segmentation fault") && said.contains("(core dumped)") =>
        {
            Some("Segmentation fault (core dumped)".to_owned())
        }
        _ => Some(line.to_owned()),
    };
    text.lines().filter_map(shell).collect()
}

/// Lines as a text, of many the first and the last.
fn ends(lines: &[String]) -> String {
    if lines.len() <= 2 * END_COUNT {
        return lines.join("\n");
    }
    let (first, last) = (&lines[..END_COUNT], &lines[lines.len() - END_COUNT..]);
    format!("{}\n[…]\n{}", first.join("\n"), last.join("\n"))
}

/// Whether this gdb is too old for the processor: then the page says what to type.
fn is_refused(command: &str, printed: &[String]) -> bool {
    let is_refusal = |line: &String| line.starts_with("not called: this gdb ");
    command == "telemetry flush" && printed.iter().any(is_refusal)
}

/// A gdb before 14 calls functions on processors with AMX, and then cannot tell what they gave.
fn without_what_gdb_cannot(shown: &[String], printed: Vec<String>) -> (Vec<String>, Vec<String>) {
    let is_told = |line: &String| {
        line.starts_with("Couldn't write extended state status")
            || line.starts_with("telemetry: this gdb could not put the vector registers back")
    };
    if !printed.iter().any(is_told) {
        return (shown.to_vec(), printed);
    }
    let is_result = |line: &&String| line.starts_with('$') && line.contains(" = ");
    let shown = shown.iter().filter(|line| !is_result(line));
    let shown = shown.map(|line| line.replace("flushed: … bytes", "flushed")).collect();
    (shown, printed.into_iter().filter(|line| !is_told(line)).collect())
}
