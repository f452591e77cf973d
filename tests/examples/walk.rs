//! How fast the reader walks: 10 million three-word events in 64 KiB blocks, in order of the file
//! and of time.
//!
//! ```text
//!  cargo run --release -p tests --example walk [EVENTS [BUFFERS]] ──▶ name<TAB>value<TAB>unit
//! ```

use eventlog::reader::{Filter, Log, Order, Value};
use std::io::Write;
use std::time::Instant;
use tests::naive::{self, Buffer, Platform, Ring, Writer};

fn main() -> std::io::Result<()> {
    let mut args = std::env::args().skip(1).filter_map(|arg| arg.parse::<u64>().ok());
    let count = args.next().unwrap_or(10_000_000);
    let buffers = args.next().unwrap_or(4);
    let path = std::env::temp_dir().join(format!("walk-{}.log", std::process::id()));
    write(&path, count, buffers)?;
    let start = Instant::now();
    let log = Log::open(&path).expect("a log");
    println!("index\t{:.4}\ts", start.elapsed().as_secs_f64());
    for (name, order) in [("file", Order::File), ("time", Order::Time)] {
        for with_params in [false, true] {
            let best =
                (0..5).map(|_| walk(&log, order, with_params, count)).fold(f64::MAX, f64::min);
            let what = if with_params { "walk-params" } else { "walk" };
            println!("{what}-{name}\t{:.1}\tM events/s", count as f64 / best / 1e6);
        }
    }
    println!("memory-peak\t{}\tKiB", peak());
    std::fs::remove_file(&path)
}

/// Walks all events once, and says how long it took.
fn walk(log: &Log, order: Order, with_params: bool, count: u64) -> f64 {
    let start = Instant::now();
    let mut events = log.events(order, &Filter::default());
    let (mut found, mut sum) = (0, 0u64);
    while let Some(event) = events.next() {
        found += 1;
        sum = sum.wrapping_add(event.ticks);
        if with_params {
            for (_, value) in event.params() {
                if let Value::P(value) | Value::A(value) | Value::W(value) = value {
                    sum = sum.wrapping_add(value);
                }
            }
        }
    }
    assert_eq!(found, count);
    assert!(events.faults().is_empty() && log.faults().is_empty());
    std::hint::black_box(sum);
    start.elapsed().as_secs_f64()
}

fn write(path: &std::path::Path, count: u64, buffers: u64) -> std::io::Result<()> {
    let platform = Platform { big_endian: false, word_size: 8, block_size_log2: 16 };
    let mut writer = Writer::new(platform, [1; 16], [2; 16]);
    writer.registry(1, naive::KINDS, naive::TYPES, 4000);
    writer.head.resize(1 << 16, 0);
    let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
    file.write_all(&writer.head)?;
    let mut blocks: Vec<Block> = (0..buffers).map(|buffer| Block::new(&platform, buffer)).collect();
    for n in 0..count {
        let buffer = (n % buffers) as usize;
        if !blocks[buffer].record(&platform, n) {
            blocks[buffer].write(&mut writer, &mut file)?;
            blocks[buffer].record(&platform, n);
        }
    }
    for block in &mut blocks {
        block.write(&mut writer, &mut file)?;
    }
    file.flush()
}

/// A block that is filled from the top down in place: the naive ring copies too much for this
/// number of events.
struct Block {
    ring: Ring,
    bytes: Vec<u8>,
    event: Vec<u8>,
}

impl Block {
    fn new(platform: &Platform, buffer: u64) -> Block {
        let buffer = Buffer { buffer: buffer as u32, registry: 1, kind: 1, thread: 1 };
        let values = [naive::Value::P(1), naive::Value::A(2), naive::Value::W(3)];
        let ring = Ring::new(platform, buffer, 0);
        Block { ring, bytes: vec![0; platform.block_size()], event: platform.event(2, &values) }
    }

    fn record(&mut self, platform: &Platform, ticks: u64) -> bool {
        let fields = &mut self.ring.fields;
        if fields.last < 128 + 32 {
            return false;
        }
        if fields.count == 0 {
            (fields.base, fields.base_last) = (ticks, ticks);
        }
        platform.set_delta(&mut self.event, (ticks - fields.base) as u32);
        fields.last -= 32;
        fields.count += 1;
        fields.sync_ticks = ticks;
        naive::put(&mut self.bytes, fields.last as usize, &self.event);
        true
    }

    fn write(&mut self, writer: &mut Writer, file: &mut impl Write) -> std::io::Result<()> {
        let fields = self.ring.fields;
        let header =
            writer.header(self.ring.buffer, fields, Some(&self.bytes[fields.last as usize..]));
        naive::put(&mut self.bytes, 0, &header);
        file.write_all(&self.bytes)?;
        self.ring.number += u64::from(fields.count);
        self.ring.advance(&writer.platform, 0);
        Ok(())
    }
}

/// The most memory that the process has had, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}
