//! Decodes an image some times, and prints a sum of its bytes: `tests/overhead/measure.py` builds
//! it.

fn main() {
    let path = std::env::args().nth(1).expect("an image");
    let image = std::fs::read(path).expect("a readable image");
    let mut sum = 0u64;
    for _ in 0..20 {
        let pixels = jpeg_decoder::Decoder::new(&image[..]).decode().expect("an image");
        for pixel in pixels {
            sum = sum.wrapping_mul(31).wrapping_add(u64::from(pixel));
        }
    }
    println!("{sum}");
}
