//! The peers: how each is switched off, kept in memory, and written to a file.
//!
//! ```text
//!  PEERS ── name, event, off, memory, file
//! ```
//!
//! Each is set up as its documentation advises for speed, and loses nothing.

use crate::Peer;
use crate::floor::ticks;
use crate::measure::{EVENT_COUNT, run};
use dial9_trace_format::TraceEvent;
use dial9_trace_format::encoder::Encoder;
use fastrace::collector::{Config, Reporter, SpanContext, SpanRecord};
use fastrace::local::LocalSpan;
use fastrace::{Event, Span};
use std::fs::File;
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Mutex;
use tracing::{Level, subscriber};
use tracing_appender::non_blocking::NonBlockingBuilder;

pub(crate) const PEERS: [Peer; 4] = [
    Peer {
        name: "tracing",
        event: "info! with three fields; fmt subscriber, tracing-appender's writer thread, no loss",
        off: Some(tracing_off),
        memory: Some(tracing_memory),
        file: tracing_file,
    },
    Peer {
        name: "measureme",
        event: "record_integer_event: two string numbers and one word",
        off: None,
        memory: None,
        file: measureme_file,
    },
    Peer {
        name: "fastrace",
        event: "an event without properties in a local span, a thousand to a root",
        off: Some(fastrace_off),
        memory: Some(fastrace_memory),
        file: fastrace_file,
    },
    Peer {
        name: "dial9-trace-format",
        event: "an event of three u64 and its time; one encoder, nothing around it",
        off: None,
        memory: Some(dial9_memory),
        file: dial9_file,
    },
];

fn tracing_off() {
    let quiet = tracing_subscriber::fmt().with_max_level(Level::ERROR).with_writer(std::io::sink);
    subscriber::with_default(quiet.finish(), tracing_run);
}

fn tracing_memory() {
    let thrown_away = tracing_subscriber::fmt().with_ansi(false).with_writer(std::io::sink);
    subscriber::with_default(thrown_away.finish(), tracing_run);
}

fn tracing_file(path: &Path) {
    let file = File::create(path).expect("the file can be created");
    // The guard writes what is left when it is dropped.
    let (writer, _guard) = NonBlockingBuilder::default().lossy(false).finish(file);
    let to_file = tracing_subscriber::fmt().with_ansi(false).with_writer(writer);
    subscriber::with_default(to_file.finish(), tracing_run);
}

fn tracing_run() {
    run(|a, b, c| tracing::info!(a, b, c));
}

fn measureme_file(path: &Path) {
    let profiler = measureme::Profiler::new(path).expect("the file can be created");
    let kind = profiler.alloc_string("Three");
    let id = measureme::EventId::from_label(profiler.alloc_string("a b c"));
    run(|a, _, _| profiler.record_integer_event(kind, id, 1, a));
}

fn fastrace_off() {
    run(|_, _, _| LocalSpan::add_event(Event::new("three")));
}

/// Counts bytes, so that what it is given is used.
struct Reported(Option<Mutex<BufWriter<File>>>);

impl Reporter for Reported {
    fn report(&mut self, spans: Vec<SpanRecord>) {
        black_box(&spans);
        let Some(file) = &self.0 else { return };
        let mut file = file.lock().expect("nobody panics with the file");
        for span in &spans {
            for event in &span.events {
                let time = event.timestamp_unix_ns.to_le_bytes();
                let written =
                    file.write_all(&time).and_then(|()| file.write_all(event.name.as_bytes()));
                written.expect("the file can be written");
            }
        }
    }
}

fn fastrace_memory() {
    fastrace::set_reporter(Reported(None), Config::default());
    fastrace_run();
}

fn fastrace_file(path: &Path) {
    let file = File::create(path).expect("the file can be created");
    let reporter = Reported(Some(Mutex::new(BufWriter::with_capacity(64 * 1024, file))));
    fastrace::set_reporter(reporter, Config::default());
    fastrace_run();
}

fn fastrace_run() {
    const EVENTS_OF_ROOT: u64 = 1000;
    for _ in 0..EVENT_COUNT / EVENTS_OF_ROOT {
        let root = Span::root("root", SpanContext::random());
        let _local = root.set_local_parent();
        let _span = LocalSpan::enter_with_local_parent("local");
        for _ in 0..EVENTS_OF_ROOT {
            LocalSpan::add_event(Event::new("three"));
        }
    }
    fastrace::flush();
}

#[derive(TraceEvent)]
struct Three {
    #[traceevent(timestamp)]
    time: u64,
    a: u64,
    b: u64,
    c: u64,
}

fn dial9_memory() {
    let encoder = Mutex::new(Encoder::new());
    dial9_run(&mut encoder.lock().expect("nobody else has it"));
}

fn dial9_file(path: &Path) {
    let file = File::create(path).expect("the file can be created");
    let writer = BufWriter::with_capacity(64 * 1024, file);
    let mut encoder = Encoder::new_to(writer).expect("the file can be written");
    dial9_run(&mut encoder);
    encoder.flush().expect("the file can be written");
}

fn dial9_run<W: Write>(encoder: &mut Encoder<W>) {
    for a in 0..EVENT_COUNT {
        let three = Three { time: ticks(), a, b: a + 1, c: a + 2 };
        let _ = black_box(encoder.write(&three));
    }
}
