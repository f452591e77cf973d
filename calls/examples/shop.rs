//! A shop whose calls are recorded:
//! `cargo run -p mps-calls --example shop -- a +TURTLES -enabled -dbPath t -TURTLES b`.
//!
//! ```text
//!  serve ─ sell ─┬─ price ─ hash        discount is never called
//!                └─ store
//! ```
//!
//! It prints the arguments that are left: `a b`. The log is `t/turtles-PID.log`.
#![forbid(unsafe_code)]

use calls::traced;

#[traced]
mod shop {
    pub(crate) struct Shop {
        pub(crate) sold: Vec<(String, u64)>,
    }

    impl Shop {
        pub(crate) fn sell(&mut self, article: &str, count: u64) -> Option<u64> {
            let price = price(article)?;
            self.store(article, count);
            Some(price * count)
        }

        fn store(&mut self, article: &str, count: u64) {
            self.sold.push((article.to_owned(), count));
        }
    }

    fn price(article: &str) -> Option<u64> {
        if article.is_empty() {
            return None;
        }
        Some(hash(article) % 100)
    }

    fn hash(article: &str) -> u64 {
        article.bytes().fold(7, |hash, byte| hash * 31 % 1009 + u64::from(byte))
    }

    pub(crate) fn discount(price: u64) -> u64 {
        price / 10
    }
}

fn main() {
    let mut arguments = std::env::args_os().collect();
    let _turtles = calls::release(&mut arguments);
    let rest: Vec<_> = arguments.iter().skip(1).map(|word| word.to_string_lossy()).collect();
    println!("{}", rest.join(" "));
    serve(rest.iter().map(|word| &**word));
}

#[traced]
fn serve<'a>(articles: impl Iterator<Item = &'a str>) {
    let mut shop = shop::Shop { sold: Vec::new() };
    let total: u64 = articles.filter_map(|article| shop.sell(article, 3)).sum();
    if total > 1_000_000 {
        println!("{}", shop::discount(total));
    }
}
