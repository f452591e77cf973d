//! A product of two matrices: which of its statements costs the time?
//!
//! ```text
//!  MPS_TELEMETRY_PROFILE=time cargo run -p mps-calls --example matrix -- 100
//!  eventcnv lines mpsio.log
//! ```
#![forbid(unsafe_code)]

use calls::profiled;

#[profiled]
fn transpose(matrix: &[u64], size: usize) -> Vec<u64> {
    let mut columns = Vec::with_capacity(size * size);
    for at in 0..size {
        columns.extend(matrix.iter().skip(at).step_by(size));
    }
    columns
}

#[profiled]
fn multiply(a: &[u64], b: &[u64], size: usize) -> Vec<u64> {
    let columns = transpose(b, size);
    let mut product = Vec::with_capacity(size * size);
    for row in a.chunks_exact(size) {
        for column in columns.chunks_exact(size) {
            product.push(dot(row, column));
        }
    }
    product
}

// Its statements take some ns each: what the recorder costs would hide that.
fn dot(row: &[u64], column: &[u64]) -> u64 {
    row.iter().zip(column).map(|(a, b)| a * b).sum()
}

fn main() {
    let size = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(100);
    let matrix: Vec<u64> = (0..100).cycle().take(size * size).collect();
    let product = multiply(&matrix, &matrix, size);
    println!("{}", product.iter().sum::<u64>());
}
