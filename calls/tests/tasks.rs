//! Futures under an executor of a few lines: tasks, polls, and the calls in them.
//!
//! ```text
//!  two tasks in turn ─▶ TaskStart, PollEnter … PollLeave, …, TaskFinish ─▶ each pairs
//! ```
//!
//! Design: `.calls.task` in `design/calls.md`.
#![forbid(unsafe_code, unreachable_code)]

mod common;

use calls::traced;
use common::{ON, lines_of_one, ran};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Barrier, Mutex};
use std::task::{Context, Poll, Waker};

/// Is ready at the second poll.
#[derive(Default)]
struct Yield(bool);

impl Future for Yield {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) { Poll::Ready(()) } else { Poll::Pending }
    }
}

#[traced]
mod work {
    use super::{Future, Pin, Yield};

    pub(crate) async fn outer(value: &str) -> Result<usize, std::num::ParseIntError> {
        let number: usize = value.parse()?;
        let sum = inner(number).await;
        Yield::default().await;
        Ok(sum + leaf())
    }

    async fn inner(number: usize) -> usize {
        Yield::default().await;
        number + leaf()
    }

    pub(crate) fn leaf() -> usize {
        1
    }

    pub(crate) fn boxed<'a>(value: &'a str) -> Pin<Box<dyn Future<Output = usize> + Send + 'a>> {
        let first = value.len();
        Box::pin(async move {
            Yield::default().await;
            first + leaf()
        })
    }

    pub(crate) async fn opaque(of: bool) -> impl Iterator<Item = u32> {
        leaf();
        if of {
            return vec![1, 2].into_iter();
        }
        vec![3].into_iter()
    }

    pub(crate) async fn shown() -> Box<dyn std::fmt::Debug + Send> {
        if leaf() == 1 {
            return Box::new(1);
        }
        Box::new("2")
    }

    pub(crate) async fn fails() {
        Yield::default().await;
        panic!("on purpose");
    }

    pub(crate) async fn forever() -> ! {
        loop {
            Yield::default().await;
        }
    }
}

/// Polls futures in turn until all are ready.
fn run(futures: Vec<Pin<Box<dyn Future<Output = ()> + Send>>>) {
    let mut queue: VecDeque<_> = futures.into();
    let mut context = Context::from_waker(Waker::noop());
    while let Some(mut future) = queue.pop_front() {
        if future.as_mut().poll(&mut context).is_pending() {
            queue.push_back(future);
        }
    }
}

#[test]
fn tasks_in_turn_have_their_own_polls() {
    let what = || {
        run(vec![
            Box::pin(async { assert_eq!(work::outer("40").await, Ok(42)) }),
            Box::pin(async { assert_eq!(work::boxed("abc").await, 4) }),
        ]);
    };
    let Some(ran) = ran("tasks_in_turn_have_their_own_polls", &[ON], what) else { return };
    let expected = [
        "TaskStart 1 work::outer",
        "PollEnter work::outer - 1",
        "TaskStart 2 work::inner",
        "PollEnter work::inner work::outer 2",
        "PollLeave work::inner 2",
        "PollLeave work::outer 1",
        "TaskStart 3 work::boxed",
        "PollEnter work::boxed - 3",
        "PollLeave work::boxed 3",
        "PollEnter work::outer - 1",
        "PollEnter work::inner work::outer 2",
        "CallEnter work::leaf work::inner",
        "CallLeave work::leaf",
        "PollLeave work::inner 2",
        "TaskFinish 2 true",
        "PollLeave work::outer 1",
        "PollEnter work::boxed - 3",
        "CallEnter work::leaf work::boxed",
        "CallLeave work::leaf",
        "PollLeave work::boxed 3",
        "TaskFinish 3 true",
        "PollEnter work::outer - 1",
        "CallEnter work::leaf work::outer",
        "CallLeave work::leaf",
        "PollLeave work::outer 1",
        "TaskFinish 1 true",
    ];
    assert_eq!(lines_of_one(&ran.log()), expected);
}

#[test]
fn a_dropped_task_finishes_without_being_ready() {
    let what = || {
        drop(Box::pin(work::forever()));
        let mut future = Box::pin(work::forever());
        let mut context = Context::from_waker(Waker::noop());
        assert!(future.as_mut().poll(&mut context).is_pending());
    };
    let test = "a_dropped_task_finishes_without_being_ready";
    let Some(ran) = ran(test, &[ON], what) else { return };
    let expected = [
        "TaskStart 1 work::forever",
        "PollEnter work::forever - 1",
        "PollLeave work::forever 1",
        "TaskFinish 1 false",
    ];
    assert_eq!(lines_of_one(&ran.log()), expected);
}

#[test]
fn a_panic_unwinds_the_poll_and_drops_the_task() {
    let what = || {
        let failed = catch_unwind(AssertUnwindSafe(|| run(vec![Box::pin(work::fails())])));
        assert!(failed.is_err());
    };
    let test = "a_panic_unwinds_the_poll_and_drops_the_task";
    let Some(ran) = ran(test, &[ON], what) else { return };
    let expected = [
        "TaskStart 1 work::fails",
        "PollEnter work::fails - 1",
        "PollLeave work::fails 1",
        "PollEnter work::fails - 1",
        "CallUnwind work::fails",
        "PollLeave work::fails 1",
        "TaskFinish 1 false",
    ];
    assert_eq!(lines_of_one(&ran.log()), expected);
}

/// The body of a traced `async fn` has the type that its signature tells.
#[test]
fn a_traced_future_returns_what_its_signature_tells() {
    run(vec![Box::pin(async {
        assert_eq!(work::opaque(true).await.collect::<Vec<_>>(), [1, 2]);
        assert_eq!(work::opaque(false).await.collect::<Vec<_>>(), [3]);
        assert_eq!(format!("{:?}", work::shown().await), "1");
        assert!(work::outer("x").await.is_err());
    })]);
}

/// Tells when it is dropped.
struct Dropped<'a>(&'static str, &'a RefCell<Vec<&'static str>>);

impl Drop for Dropped<'_> {
    fn drop(&mut self) {
        self.1.borrow_mut().push(self.0);
    }
}

/// Two functions of the same text: the second is traced.
macro_rules! twins {
    ($($text:tt)*) => {
        mod plain {
            use super::Dropped;
            pub(super) $($text)*
        }
        mod traced {
            use super::Dropped;
            #[calls::traced]
            pub(super) $($text)*
        }
    };
}

twins! {
    async fn drops<'a>(
        one: Dropped<'a>,
        _: Dropped<'a>,
        mut two: Dropped<'a>,
        (three, _): (Dropped<'a>, Dropped<'a>),
        #[allow(clippy::toplevel_ref_arg, reason = "a pattern that moves nothing")]
        ref four: Dropped<'a>,
        #[allow(unused_variables, reason = "it is dropped all the same")] five: Dropped<'a>,
    ) {
        let _local = Dropped("local", one.1);
        two.0 = "two again";
        four.1.borrow_mut().push(three.0);
    }
}

/// The parameters of a traced `async fn` are dropped in the order of an untraced one.
#[test]
fn parameters_of_a_future_are_dropped_in_order() {
    let [plain, traced] = [RefCell::default(), RefCell::default()];
    let parameter = |name, order| Dropped(name, order);
    macro_rules! run {
        ($function:path, $order:ident) => {{
            let new = |name| parameter(name, &$order);
            let pair = (new("three"), new("rest"));
            let future =
                $function(new("one"), new("wild"), new("two"), pair, new("four"), new("five"));
            let mut context = Context::from_waker(Waker::noop());
            assert!(std::pin::pin!(future).as_mut().poll(&mut context).is_ready());
        }};
    }
    run!(plain::drops, plain);
    run!(traced::drops, traced);
    assert_eq!(plain.borrow().len(), 9);
    assert_eq!(traced, plain);
}

#[test]
fn a_switch_before_the_first_call_is_off() {
    let what = || {
        calls::switch(std::ptr::without_provenance::<u8>(0x1000), calls::Current::default());
        assert_eq!(telemetry::losses().requested, 0);
        assert_eq!(calls::control().recorded(), calls::events::Kinds::empty());
    };
    ran("a_switch_before_the_first_call_is_off", &[], what);
}

/// A coroutine with a stack of its own, played by hand: T16.
#[test]
fn a_switch_gives_each_coroutine_its_own_caller() {
    #[traced]
    fn resumes(coroutine: &mut calls::Current) {
        let context = std::ptr::without_provenance::<u8>(0x1000);
        let mine = calls::switch(context, *coroutine);
        work::leaf();
        *coroutine = calls::switch(std::ptr::null::<u8>(), mine);
        work::leaf();
    }
    let what = || resumes(&mut calls::Current::default());
    let test = "a_switch_gives_each_coroutine_its_own_caller";
    let Some(ran) = ran(test, &[ON], what) else { return };
    let resumes = "a_switch_gives_each_coroutine_its_own_caller::resumes";
    let expected = [
        &*format!("CallEnter {resumes} -"),
        "Switch 0x1000",
        "CallEnter work::leaf -",
        "CallLeave work::leaf",
        "Switch -",
        &*format!("CallEnter work::leaf {resumes}"),
        "CallLeave work::leaf",
        &*format!("CallLeave {resumes}"),
    ];
    assert_eq!(lines_of_one(&ran.log()), expected);
}

/// T16: two threads poll two tasks in turn, so that each task goes on in the other thread. Each
/// poll pairs with the same task in the same thread, and the calls in it have its function.
#[test]
fn tasks_go_on_in_other_threads() {
    const TURNS: usize = 20;
    async fn turns(count: usize) -> usize {
        let mut sum = 0;
        for _ in 0..count {
            Yield::default().await;
            sum += work::leaf();
        }
        sum
    }
    #[traced]
    async fn first() -> usize {
        turns(TURNS).await
    }
    #[traced]
    async fn second() -> usize {
        turns(TURNS).await
    }
    type Job = Mutex<Pin<Box<dyn Future<Output = usize> + Send>>>;
    let what = || {
        let jobs: [Job; 2] = [Mutex::new(Box::pin(first())), Mutex::new(Box::pin(second()))];
        let barrier = Barrier::new(2);
        let poll = |job: &Job| {
            let mut context = Context::from_waker(Waker::noop());
            job.lock().unwrap().as_mut().poll(&mut context).is_ready()
        };
        std::thread::scope(|scope| {
            for thread in 0..2 {
                let (jobs, barrier) = (&jobs, &barrier);
                scope.spawn(move || {
                    for turn in 0..=TURNS {
                        barrier.wait();
                        assert_eq!(poll(&jobs[(thread + turn) % 2]), turn == TURNS);
                    }
                });
            }
        });
    };
    let Some(ran) = ran("tasks_go_on_in_other_threads", &[ON], what) else { return };
    let threads = common::lines(&ran.log());
    assert_eq!(threads.len(), 2);
    let mut polls = BTreeMap::<(String, u32), usize>::new();
    for (thread, lines) in &threads {
        let mut open = Vec::<&str>::new();
        for line in lines {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["PollEnter", function, "-", task] => {
                    open.push(task);
                    *polls.entry((function.to_owned(), *thread)).or_default() += 1;
                }
                ["PollLeave", _, task] => assert_eq!(open.pop(), Some(task), "{lines:?}"),
                ["CallEnter", "work::leaf", caller] => {
                    assert!(caller.ends_with("::first") || caller.ends_with("::second"), "{line}");
                    assert_eq!(open.len(), 1, "{lines:?}");
                }
                ["CallLeave" | "TaskStart" | "TaskFinish", ..] => {}
                _ => panic!("{line}"),
            }
        }
        assert_eq!(open, [""; 0]);
    }
    // Each task was polled in both threads, in turn.
    assert_eq!(polls.len(), 4, "{polls:?}");
    for count in polls.values() {
        assert!((TURNS / 2..=TURNS / 2 + 1).contains(count), "{polls:?}");
    }
}
