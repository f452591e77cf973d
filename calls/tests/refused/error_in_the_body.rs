//! An error in a traced function: the compiler shows the user's line.
//~ error_in_the_body.rs:6:5
//~ error_in_the_body.rs:13:9
#[calls::traced]
fn price() -> u32 {
    "three"
}

#[calls::traced]
mod shop {
    pub async fn sell() -> Result<u32, std::fmt::Error> {
        let count: u32 = 3;
        "four"
    }
}

fn main() {
    price();
    drop(shop::sell());
}
