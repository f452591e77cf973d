//! A disk that is full at times or for good: at every check, each recorded event of each kind is in
//! the log or counted as lost.
//!
//! ```text
//!  random program ─▶ runtime ─▶ disk of a few sectors ─▶ naive reader ─▶ events by kind
//!        └─────────── recorded  =  read + io ◀─── losses_of ────────────────────┘
//! ```
//!
//! Design: `.req.loss`, `.sol.outage` in `design/telemetry.md`.

mod common;

use common::{CONTROL, Kinds, Pooled, Rare, Sorts, Three, ThreeSeg, ran};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, OnceLock};
use telemetry::{Operation, Plinth, PlinthError, control, event};

const SEED: &str = "TELEMETRY_TEST_SEED";
/// The disk stores whole sectors: a write may end in the middle of a block, and of a part.
const SECTOR: usize = 512;
const KINDS: [Kinds; 5] = [Kinds::Object, Kinds::Seg, Kinds::User, Kinds::Arena, Kinds::Pool];

/// The sectors that are free.
static ROOM: AtomicI64 = AtomicI64::new(0);
static DISK: OnceLock<Disk> = OnceLock::new();

/// A file on the disk: its bytes, as far as the disk had sectors.
#[derive(Default)]
struct File {
    bytes: Vec<u8>,
    sectors: Vec<bool>,
}

struct Disk {
    files: Mutex<Vec<File>>,
    rewrites: bool,
    /// The size of a volume.
    bound: u64,
    /// One in this number of sectors is broken: a parts block may never be written; 0: none.
    broken: usize,
}

fn full() -> PlinthError {
    PlinthError { operation: Operation::Write, errno: libc::ENOSPC }
}

fn take_room(count: i64) -> bool {
    let taken = |room: i64| (room >= count).then_some(room - count);
    ROOM.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).is_ok()
}

impl File {
    fn write(&mut self, offset: usize, bytes: &[u8], broken: usize) -> Result<(), PlinthError> {
        let mut at = offset;
        while at < offset + bytes.len() {
            let sector = at / SECTOR;
            let end = ((sector + 1) * SECTOR).min(offset + bytes.len());
            if self.sectors.len() <= sector {
                self.sectors.resize(sector + 1, false);
            }
            let is_broken = broken != 0 && sector % broken == broken - 1;
            if is_broken || !self.sectors[sector] && !take_room(1) {
                return Err(full());
            }
            self.sectors[sector] = true;
            if self.bytes.len() < end {
                self.bytes.resize(end, 0);
            }
            self.bytes[at..end].copy_from_slice(&bytes[at - offset..end - offset]);
            at = end;
        }
        Ok(())
    }
}

struct OnDisk;

impl Plinth for OnDisk {
    fn create(&self, _: usize) -> Result<(), PlinthError> {
        if !take_room(1) {
            return Err(PlinthError { operation: Operation::Create, errno: libc::ENOSPC });
        }
        DISK.get().unwrap().files.lock().unwrap().push(File::default());
        Ok(())
    }

    /// An append-only disk stores a block as a whole or not at all.
    fn write_block(&self, offset: u64, bytes: &[u8]) -> Result<(), PlinthError> {
        let disk = DISK.get().unwrap();
        let mut files = disk.files.lock().unwrap();
        let file = files.last_mut().unwrap();
        if disk.rewrites {
            return file.write(offset as usize, bytes, disk.broken);
        }
        let size = file.bytes.len();
        if ROOM.load(Ordering::Relaxed) < bytes.len().div_ceil(SECTOR) as i64 {
            return Err(full());
        }
        file.write(size, bytes, 0)
    }

    fn can_rewrite(&self) -> bool {
        DISK.get().unwrap().rewrites
    }

    fn wants_volume(&self, size: u64) -> bool {
        size > DISK.get().unwrap().bound
    }
}

/// Returns, by kind, the events in the log and the losses that the log states.
fn read() -> BTreeMap<u8, (u64, u64)> {
    let files = DISK.get().unwrap().files.lock().unwrap();
    let mut numbers = BTreeMap::new();
    let mut told: BTreeMap<u32, (u8, u64)> = BTreeMap::new();
    for file in files.iter().filter(|file| file.sectors.first() == Some(&true)) {
        let stream = common::read_as_it_is(&common::sound(file.bytes.clone(), 4096));
        let events = stream.events.iter().filter(|(_, event)| event.registry == 1);
        numbers.extend(events.map(|(number, event)| (*number, event.kind)));
        for (buffer, losses) in stream.told {
            let (registry, kind) = stream.kinds[&buffer];
            let most = told.get(&buffer).map_or(0, |(_, io)| *io).max(losses.io.into());
            if registry == 1 {
                told.insert(buffer, (kind, most));
            }
        }
    }
    let mut kinds: BTreeMap<u8, (u64, u64)> = BTreeMap::new();
    numbers.values().for_each(|kind| kinds.entry(*kind).or_default().0 += 1);
    told.values().for_each(|(kind, io)| kinds.entry(*kind).or_default().1 += io);
    kinds
}

/// Compares; if the disk stored everything in the end, also the losses that the log states.
fn judge(when: &str, is_told: bool) {
    let read = read();
    let mut sum = 0;
    for kind in KINDS {
        let losses = telemetry::losses_of(&CONTROL, kind);
        let index = u64::from(kind).trailing_zeros() as u8;
        let (in_log, told) = read.get(&index).copied().unwrap_or_default();
        assert_eq!(losses.requested, losses.recorded, "{when}: {losses:?}");
        assert_eq!(losses.recorded, in_log + losses.io, "{when}: {kind:?} {losses:?} {in_log}");
        assert!(!is_told || losses.io == told, "{when}: {kind:?} {losses:?} {told}");
        sum += losses.io;
    }
    assert_eq!(telemetry::losses().io, sum, "{when}");
    assert_eq!(telemetry::status().losses.io, sum, "{when}");
}

extern "C" fn judge_at_exit() {
    let disk = DISK.get().unwrap();
    let has_room = ROOM.load(Ordering::Relaxed) > 1000 && (disk.broken == 0 || !disk.rewrites);
    judge("at exit", has_room && telemetry::status().standing == telemetry::Standing::Open);
    std::fs::write("judged", telemetry::losses().io.to_string()).unwrap();
}

struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % end
    }
}

fn record(random: &mut Random) {
    for _ in 0..random.below(8) {
        let kind = random.below(5);
        let count = [1, 20, 130, 900][random.below(4) as usize];
        // Not from 0: a tear that cuts off only zeros would lose no event.
        for index in 1..=random.below(count) as usize {
            match kind {
                0 => event!(Three, 7usize, index, index),
                1 => event!(ThreeSeg, 7usize, index, index),
                2 => event!(Sorts, &index, true, 1u32, 0.5, index, index, "a string"),
                3 => event!(Rare, index),
                _ => event!(Pooled, index),
            }
        }
        if random.below(2) == 0 {
            telemetry::flush();
        }
    }
}

#[expect(unsafe_code, reason = "a function at exit, after the runtime's")]
fn act() {
    let mut random = Random(std::env::var(SEED).unwrap().parse().unwrap());
    // SAFETY: the function is static.
    assert_eq!(unsafe { libc::atexit(judge_at_exit) }, 0);
    let rewrites = random.below(4) != 0;
    let bound = [u64::MAX, 80 * 1024][random.below(2) as usize];
    ROOM.store([0, 2, 100, 400][random.below(4) as usize], Ordering::Relaxed);
    let broken = [0, 0, 60, 150][random.below(4) as usize];
    let _ = DISK.set(Disk { files: Mutex::default(), rewrites, bound, broken });
    telemetry::setup().plinth(OnDisk).start().unwrap();
    control::set_output_everywhere(u64::MAX);
    for round in 0..8 {
        std::thread::scope(|scope| {
            for _ in 0..random.below(4) {
                let mut own = Random(random.below(u64::MAX >> 33));
                scope.spawn(move || record(&mut own));
            }
            record(&mut random);
        });
        telemetry::flush();
        judge(&format!("after round {round}"), false);
        match random.below(4) {
            0 => ROOM.store(random.below(300) as i64, Ordering::Relaxed),
            1 => ROOM.store(0, Ordering::Relaxed),
            _ => {}
        }
    }
    match random.below(2) {
        0 => ROOM.store(1_000_000, Ordering::Relaxed),
        _ => ROOM.store(random.below(20) as i64, Ordering::Relaxed),
    }
    record(&mut random);
}

/// Also `.req.loss`, `.stream.grow`, `.event.identity`.
#[test]
fn every_recorded_event_is_in_the_log_or_counted_as_lost() {
    let test = "every_recorded_event_is_in_the_log_or_counted_as_lost";
    let mut io = Vec::new();
    for seed in 0..40 {
        println!("seed {seed}");
        let seed = seed.to_string();
        let mut environment = vec![("MPS_TELEMETRY_BLOCK_SIZE", "4096"), (SEED, &seed)];
        if seed.ends_with('3') {
            environment.push(("MPS_TELEMETRY_WRITER", "thread"));
        }
        let Some(ran) = ran(test, &environment, act) else { return };
        io.push(String::from_utf8(ran.file("judged")).unwrap().parse::<u64>().unwrap());
    }
    assert!(io.iter().filter(|io| **io != 0).count() > 10, "the disk was full: {io:?}");
}
