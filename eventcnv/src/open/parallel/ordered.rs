//! Maps items on all processors, and takes the results in the order of the items.
//!
//! ```text
//!  make ──▶ item 1 ── mapper ──▶ result ─┐
//!       ──▶ item 2 ── mapper ──▶ result ─┼─▶ take: 1, 2, 3, … on the thread of the caller
//!       ──▶ item 3 ── …                  ┘
//! ```
//!
//! Each mapper has an item, and as many results wait. Design: `.cnv.speed` in `design/eventcnv.md`.

use crate::open::parallel::worker_count;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Mappers, at most.
const MAPPER_COUNT_MAX: usize = 16;

/// Passes the items of `make` to `map` on other threads, and the results in order to `take`. `make`
/// gets a function that returns false when no more items are wanted. Returns the result of `make`,
/// or the first error of `take`.
pub(crate) fn map_in_order<A: Send, B: Send, R: Send, E, M>(
    make: M,
    map: impl Fn(A) -> B + Sync,
    mut take: impl FnMut(B) -> Result<(), E>,
) -> Result<R, E>
where
    M: FnOnce(&mut dyn FnMut(A) -> bool) -> R + Send,
{
    let mapper_count = worker_count().min(MAPPER_COUNT_MAX);
    let (to_map, items) = sync_channel::<(A, Sender<B>)>(0);
    // In the order of the items: each gives a result when it is made.
    let (to_take, results) = sync_channel::<Receiver<B>>(mapper_count);
    let items = Mutex::new(items);
    let work = || {
        let next = || items.lock().unwrap_or_else(PoisonError::into_inner).recv();
        while let Ok((item, done)) = next() {
            // After an error, nobody takes the result.
            let _ = done.send(map(item));
        }
    };
    thread::scope(|scope| {
        let begun = |_: &usize| thread::Builder::new().spawn_scoped(scope, work).is_ok();
        let mapper_count = (0..mapper_count).take_while(begun).count();
        let (hand_over, handed) = sync_channel(1);
        let maker = move || {
            handed.recv().ok().map(|make: M| {
                make(&mut |item| {
                    let (done, result) = channel();
                    to_take.send(result).is_ok() && to_map.send((item, done)).is_ok()
                })
            })
        };
        let maker = thread::Builder::new().spawn_scoped(scope, maker);
        let Some(maker) = maker.ok().filter(|_| mapper_count > 0) else {
            // The system refuses threads.
            let mut taken = Ok(());
            let made = make(&mut |item| {
                if taken.is_ok() {
                    taken = take(map(item));
                }
                taken.is_ok()
            });
            return taken.map(|()| made);
        };
        let _ = hand_over.send(make);
        // A mapper that panics sends nothing, and later the scope panics too.
        let results = results.into_iter().map_while(|result| result.recv().ok());
        let taken = { results }.try_for_each(take);
        match maker.join() {
            Ok(made) => taken.map(|()| made.expect("the maker has what it makes")),
            Err(panic) => resume_unwind(panic),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        let make = |send: &mut dyn FnMut(u64) -> bool| (0..500).take_while(|n| send(*n)).count();
        let map = |n: u64| {
            thread::sleep(Duration::from_micros(n * 7919 % 200));
            n * n
        };
        let mut found = Vec::new();
        let made = map_in_order(make, map, |square| {
            found.push(square);
            Ok::<_, ()>(())
        });
        assert_eq!(made, Ok(500));
        assert!(found.iter().copied().eq((0..500).map(|n| n * n)), "{found:?}");
    }

    #[test]
    fn an_error_ends_the_making() {
        let mut count = 0;
        let make = |send: &mut dyn FnMut(u64) -> bool| (0..).take_while(|n| send(*n)).count();
        let made = map_in_order(
            make,
            |n| n,
            |n| {
                count += 1;
                if n < 20 { Ok(()) } else { Err(n) }
            },
        );
        assert_eq!((made, count), (Err(20), 21));
    }
}
