//! Functions of every form, all traced: they compile without a warning, and do what they did.
//!
//! ```text
//!  #[traced] fn, method, trait, impl, mod, extern, unsafe, generic, async ─▶ the same results
//! ```
//!
//! Design: `.calls.traced` in `design/calls.md`.
#![deny(warnings)]
#![forbid(unsafe_code)]

use calls::traced;
use std::fmt::{Debug, Display};

#[traced]
mod forms {
    #![allow(clippy::needless_lifetimes)]

    use std::collections::BTreeMap;
    use std::fmt::{Debug, Display};
    use std::future::Future;

    pub(crate) extern "C" fn foreign(value: i32) -> i32 {
        value + 1
    }

    pub(crate) fn pattern((a, [b, ..]): (u32, [u32; 3]), _call: u32, site: u32) -> u32 {
        let call = a + b;
        call + _call + site
    }

    pub(crate) fn lifetimes<'a, 'b: 'a>(
        one: &'a str,
        _: &'b str,
    ) -> impl Iterator<Item = char> + 'a {
        one.chars()
    }

    pub(crate) fn wide<T, U>(value: T, other: impl Into<U>) -> Result<U, Box<dyn std::error::Error>>
    where
        T: AsRef<str>,
        U: From<u32> + Debug,
    {
        let number: u32 = value.as_ref().parse()?;
        Ok(if number == 0 { other.into() } else { U::from(number) })
    }

    pub(crate) fn array<const N: usize>() -> [usize; N] {
        fn inner(at: usize) -> usize {
            at * 2
        }
        const TABLE: [usize; 2] = [1, 2];
        std::array::from_fn(|at| inner(at) + TABLE[at % 2])
    }

    #[must_use]
    #[inline]
    pub(crate) fn attributes(value: Option<u32>) -> u32 {
        let Some(value) = value else { return 7 };
        match value {
            0 => 1,
            #[cfg(any())]
            1 => missing(),
            other => other,
        }
    }

    pub(crate) async fn borrowed(map: &mut BTreeMap<u32, String>, key: u32) -> &str {
        map.entry(key).or_insert_with(|| format!("{key}"))
    }

    pub(crate) async fn nested<F: Future<Output = u32>>(future: F) -> impl Display {
        let value = future.await;
        async move { value + 1 }.await
    }

    #[derive(Clone, Debug, Default, PartialEq)]
    pub(crate) struct Counter {
        pub(crate) count: u32,
    }

    pub(crate) trait Counts: Sized {
        fn count(&self) -> u32;
        fn twice(self) -> u32 {
            2 * self.count()
        }
        #[expect(dead_code, reason = "a trait may have more than is called")]
        fn missing(&self) -> u32;
    }

    impl Counts for Counter {
        fn count(&self) -> u32 {
            self.count
        }
        fn missing(&self) -> u32 {
            0
        }
    }

    impl Drop for Counter {
        fn drop(&mut self) {
            self.count = 0;
        }
    }
}

/// A method that has the attribute by itself, in an `impl` without it.
struct Own(u32);

impl Own {
    #[traced]
    fn add(mut self, other: u32) -> Self {
        self.0 += other;
        self
    }

    #[traced]
    async fn later(&self) -> u32 {
        self.0
    }
}

#[traced]
trait Named {
    fn name(&self) -> String
    where
        Self: Debug,
    {
        format!("<{self:?}>")
    }
}

impl Named for u32 {}

fn ready<F: Future>(future: F) -> F::Output {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(future).poll(&mut context) {
        std::task::Poll::Ready(value) => value,
        std::task::Poll::Pending => panic!("it is ready at once"),
    }
}

/// A traced future may go to another thread, as it could without a trace.
fn sent<T: Send>(value: T) -> T {
    value
}

#[test]
fn traced_functions_do_what_they_did() {
    use forms::Counts;
    assert_eq!(forms::foreign(1), 2);
    assert_eq!(forms::pattern((1, [2, 3, 4]), 5, 6), 14);
    assert_eq!(forms::lifetimes("ab", "c").collect::<String>(), "ab");
    assert_eq!(forms::wide::<_, u64>("0", 9u8).unwrap(), 9);
    assert_eq!(forms::wide::<_, u64>("3", 9u8).unwrap(), 3);
    assert!(forms::wide::<_, u64>("x", 9u8).is_err());
    assert_eq!(forms::array::<3>(), [1, 4, 5]);
    assert_eq!([None, Some(0), Some(5)].map(forms::attributes), [7, 1, 5]);
    let mut map = std::collections::BTreeMap::new();
    assert_eq!(ready(sent(forms::borrowed(&mut map, 4))), "4");
    assert_eq!(shown(ready(sent(forms::nested(async { 1 })))), "2");
    let counter = forms::Counter { count: 4 };
    assert_eq!(counter.clone().twice(), 8);
    assert_eq!(counter, forms::Counter { count: 4 });
    assert_eq!(Own(1).add(2).0, 3);
    assert_eq!(ready(sent(Own(7).later())), 7);
    assert_eq!(7.name(), "<7>");
}

fn shown(value: impl Display) -> String {
    value.to_string()
}
