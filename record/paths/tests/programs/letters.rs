//! Writes bytes as letters, and reads them again.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

fn main() {
    for size in [0, 1, 2, 3, 40, 61] {
        let bytes: Vec<u8> = (0..size).map(|byte| byte * 7).collect();
        let text = BASE64_STANDARD.encode(&bytes);
        println!("{text} {}", BASE64_STANDARD.decode(&text).is_ok_and(|own| own == bytes));
    }
}
