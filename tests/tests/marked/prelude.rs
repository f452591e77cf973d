//! What random functions use: numbers of a seed, and the notes of the path.
#![allow(warnings)]
use std::cell::RefCell;
use std::fmt::Write;
use std::panic::Location;

thread_local! {
    static NOTES: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Notes a way, which begins in the line of the caller.
#[track_caller]
fn t(word: &str) {
    put(Location::caller().line(), word);
}

fn put(line: u32, word: &str) {
    NOTES.with_borrow_mut(|notes| writeln!(notes, "{line} {word}").unwrap());
}

/// Notes a way, and returns a value.
#[track_caller]
fn note<T>(value: T, word: &str) -> T {
    t(word);
    value
}

/// Notes the way that a condition takes if it does not hold.
fn or_note(holds: bool, line: u32, word: &str) -> bool {
    if !holds {
        put(line, word);
    }
    holds
}

/// Notes that a lazy operator needs no right side.
#[track_caller]
fn lazy(left: bool, is_and: bool) -> bool {
    if left != is_and {
        t("past");
    }
    left
}

struct Call;

impl Call {
    fn new(number: u32) -> Call {
        NOTES.with_borrow_mut(|notes| writeln!(notes, "( f{number}").unwrap());
        Call
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let word = if std::thread::panicking() { "!" } else { ")" };
        NOTES.with_borrow_mut(|notes| writeln!(notes, "{word}").unwrap());
    }
}

fn println_to(text: std::fmt::Arguments<'_>) {
    assert!(!text.to_string().is_empty());
}

macro_rules! own {
    ($sum:ident) => {
        if $sum > 5 { $sum -= 5 } else { $sum += 1 }
    };
}

struct X {
    seed: u64,
    fuel: u32,
    depth: u32,
}

impl X {
    fn num(&mut self, bound: u32) -> u32 {
        self.fuel = self.fuel.saturating_sub(1);
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.seed >> 33) as u32 % bound
    }
    fn bit(&mut self) -> bool {
        self.num(2) == 0 && self.fuel > 0
    }
    fn is_out(&mut self) -> bool {
        self.fuel == 0
    }
    fn opt(&mut self, sum: &mut u32) -> Option<u32> {
        (self.bit()).then_some(*sum / 2)
    }
    fn often(&mut self, sum: &mut u32) -> Option<u32> {
        (self.num(8) != 0).then_some(*sum / 3)
    }
    fn rarely(&mut self) -> bool {
        self.num(40) == 0
    }
    fn may_call(&mut self) -> bool {
        let may = self.bit() && self.depth < 8;
        self.depth += u32::from(may);
        may
    }
    fn leave(&mut self) {
        self.depth -= 1;
    }
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    for (number, function) in (0..).zip(ALL) {
        for seed in 0..CALL_COUNT {
            let seed = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(number);
            let mut x = X { seed, fuel: 60, depth: 0 };
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| function(&mut x)));
        }
    }
    NOTES.with_borrow(|notes| print!("{notes}"));
}

