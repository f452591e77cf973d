//! One type of event in both ways: it is one letter.
//~ #[path(check)]: the events of this function do not tell `arm` in line 12 from `arm` in line 13
//~! `arm` in line 14
macro_rules! event {
    ($($token:tt)*) => {};
}

#[calls::path(check)]
fn price(count: u32) {
    event!(Began, count);
    match count {
        0 => event!(Sold, count),
        1 => event!(shop::Sold, 1),
        _ => event!(Refused, count),
    }
}

fn main() {
    price(3);
}
