//! The least program with an annotation: for reading what the compiler makes of it.
//!
//! ```text
//!  cargo rustc --release -p mps-telemetry --example annotation -- --emit asm
//! ```
//!
//! `tests/assembly.rs` keeps that as golden files. Design: `.annot` in `design/telemetry.md`.

use std::hint::black_box;

mod heap {
    telemetry::events! {
        /// The events of a heap.
        registry "heap" version(1, 0, 0);
        kinds standard;

        /// Memory was handed out. [counter live += size:pool] [unit bytes size]
        PoolAlloc(0x0001, always, Object) {
            /// the pool
            pool: P,
            /// the memory
            addr: A,
            /// its size in bytes
            size: W,
        }
        /// Memory was looked at. [counter glances += 1:pool] [unit bytes size]
        PoolGlance(0x0002, sometimes, Object) {
            /// the pool
            pool: P,
            /// the memory
            addr: A,
            /// its size in bytes
            size: W,
        }
    }
}

/// What `black_box` makes opaque, so that nothing is known of the arguments.
#[inline(never)]
fn annotated(pool: &u8, addr: usize, size: usize) {
    telemetry::event!(heap::PoolAlloc, pool, addr, size);
}

/// The same with a row that is compiled into the cool variety alone.
#[inline(never)]
fn glanced(pool: &u8, addr: usize, size: usize) {
    telemetry::event!(heap::PoolGlance, pool, addr, size);
}

/// No annotation: what one that is compiled out must be.
#[inline(never)]
fn nothing(_: &u8, _: usize, _: usize) {}

/// The example keeps a customer without an effect too.
#[used]
static KEPT: [fn(&u8, usize, usize); 3] = [annotated, glanced, nothing];

fn main() {
    annotated(black_box(&1), black_box(2), black_box(3));
}
