//! `#[profiled]` records calls as `#[traced]` does: under the same names, and once.
//!
//! ```text
//!  #[profiled] mod { #[traced] fn, #[profiled(skip)] fn, … } ─▶ mpsio.log ─▶ CallEnter, CallLeave
//! ```
//!
//! Design: `.statements.rewrite` in `design/statements.md`, `.calls.site` in `design/calls.md`.
#![forbid(unsafe_code)]

mod common;

use calls::{profiled, traced};
use common::{ON, lines_of_one, ran, sources};

#[profiled]
mod shop {
    pub(crate) struct Shelf<T>(pub(crate) Vec<T>);

    impl<T> Shelf<T> {
        pub(crate) fn put(&mut self, article: T) -> usize {
            const fn one() -> usize {
                1
            }
            self.0.push(article);
            let count = || self.0.len();
            count() * one()
        }
    }

    pub(crate) trait Counted {
        fn count(&self) -> usize;
        fn twice(&self) -> usize {
            let count = self.count();
            count * 2
        }
    }

    impl<T> Counted for Shelf<T> {
        fn count(&self) -> usize {
            #[calls::profiled]
            fn inner(count: usize) -> usize {
                let more = count + 1;
                more - 1
            }
            inner(self.0.len())
        }
    }

    pub(crate) fn empty() {}

    #[calls::traced]
    pub(crate) fn traced() -> u32 {
        [1, 2].iter().sum()
    }

    #[cfg_attr(unix, calls::profiled(skip))]
    pub(crate) fn skipped() -> u32 {
        3
    }

    #[calls::traced(skip)]
    pub(crate) fn skipped_too() -> u32 {
        4
    }

    #[calls::traced]
    pub(crate) mod inner {
        pub(crate) fn traced() -> u32 {
            super::skipped() + super::skipped_too()
        }

        #[calls::profiled]
        pub(crate) fn profiled() -> u32 {
            let inner = traced();
            inner + 1
        }
    }

    pub(crate) async fn later(count: u32) -> u32 {
        let more = async { count };
        more.await + 1
    }

    pub(crate) fn boxed() -> std::pin::Pin<Box<dyn Future<Output = u32>>> {
        let count = 2;
        Box::pin(async move { later(count).await })
    }
}

#[profiled]
#[traced]
fn both() -> u32 {
    let both = 1;
    both + 1
}

#[traced]
#[profiled]
fn both_again() -> u32 {
    let both = both();
    both + 1
}

fn each() {
    use shop::Counted;
    let mut shelf = shop::Shelf(vec![]);
    assert_eq!([shelf.put(7), shelf.twice()], [1, 2]);
    shop::empty();
    assert_eq!([shop::traced(), shop::inner::profiled(), both_again()], [3, 8, 3]);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert_eq!(shop::boxed().as_mut().poll(&mut context), std::task::Poll::Ready(3));
}

#[test]
fn a_profiled_function_is_recorded_once_by_its_path() {
    let test = "a_profiled_function_is_recorded_once_by_its_path";
    let Some(ran) = ran(test, &[ON], each) else { return };
    let log = ran.log();
    let lines = lines_of_one(&log);
    let begun = lines.iter().filter_map(|line| {
        let mut words = line.split(' ');
        let name = words.next()?;
        matches!(name, "CallEnter" | "PollEnter").then(|| words.collect::<Vec<_>>().join(" "))
    });
    let expected = [
        "shop::Shelf<_>::put -",
        "shop::Counted::twice -",
        "<shop::Shelf<_> as shop::Counted>::count shop::Counted::twice",
        "<shop::Shelf<_> as shop::Counted>::count::inner <shop::Shelf<_> as shop::Counted>::count",
        "shop::empty -",
        "shop::traced -",
        "shop::inner::profiled -",
        "shop::inner::traced shop::inner::profiled",
        "both_again -",
        "both both_again",
        "shop::boxed - 1",
        "shop::later shop::boxed 2",
    ];
    assert_eq!(begun.collect::<Vec<_>>(), expected);
    let sources = sources(&log);
    for name in ["skipped", "skipped_too"] {
        assert!(!sources.contains_key(&format!("shop::{name}")), "{name}");
    }
    let (file, [line, column, ..]) = &sources["shop::inner::profiled"];
    assert!(file.ends_with("attributes.rs"));
    assert_eq!([*line, *column], [73, 20]);
}
