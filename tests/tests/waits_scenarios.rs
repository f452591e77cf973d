//! Scenarios of waits, recorded live, against the truth that each program measures itself.
//!
//! ```text
//!  scenario NAME ─┬─ its own clocks ─────────────────▶ truth ─┐
//!  waits record ──┴▶ kernel.log ── waits explain ──▶ shares ──┴▶ within 2 points
//!  a spinner next to it ────────────────────────────▶ in no result
//! ```
//!
//! It needs root, and the processors for a few seconds: `./proofs waits` runs it. Design:
//! `.waits.scenarios` in `design/waits.md`.

#[allow(dead_code, reason = "the record alone is of use here")]
#[path = "../../telemetry/benches/recording/row.rs"]
mod row;

use eventlog::reader::{Clock, Log};
use lens::waits::model::{self, Cause, NONE, Options, What};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use tests::programs::{self, eventcnv, lines, recording, root, run};

/// The difference between a share and its truth, at most, in points.
const POINTS: f64 = 2.0;
/// The time that is accounted, at least, in percent.
const ACCOUNTED: f64 = 95.0;

/// The time between threads in percent: less. A program cannot tell what took it.
const HAND_OVER: f64 = 5.0;
/// Recordings of a machine with more than that, at most.
const BUSY_MAX: u32 = 5;

/// A program that is killed at the end of a test.
struct Stranger(Child);

impl Stranger {
    fn start() -> Stranger {
        let mut command = Command::new("nice");
        Stranger(command.arg(env!("CARGO_BIN_EXE_scenario")).arg("spinner").spawn().unwrap())
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What a scenario says of itself, in ns: by `share`, `owner`, `total`, and a name.
type Truth = BTreeMap<(String, String), u64>;

/// A scenario that was recorded.
struct Recorded {
    folder: tempfile::TempDir,
    truth: Truth,
    explained: Value,
    /// The answer for people.
    text: String,
}

/// Returns the command of a scenario. Other programs do not disturb its schedule.
fn scenario(folder: &Path, words: &[&str]) -> Vec<String> {
    let mut all = vec!["chrt", "--fifo", "1", env!("CARGO_BIN_EXE_scenario")];
    all.extend(words);
    let place = folder.to_str().unwrap();
    all.iter().map(|word| word.replace("FOLDER", place)).collect()
}

fn logs(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut logs: Vec<_> = paths.filter(|path| path.extension() == Some("log".as_ref())).collect();
    logs.sort();
    logs
}

fn explain(folder: &Path, words: &[&str]) -> Value {
    let mut command = eventcnv();
    command.args(["waits", "explain"]).args(logs(folder)).args(words).arg("--json");
    serde_json::from_slice(&run(&mut command).stdout).unwrap()
}

/// Records a scenario, and explains the time of its window.
fn record(words: &[&str]) -> Recorded {
    record_in(&[], words)
}

/// Does the same with a scenario that a command runs: in namespaces.
fn record_in(house: &[&str], words: &[&str]) -> Recorded {
    let hand_over = |it: &Recorded| it.truth("share", "hand-over").unwrap_or(0.0);
    let mut recorded = (0..BUSY_MAX).map(|_| record_once(house, words));
    let quiet = recorded.find(|it| hand_over(it) < HAND_OVER);
    quiet.unwrap_or_else(|| panic!("{words:?}: a machine too busy to tell, {BUSY_MAX} times"))
}

fn record_once(house: &[&str], words: &[&str]) -> Recorded {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let place = folder.path();
    let mut command = recording(eventcnv(), "all", &place.join("%p.log"));
    command.args(["waits", "record", "-o"]).arg(place.join("kernel.log")).arg("--").args(house);
    let output = command.args(scenario(place, words)).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}", errors.trim());
    let mut truth = Truth::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let [what, name, ns] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        truth.insert((what.to_owned(), name.to_owned()), ns.parse().unwrap());
    }
    let window = ["--of", words[0], "--from", "WindowBegin", "--to", "WindowEnd"];
    let explained = explain(place, &window);
    let mut command = eventcnv();
    command.args(["waits", "explain"]).args(logs(place)).args(window);
    let text = lines(&mut command).join("\n");
    Recorded { folder, truth, explained, text }
}

impl Recorded {
    fn total(&self) -> u64 {
        self.explained["total_ns"].as_u64().unwrap()
    }

    fn percent(&self, ns: u64) -> f64 {
        ns as f64 * 100.0 / self.total() as f64
    }

    /// Returns the time of shares in percent.
    fn shares(&self, names: &[&str]) -> f64 {
        let shares = self.explained["shares"].as_array().unwrap().iter();
        let is_named = |share: &&Value| names.contains(&share["share"].as_str().unwrap());
        self.percent(shares.filter(is_named).map(|share| share["ns"].as_u64().unwrap()).sum())
    }

    fn accounted(&self) -> f64 {
        100.0 - self.shares(&["unknown", "lost"])
    }

    /// Returns the truth in percent.
    fn truth(&self, what: &str, name: &str) -> Option<f64> {
        let own = self.truth.get(&(what.to_owned(), name.to_owned()))?;
        let total = self.truth[&("total".to_owned(), "window".to_owned())];
        Some(*own as f64 * 100.0 / total as f64)
    }

    /// Returns the time of threads of a name in percent.
    fn owned(&self, name: &str) -> f64 {
        let owners = self.explained["owners"].as_array().unwrap().iter();
        let is_named =
            |owner: &&Value| owner["name"].as_str().unwrap().split(" (").next() == Some(name);
        self.percent(owners.filter(is_named).map(|owner| owner["ns"].as_u64().unwrap()).sum())
    }

    /// Checks what holds of every scenario.
    fn check(&self) {
        let text = &self.text;
        let shares = self.explained["shares"].as_array().unwrap().iter();
        let sum: u64 = shares.map(|share| share["ns"].as_u64().unwrap()).sum();
        assert_eq!(sum, self.total(), "the shares sum to the total");
        assert!(self.accounted() >= ACCOUNTED, "{text}");
        // A stranger that had the processor is named for that alone.
        let waits = self.explained["waits"].as_array().unwrap().iter();
        let wakers = waits.map(|wait| &wait["by"]);
        let named = wakers.chain([&self.explained["owners"], &self.explained["path"]]);
        for named in named.map(Value::to_string) {
            assert!(!named.contains("spinner"), "a stranger: {named}\n{text}");
        }
        let close = |name: &str, own: f64, truth: f64| {
            let is_close = (own - truth).abs() <= POINTS;
            assert!(is_close, "{name}: {own:.2} %, in truth {truth:.2} %\n{text}");
        };
        // Work that another thread had begun before is work all the same. A program cannot tell
        // its system calls from the scheduler while a message goes from thread to thread.
        let work = ["understood", "running without a sample", "waiting for another path"];
        let (ran, ready) = (self.shares(&work), self.shares(&["scheduler"]));
        if let Some(truth) = self.truth("share", "running") {
            let between = self.truth("share", "hand-over").unwrap_or(0.0);
            close("running", ran, ran.clamp(truth, truth + between));
            if between > 0.0 {
                close("running and scheduler", ran + ready, truth + between);
            }
        }
        for (name, shares) in [
            ("involuntary", &["involuntary"][..]),
            ("deliberate sleep", &["deliberate sleep"]),
            ("sync", &["disk", "disk queue"]),
        ] {
            if let Some(truth) = self.truth("share", name) {
                close(name, self.shares(shares), truth);
            }
        }
        let timed = ["timed out", "timer"].map(|name| self.truth("share", name));
        if let Some(truth) = timed[0].or(timed[1]) {
            close("timed out", self.shares(&["timed out"]), truth);
        }
        for (what, name) in self.truth.keys().filter(|(what, _)| what == "owner") {
            // A mended program has another name than the thread of its stamps.
            let own = if name == "curl" {
                self.owned("curl") + self.owned("curl-mended")
            } else {
                self.owned(name)
            };
            close(name, own, self.truth(what, name).unwrap());
        }
    }

    /// Returns the row of the table.
    fn row(&self, name: &str) -> String {
        let size = fs::metadata(self.folder.path().join("kernel.log")).unwrap().len();
        let events = self.explained["events"].as_u64().unwrap();
        let owners = self.explained["owners"].as_array().unwrap().len();
        let mut row = format!("{name}\t{:.1}\t{owners}\t{events}", self.accounted());
        let _ = write!(row, "\t{:.1}", size as f64 / events as f64);
        let shares = self.explained["shares"].as_array().unwrap();
        for share in shares {
            let _ = write!(row, "\t{:.1}", self.percent(share["ns"].as_u64().unwrap()));
        }
        row + "\n"
    }

    /// Returns whether a wait in a call with this cause is listed.
    fn has_wait(&self, call: &str, cause: &str) -> bool {
        let waits = self.explained["waits"].as_array().unwrap();
        waits.iter().any(|wait| wait["call"] == call && wait["cause"] == cause)
    }
}

/// The share of `fsync` in the client's time is that of the truth.
fn check_mail(mail: &Recorded) {
    let auth = explain(mail.folder.path(), &["--of", "auth"]);
    let waits = auth["waits"].as_array().unwrap().iter();
    let syncs: Vec<&Value> = waits.filter(|wait| wait["call"] == "fsync").collect();
    let ns: u64 = syncs.iter().map(|wait| wait["ns"].as_u64().unwrap()).sum();
    let (own, truth) = (mail.percent(ns), mail.truth("share", "sync").unwrap());
    assert!((own - truth).abs() <= POINTS, "fsync: {own:.2} %, in truth {truth:.2} %");
    let is_named =
        |wait: &&&Value| wait["object"].as_str().is_some_and(|it| it.ends_with("/journal"));
    assert!(syncs.iter().any(|wait| is_named(&wait)), "{syncs:?}");
    assert!(syncs.iter().any(|wait| wait["event"] == "in Sync"), "{syncs:?}");
}

/// Missed deadlines are listed, and the longest frame was the decoder's work.
fn check_player(player: &Recorded) {
    let mut command = eventcnv();
    let query = "SELECT number_ FROM DeadlineMissed ORDER BY number_";
    let own = logs(player.folder.path()).into_iter().find(|log| {
        lines(eventcnv().arg("-v").arg(log)).iter().any(|line| line.contains("FrameBegin"))
    });
    let listed = lines(command.arg("query").arg(own.unwrap()).arg(query));
    let listed: Vec<u32> = listed.iter().filter_map(|line| line.trim().parse().ok()).collect();
    let missed = player.truth.keys().filter(|(what, _)| what == "missed");
    let mut missed: Vec<u32> = missed.map(|(_, number)| number.parse().unwrap()).collect();
    missed.sort_unstable();
    assert_eq!(listed, missed);
    assert!(missed.len() >= 8, "{missed:?}");
    let frames = ["--of", "player", "--from", "FrameBegin", "--to", "FrameEnd"];
    let path = explain(player.folder.path(), &frames)["path"].clone();
    let path = path.as_array().unwrap();
    let sum = |is_of: &dyn Fn(&str) -> bool| -> u64 {
        let of = path.iter().filter(|piece| is_of(piece["thread"].as_str().unwrap()));
        of.map(|piece| piece["ns"].as_u64().unwrap()).sum()
    };
    assert!(sum(&|name| name.starts_with("decoder")) * 2 > sum(&|_| true), "{path:?}");
}

#[test]
#[ignore = "records the kernel, and takes the processors: ./proofs waits runs it"]
fn seven_scenarios_are_accounted_as_they_say_themselves() {
    let _stranger = Stranger::start();
    let mut table = String::from("# scenario\taccounted %\tthreads\tevents\tbytes an event");
    let mut all = BTreeMap::new();
    for (name, words) in [
        ("pass", &["pass-a"][..]),
        ("mail", &["client", "FOLDER"]),
        ("shell", &["shell"]),
        ("workers", &["customer"]),
        ("compile", &["compile", "FOLDER"]),
        ("frames", &["player"]),
        ("curl", &["curl"]),
        ("curl, mended", &["curl-mended"]),
    ] {
        let recorded = record(words);
        recorded.check();
        if all.is_empty() {
            for share in recorded.explained["shares"].as_array().unwrap() {
                let _ = write!(table, "\t{} %", share["share"].as_str().unwrap());
            }
            table += "\n";
        }
        table += &recorded.row(name);
        all.insert(name, recorded);
    }
    print!("{table}");
    check_mail(&all["mail"]);
    check_player(&all["frames"]);
    assert!(all["shell"].shares(&["deliberate sleep"]) > 80.0, "{}", all["shell"].text);
    let compile = &all["compile"];
    let work = ["understood", "running without a sample", "disk", "disk queue"];
    assert!(compile.shares(&work) > 90.0, "{}", compile.text);
    assert!(compile.shares(&["disk", "disk queue"]) > 5.0, "{}", compile.text);
    let [curl, mended] = ["curl", "curl, mended"].map(|name| &all[name]);
    assert!(curl.shares(&["timed out"]) > 90.0 && curl.has_wait("ppoll", "timed out"));
    assert!(curl.text.contains("in ppoll, until its time was over, under Lookup"), "{}", curl.text);
    assert!(mended.shares(&["timed out"]) < 1.0, "{}", mended.text);
    assert!(!mended.has_wait("ppoll", "timed out"), "{}", mended.text);
    row::record(&root().join("telemetry/benches"), &table);
}

/// `.waits.same`: the truth is as true in a namespace.
#[test]
#[ignore = "records the kernel, and takes the processors: ./proofs waits runs it"]
fn namespaces_of_processes_and_times_change_no_answer() {
    let _stranger = Stranger::start();
    for house in [["--pid", "--mount-proc"], ["--time", "--monotonic=1"]] {
        let house = [&["unshare", "--fork"], &house[..]].concat();
        let recorded = record_in(&house, &["pass-a"]);
        recorded.check();
        // By their logs alone, without a name.
        for log in logs(recorded.folder.path()) {
            if log.ends_with("kernel.log") {
                continue;
            }
            let mut command = eventcnv();
            command.args(["waits", "explain"]).arg(&log);
            let text = lines(command.arg(recorded.folder.path().join("kernel.log"))).join("\n");
            assert!(text.starts_with("pass-"), "{house:?}: {text}");
        }
        let mended = record_in(&house, &["curl-mended"]);
        mended.check();
    }
}

/// A run as perf tells it: its end in ns, wait, delay, run in µs.
type Told = (u64, [f64; 3]);

/// Returns the runs of a thread that `perf sched timehist` tells.
fn timehist(folder: &Path, tid: u32) -> Vec<Told> {
    let mut command = Command::new("perf");
    command.args(["sched", "timehist", "-i"]).arg(folder.join("perf.data"));
    let (mut told, marks) = (Vec::new(), [format!("[{tid}]"), format!("[{tid}/")]);
    for line in lines(&mut command) {
        if !marks.iter().any(|mark| line.contains(mark)) {
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some((seconds, us)) = words.first().and_then(|word| word.split_once('.')) else {
            continue;
        };
        let (Ok(seconds), Ok(us)) = (seconds.parse::<u64>(), us.parse::<u64>()) else { continue };
        let times: Vec<f64> =
            words.iter().rev().take(3).filter_map(|word| word.parse().ok()).collect();
        let [ran, delay, wait] = times[..] else { continue };
        let ms = 1000.0;
        told.push((seconds * 1_000_000_000 + us * 1000, [wait * ms, delay * ms, ran * ms]));
    }
    told
}

/// A switch that perf recorded: its time in ns, the thread before, the thread after.
type Switch = (u64, u32, u32);

/// Returns the switches that `perf script` prints.
fn switches(folder: &Path) -> Vec<Switch> {
    let mut command = Command::new("perf");
    command.args(["script", "--ns", "-F", "time,trace", "-i"]).arg(folder.join("perf.data"));
    let of = |line: &str| {
        let after = |mark: &str| line.rsplit(mark).next()?.split(' ').next()?.parse().ok();
        let (time, _) = line.trim().split_once(": ")?;
        let (seconds, ns) = time.split_once('.')?;
        let at = seconds.parse::<u64>().ok()? * 1_000_000_000 + ns.parse::<u64>().ok()?;
        Some((at, after(" prev_pid=")?, after(" next_pid=")?))
    };
    lines(&mut command).iter().filter_map(|line| of(line)).collect()
}

/// What perf recorded lies next to the log of a program of the same boot.
fn check_import(folder: &Path) {
    let is_first = |log: &PathBuf| {
        lines(eventcnv().arg("-v").arg(log)).iter().any(|line| line.contains("WindowBegin"))
    };
    let own = logs(folder).into_iter().find(is_first).unwrap();
    let imported = folder.join("imported");
    let mut command = eventcnv();
    command.args(["waits", "import"]).arg(folder.join("perf.data")).arg("-o").arg(&imported);
    run(command.arg("--boot-of").arg(&own));
    let mut command = eventcnv();
    command.args(["waits", "explain", "--from", "WorkBegin", "--to", "WorkEnd"]);
    let text = lines(command.arg(&own).arg(&imported)).join("\n");
    assert!(text.starts_with("pass-a (") && text.contains("running without a sample"), "{text}");
    let mut command = eventcnv();
    let text = lines(command.args(["waits", "explain"]).arg(&own).arg(&imported)).join("\n");
    assert!(text.contains(" woke it, under Window; "), "{text}");
}

#[test]
#[ignore = "records the kernel, and takes the processors: ./proofs waits runs it"]
fn runs_and_waits_are_those_that_perf_tells_of_the_same_time() {
    // Perf loses switches of a processor that was idle: few are.
    let count = std::thread::available_parallelism().unwrap().get();
    let _strangers: Vec<Stranger> = (0..count).map(|_| Stranger::start()).collect();
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let place = folder.path();
    let events = "sched:sched_switch,sched:sched_waking,sched:sched_wakeup,sched:sched_wakeup_new,\
                  sched:sched_process_fork";
    let mut perf = recording(programs::system("perf"), "all", &place.join("%p.log"));
    perf.args(["record", "-q", "-a", "-k", "mono", "-e", events, "-o"])
        .arg(place.join("perf.data"));
    perf.arg("--").arg(eventcnv().get_program());
    perf.args(["waits", "record", "-o"]).arg(place.join("kernel.log")).arg("--");
    run(perf.args(scenario(place, &["pass-a"])));
    check_import(place);
    let log = Log::open(place.join("kernel.log")).unwrap();
    let clock = Clock::new(&log);
    let (model, _) = model::read(&log, 0, &clock, &Options::default()).unwrap();
    let switches = switches(place);
    let has_switch = |at: u64, is_it: &dyn Fn(&Switch) -> bool| {
        switches.iter().any(|own| own.0.abs_diff(at) < 50_000 && is_it(own))
    };
    let (mut count, mut equal, mut lacking) = (0, 0, 0);
    for (life, own) in (0..).zip(&model.lives).filter(|(_, own)| own.name.starts_with(b"pass-")) {
        let told = timehist(place, own.thread);
        for (_, stretch) in model.backwards(life).filter(|(_, own)| own.what == What::Run) {
            let wait = model.stretch(stretch.before).filter(|wait| wait.what == What::Wait);
            // Perf tells no wait before the first run.
            let Some(wait) = wait.filter(|wait| wait.before != NONE) else { continue };
            let begins = has_switch(stretch.begin, &|(_, _, next)| *next == own.thread);
            let waits = has_switch(wait.begin, &|(_, prev, _)| *prev == own.thread);
            if !(begins && waits) {
                lacking += 1;
                continue;
            }
            let delay = if wait.cause == Cause::Preempted { 0 } else { wait.delay() };
            let found = told.iter().min_by_key(|(end, _)| end.abs_diff(stretch.end));
            let Some((_, told)) = found else { continue };
            let own = [wait.ns(), delay, stretch.ns()].map(|ns| ns as f64 / 1000.0);
            // Each tool has its own clock reading of a switch, and stops the other one meanwhile.
            let is_equal = own.iter().zip(told).all(|(own, told)| (own - told).abs() < 50.0);
            count += 1;
            equal += u32::from(is_equal);
            if !is_equal {
                println!("{own:?} µs, and perf tells {told:?}");
            }
        }
    }
    println!("{equal} of {count} runs are equal; perf lost a switch of {lacking} others");
    assert!(count >= 30 && lacking * 5 <= count, "{count}, {lacking}");
    assert!(equal * 100 >= count * 95, "{equal} of {count}");
}
