//! The cost of a recording: processor time, losses, bytes.
//!
//! ```text
//!  ping-pong of two threads over pipes ─┬─ not traced
//!                                       ├─ traced by an instance that nobody reads
//!                                       └─ recorded           best of several rounds each
//! ```
//!
//! Run it as root: `cargo bench -p mps-record-waits --bench record`. A number after `--` sets the
//! round trips. Design: `.waits.record.cost` in `design/waits.md`.

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    linux::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("skipped: only Linux has tracefs");
}

#[cfg(target_os = "linux")]
mod linux {
    use lens::waits::source::tracepoints::RECORDED;
    use record_waits::{CollectError, Options, Recorded, Recording};
    use rustix::time::{ClockId, clock_gettime};
    use std::error::Error;
    use std::fs;
    use std::io::{Read, Write, pipe};
    use std::path::Path;
    use std::thread;
    use std::time::{Duration, Instant};

    const ROUND_COUNT: usize = 5;

    /// Processor time of this process, and time that passed.
    #[derive(Clone, Copy, Debug)]
    struct Cost {
        cpu: Duration,
        wall: Duration,
    }

    fn cpu() -> Duration {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }

    /// Two threads wake each other in turn.
    fn ping_pong(trips: u32) -> std::io::Result<Cost> {
        let ((mut a, mut to_a), (mut b, mut to_b)) = (pipe()?, pipe()?);
        let (begin, before) = (Instant::now(), cpu());
        let other = thread::spawn(move || {
            let mut byte = [0];
            while b.read(&mut byte).is_ok_and(|size| size > 0) && to_a.write_all(&byte).is_ok() {}
        });
        for _ in 0..trips {
            to_b.write_all(&[1])?;
            a.read_exact(&mut [0])?;
        }
        drop(to_b);
        let _ = other.join();
        Ok(Cost { cpu: cpu() - before, wall: begin.elapsed() })
    }

    /// Traces without a reader. Returns the cost, and the records that were made.
    fn unread(trips: u32) -> Result<(Cost, u64), Box<dyn Error>> {
        // A recording knows where tracefs is. Its own events are off meanwhile.
        let recording = Recording::begin(&Options::default(), tempfile::tempfile()?)?;
        let own = recording.instance();
        fs::write(own.join("events/enable"), "0")?;
        fs::write(own.join("tracing_on"), "0")?;
        let instance = own.parent().ok_or("no folder")?.join("unread-bench");
        fs::create_dir(&instance)?;
        let measured = traced(&instance, trips);
        fs::remove_dir(&instance)?;
        measured
    }

    fn traced(instance: &Path, trips: u32) -> Result<(Cost, u64), Box<dyn Error>> {
        fs::write(instance.join("trace_clock"), "x86-tsc")?;
        fs::write(instance.join("buffer_size_kb"), "8192")?;
        for (system, name) in RECORDED {
            fs::write(instance.join(format!("events/{system}/{name}/enable")), "1")?;
        }
        let cost = ping_pong(trips)?;
        fs::write(instance.join("tracing_on"), "0")?;
        let mut count = 0;
        for cpu in fs::read_dir(instance.join("per_cpu"))? {
            let stats = fs::read_to_string(cpu?.path().join("stats"))?;
            for line in stats.lines() {
                let number = line.strip_prefix("entries: ").or(line.strip_prefix("overrun: "));
                count += number.and_then(|number| number.trim().parse().ok()).unwrap_or(0u64);
            }
        }
        Ok((cost, count))
    }

    /// Records. Returns the cost until the recording ends, without the making of the log.
    fn recorded(trips: u32) -> Result<(Cost, Recorded, Duration), Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let spill = tempfile::tempfile_in(folder.path())?;
        let recording = Recording::begin(&Options::default(), spill)?;
        let cost = ping_pong(trips)?;
        let begin = Instant::now();
        let mut log = std::io::BufWriter::new(tempfile::tempfile_in(folder.path())?);
        let recorded = recording.finish(&mut log)?;
        Ok((cost, recorded, begin.elapsed()))
    }

    pub(crate) fn main() -> Result<(), Box<dyn Error>> {
        let words = std::env::args().skip(1).find_map(|word| word.parse::<u32>().ok());
        let trips = words.unwrap_or(100_000);
        let began = Recording::begin(&Options::default(), tempfile::tempfile()?);
        if let Err(error @ (CollectError::Rights { .. } | CollectError::Absent)) = began {
            println!("skipped: {error}");
            return Ok(());
        }
        drop(began?);
        let (mut off, mut idle, mut full) = (f64::MAX, f64::MAX, f64::MAX);
        for round in 1..=ROUND_COUNT {
            let none = ping_pong(trips)?;
            let (left, left_count) = unread(trips)?;
            let (cost, found, made) = recorded(trips)?;
            let per = |cost: Cost, count: f64| cost.cpu.as_nanos() as f64 / count;
            off = off.min(per(none, trips.into()));
            // A round trip has about the same records in both: each cost is by its own count.
            let of = |cost: Cost, count: u64| per(cost, count as f64);
            idle = idle.min(of(left, left_count));
            full = full.min(of(cost, found.read_count));
            println!(
                "round {round}: {:.0} switches/s, {} records, {} lost; CPU per trip {:.0} ns off, \
                 {:.0} unread, {:.0} recorded; {:.1} bytes an event; log made at {:.2} M records/s",
                found.switch_count as f64 / cost.wall.as_secs_f64(),
                found.read_count,
                found.lost_count,
                per(none, trips.into()),
                per(left, trips.into()),
                per(cost, trips.into()),
                found.size as f64 / found.event_count.max(1) as f64,
                found.read_count as f64 / made.as_secs_f64() / 1e6,
            );
        }
        println!(
            "best: {off:.0} ns a trip off; {idle:.1} ns a record unread, {full:.1} recorded: {:.3}",
            full / idle
        );
        Ok(())
    }
}
