//! Compresses a text, and reads it again.

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use std::io::{Read, Write};

fn main() {
    let text = "an apple, a pear, an apple pie ".repeat(8);
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).expect("memory");
    let small = encoder.finish().expect("memory");
    let mut again = String::new();
    DeflateDecoder::new(&small[..]).read_to_string(&mut again).expect("a text");
    println!("{} {} {}", text.len(), small.len(), again == text);
}
