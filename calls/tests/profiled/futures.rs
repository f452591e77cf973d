//! Async functions, blocks and closures: values, drops, cancellation, and the traits of futures.
//@ editions: 2021 2024
#![deny(warnings)]
#![forbid(unsafe_code)]

use std::future::Future;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

struct Loud(&'static str);

impl Drop for Loud {
    fn drop(&mut self) {
        println!("    drop {}", self.0);
    }
}

/// Ready at the second poll.
#[derive(Default)]
struct Later(bool);

impl Future for Later {
    type Output = u32;
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u32> {
        if std::mem::replace(&mut self.0, true) { Poll::Ready(1) } else { Poll::Pending }
    }
}

fn sent<F: Future + Send + Sync + 'static>(future: F) -> F {
    future
}

fn safe<F: Future + UnwindSafe + RefUnwindSafe>(future: F) -> F {
    future
}

macro_rules! twice {
    ($future:expr) => {{
        let first = $future.await;
        first + $future.await
    }};
}

#[cfg_attr(profiled, calls::profiled)]
mod code {
    use super::{Later, Loud, pin, safe, sent};
    use std::future::Future;
    use std::pin::Pin;

    pub async fn plain(_: Loud, kept: Loud) -> u32 {
        let _outer = Loud("outer");
        println!("  begins {}", kept.0);
        let one = Later::default().await; // waits
        { // waits
            let _inner = Loud("inner");
            one + Later::default().await + { Later::default() }.await // waits
        }
    }

    pub async fn macros(count: u32) -> u32 {
        let mut sum = 0;
        for number in 0..count { // waits
            sum += twice!(Later::default()) * number; // waits
            println!("  {}", Later::default().await); // waits
        }
        sum
    }

    pub async fn errors(way: u32) -> Result<u32, String> {
        let _kept = Loud("kept");
        let future = async move {
            if way == 0 {
                return Err("early".to_owned());
            }
            Ok(Later::default().await) // waits
        };
        let value = future.await?; // waits
        match way { // waits
            1 => Later::default().await.checked_sub(5).ok_or_else(|| "small".to_owned())?, // waits
            2 => value,
            _ => return Ok(Later::default().await + 40), // waits
        };
        Ok(value)
    }

    pub fn boxed(name: &str) -> Pin<Box<dyn Future<Output = usize> + Send + '_>> {
        let length = name.len();
        Box::pin(async move {
            let name = name.to_owned();
            Later::default().await; // waits
            name.len() + length
        })
    }

    pub async fn closures() -> u32 {
        let add = async |x: u32| x + Later::default().await; // waits
        let block = |x: u32| async move {
            let y = Later::default().await; // waits
            x + y
        };
        let lent = Loud("lent");
        let borrow = async || {
            Later::default().await; // waits
            lent.0.len() as u32
        };
        add(1).await + block(2).await + borrow().await + (async || 5)().await // waits
    }

    pub async fn borrowed(values: &mut Vec<u32>) -> &u32 {
        values.push(Later::default().await); // waits
        if values.len() > 100 {
            return &values[0];
        }
        values.last().unwrap()
    }

    pub async fn selected() -> u32 {
        let mut one = pin!(async { // waits
            let _one = Loud("one");
            Later::default().await
        });
        let first = std::future::poll_fn(|context| one.as_mut().poll(context)).await; // waits
        let dropped = async {
            let _never = Loud("never");
        };
        drop(dropped);
        first
    }

    pub async fn unsent() -> usize {
        let shared = std::rc::Rc::new(3);
        Later::default().await; // waits
        *shared
    }

    pub trait Named {
        fn name(&self) -> impl Future<Output = String> + Send;
        fn twice(&self) -> impl Future<Output = String> + Send
        where
            Self: Sync,
        {
            async { self.name().await + &self.name().await } // waits
        }
    }

    impl Named for u32 {
        async fn name(&self) -> String {
            Later::default().await; // waits
            format!("<{self}>")
        }
    }

    pub fn checked() -> impl Future<Output = u32> + Send + Sync + 'static {
        let _checked = safe(async { 1 });
        let _checked = safe(macros(2));
        sent(async {
            let Some(value) = Later::default().await.checked_add(2) else { return 9 }; // waits
            let choice = if value > 100 { Later::default().await } else { value }; // waits
            while Later::default().await == 4 { // waits
                Later::default().await;
            }
            choice
        })
    }
}

fn run<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    let mut count = 0;
    loop {
        count += 1;
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            println!("  {count} polls");
            return value;
        }
    }
}

/// Drops a future after some polls.
fn cancelled(polls: u32) {
    let mut future = Box::pin(sent(code::plain(Loud("unnamed"), Loud("parameter"))));
    for _ in 0..polls {
        assert!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    // It ends in another thread than it began.
    std::thread::spawn(move || drop(future)).join().unwrap();
}

fn main() {
    use code::Named;
    println!("{}", run(code::plain(Loud("unnamed"), Loud("parameter"))));
    (0..3).for_each(cancelled);
    println!("{}", run(sent(code::macros(3))));
    for way in 0..4 {
        println!("{:?}", run(sent(code::errors(way))));
    }
    println!("{} {}", run(code::boxed("name")), run(code::closures()));
    println!("{} {}", run(code::borrowed(&mut vec![5])), run(code::selected()));
    println!("{} {}", run(code::unsent()), run(3.twice()));
    println!("{}", run(code::checked()));
}
