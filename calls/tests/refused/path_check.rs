//! Events that do not tell a branch.
//~ #[path(check)]: the events of this function do not tell `then` in line 20 from `else` in line 22
//~ an event of a type of its own at `then` in line 20 would help
//~ path_check.rs:20:19
//~! in line 15
macro_rules! event {
    ($($token:tt)*) => {};
}

#[calls::path(check)]
fn price(count: u32) -> u32 {
    event!(Began, count);
    let mut price = 3;
    // Its events tell this one.
    if count == 0 {
        event!(shop::Free, count);
        price = 0;
    }
    // Nothing tells this one.
    if count > 10 {
        price *= 2;
    }
    event!(shop::Ended, count);
    price
}

fn main() {
    price(3);
}
