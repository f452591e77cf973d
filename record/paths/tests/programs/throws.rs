// A panic that the program catches.
use std::panic::catch_unwind;

struct Said(&'static str);

impl Drop for Said {
    fn drop(&mut self) {
        println!("{}", self.0);
    }
}

#[inline(never)]
fn number(word: &str) -> u32 {
    let _said = Said("left");
    word.parse().unwrap()
}

fn main() {
    let word = std::env::args().nth(1).unwrap();
    let number = catch_unwind(|| number(&word)).unwrap_or(0);
    println!("{}", number + 1);
}
