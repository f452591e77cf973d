//! The results of a replay: everything that a report shows.
//!
//! ```text
//!  play ── runs of each heap ──▶ Measured ──▶ report: table │ JSON │ page
//! ```
//!
//! Design: `.rep.report` in `design/replay.md`.

use crate::facts::Program;
use serde::{Deserialize, Serialize};

/// The results of one comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Measured {
    /// The workload.
    pub workload: Subject,
    /// The modes and modifications, in words.
    pub mode: String,
    /// The machine: processor, cores, operating system. Empty: not known.
    pub machine: String,
    /// Whether operations waited for their recorded times; durations include these waits.
    pub is_paced: bool,
    /// The cost of the loop itself in ns an operation, as fast as possible: the least of the runs
    /// against the null heap.
    pub loop_ns: f64,
    /// The cost of reading the counter in ns, which is taken from each latency.
    pub clock_ns: f64,
    /// The heaps, in the order of the command line.
    pub heaps: Vec<HeapMeasured>,
}

/// The workload, and the parts of the log that were not played.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Subject {
    /// The file's name.
    pub name: String,
    /// The number of allocations.
    pub allocation_count: u64,
    /// The number of reallocations.
    pub reallocation_count: u64,
    /// The number of frees.
    pub free_count: u64,
    /// The number of threads with operations.
    pub thread_count: u32,
    /// The number of pools.
    pub pool_count: u32,
    /// The requested bytes of all allocations and reallocations.
    pub bytes_allocated: u64,
    /// The peak of live bytes.
    pub live_peak: u64,
    /// The number of objects that were left at the end.
    pub left_count: u64,
    /// The bytes of these objects.
    pub left_bytes: u64,
    /// The time of the program from its first operation to its last, in ns; 0: not known.
    pub duration_ns: u64,
    /// Memory and processor time of the program, if the recording has them.
    pub program: Option<Program>,
    /// The file of the library with the malloc that the program called, if the recording has it.
    pub malloc: Option<String>,
    /// For each power of two, the number of objects of at most that size and more than half of it.
    pub sizes: Vec<(u64, u64)>,
    /// The lifetimes in ns, likewise.
    pub lifetimes: Vec<(u64, u64)>,
    /// The texts of skipped events and added operations, with their counts.
    pub skipped: Vec<(String, u64)>,
}

/// The results of a heap.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HeapMeasured {
    /// The name.
    pub name: String,
    /// The version, and the options that were set.
    pub about: String,
    /// The runs for throughput.
    pub runs: Vec<Run>,
    /// The latencies, of a run of their own.
    pub latency: Latency,
    /// The memory over time, of the first run.
    pub timeline: Vec<Sample>,
    /// Why its results do not compare, although it played to the end.
    pub warning: Option<String>,
    /// Why it did not play to the end: "died of SIGSEGV after 1,234 operations".
    pub failure: Option<String>,
}

/// One run for throughput.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Run {
    /// The time from the first operation to the last, in ns.
    pub duration_ns: u64,
    /// The number of finished operations.
    pub operation_count: u64,
    /// The number of failed allocations.
    pub failure_count: u64,
    /// The processor time of all threads, user and system, in ns, without waits for each other.
    pub processor_ns: u64,
    /// The peak of resident memory in bytes, with the start-up memory.
    pub resident_peak: u64,
    /// The reached peak of live bytes: that of the workload if all threads met there, else the
    /// greatest sample; none: the run was too short.
    pub live_reached: Option<u64>,
    /// Resident memory before the first operation in bytes: the start-up memory of the heap.
    pub start_up: u64,
    /// The most bytes that were live at a time, by the operations: the peak of the workload, or, if
    /// the threads did not meet there, the greatest sample.
    pub live_at_peak: u64,
    /// The resident memory after all was freed: ms after that, and bytes.
    pub after: Vec<(u64, u64)>,
    /// The number of minor page faults.
    pub faults_minor: u64,
    /// The number of major page faults.
    pub faults_major: u64,
}

/// The latencies of operations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Latency {
    /// All operations.
    pub all: Quantiles,
    /// The curve of all operations: a quantile from 0 to 1, and the ns that this part took at most;
    /// both ascend.
    pub curve: Vec<(f64, u64)>,
    /// Allocations by size class: the greatest size of the class (a power of two).
    pub by_size: Vec<(u64, Quantiles)>,
    /// Frees.
    pub free: Quantiles,
}

/// A distribution, in ns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Quantiles {
    /// The number of operations.
    pub count: u64,
    /// The mean.
    pub mean: f64,
    /// The median.
    pub p50: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The 99.9th percentile.
    pub p999: u64,
    /// The maximum.
    pub max: u64,
}

/// The memory at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sample {
    /// The time in ns since the first operation of the replay.
    pub time_ns: u64,
    /// The number of finished operations.
    pub operation_count: u64,
    /// The live bytes, by requested sizes.
    pub live: u64,
    /// The resident memory in bytes, without that of the replayer itself.
    pub resident: u64,
}
