//! Measures what a stop at a breakpoint costs, next to the least that it can cost.
//!
//! ```text
//!  a loop with one breakpoint of its own ─ cont, wait, getregs, setregs ─▶ floor
//!  the same loop ─ plan, breakpoints of the collector ────────────────────▶ trap
//!                └ one instruction at a time ─────────────────────────────▶ step
//! ```
//!
//! `cargo bench -p mps-record-paths --bench trap`. Names: `docs/benchmarks.md`.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "../../../telemetry/benches/recording/row.rs"]
mod row;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod measured {
    use lens_paths::plan::Options;
    use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
    use nix::sys::ptrace;
    use nix::sys::wait::{WaitStatus, waitpid};
    use nix::unistd::Pid;
    use record_paths::{Choice, Launch, Subject, jobs, step};
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    /// Measurements of each; the best counts.
    const ROUND_COUNT: usize = 7;
    /// Turns of the loop.
    const TURN_COUNT: u64 = 20_000;
    const STARTER: &str = env!("CARGO_BIN_EXE_record-paths-start");
    const SOURCE: &str = "
        #include <stdlib.h>
        int main(int count, char **words) {
            unsigned turns = atoi(words[1]), x = 7;
            volatile unsigned ups = 0;
            while (turns--) {
                if (STOP, x & 1) { x = 3 * x + 1; ups++; } else x /= 2;
            }
            return ups == 3;
        }";

    fn compile(folder: &Path, name: &str, stop: &str) -> PathBuf {
        let (source, program) = (folder.join(format!("{name}.c")), folder.join(name));
        std::fs::write(&source, SOURCE.replace("STOP", stop)).expect("a file");
        let mut command = Command::new("cc");
        let status = command.arg("-O1").arg("-o").args([&program, &source]).status();
        assert!(status.expect("cc runs").success());
        program
    }

    fn pin() {
        let own = Pid::from_raw(0);
        let allowed = sched_getaffinity(own).expect("the processors");
        let first = (0..CpuSet::count()).find(|cpu| allowed.is_set(*cpu).unwrap_or(false));
        let mut one = CpuSet::new();
        one.set(first.expect("a processor")).expect("a processor");
        sched_setaffinity(own, &one).expect("a processor of its own");
    }

    /// Returns the time of a stop of the barest tracer.
    #[expect(clippy::zombie_processes, reason = "the tracer waits for it by its number")]
    fn floor(program: &Path) -> Duration {
        let mut command = Command::new(STARTER);
        let command = command.arg(program).arg(TURN_COUNT.to_string()).stdin(Stdio::null());
        let child = command.spawn().expect("the starter");
        let process = Pid::from_raw(child.id().cast_signed());
        waitpid(process, None).expect("the first stop");
        let (mut begin, mut stops) = (Instant::now(), 0u32);
        loop {
            ptrace::cont(process, None).expect("it goes on");
            if let WaitStatus::Exited(..) = waitpid(process, None).expect("a stop") {
                return begin.elapsed() / stops;
            }
            if stops == 0 {
                begin = Instant::now();
            }
            let registers = ptrace::getregs(process).expect("registers");
            ptrace::setregs(process, registers).expect("registers");
            stops += 1;
        }
    }

    fn launch(program: &Path) -> Launch {
        Launch {
            starter: vec![STARTER.into()],
            program: program.to_owned(),
            arguments: vec![TURN_COUNT.to_string().into()],
            ..Launch::default()
        }
    }

    pub(crate) fn run(print: impl Fn(&str, f64, Option<f64>) -> String) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        let bare = compile(folder.path(), "bare", "({ __asm__ volatile(\"int3\"); 0; })");
        let program = compile(folder.path(), "loop", "0");
        let subject = Subject::read(&program, &Choice::default()).expect("a graph");
        let plan = subject.plan(&Options::default()).expect("a plan");
        let jobs = jobs(&subject, &Choice::default(), &plan, &launch(&program)).expect("jobs");
        pin();
        let trap = || {
            let ran = jobs[0].run(&subject, &[STARTER.into()], Some(0));
            let (_, hits) = ran.expect("a run");
            assert!(hits.traps >= TURN_COUNT, "{} stops", hits.traps);
            hits.duration / u32::try_from(hits.traps).expect("stops")
        };
        let single = || {
            let entry = subject.binary.entry;
            let stepped = step(&launch(&program), entry, &subject.chart, Some(0)).expect("steps");
            stepped.duration / u32::try_from(stepped.steps).expect("steps")
        };
        // In turn, so that the load of the machine is that of all three.
        let mut times = [Duration::MAX; 3];
        for _ in 0..ROUND_COUNT {
            let own = [floor(&bare), trap(), single()];
            for (least, time) in times.iter_mut().zip(own) {
                *least = time.min(*least);
            }
        }
        let [floor, trap, single] = times.map(|own| own.as_secs_f64() * 1e6);
        [
            print("floor-trap", floor, None),
            print("trap", trap, Some(trap / floor)),
            print("step", single, Some(single / floor)),
        ]
        .concat()
    }
}

fn main() {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    {
        let rows = measured::run(|name, time, ratio| row::print(name, time, "us", ratio));
        let benches =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../telemetry/benches");
        row::record(&benches, &rows);
    }
}
