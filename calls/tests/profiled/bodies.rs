//! What a body may have once, or what only the function itself has: parameters and their scope, the
//! place of the caller, names of the result's type, items of inner blocks.
//@ editions: 2018 2021 2024
#![deny(warnings)]
#![forbid(unsafe_code)]

use std::sync::Mutex;

struct Loud(&'static str);

impl Drop for Loud {
    fn drop(&mut self) {
        println!("    drop {}", self.0);
    }
}

struct Guard<'a>(&'a Loud, &'static str);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        println!("    leave {} {}", self.1, (self.0).0);
    }
}

impl Guard<'_> {
    fn len(&self) -> usize {
        (self.0).0.len() + self.1.len()
    }
}

struct Unit;

impl Drop for Unit {
    fn drop(&mut self) {
        println!("    drop a unit");
    }
}

/// A macro with the name of one that writes to a log.
macro_rules! warn {
    ($text:expr) => {{
        static ONCE: std::sync::Once = std::sync::Once::new();
        ONCE.call_once(|| println!("  once: {}", $text));
    }};
}

#[cfg_attr(profiled, calls::profiled)]
mod code {
    use super::{Guard, Loud, Mutex, Unit};
    use std::ops::Index;

    /// A temporary of the last expression borrows a parameter.
    pub fn locked(list: Mutex<Vec<u32>>) -> usize {
        list.lock().unwrap().len()
    }

    pub fn guarded(first: Loud, second: Loud) -> usize {
        let _own = Loud("variable");
        Guard(&first, "one").len() + Guard(&second, "two").len()
    }

    impl Loud {
        pub fn kept(self, other: Loud) -> usize {
            Guard(&self, "three").len() + Guard(&other, "four").len()
        }
    }

    pub async fn later(list: Mutex<Vec<u32>>, first: Loud) -> usize {
        let _own = Loud("variable");
        list.lock().unwrap().len() + Guard(&first, "five").len()
    }

    pub fn unit(Unit: Unit, text: String) -> usize {
        println!("  unit");
        text.len()
    }

    pub struct Shelf(pub Vec<u32>);

    impl Index<usize> for Shelf {
        type Output = u32;
        fn index(&self, at: usize) -> &u32 {
            &self.0[at]
        }
    }

    pub fn shadowed(count: u32) -> Result<u32, String> {
        use std::fmt::Result;
        fn formatted() -> Result {
            Ok(())
        }
        formatted().map_err(|error| error.to_string())?;
        Ok(count)
    }

    pub async fn shadowed_later(count: u32) -> Result<u32, String> {
        use std::fmt::Result;
        fn formatted() -> Result {
            Ok(())
        }
        formatted().map_err(|error| error.to_string())?;
        Ok(count)
    }

    pub fn told(count: u32) -> u32 {
        warn!("told");
        count
    }
}

fn main() {
    let list = || Mutex::new(vec![1, 2]);
    println!("{}", code::locked(list()));
    println!("{}", code::guarded(Loud("first"), Loud("second")));
    println!("{}", Loud("self").kept(Loud("other")));
    let mut future = Box::pin(code::later(list(), Loud("in a future")));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    println!("{:?}", std::future::Future::poll(future.as_mut(), &mut context));
    drop(future);
    println!("{}", code::unit(Unit, String::from("four")));
    let shelf = code::Shelf(vec![7]);
    println!("{}", shelf[0]);
    std::panic::set_hook(Box::new(|panic| println!("  {}", panic.location().unwrap())));
    println!("{:?}", std::panic::catch_unwind(|| shelf[1]).map_err(|_| "panic"));
    println!("{:?}", code::shadowed(3));
    let mut future = Box::pin(code::shadowed_later(3));
    println!("{:?}", std::future::Future::poll(future.as_mut(), &mut context));
    println!("{} {}", code::told(1), code::told(2));
}
