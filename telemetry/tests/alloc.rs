//! Compares the log of the recording allocator with the record of a twin below it.
//!
//! ```text
//!  program ─▶ Recorder ─▶ Twin ─▶ System          compared when the process has ended:
//!                │          └─▶ a mapped file ──┐  each thread has the same calls in order
//!                └─▶ log ───────────────────────┘
//! ```
//!
//! Design: `.sol.alloc` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "an allocator, and calls of the C library")]

mod common;

use common::{CONTROL, Kinds, Ran, Three, ran, u64_at};
use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::{BTreeMap, HashMap};
use std::hint::black_box;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::mpsc;
use telemetry::{control, event};

#[global_allocator]
static ALLOCATOR: telemetry::alloc::Recorder<Twin> = telemetry::alloc::Recorder::of(Twin);

/// Writes each call to an array in a file, which outlives the process. Takes no lock.
struct Twin;

/// Holds code (as of the events), address, size, alignment, thread, process.
type Asked = [u64; 6];
const ASKED_SIZE: usize = size_of::<Asked>();
const ASKED_COUNT_MAX: usize = 4_000_000;
const ALLOCATE: u64 = 1;
const ALLOCATE_ZEROED: u64 = 2;
const REALLOCATE_BEGIN: u64 = 3;
const REALLOCATE: u64 = 4;
const FREE: u64 = 5;
const ALLOCATE_FAILED: u64 = 6;
const REALLOCATE_FAILED: u64 = 7;

static ASKED: AtomicPtr<Asked> = AtomicPtr::new(std::ptr::null_mut());

/// Maps the array in a test process, at the first allocation: one thread exists then.
fn asked() -> *mut Asked {
    let old = ASKED.load(Ordering::Relaxed);
    // SAFETY: names end with a NUL; the mapping is new and is never removed.
    unsafe {
        if !old.is_null() || libc::getenv(c"TELEMETRY_TEST_PROCESS".as_ptr()).is_null() {
            return old;
        }
        let file = libc::open(c"twin".as_ptr(), libc::O_RDWR | libc::O_CREAT, 0o600);
        let size = ASKED_COUNT_MAX * ASKED_SIZE;
        assert!(file >= 0 && libc::ftruncate(file, size as libc::off_t) == 0);
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let new = libc::mmap(std::ptr::null_mut(), size, access, libc::MAP_SHARED, file, 0);
        assert!(new != libc::MAP_FAILED);
        libc::close(file);
        ASKED.store(new.cast(), Ordering::Relaxed);
        new.cast()
    }
}

fn note(code: u64, memory: *mut u8, size: usize, alignment: usize) {
    let asked = asked();
    if asked.is_null() {
        return;
    }
    // SAFETY: the first entry counts the calls of forked children too; each call has its own entry.
    unsafe {
        let index = 1 + (*asked.cast::<AtomicUsize>()).fetch_add(1, Ordering::Relaxed);
        assert!(index < ASKED_COUNT_MAX);
        let thread = libc::syscall(libc::SYS_gettid) as u64;
        let process = libc::getpid() as u64;
        asked.add(index).write([
            code,
            memory.addr() as u64,
            size as u64,
            alignment as u64,
            thread,
            process,
        ]);
    }
}

fn note_result(code: u64, memory: *mut u8, layout: Layout) {
    let code = if memory.is_null() { ALLOCATE_FAILED } else { code };
    note(code, memory, layout.size(), layout.align());
}

// SAFETY: every call goes to the system's allocator.
unsafe impl GlobalAlloc for Twin {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let memory = unsafe { System.alloc(layout) };
        note_result(ALLOCATE, memory, layout);
        memory
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let memory = unsafe { System.alloc_zeroed(layout) };
        note_result(ALLOCATE_ZEROED, memory, layout);
        memory
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(REALLOCATE_BEGIN, old, layout.size(), layout.align());
        // SAFETY: the caller's promise.
        let memory = unsafe { System.realloc(old, layout, size) };
        match memory.is_null() {
            true => note(REALLOCATE_FAILED, old, size, layout.align()),
            false => note(REALLOCATE, memory, size, layout.align()),
        }
        memory
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        note(FREE, memory, layout.size(), layout.align());
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) };
    }
}

/// Sizes that no other code allocates; they mark allocations at unusual moments.
const BEFORE_MAIN: usize = 70_001;
const AT_EXIT: usize = 70_002;
const AFTER_EXIT: usize = 70_003;
const IN_DESTRUCTOR: usize = 70_004;
const IN_KEY: usize = 70_005;
const IN_PANIC: usize = 70_006;

extern "C" fn before_main() {
    allocate(BEFORE_MAIN);
}
extern "C" fn at_exit() {
    allocate(AT_EXIT);
}
extern "C" fn after_exit() {
    allocate(AFTER_EXIT);
}
fn allocate(size: usize) {
    drop(black_box(vec![1u8; size]));
}

#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE: extern "C" fn() = before_main;
#[used]
#[unsafe(link_section = ".fini_array")]
static AFTER: extern "C" fn() = after_exit;

/// Returns the calls of this process that the twin wrote, by thread, in the order of each thread.
fn of_twin(ran: &Ran) -> BTreeMap<u64, Vec<[u64; 4]>> {
    let bytes = ran.file("twin");
    let mut threads = BTreeMap::<u64, Vec<_>>::new();
    let mut process = 0;
    for asked in bytes.chunks(ASKED_SIZE).skip(1).take_while(|asked| u64_at(asked, 0) != 0) {
        let [code, address, size, alignment, thread, of] =
            [0, 8, 16, 24, 32, 40].map(|at| u64_at(asked, at));
        process = if process == 0 { of } else { process };
        if process == of {
            threads.entry(thread).or_default().push([code, address, size, alignment]);
        }
    }
    threads
}

/// Returns the same from the log.
fn of_log(stream: &common::Stream) -> BTreeMap<u64, Vec<[u64; 4]>> {
    let numbers: HashMap<u64, u64> =
        stream.store(0xFF03).iter().map(|thread| (thread.word(0), thread.word(1))).collect();
    let mut events: Vec<_> = stream.events.values().filter(|event| event.registry == 1).collect();
    // The sort is stable: events of one buffer stay in their order.
    events.sort_by_key(|event| event.ticks);
    let mut threads = BTreeMap::<u64, Vec<_>>::new();
    for event in events {
        let [address, size, alignment] = match u64::from(event.code) {
            ALLOCATE_FAILED => [0, event.word(0), event.word(1)],
            _ => [0, 1, 2].map(|index| event.word(index)),
        };
        let number = numbers[&u64::from(event.thread)];
        threads.entry(number).or_default().push([u64::from(event.code), address, size, alignment]);
    }
    threads
}

/// A thread-local value whose destructor allocates.
struct Allocates(usize);
impl Drop for Allocates {
    fn drop(&mut self) {
        allocate(self.0);
    }
}
thread_local!(static ALLOCATES: Allocates = const { Allocates(IN_DESTRUCTOR) });

/// Allocates at the end of a thread, and sets the key again for the next round.
extern "C" fn at_thread_end(key: *mut libc::c_void) {
    allocate(IN_KEY);
    // SAFETY: the value is the key that `pthread_key_create` made, plus one.
    unsafe { libc::pthread_setspecific(key.addr() as libc::pthread_key_t - 1, key) };
}

fn set_key(key: libc::pthread_key_t) {
    let value = std::ptr::without_provenance::<libc::c_void>(key as usize + 1);
    // SAFETY: the key exists.
    unsafe { libc::pthread_setspecific(key, value) };
}

/// Uses the allocator and the runtime in many ways.
fn allocate_in_many_ways() {
    // SAFETY: the functions are static; the call writes one key.
    let key = unsafe {
        libc::atexit(at_exit);
        let mut key = 0;
        libc::pthread_key_create(&mut key, Some(at_thread_end));
        key
    };
    let (send, receive) = mpsc::channel::<Vec<u64>>();
    std::thread::scope(|scope| {
        let mut threads = vec![scope.spawn(move || receive.iter().for_each(drop))];
        for thread in 0..4usize {
            let send = send.clone();
            threads.push(scope.spawn(move || {
                ALLOCATES.with(|_| ());
                set_key(key);
                for round in 0..400usize {
                    send.send((0..round as u64).collect()).unwrap();
                    let mut map = HashMap::new();
                    (0..20).for_each(|at| _ = map.insert(at, format!("{thread} {round} {at}")));
                    black_box(vec![0u64; round]);
                    event!(Three, thread, round, 0usize);
                    if round % 100 == thread {
                        do_something_rare(round);
                    }
                }
            }));
        }
        drop(send);
        for _ in 0..60 {
            telemetry::flush();
            let id = telemetry::add_string("a string of the program");
            telemetry::label_address(id.get(), id);
            control::of(&CONTROL).set_output(Kinds::Object);
            control::of(&CONTROL).reset_recorded(Kinds::Seg);
            let late = telemetry::setup().plinth(telemetry::MemoryPlinth::new()).start();
            assert_eq!(late, Err(telemetry::SetupError::PlinthTooLate));
        }
        // A scope does not wait for the destructors of its threads: the program could end in one.
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

fn do_something_rare(round: usize) {
    for mut kept in [Vec::new(), vec![1u8; round + 1]] {
        assert!(kept.try_reserve_exact(isize::MAX as usize - kept.len()).is_err());
        black_box(kept);
    }
    let panic = std::thread::spawn(|| panic!("{}", "x".repeat(IN_PANIC))).join();
    assert!(panic.is_err());
    let threads = (0..8).map(|at| std::thread::spawn(move || allocate(round + at)));
    threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
    // SAFETY: the child only allocates, which the C library allows after a fork, and ends.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            allocate(round);
            libc::_exit(0);
        }
        libc::waitpid(child, std::ptr::null_mut(), 0);
    }
}

fn compare(test: &str, environment: &[(&str, &str)]) {
    let Some(ran) = ran(test, environment, allocate_in_many_ways) else { return };
    let stream = ran.stream();
    assert!(stream.ended);
    let (log, twin) = (of_log(&stream), of_twin(&ran));
    assert_eq!(log.keys().collect::<Vec<_>>(), twin.keys().collect::<Vec<_>>(), "threads");
    for (thread, asked) in &twin {
        let recorded = &log[thread];
        let same = recorded.iter().zip(asked).take_while(|(a, b)| a == b).count();
        assert!(
            same == asked.len() && same == recorded.len(),
            "thread {thread}: {same} the same, then {:?} of {} and {:?} of {}",
            recorded.get(same),
            recorded.len(),
            asked.get(same),
            asked.len()
        );
    }
    let count_of = |size| {
        let all = log.values().flatten();
        all.filter(|event| (event[0], event[2]) == (ALLOCATE, size as u64)).count()
    };
    for size in [BEFORE_MAIN, AT_EXIT, AFTER_EXIT] {
        assert_eq!(count_of(size), 1, "{size}");
    }
    assert_eq!(count_of(IN_DESTRUCTOR), 4);
    for failed in [ALLOCATE_FAILED, REALLOCATE_FAILED] {
        let all = log.values().flatten();
        assert_eq!(all.filter(|event| event[0] == failed).count(), 16, "{failed}");
    }
    let rounds = count_of(IN_KEY);
    assert!(rounds >= 8, "{rounds}: every thread ends in two rounds or more");
    assert!(count_of(IN_PANIC) >= 1);
    assert_eq!(stream.told_of(5).nested, 0);
    assert_eq!(ran.said(), Vec::<&str>::new());
}

const OBJECT: (&str, &str) = ("MPS_TELEMETRY_CONTROL", "Object");

#[test]
fn the_log_holds_every_allocation_of_a_program() {
    compare("the_log_holds_every_allocation_of_a_program", &[OBJECT]);
}

/// Small blocks fill often: almost every event takes the cold path.
#[test]
fn small_blocks_and_a_writer_thread_lose_no_allocation() {
    let test = "small_blocks_and_a_writer_thread_lose_no_allocation";
    let small = ("MPS_TELEMETRY_BLOCK_SIZE", "4096");
    compare(test, &[OBJECT, small, ("MPS_TELEMETRY_WRITER", "thread")]);
}

/// Allocates for every block, and panics at every 50th.
struct Unsound(telemetry::MemoryPlinth, AtomicUsize);

impl telemetry::Plinth for Unsound {
    fn create(&self, size: usize) -> Result<(), telemetry::PlinthError> {
        self.0.create(size)
    }

    fn write_block(&self, offset: u64, bytes: &[u8]) -> Result<(), telemetry::PlinthError> {
        black_box(bytes.to_vec());
        assert!(self.1.fetch_add(1, Ordering::Relaxed) % 50 != 49, "a plinth that panics");
        self.0.write_block(offset, bytes)
    }

    fn can_rewrite(&self) -> bool {
        true
    }
}

/// Its allocations and panics neither leave the allocator nor deadlock; the lost events are
/// counted.
#[test]
fn a_plinth_that_allocates_and_panics_does_no_harm() {
    let test = "a_plinth_that_allocates_and_panics_does_no_harm";
    ran(test, &[("MPS_TELEMETRY_BLOCK_SIZE", "4096")], || {
        let memory = telemetry::MemoryPlinth::new();
        telemetry::setup().plinth(Unsound(memory.clone(), AtomicUsize::new(0))).start().unwrap();
        let kinds = control::of(&telemetry::alloc::CONTROL);
        kinds.set_output(Kinds::Object);
        std::panic::set_hook(Box::new(|_| allocate(IN_PANIC)));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| (1..5000).for_each(|size| allocate(size % 700 + 1)));
            }
            (0..20).for_each(|_| drop(black_box(memory.bytes())));
        });
        let _ = std::panic::take_hook();
        let losses = telemetry::losses_of(&telemetry::alloc::CONTROL, Kinds::Object);
        let lost = losses.full + losses.nested + losses.large;
        assert!(losses.recorded > 20_000 && losses.full != 0, "{losses:?}");
        assert_eq!(losses.requested, losses.recorded + lost);
        // The log holds whole events, in order and numbered.
        kinds.reset_recorded(Kinds::Object);
        assert!(common::read(&memory.bytes()).events.len() > 10_000);
    });
}
