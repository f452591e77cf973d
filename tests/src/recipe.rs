//! Makes a stream from a seed, with a list of its events.
//!
//! ```text
//!  Recipe { seed, … } ── write ──▶ Writer (the bytes) + [Recorded] (what a reader must return)
//! ```

use super::naive::{BlockFields, Buffer, EventType, Platform, Recorded, Value, Writer, put};

/// A small generator of numbers (xorshift), so that a seed gives the same stream everywhere.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// Begins with a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Returns any number.
    pub fn any(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Returns a number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        (self.any() >> 16) % end.max(1)
    }

    /// Returns true with a probability of 1 / `chances`.
    pub fn one_in(&mut self, chances: u64) -> bool {
        self.below(chances) == 0
    }
}

/// The event types of the streams that [`Recipe`] writes.
pub const TYPES: &[EventType] = &[
    EventType { code: 1, kind: 0, name: "Empty", params: &[] },
    EventType { code: 2, kind: 1, name: "Words", params: &[('P', "a"), ('A', "b"), ('W', "c")] },
    EventType {
        code: 5,
        kind: 0,
        name: "Mixed",
        params: &[('B', "a"), ('U', "b"), ('D', "c"), ('B', "d"), ('W', "e")],
    },
    EventType { code: 0x300, kind: 2, name: "Text", params: &[('U', "a"), ('S', "b")] },
];

/// The kinds of those streams.
pub const KINDS: &[&str] = &["Arena", "Pool", "Trace"];

/// The properties of a stream for [`write()`].
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    /// The seed of everything else.
    pub seed: u64,
    /// The platform and the block size.
    pub platform: Platform,
    /// Number of buffers.
    pub buffers: u32,
    /// Events in all.
    pub events: u32,
    /// Whether events may be written more than once.
    pub with_copies: bool,
    /// Whether the blocks come in any order.
    pub is_shuffled: bool,
    /// Index of the stream in the log.
    pub stream: u16,
}

fn value(random: &mut Random, sort: char, word_size: usize) -> Value {
    let bits = random.any();
    let word = if word_size == 4 { bits & 0xFFFF_FFFF } else { bits };
    match sort {
        'P' => Value::P(word),
        'A' => Value::A(word),
        'W' => Value::W(word),
        'U' => Value::U(bits as u32),
        'D' => Value::D(bits),
        'B' => Value::B(bits & 1 == 1),
        _ => Value::S((0..random.below(40)).map(|_| random.any() as u8).collect()),
    }
}

/// Writes a stream. Returns its events in the order of recording.
pub fn write(recipe: Recipe) -> (Writer, Vec<Recorded>) {
    let random = &mut Random::new(recipe.seed);
    let platform = recipe.platform;
    let mut uuid = [7; 16];
    put(&mut uuid, 0, &recipe.seed.to_le_bytes());
    let mut writer = Writer::new(platform, uuid, [9; 16]);
    for registry in 1..=2 {
        writer.registry(registry, KINDS, TYPES, 100 + random.below(400) as usize);
    }
    let mut ticks = 1_000_000 + random.below(1000);
    let mut rings: Vec<Ring> = (0..recipe.buffers)
        .map(|buffer| {
            let registry = 1 + random.below(2) as u16;
            let (kind, thread) = (random.below(3) as u8, 1 + random.below(9) as u32);
            Ring::new(&platform, Buffer { buffer, registry, kind, thread }, ticks)
        })
        .collect();
    let mut recorded = Vec::new();
    for _ in 0..recipe.events {
        ticks = match random.below(60) {
            0 => ticks + (1 << 33),
            1 => ticks.saturating_sub(random.below(5000)),
            2..20 => ticks,
            _ => ticks + random.below(300),
        };
        let index = random.below(rings.len() as u64) as usize;
        let ring = &mut rings[index];
        let row = &TYPES[random.below(TYPES.len() as u64) as usize];
        let values: Vec<_> =
            row.params.iter().map(|(sort, _)| value(random, *sort, platform.word_size)).collect();
        if !ring.record(&platform, ticks, row.code, &values) {
            retire(random, ring, &mut writer, recipe.with_copies);
            ring.advance(&platform, ticks);
            assert!(ring.record(&platform, ticks, row.code, &values));
        }
        let Buffer { buffer, registry, kind, thread } = ring.buffer;
        let (stream, code, number) = (recipe.stream, row.code, ring.number - 1);
        recorded.push(Recorded {
            stream,
            buffer,
            number,
            ticks,
            registry,
            kind,
            thread,
            code,
            values,
        });
        if random.one_in(40) && recipe.with_copies {
            ring.flush(&mut writer);
        }
    }
    finish(random, &recipe, &mut rings, &mut writer);
    (writer, recorded)
}

/// Writes the last blocks of the rings and the end, and shuffles the blocks.
fn finish(random: &mut Random, recipe: &Recipe, rings: &mut [Ring], writer: &mut Writer) {
    for ring in rings {
        match random.below(3) {
            0 => ring.write(writer, false),
            1 => ring.flush(writer),
            _ => ring.write(writer, true),
        }
        if ring.rest.first > ring.fields.first && random.one_in(2) {
            ring.write(writer, true);
        }
    }
    writer.end();
    if recipe.is_shuffled {
        for block in &mut writer.blocks {
            block.resize(recipe.platform.block_size(), 0);
        }
        for end in (1..writer.blocks.len()).rev() {
            writer.blocks.swap(end, random.below(end as u64 + 1) as usize);
        }
    }
}

/// Writes a full block: whole, in parts, or both.
fn retire(random: &mut Random, ring: &mut Ring, writer: &mut Writer, with_copies: bool) {
    let choice = if with_copies { random.below(3) } else { 0 };
    if choice > 0 {
        ring.flush(writer);
    }
    if choice < 2 {
        ring.write(writer, true);
    }
}

/// The current block of a buffer.
#[derive(Clone, Debug)]
pub struct Ring {
    /// The buffer.
    pub buffer: Buffer,
    /// Events in the buffer so far.
    pub number: u64,
    /// Fields of the whole block so far.
    pub fields: BlockFields,
    /// [last, top) of the whole block so far.
    pub payload: Vec<u8>,
    /// Fields of the events that no part has yet.
    pub rest: BlockFields,
}

impl Ring {
    /// Begins the first block of a buffer.
    pub fn new(platform: &Platform, buffer: Buffer, base: u64) -> Ring {
        let size = platform.block_size() as u32;
        let fields = BlockFields {
            block_type: 1,
            last: size,
            top: size,
            base,
            base_last: base,
            ..BlockFields::default()
        };
        Ring { buffer, number: 0, fields, payload: Vec::new(), rest: fields }
    }

    /// Adds an event to the block. Returns whether the block had room.
    pub fn record(&mut self, platform: &Platform, ticks: u64, code: u16, values: &[Value]) -> bool {
        let mut event = platform.event(code, values);
        let mut base = self.fields.base_last;
        let is_near = ticks.checked_sub(base).is_some_and(|delta| delta <= u64::from(u32::MAX));
        let mut record = Vec::new();
        if !is_near {
            record = platform.base_record(ticks, base);
            base = ticks;
        }
        if 128 + event.len() + record.len() > self.fields.last as usize {
            return false;
        }
        platform.set_delta(&mut event, (ticks - base) as u32);
        event.extend_from_slice(&record);
        event.extend_from_slice(&self.payload);
        self.payload = event;
        self.number += 1;
        for fields in [&mut self.fields, &mut self.rest] {
            fields.last = (platform.block_size() - self.payload.len()) as u32;
            fields.count += 1;
            fields.base_last = base;
            fields.sync_ticks = fields.sync_ticks.max(ticks);
        }
        true
    }

    /// Writes the events that no part has yet as a part.
    pub fn flush(&mut self, writer: &mut Writer) {
        let size = (self.rest.top - self.rest.last) as usize;
        if size + 256 > writer.platform.block_size() {
            self.write(writer, true); // `.parts.fits`
        } else if size > 0 {
            writer.part(self.buffer, self.rest, &self.payload[..size]);
        }
        let BlockFields { last, count, base_last, .. } = self.rest;
        self.rest.top = last;
        self.rest.first += u64::from(count);
        self.rest.count = 0;
        self.rest.base = base_last;
    }

    /// Writes the whole block.
    pub fn write(&self, writer: &mut Writer, is_sealed: bool) {
        writer.event_block(self.buffer, self.fields, &self.payload, is_sealed);
    }

    /// Begins the next block.
    pub fn advance(&mut self, platform: &Platform, base: u64) {
        let before = self.fields;
        let number = self.number;
        *self = Ring::new(platform, self.buffer, base);
        self.number = number;
        for fields in [&mut self.fields, &mut self.rest] {
            fields.first = number;
            fields.sequence = before.sequence + 1;
            fields.overwritten = before.overwritten;
            fields.discarded = before.discarded;
        }
    }
}
