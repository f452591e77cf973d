//! Prints the digest of some bytes.

use sha2::{Digest, Sha256};

fn main() {
    let mut digest = Sha256::new();
    for line in ["apple", "pear", "fig"] {
        digest.update(line.repeat(40));
    }
    let hex: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    println!("{hex}");
}
