//! A shell, and gdb in it: sends commands, and collects the output of each.
//!
//! ```text
//!  step ─▶ bash ─▶ gdb           one input and one output for both, as on a terminal
//!            └───────┴─▶ text, and a mark when the command has ended
//!                          └─ programs in the background may print more
//! ```
//!
//! Rules: the beginning of `design/postmortem.md`.

use crate::page::{Prompt, Step, forms, is_as_shown};
use std::env;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};
use tests::programs::kernel_writes_cores;

/// Limits the time of a command; it is far longer than any machine needs.
const DEADLINE: Duration = Duration::from_secs(150);
/// Printed when a command has ended.
const MARK: &str = "\u{1}\n";
/// The number of lines of wrong output that a message shows, at the beginning and the end.
const END_COUNT: usize = 20;
const SHELL_MARK: &str = "printf '\\001\\n'";
const GDB_MARK: &str = "echo \\001\\n";
const GDB_PROMPT: &str = "(gdb) ";

/// `dies` runs a program that dies, and names its core `core`. If the system passes cores to
/// another program, gdb makes the core.
const DIES_TO_KERNEL: &str = "dies() { \"$@\"; if [ -e core.* ]; then mv core.* core; fi; }";
const DIES_TO_GDB: &str = "dies() { gdb -q -batch -ex run -ex 'gcore core' --args \"$@\" \
    >gdb.out 2>&1; echo 'Segmentation fault (core dumped)'; }";

/// A shell in its own directory.
pub(crate) struct Terminal {
    page: &'static str,
    /// Whether numbers that differ from run to run have their form alone.
    by_form: bool,
    child: Child,
    input: ChildStdin,
    output: Receiver<Vec<u8>>,
    /// Text that was read and not yet compared.
    text: String,
    is_gdb: bool,
    _home: tempfile::TempDir,
}

impl Terminal {
    /// Starts a shell for a page, in a directory that is laid out first.
    pub(crate) fn open(page: &'static str, by_form: bool, lay_out: impl Fn(&Path)) -> Terminal {
        let home = tempfile::tempdir().expect("a directory can be made");
        lay_out(home.path());
        let (mut reader, writer) = io::pipe().expect("a pipe can be made");
        let mut shell = Command::new("bash");
        shell.args(["--noprofile", "--norc"]).current_dir(home.path()).process_group(0);
        shell.env("HOME", home.path()).env("TMPDIR", home.path()).env("LC_ALL", "C.UTF-8");
        shell.env_remove("XDG_CONFIG_HOME").env_remove("DEBUGINFOD_URLS");
        // The compiler stays that of the user.
        for (name, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
            let usual = env::home_dir().map(|home| home.join(folder).into_os_string());
            shell.envs(env::var_os(name).or(usual).map(|path| (name, path)));
        }
        for (name, _) in env::vars_os().filter(|(name, _)| is_ours(name)) {
            shell.env_remove(name);
        }
        shell.stdin(Stdio::piped()).stderr(writer.try_clone().expect("a pipe has two names"));
        let mut child = shell.stdout(writer).spawn().expect("bash can be run");
        drop(shell); // closes the pipe
        let (sender, output) = channel();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        let input = child.stdin.take().expect("a pipe");
        let text = String::new();
        let mut terminal =
            Terminal { page, by_form, child, input, output, text, is_gdb: false, _home: home };
        terminal.send(if kernel_writes_cores() { DIES_TO_KERNEL } else { DIES_TO_GDB });
        terminal
    }

    /// Runs a command, and fails if it does not print what the page shows. With `BLESS` in the
    /// environment it returns what it printed.
    pub(crate) fn run(&mut self, step: &Step) -> Option<Vec<String>> {
        if step.prompt == Prompt::File {
            let text = step.shown.join("\n");
            self.send(&format!("cat >{} <<'END'\n{text}\nEND", step.command));
            return None;
        }
        assert_eq!(self.is_gdb, step.prompt == Prompt::Gdb, "{step}: wrong prompt");
        let command = &step.command;
        if self.is_gdb {
            self.send(command);
            self.is_gdb = command != "quit";
        } else {
            let dying = command.strip_suffix(" crash");
            let at = dying.and_then(|words| words.rfind(' ')).map_or(0, |at| at + 1);
            let (before, program) = command.split_at(at);
            let dies = if dying.is_some() { "dies " } else { "" };
            self.is_gdb = program.starts_with("gdb ");
            let separator = if program.ends_with('&') { ' ' } else { ';' };
            self.send(&format!("{before}{dies}{program}{separator} {SHELL_MARK}"));
        }
        if self.is_gdb {
            self.send(GDB_MARK);
        }
        self.judge(step)
    }

    /// Sends a line that the page does not show, and that prints nothing.
    pub(crate) fn send(&mut self, line: &str) {
        writeln!(self.input, "{line}").expect("the shell reads");
    }

    /// Reads until the output has everything that the page shows.
    fn judge(&mut self, step: &Step) -> Option<Vec<String>> {
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
                let [expected, found] = [&shown, &printed].map(|lines| match self.by_form {
                    true => forms(lines),
                    false => lines.clone(),
                });
                let sorted = |lines: &[String]| {
                    let mut lines = lines.to_vec();
                    lines.sort();
                    lines
                };
                // Rows in order of time may come in another order.
                let is_reordered = || self.by_form && sorted(&expected) == sorted(&found);
                if is_as_shown(&expected, &found) || is_reordered() {
                    self.text.clear();
                    return None;
                }
                if !may_follow && env::var_os("BLESS").is_some() {
                    self.text.clear();
                    return Some(printed);
                }
                assert!(
                    may_follow,
                    "{}, {step} shows\n{}\nand it printed\n{}",
                    self.page,
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

fn is_ours(name: &OsString) -> bool {
    name.to_string_lossy().starts_with("MPS_TELEMETRY_")
}

/// Returns the lines that a user at a terminal sees. Without a terminal a shell reports dying jobs
/// in more and other words.
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

/// Returns lines as a text: of a long list, the first and the last.
fn ends(lines: &[String]) -> String {
    if lines.len() <= 2 * END_COUNT {
        return lines.join("\n");
    }
    let (first, last) = (&lines[..END_COUNT], &lines[lines.len() - END_COUNT..]);
    format!("{}\n[…]\n{}", first.join("\n"), last.join("\n"))
}

/// Returns whether this gdb is too old for the processor: then the page shows what to type.
fn is_refused(command: &str, printed: &[String]) -> bool {
    let is_refusal = |line: &String| line.starts_with("not called: this gdb ");
    command == "telemetry flush" && printed.iter().any(is_refusal)
}

/// Removes results: before version 14, gdb cannot show them on processors with AMX.
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
