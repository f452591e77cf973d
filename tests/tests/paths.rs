//! The path of a compiled program by `eventcnv paths collect`, against the program's own counts.
//!
//! ```text
//!  steps.c ─ cc ─▶ steps ─┬─ its own count of calls ───────────────┐
//!                         └─ paths collect ─▶ path.log ─ pairs ────┴─ equal
//!                            2 machines ─▶ jobs ─▶ runs ─ paths walk ─▶ the same
//! ```
//!
//! Design: `design/collect.md`.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tests::programs::{eventcnv, lines, run, system};

/// Compiles the program, and returns its count of the calls of `step`.
fn compile(folder: &Path) -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/paths/steps.c");
    run(system("cc").current_dir(folder).args(["-O1", "-o", "steps"]).arg(source));
    lines(Command::new("./steps").current_dir(folder).arg("97")).remove(0)
}

fn paths(folder: &Path, words: &[&str]) -> Output {
    eventcnv().current_dir(folder).arg("paths").args(words).output().expect("eventcnv runs")
}

/// Returns how often a function is called in the log of a path.
fn calls(log: &Path, function: &str) -> String {
    let pairs = lines(eventcnv().arg("pairs").arg(log));
    let row = pairs.iter().find_map(|line| line.strip_prefix(&format!("{function} ")));
    row.and_then(|row| row.split_whitespace().next()).expect("the function").to_owned()
}

#[test]
fn a_collected_path_has_the_calls_that_the_program_counts() {
    let folder = tempfile::tempdir().expect("a folder");
    let counted = compile(folder.path());
    assert_eq!(counted, "118", "of the Collatz sequence of 97");
    let words = ["collect", "-o", "path.log", "--", "./steps", "97"];
    let collected = paths(folder.path(), &words);
    let said = String::from_utf8_lossy(&collected.stderr);
    assert_eq!(collected.status.code(), Some(0), "{said}");
    assert_eq!(collected.stdout, format!("{counted}\n").as_bytes(), "what the program prints");
    assert_eq!(calls(&folder.path().join("path.log"), "step"), counted);
    assert_eq!(calls(&folder.path().join("path.log"), "main"), "1");
}

#[test]
fn the_jobs_of_two_machines_give_the_path_of_one_and_a_lost_job_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let counted = compile(folder.path());
    let words = ["plan", "--machines", "2", "--jobs", "jobs", "--", "./steps", "97"];
    assert_eq!(paths(folder.path(), &words).status.code(), Some(0));
    let jobs = folder.path().join("jobs");
    for job in ["job-0.json", "job-1.json"] {
        let done = paths(folder.path(), &["collect", "--job", &format!("jobs/{job}")]);
        assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    }
    let walked = paths(folder.path(), &["walk", "jobs", "-o", "path.log"]);
    assert_eq!(walked.status.code(), Some(0), "{}", String::from_utf8_lossy(&walked.stderr));
    assert_eq!(calls(&folder.path().join("path.log"), "step"), counted);
    let runs = fs::read_dir(&jobs).expect("a folder").map(|file| file.expect("a file").path());
    let run = runs.filter(|path| path.extension().is_some_and(|it| it == "log")).min();
    fs::remove_file(run.expect("a run")).expect("a file");
    let walked = paths(folder.path(), &["walk", "jobs", "-o", "lost.log"]);
    assert_eq!(walked.status.code(), Some(2));
    let said = String::from_utf8_lossy(&walked.stderr);
    assert!(said.contains("run 0 is lost: job 1 of 2"), "{said}");
    assert!(!folder.path().join("lost.log").exists(), "no log of a path that is not known");
}

/// Compiles a program from its text.
fn made(folder: &Path, name: &str, text: &str) {
    let headers = ["setjmp", "signal", "stdio", "stdlib", "unistd"];
    let headers: String = headers.iter().map(|own| format!("#include <{own}.h>\n")).collect();
    fs::write(folder.join(format!("{name}.c")), headers + text).expect("a file");
    run(system("cc").current_dir(folder).args(["-O1", "-w", "-o", name, &format!("{name}.c")]));
}

/// Collects twice and compares. Returns the exit status and the messages.
fn checked(folder: &Path, words: &[&str]) -> (Option<i32>, String) {
    let words = [&["collect", "--check", "--force", "-o", "path.log"], words].concat();
    let done = paths(folder, &words);
    (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
}

#[test]
fn what_has_no_single_path_is_refused_in_words() {
    let folder = tempfile::tempdir().expect("a folder");
    let of = |name: &str, text: &str| made(folder.path(), name, text);
    of(
        "differs",
        "int main(void) { int s = 0; for (int b = getpid(); b; b >>= 1) \
                   s += b & 1 ? 3 : getppid(); return s & 1; }",
    );
    of("says", "int main(int c) { printf(\"%d\\n\", getpid()); return c > 1; }");
    of("executes", "int main(void) { return execlp(\"true\", \"true\", (char *)0); }");
    of(
        "leaps",
        "static jmp_buf b; __attribute__((noinline)) void _Z4leapi(int k) \
                 { if (k > 2) longjmp(b, 1); _Z4leapi(k + 1); } int main(int c) { \
                 if (!setjmp(b)) _Z4leapi(c); return c > 2; }",
    );
    of(
        "adds",
        "__attribute__((noinline)) int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); } \
         int main(int c) { return fib(c + 4) > 99; }",
    );
    of(
        "alone",
        "int main(int c) { void *volatile all[] = { &&one, &&two }; goto *all[c % 2]; \
         one: return 1; two: return 2; }",
    );
    let static_ = ["-static", "-O1", "-w", "-o", "static", "says.c"];
    run(system("cc").current_dir(folder.path()).args(static_));
    fs::write(folder.path().join("script"), "#!/bin/sh -e\necho\n").expect("a file");
    for (words, status, says) in [
        (&["--", "./executes"][..], 2, "the program executed another program"),
        (&["--", "./script"], 2, "is a script; the path is that of its interpreter: /bin/sh -e ./"),
        (&["--", "./says"], 0, "the output of run 0 differs from that of its repetition, the path"),
        (&["--", "./leaps"], 1, "its next is an unwinding, or a jump out of several calls"),
        (&["--", "./leaps"], 1, "leap(int)"),
        (&["--", "./alone"], 2, "no table tells where the jump at 0x"),
        (&["--", "./alone"], 2, "so the path cannot begin in main: no other function is known"),
        (&["--", "./static"], 2, "functions; choose functions by parts of their names: --only"),
        (&["--limit", "1", "--", "./adds"], 2, "witnesses in one run; raise --limit"),
    ] {
        let (code, said) = checked(folder.path(), words);
        assert_eq!(code, Some(status), "{words:?}: {said}");
        assert!(said.contains(says), "{words:?}: {said}");
    }
    let differs = (0..9).map(|_| checked(folder.path(), &["--", "./differs"]));
    let refused = differs.filter(|(code, said)| {
        *code == Some(2) && said.contains("does not take one path: run 0 differs")
    });
    assert!(refused.count() > 0, "the number of the process decides");
}

#[test]
fn calls_of_a_library_back_into_the_program_are_named_and_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    made(
        folder.path(),
        "sorts",
        "static int calls, signals; static int order(const void *a, const void *b) { calls++; \
         return *(int *)a - *(int *)b; } static void on(int s) { signals++; } int main(void) { \
         int a[9] = { 5, 3, 8, 1, 9, 2, 7, 4, 6 }; signal(SIGUSR1, on); qsort(a, 9, 4, order); \
         raise(SIGUSR1); printf(\"order %d, on %d\\n\", calls, signals); return 0; }",
    );
    let words = ["plan", "--machines", "2", "--jobs", "jobs", "--", "./sorts"];
    assert_eq!(paths(folder.path(), &words).status.code(), Some(0));
    let collected = paths(folder.path(), &["collect", "-o", "path.log", "--", "./sorts"]);
    let counted = String::from_utf8_lossy(&collected.stdout).trim().to_owned();
    for job in fs::read_dir(folder.path().join("jobs")).expect("a folder") {
        let job = job.expect("a file").path();
        let done = paths(folder.path(), &["collect", "--job", job.to_str().expect("a name")]);
        assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    }
    let walked = paths(folder.path(), &["walk", "jobs", "-o", "jobs.log"]);
    for done in [collected, walked] {
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(0), "{said}");
        assert!(said.contains(&format!("calls from code outside: {counted}")), "{said}");
    }
}
