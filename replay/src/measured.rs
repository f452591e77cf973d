//! What was measured: all that a report tells.
//!
//! ```text
//!  play ── runs of each heap ──▶ Measured ──▶ report: table │ JSON │ page
//! ```
//!
//! Design: `.rep.report` in `design/replay.md`.

use crate::facts::Program;
use serde::{Deserialize, Serialize};

/// Everything about one comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Measured {
    /// What was played.
    pub workload: Subject,
    /// How: the modes and modifications, in words.
    pub mode: String,
    /// Where: processor, cores, operating system. Empty: not known.
    pub machine: String,
    /// Whether operations waited for their time, which durations then have in them.
    pub is_paced: bool,
    /// What the loop itself costs an operation, in ns, as fast as it goes: the median of the runs
    /// against the null heap.
    pub loop_ns: f64,
    /// What reading the counter costs, in ns: it was taken from every latency.
    pub clock_ns: f64,
    /// The heaps, in the order in which they were asked for.
    pub heaps: Vec<HeapMeasured>,
}

/// What was played, and what of the log was not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Subject {
    /// The file's name.
    pub name: String,
    /// Allocations, reallocations, frees.
    pub allocation_count: u64,
    /// …
    pub reallocation_count: u64,
    /// …
    pub free_count: u64,
    /// Threads that asked for something.
    pub thread_count: u32,
    /// Pools.
    pub pool_count: u32,
    /// Bytes that were asked for, in all.
    pub bytes_allocated: u64,
    /// Bytes of the objects that were there at a time, at most.
    pub live_peak: u64,
    /// Objects that were there at the end, and their bytes.
    pub left_count: u64,
    /// …
    pub left_bytes: u64,
    /// How long the program took from its first operation to its last, in ns; 0: not known.
    pub duration_ns: u64,
    /// What the program itself took, if the recording says so.
    pub program: Option<Program>,
    /// Sizes: for each power of two the objects of at most that size and more than half of it.
    pub sizes: Vec<(u64, u64)>,
    /// Lifetimes in ns, likewise.
    pub lifetimes: Vec<(u64, u64)>,
    /// What was skipped, or made up, each with how often.
    pub skipped: Vec<(String, u64)>,
}

/// What was measured of a heap.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HeapMeasured {
    /// What it is called.
    pub name: String,
    /// What it is: its version, and the options that were set.
    pub about: String,
    /// The runs for throughput.
    pub runs: Vec<Run>,
    /// The latencies, of the runs for them.
    pub latency: Latency,
    /// Memory over time, of the first run.
    pub timeline: Vec<Sample>,
    /// Why its numbers are not like the others', though it played to the end.
    pub warning: Option<String>,
    /// Why it did not play to the end, if it did not: "died of SIGSEGV after 1,234 operations".
    pub failure: Option<String>,
}

/// One run for throughput.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Run {
    /// From the first operation to the last, in ns.
    pub duration_ns: u64,
    /// Operations that were done.
    pub operation_count: u64,
    /// Allocations that failed.
    pub failure_count: u64,
    /// Processor time of all threads, user and system, in ns, without that of waiting for each
    /// other.
    pub processor_ns: u64,
    /// The most resident memory, in bytes, the start-up memory included.
    pub resident_peak: u64,
    /// The most live bytes that were there at a time: those of the workload if all threads met
    /// there, else the most that was sampled; none: it was too short for that.
    pub live_reached: Option<u64>,
    /// Resident memory before the first operation, in bytes: what the heap needs to start up.
    pub start_up: u64,
    /// Live bytes when it was sampled highest.
    pub live_at_peak: u64,
    /// Resident memory in bytes after all was freed: how long after, in ms, and how much.
    pub after: Vec<(u64, u64)>,
    /// Page faults, minor and major.
    pub faults_minor: u64,
    /// …
    pub faults_major: u64,
}

/// How long operations took.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Latency {
    /// Of all operations.
    pub all: Quantiles,
    /// Of all operations, the whole curve: a quantile from 0 to 1, and the ns that so many took at
    /// most; both ascend.
    pub curve: Vec<(f64, u64)>,
    /// Of allocations, by size class: the greatest size of the class (a power of two).
    pub by_size: Vec<(u64, Quantiles)>,
    /// Of frees.
    pub free: Quantiles,
}

/// A distribution, in ns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Quantiles {
    /// How many.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// Half of them took no longer.
    pub p50: u64,
    /// 99 % of them.
    pub p99: u64,
    /// 99.9 % of them.
    pub p999: u64,
    /// The longest.
    pub max: u64,
}

/// Memory at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sample {
    /// ns since the first operation of the replay.
    pub time_ns: u64,
    /// Operations that were done.
    pub operation_count: u64,
    /// Bytes of the objects that are there, by the sizes that were asked for.
    pub live: u64,
    /// Resident memory, in bytes, without what the replayer itself has.
    pub resident: u64,
}
