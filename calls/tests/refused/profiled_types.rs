//! Errors of types in profiled code: the compiler shows the user's lines, and no macro of ours.
//~ profiled_types.rs:14:18
//~ profiled_types.rs:15:48
//~ profiled_types.rs:18:20
//~ profiled_types.rs:20:15
//~ profiled_types.rs:24:26
//~! __block
//~! __STATEMENTS
//~! attribute macro
#[calls::profiled]
mod shop {
    pub fn sell(count: u32) -> u32 {
        let _sum: u32 = match count {
            0 => "nothing",
            _ => [1, 2].iter().map(|x: &u32| x + "one").sum(),
        };
        if count > 3 {
            return "three";
        }
        count.len()
    }

    pub async fn later() -> Result<u32, std::fmt::Error> {
        let count: u32 = "three";
        Ok(count)
    }
}

fn main() {}
