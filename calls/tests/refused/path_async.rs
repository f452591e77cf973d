//! The attribute on an `async fn`.
//~ #[path]: the path of an `async fn` has pauses, in which other code runs
//~ path_async.rs:5:1
#[calls::path]
async fn price() -> u32 {
    3
}

fn main() {
    drop(price());
}
