//! Records of perf_event_open: the rings of all processors, moved to a file.
//!
//! ```text
//!  ring of processor n ── every 10 ms ──▶ spill: processor, kind, bits, size, bytes ──▶ Entry
//! ```
//!
//! The times of records are those of CLOCK_MONOTONIC.
//!
//! Design: `.waits.samples`, `.waits.degrees` in `design/waits.md`.

use crate::error::{CollectError, SPILL_SIZE_MAX};
use perf_event::events::Software;
use perf_event::{Builder, Clock, SampleFlag, Sampler};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{
    self, BufReader, BufWriter, PipeReader, PipeWriter, Read, Seek, SeekFrom, Write, pipe,
};
use std::thread::JoinHandle;

/// Bytes of the ring of a processor: what a user without rights may lock; less if that user has
/// other rings.
const RING_SIZES: [usize; 3] = [512 << 10, 128 << 10, 32 << 10];
/// Between two looks at the rings.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
/// Bytes before each record in the spill: processor, kind, bits, size.
const HEAD_SIZE: usize = 12;
/// Addresses of a stack, at most.
const FRAME_COUNT_MAX: u16 = 127;
/// ns in a second.
const SECOND: u64 = 1_000_000_000;

/// The threads that rings tell of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    /// Those that the calling thread makes, from the first program that they run: their samples,
    /// switches, names, forks and ends.
    Children,
    /// All: their samples alone.
    All,
}

/// The rings of all processors.
struct Rings {
    all: Vec<(u32, Sampler)>,
    spill: BufWriter<File>,
    size: u64,
}

impl Rings {
    /// Opens the rings. A rate of 0 takes no samples; else it is in samples a second.
    fn open(of: Of, rate: u32, spill: File) -> Result<Rings, CollectError> {
        let spill = BufWriter::with_capacity(1 << 18, spill);
        let mut rings = Rings { all: Vec::new(), spill, size: 0 };
        for cpu in online() {
            let event = if rate > 0 { Software::CPU_CLOCK } else { Software::DUMMY };
            let mut builder = Builder::new(event);
            builder.one_cpu(cpu as usize).clockid(Clock::MONOTONIC).sample_id_all(true);
            builder.sample(SampleFlag::TID | SampleFlag::TIME | SampleFlag::CPU);
            builder.mmap(rate > 0);
            if let Some(period) = SECOND.checked_div(rate.into()) {
                builder.sample_period(period).sample(SampleFlag::CALLCHAIN);
                builder.sample_max_stack(FRAME_COUNT_MAX);
            }
            match of {
                Of::Children => {
                    builder.observe_self().inherit(true).enable_on_exec(true);
                    builder.context_switch(true).comm(true).comm_exec(true).task(true);
                    builder.exclude_callchain_kernel(true);
                }
                Of::All => {
                    builder.any_pid().include_kernel().enabled(true);
                }
            }
            let open = |size| builder.build().and_then(|counter| counter.sampled(size));
            let [first, others @ ..] = RING_SIZES;
            let made = others.iter().fold(open(first), |made, size| made.or_else(|_| open(*size)));
            match made {
                Ok(ring) => rings.all.push((cpu, ring)),
                Err(error) => return Err(CollectError::Perf { error }),
            }
        }
        Ok(rings)
    }

    /// Moves all records to the spill.
    fn drain(&mut self) -> io::Result<()> {
        for (cpu, ring) in &mut self.all {
            while let Some(record) = ring.next_record() {
                let bytes = record.to_contiguous();
                let mut head = [0; HEAD_SIZE];
                head[..4].copy_from_slice(&cpu.to_le_bytes());
                head[4..6].copy_from_slice(&(record.ty() as u16).to_le_bytes());
                head[6..8].copy_from_slice(&record.misc().to_le_bytes());
                head[8..].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
                self.spill.write_all(&head)?;
                self.spill.write_all(&bytes)?;
                self.size += (HEAD_SIZE + bytes.len()) as u64;
                if self.size > SPILL_SIZE_MAX {
                    return Err(io::ErrorKind::FileTooLarge.into());
                }
            }
        }
        Ok(())
    }

    /// Moves records until the other end of `end` is closed.
    fn run(&mut self, end: &PipeReader) -> io::Result<()> {
        loop {
            let mut waited = [PollFd::new(end, PollFlags::IN)];
            // An interrupted wait is as good as one that ended.
            let is_end = poll(&mut waited, Some(&PAUSE)).is_ok_and(|count| count > 0);
            if is_end {
                for (_, ring) in &mut self.all {
                    // What is recorded after this belongs to no recording.
                    let _ = ring.disable();
                }
            }
            self.drain()?;
            if is_end {
                return Ok(());
            }
        }
    }
}

/// Rings with a thread that empties them. The kernel takes them back when this is dropped.
#[derive(Debug)]
pub(super) struct Pump {
    work: Option<JoinHandle<(File, Option<io::Error>)>>,
    /// The thread ends when this is closed.
    stop: Option<PipeWriter>,
}

impl Pump {
    /// Opens the rings, and empties them to `spill` from now on.
    pub(super) fn start(of: Of, rate: u32, spill: File) -> Result<Pump, CollectError> {
        let mut rings = Rings::open(of, rate, spill)?;
        let (end, stop) = pipe().map_err(CollectError::Spill)?;
        let body = move || {
            let failed = rings.run(&end).err();
            let Rings { all, spill, .. } = rings;
            drop(all);
            match spill.into_inner() {
                Ok(file) => (file, failed),
                Err(error) => {
                    let (error, spill) = error.into_parts();
                    (spill.into_parts().0, Some(error))
                }
            }
        };
        let builder = std::thread::Builder::new().name("waits-rings".to_owned());
        let work = Some(builder.spawn(body).map_err(CollectError::Spill)?);
        Ok(Pump { work, stop: Some(stop) })
    }

    /// Ends the rings. Returns their records, and why the last ones are missing, if they are.
    pub(super) fn end(&mut self) -> Option<(File, Option<io::Error>)> {
        drop(self.stop.take());
        self.work.take()?.join().ok()
    }
}

impl Drop for Pump {
    fn drop(&mut self) {
        self.end();
    }
}

/// A record of a ring.
#[derive(Debug, Default)]
pub(super) struct Entry {
    pub(super) cpu: u32,
    pub(super) kind: u16,
    pub(super) misc: u16,
    pub(super) bytes: Vec<u8>,
}

/// Calls `take` with each record of a spill, in the order of each processor.
pub(super) fn each(
    spill: &mut File,
    mut take: impl FnMut(&Entry) -> Result<(), CollectError>,
) -> Result<(), CollectError> {
    spill.seek(SeekFrom::Start(0)).map_err(CollectError::Spill)?;
    let mut spill = BufReader::with_capacity(1 << 18, spill);
    let mut entry = Entry::default();
    let mut head = [0; HEAD_SIZE];
    loop {
        match spill.read_exact(&mut head) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(CollectError::Spill(error)),
        }
        let [a, b, c, d, e, f, g, h, i, j, k, l] = head;
        entry.cpu = u32::from_le_bytes([a, b, c, d]);
        (entry.kind, entry.misc) = (u16::from_le_bytes([e, f]), u16::from_le_bytes([g, h]));
        // The size of a record has 16 bits.
        let size = u32::from_le_bytes([i, j, k, l]) as usize & 0xFFFF;
        entry.bytes.resize(size, 0);
        match spill.read_exact(&mut entry.bytes) {
            Ok(()) => take(&entry)?,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(CollectError::Spill(error)),
        }
    }
}

/// Returns the processors that run.
fn online() -> Vec<u32> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let found = ranges(&text);
    if found.is_empty() { vec![0] } else { found }
}

/// Returns the numbers in a text such as "0-2,5".
fn ranges(text: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for range in text.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        if let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) {
            found.extend(first..=last.min(lens::waits::output::CPU_COUNT_MAX));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_found_in_ranges() {
        assert_eq!(ranges("0-2,5\n"), [0, 1, 2, 5]);
        assert_eq!(ranges("3"), [3]);
        assert_eq!(ranges("x-2,,4-"), []);
        assert_eq!(ranges("9-4294967295").len(), 65536 - 8);
    }

    #[test]
    fn a_spill_that_is_cut_gives_the_records_before() {
        let mut bytes = Vec::new();
        for cpu in 0u32..3 {
            bytes.extend_from_slice(&cpu.to_le_bytes());
            bytes.extend_from_slice(&[9, 0, 2, 0, 4, 0, 0, 0, 1, 2, 3, cpu as u8]);
        }
        for size in 0..=bytes.len() {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&bytes[..size]).unwrap();
            let mut found = Vec::new();
            each(&mut file, |entry| {
                assert_eq!((entry.kind, entry.misc), (9, 2));
                assert_eq!(entry.bytes, [1, 2, 3, entry.cpu as u8]);
                found.push(entry.cpu);
                Ok(())
            })
            .unwrap();
            assert_eq!(found.len(), size / 16);
        }
    }
}
