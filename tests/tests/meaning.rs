//! Counters and slices of a log are in every output what a computation from its CSV gives.
//!
//! Design: `.cnv.counters`, `.cnv.pairs`, `.slice.pair`.
#![forbid(unsafe_code)]

#[path = "meaning/agree.rs"]
mod agree;
#[path = "meaning/made.rs"]
mod made;

use agree::{Log, TICKS, agree};
use std::process::Command;
use tests::programs::{eventcnv, lines, recording, root, run};

/// What the registry of the MPS declares, and what the names of its event types state.
const MPS: [&str; 15] = [
    "counter PoolAlloc allocated + size pool",
    "counter PoolFree allocated - size pool",
    "counter PoolFinish allocated = 0 pool",
    "counter ArenaAlloc arena_memory + size arena",
    "counter ArenaAlloc pool_memory + size pool",
    "counter ArenaFree arena_memory - size arena",
    "counter ArenaFree pool_memory - size pool",
    "slice ArenaAccessBegin=ArenaAccessEnd ArenaAccess arena",
    "slice ArenaPollBegin=ArenaPollEnd ArenaPoll arena",
    "slice TraceFlipBegin=TraceFlipEnd TraceFlip trace,arena",
    "span BufferInit=BufferFinish Buffer buffer",
    "span GenInit=GenFinish Gen arena,gen",
    "span PoolInit=PoolFinish Pool pool,arena",
    "span TraceCreate=TraceDestroy Trace trace,arena",
    "span VMInit=VMFinish VM vm",
];

/// What the registry of the recording allocator declares.
const ALLOC: [&str; 6] = [
    "counter Allocate live + size",
    "counter AllocateZeroed live + size",
    "counter ReallocateBegin live - size",
    "counter Reallocate live + size",
    "counter ReallocateFailed live + kept",
    "counter Free live - size",
];

#[test]
fn logs_of_the_mps_mean_what_their_csv_gives() {
    for name in ["mpmss-cut.log", "mpmss-32bit-cut.log", "amcss-arena-pool-trace.log"] {
        let log = root().join("tests/golden/mps").join(name);
        let log = Log { path: &log, clock: &[], rules: &MPS };
        let computed = agree(&log, &[]);
        let counts = (computed.changes.len(), computed.slices.len());
        assert!(counts.0 > 500 && counts.1 > 50, "{name}: {counts:?}");
        agree(&log, &["--events", "PoolFree,TraceFlip*,TraceCreate"]);
    }
}

/// A ring lacks the first events, and its values are relative.
#[test]
fn logs_of_an_allocator_mean_what_their_csv_gives() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, ring) = (folder.path().join("log"), folder.path().join("ring"));
    let at = format!("ring:{}?size=1048576", ring.display());
    for (path, to) in [(&path, path.as_path()), (&ring, at.as_ref())] {
        let command = Command::new(env!("CARGO_BIN_EXE_allocating"));
        lines(recording(command, "Object", to).arg("8000"));
        let computed = agree(&Log { path, clock: &TICKS, rules: &ALLOC }, &[]);
        assert!(computed.changes.len() > 3000, "{}", computed.changes.len());
        assert_eq!(computed.relative.len(), usize::from(path == &ring), "{}", path.display());
    }
}

/// Slices without an end, crossing threads and each other, at equal times, with keys of all sorts;
/// counters of 2^63 and more, of doubles, below zero, and values that are not finite.
#[test]
fn a_made_log_means_what_its_csv_gives() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("made.log");
    for has_clock in [true, false] {
        made::make(&path, 6000, has_clock);
        let log = Log { path: &path, clock: &[], rules: &made::RULES };
        let computed = agree(&log, &[]);
        for verdict in ["whole", "crossing", "again", "unfinished"] {
            assert!(computed.slices.iter().any(|slice| slice.verdict == verdict), "{verdict}");
        }
        assert_eq!(computed.alone.len(), 8, "{:?}", computed.alone);
        let parts: [&[&str]; 4] = [
            &["--events", "Sent,Load*,JobBegin,TaskStart,VisitOpen,JobEnd"],
            &["--where", "size > 500 or job == 1 or at >= 0.5 or what ~ \"e\""],
            &["--threads", "2"],
            &["--from", "#1500", "--to", "#4000"],
        ];
        // The options choose the same events by another clock.
        for part in parts.into_iter().filter(|_| has_clock) {
            agree(&log, part);
            // A cut log has the selected events alone, and its values are relative.
            let path = &folder.path().join("cut.log");
            run(eventcnv().arg("cut").args(part).arg("-o").arg(path).arg("--force").arg(log.path));
            assert!(agree(&Log { path, ..log }, &[]).relative.len() > 2, "{part:?}");
        }
    }
}
