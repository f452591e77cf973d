//! The allocator that records, against a twin below it, which keeps its own record.
//!
//! ```text
//!  program ─▶ Recorder ─▶ Twin ─▶ System          judged when the process is gone:
//!                │          └─▶ a mapped file ──┐  of each thread the same, in the same order
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

/// What it is asked for goes to an array in a file, which outlives the process. No lock.
struct Twin;

/// Code (those of the events), address, size, alignment, thread, process.
type Asked = [u64; 6];
const ASKED_SIZE: usize = size_of::<Asked>();
const ASKED_COUNT_MAX: usize = 4_000_000;
const ALLOCATE: u64 = 1;
const ALLOCATE_ZEROED: u64 = 2;
const REALLOCATE_BEGIN: u64 = 3;
const REALLOCATE: u64 = 4;
const FREE: u64 = 5;

static ASKED: AtomicPtr<Asked> = AtomicPtr::new(std::ptr::null_mut());

/// Maps the array, in the process of a test: at the first allocation, when there is one thread.
fn asked() -> *mut Asked {
    let old = ASKED.load(Ordering::Relaxed);
    // SAFETY: names end with a NUL; the mapping is new, and stays.
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
    // SAFETY: the first place counts, also what forked children ask for; one place for each call.
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

// SAFETY: all is left to the system's allocator.
unsafe impl GlobalAlloc for Twin {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let memory = unsafe { System.alloc(layout) };
        note(ALLOCATE, memory, layout.size(), layout.align());
        memory
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let memory = unsafe { System.alloc_zeroed(layout) };
        note(ALLOCATE_ZEROED, memory, layout.size(), layout.align());
        memory
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(REALLOCATE_BEGIN, old, layout.size(), layout.align());
        // SAFETY: the caller's promise.
        let memory = unsafe { System.realloc(old, layout, size) };
        note(REALLOCATE, memory, size, layout.align());
        memory
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        note(FREE, memory, layout.size(), layout.align());
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) };
    }
}

/// Sizes that nobody else asks for, for those who allocate where there is hardly a program.
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

/// What the twin noted of this process, of each thread in its order: which gives the threads too.
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

/// The same of the log.
fn of_log(stream: &common::Stream) -> BTreeMap<u64, Vec<[u64; 4]>> {
    let numbers: HashMap<u64, u64> =
        stream.store(0xFF03).iter().map(|thread| (thread.word(0), thread.word(1))).collect();
    let mut events: Vec<_> = stream.events.values().filter(|event| event.registry == 1).collect();
    // Stable: those of a buffer stay in their order.
    events.sort_by_key(|event| event.ticks);
    let mut threads = BTreeMap::<u64, Vec<_>>::new();
    for event in events {
        let [address, size, alignment] = [0, 1, 2].map(|index| event.word(index));
        let number = numbers[&u64::from(event.thread)];
        threads.entry(number).or_default().push([u64::from(event.code), address, size, alignment]);
    }
    threads
}

/// A thread-local value whose destructor allocates, and makes another one that does.
struct Allocates(usize);
impl Drop for Allocates {
    fn drop(&mut self) {
        allocate(self.0);
    }
}
thread_local!(static ALLOCATES: Allocates = const { Allocates(IN_DESTRUCTOR) });

/// Called at the end of a thread, in every round: asks for one more.
extern "C" fn at_thread_end(key: *mut libc::c_void) {
    allocate(IN_KEY);
    // SAFETY: the value is the key itself, made by `pthread_key_create`, and one more.
    unsafe { libc::pthread_setspecific(key.addr() as libc::pthread_key_t - 1, key) };
}

fn set_key(key: libc::pthread_key_t) {
    let value = std::ptr::without_provenance::<libc::c_void>(key as usize + 1);
    // SAFETY: the key exists.
    unsafe { libc::pthread_setspecific(key, value) };
}

/// All that a program does with its allocator, and with the runtime.
fn allocate_in_many_ways() {
    // SAFETY: functions that stay; one key is written.
    let key = unsafe {
        libc::atexit(at_exit);
        let mut key = 0;
        libc::pthread_key_create(&mut key, Some(at_thread_end));
        key
    };
    let (send, receive) = mpsc::channel::<Vec<u64>>();
    std::thread::scope(|scope| {
        scope.spawn(move || receive.iter().for_each(drop));
        for thread in 0..4usize {
            let send = send.clone();
            scope.spawn(move || {
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
            });
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
    });
}

fn do_something_rare(round: usize) {
    let panic = std::thread::spawn(|| panic!("{}", "x".repeat(IN_PANIC))).join();
    assert!(panic.is_err());
    let threads = (0..8).map(|at| std::thread::spawn(move || allocate(round + at)));
    threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
    // SAFETY: the child calls the allocator, which the C library keeps whole, and ends.
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
    // A scope does not wait for the destructors of its threads: the program may end before one.
    assert!((1..=4).contains(&count_of(IN_DESTRUCTOR)), "{}", count_of(IN_DESTRUCTOR));
    let rounds = count_of(IN_KEY);
    assert!(rounds >= 8, "{rounds}: every thread has more than one");
    assert!(count_of(IN_PANIC) >= 1);
    assert_eq!(stream.told_of(5).nested, 0);
    assert_eq!(ran.said(), Vec::<&str>::new());
}

const OBJECT: (&str, &str) = ("MPS_TELEMETRY_CONTROL", "Object");

#[test]
fn every_allocation_of_a_program_is_in_the_log() {
    compare("every_allocation_of_a_program_is_in_the_log", &[OBJECT]);
}

/// Where almost everything is the cold path.
#[test]
fn every_allocation_is_in_the_log_also_with_small_blocks_and_a_writer_thread() {
    let test = "every_allocation_is_in_the_log_also_with_small_blocks_and_a_writer_thread";
    let small = ("MPS_TELEMETRY_BLOCK_SIZE", "4096");
    compare(test, &[OBJECT, small, ("MPS_TELEMETRY_WRITER", "thread")]);
}

/// A plinth that allocates for every block, and panics at some.
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

/// Neither its allocations nor its panics come out of the allocator, and none makes it wait for
/// itself; what is lost by it is counted.
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
        // What is in the log is whole, in order and numbered.
        kinds.reset_recorded(Kinds::Object);
        assert!(common::read(&memory.bytes()).events.len() > 10_000);
    });
}
