//! Many threads record at once, and every event is in the log.

mod common;

use common::{CONTROL, Kinds, Pooled, Three, ThreeSeg};
use telemetry::{MemoryPlinth, control, event};

const THREAD_COUNT: usize = 8;
const EVENT_COUNT: usize = 1_000_000;

#[test]
fn eight_threads_record_a_million_events_each_and_all_are_in_the_log() {
    let plinth = MemoryPlinth::new();
    assert!(telemetry::set_plinth(plinth.clone()));
    control::of(&CONTROL).set_output(Kinds::Object | Kinds::Seg | Kinds::Pool);
    std::thread::scope(|scope| {
        for thread in 1..=THREAD_COUNT {
            scope.spawn(move || {
                for index in 0..EVENT_COUNT {
                    match index % 4 {
                        0 => event!(ThreeSeg { thread, index, value: index * 3 }),
                        1 => event!(Pooled, index),
                        _ => event!(Three, thread, index, !index),
                    }
                }
            });
        }
    });
    telemetry::flush();
    let losses = telemetry::losses();
    let stream = common::read(&plinth.bytes());
    let total = (THREAD_COUNT * EVENT_COUNT) as u64;
    assert_eq!((losses.requested, losses.recorded), (total, total), "{losses:?}");
    let of_test: Vec<_> = stream.events.values().filter(|event| event.registry == 1).collect();
    assert_eq!(of_test.len() as u64, total);
    // Each thread's events of a kind are in its order, and between them are all of its indexes.
    let mut indexes = std::collections::BTreeMap::<u32, Vec<u64>>::new();
    let mut last = std::collections::BTreeMap::new();
    for event in &of_test {
        let index = event.word(if event.code == 5 { 0 } else { 1 });
        indexes.entry(event.thread).or_default().push(index);
        if let Some((ticks, before)) = last.insert((event.thread, event.kind), (event.ticks, index))
        {
            assert!(ticks <= event.ticks && before < index);
        }
    }
    assert_eq!(indexes.len(), THREAD_COUNT);
    for indexes in indexes.values_mut() {
        indexes.sort_unstable();
        assert!(indexes.iter().copied().eq(0..EVENT_COUNT as u64));
    }
}
